--- Products whose bits are compared: factors in several layouts, and sizes on
-- every road of op/linalg/gemm.c.

local st = require "strided"

local ipairs, unpack = ipairs, table.unpack or unpack

local cases = {}

--- A tensor of the shape of t with its elements, in one of four layouts.
cases.layouts = {
  rows = function(t) return t:contiguous() end,
  columns = function(t)
    return t:transpose(-1, -2):contiguous():transpose(-1, -2)
  end,
  part = function(t)
    local sizes = t:size()
    sizes[#sizes] = sizes[#sizes] + 5
    return t:new_zeros(sizes):narrow(-1, 3, t:size(-1)):copy_(t)
  end,
  stepped = function(t)
    local sizes = t:size()
    sizes[#sizes - 1], sizes[#sizes] = 2 * sizes[#sizes - 1], 3 * sizes[#sizes]
    return t:new_zeros(sizes):slice(-1, 1, -1, 3):slice(-2, 1, -1, 2):copy_(t)
  end,
}

-- rows, terms, columns[, batch]: those that are rounded once per term
cases.fused = {
  {33, 257, 65}, {12, 512, 32}, {13, 513, 33}, {97, 100, 101}, {2, 2000, 2},
  {20, 20, 20}, {300, 20, 90}, {5, 13, 100}, {100, 600, 3}, {3, 600, 100, 2},
  -- tiles of all numbers of rows, few rows of a far b, several panels
  {9, 40, 67}, {10, 40, 96}, {11, 40, 130}, {14, 40, 64}, {15, 70, 33},
  {3, 257, 700}, {60, 14, 200, 2},
}

-- so large that blocks of both factors are copied: several of each
cases.large = {
  float32 = {520, 260, 2100}, float64 = {260, 260, 1100},
  complex64 = {260, 260, 1100}, complex128 = {140, 470, 560},
}

-- and those that are rounded twice: vectors, small products, few terms;
-- is_real: that of complex numbers is so large that it is not
cases.rounded = {
  {1, 40, 1}, {1, 40, 1, 3}, {1, 300, 77}, {77, 300, 1, 2}, {300, 700, 1},
  {1, 9001, 2}, {1, 13, 400}, {50, 5, 70}, {257, 1, 300}, {8, 8, 8, 9},
  {16, 16, 16, is_real = true}, {5000, 12, 2},
  -- vectors: few terms, few rows, columns a power of two apart
  {300, 5, 1}, {1, 10, 301}, {20, 900, 1}, {512, 70, 1}, {1500, 300, 1},
}

cases.dtypes = {"float32", "float64", "complex64", "complex128"}

--- Two random factors.
function cases.factors(size, dtype)
  local m, k, n, batch = unpack(size)
  local a, b = {m, k}, {k, n}
  if batch then a, b = {batch, m, k}, {batch, k, n} end
  return st.randn(a, {dtype = dtype}), st.randn(b, {dtype = dtype})
end

--- The bits of a float tensor as integers.
function cases.bits(t)
  if t:is_complex() then t = st.view_as_real(t) end
  return t:contiguous():view("int" .. 8 * t.itemsize)
end

--- Prints a number for each size and dtype, for digest.lua.
function cases.print(sizes)
  local function print_one(dtype, size)
    local bits = cases.bits(cases.factors(size, dtype):matmul(
                              select(2, cases.factors(size, dtype))))
    bits = bits:reshape(-1):to "int64"
    local weights = st.arange(1, bits:numel() + 1)
    print(dtype, table.concat(size, " "),
          tostring((bits * weights):sum():item()))
  end
  for _, dtype in ipairs(cases.dtypes) do
    for _, size in ipairs(sizes) do
      if not (size.is_real and dtype:find "complex") then
        print_one(dtype, size)
      end
    end
  end
end

return cases
