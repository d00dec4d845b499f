--- Values as messages between Lua states: a string, and a list of the tensors,
-- which are shared.
--
-- Numbers, strings, booleans and tables are copied, and so are functions with
-- their upvalues. A module, and a function of one of Lua's or strided's, is
-- what the other state has under that name; globals are those of the other
-- state. The datasets of strided.data are made anew.
--
-- @module strided.data.message

local core = require "strided.core"
local dataset = require "strided.data.dataset"
local failure = require "strided.io.failure"
local values = require "strided.io.values"

local byte, find, format, gmatch, sub = string.byte, string.find, string.format,
  string.gmatch, string.sub
local concat, debug, dump, error, getfenv, ipairs, next, package, pairs, rawget,
  rawset, select, setfenv, setmetatable, tonumber, type = table.concat, debug,
  string.dump, error, rawget(_G, "getfenv"), ipairs, next, package, pairs,
  rawget, rawset, select, rawget(_G, "setfenv"), setmetatable, tonumber, type

local require = require "strided.core".require

local unpack = unpack or table.unpack
local getmetatable = debug.getmetatable -- also of tables with __metatable
local load_bytes = rawget(_G, "loadstring") or load
local globals, tointeger = _G, rawget(math, "tointeger")
local math_type = rawget(math, "type") -- Lua 5.3
local catch, fail = failure.catch, failure.fail

local MAX_DEPTH = 190      -- of tables in tables

local message = {}

-- -- Names -------------------------------------------------------------------

-- The modules whose functions have names.
local LIBRARIES = {"_G", "string", "table", "math", "os", "io", "coroutine",
                   "bit", "utf8", "strided", "strided.nn", "strided.optim",
                   "strided.data", "strided.name.families", "strided.array_api"}

--- True for a function that a script may have added to a module of Lua.
local function is_of_script(value, library)
  return not find(library, "^strided") and
         debug.getinfo(value, "S").what ~= "C"
end

--- True for a function of a library, and for a table of strided's with a
-- metatable: a class, or a family of operators.
local function has_name(value, library)
  if type(value) == "function" then return not is_of_script(value, library) end
  return type(value) == "table" and find(library, "^strided") and
         getmetatable(value) ~= nil
end

--- Module and field of what the other state has, too: all modules, and what
-- LIBRARIES have.
local function collect_names()
  local names = {}
  for _, name in ipairs(LIBRARIES) do
    local library = package.loaded[name]
    for key, value in next, type(library) == "table" and library or {} do
      if type(key) == "string" and has_name(value, name) and
         not names[value] then
        names[value] = {name, key}
      end
    end
  end
  local families = package.loaded["strided.name.families"]
  if families then
    names[families.signal.windows] = {"strided.name.families", "signal.windows"}
  end
  for name, value in pairs(package.loaded) do
    local kind = type(value)
    if type(name) == "string" and (kind == "table" or kind == "function") then
      names[value] = {name, ""}
    end
  end
  return names
end

-- -- Packing -----------------------------------------------------------------

