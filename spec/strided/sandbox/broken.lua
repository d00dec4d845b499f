--- A host of sandbox_broken_spec: closing the sandbox fails at some step; then
-- a script tries to reach what it must not. Prints "closed" if closing did not
-- fail, "early" if it failed before anything was taken, or how many attacks
-- there were; and what they reached.
--
-- Arguments: the way it fails (allow; hook: an error at the k-th instruction;
-- memory: the k-th allocation; memories: that and all later ones; stack: with
-- k levels left), k, where it is closed (sandbox or
-- environment), and the folder of the module `failing`.

local way, k, place, folder = ...
k = tonumber(k)

local attacks, found = 0, {}
package.cpath = folder .. "/?.so;" .. package.cpath
local failing = way:find "^memor" and require "failing"
-- LuaJIT's own library: where memory ends while it is opened, lua_close reads a
-- table that is not there yet (found with LuaJIT 2.1.0-beta3).
if failing then pcall(require, "ffi") end
local reach = require "spec.strided.sandbox.reach"
local debug, io, ipairs, next, pairs, pcall, require, type = debug, io, ipairs,
  next, pairs, pcall, require, type

if rawget(_G, "jit") then jit.off() end -- compiled code calls no hooks

local function raise()
  debug.sethook()
  error("injected", 0)
end

--- Calls fn() with `left` levels of Lua's stack left.
local function call_deep(fn, left)
  local most = 0
  local function count(depth)
    most = depth
    return (count(depth + 1)) -- no tail call
  end
  pcall(count, 1)
  pcall(count, 1) -- after the first overflow Lua 5.1 has more levels
  local function descend(depth)
    if depth <= 0 then return pcall(fn) end
    local ok, why = descend(depth - 1)
    return ok, why
  end
  local ran, ok, why = pcall(descend, most - left)
  return ran and ok, ran and why or ok
end

--- pcall(fn), in which a step fails.
local function fail(fn)
  if way == "allow" then
    require "strided.sandbox".allow("strided.nothing", "is not there")
    return pcall(fn)
  elseif way == "stack" then
    return call_deep(fn, k)
  elseif failing then
    failing.at(k, way == "memories")
    local ok, why = pcall(fn)
    failing.at(0)
    return ok, why
  end
  return pcall(function()
    debug.sethook(raise, "", k)
    local result = fn()
    debug.sethook()
    return result
  end)
end

-- -- What a script has -------------------------------------------------------

local kept, core = {}, nil

--- Functions that a script may have kept from the time before.
local function keep_functions(st)
  local public = require "strided.sandbox.public"
  for name in pairs(public.set(public.names)) do
    local value = st[name]
    if type(value) == "function" then kept[#kept + 1] = {name, value} end
  end
  for _, name in ipairs(public.tables) do
    local t = st
    for word in name:gmatch "[^.]+" do t = t[word] end
    for key, value in next, t do
      if type(value) == "function" then
        kept[#kept + 1] = {name .. "." .. tostring(key), value}
      end
    end
  end
  table.sort(kept, function(a, b) return a[1] < b[1] end)
end

local st, values, ok, why
if place == "sandbox" then
  st = require "strided"
  core = require "strided.core"
  reach.add_core(core)
  keep_functions(st)
  local t = st.ones(2)
  values = {1, "x", "/etc/passwd", {}, {t}, {module = "os"}, t, print,
            {text = "a\n1\n"}}
  local sandbox = st.sandbox
  ok, why = fail(sandbox)
else
  ok, why = fail(function() return require "strided" end)
end

-- -- Attacks -----------------------------------------------------------------

local LEFT_OUT = {progress = true, timeit = true, sandbox = true}

local function attack(name, fn, ...)
  attacks = attacks + 1
  local results = {pcall(fn, ...)}
  for i = 2, 6 do reach.look(results[i], name, {}, 1, found) end
  return results[1]
end

local function must_fail(name, fn, ...)
  if attack(name, fn, ...) then found[#found + 1] = name .. " succeeds" end
end

if ok then
  io.write "closed\n"
  return
end

-- It may end before anything is taken: then a host may try again.
local is_free = st and pcall(function() core.check_taken("files", "x") end)
if place == "sandbox" and is_free then
  io.write("early\n")
  return
end

-- After a failure before anything is taken, the environment closes the library
-- when it is required again.
for _, name in ipairs(reach.modules) do
  if place == "sandbox" then
    must_fail(name, require, name)
  else
    attack(name, require, name)
    local ok_again, module = pcall(require, name)
    if ok_again and type(module) == "table" and reach.is_internal(name) and
       not rawget(module, "closed") then
      found[#found + 1] = name .. " is given"
    end
  end
end
if st then
  for _, name in ipairs {"ones", "nn", "data", "load", "ops", "x"} do
    must_fail("st." .. name, function() return st[name] end)
  end
  must_fail("t:sum()", function() return values[7]:sum() end)
  must_fail("t + t", function() return values[7] + values[7] end)
  for _, row in ipairs(kept) do
    if not LEFT_OUT[row[1]] then
      for i = 1, #values do attack(row[1], row[2], values[i]) end
    end
  end
end
io.write(("%d attacks, after %s\n"):format(attacks, tostring(why)
                                           :gsub("\n.*", "")))
for _, what in ipairs(found) do io.write("reached ", what, "\n") end
