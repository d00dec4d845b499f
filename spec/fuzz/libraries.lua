--- Fuzzing of operators that Lua defines: broken schemas, and kernels that do
-- what they must not, of operators of their own and of aten's.

local st = require "strided"
local operators = require "spec.fuzz.operators"
local values = require "spec.fuzz.values"

local unpack = unpack or table.unpack

local concat = table.concat

local M = {}

-- -- Schemas -----------------------------------------------------------------

local TYPES = {
  "Tensor", "Tensor", "Tensor", "Tensor(a)", "Tensor(a!)", "Tensor[]",
  "Tensor?[]", "Tensor?", "int", "int[]", "int[2]", "Dim", "Dim[]", "Index",
  "End", "float", "float[]", "Scalar", "Scalar?", "complex", "bool", "bool[2]",
  "str", "str?", "ScalarType", "Device", "MemoryFormat", "Layout",
  "Generator?", "int?", "Tensor(a! -> b)[]", "Tensor(a -> *)", "Scalar[]",
  "str[]", "Tensor(b!)[]", "bool?", "ScalarType?",
}

local DEFAULTS = {
  "", "", "", "=1", "=None", "=[]", "=True", "='x'", "=1.5", "=[1, 2]", "=-1",
  "=99999999999999999999", "=long", "='", "=[", "=1e999", "=contiguous_format",
  "=cpu", "=nan", "=\"a\\\"b\"",
}

