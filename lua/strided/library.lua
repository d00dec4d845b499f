--- Operators defined in Lua.
--
--     local lib = st.library "geo"
--     lib:def  "hypot2(Tensor a, Tensor b, *, float scale=1.0) -> Tensor"
--     lib:impl("hypot2", "CompositeImplicitAutograd",
--              function(a, b, scale) return (a * a + b * b) * scale end)
--     st.ops.geo.hypot2(x, y, {scale = 0.5})
--
-- A kernel gets all arguments of its schema in order, keyword-only ones and
-- defaults included, in Lua's conventions. What a library registered goes
-- away when it is closed or collected, so keep it in a variable.
--
-- @module strided.library

local core = require "strided.core"

local error, format, getinfo, setmetatable, type =
  error, string.format, debug.getinfo, setmetatable, type

local Library = {}
Library.__index = Library

--- "file:line" of the caller of the caller, for dumps of the dispatcher.
local function where()
  local info = getinfo(3, "Sl")
  return format("%s:%d", info.short_src, info.currentline)
end

local function check(self)
  if not self.registrations then
    error("library '" .. self.ns .. "' is closed", 3)
  end
end

--- Keeps a registration under a key; an earlier one under it goes.
local function keep(self, key, registration)
  local list = self.registrations
  list[#list + 1] = {key = key, registration = registration}
end

local function drop(self, key)
  local list = self.registrations
  for i = #list, 1, -1 do
    if list[i].key == key then
      core.release(list[i].registration)
      table.remove(list, i)
    end
  end
end

--- Defines an operator. A second definition of the same name by the same
-- library replaces the first, as when a script is run again.
-- @tparam string schema `"name[.overload](...) -> ..."`
-- @tparam[opt] string doc one line for `st.help`
-- @return the library
function Library:def(schema, doc)
  check(self)
  if type(schema) ~= "string" then error("def: schema must be a string", 2) end
  local key = "def " .. (schema:match "^%s*([^%(%s]*)" or "")
  local debug = where()
  drop(self, key)
  keep(self, key, core.define(self.ns, schema, doc, debug))
  return self
end

local function qualified(self, name)
  return name:find("::", 1, true) and name or self.ns .. "::" .. name
end

--- Registers a kernel for an operator and a dispatch key.
-- @tparam string name `"name[.overload]"`, of another namespace with `ns::`
-- @tparam string key `"CPU"`, `"CompositeImplicitAutograd"`, ...
-- @tparam function|string fn the kernel, or `"fallthrough"`
-- @return the library
function Library:impl(name, key, fn)
  check(self)
  if type(name) ~= "string" then error("impl: name must be a string", 2) end
  if type(key) == "function" and fn == nil then
    key, fn = "CompositeImplicitAutograd", key
  end
  if type(fn) ~= "function" and fn ~= "fallthrough" then
    error(format("impl: the kernel of '%s' must be a function, got %s", name,
                 type(fn)), 2)
  end
  local kernel = type(fn) == "function" and fn or nil
  local slot = "impl " .. name .. " " .. tostring(key)
  local registration = core.implement(qualified(self, name), key, kernel,
                                      where())
  drop(self, slot)
  keep(self, slot, registration)
  return self
end

--- Takes everything back, newest first.
function Library:close()
  local list = self.registrations or {}
  for i = #list, 1, -1 do core.release(list[i].registration) end
  self.registrations = nil
end

function Library:__tostring() return "library '" .. self.ns .. "'" end

--- Opens a namespace for definitions and kernels.
-- @function library
-- @tparam string ns
-- @return a library with `def`, `impl` and `close`
local function library(ns)
  if type(ns) ~= "string" or not ns:find "^[%a_][%w_]*$" then
    error("library: the namespace must be a name", 2)
  end
  return setmetatable({ns = ns, registrations = {}}, Library)
end

return {library = library}
