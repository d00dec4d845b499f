--- Tables that scripts of a sandbox share with the host and with each other:
-- those of functions become read-only, classes are restored after each run.
--
-- Note [Shells]
-- A table that becomes read-only stays where it is, and its fields move to
-- another table, its inner table. The library's own functions get the inner
-- table, so `rawset`, which changes even an empty table with a metatable,
-- changes nothing for them, and after the run that change is removed. A class
-- stays as it is, since objects have it as their metatable: what it has is kept
-- when a script first gets it, and restored after each run.
--
-- @module strided.sandbox.shells

local error, format, next, rawequal, rawget, rawset, setmetatable, type =
  error, string.format, next, rawequal, rawget, rawset, setmetatable, type
local get_metatable, set_metatable = debug.getmetatable, debug.setmetatable

-- A script may ask for the environment of the functions of this file, too.
if rawget(_G, "setfenv") then setfenv(1, {}) end

local shells = {
  inner = {}, -- by a shell, its inner table
  outer = {}, -- by an inner table, its shell
}

local inner, outer = shells.inner, shells.outer

--- The inner table of a shell; other values as they are.
function shells.inner_of(value) return inner[value or false] or value end

--- The shell of an inner table; other values as they are.
function shells.shell_of(value) return outer[value or false] or value end

-- -- Restoring ---------------------------------------------------------------

local copies = {} -- by a table, {its fields, its metatable}

--- Keeps what a table has, and the tables in it, for shells.restore. A time
-- limit may end it: no part of a table is restored.
local function keep(t, seen)
  if type(t) ~= "table" or copies[t] or inner[t] or outer[t] or seen[t] then
    return
  end
  seen[t] = true
  local meta = get_metatable(t)
  -- The keys of some are weak: what a host documents, for example.
  local fields = setmetatable({}, meta and meta.__mode and
                                  {__mode = meta.__mode})
  for key, value in next, t do
    fields[key] = value
    keep(value, seen)
  end
  copies[t] = {fields, meta}
end

function shells.keep(t) keep(t, {}) end

local function restore(t, fields)
  for key, value in next, t do
    if not rawequal(fields[key], value) then rawset(t, key, fields[key]) end
  end
  for key, value in next, fields do
    if not rawequal(rawget(t, key), value) then rawset(t, key, value) end
  end
end

--- Undoes what a script has done to shells and to the tables that are kept.
function shells.restore()
  for shell in next, inner do
    for key in next, shell do rawset(shell, key, nil) end
  end
  for t, copy in next, copies do
    if get_metatable(t) ~= copy[2] then set_metatable(t, copy[2]) end
    restore(t, copy[1])
  end
end

-- -- Shells ------------------------------------------------------------------

--- What a script gets for a value: classes are kept before they are given.
local function give(value)
  if type(value) ~= "table" then return value end
  if outer[value] then return outer[value] end
  if not copies[value] then shells.keep(value) end
  return value
end

--- The function that refuses assignments to what has a name.
-- @tparam string name
function shells.refuse(name)
  return function(_, key)
    local text = type(key) == "string" and key or type(key)
    error(format("%s is read-only in a sandbox: cannot set '%s'", name, text),
          2)
  end
end

--- Makes a table read-only.
-- @tparam table t
-- @tparam string name for messages
-- @tparam[opt] function may(key) raises an error for what is not public
-- @treturn table the inner table
function shells.make(t, name, may)
  local fields, meta = {}, get_metatable(t)
  for key, value in next, t do fields[key] = value end
  for key in next, fields do rawset(t, key, nil) end
  set_metatable(fields, meta)
  inner[t], outer[fields] = fields, t
  local call = meta and meta.__call
  set_metatable(t, {
    __index = function(_, key)
      if may then may(key) end
      return give(fields[key])
    end,
    __pairs = function()
      local key, value
      return function()
        key, value = next(fields, key)
        return key, give(value)
      end
    end,
    __newindex = shells.refuse(name), __metatable = "protected",
    __call = call and function(_, ...) return call(fields, ...) end,
  })
  return fields
end

return shells
