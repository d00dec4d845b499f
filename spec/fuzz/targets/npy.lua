--- Any bytes as a .npy file: read, mapped, and written again.

local core = require "strided.core"
local npy = require "strided.io.npy"
local reading = require "spec.fuzz.targets.reading"

return function(bytes)
  local t = reading.try(npy.read, bytes)
  local mapped = reading.try(npy.read, bytes, "r")
  if not t then return end
  if mapped then reading.compare(t, mapped) end
  local head, elements = npy.encode(t)
  local n = t:numel() * t:element_size()
  local again = reading.try(npy.read, head .. core.get_bytes(elements, 0, n))
  if not again then broken "what was written cannot be read" end
  reading.compare(t, again)
end
