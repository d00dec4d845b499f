--- Types into a session on a pseudo terminal (spec/pty/pty.c), as a person
-- would.

local build = require "spec.support.build"
local files = require "spec.support.files"

local typed_session = {PROMPT = "expect > "}

--- The line, what is expected after it, in order, and the next prompt.
function typed_session.line(text, ...)
  local steps = {"send " .. text .. "\\r", "expect \\r\\n"}
  for _, expected in ipairs {...} do
    steps[#steps + 1] = "expect " .. expected
  end
  steps[#steps + 1] = typed_session.PROMPT
  return table.concat(steps, "\n")
end

--- A new folder for the files of a spec, which removes it by remove().
function typed_session.new()
  local self = {command = build.lua .. " '" .. build.root
                          .. "/lua/bin/strided'"}
  local folder = os.tmpname()
  os.remove(folder)
  os.execute("mkdir -p '" .. folder .. "'")
  self.folder = folder

  --- Writes a file into the folder: its path.
  function self.write(name, text)
    local path = folder .. "/" .. name
    files.write(path, text)
    return path
  end

  -- The readline module does not free lines, which the leak checker sees.
  self.settings = "INPUTRC=/dev/null PTY_TIMEOUT=60 TERM=xterm NO_COLOR= "
    .. "PAGER=cat STRIDED_STARTUP= "
    .. "XDG_STATE_HOME='" .. folder .. "/state' LSAN_OPTIONS=suppressions='"
    .. self.write("leaks", "leak:readline\n") .. "':print_suppressions=0 "

  --- Runs the steps and leaves the session.
  -- @tparam {string,...} steps the first one is to expect the prompt
  -- @tparam ?string settings variables of the environment
  -- @tparam ?string command the session's
  -- @treturn string all that the terminal showed, without bracketed paste
  -- @treturn number the exit status
  -- @treturn ?string why there is no pseudo terminal
  function self.run(steps, settings, command)
    local script = self.write("script", table.concat(steps, "\n")
                              .. "\nsend \\x04\nwait\n")
    local text, status = build.shell(("%s %s '%s' '%s' %s"):format(
      self.settings, settings or "", build.program "pty/pty", script,
      command or self.command))
    return text:gsub("\27%[%?2004[hl]\r?", ""), status,
           status == 97 and "no pseudo terminal: is /dev/pts mounted?" or nil
  end

  function self.remove() os.execute("rm -rf '" .. folder .. "'") end

  return self
end

return typed_session
