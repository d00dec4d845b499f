--- What the targets of file formats share.

local core = require "strided.core"
local st = require "strided"

local pcall, tostring = pcall, tostring

st.warnings(false)

local reading = {}

--- read(source, ...) on bytes as a file: what it returns. It may refuse them,
-- but must not raise.
function reading.try(read, bytes, ...)
  local source = core.open_bytes(bytes)
  local ok, value, extra = pcall(read, source, ...)
  source:close()
  if ok then return value, extra end
  if not tostring(value):find "out of memory" then
    broken("a reader raised: " .. tostring(value))
  end
end

--- The bytes of a tensor's elements, in order.
function reading.elements(t)
  t = t:contiguous()
  return core.get_bytes(t, 0, t:numel() * t:element_size())
end

--- Ends the run unless t and u are the same in every bit.
function reading.compare(t, u)
  if t.dtype ~= u.dtype or tostring(t.shape) ~= tostring(u.shape) or
     reading.elements(t) ~= reading.elements(u) then
    broken "the same bytes give another tensor"
  end
end

return reading
