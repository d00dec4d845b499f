--- Shows long texts by a pager: $PAGER, else less, if that is installed.
--
-- @module strided.session.pager

local core = require "strided.core"
core.check_taken("session", "strided.session.pager")

local io, os, select = io, os, select

local LINES = 22 -- fit on any terminal

local pager = {}

local function succeeds(command)
  local ok = os.execute(command)
  return ok == true or ok == 0
end

--- The command of the pager; nil for none.
local function command()
  local own = os.getenv "PAGER"
  if own then return own:find "%S" and own ~= "cat" and own or nil end
  if os.getenv "TERM" == "dumb" then return nil end
  -- -F quits if the text fits, -R passes colours on, -X leaves it there.
  return succeeds "command -v less >/dev/null 2>&1" and "less -FRX" or nil
end

--- Shows a text, if it is long and the output is a terminal.
-- @tparam string text
-- @treturn boolean false if the caller has to print it
function pager.show(text)
  local lines = 1 + select(2, text:gsub("\n", "\n"))
  if lines <= LINES or not core.is_terminal(1) then return false end
  local found = command()
  if not found then return false end
  -- A file, since a pager that quits early would end the session by SIGPIPE.
  local path = os.tmpname()
  local file = io.open(path, "w")
  if not file then return false end
  file:write(text, "\n")
  file:close()
  io.stdout:flush()
  local shown = succeeds(found .. " <'" .. path:gsub("'", "'\\''") .. "'")
  os.remove(path)
  return shown
end

return pager
