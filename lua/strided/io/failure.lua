--- Ends the reading or writing of a file with a message, from any depth.
--
-- What runs inside of `catch` ends by `fail`. Functions in C, and those of zip
-- archives, return nil and a message where they fail: `check` takes what they
-- return. `catch` returns the message as the second result, for the function of
-- the script, which raises it at the caller's line. Other errors pass.
--
-- @module strided.io.failure

local core = require "strided.core"
local is_utf8 = require "strided.io.utf8".is_valid

local byte, error, format, getmetatable, gsub, pcall, setmetatable, sub =
  string.byte, error, string.format, getmetatable, string.gsub, pcall,
  setmetatable, string.sub

local failure = {}

local Failure = {}

--- Ends what catch called.
-- @tparam string text what is wrong
-- @param ... as for string.format
function failure.fail(text, ...)
  error(setmetatable({why = format(text, ...)}, Failure), 0)
end

--- What a function returned; its nil and message end what catch called.
-- @param value
-- @param ... the message, or more results
-- @return all arguments
function failure.check(value, ...)
  if not value then failure.fail("%s", (...)) end
  return value, ...
end

--- Calls a function.
-- @treturn what it returns, at most two values; or nil and the message of fail
function failure.catch(f, ...)
  local ok, value, extra = pcall(f, ...)
  if ok then return value, extra end
  if getmetatable(value) == Failure then return nil, value.why end
  error(value, 0)
end

--- The text of a refusal, without the line of the library's file in front.
-- Other errors, interrupts among them, pass: Note [Errors that may be caught].
-- @param err what pcall caught
-- @treturn string
function failure.refusal(err)
  if not core.is_refusal(err) then error(err, 0) end
  return (gsub(err, "^[^\n]-:%d+: ", ""))
end

--- What is wrong with a tensor of a dtype that a format of files does not have.
-- @tparam string dtype
-- @tparam string place the name of the format
-- @treturn string
function failure.no_equivalent(dtype, place)
  local info = core.dtype_info(dtype)
  return format("%s has no equivalent in %s; %s", dtype, place,
                info.is_integer and info.bits < 8
                and "save its bytes, t:view \"uint8\"" or "convert it first")
end

--- Text of a file for a message: what is no printable ASCII is a question mark.
function failure.clean(text)
  if #text > 80 then text = sub(text, 1, 77) .. "..." end
  return (gsub(text, "[^\32-\126]", "?"))
end

--- Bytes as escapes of Lua: \27, \194\155.
local function escape(bytes)
  return (gsub(bytes, ".", function(c) return format("\\%d", byte(c)) end))
end

--- A path for a message, in quotes. Control characters, which a terminal would
-- obey, and what is no UTF-8 are escapes: '\27[31mred.csv'.
function failure.quote(path)
  path = gsub(path, "%c", escape)
  path = gsub(path, is_utf8(path) and "\194[\128-\159]" or "[\128-\255]+",
              escape)
  return "'" .. path .. "'"
end

return failure
