--- Where a session's lines come from: the `readline` module on a terminal,
-- plain reading without it, or a pipe.
--
-- A source is a function of the prompt that returns a line, nil at the end of
-- the input, or false when Ctrl-C gave the line up.
--
-- @module strided.session.input

local core = require "strided.core"
local history = require "strided.session.history"

local io, os, pcall, require = io, os, pcall, require

local input = {}

--- Reads without prompts.
function input.pipe()
  return function() return io.read "*l" end
end

local function plain(path)
  return function(prompt)
    io.write(prompt)
    io.flush()
    -- A line is there as a whole or not at all.
    if not core.wait_input() then
      io.write "\n"
      return false
    end
    local line = io.read "*l"
    if line and line:find "%S" then history.add(path, line) end
    return line
  end
end

-- Note [Giving up a line]
-- readline's own loop would keep the line after Ctrl-C, so the loop is here
-- and readline is told of each character. The module's handler_remove closes
-- the stream of the terminal before readline is done with it, unless the line
-- is complete; a line that was given up is therefore not removed but begun
-- anew by the next handler_install.

--- Lines edited through readline.
local function edited(rl, path, complete)
  local line, is_done, last
  rl.set_readline_name "strided"
  -- Forgets what another program's file held.
  rl.set_options {histfile = path or "", auto_add = false}
  rl.set_complete_function(function(text, from, to)
    rl.set_completion_append_character ""  -- holds for one completion
    local ok, words = pcall(complete, text:sub(1, to), text:sub(from, to))
    return ok and words or {}
  end)
  local function keep(text)
    line, is_done = text, true
    rl.handler_remove()
  end
  return function(prompt)
    is_done = false
    io.flush()
    rl.handler_install(prompt, keep)
    while not is_done do
      if not core.wait_input() then
        if rl.sigcleanup then rl.sigcleanup() end
        io.write "^C\n"
        return false
      end
      rl.read_char()
    end
    if line and line:find "%S" and line ~= last then
      last = line
      rl.add_history(line)
      history.add(path, line)
    end
    return line
  end
end

--- Reads from a terminal.
-- @tparam function complete what may replace the last word of a line: called
-- with the line and the word as readline cuts it
function input.terminal(complete)
  local path = history.open()
  local ok, rl = pcall(require, "readline")
  if ok and os.getenv "TERM" ~= "dumb" then
    return edited(rl, path, complete)
  end
  return plain(path)
end

return input
