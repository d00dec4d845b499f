--- Transforms whose bits same_bits_spec.lua compares.

local st = require "strided"

local ipairs = ipairs

local cases = {}

--- Every radix, alone and behind others; lines by eighths; convolutions of
-- short and long lines; lengths that are odd, or whose half is.
cases.LENGTHS = {
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 22, 23, 24, 26,
  29, 31, 32, 34, 36, 37, 49, 62, 64, 65, 77, 81, 88, 97, 100, 121, 125, 128,
  143, 150, 169, 195, 202, 240, 256, 315, 343, 500, 512, 1000, 1009, 1155, 1536,
  2048, 2187, 2401, 4096, 4999, 8192, 10007, 19683,
}

local function complex(parts) return st.view_as_complex(parts) end

--- fn(name, length, input, dimension of lines, operator) for each kind of
-- transform of lines, which are rows.
function cases.each(dtype, fn)
  for _, n in ipairs(cases.LENGTHS) do
    local lines = n > 3000 and 5 or 19
    local z = complex(st.randn({lines, n, 2}, {dtype = dtype}))
    local half = z:narrow(2, 1, (n - n % 2) / 2 + 1)
    local x = st.randn({lines, n}, {dtype = dtype})
    fn("fft", n, z, function(t, dim) return st.fft.fft(t, nil, dim) end)
    fn("ifft", n, z, function(t, dim) return st.fft.ifft(t, nil, dim) end)
    fn("rfft", n, x, function(t, dim)
      return st.fft.rfft(t, nil, dim, "ortho")
    end)
    fn("fft, real", n, x, function(t, dim) return st.fft.fft(t, nil, dim) end)
    fn("irfft", n, half, function(t, dim) return st.fft.irfft(t, n, dim) end)
  end
end

local WORDS = {float32 = "int32", float64 = "int64"}

--- The bits of t as integers.
function cases.bits(t)
  t = t:contiguous():view(-1)
  if t:is_complex() then t = st.view_as_real(t):view(-1) end
  return t:view(WORDS[t.dtype])
end

--- One integer for t's bits.
function cases.digest(t)
  local bits = cases.bits(t):to "int64"
  local weights = st.arange(1, bits:numel() + 1) * 2 - 1
  return (bits * (weights * weights + 77)):sum():remainder(1000000007)
end

return cases
