--- Lines of a session that are not Lua: `!command`, `%time`, `quit`.
--
-- @module strided.session.line_commands

local core = require "strided.core"
core.check_taken("session", "strided.session.line_commands")

local floor, format, io, os, rawget, type = math.floor, string.format, io, os,
  rawget, type

local commands = {}

--- Runs a command of the shell; returns what to say if it failed.
local function shell(text)
  io.stdout:flush()
  local ok, how, code = os.execute(text)
  if type(ok) == "number" then -- Lua 5.1: the status of wait(2)
    local signal = ok > 0 and ok % 128 or 0
    how, code = signal > 0 and "signal" or "exit", floor(ok / 256)
    if signal > 0 then code = signal end
  end
  if code == 0 then return nil end
  return format(how == "signal" and "signal %d ended it"
                or "the exit status is %d", code)
end

--- What a line asks the session to do, if it is not Lua.
-- @tparam string line
-- @tparam table self the session; `is_timed` is changed by %time
-- @treturn ?string "leave", "done" or "time"; nil for Lua
-- @treturn ?string what to print, or for "time" the text to run
-- @treturn ?boolean true if it is an error
function commands.read(line, self)
  local word = line:match "^%s*(%l+)%s*$" or line:match "^%s*(%l+)%(%)%s*$"
  if (word == "quit" or word == "exit") and rawget(_G, word) == nil then
    return "leave"
  end
  local command = line:match "^%s*!%s*(.-)%s*$"
  if command then
    local why = command ~= "" and shell(command) or nil
    return "done", why, why ~= nil
  end
  local name, rest = line:match "^%s*%%(%a*)%s*(.-)%s*$"
  if not name then return nil end
  if name ~= "time" then
    return "done", "there is no command %" .. name .. ": write %time expr, or "
           .. "%time for times of all that is typed", true
  end
  if rest ~= "" then return "time", rest end
  self.is_timed = not self.is_timed
  return "done", self.is_timed and "times are on" or "times are off"
end

return commands
