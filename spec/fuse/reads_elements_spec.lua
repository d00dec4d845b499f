--- Functions of st.fuse that read elements, or do what a recording cannot do
-- again: they are called directly, once per call, and st.explain says why.
-- axes: lua5.4 ffi

local st = require "strided"
local collect = require "spec.support.collect"
local functions = require "strided.help.functions"
local lapack = require "spec.support.lapack"
local examples = require "strided.help.examples"
local tensors = require "spec.support.tensors"

local failure, raises = tensors.failure, tensors.raises
local compile = loadstring or load
local ipairs, pairs, pcall, tostring = ipairs, pairs, pcall, tostring

local before = tensors.kinds()

local function T(t) return st.tensor(t, {dtype = "float64"}) end

--- The line of the spec that calls this function, plus n.
local function line(n)
  return debug.getinfo(2, "l").currentline + (n or 0)
end

-- -- Reads -------------------------------------------------------------------

-- A way to read an element, a function of a matrix that does so, and the name
-- that explain gives.
local READS = {
  {"item", function(x) return x:sum():item() end, "item"},
  {"a subscript", function(x) return x:sum(2)[1] end, "index"},
  {"the second subscript", function(x) return x[1][2] end, "index"},
  {"a subscript by a tensor", function(x) return x[x:argmax() % 2 + 1] end,
   "index"},
  {"iteration", function(x)
    local sum = 0
    for v in x[1]:iter() do sum = sum + v end
    return sum
  end, "index"},
  {"totable", function(x) return x:totable()[2][1] end, "totable"},
  {"tostring", function(x) return #tostring(x) end, "tostring"},
  {"bytes", function(x) return #x:tostring_bytes() end, "tostring_bytes"},
  {"a branch", function(x) return x:gt(2):any():item() and x * 2 or x end,
   "item"},
  {"equal", function(x) return x:equal(x * 2) and x or x * 3 end, "equal"},
  {"allclose", function(x) return x:allclose(x * 2) end, "allclose"},
  {"is_nonzero", function(x) return x:sum():is_nonzero() end, "is_nonzero"},
  {"a mask", function(x) return x[x:gt(2)] end, "index"},
  {"nonzero", function(x) return x:nonzero() + 1 end, "nonzero"},
  {"unique", function(x) return (st.unique(x)) end},
  {"masked_select", function(x) return x:masked_select(x:gt(2)) end,
   "masked_select"},
  {"the address", function(x) return x:data_ptr() ~= 0 end, "data_ptr"},
  {"the storage", function(x) return select(2, x:storage()) end, "storage"},
  {"a capsule", function(x) return st.to_dlpack(x) ~= nil end, "to_dlpack"},
  {"sharing", function(x)
    return st.attach(st.share(x)):sum():item()
  end, "share"},
  {"a tensor iterator", function(x)
    return st.iterator {preset = "unary", outputs = {false},
                        inputs = {x}}.numel
  end},
  {"a copy by st.tensor", function(x) return st.tensor(x) + 1 end, "tensor"},
}

if pcall(function() return "" .. st.ones(1) end) then -- not in Lua 5.4
  READS[#READS + 1] = {"a text", function(x) return #("x is " .. x) end, ".."}
  READS[#READS + 1] = {"a number in a text",
                       function(x) return "sum " .. x:sum() end, ".."}
end

local function values(...)
  local out = {n = select("#", ...), ...}
  for i = 1, out.n do
    if st.is_tensor(out[i]) then out[i] = out[i]:totable() end
  end
  return out
end

describe("A function of st.fuse that reads elements", function()
  for _, row in ipairs(READS) do
    it("is called directly: " .. row[1], function()
      local f = st.fuse(row[2])
      for _, x in ipairs {T {{1, 2}, {3, 4}}, T {{4, 3}, {2, 1}},
                          T {{1, 2}, {3, 4}}} do
        assert.same(values(row[2](x)), values(f(x)))
      end
      local text = f:explain(T {{1, 2}, {3, 4}})
      assert.matches("^the function is called: .* at .*" ..
                     "reads_elements_spec.lua:%d+\n$", text)
      if row[3] then
        assert.truthy(text:find(": " .. row[3] .. ", at ", 1, true), text)
      end
    end)
  end

  it("is called once per call, and twice for the first of its kind", function()
    local n = 0
    local f = st.fuse(function(x)
      local limit = x:sum():item()
      n = n + 1
      return x * limit
    end)
    for k = 1, 4 do
      assert.same({3, 6}, f(T {1, 2}):totable())
      assert.equal(k, n)
    end
    assert.same({10, 20, 30, 40}, f(T {1, 2, 3, 4}):totable())
    assert.equal(5, n)
  end)

  it("is said to do so in its line", function()
    local function body(x)
      local y = x * 2
      return y / y:max():item()
    end
    local want = ("it reads the elements of a tensor: item, at [^\n]*" ..
                  "reads_elements_spec.lua:%d\n"):format(line(-3))
    assert.matches("^the function is called: " .. want,
                   st.fuse(body):explain(T {1, 2}))
    assert.matches("^st.fuse would call it as it is:\n  " .. want,
                   st.explain(body, T {1, 2}))
  end)

  it("is said to return what a recording does not, in no line", function()
    local w = T {1}
    for body, why in pairs {
      [function(x) return {x} end] = "a result is not a tensor, number, " ..
        "string, boolean or nil",
      [function() return w end] = "it returns a captured tensor",
    } do
      assert.equal("the function is called: " .. why .. "\n",
                   st.fuse(body):explain(T {1, 2}))
    end
  end)

  it("has its gradients", function()
    local function body(x, w)
      local scale = w:abs():max():item()
      if (x * w):sum():item() > 0 then return (x / scale * w):tanh() end
      return (x * w):exp()
    end
    local f = st.fuse(body)
    for _, data in ipairs {{1, 2, -4}, {-1, -2, -4}, {3, 2, 1}} do
      local w = T {1, 2, 3}
      local x, y = T(data):requires_grad_(), T(data):requires_grad_()
      body(x, w):sum():backward()
      f(y, w):sum():backward()
      assert.same(x.grad:totable(), y.grad:totable())
    end
    local x = T {1, 2, 3}:requires_grad_()
    assert.is_true(st.gradcheck(function(t) return f(t, T {1, 2, 3}) end, {x}))
  end)

  it("has v[i] of a vector with a gradient recorded", function()
    local function body(x) return x[1] * x:sum() end
    local f = st.fuse(body)
    for _ = 1, 2 do
      local x = T {1, 2, 3}:requires_grad_()
      f(x):backward()
      assert.same({7, 1, 1}, x.grad:totable())
    end
    assert.matches("^call select", f:explain(T {1, 2, 3}:requires_grad_()))
    assert.equal(6, f(T {1, 2, 3}):item())
  end)

  it("is not recorded though it catches the error", function()
    local seen = {}
    local f = st.fuse(function(x)
      local ok, v = pcall(function() return x:sum():item() end)
      seen[#seen + 1] = ok
      return ok and x * v or x
    end)
    for _ = 1, 2 do assert.same({3, 6}, f(T {1, 2}):totable()) end
    assert.same({false, true, true}, seen)
    local g = st.fuse(function(x)
      local ok = pcall(x.item, x)
      return ok and 1 or 2
    end)
    for _ = 1, 2 do assert.equal(1, g(T(3))) end
    local h = st.fuse(function(x)
      local ok, why = pcall(st.ops.aten.totable or x.totable, x)
      if not ok then error("mine: " .. tostring(why), 0) end
      return x * 2
    end)
    for _ = 1, 2 do assert.same({2}, h(T {1}):totable()) end
  end)

  it("does not matter to calls that do not read", function()
    local f = st.fuse(function(x, reads)
      if reads then return x:sum():item() end
      return x * 2 + 1
    end)
    assert.equal(3, f(T {1, 2}, true))
    assert.same({3, 5}, f(T {1, 2}):totable())
    assert.matches("^fusion group of 2", f:explain(T {1, 2}))
    assert.is_true(st.is_grad_enabled())
  end)

  it("is called within another one", function()
    local inner = st.fuse(function(x) return x / x:max():item() end)
    local outer = st.fuse(function(x) return inner(x * 2) + 1 end)
    for _ = 1, 2 do assert.same({1.5, 2}, outer(T {1, 2}):totable()) end
    assert.matches("item, at", outer:explain(T {1, 2}))
  end)

  if pcall(require, "ffi") then
    it("reads memory by addresses", function()
      local ffi = require "ffi"
      local f = st.fuse(function(x)
        local y = x * 2
        return ffi.cast("double *", y:data_ptr())[1]
      end)
      for _ = 1, 2 do assert.equal(4, f(T {1, 2})) end
    end)
  end
end)

-- -- Effects -----------------------------------------------------------------

describe("What a function of st.fuse does besides", function()
  --- What the effect leaves after three calls of a function that has it, and of
  -- the same in st.fuse.
  local function left(make)
    local out = {}
    for i = 1, 2 do
      local body, state = make()
      local f = i == 1 and body or st.fuse(body)
      for _ = 1, 3 do f(T {1, 2}) end
      out[i] = state()
    end
    assert.same(out[1], out[2])
  end

  it("is done once: it counts in a tensor", function()
    left(function()
      local n = T {0, 0}
      return function(x)
        n[1] = n[1] + 1
        return x * 2
      end, function() return n:totable() end
    end)
  end)

  it("is done once: it writes an element", function()
    left(function()
      local n, k = T {0, 0}, 0
      return function(x)
        k = k + 1
        n[2] = 5
        n[1] = k
        return x * 2
      end, function() return n[2] end
    end)
  end)

  it("is done once: it adds to a tensor, then reads", function()
    left(function()
      local n = T {0, 0}
      return function(x)
        n:add_(x)
        return x * n:sum():item()
      end, function() return n:totable() end
    end)
    left(function()
      local n = T {0, 0}
      return function(x)
        local s = x:sum():item()
        n:add_(x)
        return x * s
      end, function() return n:totable() end
    end)
  end)

  it("is done once: it writes bytes", function()
    left(function()
      local n = st.zeros({4}, {dtype = "uint8"})
      return function(x)
        n:copy_(st.frombuffer("\1\2\3\4", {dtype = "uint8"}) + n)
        return x * 2
      end, function() return n:totable() end
    end)
  end)

  it("is done once: it registers a hook", function()
    left(function()
      local w, n = T {1, 2}:requires_grad_(), 0
      return function(x)
        w:register_hook(function() n = n + 1 end)
        return x * w
      end, function()
        (w * 2):sum():backward()
        return n
      end
    end)
  end)

  it("is done once: it seeds, or moves a generator", function()
    local ways = {
      function() return st.manual_seed(7) end,
      function(g) g:jump(3) end,
      function(g) g:split(2) end,
      function(g) g:manual_seed(3) end,
      function(g) st.set_rng_state(g) end,
      function(g) g:set_state(g:get_state()) end,
    }
    for _, way in ipairs(ways) do
      left(function()
        st.manual_seed(1)
        local g = st.Generator {algorithm = "philox", seed = 5}
        return function(x)
          way(g)
          return x + st.rand(2, {dtype = "float64"})
        end, function()
          return {st.rand(1):item(), st.rand(1, {generator = g}):item()}
        end
      end)
    end
  end)

  it("is done once: it changes a setting", function()
    left(function()
      return function(x)
        st.set_default_dtype(st.get_default_dtype() == "float32" and "float64"
                             or "float32")
        return x * 2
      end, function()
        local d = st.get_default_dtype()
        st.set_default_dtype "float32"
        return d
      end
    end)
  end)

  it("is done once: it sets a gradient", function()
    left(function()
      local w = T {1, 2}:requires_grad_()
      return function(x)
        w.grad = w.grad and w.grad + x or x:clone()
        return x * 2
      end, function() return w.grad:totable() end
    end)
  end)

  it("is done once: it takes a step", function()
    left(function()
      local w = T {1, 2}:requires_grad_()
      local opt = st.optim.SGD({w}, {lr = .1})
      return function(x)
        opt:zero_grad()
        local loss = (x * w):sum()
        loss:backward()
        opt:step()
        return loss:detach()
      end, function() return w:detach():totable() end
    end)
  end)

  it("does not change which random numbers are drawn", function()
    local function body(x)
      local noise = st.rand(2, {dtype = "float64"})
      return x * x:max():item() + noise
    end
    local f = st.fuse(body)
    for _ = 1, 3 do
      st.manual_seed(3)
      local want, after = body(T {1, 2}), st.rand(1)
      st.manual_seed(3)
      assert.is_true(want:equal(f(T {1, 2})))
      assert.is_true(after:equal(st.rand(1)))
    end
  end)

  it("may be an error that is no refusal of fake tensors", function()
    local f = st.fuse(function(x)
      local ok = pcall(function() return x:reshape(3) end)
      return ok and x or x * 2
    end)
    for _ = 1, 2 do assert.same({2, 4}, f(T {1, 2}):totable()) end
    assert.matches("is not a shape of 2 elements: %w+, at [^\n]*" ..
                   "reads_elements_spec.lua:%d+\n$", f:explain(T {1, 2}))
  end)

  it("does not hide an interrupt", function()
    local n = 0
    local f = st.fuse(function(x)
      n = n + 1
      if n == 1 then error("interrupted", 0) end
      return x * 2 + 1
    end)
    assert.equal("interrupted", failure(f, T {1, 2}))
    assert.equal(1, n)
    assert.same({3, 5}, f(T {1, 2}):totable())
    assert.same({3, 5}, f(T {1, 2}):totable())
    assert.equal(2, n)
  end)
end)

-- -- Everything that is documented -------------------------------------------

-- Under sanitizers one example of STEP is called.
local STEP = os.getenv "STRIDED_SANITIZED" and 64 or 1

--- The rows of a table, one of STEP, in the order of their names.
local function some(rows)
  local names, i = {}, 0
  for name in pairs(rows) do names[#names + 1] = name end
  table.sort(names)
  return function()
    i = i + STEP
    return names[i], rows[names[i]]
  end
end

describe("The examples of st.help, in a function of st.fuse,", function()
  local function check(code, want)
    local run = assert(compile("local st, t = ...\nreturn " .. code))
    local f = st.fuse(function(t) return run(st, t) end)
    local x, other = st.tensor {{1, 2}, {3, 4}}, st.tensor {{2, 4}, {1, 3}}
    pcall(f, other)
    for _ = 1, 2 do
      local results = {f(x)}
      for i, v in ipairs(results) do results[i] = tostring(v) end
      assert.equal(want, table.concat(results, "\n"), code)
    end
  end

  it("of functions, give what they give", function()
    local n = 0
    for name, row in some(functions) do
      local run = assert(compile("local st, t = ...\nreturn " .. row.example))
      local f = st.fuse(function(t) return run(st, t) end)
      pcall(f, st.tensor {{2, 4}, {1, 3}})
      for _ = 1, 2 do
        local ok, v = pcall(f, st.tensor {{1, 2}, {3, 4}})
        assert.equal(row.result, tostring(v), name)
        assert.is_true(ok, name)
      end
      n = n + 1
    end
    assert.is_true(n >= math.floor(100 / STEP))
  end)

  it("of operators, give what they give", function()
    local n = 0
    for name, row in some(examples) do
      if not lapack.is_missing(name) then check(row.code, row.result) end
      n = n + 1
    end
    assert.is_true(n >= math.floor(580 / STEP))
  end)

  lapack.note("of eigenvalues, give what they give", pending)
end)

-- -- Expressions -------------------------------------------------------------

describe("A body of lib:elementwise or lib:reduction", function()
  local lib
  before_each(function() lib = st.library "specreads" end)
  after_each(function() lib:close() end)

  local WAYS = {
    {"item", function(x) return x * x:item() end, "item: "},
    {"a subscript", function(x) return x * x[1] end, "elements are not known"},
    {"totable", function(x) return x * x:totable()[1] end, "totable: "},
    {"data_ptr", function(x) return x * x:data_ptr() end, "data_ptr: "},
    {"equal", function(x) return x:equal(x) and x or x * 2 end, "equal: "},
    {"shape", function(x) return x * x.shape[1] end, ""},
  }
  for _, row in ipairs(WAYS) do
    it("has no elements: " .. row[1], function()
      raises({"reads_elements_spec.lua:", row[3], "traced"}, lib.elementwise,
             lib, "f(Tensor x) -> Tensor", row[2])
      raises({"reads_elements_spec.lua:", row[3], "traced"}, lib.reduction,
             lib, "g(Tensor x) -> Tensor", {
               init = 0, map = row[2],
               combine = function(a, b) return a + b end,
             })
    end)
  end

  teardown(function()
    READS = nil
    collect()
    assert.same(before, tensors.kinds())
  end)
end)
