--- st.profile: where the time of operators goes.
--
--     local p = st.profile(train, net, batch)
--     print(p)               -- a table by operator, and hints
--     p:save "trace.json"    -- a timeline for Perfetto or chrome://tracing
--
-- Or between two points, in one thread:
--
--     local p = st.profile.start()
--     ...
--     p:stop()
--
-- A profile sees each operator that this thread calls, from Lua, from other
-- operators, and in a backward pass; besides, each backward pass, each call of
-- a fused function, and each collection that the library starts because of the
-- memory of results ("collector"). It does not see what Lua itself does, with
-- the elements that it reads and writes one by one and the collections that it
-- starts, nor single operators of a loop of a fused function.
--
-- Times are in seconds. `total` is the time of the calls, `self` that without
-- the recorded calls inside them. `bytes` is by how much the live memory grew
-- during the calls, so temporaries that were freed do not count, and it is
-- negative if more was freed; `self_bytes` is that without the calls inside.
--
-- While a profile runs, a call takes 0.2 us more, which includes that it does
-- not take the shortcuts of small tensors. One that does not run costs nothing.
--
-- @module strided.profile

local core = require "strided.core"

local callable = require "strided.argument.callable"
local failure = require "strided.io.failure"
local hints_of = require "strided.profile.hints"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local replace = require "strided.io.replace"
local table_text = require "strided.profile.table"
local write_trace = require "strided.profile.chrome"

local check_taken, start_profile = core.check_taken, core.start_profile
local error, find, floor, ipairs, pcall, rawget, setmetatable, tostring, type =
  error, string.find, math.floor, ipairs, pcall, rawget, setmetatable, tostring,
  type

local require = require "strided.core".require

local EVENTS = 1000000  -- of a timeline: 40 MB

local data = setmetatable({}, {__mode = "k"}) -- profile -> what is in C

local function missing(...)
  return require "strided.name.unknown_name".missing(...)
end

local Profile = setmetatable({}, {__index = function(self, name)
  return missing("a profile", name, self, "it has elapsed, events, hints, "
                 .. "rows, save, stop and table")
end})
Profile.__index = Profile

-- -- What was recorded -------------------------------------------------------

local function data_of(self, name)
  local d = type(self) == "table" and data[self]
  if not d then
    raise("profile: %s: self must be a profile, got %s", name, type(self))
  end
  return d
end

--- The rows, the elapsed time, the numbers of events and of calls without one,
-- and the object in C.
local function read(self, name)
  local d = data_of(self, name)
  if d:is_running() then raise("profile: %s: call stop first", name) end
  local rows = d:rows()
  local elapsed, events, lost = d:counts()
  return rows, elapsed, events, lost, d
end

--- Ends the profile. Calls that are running end now for it. A profile that has
-- ended stays as it is.
-- @treturn Profile itself
function Profile:stop()
  data_of(self, "stop"):stop()
  return self
end

--- The time from start to stop.
-- @treturn number seconds
function Profile:elapsed()
  local _, elapsed = read(self, "elapsed")
  return elapsed
end

--- The rows of the table: a list of tables with `name`, such as
-- "aten::add.Tensor", `calls`, `total`, `self`, `bytes`, `self_bytes` and
-- `where`, the line of the user's code that made the first of the calls.
-- @tparam[opt] table opts `shapes = true`: one row for each operator, caller,
-- and dtypes and shapes of the arguments; they have in addition `shapes`, a
-- text such as "float32 {2, 3}, float32 {3}", where "strided" marks what is not
-- contiguous, and `caller`, the name of the operator that makes the calls, nil
-- for Lua
-- @treturn table
function Profile:rows(opts)
  local o = options("rows", opts, {shapes = true})
  local list = {}
  local all = read(self, "rows")
  for i, row in ipairs(all) do
    local is_group = row.group == i
    if o.shapes and row.shapes or is_group and (row.is_named or not o.shapes)
    then
      list[#list + 1] = {
        name = row.name, calls = row.calls, total = row.total,
        self = row.self, bytes = row.bytes, self_bytes = row.self_bytes,
        where = row.where, shapes = row.shapes,
        caller = row.parent and all[row.parent].name,
      }
    end
  end
  return list
end

--- The events of the timeline, in the order in which they ended: an iterator of
-- tables with `name`, `start` and `time` in seconds, `depth`, `bytes`, and
-- `shapes` of an operator. There are as many as the option `events` of
-- `st.profile.start` permits.
-- @treturn function
function Profile:events()
  local rows, _, n, _, d = read(self, "events")
  local i = 0
  return function()
    i = i + 1
    if i > n then return nil end
    local row, depth, start, time, bytes = d:event(i)
    return {name = rows[row].name, shapes = rows[row].shapes, start = start,
            time = time, depth = depth, bytes = bytes}
  end
