--- Counts the bytes of tensors that st.load and st.save have done, for the
-- option `progress`.
--
-- @module strided.io.meter

local core = require "strided.core"

local next, require, type = next, require, type

local meter = {}

local bar -- of the call that runs, or nil

--- Counts n bytes.
function meter.add(n)
  if bar then bar:step(n) end
end

--- Counts the elements of a tensor.
function meter.add_tensor(t)
  if bar then bar:step(t:numel() * t:element_size()) end
end

--- The bytes of the tensors in a value.
function meter.size(value, seen)
  if core.is_tensor(value) then return value:numel() * value:element_size() end
  seen = seen or {}
  if type(value) ~= "table" or seen[value] then return 0 end
  seen[value] = true
  local n = 0
  for _, item in next, value do n = n + meter.size(item, seen) end
  return n
end

--- Takes the option `progress` out of options, and begins to count if it is
-- given and there is a terminal.
-- @tparam string name of the called function
-- @tparam table options
-- @treturn table the other options
-- @treturn function called with the number of bytes to begin; to end, with nil
-- and whether all went well
function meter.of(name, options)
  local label = options.progress
  if label == nil then return options, function() end end
  local progress = require "strided.progress"
  progress.check(name, label)
  local rest = {}
  for key, value in next, options do
    if key ~= "progress" then rest[key] = value end
  end
  return rest, function(total, ok)
    if total then
      bar = label and progress.bytes(total, label, name) or nil
    elseif bar then
      local own = bar
      bar = nil
      own.total = own.done -- headers are not counted
      own:finish(ok)
    end
  end
end

return meter
