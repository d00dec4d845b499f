--- Raises errors at the line of the user's code that called the library.
--
-- @module strided.argument.caller_error

local core = require "strided.core"
local refused, where = core.refused, core.where

local error, format, getinfo = error, string.format, debug.getinfo

local HOME = getinfo(1, "S").source:gsub("argument/caller_error%.lua$", "")

--- Raises an error with a formatted message. Its location is the innermost
-- frame that is outside the library's own files.
-- @tparam string text
-- @param ... as for string.format
local function raise(text, ...)
  local level = 2
  local info = getinfo(level, "Sl")
  while info and (info.currentline <= 0 or
                  info.source:sub(1, #HOME) == HOME) do
    level = level + 1
    info = getinfo(level, "Sl")
  end
  text = format(text, ...)
  if info then
    text = info.short_src .. ":" .. info.currentline .. ": " .. text
  else
    text = where() .. text -- on the thread of a sandbox's run
  end
  refused(text)
  error(text, 0)
end

return raise