end

-- -- Texts -------------------------------------------------------------------

--- The table by operator, as text of 80 columns. `%` is the part of the time
-- from start to stop that is self time.
-- @tparam[opt] table opts `sort`: "self" (the default), "total", "calls",
-- "bytes", "average" or "name"; `limit`: the most rows, 20 by default;
-- `shapes`: rows by shapes of the arguments
-- @treturn string
function Profile:table(opts)
  local o = options("table", opts, {sort = true, limit = true, shapes = true})
  local limit = o.limit
  if limit ~= nil and (type(limit) ~= "number" or limit < 1 or
                        limit ~= limit) then
    raise("table: 'limit' must be a number from 1 on, got %s",
          limit ~= limit and "nan" or type(limit) == "number" and
          tostring(limit) or type(limit))
  end
  local rows, elapsed, _, lost = read(self, "table")
  return table_text(rows, elapsed, lost, {
    sort = o.sort or "self", limit = floor(limit or 20), shapes = o.shapes})
end

--- What may make the program slow: copies of arguments because of their layout,
-- conversions of dtypes, many calls with tensors of one element, and a busy
-- collector. Needs the shapes of the arguments.
-- @tparam[opt] table opts `share`: the least part of the time that a hint is
-- about, 0.01 by default; `calls`: the least number of calls with tensors of
-- one element, 1000 by default
-- @treturn table a list of tables with `kind` ("copy", "conversion", "loop" or
-- "collector"), `operator`, `calls`, `time` (of a loop with a microsecond for
-- what Lua does at each call), `where` and `text`
function Profile:hints(opts)
  local o = options("hints", opts, {share = true, calls = true})
  for _, name in ipairs {"share", "calls"} do
    if o[name] ~= nil and type(o[name]) ~= "number" then
      raise("hints: '%s' must be a number, got %s", name, type(o[name]))
    end
  end
  local rows, elapsed = read(self, "hints")
  return hints_of(rows, elapsed, o.share or 0.01, o.calls or 1000)
end

function Profile:__tostring()
  local d = data[self]
  if not d then return "profile" end
  if d:is_running() then return "profile (running)" end
  local text = self:table()
  for i, hint in ipairs(self:hints()) do
    text = text .. (i == 1 and "\nhints:\n" or "") .. "- "
           .. hint.text:gsub("\n", "\n  ") .. "\n"
  end
  return text
end

--- Writes the timeline as JSON in the format of Chrome's traces, which Perfetto
-- (ui.perfetto.dev) and chrome://tracing show. Each event has its shapes and
-- bytes as arguments. A file at the path is replaced when all bytes are on the
-- disk.
-- @tparam string path
function Profile:save(path)
  check_taken("files", "profile: save")
  if type(path) ~= "string" then
    raise("save: the path must be a string, got %s", type(path))
  end
  if find(path, "%z") then raise "save: the path has a NUL in it" end
  local rows, _, n, _, d = read(self, "save")
  local done, why = replace(path, function(file)
    return write_trace(file, rows, n, d)
  end)
  if not done then
    raise("save: cannot write %s: %s", failure.quote(path), why)
  end
end

-- -- Recording ---------------------------------------------------------------

local function start(name, opts)
  local o = options(name, opts, {shapes = true, events = true})
  local events = o.events
  if events == nil then events = EVENTS end
  if type(events) ~= "number" or not (events >= 0 and events < 2^40) then
    raise("%s: 'events' must be a number from 0 on", name)
  end
  local self = setmetatable({}, Profile)
  data[self] = start_profile(o.shapes ~= false, events)
  return self
end

local function finish(self, ok, ...)
  self:stop()
  if not ok then error((...), 0) end
  return self, ...
end

local profile = {}

--- Starts a profile of this thread.
-- @function profile.start
-- @tparam[opt] table opts `shapes = false`: no shapes, and no hints that need
-- them; `events`: the most events of the timeline, a million by default; the
-- rows are complete without it
-- @treturn Profile which `p:stop()` ends
function profile.start(opts) return start("start", opts) end

--- Profiles a call.
-- @function profile
-- @tparam function fn
-- @param ... its arguments
-- @treturn Profile then the results of fn
local function call(_, fn, ...)
  callable("profile", fn)
  return finish(start("profile"), pcall(fn, ...))
end

setmetatable(profile, {__call = call, __index = function(self, name)
  if rawget(Profile, name) then
    raise("st.profile has no '%s', a method of what st.profile(fn) and "
          .. "st.profile.start() return: write p:%s()", name, name)
  end
  return missing("st.profile", name, self, "it has start")
end})

return profile
