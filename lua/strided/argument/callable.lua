--- Checks that an argument can be called.
--
-- @module strided.argument.callable

local is_tensor = require "strided.core".is_tensor
local raise = require "strided.argument.caller_error"

local getmetatable, type = debug.getmetatable, type

--- Raises an error unless f is a function or has a metamethod `__call`.
-- @tparam string name of the function that f was passed to
-- @param f
local function callable(name, f)
  if type(f) == "function" then return end
  local meta = not is_tensor(f) and getmetatable(f)
  if type(meta) == "table" and meta.__call then return end
  raise("%s: the first argument must be a function, got %s", name, type(f))
end

return callable
