--- The operators of expressions: precedence, the tensor operator that each one
-- calls, and the Lua function for operands that are numbers; the Lua functions
-- of operators that an expression calls by name.
--
-- @module strided.expression.operators

local core = require "strided.core"

local floor, pairs, type = math.floor, pairs, type
local is_tensor = core.is_tensor
local unpack = unpack or table.unpack
local math = math

local MAX_EXACT = 2 ^ 53 -- integers below it are exact in a double

-- -- Numbers alone -----------------------------------------------------------

local function is_number(v) return type(v) == "number" end
local function is_boolean_like(v)
  return type(v) == "boolean" or is_number(v)
end
local function is_integer(v)
  return is_number(v) and v % 1 == 0 and v >= -MAX_EXACT and v <= MAX_EXACT
end

-- Symbolic numbers and tensors have metamethods for arithmetic.
local function has_arithmetic(v)
  return is_number(v) or type(v) == "userdata" or type(v) == "cdata"
end

local function truth(v) return v ~= 0 and v ~= false end

--- A bitwise operator on integers in two's complement of unlimited width, bit
-- by bit, because not every Lua version has bitwise operators. rows[x + 1][y +
-- 1] is the result for the bits x and y.
local function bitwise(rows)
  return function(a, b)
    local out, power = 0, 1
    while not ((a == 0 or a == -1) and (b == 0 or b == -1)) do
      local x, y = a % 2, b % 2
      out = out + power * rows[x + 1][y + 1]
      a, b, power = floor(a / 2), floor(b / 2), power * 2
    end
    return out - power * rows[a % 2 + 1][b % 2 + 1]
  end
end

-- -- Operators ---------------------------------------------------------------

-- precedence level, tensor operator, predicate of the operands that the Lua
-- function accepts, Lua function
local BINARY = {
  ["or"] = {1, "logical_or", is_boolean_like,
            function(a, b) return truth(a) or truth(b) end},
  ["and"] = {2, "logical_and", is_boolean_like,
             function(a, b) return truth(a) and truth(b) end},
  ["<"]  = {3, "lt", is_number, function(a, b) return a < b end},
  ["<="] = {3, "le", is_number, function(a, b) return a <= b end},
  [">"]  = {3, "gt", is_number, function(a, b) return a > b end},
  [">="] = {3, "ge", is_number, function(a, b) return a >= b end},
  ["=="] = {3, "eq", is_number, function(a, b) return a == b end},
  ["~="] = {3, "ne", is_number, function(a, b) return a ~= b end},
  ["|"]  = {4, "bitwise_or", is_integer, bitwise {{0, 1}, {1, 1}}},
  ["~"]  = {5, "bitwise_xor", is_integer, bitwise {{0, 1}, {1, 0}}},
  ["&"]  = {6, "bitwise_and", is_integer, bitwise {{0, 0}, {0, 1}}},
  ["<<"] = {7, "bitwise_left_shift", is_integer,
            function(a, b) return floor(a * 2 ^ b) end},
  [">>"] = {7, "bitwise_right_shift", is_integer,
            function(a, b) return floor(a / 2 ^ b) end},
  ["+"]  = {8, "add", has_arithmetic, function(a, b) return a + b end},
  ["-"]  = {8, "sub", has_arithmetic, function(a, b) return a - b end},
  ["*"]  = {9, "mul", has_arithmetic, function(a, b) return a * b end},
  ["/"]  = {9, "div", has_arithmetic, function(a, b) return a / b end},
  ["//"] = {9, "floor_divide", is_number,
            function(a, b) return floor(a / b) end},
  ["%"]  = {9, "remainder", has_arithmetic, -- integers raise for modulus 0
            function(a, b) return b == 0 and 0 / 0 or a % b end},
}
local POWER = {"pow", has_arithmetic, function(a, b) return a ^ b end}
local UNARY = {
  ["-"] = {"neg", has_arithmetic, function(a) return -a end},
  ["+"] = {"positive", has_arithmetic, function(a) return a end},
  ["not"] = {"logical_not", is_boolean_like,
             function(a) return not truth(a) end},
  ["~"] = {"bitwise_not", is_integer, function(a) return -1 - a end},
}

local function operator(level, name, takes, plain)
  return {level = level, takes = takes, plain = plain,
          operator = core.callable("aten::" .. name, false)}
end

-- -- Calls by name -----------------------------------------------------------

local function maximum(a, b)
  if a ~= a or b ~= b then return 0 / 0 end
  return a > b and a or b
end

local function minimum(a, b)
  if a ~= a or b ~= b then return 0 / 0 end
  return a < b and a or b
end

-- by operator: predicate of the arguments, Lua function, number of arguments
local NAMED = {
  abs = {is_number, math.abs, 1}, ceil = {is_number, math.ceil, 1},
  floor = {is_number, floor, 1}, sqrt = {is_number, math.sqrt, 1},
  exp = {is_number, math.exp, 1}, log = {is_number, math.log, 1},
  sin = {is_number, math.sin, 1}, cos = {is_number, math.cos, 1},
  tan = {is_number, math.tan, 1}, asin = {is_number, math.asin, 1},
  acos = {is_number, math.acos, 1}, atan = {is_number, math.atan, 1},
  atan2 = {is_number, math.atan2 or math.atan, 2}, -- luacheck: ignore 143
  maximum = {is_number, maximum, 2}, minimum = {is_number, minimum, 2},
  fmod = {is_number, function(a, b)
            return b == 0 and 0 / 0 or math.fmod(a, b)
          end, 2},
  clamp = {is_number, function(a, low, high)
             return minimum(maximum(a, low), high)
           end, 3},
}
for _, row in pairs(BINARY) do NAMED[row[2]] = {row[3], row[4], 2} end
for _, row in pairs(UNARY) do NAMED[row[1]] = {row[2], row[3], 1} end
NAMED[POWER[1]] = {POWER[2], POWER[3], 2}

--- The Lua function for a call of an operator whose n arguments are numbers, or
-- nil.
local function named_plain(name, args, n)
  local row = NAMED[name]
  if not row or n ~= row[3] then return nil end
  for i = 1, n do
    if is_tensor(args[i]) or not row[1](args[i]) then return nil end
  end
  return row[2]
end

for key, row in pairs(BINARY) do BINARY[key] = operator(unpack(row)) end
for key, row in pairs(UNARY) do UNARY[key] = operator(nil, unpack(row)) end

return {BINARY = BINARY, UNARY = UNARY, POWER = operator(nil, unpack(POWER)),
        COMPARISON = BINARY["<"].level, named_plain = named_plain}
