--- Writes a profile's timeline in the format of Chrome's traces: one complete
-- event ("ph": "X") per call, with times in microseconds.
--
-- @module strided.profile.chrome

local byte, format, gsub = string.byte, string.format, string.gsub
local open = io and io.open

local function escape(c)
  return format("\\u%04x", byte(c))
end

--- A JSON string.
local function quoted(text)
  return '"' .. gsub(gsub(text, '[\\"]', "\\%0"), "%c", escape) .. '"'
end

--- What all events of a row have in common, as two pieces of text.
local function head_of(row)
  local category = row.is_named and "strided" or "operator"
  return format('{"name":%s,"cat":"%s","ph":"X","pid":1,"tid":1,',
                quoted(row.name), category)
end

local function tail_of(row)
  return (row.shapes and format(',"shapes":%s', quoted(row.shapes)) or "")
         .. (row.where and format(',"line":%s', quoted(row.where)) or "")
         .. "}}"
end

--- Writes n events to the file; returns a message if that fails.
return function(path, rows, n, data)
  local file, why = open(path, "w")
  if not file then return why end
  local heads, tails = {}, {}
  local ok = file:write '{"displayTimeUnit":"ns","traceEvents":[\n'
  for i = 1, n do
    local r, _, start, time, bytes = data:event(i)
    if not heads[r] then
      heads[r], tails[r] = head_of(rows[r]), tail_of(rows[r])
    end
    ok, why = file:write(heads[r], format('"ts":%.3f,"dur":%.3f,"args":'
                         .. '{"bytes":%.0f', start * 1e6, time * 1e6, bytes),
                         tails[r], i < n and ",\n" or "\n")
    if not ok then break end
  end
  if ok then ok, why = file:write "]}\n" end
  local closed, reason = file:close()
  if not ok then return why end
  if not closed then return reason end
end
