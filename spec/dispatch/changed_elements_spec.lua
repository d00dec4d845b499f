--- A mode that changes elements while operators run which are made of others:
-- before each inner call in turn it writes positions that there are not to all
-- integers that the call has, or it returns memory that another tensor has.
-- Every call returns or raises; under AddressSanitizer none reads or writes
-- outside of its tensors (C18, C19).
-- axes: none
-- sampled: 3

local calls = require "spec.fuzz.calls"
local samples = require "spec.grad.gradcheck.samples"
local registry = require "spec.grad.gradcheck.registry"
local st = require "strided"
local tensors = require "spec.support.tensors"
local values = require "spec.grad.gradcheck.values"

local unpack = unpack or table.unpack

-- Of the calls that other specs list, one of STEP is disturbed; ALL disturbs
-- each.
local ALL = os.getenv "STRIDED_CHANGE_ALL"
local STEP = ALL and 1 or os.getenv "STRIDED_SANITIZED" and 16 or 4

local MOST = ALL and 60 or 30 -- inner calls of an operator that are disturbed

local seen_calls = 0

local A = st.ops.aten

local function is_integer(t)
  return not (t:is_floating_point() or t:is_complex()) and t.dtype ~= "bool"
end

local function each_tensor(list, f)
  for _, t in pairs(list) do
    if st.is_tensor(t) then f(t)
    elseif type(t) == "table" then each_tensor(t, f)
    end
  end
end

