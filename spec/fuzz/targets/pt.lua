--- Any bytes as a .pt file, read and mapped.

local pt = require "strided.io.pt"
local reading = require "spec.fuzz.targets.reading"

return function(bytes)
  local value = reading.try(pt.read, bytes, {})
  local mapped = reading.try(pt.read, bytes, {mmap = "r"})
  reading.all_elements(value)
  reading.all_elements(mapped)
end
