--- Lua's operators on tensors that are no operators of the engine: `<`, `<=`,
-- `==`, and loops.
--
-- Lua turns the result of a comparison into a boolean, so `a < b` is for single
-- numbers; `a:lt(b)` compares all elements. Lua 5.1 and LuaJIT compare only two
-- tensors this way: `t < 2` works from Lua 5.2 on, `t:item() < 2` in every Lua.
-- `t == 2` is false in every Lua, without a call: `t:item() == 2`.
--
-- @module strided.tensor.comparison

local core = require "strided.core"
local raise = require "strided.argument.caller_error"

local concat, format, ipairs, type = table.concat, string.format, ipairs, type

local require = require "strided.core".require

local is_tensor = core.is_tensor
local methods = core.methods

--- Raises an error unless a method was called on a tensor.
local function check(name, t)
  if not is_tensor(t) then
    raise("%s: argument 'self' must be a Tensor, got %s%s", name, type(t),
          t == nil and "; write t:" .. name .. "() with a colon" or "")
  end
end

-- -- Comparisons --------------------------------------------------------------

local function shape_text(v)
  return is_tensor(v) and format("[%s]", concat(v.shape, ", ")) or type(v)
end

local function is_single(v) return not is_tensor(v) or v:numel() == 1 end

--- The boolean of a comparison of two single numbers. Lua computes a > b as
-- b < a.
local function compare(signs, name, mirrored)
  return function(a, b)
    if not (is_single(a) and is_single(b)) then
      raise("%s compare single numbers and give one boolean, but the operands "
            .. "are %s and %s; write a:%s(b) or a:%s(b) for a tensor of "
            .. "booleans", signs, shape_text(a), shape_text(b), name, mirrored)
    end
    if is_tensor(a) then return a[name](a, b):item() end
    return b[mirrored](b, a):item()
  end
end

local warned = false

--- Two different tensors: `==` is true for the same tensor only.
local function equal()
  if not warned then
    warned = true
    core.warn("== of two tensors is true only if they are the same tensor; "
              .. "write a:equal(b) to compare all elements, or a:eq(b) for a "
              .. "tensor of booleans")
  end
  return false
end

-- -- Loops --------------------------------------------------------------------

--- Iterates over the first dimension: `for row, i in t:iter() do`. The rows of
-- a 1-dim tensor are numbers, or booleans; where its gradients are recorded,
-- tensors.
-- @function iter
-- @treturn function
local function iter(t)
  check("iter", t)
  local n, i = #t, 0
  return function()
    if i < n then
      i = i + 1
      return t[i], i
    end
  end
end

--- pairs(t) and ipairs(t), where this Lua has the metamethod.
local function indexed(t)
  local n = #t
  return function(_, i)
    if i < n then return i + 1, t[i + 1] end
  end, t, 0
end

--- for e in t do, t(1), and a method whose object is missing: net.forward(x).
local function call()
  raise("a tensor cannot be called; write t[i] for an element, for row in "
        .. "t:iter() do for a loop, and a colon before a method")
end

-- -- Lists of tensors ---------------------------------------------------------

local lists = core.tensor_lists

--- for part in t:split(2) do
function lists.__call()
  raise "a list cannot be called; write for _, part in ipairs(list) do"
end

--- What a tensor has, where a list was taken for its first tensor, as in
-- local a, b = t:chunk(2). Other names are nil.
function lists.__index(_, key)
  if type(key) == "string" and (methods[key] or core.properties[key] or
                                core.named(key, true)) then
    raise("a list of tensors has no '%s'; write list[1], or local a, b = "
          .. "unpack(list)", key)
  end
end

--- print(t:split(2))
function lists.__tostring(list)
  return require("strided.session.show").value(list)
end

core.set_metamethod("__call", call)
core.set_metamethod("__lt", compare("< and >", "lt", "gt"))
core.set_metamethod("__le", compare("<= and >=", "le", "ge"))
core.set_metamethod("__eq", equal)
core.set_metamethod("__pairs", indexed)
core.set_metamethod("__ipairs", indexed)
methods.iter = iter

for _, name in ipairs {"is_floating_point", "is_complex", "is_signed"} do
  methods[name] = function(t)
    check(name, t)
    return core.dtype_info(t.dtype)[name]
  end
end
