--- The dtypes of the fuzzer's tensors.

local core = require "strided.core"

local common = {
  "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16",
  "float32", "float64", "complex64", "complex128",
}

-- The others that numbers are converted to, of every 13th case, since most
-- operators are for floats.
local rare, is_common, is_subbyte = {}, {}, {}
for _, name in ipairs(common) do is_common[name] = true end
for _, d in ipairs(core.dtypes()) do
  if d.is_of_tensors and d.lanes == 1 and not is_common[d.name] then
    rare[#rare + 1] = d.name
  end
  is_subbyte[d.name] = d.is_subbyte
end

return {common = common, rare = rare, is_subbyte = is_subbyte}
