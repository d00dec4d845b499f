--- Writes a profile's timeline in the format of Chrome's traces: one complete
-- event ("ph": "X") per call, with times in microseconds.
--
-- @module strided.profile.chrome

local byte, concat, format, gsub = string.byte, table.concat, string.format,
  string.gsub

local PART = 4096 -- events that are written at once

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

--- Writes n events to an open file; returns true, or nil and an error message.
return function(file, rows, n, data)
  local heads, tails = {}, {}
  local parts = {'{"displayTimeUnit":"ns","traceEvents":[\n'}
  for i = 1, n do
    local r, _, start, time, bytes = data:event(i)
    if not heads[r] then
      heads[r], tails[r] = head_of(rows[r]), tail_of(rows[r])
    end
    parts[#parts + 1] = heads[r]
    parts[#parts + 1] = format('"ts":%.3f,"dur":%.3f,"args":{"bytes":%.0f',
                               start * 1e6, time * 1e6, bytes)
    parts[#parts + 1] = tails[r]
    parts[#parts + 1] = i < n and ",\n" or "\n"
    if i % PART == 0 then
      local ok, why = file:write(concat(parts))
      if not ok then return nil, why end
      parts = {}
    end
  end
  parts[#parts + 1] = "]}\n"
  return file:write(concat(parts))
end
