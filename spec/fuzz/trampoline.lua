--- Fuzzing of the way from Lua into the engine: any value for any argument of
-- any operator, and Lua kernels that return, raise and do anything.
--
-- Calls share a few small tensors, which they write, resize and free, so that
-- a million of them take minutes. Each batch has tensors and operators of its
-- own and can be run alone.

local st = require "strided"
local core = require "strided.core"
local operators = require "spec.fuzz.operators"
local run = require "spec.fuzz.run"
local values = require "spec.fuzz.values"

local unpack = unpack or table.unpack

local huge = math.huge

local M = {}

local BATCH = 500    -- calls with the same tensors
local TENSORS = 40   -- of a batch
M.LOOK = 20000       -- calls after which it is worth counting live objects

-- -- Odd values --------------------------------------------------------------

local function raising(name)
  return setmetatable({}, {[name] = function() error("metamethod", 0) end})
end

local function nesting(fn)
  return setmetatable({}, {__index = function() return fn() end,
                           __len = fn, __call = fn, __tostring = fn})
end

local function cyclic()
  local t = {1}
  t[2], t.dim, t.out = t, t, {t}
  return t
end

local function deep(n)
  local t = {1}
  for _ = 1, n do t = {t} end
  return t
end

local function all_but_string()
  local t = {[1.5] = 1, [-1] = 2, [0] = 3, [true] = 4, [print] = 5}
  t[t], t[2 ^ 53] = 6, 7
  return t
end

local ODD = {
  function() return {1, nil, 3} end,
  function() return {[2] = 1} end,
  function(c) return {[c:int(1, 4)] = c:pick(c.made)} end,
  cyclic, all_but_string,
  function(c) return deep(c:pick {3, 63, 64, 65, 300}) end,
  function(c)
    return raising(c:pick {"__index", "__len", "__call", "__eq", "__concat",
                           "__tostring", "__newindex", "__unm", "__lt"})
  end,
  function() return nesting(function() return st.ones(2):add(1) end) end,
  function(c)
    return nesting(function() return c:pick(c.made):free() end)
  end,
  function() return nesting(coroutine.yield) end,
  function(c)
    return {[c:pick {"dim", "out", "dtype", "\0", "", "self", "keepdim", "x",
                     ("x"):rep(300)}] = values.odd(c)}
  end,
  function(c) return {dim = 1, c:pick(c.made)} end,
  function(c) return {out = c:list(c:int(0, 3), c.pick, c.made)} end,
  function(c) return c:list(c:int(0, 70), values.integer) end,
  function(c) return c:list(c:int(0, 5), values.odd) end,
  function(c) return c:list(c:int(0, 70), c.pick, c.made) end,
  function(c) return c:pick {0 / 0, huge, -huge, -0.0, 1e-320, 2 ^ 63} end,
  function(c) return values.integer(c) end,
  function(c) return c:pick {"", "\0", "x", ("y"):rep(2000), "float32\0",
                             "cpu", "1", "CPU", "aten::add"} end,
  function(c) return c:pick {true, false, print, st, core, st.ops, st.none,
                             st.newaxis, st.ellipsis, io.stdout} end,
  function(c) return c:pick {st.ops.aten, st.ops.aten.add, st.add, st.neg,
                             st.ops.nonsense} end,
  function() return coroutine.create(function() end) end,
  function() return newproxy and newproxy(true) end, -- luacheck: ignore 113
  function() return st.complex(0 / 0, huge) end,
  function() return st.keyset and st.keyset "CPU" end,
  function() return nil end,
  function()
    local t = st.ones(2)
    t:free()
    return t
  end,
}

local function odd(c)
  c.depth = c.depth + 1
  if c.depth > 20 then return c.depth end
  return c:pick(ODD)(c)
end

-- -- Lua kernels -------------------------------------------------------------

local SCHEMAS = {
  "f1(Tensor a) -> Tensor", "f2(Tensor a, int n=1) -> (Tensor, Tensor)",
  "f3(Tensor[] a) -> Tensor[]", "f4(Tensor a, Dim d=0) -> int",
  "f5(Tensor a, float x=1) -> float", "f6(Tensor? a=None) -> bool",
  "f7(Tensor a, str s='x') -> str", "f8(Tensor a, Scalar s=1) -> Scalar",
  "f9(Tensor a, int[2] n=1) -> int[]", "f10(Tensor a) -> Tensor?",
  "f11(Tensor(a!) a) -> Tensor(a!)", "f12(Tensor a, Index[] i) -> ()",
  "f13(Tensor a, *, bool[] b=[]) -> (int, str, Tensor, bool[])",
  "f14(Tensor a, Generator? g=None) -> Generator?",
  "f15(Tensor a, ScalarType d=6) -> ScalarType",
  "f16(Tensor a, MemoryFormat m=0) -> (MemoryFormat, float[], complex)",
  "f17(Tensor?[] a, Device? d=None) -> (Device, Index, Dim[])",
  "f18(Tensor(a!)[] a) -> ()", "f19(Tensor a, *, Tensor(a!) out) -> Tensor(a!)",
}

local KEYS = {"CPU", "CPU", "CompositeImplicitAutograd", "Meta",
              "CompositeExplicitAutograd"}

local CASE -- the one that runs, for kernels

