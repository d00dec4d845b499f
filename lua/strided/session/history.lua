--- The lines that were typed, kept between sessions in
-- `$XDG_STATE_HOME/strided/history`, else `~/.local/state/strided/history`.
--
-- A session works without: where the file cannot be read or written, nothing
-- is remembered and nothing is said.
--
-- @module strided.session.history

local io, os, select = io, os, select

local KEEP = 1000  -- lines

local history = {}

--- Where the file is; nil when there is no home.
-- @treturn ?string
function history.path()
  local state = os.getenv "XDG_STATE_HOME"
  if not state or state:sub(1, 1) ~= "/" then
    local home = os.getenv "HOME"
    if not home or home == "" then return nil end
    state = home .. "/.local/state"
  end
  return state .. "/strided/history"
end

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

--- Shortens a file that has become long.
local function trim(path)
  local lines, file = {}, io.open(path, "r")
  if not file then return end
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  if #lines <= 2 * KEEP then return end
  file = io.open(path, "w")
  if not file then return end
  for i = #lines - KEEP + 1, #lines do file:write(lines[i], "\n") end
  file:close()
end

--- Makes the file if need be, for its owner alone.
-- @treturn ?string its path when it can be written
function history.open()
  local path = history.path()
  if not path then return nil end
  local file = io.open(path, "a")
  if not file then
    os.execute("{ umask 077; mkdir -p " .. quoted(path:match "^(.*)/")
               .. " && : >>" .. quoted(path) .. "; } 2>/dev/null")
    file = io.open(path, "a")
  end
  if not file then return nil end
  file:close()
  trim(path)
  return path
end

--- Appends a line.
function history.add(path, line)
  local file = path and io.open(path, "a")
  if not file then return end
  file:write((select(1, line:gsub("\n", " "))), "\n")
  file:close()
end

return history
