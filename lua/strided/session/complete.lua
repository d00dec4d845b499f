--- Completion of a partial line: globals, fields, operators, overloads and
-- methods.
--
-- The line is never evaluated. A chain of names is resolved through plain
-- tables, and through values of strided, whose lookups have no side effects.
-- The resolution stops where a lookup would call another metamethod.
--
-- @module strided.session.complete

local st = require "strided"
local core = require "strided.core"
core.check_taken("session", "strided.session.complete")
local inside = require "strided.session.complete_in"
local method_names = require("strided.name.method_names").names
local KEYWORDS = require("strided.session.show").KEYWORDS
local operator = require "strided.help.operator"

local concat, sort = table.concat, table.sort
local debug, ipairs, next, pairs, pcall, rawget, type = debug, ipairs, next,
  pairs, pcall, rawget, type

local require = require "strided.core".require

-- The methods of operators.
local OPERATOR_METHODS = {"schema", "doc", "name", "overloads", "kernel",
                          "table", "dump", "redispatch", "call_for_key",
                          "tags", "signature"}

-- -- Names --------------------------------------------------------------------

--- Adds the string keys of a table that are identifiers.
local function add_keys(set, t)
  for key in next, t do
    if type(key) == "string" and key:find "^[%a_][%w_]*$" then
      set[key] = true
    end
  end
end

--- Adds the keys that a value inherits through `__index` tables.
local function add_inherited(set, value)
  for _ = 1, 8 do
    local meta = debug.getmetatable(value)
    value = type(meta) == "table" and rawget(meta, "__index")
    if type(value) ~= "table" then return end
    add_keys(set, value)
  end
end

--- Calls visit(namespace, name) for each operator.
local function each_operator(visit)
  for _, full in ipairs((core.operators())) do
    visit(full:match "^(.-)::(.*)$")
  end
end

local function is_operator(value)
  return type(value) == "userdata" and (pcall(core.packet, value))
    and core.packet(value) == value
end

--- The namespace that a table of st.ops stands for.
local function namespace_of(value)
  local seen, found = {}, nil
  each_operator(function(ns)
    if not seen[ns] and st.ops[ns] == value then found = ns end
    seen[ns] = true
  end)
  return found
end

--- True for a family of operators, such as st.linalg.
local function is_family(value)
  for _, family in next, (require "strided.name.families") do
    if value == family or value == rawget(family, "windows") then
      return true
    end
  end
  return false
end

local function add_overloads(set, packet)
  for _, full in ipairs(packet:overloads()) do
    set[full:match "%.([^.]*)$" or "default"] = true
  end
end

local function add_tensor(set)
  add_keys(set, method_names())
  for name in pairs(core.properties) do set[name] = true end
end

