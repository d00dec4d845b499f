--- Checks the table of options that is the last argument of a call.
--
-- @module strided.options

local raise = require "strided.caller_error"
local unknown_option = require "strided.unknown_option"

local pairs, type = pairs, type

--- Returns the options of a call; raises an error for unknown options.
-- @tparam string name of the called function
-- @param given the last argument of the call
-- @tparam table known the names of options, as keys
-- @treturn table given, or an empty table for nil
local function options(name, given, known)
  if given == nil then return {} end
  if type(given) ~= "table" then
    raise("%s: the options must be a table, got %s", name, type(given))
  end
  for key in pairs(given) do
    if known[key] == nil then unknown_option(name, key, known) end
  end
  return given
end

return options
