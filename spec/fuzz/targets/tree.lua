--- Any bytes as the description of a tree. What is read is described again,
-- which gives the same.

local reading = require "spec.fuzz.targets.reading"
local st = require "strided"
local tree = require "strided.io.tree"

local tensors = {a = st.ones(2), b = st.zeros(3)}

return function(bytes)
  local value = reading.try(function()
    return tree.decode(bytes, tensors)
  end, "")
  if not value then return end
  local named, text = tree.encode(value)
  if not named then return end -- too deep in other tables
  local again = reading.try(function() return tree.decode(text, named) end, "")
  if again == nil then broken("what was written cannot be read: " .. text) end
  local _, same = tree.encode(again)
  if same ~= text then broken("it changes: " .. text .. " to " .. same) end
end
