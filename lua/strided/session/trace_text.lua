--- The list that `st.trace` returns, as the session shows it: a line for each
-- event, with calls inside of others indented.
--
-- @module strided.session.trace_text

local units = require "strided.profile.units"

local concat, format, getmetatable, ipairs, max, min, type = table.concat,
  string.format, getmetatable, ipairs, math.max, math.min, type

local MOST = 200  -- events that are shown
local NAMES = 36  -- the widest column of names

local trace_text = {}

--- True for a list of events of `st.trace`.
function trace_text.is_trace(t)
  local first = getmetatable(t) == nil and t[1]
  return type(first) == "table" and getmetatable(first) == nil
         and type(first.op) == "string" and type(first.key) == "string"
         and type(first.kind) == "string" and type(first.depth) == "number"
         and type(first.start) == "number"
end

--- The table of a list of events.
function trace_text.of(list)
  local rows, widest, key_width = {}, 8, 3
  for i, event in ipairs(list) do
    if i > MOST then break end
    local name = ("  "):rep(event.depth) .. event.op:gsub("^aten::", "")
    widest = max(widest, min(#name, NAMES))
    key_width = max(key_width, #event.key)
    rows[i] = {name, event}
  end
  local line = "%8s  %-" .. widest .. "s  %-" .. key_width .. "s  %s"
  local lines = {format(line, "time", "operator", "key", "arguments")}
  for i, row in ipairs(rows) do
    local event = row[2]
    local text = format(line, event.time and units.seconds(event.time) or "",
                        row[1], event.key, event.shapes or "")
    lines[i + 1] = text:gsub(" +$", "")
  end
  if #list > MOST then
    lines[#lines + 1] = format("and %d more", #list - MOST)
  end
  return concat(lines, "\n")
end

return trace_text
