--- The interactive session, a read-eval-print loop.
--
-- An expression prints its values and assigns the first one to `_`; a semicolon
-- at its end suppresses printing. Incomplete input is continued on further
-- lines. `?name` and `help(x)` print help on operators. Input is compiled as an
-- expression first, then as a statement, and run once. On a terminal, Ctrl-C
-- discards the line or interrupts the chunk, and Ctrl-D exits. To make chunks
-- interruptible, LuaJIT interprets what is typed; modules are compiled as
-- usual. The session sets the globals `st`, `_` and `help`, and no others.
--
-- Input from a pipe or file is read in the same way, chunk by chunk, without
-- prompts, colours or history. It continues after an error; the exit status is
-- then 1.
--
-- @module strided.session

local st = require "strided"
local core = require "strided.core"
core.check_taken("session", "strided.session")
local complete = require("strided.session.complete").complete
local failure = require "strided.session.traceback"
local help = require "strided.session.help"
local input = require "strided.session.input"
local show = require "strided.session.show"

local compile, unpack = loadstring or load, unpack or table.unpack
local error, format, io, os, pcall, rawget, rawset, select, tostring, type,
  xpcall = error, string.format, io, os, pcall, rawget, rawset, select,
  tostring, type, xpcall
local jit = rawget(_G, "jit")

local session = {}

-- -- Compiling ----------------------------------------------------------------

local function is_unfinished(why)
  return why:find "'?<eof>'?$" ~= nil
end

--- True if the text ends in a semicolon, which suppresses printing: one more
-- semicolon is then a syntax error.
local function is_silent(text)
  return not compile(text .. "\n;")
end

--- Compiles an expression to a chunk, which is called with `values`. The chunk
-- makes no tail call, so that its frame exists when errors look for the user's
-- line.
local function compile_expression(text, name)
  local chunk, why = compile("return " .. text, name)
  if not chunk then return nil, why end
  return compile("return (...)(" .. text:gsub(";%s*$", "") .. "\n)", name)
    or chunk
end

--- Compiles a text to a chunk, which is called with `values`.
-- @tparam string text
-- @tparam[opt] string name the chunk name
-- @treturn ?function the chunk, nil on a syntax error
-- @return true if its values are not printed; or the error message
-- @treturn ?boolean true if the input is incomplete
function session.compile(text, name)
  text = text:gsub("^%s*=", "")
  local chunk, early = compile_expression(text, name)
  if chunk then return chunk, is_silent("return " .. text) end
  local why
  chunk, why = compile(text, name)
  if chunk then return chunk, is_silent(text) end
  return nil, why, is_unfinished(why) or is_unfinished(early)
end

-- -- Help ---------------------------------------------------------------------

local INTRO = [[
  st            the library; st.<Tab> lists its fields
  st.help()     the names of all operators
  ?name         the signatures and kernels of an operator, or what a
                function or class is: ?nn.Linear; also help(x)
  expr          prints its values; expr; does not
  _             the last value
  Ctrl-C        discards the line or stops the chunk; Ctrl-D exits]]

--- The help on a value.
-- @treturn string
local function describe(x, options)
  if x == nil then return INTRO end
  if type(x) == "string" then return help.help(x, options) end
  if core.is_tensor(x) then
    return format("Tensor of %s, shape %s; its methods are operators: "
                  .. "?add, ?sum", tostring(x.dtype), tostring(x.shape))
  end
  return help.describe_value(x, options and options.all) or
         type(x) .. ": " .. show.value(x)
end

--- The text for `?query` and, with all there is, `??query`, where query is a
-- name or an expression. A global of the user comes before what is similar.
local function answer(query, all)
  if query == "" then return INTRO end
  if query:find "^[%w_:.]+$" then
    local text = help.lookup(query, all)
    if text then return text end
  end
  local chunk = compile("return " .. query:gsub(":([%a_])", ".%1"))
  local ok, value = pcall(chunk or error)
  if not ok and value == "interrupted" then error(value, 0) end
  if ok and value ~= nil then return describe(value, {all = all}) end
  return help.help(query)
