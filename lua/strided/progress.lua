--- A line on the terminal that shows how far something is, its rate and the
-- time left. Where standard error is no terminal, and in a sandbox, nothing is
-- written.
--
--     for epoch in st.progress(100, "training") do ... end
--     for _, path in st.progress(paths) do ... end
--
--     local bar = st.progress(bytes, {label = "reading", bytes = true})
--     bar:step(4096)
--     bar:print("%s is read", path)
--     bar:finish()
--
-- @module strided.progress

local core = require "strided.core"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local clock, is_tensor = core.clock, core.is_tensor
local error, find, floor, format, getmetatable, gsub, huge, pairs, pcall, print,
  select, setmetatable, stderr, stdout, sub, tostring, type = error,
  string.find, math.floor, string.format, getmetatable, string.gsub, math.huge,
  pairs, pcall, print, select, setmetatable, io and io.stderr, io and io.stdout,
  string.sub, tostring, type

local require = require "strided.core".require

-- The iterators that they return; that of pairs is another `next` in Lua 5.1.
local PAIRS, IPAIRS = pairs {}, ipairs {}

local PAUSE = 0.1   -- seconds between two lines
local WIDTH = 80    -- of terminals that do not say

local M = {}

-- -- Texts -------------------------------------------------------------------

local function clock_text(seconds)
  seconds = floor(seconds)
  local minutes = floor(seconds / 60)
  if minutes < 60 then
    return format("%.0f:%02.0f", minutes, seconds % 60)
  end
  return format("%.0f:%02.0f:%02.0f", floor(minutes / 60), minutes % 60,
                seconds % 60)
end

local UNITS = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}

local function bytes_text(n)
  for i = 1, #UNITS do
    if n >= UNITS[i][1] then
      return format("%.1f %s", n / UNITS[i][1], UNITS[i][2])
    end
  end
  return format("%.0f B", n)
end

local function count_text(n) return format("%.14g", n) end

local function rate_text(rate)
  if rate >= 1e6 then return format("%.3gM", rate / 1e6) end
  if rate >= 9999.5 then return format("%.3gk", rate / 1e3) end
  if rate >= 999.5 then return format("%.0f", rate) end
  return format("%.3g", rate)
end

--- The text of the line.
-- @tparam string label
-- @tparam number done
-- @tparam ?number total
-- @tparam number seconds since the start
-- @tparam[opt] boolean is_bytes what is counted
-- @treturn string
function M.text(label, done, total, seconds, is_bytes)
  local count = is_bytes and bytes_text or count_text
  local text = label .. count(done) .. (total and "/" .. count(total) or "")
  local rate = seconds > 0 and done > 0 and done / seconds or nil
  if rate then
    text = text .. ", " .. (is_bytes and bytes_text or rate_text)(rate) .. "/s"
  end
  text = text .. ", " .. clock_text(seconds)
  if rate and total and done < total then
    text = text .. ", " .. clock_text((total - done) / rate) .. " left"
  end
  return text
end

local function is_text(x) return type(x) == "string" or type(x) == "number" end

--- Raises an error unless a label is one of words.
-- @tparam string name of the called function
-- @param label
function M.check(name, label)
  if type(label) ~= "boolean" and type(label) ~= "function" and
     not is_text(label) then
    raise("%s: option 'progress' must be true, a text, or a function that "
          .. "returns one, got %s", name, type(label))
  end
end

--- What to write first, with a space behind it. Control characters become
-- spaces, so that the line stays one.
-- @param label true: nothing; a string; or a function that returns one
-- @tparam string name of the called function
-- @treturn string
function M.words(label, name)
  if type(label) == "function" then
    label = label()
    if label ~= true and not is_text(label) then
      raise("%s: the function of option 'progress' must return a text, got %s",
            name, type(label))
    end
  end
  if label == true then return "" end
  return (gsub(gsub(label .. " ", "%c", " "), "\194[\128-\159]", " "))
end

-- -- The line ----------------------------------------------------------------

