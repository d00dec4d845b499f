--- The session with odd terminals, files and signals; a person's session is in
-- repl_spec.lua.
-- axes: lua
-- sampled: 3

local build = require "spec.support.build"
local files = require "spec.support.files"
local typed_session = require "spec.support.typed_session"

local read, shell = files.read, build.shell
local line, PROMPT = typed_session.line, typed_session.PROMPT
local session = typed_session.new()
local folder, write, STRIDED = session.folder, session.write, session.command

--- Types into a session and leaves it, with success.
local function typed(...)
  local text, status, lacks = session.run(...)
  if lacks then pending(lacks) end
  assert.equal(0, status, text)
end

teardown(session.remove)

describe("A session", function()
  it("says once that a program for pictures is missing", function()
    for graphics, program in pairs {kitty = "rsvg-convert",
                                    sixel = "img2sixel"} do
      typed({PROMPT, line("p = st.plot({1, 2, 1}); p:show();",
                          "plot: shown as text: " .. program,
                          "was not found; install"),
             line("p:show() return 're' .. 'ady'", "ready")},
            "STRIDED_GRAPHICS=" .. graphics,
            -- the session finds no program
            "sh -c 'lua=$(command -v " .. build.lua .. "); PATH=/nowhere; "
            .. "export PATH; exec \"$lua\" \"" .. build.root
            .. "/lua/bin/strided\"'")
    end
  end)

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