local ACTS = {
  function() end,
  function(...) return ... end,
  function() return odd(CASE) end,
  function() return odd(CASE), odd(CASE), odd(CASE), odd(CASE) end,
  function() return CASE:pick(CASE.made) end,
  function() return CASE:pick(CASE.made), CASE:pick(CASE.made) end,
  function() return CASE:list(3, CASE.pick, CASE.made) end,
  function() return 1, "x", CASE:pick(CASE.made), {true} end,
  function() return CASE:list(CASE:int(0, 3), values.integer) end,
  function() return values.integer(CASE) end,
  function() error(odd(CASE), 0) end,
  function() error(CASE:pick {"text", nil, {}, setmetatable({}, {})}) end,
  function(a) a:free() return a end,
  function(a) return a:resize_ {3, 2} end,
  function() return coroutine.yield(1) end,
  function() return unpack({}, 1, 200) end,
  function() M.call(CASE) return st.ones(2) end,
  function() return select(2, M.call(CASE)) end,
  function() CASE.lib:close() return 1 end,
  function()
    CASE.lib:def(CASE:pick(SCHEMAS))
    return CASE:pick(CASE.made)
  end,
}

local function kernel(...)
  local c = CASE
  c.depth = c.depth + 1
  if c.depth > 20 then error("enough", 0) end
  return c:pick(ACTS)(...)
end

local function open_library(c)
  c.lib = st.library "junk"
  for _, text in ipairs(SCHEMAS) do
    c.lib:def(text)
    c.lib:impl(text:match "^%w+", c:pick(KEYS), kernel)
  end
end

-- -- Calls -------------------------------------------------------------------

local function arguments(c, args)
  local list, n = operators.fill(c, args)
  if c:chance(0.15) then list[c:int(1, n + 1)] = odd(c) end
  if c:chance(0.02) then n = n + c:pick {1, 5, 100} end
  return list, n
end

local function anything(c)
  return c:list(c:int(0, 5), function()
    return c:chance(0.5) and c:pick(c.made) or odd(c)
  end), 5
end

local WAYS = {
  function(o) return o.object end,
  function(o) return o.object end,
  function(o) return o.packet end,
  function(o) return o.packet end,
  function(o) return st[o.short] or o.object end,
  function(o, c) return c:pick(c.made)[o.short] or o.packet end,
  function(_, c) return st.ops.junk["f" .. c:int(1, 20)] end,
  function(_, c) return st.ops.junk["f" .. c:int(1, 20)] end,
  function(_, c) return st.ops[odd(c)][odd(c)] end,
  function(o, c)
    return c:pick {"schema", "dump", "table", "overloads", "redispatch"}, o
  end,
}

--- One call of anything with anything; what pcall says.
function M.call(c)
  local o = c:pick(M.all)
  c.text = o.name
  local list, n
  if c:chance(0.9) then list, n = arguments(c, o.args)
  else list, n = anything(c) end
  if c.note and c.depth == 0 then c.note(c.round, o.name) end
  return pcall(function()
    local f, object = c:pick(WAYS)(o, c)
    if c:chance(0.05) then st.memory_fail_at(c:int(1, 6)) end
    if object then -- a method of an operator
      f, object = object.object[f], object.object
      return f(object, unpack(list, 1, n))
    end
    if c:chance(0.03) then f = coroutine.wrap(f) end
    return f(unpack(list, 1, n))
  end)
end

local function look(c, ok, ...)
  st.memory_fail_at(0)
  if ok and c:chance(0.1) then operators.look_at(c, {...}) end
  return ok, ...
end

local function check(ok, why)
  if not ok and type(why) == "string" and why:find "attempt to " and
     not why:find "spec/fuzz" and not why:find "to yield" and
     not why:find "across" then
    return "an error of Lua itself: " .. why
  end
end

--- Operators but those whose results a tensor's elements make as large as they
-- like: they may really be allocated.
local function overloads()
  local out = {}
  for _, o in ipairs(operators.overloads()) do
    if not o.name:find "repeat_interleave" then out[#out + 1] = o end
  end
  return out
end

local function batch(seed, first, last, note, broken)
  local passed, c = 0, values.case(seed, first)
  c.odd, c.depth, c.tame, c.note = odd, 0, true, note
  c.made = {st.ones(2), st.ones(3, 2)}
  for i = 3, TENSORS do
    c.tame = i < TENSORS / 2 -- these fit each other
    values.tensor(c)
  end
  open_library(c)
  CASE = c
  for i = first, last do
    c.reuse, c.depth, c.tame = 0.97, 0, c:chance(0.7)
    c.round = i
    local ok, why = look(c, M.call(c))
    if ok then passed = passed + 1 end
    local what = check(ok, why)
    if what then
      broken[#broken + 1] = ("seed %d call %d: %s: %s"):format(seed, i, c.text,
                                                               what)
    end
  end
  c.lib:close()
  CASE = nil
  return passed
end

--- The promises that calls first..last of a seed break, as texts, and how
-- many calls went through. first begins a batch: it is 1 or 1 more than a
-- multiple of 500. note(i, text) hears of each call before it is made.
function M.run(seed, first, last, note)
  M.all = M.all or overloads()
  local broken, passed, before = {}, 0, run.live()
  for from = first, last, BATCH do
    local to = math.min(from + BATCH - 1, last)
    passed = passed + batch(seed, from, to, note, broken)
  end
  local which = ("seed %d calls %d to %d"):format(seed, first, last)
  run.report_live(broken, before, which)
  return broken, passed
end

return M
