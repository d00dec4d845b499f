--- Ends the reading or writing of a file with a message, from any depth.
--
-- `catch` returns the message as the second result; other errors pass it.
--
-- @module strided.io.failure

local error, format, getmetatable, pcall, setmetatable, sub = error,
  string.format, getmetatable, pcall, setmetatable, string.sub

local failure = {}

local Failure = {}

--- Ends what catch called.
-- @tparam string text what is wrong
-- @param ... as for string.format
function failure.fail(text, ...)
  error(setmetatable({why = format(text, ...)}, Failure), 0)
end

--- Calls a function.
-- @treturn what it returns, at most two values; or nil and the message of fail
function failure.catch(f, ...)
  local ok, value, extra = pcall(f, ...)
  if ok then return value, extra end
  if getmetatable(value) == Failure then return nil, value.why end
  error(value, 0)
end

--- Text of a file for a message: what is no printable ASCII is a question mark.
function failure.clean(text)
  if #text > 80 then text = sub(text, 1, 77) .. "..." end
  return (text:gsub("[^\32-\126]", "?"))
end

return failure
