--- A host of sandbox_attacks_spec: attacks that are generated. A script
-- requires every module, and calls every public function with values of every
-- kind. It prints how many attacks there were, and what they reached: a module
-- that is
-- not public, a table or function of Lua's or of the host's, a file.
-- Arguments: the part of all calls, one of how many; "no_ffi".

local part, ffi = ...

if ffi == "no_ffi" then
  package.loaded.ffi = nil
  package.preload.ffi = function() error("there is no ffi", 0) end
end

local st = require "strided"
local core = require "strided.core"
local public = require "strided.sandbox.public"
local getmetatable, io, ipairs, pairs, pcall, setfenv, tonumber, type =
  debug.getmetatable, io, ipairs, pairs, pcall, rawget(_G, "setfenv"), tonumber,
  type

local reach = require "spec.strided.sandbox.reach"
local modules = reach.modules
reach.add_core(core)

-- -- The host ----------------------------------------------------------------

local is_public = {}
for _, row in ipairs(public.modules) do is_public[row[1]] = true end

local names = {}
for name in pairs(public.set(public.names)) do names[#names + 1] = name end
for _, full in ipairs((core.operators())) do
  names[#names + 1] = full:match "^aten::([^.]*)$"
end
table.sort(names)

local box = st.sandbox {memory = 2^26, threads = 1, namespaces = {"mine"}}
local load_module = require
local safe = {}
for _, name in ipairs {
  "coroutine", "error", "getfenv", "getmetatable", "ipairs", "math", "next",
  "pairs", "pcall", "rawget", "rawset", "select", "setmetatable", "string",
  "table", "tostring", "type", "unpack",
} do
  safe[name] = _G[name]
end
safe._G = safe
if setfenv then setfenv(0, safe) end

local attacks, reached = 0, {}

-- A module of the host: no name that a script gives loads it.
package.preload["host.secret"] = function()
  reached[#reached + 1] = "host.secret is loaded"
  return function() return {} end
end

local function look(value, place)
  reach.look(value, place, {[safe] = true}, 1, reached, safe.getfenv)
end

local function attack(place, fn, ...)
  attacks = attacks + 1
  local results = {box:run(fn, ...)}
  for i = 2, 6 do look(results[i], place) end
end

-- -- Attacks -----------------------------------------------------------------

attack("DataLoader of host.secret", function()
  return st.data.DataLoader({module = "host.secret"})
end)

for _, name in ipairs(modules) do
  attacks = attacks + 1
  local ok, module = box:run(load_module, name)
  if ok and not is_public[name] then reached[#reached + 1] = name end
  if ok then look(module, name) end
  attack("DataLoader of " .. name, function()
    return st.data.DataLoader({module = name, args = {"x"}})
  end)
  attack("Subset of " .. name, function()
    return st.data.Subset({module = name}, {1})
  end)
end

local function script() return 1 end
if setfenv then setfenv(script, safe) end

--- A value of each kind.
local function values()
  local t = st.ones(2)
  return {true, 1, -1, 2^53, 0.5, "x", "/etc/passwd", "strided.core", {}, {t},
          {module = "host.secret"}, {text = "a\n1\n"}, script, t, t:to "int64",
          st.Generator(1), coroutine.create(script), st, st.nn, st.nn.Linear,
          st.ops.aten.add, t.shape, st.none}
end

local given = values()

-- Calls that wait, write to the terminal, or take long.
local LEFT_OUT = {progress = true, timeit = true, scope = true, sandbox = true}

local every = tonumber(part) or 1
local count = 0

local function attack_function(place, fn)
  for i = 1, #given do
    count = count + 1
    if count % every == 0 then
      attack(place, fn, given[i])
      attack(place, fn, given[i], given[count % #given + 1])
    end
  end
end

for _, name in ipairs(names) do
  local ok, value = pcall(function() return st[name] end)
  local meta = ok and type(value) == "userdata" and getmetatable(value)
  if ok and (type(value) == "function" or meta and meta.__call) and
     not LEFT_OUT[name] then
    attack_function(name, value)
  end
end

for _, place in ipairs(public.tables) do
  local t = st
  for word in place:gmatch "[^.]+" do t = t[word] end
  attack("getmetatable " .. place, safe.getmetatable, t)
  attack("setmetatable " .. place, safe.setmetatable, t, {})
  attack("rawset " .. place, safe.rawset, t, "evil", script)
  attack("assign " .. place, function() t.evil = script end)
  if safe.rawget(t, "evil") ~= nil then reached[#reached + 1] = place end
  local inner = getmetatable(t).__pairs()
  for key, value in inner do
    if type(value) == "function" or
       type(value) == "table" and (getmetatable(value) or {}).__call then
      attack_function(place .. "." .. tostring(key), value)
    end
  end
end

io.write(("%d attacks\n"):format(attacks))
for _, what in ipairs(reached) do io.write("reached ", what, "\n") end