--- The columns of the terminal of standard error; nil if it is none.
local function columns()
  local ok, is_terminal = core.try(core.is_terminal, 2)
  if not stderr or not ok or not is_terminal then return nil end
  local known, width = core.try(core.terminal_size, 2)
  return known and width or WIDTH
end

--- Part of a text that fits into a line of n columns.
local function cut(text, n)
  if #text < n then return text end
  return (gsub(sub(text, 1, n - 1), "[\192-\255]?[\128-\191]*$", ""))
end

-- Fields that may be nil.
local FIELDS = {total = true, is_bytes = true, columns = true, iter = true,
                is_over = true, has_begun = true}

local Progress = setmetatable({}, {__index = function(self, name)
  if FIELDS[name] then return nil end
  local unknown_name = require "strided.name.unknown_name"
  return unknown_name.missing("a bar", name, self,
                              "it has step, print, finish, done and total")
end})
Progress.__index = Progress

local function new(total, label, name, is_bytes)
  return setmetatable({
    total = total, label = label, name = name, is_bytes = is_bytes, done = 0,
    start = clock(), next_time = clock() + PAUSE, columns = columns(),
  }, Progress)
end

local function line_of(self)
  return M.text(M.words(self.label, self.name), self.done, self.total,
                clock() - self.start, self.is_bytes)
end

local function write(self, last)
  stderr:write("\r\27[K", cut(line_of(self), self.columns), last)
  stderr:flush()
end

local function check_self(self, name)
  if getmetatable(self) ~= Progress then
    raise("%s: write bar:%s() with a colon", name, name)
  end
end

--- Raises an error unless a value counts steps.
local function check_count(what, n)
  if type(n) ~= "number" then
    raise("%s must be a number from 0 on, got %s", what, type(n))
  elseif not (n >= 0 and n < huge) then
    raise("%s must be a number from 0 on, got %s", what,
          n == n and tostring(n) or "nan")
  end
end

--- Counts n more; writes the line, at most ten times a second.
-- @function Progress:step
-- @tparam[opt] number n 1 by default
function Progress:step(n)
  check_self(self, "step")
  if n ~= nil then check_count("step: argument 'n'", n) end
  self.done = self.done + (n or 1)
  if not self.columns or self.is_over then return end
  local now = clock()
  if now < self.next_time then return end
  self.next_time = now + PAUSE
  write(self, "")
end

--- Prints a line of text above the line of progress.
-- @function Progress:print
-- @tparam string text
-- @param ... if there are any, text is the format of them: string.format
function Progress:print(text, ...)
  check_self(self, "print")
  if type(text) ~= "string" then
    raise("print: argument 'text' must be a text, got %s", type(text))
  end
  if select("#", ...) > 0 then
    local ok, result = pcall(format, text, ...)
    if not ok and not find(tostring(result), "^bad argument") then
      error(result, 0)
    end
    if not ok then raise("print: %s", (gsub(result, " to '[^']*'", ""))) end
    text = result
  end
  local is_shown = self.columns and not self.is_over
  if is_shown then stderr:write("\r\27[K") end
  print(text)
  if stdout then stdout:flush() end
  if is_shown then write(self, "") end
end

--- Writes the last line.
-- @function Progress:finish
-- @tparam[opt] boolean ok false to clear the line instead, after a failure
function Progress:finish(ok)
  check_self(self, "finish")
  if self.is_over then return end
  self.is_over = true
  if not self.columns then return end
  if ok == false then
    stderr:write("\r\27[K")
  else
    write(self, "\n")
  end
end

function Progress:__tostring() return line_of(self) end

local function pass(self, first, ...)
  if first == nil then
    self:finish()
  elseif self.has_begun then
    self:step()
  else
    self.has_begun = true
    if self.columns then write(self, "") end
  end
  return first, ...
end

function Progress:__call()
  if not self.iter then
    raise("progress: a bar without a count cannot be iterated; call "
          .. "bar:step()")
  end
  if self.is_over then return nil end
  local function count(first, ...)
    if first == nil and self.has_begun then self.done = self.done + 1 end
    return pass(self, first, ...)
  end
  return count(self.iter())
end

