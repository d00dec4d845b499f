--- The session with odd terminals, files and signals; a person's session is in
-- repl_spec.lua.
-- axes: lua

local build = require "spec.support.build"
local files = require "spec.support.files"

local read, shell = files.read, build.shell
local STRIDED = build.lua .. " '" .. build.root .. "/lua/bin/strided'"

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir -p '" .. folder .. "'")
local pty = build.program "pty/pty"

local function write(name, text)
  local path = folder .. "/" .. name
  files.write(path, text)
  return path
end

-- The readline module does not free lines, which the leak checker sees.
local SETTINGS = "INPUTRC=/dev/null PTY_TIMEOUT=60 TERM=xterm NO_COLOR= "
  .. "PAGER=cat STRIDED_STARTUP= "
  .. "XDG_STATE_HOME='" .. folder .. "/state' LSAN_OPTIONS=suppressions='"
  .. write("leaks", "leak:readline\n") .. "':print_suppressions=0 "

local PROMPT = "expect > "

--- The line, what is expected after it, in order, and the next prompt.
local function line(text, ...)
  local steps = {"send " .. text .. "\\r", "expect \\r\\n"}
  for _, expected in ipairs {...} do
    steps[#steps + 1] = "expect " .. expected
  end
  steps[#steps + 1] = PROMPT
  return table.concat(steps, "\n")
end

--- Types into a session and leaves it, with success.
local function typed(steps, settings, command)
  local script = write("script", table.concat(steps, "\n")
                       .. "\nsend \\x04\nwait\n")
  local text, status = shell(("%s %s '%s' '%s' %s"):format(
    SETTINGS, settings or "", pty, script, command or STRIDED))
  if status == 97 then pending "no pseudo terminal: is /dev/pts mounted?" end
  assert.equal(0, status, text)
end

teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

describe("A session", function()
  it("neither waits for a history that is no file nor reads it all", function()
    local state = folder .. "/odd"
    local path = state .. "/strided/history"
    for _, make in ipairs {"mkfifo '%s'", "mkdir '%s'",
                           "ln -s /dev/zero '%s'"} do
      os.execute(("rm -rf '%s'; mkdir -p '%s/strided'; "):format(state, state)
                 .. make:format(path))
      typed({PROMPT, line("6 * 7", "42")}, "XDG_STATE_HOME='" .. state .. "'")
    end
    os.execute("rm -rf '" .. path .. "'")
    files.write(path, ("x"):rep(2 ^ 21) .. "\nkept = 1\n")
    typed({PROMPT, line("6 * 7", "42")}, "XDG_STATE_HOME='" .. state .. "'")
    assert.equal("kept = 1\n6 * 7\n", read(path))
  end)

  it("interrupts a loop in ?expr and in the startup file", function()
    typed {PROMPT, "send ?(function() print('go') while true do end end)()\\r",
              "expect go\\r\\n", "send \\x03", "expect interrupted", PROMPT,
              line("6 * 7", "42")}
    local path = write("loop.lua", "print('go') while true do end")
    typed({"expect go\\r\\n", "send \\x03", "expect interrupted", PROMPT},
          "STRIDED_STARTUP='" .. path .. "'")
  end)

  it("says which signal ended a command of the shell", function()
    typed {PROMPT, line("!kill -9 $$", "signal 9 ended it"),
              line("!exit 3", "the exit status is 3")}
  end)

  it("writes no prompt and no escape sequence into files", function()
    local out, err = folder .. "/out", folder .. "/err"
    local function into(redirection)
      return "sh '" .. write("command", "exec " .. STRIDED .. redirection)
             .. "'"
    end
    for _, term in ipairs {"TERM=xterm", "TERM=dumb"} do
      typed({PROMPT, line "6 * 7", line "{1}"}, term, into(" >'" .. out .. "'"))
      assert.equal("42\n{1}\n", read(out))
    end
    typed({PROMPT, line "error 'e'"}, nil, into(" 2>'" .. err .. "'"))
    assert.equal("input:1: e\n", read(err))
  end)

  it("fails if its output cannot be written", function()
    local text, status = shell(STRIDED .. " -e 'print(1)' 2>&1 >/dev/full")
    assert.matches("^strided: cannot write the output: [^\n]+\n$", text)
    assert.equal(1, status)
  end)
end)
