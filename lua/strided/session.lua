--- The interactive session, a read-eval-print loop.
--
-- An expression prints its values and assigns the first one to `_` and `_1`;
-- `_2` to `_9` are those before. A semicolon at its end suppresses printing.
-- Incomplete input is continued on further lines. `?name` and `help(x)` print
-- help, `%time expr` times, `%who` lists variables, `!command` runs a command
-- of the shell, `quit` leaves; the page `?session` lists all. Input is compiled
-- as an expression first, then as a statement, and run once. The local
-- variables of its top level stay: strided.session.locals. On a terminal,
-- Ctrl-C discards the line or interrupts the chunk, and Ctrl-D exits. To make
-- chunks interruptible, LuaJIT interprets what is typed; modules are compiled
-- as usual. The session sets the globals `st`, `help`, `_`, `_1` to `_9`, and
-- no others.
--
-- Before a session on a terminal, the file STRIDED_STARTUP runs, by default
-- `$XDG_CONFIG_HOME/strided/init.lua` or `~/.config/strided/init.lua`, if it is
-- there. One that STRIDED_STARTUP names also runs before input from a pipe.
--
-- Input from a pipe or file is read in the same way, chunk by chunk, without
-- prompts, colours or history. It continues after an error; the exit status is
-- then 1.
--
-- @module strided.session

local st = require "strided"
local core = require "strided.core"
core.check_taken("session", "strided.session")
local advice = require "strided.session.advice"
local complete = require("strided.session.complete").complete
local failure = require "strided.session.traceback"
local help = require "strided.session.help"
local input = require "strided.session.input"
local line_commands = require "strided.session.line_commands"
local locals = require "strided.session.locals"
local pager = require "strided.session.pager"
local seconds_text = require("strided.timeit").seconds_text
local show = require "strided.session.show"

local compile, unpack = loadstring or load, unpack or table.unpack
local error, format, io, ipairs, loadfile, min, next, os, pcall, rawget,
  rawset, select, setmetatable, tostring, type, xpcall = error, string.format,
  io, ipairs, loadfile, math.min, next, os, pcall, rawget, rawset, select,
  setmetatable, tostring, type, xpcall
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

--- The text of a chunk that is called with `values` and returns those of an
-- expression; nil and the error message for what is no expression. The chunk
-- makes no tail call, so that its frame exists when errors look for the user's
-- line.
local function expression(text)
  local chunk, why = compile("return " .. text)
  if not chunk then return nil, why end
  -- The newline is for a comment at the end.
  local call = "return (...)(" .. text:gsub(";%s*$", "")
  for _, close in ipairs {")", "\n)"} do
    if compile(call .. close) then return call .. close end
  end
  return "return " .. text
end

--- Compiles a text to a chunk, which is called with `values`.
-- @tparam string text
-- @tparam[opt] string name the chunk name
-- @tparam[opt] table variables those of strided.session.locals that it has and
-- leaves; without them it is a chunk of Lua
-- @treturn ?function the chunk, nil on a syntax error
-- @return true if its values are not printed; or the error message
-- @treturn ?boolean true if the input is incomplete
function session.compile(text, name, variables)
  text = text:gsub("^%s*=", "")
  variables = variables or locals.new()
  local call, early = expression(text)
  if call then
    local chunk, why = variables:compile(call, name)
    return chunk, chunk and is_silent("return " .. text) or why
  end
  local chunk, why = compile(text, name)
  if not chunk then
    return nil, why, is_unfinished(why) or is_unfinished(early)
  end
  chunk, why = variables:compile(text, name)
  return chunk, chunk and is_silent(text) or why
end

-- -- Help ---------------------------------------------------------------------