local function put(w, text) w.parts[#w.parts + 1] = text end

local function put_string(w, s)
  put(w, format("s%d:", #s))
  put(w, s)
end

local pack

--- The number under which a value can be named again.
local function remember(w, value)
  w.count = w.count + 1
  w.known[value] = w.count
end

local function pack_table(w, t, depth)
  local meta = getmetatable(t)
  if meta then
    local name = rawget(meta, "__name")
    fail("a table with a metatable (%s) cannot be sent to another thread",
         type(name) == "string" and failure.clean(name) or "an object")
  end
  put(w, "{")
  for key, value in next, t do
    pack(w, key, depth + 1)
    pack(w, value, depth + 1)
  end
  put(w, "}")
end

--- Where a function is, for messages.
local function place_of(fn)
  local info = debug.getinfo(fn, "S")
  return format("the function at %s:%d", info.short_src, info.linedefined)
end

--- What the other state has under the same name: a module, or a function of it.
local function pack_name(w, module, field)
  put(w, "m")
  put_string(w, module)
  put_string(w, field)
end

--- The variables of a session that are fields of a function's environment
-- (strided.session.locals), and those of them that can be sent.
local function pack_environment(w, fn, depth)
  local locals = getfenv and package.loaded["strided.session.locals"]
  local fields = locals and locals.values_of(getfenv(fn))
  if not fields then return end
  put(w, "E")
  for name, value in next, fields do
    local trial = {parts = {}, tensors = {}, places = {}, known = {[fn] = 1},
                   count = 0, is_trial = true, names = w.names}
    if w.is_trial or not select(2, catch(pack, trial, value, depth + 1)) then
      put_string(w, name)
      pack(w, value, depth + 1)
    end
  end
  put(w, ".")
end

local function pack_function(w, fn, depth)
  if debug.getinfo(fn, "S").what == "C" then
    fail "a C function cannot be sent to another thread"
  end
  local bytes = dump(fn)
  put(w, "f")
  put_string(w, bytes)
  for i = 1, 255 do
    local name, value = debug.getupvalue(fn, i)
    if not name then break end
    local why
    if name == "_ENV" then
      pack_name(w, "_G", "")
    else
      why = select(2, catch(pack, w, value, depth + 1))
    end
    if why then
      fail("%s has the upvalue '%s': %s", place_of(fn), name, why)
    end
  end
  put(w, ".")
  pack_environment(w, fn, depth)
end

local function pack_object(w, class, object, depth)
  put(w, "o")
  put_string(w, class.__name)
  local arguments = {class.arguments(object)}
  put(w, format("%d:", #arguments))
  for _, value in ipairs(arguments) do pack(w, value, depth + 1) end
end

local function pack_number(w, x)
  if math_type and math_type(x) == "integer" then
    return put(w, format("i%d;", x))
  end
  put(w, format("n%.17g;", x))
end

--- A table or a function.
local function pack_composite(w, value, depth)
  if w.known[value] then return put(w, format("r%d;", w.known[value])) end
  if depth > MAX_DEPTH then
    fail("a table is more than %d tables deep", MAX_DEPTH)
  end
  w.names = w.names or collect_names()
  local name = w.names[value]
  if name then return pack_name(w, name[1], name[2]) end
  local recipe = dataset.recipe_of(value)
  if recipe then
    put(w, "d")
    return pack(w, {module = recipe.module, make = recipe.make,
                    args = recipe.args}, depth)
  end
  local class = dataset.class_of(value)
  if class then return pack_object(w, class, value, depth) end
  if dataset.is_dataset(value) then
    fail("a dataset of class %s cannot be sent to another thread: give the "
         .. "loader {module = \"its.module\", args = {...}}, which every "
         .. "worker makes", failure.clean(dataset.name_of(value)))
  end
  remember(w, value)
  if type(value) == "function" then return pack_function(w, value, depth) end
  pack_table(w, value, depth)
end

function pack(w, value, depth)
  local kind, a, b = values.kind(value)
  if value == nil then
    put(w, "z")
  elseif kind == "boolean" then
    put(w, value and "T" or "F")
  elseif kind == "number" then
    pack_number(w, value)
  elseif kind == "string" then
    put_string(w, value)
  elseif kind == "tensor" then
    local n = w.places[value]
    if not n then
      n = #w.tensors + 1
      w.tensors[n], w.places[value] = value, n
    end
    put(w, format("t%d;", n))
  elseif kind == "none" then
    put(w, "N")
  elseif kind == "int" then
    put(w, "I" .. a .. ";")
  elseif kind == "complex" then
    put(w, format("c%.17g;%.17g;", a, b))
  elseif kind == "table" or type(value) == "function" then
    pack_composite(w, value, depth)
  else
    fail("a %s cannot be sent to another thread", type(value))
  end
end

--- Makes a message of a value.
-- @treturn string the message; nil if there is a value that cannot be sent
-- @return the list of its tensors; or an error message
function message.pack(value)
  return catch(function()
    local w = {parts = {}, tensors = {}, places = {}, known = {}, count = 0}
    pack(w, value, 1)
    return concat(w.parts), w.tensors
  end)
end

-- -- Unpacking ---------------------------------------------------------------

local READERS = {}

local function read(r)
  local tag = sub(r.s, r.at, r.at)
  r.at = r.at + 1
  return READERS[tag](r)
end

--- The text up to a character, which is read, too.
local function up_to(r, stop)
  local at = find(r.s, stop, r.at, true)
  local text = sub(r.s, r.at, at - 1)
  r.at = at + 1
  return text
end

local SPECIAL = {inf = 1 / 0, ["-inf"] = -1 / 0, nan = 0 / 0, ["-nan"] = 0 / 0}

local function number(text)
  return SPECIAL[text] or tonumber(text) or tonumber((text:gsub(",", ".")))
end

function READERS.z() return nil end
function READERS.T() return true end
function READERS.F() return false end
function READERS.N() return core.none end
function READERS.i(r) return tointeger(tonumber(up_to(r, ";"))) end
function READERS.n(r)
  local x = number(up_to(r, ";"))
  return math_type and x + 0.0 or x
end
function READERS.I(r) return core.int(up_to(r, ";")) end
function READERS.t(r) return r.tensors[tonumber(up_to(r, ";"))] end
function READERS.r(r) return r.known[tonumber(up_to(r, ";"))] end

function READERS.c(r)
  local re = number(up_to(r, ";"))
  return require "strided".complex(re, number(up_to(r, ";")))
end

function READERS.s(r)
  local n = tonumber(up_to(r, ":"))
  r.at = r.at + n
  return sub(r.s, r.at - n, r.at - 1)
end

READERS["{"] = function(r)
  local t = {}
  r.known[#r.known + 1] = t
  while byte(r.s, r.at) ~= 125 do -- }
    local key = read(r)
    t[key] = read(r)
  end
  r.at = r.at + 1
  return t
end

--- Gives a function an environment with fields.
local function read_environment(r, fn)
  local fields = setmetatable({}, {__index = globals, __newindex = globals})
  setfenv(fn, fields)
  r.at = r.at + 1
  while byte(r.s, r.at) ~= 46 do -- .
    local name = read(r)
    rawset(fields, name, read(r))
  end
  r.at = r.at + 1
end

function READERS.f(r)
  r.at = r.at + 1 -- s
  local fn = load_bytes(READERS.s(r), "=worker")
  r.known[#r.known + 1] = fn
  local i = 0
  while byte(r.s, r.at) ~= 46 do -- .
    i = i + 1
    debug.setupvalue(fn, i, (read(r)))
  end
  r.at = r.at + 1
  if byte(r.s, r.at) == 69 then read_environment(r, fn) end -- E
  return fn
end

function READERS.m(r)
  local name = read(r)
  local field, value = read(r), name == "_G" and globals or require(name)
  for word in gmatch(field, "[^.]+") do
    value = value[word]
    if value == nil then
      fail("this Lua state has no '%s' in %s", field, name)
    end
  end
  return value
end

function READERS.o(r)
  local class = dataset.classes[read(r)]
  local arguments, n = {}, tonumber(up_to(r, ":"))
  for i = 1, n do arguments[i] = read(r) end
  return class(unpack(arguments, 1, n))
end

function READERS.d(r) return dataset.as_dataset("DataLoader", read(r)) end

--- Restores a value. Raises an error if it names what this state does not have.
-- @tparam string bytes the message
-- @tparam table tensors those of the message
function message.unpack(bytes, tensors)
  local value, why = catch(read, {s = bytes, at = 1, tensors = tensors,
                                  known = {}})
  if why then error(why, 0) end
  return value
end

--- The values of a call as one value, nil included.
function message.list(...) return {n = select("#", ...), ...} end

return message
