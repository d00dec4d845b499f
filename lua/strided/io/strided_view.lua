--- Views of a storage that a file describes by sizes, strides and an offset.
--
-- @module strided.io.strided_view

local fail = require "strided.io.failure".fail

local floor, type = math.floor, type

local MAX_DIMS = 64
local MAX_EXACT = 2 ^ 53   -- integers below it are exact in a double

local function is_count(x)
  return type(x) == "number" and x >= 0 and x < MAX_EXACT and x == floor(x)
end

local strided_view = {}

--- Checks sizes and strides; ends the reading of the file by failure.fail.
-- @treturn number the number of elements
-- @treturn number the index of the last of them from the first, 0 if there are
-- none
function strided_view.check(sizes, strides)
  if #sizes ~= #strides or #sizes > MAX_DIMS then
    fail("a tensor has %d sizes and %d strides", #sizes, #strides)
  end
  local n, nonzero, last = 1.0, 1.0, 0.0 -- not integers that could wrap
  for i = 1, #sizes do
    local size, stride = sizes[i], strides[i]
    if not is_count(size) or not is_count(stride) then
      fail "a tensor has a size or stride that is no number of elements"
    end
    n = n * size
    if size > 0 then
      nonzero = nonzero * size
      last = last + (size - 1.0) * stride
    end
    if nonzero >= MAX_EXACT or last >= MAX_EXACT then
      fail "the shape of a tensor is too large"
    end
  end
  return n, n > 0 and last or 0
end

--- A view of a tensor of one dimension.
-- @tparam Tensor base its elements are contiguous
-- @param offset of the first element, from 0
-- @tparam table sizes
-- @tparam table strides
-- @treturn Tensor
function strided_view.make(base, offset, sizes, strides)
  local n, last = strided_view.check(sizes, strides)
  if not is_count(offset) then
    fail "a tensor has an offset that is no number of elements"
  end
  if n == 0 then return base:new_empty(sizes) end
  if offset + last >= base:numel() then
    fail("a tensor ends at element %.0f of a storage of %.0f",
         offset + last + 1, base:numel())
  end
  return base:as_strided(sizes, strides, base:storage_offset() + offset)
end

return strided_view
