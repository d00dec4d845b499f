--- Input lines of a session: from a terminal with the `readline` module, from a
-- terminal without it, or from a pipe.
--
-- A source is a function that takes the prompt and returns a line, nil at the
-- end of the input, or false if Ctrl-C discarded the line. With it comes a
-- function that adds a text to the history.
--
-- @module strided.session.input

local core = require "strided.core"
core.check_taken("session", "strided.session.input")
local history = require "strided.session.history"

local io, ipairs, os, pcall, require = io, ipairs, os, pcall, require

local input = {}

--- Reads without prompts and without a history.
function input.pipe()
  return function() return io.read "*l" end, function() end
end

--- Reads lines without readline. Prompts stay out of an output that goes to a
-- file.
local function plain(path)
  local out = core.is_terminal(1) and io.stdout or io.stderr
  return function(prompt)
    io.flush()
    out:write(prompt)
    out:flush()
    -- The terminal delivers whole lines.
    if not core.wait_input() then
      out:write "\n"
      return false
    end
    local line, why = io.read "*l"
    if why and not core.wait_input() then -- a Ctrl-C discarded the line
      out:write "\n"
      return false
    end
    return line
  end, function(text) history.add(path, text) end
end

-- Note [Discarding a line]
-- readline's own loop keeps the line after Ctrl-C. Therefore the loop is here,
-- and calls readline for each character. The module's handler_remove closes the
-- terminal's stream before readline has finished with it, unless the line is
-- complete. Therefore the handler of a discarded line is not removed; the next
-- handler_install starts a new line.

--- Reads lines with readline.
local function edited(rl, path, complete)
  local line, is_done, last
  rl.set_readline_name "strided"
  -- Replaces the history file that readline has loaded.
  rl.set_options {histfile = "", auto_add = false}
  for _, entry in ipairs(history.entries(path)) do rl.add_history(entry) end
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
    return line
  end, function(text)
    if text == last then return end
    last = text
    rl.add_history(text)
    history.add(path, text)
  end
end

--- Reads from a terminal.
-- @tparam function complete returns the completions of the last word of a line;
-- called with the line and the word as readline splits it
-- @treturn function the source
-- @treturn function adds a text to the history
function input.terminal(complete)
  local path = history.open()
  local ok, rl = pcall(require, "readline")
  if ok and os.getenv "TERM" ~= "dumb" then
    return edited(rl, path, complete)
  end
  return plain(path)
end

return input
