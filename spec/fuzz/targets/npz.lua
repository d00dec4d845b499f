--- Any bytes as a .npz file: its list of members, and all tensors in it.

local npz = require "strided.io.npz"
local reading = require "spec.fuzz.targets.reading"
local zip = require "strided.io.zip"

return function(bytes)
  local members = reading.try(zip.members, bytes)
  local tensors = reading.try(npz.read, bytes, {})
  if not tensors then return end
  if not members then broken "tensors in a file without members" end
  for _, t in pairs(tensors) do reading.elements(t) end
end
