--- The operators of expressions: precedence, the tensor operator that each one
-- calls, and the Lua function for operands that are numbers.
--
-- @module strided.expression.operators

local core = require "strided.core"

local floor, pairs, type = math.floor, pairs, type
local unpack = unpack or table.unpack

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

for key, row in pairs(BINARY) do BINARY[key] = operator(unpack(row)) end
for key, row in pairs(UNARY) do UNARY[key] = operator(nil, unpack(row)) end

return {BINARY = BINARY, UNARY = UNARY, POWER = operator(nil, unpack(POWER)),
        COMPARISON = BINARY["<"].level}
