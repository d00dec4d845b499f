--- The history of what was typed, in `$XDG_STATE_HOME/strided/history`, else
-- `~/.local/state/strided/history`.
--
-- The history is optional: if the file cannot be read or written, the session
-- runs without it and reports no error.
--
-- @module strided.session.history

local core = require "strided.core"
core.check_taken("session", "strided.session.history")

local replace = require "strided.io.replace"

local io, max, os, table = io, math.max, os, table

local KEEP = 1000    -- entries
local MOST = 2 ^ 20  -- bytes of the file
local BREAK = "\1"   -- between the lines of an entry, which is one of the file

local history = {}

--- The path of the file; nil without a home directory.
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

--- True if a path is a device, a pipe or the like: they may block or not end.
local function is_special(path)
  local ok, source, why = core.try(core.open_source, path) -- not in a sandbox
  if ok and source then source:close() end
  return why == "it is not a regular file"
end

--- Truncates a file of more than MOST bytes or 2 * KEEP lines to the last KEEP
-- lines of its last MOST bytes.
local function trim(path)
  local lines, file = {}, io.open(path, "r")
  if not file then return end
  local from = max(0, (file:seek "end" or 0) - MOST)
  file:seek("set", from)
  if from > 0 then file:read "*l" end -- the rest of a line
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  if from == 0 and #lines <= 2 * KEEP then return end
  local text = table.concat(lines, "\n", max(1, #lines - KEEP + 1)) .. "\n"
  replace(path, function(target) return target:write(text) end)
end

--- Creates the file if it does not exist, accessible only to its owner.
-- @treturn ?string its path, nil if it cannot be written
function history.open()
  local path = history.path()
  if not path or is_special(path) then return nil end
  if not core.append(path, "") then
    core.make_private(path:match "^(.*)/", path)
    if not core.append(path, "") then return nil end
  end
  trim(path)
  return path
end

--- Appends an entry to the file.
-- @tparam ?string path
-- @tparam string text of one or more lines
function history.add(path, text)
  if path then core.append(path, text:gsub("\n", BREAK) .. "\n") end
end

--- The entries of the file, the oldest first.
-- @treturn {string,...}
function history.entries(path)
  local list, file = {}, path and io.open(path, "r")
  if not file then return list end
  for line in file:lines() do
    list[#list + 1] = line:gsub(BREAK, "\n")
  end
  file:close()
  return list
end

return history
