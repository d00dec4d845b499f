--- Describes a tree of values in JSON, for .safetensors files. The tensors are
-- in the file under names, all else is in the description.
--
-- The description is the text of the metadata entry "strided.tree":
--
-- * a table of a list's keys 1, 2, ... is an array;
-- * a table whose keys are strings of UTF-8 that do not begin with "$" is an
--   object, and so is an empty table;
-- * any other table is `{"$table": [[key, value], ...]}`;
-- * a tensor is `{"$tensor": "name"}`, with the same name for two places of one
--   tensor, or of tensors with the same elements in the same memory;
-- * numbers, strings of UTF-8 and booleans are those of JSON, st.none is null;
-- * other strings are `{"$bytes": "ff00"}`, in hexadecimal digits;
-- * NaN and infinities are `{"$number": "nan"}`, "inf" and "-inf";
-- * integers beyond 2^53 are `{"$int": "9223372036854775807"}`;
-- * complex numbers are `{"$complex": [re, im]}`.
--
-- @module strided.io.tree

local core = require "strided.core"
local failure = require "strided.io.failure"
local is_utf8 = require "strided.io.utf8".is_valid
local json = require "strided.io.json"
local values = require "strided.io.values"

local byte, char, concat, find, format, gsub, match, sub = string.byte,
  string.char, table.concat, string.find, string.format, string.gsub,
  string.match, string.sub
local ipairs, next, rawget, tonumber, type = ipairs, next, rawget, tonumber,
  type

local require = require "strided.core".require

local catch, clean, fail = failure.catch, failure.clean, failure.fail
local quote, skip = json.quote, json.skip
local math_type = rawget(math, "type") -- Lua 5.3

local MAX_TEXT = 100000000 -- bytes, as the header of the file
local MAX_EXACT = 2 ^ 53   -- integers below it are exact in a double
local METADATA = "__metadata__"

local tree = {NAME = "strided.tree"}

-- -- Writing -----------------------------------------------------------------