--- An iterator that returns what another one does and writes the line.
-- @tparam function iter
-- @tparam ?integer total number of steps
-- @param label as for words; a function is called whenever the line is written
-- @tparam string name of the called function
-- @treturn function
function M.each(iter, total, label, name)
  if not columns() then return iter end
  local bar = new(total, label, name)
  bar.iter = iter
  return function() return bar() end
end

--- A bar for what counts bytes; nil where nothing is written.
function M.bytes(total, label, name)
  return columns() and new(total, label, name, true) or nil
end

-- -- st.progress -------------------------------------------------------------

--- Iterators over what st.progress takes, and their numbers of steps.
local function iterator_of(what)
  local i = 0
  if type(what) == "number" then
    local n = floor(what)
    return function()
      i = i + 1
      if i <= n then return i end
    end, n
  elseif type(what) == "function" then
    return what
  elseif type(what) == "table" and type(what.iter) == "function" then
    return what:iter(), type(what.size) == "function" and what:size() or nil
  elseif type(what) == "table" and getmetatable(what) == nil or
         is_tensor(what) and what.ndim > 0 then
    local n = is_tensor(what) and what.shape[1] or #what
    return function()
      i = i + 1
      if i <= n then return i, what[i] end
    end, n
  end
end

--- The number of keys.
local function size_of(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

--- An iterator that needs no arguments, of what a loop `for ... in` has; and
-- its number of steps if it is that of pairs or ipairs.
local function without_state(f, state, control)
  local function keep(first, ...)
    control = first
    return first, ...
  end
  local n
  if type(state) == "table" then
    n = f == PAIRS and size_of(state) or f == IPAIRS and #state or nil
  end
  return function() return keep(f(state, control)) end, n
end

--- Shows on a terminal how far a loop is, its rate and the time left:
--
--     for i in st.progress(1000) do ... end               -- a count
--     for i, x in st.progress(list, "reading") do ... end -- a list, rows
--     for x, y in st.progress(loader) do ... end          -- a DataLoader
--     for line in st.progress(io.lines(path)) do ... end  -- an iterator
--     for k, v in st.progress(pairs(t)) do ... end
--
-- or what `bar:step(n)` counts, up to `bar:finish()`; `bar:print(text, ...)`
-- prints a formatted text above. Writes to standard error, at most ten times a
-- second, and nothing if that is no terminal.
-- @function progress
-- @param[opt] what a number, a list, a tensor, a DataLoader or an iterator;
-- nothing, if the number of steps is not known
-- @param[opt] label a text or a function that returns one; or a table with
-- `label`; `total`, the number of steps of an iterator; `bytes`, true if steps
-- are bytes
-- @param ... the rest of what pairs, ipairs or another maker of iterators
-- returns: then the second argument is no label
-- @treturn table a bar, which is an iterator; `done` and `total` are its fields
function M.progress(what, label, ...)
  local iter, total
  if type(what) == "function" and select("#", ...) > 0 then
    iter, total = without_state(what, label, (...))
    what, label = nil, nil
  end
  local o = label
  if type(label) ~= "table" then o = {label = label} end
  o = options("progress", o, {label = true, total = true, bytes = true})
  local words = o.label == nil and true or o.label
  if type(words) ~= "function" and not is_text(words) and words ~= true then
    raise("progress: option 'label' must be a text or a function that returns "
          .. "one, got %s", type(words))
  end
  if o.total ~= nil then check_count("progress: option 'total'", o.total) end
  if o.bytes ~= nil and type(o.bytes) ~= "boolean" then
    raise("progress: option 'bytes' must be true or false, got %s",
          type(o.bytes))
  end
  if type(what) == "number" and not (what >= 0 and what < huge) then
    raise("progress: the number of steps must be from 0 on, got %s",
          what == what and tostring(what) or "nan")
  end
  if what ~= nil then
    iter, total = iterator_of(what)
    if not iter then
      raise("progress: argument 'what' must be a number, a list, a tensor, a "
            .. "DataLoader or an iterator, got %s", type(what))
    end
  end
  local bar = new(o.total or total, words, "progress", o.bytes)
  bar.iter = iter
  return bar
end

return M
