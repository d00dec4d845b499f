--- Raises the error for an option that a function does not have.
--
-- @module strided.option.unknown_option

local raise = require "strided.argument.caller_error"

local concat, next, sort, tostring, type = table.concat, next, table.sort,
  tostring, type

local require = require "strided.core".require

--- Raises an error with the option that other libraries call so, the most
-- similar options, or all of them.
-- @tparam string name of the called function
-- @param key what was given
-- @tparam table known the names of its options, as keys
return function(name, key, known)
  local list, text, other = {}, "it has none", nil
  if type(key) == "string" then
    local names = require "strided.name.unknown_name"
    list, other = names.similar(key, known), names.options[key]
  end
  if other and known[other] ~= nil then
    text = "write " .. other
  elseif list[1] then
    text = "did you mean " .. concat(list, ", ") .. "?"
  else
    for option in next, known do list[#list + 1] = tostring(option) end
    sort(list)
    if list[1] then text = "it has " .. concat(list, ", ") end
  end
  raise("%s: there is no option '%s': %s", name, tostring(key), text)
end
