--- Any bytes as a .t7 file, binary or ASCII by their first one.

local reading = require "spec.fuzz.targets.reading"
local t7 = require "strided.io.t7"

return function(bytes)
  reading.all_elements(reading.try(t7.read, bytes))
end
