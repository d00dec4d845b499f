--- Shows long texts by a pager: $PAGER, else less, if that is installed.
--
-- @module strided.session.pager

local core = require "strided.core"
core.check_taken("session", "strided.session.pager")

local io, os, select = io, os, select

local LINES = 22 -- fit on any terminal

local pager = {}

--- The words of a command: spaces within quotes belong to a word.
local function split(text)
  local words, word, quote = {}, nil, nil
  for c in text:gmatch "." do
    if c == quote then
      quote = nil
    elseif not quote and (c == '"' or c == "'") then
      word, quote = word or "", c
    elseif not quote and c:find "%s" then
      words[#words + 1], word = word, nil
    else
      word = (word or "") .. c
    end
  end
  words[#words + 1] = word
  return words
end

--- The program of the pager and its arguments; nil for none. $PAGER is taken
-- as words: no shell runs it.
local function command()
  local own = os.getenv "PAGER"
  if own then
    local words = split(own)
    return words[1] and own ~= "cat" and words or nil
  end
  if os.getenv "TERM" == "dumb" then return nil end
  -- -F quits if the text fits, -R passes colours on, -X leaves it there.
  return core.find_program "less" and {"less", "-FRX"} or nil
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
  io.stdout:flush()
  local shown = core.append(path, text .. "\n") and
                core.run_program(found, path) == 0
  os.remove(path)
  return shown
end

return pager
