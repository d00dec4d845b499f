--- Checks of arguments, for the modules of strided.mpi that are written in Lua.
--
-- @module strided.mpi.check

local st = require "strided"
local core = require "strided.mpi.core"
local is_refusal = require "strided.core".is_refusal

local concat, floor, huge = table.concat, math.floor, math.huge
local debug, error, format, ipairs, pairs, pcall, sort, tostring, type = debug,
  error, string.format, ipairs, pairs, pcall, table.sort, tostring, type

local check = {}

-- The folders of this rock and of strided.
local HOME = debug.getinfo(1, "S").source:match "^(.*)check%.lua$"
local HOMES = {
  HOME, (HOME:gsub("/$", ".lua")),
  debug.getinfo(st.nn.Module.extend, "S").source:match "^(.*)nn/module%.lua$",
}

local function is_ours(info)
  if info.currentline <= 0 then return true end
  for _, home in ipairs(HOMES) do
    if info.source:sub(1, #home) == home then return true end
  end
  return false
end

--- Raises an error at the line outside the library that called it.
-- @tparam string text
-- @param ... as for string.format
function check.raise(text, ...)
  local level = 2
  local info = debug.getinfo(level, "Sl")
  while info and is_ours(info) do
    level = level + 1
    info = debug.getinfo(level, "Sl")
  end
  error(format(text, ...), info and level or 0)
end

local raise = check.raise

--- Raises an error that pcall has caught again: what is wrong with the call at
-- the line outside of the library, an interrupt and others as they are.
-- @param why
function check.rethrow(why)
  if not is_refusal(why) then error(why, 0) end
  raise("%s", why:match "^[^\n]-:%d+: (.*)$" or why)
end

local function forward(ok, ...)
  if not ok then check.rethrow((...)) end
  return ...
end

--- Calls fn. Its errors are raised at the line outside the library.
-- @tparam function fn
-- @param ... passed to fn
-- @return the results of fn
function check.call(fn, ...) return forward(pcall(fn, ...)) end

--- Returns the options of a call, checked; an empty table for nil.
-- @tparam string name of the called function
-- @param given the last argument of the call
-- @tparam table known the names of options, as keys
-- @treturn table
function check.options(name, given, known)
  if given == nil then return {} end
  local list = {}
  for key in pairs(known) do list[#list + 1] = key end
  sort(list)
  if type(given) ~= "table" then
    raise("%s: the options must be a table, got %s; it has %s", name,
          type(given), concat(list, ", "))
  end
  for key in pairs(given) do
    if not known[key] then
      raise("%s: there is no option '%s'; it has %s", name, tostring(key),
            concat(list, ", "))
    end
  end
  return given
end

--- Raises an error unless an option is a whole number from `least` on.
-- @tparam string name of the called function
-- @tparam string option
-- @param n
-- @tparam integer least
-- @treturn integer n
function check.count(name, option, n, least)
  if type(n) ~= "number" or n < least or n ~= floor(n) or n == huge then
    raise("%s: %s must be a whole number from %d on, got %s", name, option,
          least, tostring(n))
  end
  return n
end

local Comm = core.comm_metatable()

--- Raises an error unless an option is a communicator.
-- @tparam string name of the called function
-- @param given the value of the option `comm`
-- @param default for nil
-- @return the communicator
function check.comm(name, given, default)
  if given == nil then return default end
  if type(given) ~= "userdata" or debug.getmetatable(given) ~= Comm then
    raise("%s: option 'comm' must be a communicator, got %s", name, type(given))
  end
  return given
end

--- Raises an error unless an option is nil, true or false.
-- @tparam string name of the called function
-- @tparam string option
-- @param value
function check.boolean(name, option, value)
  if value == nil or value == true or value == false then return end
  raise("%s: %s must be true or false, got %s '%s'", name, option, type(value),
        tostring(value))
end

--- Raises an error unless an argument is a whole number from `least` to
-- 2^31 - 1.
-- @tparam string name of the called function
-- @tparam string argument
-- @param n
-- @tparam integer least
function check.int(name, argument, n, least)
  if type(n) ~= "number" or n ~= floor(n) or n < least or n > 2147483647 then
    raise("%s: %s must be a whole number from %.0f to 2147483647, got %s", name,
          argument, least, tostring(n))
  end
end

return check
