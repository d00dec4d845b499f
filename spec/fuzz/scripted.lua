--- Fuzzing of kernels, fallbacks and modes in Lua that do what they must not
-- while operators run which are made of others: they resize, restride, free
-- and overwrite operands, also those of earlier calls, return other shapes,
-- strides, dtypes and devices, right shapes with wrong elements, their
-- arguments, nothing; they raise, call operators again, collect garbage.
--
-- Each round calls one operator, at times with gradients. What goes through
-- must be readable, and nothing may stay behind.

local st = require "strided"
local gradients = require "spec.fuzz.gradients"
local operators = require "spec.fuzz.operators"
local run = require "spec.fuzz.run"
local values = require "spec.fuzz.values"

local unpack = unpack or table.unpack

local huge = math.huge

local M = {LOOK = 10000}

local BATCH = 200 -- rounds after which live objects are counted
local DEPTH = 12  -- calls inside each other
local ACTS = 400  -- calls of the functions of a round

-- -- What happens to a tensor ------------------------------------------------

local function sizes(c)
  return c:list(c:int(0, 4), function() return c:int(0, 6) end)
end

--- Elements that no index, length or offset should be.
local function junk(c, t)
  if not st.is_floating_point(t) then
    return t:fill_(c:pick {-5, -1, 1, 0, 3, 77, 3e8, 2 ^ 30, -2 ^ 31, 2 ^ 40})
  end
  return t:fill_(c:pick {-1, 0.5, 1e30, huge, -huge, 0 / 0, 3})
end

local function to_out(c, t)
  return st.add(st.ones(unpack(sizes(c))), 1, {out = t})
end

local CHANGES = {
  function(c, t) return t:resize_(sizes(c)) end,
  function(c, t) return t:resize_(sizes(c)) end,
  function(c, t) return t:resize_ {c:int(100, 5000)} end,
  function(_, t) return t:resize_ {0} end,
  function(_, t) return t:t_() end,
  function(c, t) return t:transpose_(1, c:int(1, 3)) end,
  function(c, t) return t:unsqueeze_(c:int(1, 3)) end,
  function(_, t) return t:squeeze_() end,
  function(c, t) return t:as_strided_(sizes(c), {0, 0, 0, 0}, 0) end,
  function(c, t) return t:resize_as_(c:pick(c.made)) end,
  function(c, t) return t:alias():resize_ {c:int(100, 5000)} end,
  function(_, t) return t:detach():unsqueeze_(1) end,
  to_out,
  function(c, t) return to_out(c, t:alias()) end,
  junk, junk, junk,
  function(_, t) return t:copy_(t:flip(1)) end,
  function(_, t) return t:requires_grad_() end,
  function(_, t) return t:share_memory_() end,
  function(_, t) t:free() return t end,
}

local function change(c, t)
  if not st.is_tensor(t) then return end
  pcall(c:pick(CHANGES), c, t)
end

--- Changes some of the tensors that this and earlier calls had.
local function disturb(c, ...)
  local near = operators.tensors_of({...}, {})
  for _ = 1, c:int(1, 2) do
    local list = c:pick {near, near, c.kept, c.made}
    if #list > 0 then change(c, c:pick(list)) end
  end
end

local function keep(c, ...)
  for _, t in ipairs(operators.tensors_of({...}, {})) do
    if #c.kept < 40 then c.kept[#c.kept + 1] = t
    else c.kept[c:int(1, 40)] = t end
  end
end

-- -- What a call returns -----------------------------------------------------

--- In place of a tensor.
local OTHERS = {
  function(_, t) return t:t():contiguous():t() end,
  function(_, t) return t:reshape(-1) end,
  function(_, t) return t:unsqueeze(1) end,
  function(c, t) return t:narrow(c:int(1, 2), 1, 1) end,
  function(_, t) return t["::2"] end,
  function(_, t) return t:flip(1) end,
  function(c, t) return t:to(c:pick(values.DTYPES)) end,
  function(_, t) return t:to "meta" end,
  function(_, t) return t:alias() end,
  function(_, t) return t:clone() end,
  function(_, t) return t:conj() end,
  function(_, t) return t:_neg_view() end,
  function(_, t) return t:detach():requires_grad_() end,
  function(c, t) return st.empty(c:int(1, 3)):expand(t:size()) end,
  function(_, t) return st.empty_like(t):zero_() end,
  function(c, t) return junk(c, st.empty_like(t)) end,
  function(c, t) return junk(c, st.empty_like(t)) end,
  function(c, t) return junk(c, t:clone()) end,
  function(c) return st.ones(unpack(sizes(c))) end,
  function() return st.empty(0) end,
  function(c) return c:pick(c.made) end,
  function(c) return c:pick(c.kept) end,
  function(c, t) -- in memory of another
    return c:pick(c.kept):reshape(-1):view(t.dtype)
            :as_strided(t:size(), t:stride())
  end,
  function(c, t) change(c, t) return t end,
  function() return st.none end,
  function(c) return values.odd(c) end,
}

