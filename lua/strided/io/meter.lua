--- Counts the bytes of tensors that st.load and st.save have done, for the
-- option `progress`.
--
-- @module strided.io.meter

local core = require "strided.core"

local floor, min, next, type = math.floor, math.min, next, type

local require = require "strided.core".require

local meter = {
  PIECE = 2 ^ 25, -- bytes that are read or written between two steps, about
}

local bar -- of the call that runs, or nil

--- Counts n bytes.
function meter.add(n)
  if bar then bar:step(n) end
end

--- Counts n bytes of a text, whose size is not known before its end.
function meter.add_text(n)
  if bar then
    bar.total = nil
    bar:step(n)
  end
end

--- A function that counts bytes; nil if there is no bar for them to move.
function meter.counter() return bar and meter.add or nil end

--- Counts the elements of a tensor.
function meter.add_tensor(t)
  if bar then bar:step(t:numel() * t:element_size()) end
end

--- Calls fn(piece, offset) for the elements of a dense tensor: at once, or
-- piece by piece if there is a bar for them to move. Returns what it does.
local function each_piece(t, fn)
  if not bar then return fn(t, 0) end
  local n, size = t:numel(), t:element_size()
  local step = floor(meter.PIECE / size)
  if step >= n then
    local done, why = fn(t, 0)
    if done then meter.add(n * size) end
    return done, why
  end
  local flat, at = t:detach():as_strided({n}, {1}), 0
  while at < n do
    local m = min(step, n - at)
    local done, why = fn(flat:narrow(1, at + 1, m), at * size)
    if not done then return nil, why end
    meter.add(m * size)
    at = at + m
  end
  return true
end

--- Reads the elements of a dense tensor, and counts them.
-- @param from a source, or an open member of a zip
-- @param t
-- @tparam[opt] number offset in the source
-- @return true, or nil and an error message
function meter.read_into(from, t, offset)
  return each_piece(t, function(piece, at)
    return from:read_into(piece, offset and offset + at)
  end)
end

--- Writes the elements of a dense tensor to a file, and counts them.
-- @return true, or nil and an error message
function meter.write(file, t)
  return each_piece(t, function(piece) return file:write(piece) end)
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
      if own.done == 0 then own.done = own.total or 0 end -- nothing counts
      own.total = own.done -- headers are not counted
      own:finish(ok)
    end
  end
end

return meter
