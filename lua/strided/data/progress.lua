--- A line on the terminal that shows how far a loop is. Elsewhere nothing is
-- written.
--
-- @module strided.data.progress

local core = require "strided.core"
local raise = require "strided.caller_error"

local floor, stderr, time, type = math.floor, io.stderr, os.time, type

local M = {}

local function clock(seconds)
  return ("%d:%02d"):format(floor(seconds / 60), floor(seconds % 60))
end

--- The text of the line.
-- @tparam string label
-- @tparam integer done
-- @tparam ?integer total
-- @tparam number seconds since the start
-- @treturn string
function M.text(label, done, total, seconds)
  local text = label .. done .. (total and "/" .. total or "")
  local rate = seconds > 0 and done / seconds or nil
  if rate then text = text .. (", %.3g/s"):format(rate) end
  text = text .. ", " .. clock(seconds)
  if rate and total and done < total then
    text = text .. ", " .. clock((total - done) / rate) .. " left"
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
  return ((label .. " "):gsub("%c", " "))
end

--- An iterator that returns what another one does and writes the line, at most
-- once a second.
-- @tparam function iter
-- @tparam ?integer total number of steps
-- @param label as for words; a function is called whenever the line is written
-- @tparam string name of the called function
-- @treturn function
function M.each(iter, total, label, name)
  if not core.is_terminal(2) then return iter end
  local done, start, shown = 0, time(), nil
  local function show(is_last)
    local now = time()
    if now == shown and not is_last then return end
    shown = now
    stderr:write("\r\27[K", M.text(M.words(label, name), done, total,
                                      now - start), is_last and "\n" or "")
  end
  local function step(first, ...)
    if first == nil then
      show(true)
    else
      show(false)
      done = done + 1
    end
    return first, ...
  end
  return function() return step(iter()) end
end

return M