end

-- -- Running ------------------------------------------------------------------

local Session = {}
Session.__index = Session

local function say_to(file, text)
  io.stdout:flush()
  file:write(text, "\n")
  file:flush()
end

--- Calls fn() in protected mode; returns true and its values, or false and the
-- error message.
local function protect(self, fn)
  if self.is_terminal then
    return core.interruptible(not jit, fn, failure.text)
  end
  return xpcall(fn, failure.text)
end

function Session:fail(text)
  self.has_failed = true
  say_to(io.stderr, show.paint(text, "error", self.has_colours))
end

--- Prints the values of a chunk and assigns the first one to `_`.
local function finish(self, is_silent_one, ok, ...)
  if not ok then return self:fail((...)) end
  local n = select("#", ...)
  if n == 0 then return end
  rawset(_G, "_", (...))
  if is_silent_one then return end
  local values = {...}
  local shown, text = protect(self, function()
    return show.values(self.has_colours, unpack(values, 1, n))
  end)
  if shown then say_to(io.stdout, text) else self:fail(text) end
end

local function values(...) return ... end

--- Runs a chunk, once.
function Session:run(chunk, is_silent_one)
  -- Compiled traces do not check for interrupts.
  if jit and self.is_terminal then jit.off(chunk, true) end
  finish(self, is_silent_one,
         protect(self, function() return chunk(values) end))
end

-- -- Reading ------------------------------------------------------------------

--- Reads and runs one chunk; false at the end of the input.
function Session:step()
  local text = self.read "> "
  if text == nil then return false end
  if not text or not text:find "%S" then return true end
  local marks, query = text:match "^%s*(%?%??)%s*(.-)%s*$"
  if query then
    local ok, answered = protect(self, function()
      return answer(query, #marks == 2)
    end)
    if ok then say_to(io.stdout, answered) else self:fail(answered) end
    return true
  end
  while true do
    local chunk, is_silent_one, unfinished = session.compile(text, "=input")
    if chunk then
      self:run(chunk, is_silent_one)
      return true
    end
    local more
    if unfinished then more = self.read ">> " end
    if more == false then return true end
    if not more then
      self:fail(is_silent_one)
      return true
    end
    text = text .. "\n" .. more
  end
end

local function greet()
  local config = st.config()
  say_to(io.stdout, format("strided %s, %s, %s kernels; ? helps, Ctrl-D "
                           .. "leaves", config.version,
                           jit and jit.version or _VERSION, config.isa))
end

local function wants_colours()
  local no = os.getenv "NO_COLOR"
  return core.is_terminal(1) and os.getenv "TERM" ~= "dumb"
    and (no == nil or no == "")
end

--- Adjusts completions to the word that readline replaces, which may be longer
-- or shorter than the word that complete() completes.
local function complete_word(line, word)
  local words, ours = complete(line)
  local extra = #word - #ours
  local before = word:sub(1, extra)
  for i, w in ipairs(words) do
    words[i] = extra >= 0 and before .. w or w:sub(1 - extra)
  end
  return words
end

--- Runs a session on standard input and output until the input ends.
-- @treturn number the exit status
function session.run()
  local self = setmetatable({is_terminal = core.is_terminal(0)}, Session)
  self.has_colours = self.is_terminal and wants_colours()
  self.read = self.is_terminal and input.terminal(complete_word)
    or input.pipe()
  rawset(_G, "st", st)
  rawset(_G, "help", function(x, options)
    say_to(io.stdout, describe(x, options))
  end)
  if self.is_terminal then
    greet()
    core.catch_interrupts(true)
  end
  while self:step() do end
  if not self.is_terminal then return self.has_failed and 1 or 0 end
  core.catch_interrupts(false)
  io.write "\n"
  return 0
end

return session
