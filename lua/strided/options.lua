--- The table of options that comes last in a call.
--
-- @module strided.options

local raise = require "strided.caller_error"

local pairs, tostring, type = pairs, tostring, type

--- The options of a call: a table, in which there are none but the known.
-- @tparam string name of what was called
-- @param given what came last
-- @tparam table known names of options, as keys
-- @treturn table given, or an empty one for nil
local function options(name, given, known)
  if given == nil then return {} end
  if type(given) ~= "table" then
    raise("%s: the options must be a table, got %s", name, type(given))
  end
  for key in pairs(given) do
    if known[key] == nil then
      raise("%s: there is no option '%s'", name, tostring(key))
    end
  end
  return given
end

return options