local function put(w, text)
  w.size = w.size + #text
  if w.size > MAX_TEXT then fail "the values need too much text" end
  w.parts[#w.parts + 1] = text
end

local function number_text(x)
  if x ~= x then return '{"$number":"nan"}' end
  if x == 1 / 0 then return '{"$number":"inf"}' end
  if x == -1 / 0 then return '{"$number":"-inf"}' end
  if math_type and math_type(x) == "integer" then
    return x > -MAX_EXACT and x < MAX_EXACT and format("%d", x) or
           format('{"$int":"%d"}', x)
  end
  local text = gsub(format("%.17g", x), ",", ".") -- some locales have a comma
  local is_plain = not find(text, "[%.e]")
  if is_plain and (math_type or x == 0 and 1 / x < 0 or
                   x <= -MAX_EXACT or x >= MAX_EXACT) then
    return text .. ".0"
  end
  return text
end

local function string_text(s)
  if is_utf8(s) then return quote(s) end
  return '{"$bytes":"' .. gsub(s, ".", function(c)
    return format("%02x", byte(c))
  end) .. '"}'
end

--- True if a table is an object of JSON.
local function is_object(t)
  for key in next, t do
    if type(key) ~= "string" or find(key, "^%$") or not is_utf8(key) then
      return false
    end
  end
  return true
end

local encode

local function encode_table(w, t)
  local n = values.length(t)
  if n then
    for i = 1, n do
      put(w, i == 1 and "[" or ",")
      encode(w, rawget(t, i))
    end
    return put(w, "]")
  end
  local is_plain = is_object(t)
  put(w, is_plain and "{" or '{"$table":[')
  for i, key in ipairs(values.keys(t)) do
    if i > 1 then put(w, ",") end
    if not is_plain then put(w, "[") end
    encode(w, key)
    put(w, is_plain and ":" or ",")
    encode(w, rawget(t, key))
    if not is_plain then put(w, "]") end
  end
  put(w, is_plain and "}" or "]}")
end

function encode(w, value)
  local kind, a, b = values.kind(value)
  if kind == "table" then
    encode_table(w, value)
  elseif kind == "tensor" then
    put(w, '{"$tensor":' .. quote(w.names[value]) .. "}")
  elseif kind == "string" then
    put(w, string_text(value))
  elseif kind == "number" then
    put(w, number_text(value))
  elseif kind == "boolean" then
    put(w, value and "true" or "false")
  elseif kind == "none" then
    put(w, "null")
  elseif kind == "int" then
    put(w, '{"$int":"' .. a .. '"}')
  else
    put(w, format('{"$complex":[%s,%s]}', number_text(a), number_text(b)))
  end
end

--- A name for a tensor that no other tensor has.
local function choose_name(tensors, name)
  if name == METADATA then name = "tensor" end
  local n, chosen = 1, name
  while tensors[chosen] do
    n = n + 1
    chosen = name .. "#" .. n
  end
  return chosen
end

--- Describes a value.
-- @tparam table value
-- @treturn table the tensors by name; or nil and an error message
-- @treturn string the description
function tree.encode(value)
  local tensors, names, known = {}, {}, {}
  return catch(function()
    values.walk(value, function(t, _, name)
      if names[t] then return end
      local key = values.identity(t)
      if not known[key] then
        name = choose_name(tensors, name)
        known[key], tensors[name] = name, t
      end
      names[t] = known[key]
    end)
    local w = {parts = {}, size = 0, names = names}
    encode(w, value)
    return tensors, concat(w.parts)
  end)
end

-- -- Reading -----------------------------------------------------------------

-- Each function takes an index of the text, and returns a value and the index
-- after it.

local function malformed(at) fail("its tree is malformed at byte %d", at) end

--- The index after a character, and after any spaces before it.
local function after(s, at, pattern)
  return match(s, "^[ \t\r\n]*" .. pattern .. "()", at)
end

local function expect(s, at, pattern)
  return after(s, at, pattern) or malformed(at)
end

local function parse_string(s, at)
  local text, stop = json.parse_string(s, at)
  if not text then malformed(at) end
  return text, stop
end

local function parse_number(s, at)
  local text = match(s, "^%-?%d+", at) or malformed(at)
  if find(text, "^%-?0%d") then malformed(at) end
  local stop = at + #text
  stop = match(s, "^%.%d+()", stop) or stop
  stop = match(s, "^[eE][+-]?%d+()", stop) or stop
  text = sub(s, at, stop - 1)
  local x = tonumber(text) or tonumber((gsub(text, "%.", ","))) or
            malformed(at)
  return x, stop
end

local parse

--- Calls f with the index of each element of an array; f returns the index
-- after it.
local function parse_array(s, at, f)
  at = expect(s, at, "%[")
  local stop = after(s, at, "%]")
  while not stop do
    at = f(skip(s, at))
    stop = after(s, at, "%]")
    at = stop or expect(s, at, ",")
  end
  return stop
end

local SPECIAL = {nan = 0 / 0, inf = 1 / 0, ["-inf"] = -1 / 0}

-- What follows {"$name": in the text.
local TAGS = {}

function TAGS.number(_, s, at)
  local text, stop = parse_string(s, at)
  return SPECIAL[text] or malformed(at), stop
end

function TAGS.int(_, s, at)
  local text, stop = parse_string(s, at)
  local digits = match(text, "^(%-?%d+)$") or malformed(at)
  if #digits > 20 then malformed(at) end
  local ok, x = core.try(core.int, digits)
  return ok and x or malformed(at), stop
end

function TAGS.bytes(_, s, at)
  local text, stop = parse_string(s, at)
  if #text % 2 == 1 or find(text, "%X") then malformed(at) end
  return (gsub(text, "%x%x", function(x) return char(tonumber(x, 16)) end)),
         stop
end

function TAGS.tensor(r, s, at)
  local name, stop = parse_string(s, at)
  local t = r.tensors[name]
  if not t then fail("its tree names the tensor '%s'", clean(name)) end
  r.used[name] = true
  return t, stop
end

function TAGS.complex(r, s, at, depth)
  local list = {}
  local stop = parse_array(s, at, function(i)
    local x, next_at = parse(r, s, i, depth)
    if type(x) ~= "number" or #list == 2 then malformed(i) end
    list[#list + 1] = x
    return next_at
  end)
  if #list ~= 2 then malformed(at) end
  return require "strided".complex(list[1], list[2]), stop
end

function TAGS.table(r, s, at, depth)
  local t = {}
  local stop = parse_array(s, at, function(i)
    local key, value
    i = expect(s, i, "%[")
    key, i = parse(r, s, skip(s, i), depth)
    local kind = type(key)
    if kind ~= "number" and kind ~= "string" and kind ~= "boolean" or
       key ~= key or t[key] ~= nil then
      malformed(i)
    end
    value, i = parse(r, s, skip(s, expect(s, i, ",")), depth)
    t[key] = value
    return expect(s, i, "%]")
  end)
  return t, stop
end

--- An object, or a value with a tag.
local function parse_object(r, s, at, depth)
  at = expect(s, at, "{")
  local tag, value = match(s, '^[ \t\r\n]*"%$(%a*)"[ \t\r\n]*:[ \t\r\n]*()', at)
  if tag then
    local read = TAGS[tag]
    if not read then fail("its tree has the unknown tag '$%s'", clean(tag)) end
    value, at = read(r, s, value, depth)
    return value, expect(s, at, "}")
  end
  local t = {}
  local stop = after(s, at, "}")
  while not stop do
    local name, element
    name, at = parse_string(s, skip(s, at))
    if t[name] ~= nil or find(name, "^%$") then malformed(at) end
    element, at = parse(r, s, skip(s, expect(s, at, ":")), depth)
    t[name] = element
    stop = after(s, at, "}")
    at = stop or expect(s, at, ",")
  end
  return t, stop
end

local WORDS = {["true"] = true, ["false"] = false}

function parse(r, s, at, depth)
  local c = sub(s, at, at)
  if c == '"' then return parse_string(s, at) end
  if c == "{" or c == "[" then
    if depth > values.MAX_DEPTH then
      fail("its tree is more than %d tables deep", values.MAX_DEPTH)
    end
  end
  if c == "{" then return parse_object(r, s, at, depth + 1) end
  if c == "[" then
    local list = {}
    local stop = parse_array(s, at, function(i)
      local value, next_at = parse(r, s, i, depth + 1)
      list[#list + 1] = value
      return next_at
    end)
    return list, stop
  end
  local word, stop = match(s, "^(%l+)()", at)
  if not word then return parse_number(s, at) end
  if word == "null" then return core.none, stop end
  if WORDS[word] == nil then malformed(at) end
  return WORDS[word], stop
end

--- Restores a value.
-- @tparam string text its description
-- @tparam table tensors by name
-- @return the value; or nil and an error message
function tree.decode(text, tensors)
  return catch(function()
    local r = {tensors = tensors, used = {}}
    local value, stop = parse(r, text, skip(text, 1), 1)
    if skip(text, stop) ~= #text + 1 then malformed(stop) end
    for name in next, tensors do
      if not r.used[name] then
        fail("its tree has no place for the tensor '%s'", clean(name))
      end
    end
    if type(value) ~= "table" then malformed(1) end
    return value
  end)
end

return tree
