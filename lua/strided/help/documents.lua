--- Documentation that a program gives to its own functions and values, and the
-- comments above functions in its files.
--
-- @module strided.help.documents

local core = require "strided.core"
local guard = require "strided.name.guard"
local raise = require "strided.argument.caller_error"

local concat, find, gsub, match, sub = table.concat, string.find, string.gsub,
  string.match, string.sub
local getinfo, getlocal = debug and debug.getinfo, debug and debug.getlocal
local next, open, rawget, setmetatable, type = next, io and io.open, rawget,
  setmetatable, type
local globals = _G

local documents = {}

local texts = setmetatable({}, {__mode = "k"}) -- by value
documents.texts = texts

--- Gives a function or a table documentation, which `st.help(value)` shows and
-- `st.apropos` finds if the value is a global. The first sentence says what it
-- does.
-- @function document
-- @param value
-- @tparam string text
-- @return the value
function documents.document(value, text)
  local kind = type(value)
  if kind ~= "function" and kind ~= "table" then
    raise("document: argument 1 must be a function or a table, got %s",
          core.is_tensor(value) and "Tensor" or kind)
  elseif type(text) ~= "string" then
    raise("document: argument 2 must be a string, got %s", type(text))
  end
  texts[value] = text
  return value
end

--- The text for a value, or nil.
function documents.of(value)
  return value ~= nil and texts[value] or nil
end

--- The texts of what globals hold, by the names of these.
function documents.named()
  local found = {}
  for name, value in next, globals do
    local text = type(name) == "string" and documents.of(value)
    if text then found[name] = text end
  end
  return found
end

-- -- Comments in files --------------------------------------------------------

--- The names of a function's arguments; none in Lua 5.1 itself, which does not
-- tell them.
local function arguments(fn, info)
  local list = {}
  for i = 1, info.nparams or 0 do list[i] = getlocal(fn, i) or "?" end
  if info.isvararg then list[#list + 1] = "..." end
  return info.nparams and concat(list, ", ") or "..."
end

--- The comment above a line of a file, and the line.
-- @tparam string path
-- @param at the number of the line, or a pattern that is in it
local function comment_above(path, at)
  -- In a sandbox a script chooses the names of its chunks.
  local file = open and core.try(core.check_taken, "files", "st.help")
               and open(path)
  if not file then return nil end
  local lines, n = {}, 0
  for line in file:lines() do
    n = n + 1
    if n == at or type(at) == "string" and find(line, at) then
      file:close()
      return lines[1] and concat(lines, "\n"), line, n
    end
    local text = match(line, "^%s*%-%-+ ?(.*)$")
    if not text then
      lines = {}
    elseif not find(line, "^%s*%-%-%s*%-%-") then
      lines[#lines + 1] = text
    end
  end
  file:close()
end

--- Describes a function of a program in Lua: its arguments, where it is, and
-- the comment above it.
-- @tparam function fn
-- @treturn string
function documents.describe(fn)
  local written = guard.original(fn)
  local info = getinfo and getinfo(written, "Su")
  if not info or info.what == "C" then
    return "function written in C" ..
           (texts[fn] and "\n" .. texts[fn] or "")
  end
  local place = ("function at %s:%d"):format(info.short_src, info.linedefined)
  local text, line
  if sub(info.source, 1, 1) == "@" then
    text, line = comment_above(sub(info.source, 2), info.linedefined)
  end
  text = texts[fn] or text
  if not text then return place end
  local name = line and (match(line, "function%s+([%w_.:]+)%s*%(") or
                         match(line, "([%w_.]+)%s*=%s*function%s*%("))
  return ("%s(%s)\n%s\n%s"):format(name or "function", arguments(written, info),
                                   text, place)
end

--- Describes a class of a program: the comment above the line that declares it
-- by `extend "Name"`, in the file of its methods.
-- @tparam table class
-- @tparam string name
-- @treturn ?string nil if the class has no method in a file
function documents.describe_class(class, name)
  local init = getinfo and guard.original(rawget(class, "init") or
                                          rawget(class, "forward"))
  local info = type(init) == "function" and getinfo(init, "Su")
  if not info or sub(info.source, 1, 1) ~= "@" then return nil end
  local pattern = "extend%s*%(?%s*[\"']" .. gsub(name, "%W", "%%%0") .. "[\"']"
  local text, _, at = comment_above(sub(info.source, 2), pattern)
  if not at then return nil end
  local list = rawget(class, "init") and arguments(init, info) or ""
  return ("%s(%s)\n%sclass at %s:%d"):format(
    name, (gsub(list, "^self,? ?", "")), text and text .. "\n" or "",
    info.short_src, at)
end

return documents
