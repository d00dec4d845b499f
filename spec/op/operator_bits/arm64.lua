--- Digests of arm64, made under QEMU by a library that GCC had cross-built:
-- arm64_bits_spec.lua compares those of this machine with them.
--
-- Rows: a program that prints numbers for bits and then the name of its
-- instruction set, its arguments, and a checksum of the numbers.

local arm64 = {
  {"op/linalg/product_bits/digest.lua", "fused", 940944794},
  {"op/linalg/product_bits/digest.lua", "rounded", 315055930},
  {"op/nn/conv_bits/digest.lua", "", 653063289},
  {"op/fft/same_bits/digest.lua", "1 float32 float64", 909811490},
  {"op/reduce/reproducible/digest.lua", "1 float32 float64", 502214153},
  {"strided/nn/training_bits/run.lua", "10", 596044473},
}

--- One number for a text, the same in every Lua.
function arm64.checksum(text)
  local h = 7
  for i = 1, #text do h = (h * 31 + text:byte(i)) % 1000000007 end
  return h
end

return arm64
