--- What in a profile may make a program slow.
--
-- @module strided.profile.hints

local units = require "strided.profile.units"

local format, ipairs, pairs, sort = string.format, ipairs, pairs, table.sort

local CALL = 1e-6  -- seconds that Lua and the binding take for a call

local COPIES = {["aten::clone"] = true, ["aten::copy_"] = true,
                ["aten::contiguous"] = true}

--- Adds a row to the sum of its kind and key.
local function add(sums, kind, key, row)
  local id = kind .. "\n" .. key
  local sum = sums[id]
  if not sum then
    sum = {kind = kind, operator = key, calls = 0, time = 0, bytes = 0,
           where = row.where, from = row.from, to = row.to, name = row.name}
    sums[id] = sum
  end
  sum.calls = sum.calls + row.calls
  sum.time = sum.time + row.self
  sum.bytes = sum.bytes + row.bytes
  return sum
end

local function short(name) return (name:gsub("^aten::", "")) end

local function times(n)
  return n == 1 and "once" or units.count(n) .. " times"
end

local function at(sum) return sum.where and " (" .. sum.where .. ")" or "" end

local TEXT = {}

function TEXT.copy(s)
  return format("%s%s copies a tensor that is not contiguous,\n%s, %s: make it "
    .. "contiguous once, or keep another layout", short(s.operator), at(s),
    times(s.calls), units.seconds(s.time))
end

function TEXT.conversion(s)
  return format("%s%s converts %s to %s,\n%s, %s: keep one dtype",
                short(s.operator), at(s), s.from, s.to, times(s.calls),
                units.seconds(s.time))
end

function TEXT.loop(s)
  return format("%s%s works on one element,\n%s, about %s with what Lua does: "
                .. "use whole tensors", short(s.operator), at(s),
                times(s.calls), units.seconds(s.time))
end

function TEXT.collector(s)
  return format("the collector runs %s, %s:\nreuse results with out =, free "
    .. "them with st.scope, or make fewer Lua objects", times(s.calls),
    units.seconds(s.time))
end

--- Sorts rows into kinds of hints.
local function collect(all)
  local sums = {}
  for i, row in ipairs(all) do
    local parent = row.parent and all[row.parent]
    if row.is_named then
      if row.name == "collector" then add(sums, "collector", row.name, row) end
    elseif row.group ~= i then
      if COPIES[row.name] and row.strided > 0 and parent and
         not parent.is_named then
        add(sums, "copy", parent.name, row)
      elseif row.to and row.from and row.to ~= row.from and
             row.name == "aten::_to_copy" then
        add(sums, "conversion", parent and parent.name or row.name, row)
      end
      if not parent and row.tensors > 0 and row.numel <= 1 then
        local sum = add(sums, "loop", row.name, row)
        sum.time = sum.time + CALL * row.calls
      end
    end
  end
  return sums
end

--- The hints about at least `share` of the elapsed time, the longest first.
-- @param all the rows of the profile
-- @param elapsed seconds
-- @param share
-- @param calls the least number of calls with one element
return function(all, elapsed, share, calls)
  local list = {}
  for _, sum in pairs(collect(all)) do
    if sum.time >= share * elapsed and
       (sum.kind ~= "loop" or sum.calls >= calls) and
       (sum.kind ~= "collector" or sum.time >= 10 * share * elapsed) then
      list[#list + 1] = {kind = sum.kind, operator = sum.operator,
                         calls = sum.calls, time = sum.time,
                         where = sum.where, text = TEXT[sum.kind](sum)}
    end
  end
  sort(list, function(a, b)
    if a.time ~= b.time then return a.time > b.time end
    return a.kind .. a.operator < b.kind .. b.operator
  end)
  return list
end