local function other(c, t)
  if type(t) == "table" and #t > 0 then
    local list = {}
    for i, x in ipairs(t) do list[i] = c:chance(0.4) and other(c, x) or x end
    if c:chance(0.1) then list[#list] = nil end
    return list
  end
  if not st.is_tensor(t) then
    return type(t) == "number" and c:chance(0.5)
           and c:pick {0, -1, 1, 7, 2 ^ 31, 2 ^ 53, 0.5, -huge} or t
  end
  local ok, made = pcall(c:pick(OTHERS), c, t)
  return ok and made or t
end

local function others(c, ...)
  local n = select("#", ...)
  local list = {...}
  for i = 1, n do
    if c:chance(0.6) then list[i] = other(c, list[i]) end
  end
  return unpack(list, 1, n)
end

-- -- Functions ---------------------------------------------------------------

--- Passes a call on, and what it returns, with what is wrong in between.
local function pass(c, call, ...)
  c.acts = c.acts + 1
  if c.acts > ACTS then error("enough", 0) end
  keep(c, ...)
  if c:chance(c.rate) then disturb(c, ...) end
  if c:chance(0.02) then collectgarbage() end
  if c:chance(c.rate * 0.1) then error("a kernel's error", 0) end
  if c:chance(c.rate * 0.1) then return others(c, ...) end
  local function finish(...)
    keep(c, ...)
    if c:chance(c.rate) then disturb(c, ...) end
    if c:chance(c.rate) then return others(c, ...) end
    return ...
  end
  return finish(call(...))
end

local function mode(c)
  local depth = 0
  return function(op, keys, ...)
    if depth > DEPTH then error("deep", 0) end
    depth = depth + 1
    local again = c:chance(c.rate * 0.3) -- with this mode again
    local function call(...)
      if again then return st.dispatch_mode(c.mode, op, ...) end
      return op:redispatch(keys, ...)
    end
    return (function(ok, ...)
      depth = depth - 1
      if not ok then error((...), 0) end
      return ...
    end)(pcall(pass, c, call, ...))
  end
end

local KEYS = {"CPU", "CPU", "CompositeExplicitAutograd",
              "CompositeImplicitAutograd", "Autograd", "ADInplaceOrView",
              "BackendSelect", "Meta"}

-- Operators that others are made of.
local INNER = {
  "select.int", "slice.Tensor", "copy_", "clone", "as_strided", "expand",
  "view", "empty.memory_format", "empty_strided", "empty_like", "new_empty",
  "fill_.Scalar", "zero_", "unsqueeze", "alias", "contiguous", "to.dtype",
  "index.Tensor", "index_put_", "index_select", "gather", "scatter_add",
  "_local_scalar_dense", "permute", "transpose.int", "squeeze.dim", "cat",
  "add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor", "narrow", "reshape",
  "nonzero", "sum", "sum.dim_IntList", "mm", "bmm", "matmul", "max.dim",
  "sort", "argsort", "cumsum", "arange", "full", "zeros", "ones", "where.self",
  "masked_select", "im2col", "convolution", "_direct_convolution", "diff",
  "searchsorted.Tensor", "bincount", "unique_consecutive", "_unique2",
  "repeat_interleave.Tensor", "repeat_interleave.self_Tensor", "item",
}

--- A kernel of an operator; it has none to pass the call on to.
local function kernel(c)
  return function(...)
    return pass(c, function(a, ...)
      if st.is_tensor(a) and c:chance(0.7) then return a:clone() end
      return a, ...
    end, ...)
  end
end

local function install(c)
  for _ = 1, c:int(1, 3) do
    local name = c:chance(0.6) and "aten::" .. c:pick(INNER)
                 or c:pick(M.all).name
    pcall(c.lib.impl, c.lib, name, c:pick(KEYS), kernel(c))
  end
end

-- -- Rounds ------------------------------------------------------------------

local function body(c, o, list, n, plan)
  gradients.require(plan)
  local results = {o.object(unpack(list, 1, n))}
  operators.look_at(c, results)
  operators.look_at(c, gradients.differentiate(plan,
                                          operators.tensors_of(results, {})))
end

local function round(c)
  local o = c:pick(M.all)
  c.text, c.acts, c.tame, c.reuse = o.name, 0, c:chance(0.9), 0.5
  c.rate = c:pick {0.02, 0.1, 0.3}
  values.prepare(c, o.short)
  local list, n = operators.fill(c, o.args)
  if c.note then c.note(c.round, o.name) end
  local plan = gradients.plan(c, operators.tensors_of(list, {}), o.short)
  c.lib = st.library("aten", "IMPL")
  local kind = c:int(1, 3)
  if kind > 1 then install(c) end
  c.mode = mode(c)
  local ok, why
  if kind == 2 then
    ok, why = pcall(body, c, o, list, n, plan)
  else
    ok, why = pcall(st.dispatch_mode, c.mode, body, c, o, list, n, plan)
  end
  c.lib:close()
  return ok, why
end

local function batch(seed, first, last, note)
  local passed, c = 0, nil
  for i = first, last do
    if not c or i % 20 == 1 then
      c = values.case(seed, i)
      c.kept, c.note = {}, note
      c.made = {st.ones(2), st.ones(3, 2)}
    end
    c.round = i
    if #c.made > 60 then c.made = {st.ones(2), st.ones(3, 2)} end
    if round(c) then passed = passed + 1 end
  end
  return passed
end

--- The promises that rounds first..last of a seed break, as texts, and how
-- many went through. first begins a batch, as in the trampoline.
function M.run(seed, first, last, note)
  if not M.all then
    M.all = {}
    for _, o in ipairs(operators.overloads()) do
      if not o.name:find "repeat_interleave" then M.all[#M.all + 1] = o end
    end
  end
  local broken, passed, before = {}, 0, run.live()
  local limit = st.memory.set_limit(2 ^ 29)
  for from = first, last, BATCH do
    passed = passed + batch(seed, from, math.min(from + BATCH - 1, last), note)
  end
  st.memory.set_limit(limit)
  local which = ("seed %d rounds %d to %d"):format(seed, first, last)
  run.report_live(broken, before, which)
  return broken, passed
end

return M
