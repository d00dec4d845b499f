--- Completion within strings and tables of options: dtypes, paths of files,
-- names for st.help; keywords of operators and options of functions.
--
-- @module strided.session.complete_in

local core = require "strided.core"
core.check_taken("session", "strided.session.complete_in")
local comments = require "strided.help.comments"
local functions = require "strided.help.functions"

local ipairs, next, pcall, sort = ipairs, next, pcall, table.sort

local DTYPES = core.dtype_names()
local FORMATS = {"contiguous_format", "preserve_format", "channels_last",
                 "channels_last_3d"}

local inside = {}

-- -- Strings ------------------------------------------------------------------

--- The text of the string that is open at the end of a line, and what is before
-- its quote; nil outside of strings. Long brackets are ignored.
function inside.string(text)
  local quote, at
  for i, c, escaped in text:gmatch "()((\\?).)" do
    if escaped == "" then
      if quote == c then quote = nil
      elseif not quote and (c == '"' or c == "'") then quote, at = c, i end
    end
  end
  if quote then return text:sub(at + 1), text:sub(1, at - 1) end
end

--- The files whose paths begin with a text; folders end with a slash.
local function paths(start)
  local folder, name = start:match "^(.*/)([^/]*)$"
  folder, name = folder or "./", name or start
  if folder:find "[%z\n\"\\]" then return {} end
  local list, shown = {}, folder == "./" and start:sub(1, 2) ~= "./" and ""
                          or folder
  local files = core.list_folder(folder) or {}
  sort(files)
  for _, file in ipairs(files) do
    local is_hidden = file:sub(1, 1) == "." and name == ""
    if file:sub(1, #name) == name and not is_hidden then
      list[#list + 1] = shown .. file
    end
  end
  -- readline closes the string after a unique word, so a folder is completed
  -- with what is in it.
  if #list == 1 and list[1]:sub(-1) == "/" and list[1] ~= start then
    local within = paths(list[1])
    return within[1] and within or list
  end
  return list
end

local function of_list(list, start)
  local found = {}
  for _, word in ipairs(list) do
    if word:sub(1, #start) == start then found[#found + 1] = word end
  end
  return found
end

--- The completions of a string.
-- @tparam string start its text up to the cursor
-- @tparam string before what is before its quote
-- @tparam function names returns the names of operators
-- @treturn {string,...}
function inside.words(start, before, names)
  local key = before:match "([%w_]+)%s*=%s*$"
  local call = before:match "([%w_]+)%s*%(?%s*$"
  if key == "memory_format" then return of_list(FORMATS, start) end
  if key == "device" or call == "device_properties" or call == "synchronize"
  then
    return of_list(core.devices(), start)
  end
  if call == "help" then return names(start) end
  if key == "dtype" or call == "set_default_dtype" or call == "type"
    or call == "dtype_info" or call == "finfo" or call == "iinfo" then
    return of_list(DTYPES, start)
  end
  if call == "to" then
    local list = of_list(DTYPES, start)
    for _, word in ipairs(of_list(core.devices(), start)) do
      list[#list + 1] = word
    end
    return list
  end
  return paths(start)
end

-- -- Options ------------------------------------------------------------------

--- The name of the call whose table is open at the end of a line, and the word
-- that a key of it begins with; nil elsewhere.
function inside.options(text)
  local depth = 0
  local place
  for i = #text, 1, -1 do -- the brace that is not closed
    local c = text:sub(i, i)
    if c == "}" or c == ")" or c == "]" then depth = depth + 1
    elseif c == "{" and depth == 0 then place = i break
    elseif c == "{" or c == "(" or c == "[" then depth = depth - 1 end
    if depth < 0 then return nil end
  end
  if not place then return nil end
  local word = text:sub(place + 1):match "^%s*([%a_]?[%w_]*)$" or
               text:sub(place + 1):match ",%s*([%a_]?[%w_]*)$"
  if not word then return nil end
  local before = text:sub(1, place - 1)
  local name = before:match "([%a_][%w_.:]*)%s*%(?%s*$"
  if name then return name, word end
  depth = 0
  for i = #before, 1, -1 do -- the parenthesis of the call
    local c = before:sub(i, i)
    if c == "}" or c == ")" or c == "]" then depth = depth + 1
    elseif c == "(" and depth == 0 then
      name = before:sub(1, i - 1):match "([%a_][%w_.:]*)%s*$"
      return name, word, true
    elseif c == "{" or c == "(" or c == "[" then depth = depth - 1 end
    if depth < 0 then return nil end
  end
end

local function add_operator(set, packet, is_last)
  for _, full in ipairs(packet:overloads()) do
    local name, overload = full:match "^([^.]*)%.?(.*)$"
    local ok, one = pcall(function()
      return core.packet(name)[overload == "" and "default" or overload]
    end)
    local schema = ok and one and one:schema() or packet:schema()
    for _, a in ipairs(core.schema(schema:match "^[^\n]*").args) do
      if a.name ~= "self" and (a.kwarg_only or not is_last) then
        set[a.name] = true
      end
    end
  end
end

--- The keywords of a function or an operator.
-- @tparam string name as it is written: "st.sum", "t:sum", "nn.Linear"
-- @tparam boolean is_last true if other arguments precede the table
-- @treturn table a set
function inside.keywords(name, is_last)
  local set = {}
  local short = name:match "[^.:]*$"
  local plain = name:gsub("^st%.", ""):gsub("[.:]", "_")
  local packet = core.packet("aten::" .. plain) or
                 core.packet("aten::" .. short)
  local row = functions[name:gsub("^st%.", "")] or functions[short]
  if row then
    for fields in row.signature:gmatch "{([^{}]*:[^{}]*)}" do
      for key in fields:gmatch "([%a_][%w_]*):" do set[key] = true end
    end
  elseif packet and not name:find "%u" then
    add_operator(set, packet, is_last)
  else
    for _, key in ipairs(comments.options(name)) do set[key] = true end
  end
  return set
end

--- The sorted keywords that begin with a word, each with " = ".
function inside.keyword_list(name, word, is_last)
  local list = {}
  for key in next, inside.keywords(name, is_last) do
    if key:sub(1, #word) == word then list[#list + 1] = key .. " = " end
  end
  sort(list)
  return list
end

return inside
