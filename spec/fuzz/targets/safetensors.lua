--- Any bytes as a .safetensors file: mapped and copied, which gives the same.

local reading = require "spec.fuzz.targets.reading"
local safetensors = require "strided.io.safetensors"

return function(bytes)
  local copied = reading.try(safetensors.read, bytes, {mmap = false})
  local mapped = reading.try(safetensors.read, bytes, {mmap = "r"})
  if not copied then return end
  if not mapped then broken "it can be copied and not mapped" end
  for name, t in pairs(copied) do reading.compare(t, mapped[name]) end
end
