--- Closes the Lua side of a sandbox: Note [Closing].
--
-- Note [Closing]
-- Nothing of the library is loaded within a sandbox, and nothing that is not
-- listed in strided.sandbox.public can be required. When it is closed,
--
-- * all modules that the library's functions may need are loaded;
-- * these functions get a `require` of their own, which finds the modules in a
--   private table, the inner tables of Note [Shells], and in LuaJIT and Lua 5.1
--   an empty environment. They are found from the modules by their upvalues;
-- * the metatables of the library's objects become protected, for others than
--   these functions;
-- * package.loaded loses the modules that are not public. A searcher before all
--   others, at which `require` comes first, refuses them.
--
-- This runs within Note [Closing whole or not at all]
-- (lua/bind/state/sandbox_close.c): a failure leaves nothing of the library.
--
-- @module strided.sandbox.close

local core = require "strided.core"
local modules = require "strided.sandbox.modules"
local public = require "strided.sandbox.public"
local settings = require "strided.sandbox.settings"
local shells = require "strided.sandbox.shells"

local debug, error, next, package, pairs, rawget, rawset, require, setfenv,
  setmetatable, sub, type = debug, error, next, package, pairs, rawget, rawset,
  require, rawget(_G, "setfenv"), setmetatable, string.sub, type
local find = string.find
local getinfo, get_metatable, getupvalue, setupvalue = debug.getinfo,
  debug.getmetatable, debug.getupvalue, debug.setupvalue
local plain_metatable = getmetatable -- heeds __metatable
local load_module = require
local note_refusal = core.refused

local HERE = getinfo(1, "S").source:gsub("close%.lua$", "")

-- A script may ask for the environment of the functions of this file, too.
if setfenv then setfenv(1, {}) end

local INTERNAL = "%s: not available in a sandbox, which takes internals away"

local close = {}

-- -- The library's own require and getmetatable ------------------------------

local loaded = {}  -- all modules of the library, by their names
local protected = {} -- a set of metatables

local function inner_require(name)
  local module = loaded[name]
  if module == nil then
    local text = INTERNAL:format(name)
    note_refusal(text)
    error(text, 0)
  end
  return module
end

local function inner_metatable(value)
  local meta = get_metatable(value)
  if protected[meta or false] then return meta end
  return plain_metatable(value)
end

-- -- What scripts require ----------------------------------------------------

local given -- public modules by their names

--- `require` of a module by a name that a script gives.
local function public_require(name)
  local module = given[name]
  if module == nil then
    local text = INTERNAL:format(name)
    note_refusal(text)
    error(text, 0)
  end
  return module
end

local function is_ours(name)
  return type(name) == "string" and name:find "^strided%f[^%w]" ~= nil
end

--- Leaves of package.loaded what is public.
local function hide_modules()
  local registered = debug.getregistry()._LOADED
  for name, module in pairs(registered) do
    if is_ours(name) then loaded[name] = module end
  end
  for name in next, loaded do registered[name] = given[name] end
end

-- -- The walk over the library ------------------------------------------------

--- The values of Lua and of the host, where the walk ends.
local function not_ours()
  local set = {[debug.getregistry()] = true, [package] = true,
               [package.loaded] = true, [shells] = true}
  for name, module in pairs(package.loaded) do
    if not is_ours(name) and type(module) == "table" then
      set[module] = true
      for _, value in next, module do
        if type(value) == "function" or type(value) == "table" then
          set[value] = true
        end
      end
    end
  end
  return set
end

local visible = {} -- by a class, what its objects find in it

--- The fields of a class for its objects: with __index, they would find the
-- class itself.
local function visible_fields(class)
  if visible[class] then return visible[class] end
  local fields, meta = {}, get_metatable(class)
  visible[class] = fields
  for key, value in next, class do
    if key == "__name" or type(key) ~= "string" or sub(key, 1, 2) ~= "__" then
      fields[key] = value
    end
  end
  local parent = meta and meta.__index
  if type(parent) == "table" and
     (visible[parent] or rawget(parent, "__index") == parent) then
    parent = visible_fields(parent)
  end
  return setmetatable(fields, {__index = parent})
end

--- Makes a metatable that other functions cannot get at.
local function protect(meta)
  if rawget(meta, "__index") == meta then
    rawset(meta, "__index", visible_fields(meta))
  end
  if rawget(meta, "__metatable") ~= nil then return end
  rawset(meta, "__metatable", "protected")
  protected[meta] = true
end

local function is_metatable(t)
  return rawget(t, "__index") ~= nil or rawget(t, "__newindex") ~= nil or
         rawget(t, "__call") ~= nil or rawget(t, "__tostring") ~= nil
end

