--- A host of sandbox_spec: runs the attempts in a sandbox, and prints one line
-- for each. Arguments: "all" or "timed", and "no_ffi" for a host without ffi.

local collectgarbage, io, ipairs, tostring, type =
  collectgarbage, io, ipairs, tostring, type
local what, ffi = ...

if ffi == "no_ffi" then
  package.loaded.ffi = nil
  package.preload.ffi = function() error("there is no ffi", 0) end
end

local st = require "strided"
local attempts = require "spec.strided.sandbox.attempts"
require "strided.session.show"

local core = require "strided.core"
local lib = st.library "mine"
lib:def("theirs(Tensor x) -> Tensor", function(x) return x + 0 end)

local tensor = st.ones(3)
local kept = {
  load = st.load, core = {}, data_ptr = tensor.data_ptr, tensor = tensor,
  storage = (tensor:storage()), token = st.share(st.ones(2), math.huge),
  set_limit = st.memory.set_limit, package = package,
}
for key, value in pairs(core) do kept.core[key] = value end

local box = st.sandbox(what == "timed" and {seconds = 0.25, threads = 1} or
  {memory = 2^24, threads = 1, namespaces = {"other", "mine"}})

-- What the host leaves to scripts.
local load_module = require
local safe = {require = function(name)
  if not name:find "^strided" then error("no module " .. name) end
  return load_module(name)
end}
for _, name in ipairs {
  "coroutine", "error", "getfenv", "getmetatable", "ipairs", "load",
  "loadstring", "math", "next", "pairs", "pcall", "rawget", "rawset", "select",
  "setmetatable", "string", "table", "tostring", "type", "unpack", "xpcall",
} do
  safe[name] = _G[name]
end
safe._G = safe

local setfenv = rawget(_G, "setfenv")
if setfenv then
  for _, list in ipairs {attempts, attempts.timed} do
    for _, row in ipairs(list) do setfenv(row[3], safe) end
  end
  setfenv(safe.require, safe)
  setfenv(attempts.host_globals, safe)
  setfenv(0, safe)
  setfenv(1, safe)
end

for _, row in ipairs(what == "timed" and attempts.timed or attempts) do
  local ok, value = box:run(row[3], st, kept)
  local text = not ok and tostring(value)
    or (value == nil or value == false) and "nothing" or "got " .. type(value)
  io.write(row[1], "\t", (text:gsub("\n.*", "")), "\n")
  collectgarbage()
  collectgarbage()
end

--- The host is as it was.
io.write("used\t", tostring(box:used()), "\n")
io.write("operators\t", tostring(lib and st.ops.mine.theirs(tensor):sum()
                                 :item()), "\n")
io.write("free\t", tostring((st.ones(2, 2) + 1):sum():item()), "\n")
local again, answer = box:run(function(x) return x * 2 end, tensor)
io.write("again\t", tostring(again and answer:sum():item()), "\n")
