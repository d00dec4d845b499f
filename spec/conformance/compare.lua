--- Compares a tensor with what a vector says of it.

local api = require "spec.conformance.api"
local values = require "spec.conformance.values"

local show, same = values.show_list, values.same_list
local format = string.format

--- Is t what the tensor `want` of a case says? Or false and why. With
-- case.logical its strides are its own affair.
local function compare(t, want, case)
  if not api.is_tensor(t) then
    return false, "a " .. type(t) .. " instead of a tensor"
  end
  if api.dtype(t) ~= want.dtype then
    return false, format("dtype is %s, should be %s", api.dtype(t),
                         want.dtype)
  end
  if not same(api.shape(t), want.shape) then
    return false, format("shape is %s, should be %s", show(api.shape(t)),
                         show(want.shape))
  end
  if not case.logical and not same(api.strides(t), want.strides) then
    return false, format("strides are %s, should be %s",
                         show(api.strides(t)), show(want.strides))
  end
  if not want.storage or values.numel(want.shape) == 0 then return true end
  if t:is_conj() or t:is_neg() then -- what it means was recorded
    t = t:clone()
  elseif not case.logical then
    return values.compare(want.dtype, api.bytes(t), want, case, true)
  end
  return values.compare(want.dtype, api.bytes(t:contiguous()), want, case)
end

return compare