--- What a mode has seen: integer tensors, and all of them.
local function seen()
  local s = {integers = {}, all = {}}
  function s.keep(...)
    each_tensor({...}, function(t)
      if t.device.type ~= "cpu" and tostring(t.device) ~= "cpu" then return end
      s.all[#s.all + 1] = t
      if is_integer(t) then s.integers[#s.integers + 1] = t end
    end)
    return ...
  end
  return s
end

--- Writes value to the integers, and returns what undoes that.
local function overwrite(s, value)
  local old = {}
  for i, t in ipairs(s.integers) do
    old[i] = t:clone()
    pcall(t.fill_, t, value)
  end
  return function()
    for i, t in ipairs(s.integers) do
      if old[i] then pcall(t.copy_, t, old[i]) end
    end
  end
end

--- The elements of t in memory of a tensor that was seen before, if one has
-- enough of it.
local function elsewhere(s, t)
  if not st.is_tensor(t) or t:numel() == 0 or not t:is_contiguous() then
    return t
  end
  for i = #s.all, 1, -1 do
    local other = s.all[i]
    if other ~= t and other:is_contiguous() and
       not other:is_complex() and other.dtype ~= "bool" then
      local ok, line = pcall(function()
        return other:detach():reshape(-1):view(t.dtype)
      end)
      if ok and line:numel() >= t:numel() then
        return line:as_strided(t:size(), t:stride())
      end
    end
  end
  return t
end

--- What is done in place of `call`, the one to disturb. No tensor here has as
-- many elements.
local ACTS = {
  function(s, call, ...)
    overwrite(s, 3e8)
    return call(...)
  end,
  function(s, call, ...)
    overwrite(s, -5)
    return call(...)
  end,
  function(s, call, ...)
    local undo = overwrite(s, 3e8)
    local results = {call(...)}
    undo()
    return unpack(results)
  end,
  function(s)
    overwrite(s, 3e8)
    error("a mode's error", 0)
  end,
  function(s, call, ...) return elsewhere(s, call(...)) end,
}

--- Runs f with what `act` does to inner call number k. The number of calls.
local function disturb(f, act, k)
  local s, n, inside = seen(), 0, false
  local function mode(op, keys, ...)
    if inside then return op:redispatch(keys, ...) end
    n = n + 1
    s.keep(...)
    local function call(...)
      return st.dispatch_mode(mode, function(...)
        return op:redispatch(keys, ...)
      end, ...)
    end
    if n ~= k then return s.keep(call(...)) end
    inside = true
    return s.keep(act(s, function(...)
      inside = false
      return call(...)
    end, ...))
  end
  pcall(st.dispatch_mode, mode, f)
  return n
end

--- Every inner call of what make returns in turn, with every act.
local function disturb_all(make)
  local rounds = 0
  for _, act in ipairs(ACTS) do
    local k, n = 0, 1
    while k < n and k < MOST do
      k = k + 1
      n = math.max(n, disturb(make(), act, k))
      rounds = rounds + 1
    end
  end
  return rounds
end

--- The same for one call of STEP.
local function disturb_some(make)
  seen_calls = seen_calls + 1
  return seen_calls % STEP == 0 and disturb_all(make) or 0
end

--- True if a call has integers.
local function has_integers(make)
  local found = false
  pcall(st.dispatch_mode, function(op, keys, ...)
    each_tensor({...}, function(t) found = found or is_integer(t) end)
    return op:redispatch(keys, ...)
  end, make())
  return found
end

local function backward(results)
  local total
  each_tensor({results}, function(t)
    if t.requires_grad and t.grad_fn then
      total = total and total + t:sum() or t:sum()
    end
  end)
  if total then total:backward() end
end

-- -- Calls -------------------------------------------------------------------

--- Operators that check elements and then use them, with right ones: a
-- function that calls them, and the elements, if other calls pass them on as
-- lists, of which a mode would make copies.
local CALLS = {}

function CALLS.ctc_loss()
  local x = st.rand(6, 2, 4, {requires_grad = true})
  local targets = st.tensor {{2, 3, 2}, {3, 4, 2}}
  local lengths, labels = st.tensor {6, 5}, st.tensor {3, 2}
  return function()
    A.ctc_loss.Tensor(x:detach(), targets, lengths, labels)
    backward {A.ctc_loss.Tensor(x:log_softmax(3), targets, lengths, labels)}
  end, {lengths, labels}
end

for _, mode in ipairs {"gru", "lstm", "rnn_tanh"} do
  CALLS["packed " .. mode] = function()
    local gates = mode == "gru" and 3 or mode == "lstm" and 4 or 1
    local x = st.rand(5, 3, {requires_grad = true})
    local sizes, h = st.tensor {3, 2}, st.rand(1, 3, 2)
    local weights = {st.rand(gates * 2, 3), st.rand(gates * 2, 2),
                     st.rand(gates * 2), st.rand(gates * 2)}
    local function run(input)
      return A[mode].data(input, sizes, mode == "lstm" and {h, h} or h,
                          weights, true, 1, 0, false, false)
    end
    return function()
      run(x:detach())
      backward {run(x)}
    end, {sizes}
  end
end

function CALLS.embedding()
  local w, at = st.rand(5, 3), st.tensor {1, 2, 5, 3}
  return function() A.embedding.max_norm(w, at, {max_norm = 0.5}) end
end

function CALLS.embedding_bag()
  local w = st.rand(5, 3, {requires_grad = true})
  local at, offsets = st.tensor {1, 2, 5, 3}, st.tensor {1, 3}
  return function()
    backward {st.embedding_bag(w, at, offsets)}
    A.embedding_bag.max_norm(w:detach(), at, offsets,
                             {mode = "max", max_norm = 0.5})
  end
end

function CALLS.resample()
  local x, weights = st.rand(2, 3, 6), st.rand(3, 3)
  local spans = st.tensor {{0, 2}, {3, 3}, {4, 2}}
  return function() A._resample(x, 3, spans, weights) end, {spans}
end

function CALLS.unique_dim()
  local x = st.tensor {{3, 4}, {1, 2}, {3, 4}}
  return function() st.unique_dim(x, 1, true, true, true) end
end

function CALLS.bincount()
  local x, weights = st.tensor {3, 4, 1}, st.rand(3)
  return function() st.bincount(x, weights) st.bincount(x) end
end

function CALLS.parts()
  local x, at = st.rand(6, 2), st.tensor {2, 4}
  return function()
    st.tensor_split(x, at, 1)
    st.repeat_interleave(x["1:2"], at, 1)
  end
end

function CALLS.max_pool2d()
  local x = st.rand(1, 1, 4, 4, {requires_grad = true})
  return function()
    local y, at = st.max_pool2d_with_indices(x, {2, 2})
    backward {y}
    st.max_unpool2d(y, at, {4, 4})
  end
end

function CALLS.sorted()
  local x, order = st.rand(5), st.tensor {2, 1, 3, 5, 4}
  return function() st.searchsorted(x, st.rand(3), {sorter = order}) end
end

function CALLS.segment_reduce()
  local x = st.rand(5, {requires_grad = true})
  local lengths = st.tensor {2, 3}
  return function()
    backward {st.segment_reduce(x, "sum", {lengths = lengths})}
  end
end

function CALLS.pivots()
  local m = st.rand(3, 3)
  local LD, p = st.linalg.ldl_factor(m + m:t())
  local LU, q = st.linalg.lu_factor(m)
  return function()
    st.linalg.ldl_solve(LD, p, m)
    st.linalg.lu_solve(LU, q, m)
    st.lu_unpack(LU, q)
  end
end

describe("Elements that a mode changes are used safely", function()
  local before, limit
  setup(function()
    before = tensors.live()
    limit = st.memory.set_limit(2 ^ 26)
    st.warnings(false)
  end)
  teardown(function()
    st.warnings(true)
    st.memory.set_limit(limit)
    assert.same(before, tensors.live())
  end)

  for name, make in pairs(CALLS) do
    it("by " .. name, function()
      make()()
      assert.is_true(disturb_all(make) > 5)
    end)
  end

  -- Kernels of what these call, which calls nothing else that is replaced.
  local INNER = {
    new_full = function(_, size, value, dtype)
      return st.full(size, value, {dtype = dtype})
    end,
    new_empty = function(t, size, dtype)
      return st.zeros(size, {dtype = dtype == st.none and t.dtype or dtype})
    end,
    contiguous = function(t) return t:is_contiguous() and t or t:clone() end,
    t = function(t) return t:transpose(1, 2) end,
  }

  --- Runs f; in call k of these kernels the integers become `value`.
  local function run_with_kernels(f, integers, k, value)
    local n = 0
    local lib = st.library("aten", "IMPL")
    for name, kernel in pairs(INNER) do
      lib:impl(name, "CPU", function(...)
        n = n + 1
        if n == k then for _, t in ipairs(integers) do t:fill_(value) end end
        return kernel(...)
      end)
    end
    pcall(f)
    lib:close()
    return n
  end

  for name, make in pairs(CALLS) do
    if select(2, make()) then
      it("by " .. name .. ", which passes them on", function()
        local n = run_with_kernels(make(), {}, 0)
        for k = 1, n do
          for _, value in ipairs {3e8, 3} do
            local f, integers = make()
            run_with_kernels(f, integers, k, value)
          end
        end
        assert.is_true(n > 2, n)
      end)
    end
  end

  it("by the operators without samples of derivatives", function()
    local operators, rounds = 0, 0
    for _, one in ipairs(calls.all()) do
      local function make() return one.make().run end
      if one.make and not one.schema:find "!" and
         not samples[one.name:sub(7)] and has_integers(make) then
        operators = operators + 1
        rounds = rounds + disturb_some(make)
      end
    end
    assert.is_true(operators > 50, operators)
    assert.is_true(rounds > 1000 / STEP, rounds)
  end)

  it("by the others and their derivatives", function()
    local rounds = 0
    for _, entry in ipairs(registry.all()) do
      for i, call in ipairs(samples[entry.name] or {}) do
        if i > 2 then break end
        local function make()
          local args = values.make(call, "contiguous")
          return function()
            backward {entry.call(unpack(values.prepared(call, args)))}
          end
        end
        if has_integers(make) then rounds = rounds + disturb_some(make) end
      end
    end
    assert.is_true(rounds > 500 / STEP, rounds)
  end)
end)
