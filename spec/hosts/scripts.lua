--- Runs scripts of strangers in a sandbox.

local st = require "strided"

local scripts = {}

local box

--- Turns the sandbox of this Lua state on.
function scripts.open()
  box = st.sandbox {memory = 2^26, seconds = 0.5, threads = 1}
end

--- What a script sees.
local function environment()
  return {st = st, pcall = pcall, tostring = tostring, select = select,
          pairs = pairs, ipairs = ipairs, type = type,
          math = {floor = math.floor, sqrt = math.sqrt}}
end

local function compile(text)
  if text:byte() == 27 then return nil, "a script is a text" end
  if not setfenv then return load(text, "=script", "t", environment()) end
  local fn, why = loadstring(text, "=script")
  return fn and setfenv(fn, environment()), why
end

--- Runs a script: true and its result as text, or false and the error.
function scripts.run(text)
  local fn, why = compile(text)
  if not fn then return false, why end
  local ok, result = box:run(fn)
  return ok, tostring(result)
end

--- Scripts, and a part of what comes of them, for specs.
scripts.examples = {
  {"return st.arange(10):sum() + 0.5", "tensor(45.5000)"},
  {"return st.load '/etc/passwd'",
   "load: not available in a sandbox, which takes files away"},
  {"return st.save('/tmp/strided', st.ones(1))",
   "save: not available in a sandbox, which takes files away"},
  {"return st.ones(1):data_ptr()",
   "data_ptr: not available in a sandbox, which takes addresses away"},
  {"st.memory.set_limit(nil)",
   "memory.set_limit: not available in a sandbox, which takes settings away"},
  {"return st.library('aten', 'IMPL')",
   "library: not available in a sandbox, which takes registration away"},
  {"st.ones = 1", "st is read-only in a sandbox: cannot set 'ones'"},
  {"return st.ones(2^26)", "out of memory: "},
  {"local t = {} for i = 1, 1e6 do t[i] = st.ones(2^16) end",
   "the limit here is 67108864"},
  {"while true do end", "the time limit of 0.5 s is over"},
  {"while true do pcall(st.ones, 1) end", "the time limit of 0.5 s is over"},
  {"return os", "nil"},
}

return scripts
