--- Checks the table of options that is the last argument of a call.
--
-- @module strided.option.options

local raise = require "strided.argument.caller_error"
local unknown_option = require "strided.option.unknown_option"

local concat, pairs, sort, type = table.concat, pairs, table.sort, type

--- Returns the options of a call; raises an error for unknown options.
-- @tparam string name of the called function
-- @param given the last argument of the call
-- @tparam table known the names of options, as keys
-- @treturn table given, or an empty table for nil
local function options(name, given, known)
  if given == nil then return {} end
  if type(given) ~= "table" then
    local list = {}
    for key in pairs(known) do list[#list + 1] = key end
    sort(list)
    raise("%s: the options must be a table, got %s; write {name = value}: it "
          .. "has %s", name, type(given), concat(list, ", "))
  end
  for key in pairs(given) do
    if known[key] == nil then unknown_option(name, key, known) end
  end
  return given
end

return options