--- True for st.linalg_inv and others, which are st.linalg.inv, unless the
-- prefix says that it is what is looked for.
local function is_in_family(name, prefix)
  local family = operator.short_name("aten::" .. name):match "^(%w+)%."
  return family and prefix:sub(1, #family + 1) ~= family .. "_"
end

--- The names that may follow a value and a dot or a colon.
local function members(value, separator, prefix)
  local set = {}
  if core.is_tensor(value) then
    add_tensor(set)
  elseif is_operator(value) then
    if separator == "." then
      add_overloads(set, value)
    else
      for _, name in ipairs(OPERATOR_METHODS) do set[name] = true end
    end
  else
    if type(value) == "table" then add_keys(set, value) end
    add_inherited(set, value)
  end
  if value == st then
    add_keys(set, debug.getmetatable(st).names())
    each_operator(function(ns, name) -- st keeps names that were looked up
      set[name] = (ns ~= "aten" or not is_in_family(name, prefix)) or nil
    end)
  elseif is_family(value) then
    add_keys(set, debug.getmetatable(value).names())
  elseif value == st.ops then
    each_operator(function(ns) set[ns] = true end)
  elseif type(value) == "table" then
    local wanted = namespace_of(value)
    if wanted then
      each_operator(function(ns, name)
        if ns == wanted then set[name] = true end
      end)
    end
  end
  return set
end

-- -- Resolving a chain of names -----------------------------------------------

--- value[name], without calling metamethods other than strided's.
local function get(value, name)
  if value == st or value == st.ops or core.is_tensor(value)
    or is_operator(value) or is_family(value)
    or type(value) == "table" and namespace_of(value) then
    local ok, result = pcall(function() return value[name] end)
    return ok and result or nil
  end
  for _ = 1, 8 do
    local field
    if type(value) == "table" then field = rawget(value, name) end
    if field ~= nil then return field end
    local meta = debug.getmetatable(value)
    value = type(meta) == "table" and rawget(meta, "__index")
    if type(value) ~= "table" then return nil end
  end
end

--- The value of a chain "a.b.c", or nil.
local function follow(chain, env)
  local value = env
  for name in chain:gmatch "[%a_][%w_]*" do
    value = get(value, name)
    if value == nil then return nil end
  end
  return value
end

-- -- Candidates ---------------------------------------------------------------

local function global_names(env)
  local set = {}
  add_keys(set, env)
  add_inherited(set, env)
  for word in pairs(KEYWORDS) do set[word] = true end
  return set
end

local function operator_names()
  local set = {}
  each_operator(function(ns, name)
    set[ns == "aten" and name or ns .. "::" .. name] = true
  end)
  return set
end

--- The sorted names that begin with prefix, each with start in front. Names
-- that begin with an underscore need a prefix.
local function pick(set, start, prefix, accept)
  local list = {}
  for name in pairs(set) do
    local is_hidden = name:sub(1, 1) == "_" and prefix == ""
    if name:sub(1, #prefix) == prefix and not is_hidden
      and (not accept or accept(name)) then
      list[#list + 1] = start .. name
    end
  end
  sort(list)
  return list
end

--- A predicate for the members of a value that can be called.
local function callable_in(value)
  if core.is_tensor(value) then
    local methods = method_names()
    return function(name) return methods[name] end
  end
  return function(name)
    local member = get(value, name)
    return type(member) == "function" or is_operator(member)
  end
end

--- The names for st.help that begin with a text, and those of globals.
local function help_names(start, env)
  local set = operator_names()
  if env then
    add_keys(set, env)
    add_inherited(set, env)
  end
  for _, from in ipairs {"pages", "manual"} do
    for _, page in ipairs(require("strided.help." .. from).entries()) do
      set[page.name] = true
    end
  end
  for _, entry in ipairs(require("strided.help.catalogue").all()) do
    set[entry.name], set[entry.topic] = true, true
  end
  return pick(set, "", start)
end

--- Completes the last word of a line.
-- @tparam string text the line up to the cursor
-- @tparam[opt] table env the variables; it may inherit the globals
-- @treturn {string,...} the sorted completions, whole words
-- @treturn string the word that they replace
local function complete(text, env)
  env = env or _G
  local query = text:match "^%s*%?%??%s*([%w_:.]*)$"
  if query and not query:find "%f[:]:%f[^:]" and not query:find "^st%." then
    local list = help_names(query, env)
    if list[1] or not query:find "[.:]" then return list, query end
  end
  local start, before = inside.string(text)
  if start then return inside.words(start, before, help_names), start end
  local name, key, is_last = inside.options(text)
  if name then
    local words = inside.keyword_list(name, key, is_last)
    if words[1] then return words, key end
  end
  local word = text:match "[%w_.:]*$"
  if word:find "^%d" or word:find "%.%." then return {}, word end
  local chain, separator, prefix = word:match "^(.-)([.:])([%w_]*)$"
  if not chain then return pick(global_names(env), "", word), word end
  -- A chain after a call or a subscript is not resolved.
  if not chain:find "^[%a_][%w_.]*$" then return {}, word end
  local value = follow(chain, env)
  if value == nil then return {}, word end
  local set = members(value, separator, prefix)
  return pick(set, concat {chain, separator}, prefix,
              separator == ":" and callable_in(value) or nil), word
end

return {complete = complete}
