--- Functions as operators, and what they are tried with.

local assert = require "luassert"
local st = require "strided"

local M = {}

M.BITS = {float16 = "int16", float32 = "int32", float64 = "int64"}

--- Bits of zeros and of numbers with a NaN among them, and of zeros, subnormal
-- and large numbers and infinities. One NaN at a time: where two meet, either
-- may go on.
M.KINDS = {
  {0x00000000, 0x80000000, 0x00000001, 0x3f800000, 0xc0490fdb, 0x7fc12345},
  {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x3f800000, 0xc0490fdb,
   0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000},
}

--- A function of n tensors as an operator of a library.
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

--- Every combination of special numbers three at a time, one after the other.
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

--- To the bit, but for which NaN it is: where two meet, either may come out.
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
