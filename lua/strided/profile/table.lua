--- The table of a profile: rows by operator, as text of 80 columns.
--
-- @module strided.profile.table

local raise = require "strided.argument.caller_error"
local units = require "strided.profile.units"

local concat, format, ipairs, sort, tostring = table.concat, string.format,
  ipairs, table.sort, tostring

local bytes_text, count_text, seconds_text = units.bytes, units.count,
  units.seconds

local NAME = 30  -- columns of a name

-- What a row is sorted by, the largest first.
local KEYS = {
  self = function(row) return row.self end,
  total = function(row) return row.total end,
  calls = function(row) return row.calls end,
  bytes = function(row) return row.bytes end,
  average = function(row) return row.total / row.calls end,
}

local function sort_rows(rows, by)
  local key = KEYS[by]
  if not key and by ~= "name" then
    raise("table: 'sort' must be self, total, calls, bytes, average or name, "
          .. "got %s", tostring(by))
  end
  for i, row in ipairs(rows) do row.place = i end
  sort(rows, function(a, b)
    if by == "name" and a.name ~= b.name then return a.name < b.name end
    if key and key(a) ~= key(b) then return key(a) > key(b) end
    return a.place < b.place
  end)
end

--- "aten::add.Tensor" -> "add.Tensor", of at most NAME columns.
local function short(name)
  name = name:gsub("^aten::", "")
  if #name > NAME then name = name:sub(1, NAME - 2) .. ".." end
  return name
end

--- A text in lines of at most 80 columns, each after four spaces.
local function indented(text)
  local lines, line = {}, "   "
  for word in text:gmatch "%S+" do
    if #line + 1 + #word > 80 then
      lines[#lines + 1] = line
      line = "   "
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

local function percent(part, whole)
  return whole > 0 and 100 * part / whole or 0
end

local function line_of(row, elapsed)
  return format("%-30s%8s%9s%6.1f%9s%9s%9s", short(row.name),
                count_text(row.calls), seconds_text(row.self),
                percent(row.self, elapsed), seconds_text(row.total),
                seconds_text(row.total / row.calls), bytes_text(row.bytes))
end

local function counted(n, word)
  return count_text(n) .. " " .. word .. (n == 1 and "" or "s")
end

--- "1.2 ms: 90.1 % in 12 calls of operators, 3.0 % in 1 collection, ..."
local function summary(rows, elapsed, lost)
  local calls, inside, collections, collecting = 0, 0, 0, 0
  for i, row in ipairs(rows) do
    if row.group == i then
      if row.name == "collector" and row.is_named then
        collections, collecting = row.calls, row.self
      else
        inside = inside + row.self
        if not row.is_named then calls = calls + row.calls end
      end
    end
  end
  local text = format("%s: %.1f %% in %s of operators, %.1f %% in %s,\n"
    .. "%.1f %% outside, in Lua", seconds_text(elapsed),
    percent(inside, elapsed), counted(calls, "call"),
    percent(collecting, elapsed), counted(collections, "collection"),
    percent(elapsed - inside - collecting, elapsed))
  if lost > 0 then
    text = text .. "; not in the timeline: " .. counted(lost, "call")
  end
  return text
end

--- The table as text.
-- @param all the rows of the profile
-- @param elapsed seconds
-- @param lost how many calls have no event
-- @param o `sort`, `limit`, `shapes`
return function(all, elapsed, lost, o)
  local rows = {}
  for i, row in ipairs(all) do
    local is_group = row.group == i
    if o.shapes and row.shapes or is_group and (row.is_named or not o.shapes)
    then
      rows[#rows + 1] = row
    end
  end
  sort_rows(rows, o.sort)
  local lines = {summary(all, elapsed, lost), ""}
  lines[3] = format("%-30s%8s%9s%6s%9s%9s%9s", "operator", "calls", "self",
                    "%", "total", "average", "bytes")
  for i, row in ipairs(rows) do
    if i > o.limit then
      lines[#lines + 1] = format("and %d more", #rows - o.limit)
      break
    end
    lines[#lines + 1] = line_of(row, elapsed)
    if o.shapes and row.shapes and row.shapes ~= "" then
      lines[#lines + 1] = indented(row.shapes)
    end
  end
  return concat(lines, "\n") .. "\n"
end