local INTRO = [[
  st            the library; st.<Tab> lists its fields
  st.help()     pages and topics: ?indexing, ?linalg
  ?name         what something is: ?sum, ?nn.Linear; ??sum says all
  st.apropos "inverse"  searches names and sentences
  expr          prints its values; expr; does not
  _, _2         the last value, the one before
  ?session      %time, %who, !command, files, options
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
-- name or an expression. A variable of the user comes before what is similar.
local function answer(query, all, variables)
  if query == "" then return INTRO end
  if query:find "^[%w_:.]+$" then
    local text = help.lookup(query, all)
    local mine
    if variables:has(query) then
      mine = variables:get(query)
    else
      mine = rawget(_G, query)
    end
    if text and core.is_tensor(mine) then -- ?t, of a tensor of the user
      return describe(mine) .. "\n\n" .. text
    end
    -- A global such as print comes before a method of some class.
    local is_method = text and text:find "^%u%w*:"
    if text and not (is_method and mine ~= nil) then return text end
  end
  local chunk = variables:compile("return " .. query:gsub(":([%a_])", ".%1"))
  if jit and chunk then jit.off(chunk, true) end -- as in Session:run
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
local function protect(self, fn, handle)
  handle = handle or failure.text
  if self.is_terminal then return core.interruptible(not jit, fn, handle) end
  return xpcall(fn, handle)
end

function Session:fail(text)
  self.has_failed = true
  if self.is_terminal then text = show.fold(text) end
  say_to(io.stderr, show.paint(text, "error", self.has_error_colours))
end

local RECENT = 9

--- Assigns a value to `_` and `_1`, and those before to `_2` and so on.
local function keep(self, value)
  local recent = self.recent
  self.results = min(self.results + 1, RECENT)
  for i = self.results, 2, -1 do
    recent[i] = recent[i - 1]
    rawset(_G, "_" .. i, recent[i])
  end
  recent[1] = value
  rawset(_G, "_1", value)
  rawset(_G, "_", value)
end

--- Prints the values of a chunk and keeps the first one.
local function finish(self, is_silent_one, ok, ...)
  if not ok then return self:fail((...)) end
  local n = select("#", ...)
  if n == 0 then return end
  keep(self, (...))
  if is_silent_one then return end
  local values = {...}
  local shown, text = protect(self, function()
    return show.values(self.has_colours, unpack(values, 1, n))
  end)
  if not shown then return self:fail(text) end
  -- What st.help returns may be long.
  local is_text = n == 1 and type(values[1]) == "string"
  if not (is_text and self.is_terminal and pager.show(text)) then
    say_to(io.stdout, text)
  end
end

local function values(...) return ... end

--- Notes how long the chunk took, without what printing takes.
local function stop(start, self, ...)
  self.took = core.clock() - start
  return ...
end

--- Runs a chunk, once.
function Session:run(chunk, is_silent_one, is_timed)
  -- Compiled traces do not check for interrupts.
  if jit and self.is_terminal then jit.off(chunk, true) end
  local start = core.clock()
  finish(self, is_silent_one, protect(self, function()
    return stop(start, self, chunk(values))
  end, function(e)
    self.variables:rescue(chunk, 3)
    local text = failure.text(e, 1) -- no tail call: it counts levels
    return text
  end))
  if is_timed and self.took then -- nil after an error
    say_to(io.stdout, "took " .. seconds_text(self.took))
  end
  self.took = nil
end

-- -- Reading ------------------------------------------------------------------

--- Reads a line that continues a text. `?name` is answered on the way, unless
-- it is within a string or a comment of several lines.
function Session:read_more(text)
  while true do
    local more = self.read ">> "
    local marks, query = (more or ""):match "^%s*(%?%??)%s*(.-)%s*$"
    if not query then return more end
    local chunk, _, unfinished = session.compile(text .. "\n" .. more)
    if chunk or unfinished then return more end
    self:help(query, #marks == 2)
  end
end

--- Reads the lines of a chunk that begins with a text; runs it.
function Session:run_text(text, is_timed)
  local first = text
  while true do
    local chunk, is_silent_one, unfinished = session.compile(text, "=input",
                                                            self.variables)
    if chunk then
      self.remember(text)
      self:run(chunk, is_silent_one, is_timed)
      return
    end
    local more
    local method = unfinished and advice.method(text)
    if unfinished and not method and not advice.is_python(text) then
      more = self:read_more(text)
    end
    if more == false then return end
    if not more then
      self.remember(first)
      local why = is_silent_one
      self:fail(advice.add(why, advice.syntax(why, text) or method))
      return
    end
    text = text .. "\n" .. more
  end
end

--- Prints help.
function Session:help(query, all)
  local ok, text = protect(self, function()
    return answer(query, all, self.variables)
  end)
  if not ok then
    self:fail(text)
  elseif not (self.is_terminal and pager.show(text)) then
    say_to(io.stdout, text)
  end
end

--- Reads and runs one chunk; false at the end of the input.
function Session:step()
  local text = self.read "> "
  if text == nil then return false end
  if not text or not text:find "%S" then return true end
  local marks, query = text:match "^%s*(%?%??)%s*(.-)%s*$"
  if query then
    self.remember(text)
    self:help(query, #marks == 2)
    return true
  end
  local what, more, is_error = line_commands.read(text, self)
  if not what then
    self:run_text(text, self.is_timed)
  elseif what == "time" then
    self:run_text(more, true)
  else
    self.remember(text)
    if what == "leave" then
      self.is_left = true
      return false
    end
    if is_error then self:fail(more) elseif more then
      say_to(io.stdout, more)
    end
  end
  return true
end

local function greet()
  local config = st.config()
  say_to(io.stdout, format("strided %s, %s, %s kernels; ? helps, Ctrl-D "
                           .. "leaves", config.version,
                           jit and jit.version or _VERSION, config.isa))
end

--- True if the file of a descriptor is a terminal that shows colours.
local function wants_colours(fd)
  local no, term = os.getenv "NO_COLOR", os.getenv "TERM" or ""
  return core.is_terminal(fd) and term ~= "" and term ~= "dumb"
    and (no == nil or no == "") and os.getenv "CLICOLOR" ~= "0"
end

--- Adjusts completions to the word that readline replaces, which may be longer
-- or shorter than the word that complete() completes.
local function complete_word(line, word, env)
  local words, ours = complete(line, env)
  local extra = #word - #ours
  local before = word:sub(1, extra)
  for i, w in ipairs(words) do
    words[i] = extra >= 0 and before .. w or w:sub(1 - extra)
  end
  return words
end

--- The startup file, and true if it must be there.
local function startup_file()
  local named = os.getenv "STRIDED_STARTUP"
  if named then return named ~= "" and named or nil, true end
  local config, home = os.getenv "XDG_CONFIG_HOME", os.getenv "HOME"
  if config and config:sub(1, 1) == "/" then
    return config .. "/strided/init.lua"
  end
  return home and home ~= "" and home .. "/.config/strided/init.lua" or nil
end

--- Runs the startup file; the session goes on after an error in it.
function Session:start()
  local path, is_named = startup_file()
  if not path or not (is_named or self.is_terminal) then return end
  local file = io.open(path)
  if not file and not is_named then return end
  if file then file:close() end
  local chunk, why = loadfile(path)
  if jit and chunk then jit.off(chunk) end -- its loops can be interrupted
  local ok, text = not not chunk, why
  if chunk then ok, text = protect(self, function() chunk() end) end
  if not ok then self:fail(text) end
end

--- Runs a session on standard input and output until the input ends.
-- @treturn number the exit status
function session.run()
  local self = setmetatable({is_terminal = core.is_terminal(0), recent = {},
                             results = 0, variables = locals.new()}, Session)
  self.has_colours = self.is_terminal and wants_colours(1)
  self.has_error_colours = self.is_terminal and wants_colours(2)
  if self.is_terminal then
    self.read, self.remember = input.terminal(function(line, word)
      return complete_word(line, word, self.variables:environment())
    end)
  else
    self.read, self.remember = input.pipe()
  end
  rawset(_G, "st", st)
  rawset(_G, "help", function(x, options)
    local text = describe(x, options)
    if not (self.is_terminal and pager.show(text)) then
      say_to(io.stdout, text)
    end
  end)
  self.globals = {}
  for name in next, _G do self.globals[name] = true end
  if self.is_terminal then
    if core.is_terminal(1) then greet() end
    core.catch_interrupts(true)
  end
  self:start()
  while self:step() do end
  if not self.is_terminal then return self.has_failed and 1 or 0 end
  core.catch_interrupts(false)
  if not self.is_left and core.is_terminal(1) then io.write "\n" end
  return 0
end

return session
