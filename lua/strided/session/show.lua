--- Formats values for printing: tables with their fields, abbreviated where
-- they are deep or long; values with a `__tostring` metamethod by that; traces
-- as tables.
--
-- @module strided.session.show

local core = require "strided.core"
local trace_text = require "strided.session.trace_text"

local concat, sort = table.concat, table.sort
local debug, error, format, ipairs, next, pcall, rawget, select, tostring,
  type = debug, error, string.format, ipairs, next, pcall, rawget, select,
  tostring, type

local require = require "strided.core".require

local DEPTH = 4     -- tables within tables
local FIELDS = 40   -- of one table
local VALUES = 200  -- in total
local WIDTH = 80

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in
  local nil not or repeat return then true until while]]):gmatch "%a+" do
  KEYWORDS[word] = true
end

local COLOURS = {string = "32", number = "36", boolean = "35",
                 ["nil"] = "2", ["function"] = "34", error = "31"}

local show = {KEYWORDS = KEYWORDS}

--- The text in the colour of a kind of value, if has_colours.
function show.paint(text, kind, has_colours)
  local code = has_colours and COLOURS[kind]
  return code and "\27[" .. code .. "m" .. text .. "\27[0m" or text
end

-- -- Helpers ------------------------------------------------------------------

local ESCAPES = {["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
                 ['"'] = '\\"', ["\\"] = "\\\\"}

local function quoted(s)
  return '"' .. s:gsub('[%c"\\]', function(c)
    return ESCAPES[c] or format("\\%03d", c:byte())
  end) .. '"'
end

--- tostring(v), or a placeholder if that fails. Raises an interrupt.
local function text_of(v)
  local ok, text = pcall(tostring, v)
  if ok and type(text) == "string" then return text end
  if text == "interrupted" then error(text, 0) end
  return format("<%s: its tostring fails>", type(v))
end

local function has_tostring(v)
  local meta = debug.getmetatable(v)
  if meta == core.tensor_lists then return false end -- it calls this module
  return type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

local function is_name(key)
  return type(key) == "string" and key:find "^[%a_][%w_]*$" ~= nil
    and not KEYWORDS[key]
end

--- The order of keys: numbers, then strings, then other types.
local function before(a, b)
  local ta, tb = type(a), type(b)
  if ta ~= tb then
    if ta == "number" or tb == "number" then return ta == "number" end
    if ta == "string" or tb == "string" then return ta == "string" end
    return ta < tb
  end
  if ta == "number" or ta == "string" then return a < b end
  return text_of(a) < text_of(b)
end

-- -- Tables -------------------------------------------------------------------

--- The sorted keys other than 1 .. n.
local function other_keys(t, n)
  local keys = {}
  for key in next, t do
    local is_element = type(key) == "number" and key >= 1 and key <= n
      and key % 1 == 0
    if not is_element then keys[#keys + 1] = key end
  end
  sort(keys, before)
  return keys
end

local function count_elements(t)
  local n = 0
  while rawget(t, n + 1) ~= nil do n = n + 1 end
  return n
end

--- What to write for x.sum, which is a method; "" for other functions.
local function method_text(fn)
  local found
  for name, method in next, core.methods do
    local is_better = method == fn and type(name) == "string" and
                      (not found or #name < #found)
    if is_better then found = name end
  end
  return found and format("\n  a method is called: write x:%s()", found) or ""
end

local shown -- defined below; recursive

--- "name = value"; further lines of the text of a value with `__tostring` are
-- aligned.
local function field(key, value, state, depth)
  local name = (is_name(key) and key
                or "[" .. shown(key, state, DEPTH) .. "]") .. " = "
  local text = shown(value, state, depth)
  if has_tostring(value) then
    text = text:gsub("\n", "\n" .. (" "):rep(#name))
  end
  return name .. text
end

--- The fields of a table as texts, up to the limits.
local function fields(t, state, depth)
  local texts, n = {}, count_elements(t)
  local keys = other_keys(t, n)
  for i = 1, n + #keys do
    if #texts == FIELDS or state.left <= 0 then
      texts[#texts + 1] = format("... %d more", n + #keys - #texts)
      break
    end
    state.left = state.left - 1
    local key = keys[i - n]
    texts[i] = i <= n and shown(rawget(t, i), state, depth + 1)
      or field(key, rawget(t, key), state, depth + 1)
  end
  return texts
end

--- The width of a text on a terminal.
local function width(text)
  return #text:gsub("\27%[%d*m", ""):gsub("[\128-\191]", "")
end

--- The fields in braces: on one line if it fits, else one line per field.
local function braces(texts, depth)
  local line = "{" .. concat(texts, ", ") .. "}"
  if not line:find("\n", 1, true) and width(line) + 2 * depth <= WIDTH then
    return line
  end
  for i, text in ipairs(texts) do texts[i] = text:gsub("\n", "\n  ") end
  return "{\n  " .. concat(texts, ",\n  ") .. "\n}"
end

local function table_text(t, state, depth)
  if state.open[t] then return "<cycle>" end
  if depth >= DEPTH then return next(t) == nil and "{}" or "{...}" end
  state.open[t] = true
  local texts = fields(t, state, depth)
  state.open[t] = nil
  return braces(texts, depth)
end

function shown(v, state, depth)
  local kind = type(v)
  if has_tostring(v) then return text_of(v) end
  if kind == "table" then
    if depth == 0 and trace_text.is_trace(v) then return trace_text.of(v) end
    return table_text(v, state, depth)
  end
  local text = kind == "string" and depth > 0 and quoted(v) or text_of(v)
  if kind == "function" and depth == 0 then text = text .. method_text(v) end
  if kind == "string" and depth == 0 then return text end
  return show.paint(text, kind, state.has_colours)
end

-- -- Public functions ---------------------------------------------------------

--- Formats one value. Strings are quoted only within tables.
-- @param v
-- @tparam[opt] boolean has_colours
-- @treturn string
function show.value(v, has_colours)
  return shown(v, {open = {}, left = VALUES, has_colours = has_colours}, 0)
end

--- Formats several values: separated by tabs, or by newlines if one of them has
-- several lines.
-- @tparam boolean has_colours
-- @param ... the values
-- @treturn string
function show.values(has_colours, ...)
  local texts, separator = {}, "\t"
  for i = 1, select("#", ...) do
    texts[i] = show.value((select(i, ...)), has_colours)
    if texts[i]:find("\n", 1, true) then separator = "\n" end
  end
  return concat(texts, separator)
end

--- An error for a terminal of 80 columns: long lines are broken between words;
-- those of a traceback are not.
-- @tparam string text
-- @treturn string
function show.fold(text)
  return (text:gsub("[^\n]+", function(line)
    if #line <= WIDTH or line:sub(1, 1) == "\t" then return nil end
    local indent = line:match "^ *"
    return require "strided.help.wrap"(line, indent, indent .. "  ")
  end))
end

return show
