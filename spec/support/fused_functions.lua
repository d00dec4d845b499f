--- Defines functions as fused operators, with inputs and comparisons for them.

local assert = require "luassert"
local st = require "strided"

local M = {}

M.BITS = {float16 = "int16", float32 = "int32", float64 = "int64"}

--- Two lists of float32 bit patterns: zeros, numbers and one NaN; and zeros,
-- subnormal and large numbers and infinities. There is only one NaN, because
-- which of two NaN operands is the result is unspecified.
M.KINDS = {
  {0x00000000, 0x80000000, 0x00000001, 0x3f800000, 0xc0490fdb, 0x7fc12345},
  {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x3f800000, 0xc0490fdb,
   0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000},
}

function M.softmax(x)
  local e = (x - x:amax(2, true)):exp()
  return e / e:sum(2, true)
end

--- A layer's normalisation.
function M.normalisation(bias)
  return function(x)
    local centred = x - x:mean(2, true)
    local variance = (centred * centred):mean(2, true)
    return centred / (variance + 1e-5):sqrt() * bias + 1
  end
end

--- Opens a library for defining functions of n tensors as operators.
-- @treturn function fuse(n, body, results)
-- @return the library
function M.library(ns)
  local lib, made = st.library(ns), 0
  return function(n, body, results)
    made = made + 1
    local names = {}
    for i = 1, n do names[i] = "Tensor x" .. i end
    local name = "f" .. made
    lib:elementwise(("%s(%s) -> %s"):format(name, table.concat(names, ", "),
                                            results or "Tensor"), body)
    return st.ops[ns][name].default
  end, lib
end

--- Three tensors with all combinations of special numbers, and a fourth one.
function M.special(kind, dtype)
  local bits = {}
  for i, b in ipairs(kind) do bits[i] = b >= 2 ^ 31 and b - 2 ^ 32 or b end
  local n = #bits
  local x = st.tensor(bits, {dtype = "int32"}):view "float32":to(dtype)
  local function along(...)
    return x:view(...):expand(n, n, n):contiguous():view(n * n * n)
  end
  return along(n, 1, 1), along(1, n, 1), along(1, 1, n), along(n, 1, 1):flip(1)
end

--- Asserts that two tensors are bit-identical, except for the payloads of NaNs.
function M.same(want, got)
  local bits = M.BITS[tostring(want.dtype)] or want.dtype
  assert.equal(want.dtype, got.dtype)
  assert.same(want:size(), got:size())
  assert.same(want:stride(), got:stride())
  local is_nan = want:ne(want)
  assert.is_true(is_nan:equal(got:ne(got)))
  assert.is_true(want:masked_fill(is_nan, 0):contiguous():view(bits):equal(
    got:masked_fill(is_nan, 0):contiguous():view(bits)))
end

return M
