--- Raises the error for an option that a function does not have.
--
-- @module strided.unknown_option

local raise = require "strided.caller_error"

local concat, next, require, sort, tostring, type = table.concat, next, require,
  table.sort, tostring, type

--- Raises an error with the most similar options, or all of them.
-- @tparam string name of the called function
-- @param key what was given
-- @tparam table known the names of its options, as keys
return function(name, key, known)
  local list, text = {}, "it has none"
  if type(key) == "string" then
    list = require "strided.unknown_name".similar(key, known)
  end
  if list[1] then
    text = "did you mean " .. concat(list, ", ") .. "?"
  else
    for option in next, known do list[#list + 1] = tostring(option) end
    sort(list)
    if list[1] then text = "it has " .. concat(list, ", ") end
  end
  raise("%s: there is no option '%s': %s", name, tostring(key), text)
end