local function schema(c)
  local args = {}
  for i = 1, c:int(0, c:chance(0.03) and 70 or 4) do
    if c:chance(0.15) then args[#args + 1] = "*" end
    args[#args + 1] = c:pick(TYPES) .. " a" .. i .. c:pick(DEFAULTS)
  end
  local rets = c:list(c:int(0, c:chance(0.03) and 40 or 2), c.pick, TYPES)
  local ret = "(" .. concat(rets, ", ") .. ")"
  if #rets == 1 then ret = rets[1] end
  local overload = c:chance(0.3) and ".o" or ""
  local text = "f" .. c:int(1, 9) .. overload .. "(" .. concat(args, ", ") ..
               ") -> " .. ret
  if c:chance(0.2) then
    local at = c:int(1, #text)
    text = text:sub(1, at - 1) ..
           c:pick {"", "(", ")", "[", "]", "!", ",", "->", "\0", "*", "??",
                   ("("):rep(300), "9999999999", "Tensor", " "} ..
           text:sub(at + c:int(0, 3))
  end
  return text
end

local function plain_schema(c)
  return c:pick {
    "f1(Tensor a) -> Tensor", "f2(Tensor a, Tensor b) -> (Tensor, Tensor)",
    "f3(Tensor(a!) a, *, Tensor(b!) out) -> Tensor(a!)",
    "f4(Tensor[] a, int[] n) -> Tensor[]", "f5(Tensor a, Scalar s) -> Scalar",
    "f6(Tensor a, str s='x') -> str", "f7(Tensor? a, Dim d=0) -> int[]",
    "f8(Tensor a, Generator? g=None) -> Generator?",
    "f9(Tensor a, float[] x) -> (float, bool, Tensor?, ScalarType)",
  }
end

-- -- Kernels -----------------------------------------------------------------

local ACTS = {
  function() end,
  function(_, ...) return ... end,
  function(c) return values.odd(c), values.odd(c), values.odd(c) end,
  function(c) return values.tensor(c) end,
  function(c) return values.tensor(c), values.tensor(c) end,
  function(c) return c:list(2, values.tensor) end,
  function() error("a kernel's error", 0) end,
  function() error {} end,
  function() error() end,
  function(_, a) a:free() return a end,
  function(_, a) a:free() a:free() return st.ones(2) end,
  function(_, a) a:resize_ {7, 3} return a end,
  function(_, a) a:as_strided_({1}, {1}, 0) return a end,
  function(_, a) a:t_() return a end,
  function(_, a) a:unsqueeze_(1) return a end,
  function(_, a) return a[{1}] end,
  function(_, a) return a:select(1, 1) end,
  function(_, a) return a, a, a end,
  function(c) c.lib:close() return c:pick(c.made) end,
  function(c) c.lib:close() collectgarbage() end,
  function() return coroutine.yield() end,
  function(_, ...)
    local co = coroutine.wrap(function(x) return st.neg(x) end)
    return co(...)
  end,
  function(c, a) return c.again(a) end,
  function() return unpack({}, 1, 200) end,
  function() return ("x"):rep(100) end,
  function() return {{}} end,
}

local KEYS = {
  "CPU", "CPU", "CPU", "CompositeImplicitAutograd",
  "CompositeExplicitAutograd", "Meta", "Lua", "Autograd", "ADInplaceOrView",
  "BackendSelect", "PrivateUse1", "AutogradCPU", "Conjugate", "Tracer",
  "Undefined", "bogus", "",
}

-- Operators that others are made of.
local INNER = {
  "aten::select.int", "aten::slice.Tensor", "aten::copy_", "aten::clone",
  "aten::as_strided", "aten::expand", "aten::view", "aten::empty.memory_format",
  "aten::fill_.Scalar", "aten::unsqueeze", "aten::alias", "aten::contiguous",
  "aten::to.dtype", "aten::index.Tensor", "aten::index_put_",
  "aten::_local_scalar_dense", "aten::permute", "aten::transpose.int",
  "aten::squeeze.dim", "aten::cat", "aten::add.Tensor", "aten::narrow",
  "aten::reshape", "aten::empty_strided", "aten::nonzero", "aten::sum",
}

-- -- Rounds ------------------------------------------------------------------

local function call_anything(c, all)
  for _ = 1, 4 do
    local round = operators.round(c, all)
    pcall(round.run)
    st.memory_fail_at(0)
  end
  local t = values.tensor(c)
  pcall(function() return t["1, 1:2"] end)
  pcall(function() return t[{values.tensor(c)}] end)
  pcall(function() t[1] = values.integer(c) end)
  pcall(function()
    return st.tensor({1, 2.5}, {dtype = "float16"}):totable()
  end)
  pcall(tostring, t)
end

local function use(c, all, name)
  local lib, depth = c.lib, 0
  c.again = function(a)
    depth = depth + 1
    if depth > 3 then error("deep", 0) end
    return st.ops.fuzz[name](a, values.argument(c, "Tensor"))
  end
  local act = c:pick(ACTS)
  local function kernel(...)
    c.rounds = (c.rounds or 0) + 1
    if c.rounds > 50 then error("enough", 0) end
    return act(c, ...)
  end
  if c:chance(0.05) then kernel = "fallthrough" end
  for _ = 1, c:int(1, 2) do
    pcall(lib.impl, lib, name, c:pick(KEYS), kernel)
  end
  for _ = 1, c:int(0, 2) do
    pcall(lib.impl, c.over, c:pick(INNER), c:pick(KEYS), kernel)
  end
  local packet = st.ops.fuzz[name:gsub("%..*", "")]
  for _ = 1, 3 do
    local args = c:list(c:int(0, 4), function()
      return c:chance(0.6) and values.tensor(c) or
             values.argument(c, c:pick(TYPES))
    end)
    pcall(function() operators.look_at(c, {packet(unpack(args))}) end)
  end
  call_anything(c, all)
end

--- A library for one round: what it breaks ends with it.
function M.round(c, all)
  local text = c:chance(0.5) and plain_schema(c) or schema(c)
  return {
    text = "library " .. text, tensors = {}, writes = true,
    run = function()
      c.lib, c.over = st.library "fuzz", st.library("aten", "IMPL")
      local ok, why = pcall(c.lib.def, c.lib, text)
      local done, failure = pcall(use, c, all,
        ok and text:match "^[%w_%.]+" or "f1")
      c.lib:close()
      c.over:close()
      if not ok then error(why, 0) end
      if not done then error(failure, 0) end
    end,
  }
end

return M
