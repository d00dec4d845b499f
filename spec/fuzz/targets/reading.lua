--- What the targets of file formats share.

local core = require "strided.core"
local st = require "strided"

local next, pcall, tostring, type = next, pcall, tostring, type

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

local MAX_ELEMENTS = 2 ^ 16

--- Reads the elements of every tensor in a value; a few bytes of a file may
-- describe many elements.
function reading.all_elements(value, seen)
  seen = seen or {}
  if st.is_tensor(value) then
    if value.device == "cpu" and value:numel() < MAX_ELEMENTS then
      reading.elements(value:detach():resolve_conj():resolve_neg())
    end
  elseif type(value) == "table" and not seen[value] then
    seen[value] = true
    for _, element in next, value do reading.all_elements(element, seen) end
  end
end

--- Ends the run unless t and u are the same in every bit.
function reading.compare(t, u)
  if t.dtype ~= u.dtype or tostring(t.shape) ~= tostring(u.shape) or
     reading.elements(t) ~= reading.elements(u) then
    broken "the same bytes give another tensor"
  end
end

return reading