--- Walks over what is reached from the values of a list. `replaced` has what
-- functions of the library get instead of what they have; `homes` the folders
-- of their files.
local function walk(list, replaced, homes)
  local seen, empty = not_ours(), {}
  local function add(value)
    local kind = type(value)
    if (kind == "table" or kind == "function" or kind == "userdata") and
       not seen[value] then
      seen[value] = true
      list[#list + 1] = value
    end
  end
  local function is_at_home(fn)
    local source = getinfo(fn, "S").source
    if sub(source, 1, #HERE) == HERE then return false end
    for home in next, homes do
      if sub(source, 1, #home) == home then return true end
    end
    return false
  end
  local function visit_function(fn)
    if not is_at_home(fn) then return end
    if setfenv then setfenv(fn, empty) end
    local i, name, value = 1, getupvalue(fn, 1)
    while name do
      local other = replaced[value or false]
      if other ~= nil then
        setupvalue(fn, i, other)
        value = other
      end
      if name ~= "_ENV" then add(value) end
      i = i + 1
      name, value = getupvalue(fn, i)
    end
  end
  local function visit_table(t)
    if shells.inner[t] then return end
    for key, value in next, t do
      local other = type(value) ~= "boolean" and replaced[value]
      if other then
        t[key] = other
        value = other
      end
      add(key)
      add(value)
    end
    if is_metatable(t) then protect(t) end
  end
  for _, value in pairs(list) do seen[value] = true end
  while #list > 0 do
    local value = list[#list]
    list[#list] = nil
    if type(value) == "function" then
      visit_function(value)
    else
      if type(value) == "table" then visit_table(value) end
      add(get_metatable(value))
    end
  end
end

--- Functions that C has references to, and what is in the tables there.
local function add_referenced(list)
  local function add(value)
    if type(value) == "function" then list[#list + 1] = value end
  end
  for key, value in next, debug.getregistry() do
    add(value)
    if type(value) == "table" and type(key) == "number" then
      for _, field in next, value do add(field) end
    end
  end
end

-- -- Closing -----------------------------------------------------------------

--- The table at a place such as "nn.utils" below st.
local function table_at(st, place)
  for part in place:gmatch "[^.]+" do st = st[part] end
  return st
end

--- A function that raises an error for names of st that are not listed.
local function make_filter(st)
  local allowed, refused = public.set(public.names), {}
  for name in next, st do
    if not allowed[name] and core.named(name, false) == nil then
      refused[name] = true
    end
  end
  return function(name)
    if refused[name] then error(INTERNAL:format("st." .. name), 3) end
  end
end

--- Takes methods and properties that are not listed from tensors.
local function filter_methods()
  local allowed = public.set(public.methods)
  for _, set in next, {core.methods, core.properties} do
    for name in next, set do
      if not allowed[name] and core.named(name, true) == nil then
        set[name] = function() error(INTERNAL:format(name), 2) end
      end
    end
  end
end

local has_kept

local function keep_distributions()
  if not has_kept then settings.keep_distributions() end
  has_kept = true
end

--- Makes what is listed read-only.
local function share(st)
  local tables = {}
  for i, place in pairs(public.tables) do tables[i] = table_at(st, place) end
  core.seal(shells, make_filter)
  for i, t in pairs(tables) do
    local place = public.tables[i]
    if not shells.inner[t] then
      shells.make(t, "st." .. place, find(place, "^distributions") and
                                     keep_distributions)
    end
  end
  for _, row in pairs(public.modules) do
    given[row[1]] = row[2] == "" and st or table_at(st, row[2])
  end
end

--- The folder of a module's file, for those that a host adds.
local function home_of(module)
  for _, value in pairs(type(module) == "table" and module or {module}) do
    local info = type(value) == "function" and getinfo(value, "S")
    if info and info.what ~= "C" then return info.source:match "^.*/" end
  end
end

--- Closes the sandbox.
-- @tparam table allowed modules that the host adds, by their names
-- @tparam table list gets the public modules, by their names
function close.close(allowed, list)
  core.check_taken("internals", "sandbox.close")
  given = list
  local st = require "strided"
  local homes = {[HERE:gsub("sandbox.$", "")] = true}
  local has_distributions = package.loaded["strided.distributions"] ~= nil
  for name in modules:gmatch "%S+" do load_module("strided." .. name) end
  for name in next, allowed do
    given[name] = load_module(name)
    homes[home_of(given[name]) or HERE] = true
  end
  share(st)
  local replaced = {[require] = inner_require,
                    [plain_metatable] = inner_metatable}
  -- What loads modules late.
  if core.require then replaced[core.require] = inner_require end
  for shell, inner in next, shells.inner do replaced[shell] = inner end
  hide_modules()
  for name, module in next, loaded do
    loaded[name] = not name:find "^strided%.sandbox" and
                   shells.inner_of(module) or nil
  end
  local found = {core, core.tensor {1}}
  add_referenced(found)
  for _, module in next, loaded do found[#found + 1] = module end
  for _, inner in next, shells.inner do found[#found + 1] = inner end
  walk(found, replaced, homes)
  filter_methods()
  core.public_require, core.loaded = public_require, loaded
  settings.keep(shells, loaded)
  if has_distributions then keep_distributions() end
  core.close_sandbox(settings.enter, settings.leave)
end

return close
