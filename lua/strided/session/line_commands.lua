--- Lines of a session that are not Lua: `!command`, `%time`, `%who`, `quit`.
--
-- @module strided.session.line_commands

local core = require "strided.core"
core.check_taken("session", "strided.session.line_commands")

local concat, find, floor, format, io, ipairs, max, next, os, rawget, sort,
  tostring, type = table.concat, string.find, math.floor, string.format, io,
  ipairs, math.max, next, os, rawget, table.sort, tostring, type

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

--- What a value is, in a few words.
local function kind_of(value)
  if core.is_tensor(value) then
    return format("Tensor  %s  %s", value.dtype, tostring(value.shape))
  end
  local kind = type(value)
  return (kind == "number" or kind == "boolean")
         and kind .. "  " .. tostring(value) or kind
end

--- The names of a session's variables and of the globals that were made in it,
-- with what they hold.
local function who(self)
  local values = self.variables:environment()
  for name, value in next, _G do
    local is_result = type(name) == "string" and find(name, "^_%d?$")
    if type(name) == "string" and not self.globals[name] and not is_result
      and rawget(values, name) == nil then
      values[name] = value
    end
  end
  local names, width = {}, 0
  for name in next, values do
    names[#names + 1], width = name, max(width, #name)
  end
  sort(names)
  for i, name in ipairs(names) do
    names[i] = format("  %-" .. width .. "s  %s", name, kind_of(values[name]))
  end
  return names[1] and concat(names, "\n") or "there are no variables"
end

--- What a line asks the session to do, if it is not Lua.
-- @tparam string line
-- @tparam table self the session: its `variables`, the `globals` it began
-- with; `is_timed` is changed by %time
-- @treturn ?string "leave", "done" or "time"; nil for Lua
-- @treturn ?string what to print, or for "time" the text to run
-- @treturn ?boolean true if it is an error
function commands.read(line, self)
  local word = line:match "^%s*(%l+)%s*$" or line:match "^%s*(%l+)%(%)%s*$"
  if (word == "quit" or word == "exit") and rawget(_G, word) == nil
    and not self.variables:has(word) then
    return "leave"
  end
  local command = line:match "^%s*!%s*(.-)%s*$"
  if command then
    local why = command ~= "" and shell(command) or nil
    return "done", why, why ~= nil
  end
  local name, rest = line:match "^%s*%%(%a*)%s*(.-)%s*$"
  if not name then return nil end
  if name == "who" and rest == "" then return "done", who(self) end
  if name ~= "time" then
    return "done", "there is no command %" .. name .. ": write %time expr, "
           .. "%time for times of all that is typed, or %who for the names of "
           .. "variables", true
  end
  if rest ~= "" then return "time", rest end
  self.is_timed = not self.is_timed
  return "done", self.is_timed and "times are on" or "times are off"
end

return commands
