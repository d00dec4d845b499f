--- The worker of strided: creates the inputs of a case and measures it, as its
-- commands say. peers.py is the same for PyTorch and NumPy.
--
--     strided.lua strided|eager|kernels
--                                    what cases/fused.lua has: fused, as it is,
--                                    or fused without machine code
--
-- A command is a line of words between tabs, and so is its answer, which
-- begins with `ok` or `error`:
--
--     threads N                      sets the number of threads
--     case INPUTS EXPRESSION BASE RECORDED FILE
--                                    creates the inputs, evaluates once;
--                                    answers with a digest of the result.
--                                    Unless RECORDED is `true`, PyTorch is in
--                                    inference mode. The values are written to
--                                    FILE as doubles, unless it is empty
--     time MS PASSES                 measures for MS ms, in samples of at least
--                                    PASSES passes; answers with the fastest
--                                    and the median in ns, and the number of
--                                    samples

local st = require "strided"
local ffi = require "ffi"
local inputs = require "bench.inputs"
local expressions = require "bench.cases.fused"

local NETWORKS = "bench.cases.networks"
-- Loaded by the cases that use them: what they add to Lua's heap would let the
-- garbage of the other cases fill the caches.
local networks = setmetatable({}, {__index = function(_, name)
  return require(NETWORKS)[name]
end})

local ENGINE = ...
if ENGINE == "kernels" then st.set_jit_enabled(false) end
local SAMPLE_NS, LONG_NS = 20000, 5e7
local MIN_SAMPLES, MAX_SAMPLES = 1, 1000
local DIGESTED = 1000000
-- Idle threads spin before they sleep: OpenMP's some ms, OpenBLAS's 0.1 s.
local REST_US, RESTS = 10000, 50
local WARM = 0.15  -- part of the time that is for warming up

-- -- The clock ---------------------------------------------------------------

ffi.cdef [[
  struct bench_time { long s, ns; };
  int clock_gettime(int clock, struct bench_time *now);
  int usleep(unsigned us);
]]

local MONOTONIC = 1
local now = ffi.new "struct bench_time"

local function clock()
  ffi.C.clock_gettime(MONOTONIC, now)
  return tonumber(now.s) * 1e9 + tonumber(now.ns)
end

-- -- Functions that cases can call -------------------------------------------

local SHOW_RESIDENT = [[
 print(io.open("/proc/self/status"):read("*a"):match "VmHWM:%s*(%d+)")]]

-- What training takes: the peak of memory is reset first.
local SHOW_GROWTH = [[
 package.path = "./?.lua;" .. package.path
 local networks = require "bench.cases.networks"
 local file = io.open("/proc/self/clear_refs", "w")
 file:write "5"
 file:close()
 local function kb(name)
   return io.open("/proc/self/status"):read("*a"):match(name .. ":%%s*(%%d+)")
 end
 local before = kb "VmRSS"
 networks.train("%s", 8)
 print(kb "VmHWM" - before)]]

--- A command that runs the code in a separate process.
local function command_of(code)
  return "luajit -e '" .. code:gsub("'", "'\\''") .. "'"
end

local function output_of(code)
  local pipe = io.popen(command_of(code))
  local text = pipe:read "*a"
  pipe:close()
  return tonumber(text)
end

local VALUES = {
  st = st, F = st, networks = networks,
  philox = st.Generator {algorithm = "philox"},
  fused = ENGINE == "eager" and expressions.eager or expressions.fused,
  start = function(code) return os.execute(command_of(code)) end,
  --- The peak of its resident memory, in KB.
  resident = function(code)
    return output_of(code .. SHOW_RESIDENT)
  end,
  --- By how much the resident memory of a process grows while it trains a
  -- network, at most, in KB.
  growth = function(name)
    return output_of(SHOW_GROWTH:format(name))
  end,
}

-- -- Cases -------------------------------------------------------------------

--- A function that evaluates the expression n times, and one that returns
-- its value.
local function compile(expression, values)
  local names, list = {}, {}
  for _, scope in ipairs {VALUES, values} do
    for name, value in pairs(scope) do
      names[#names + 1], list[#list + 1] = name, value
    end
  end
  return assert(loadstring(([[
    local %s = ...
    return function(n) for _ = 1, n do local _ = %s end end,
           function() return (%s) end
  ]]):format(table.concat(names, ", "), expression, expression)))(unpack(list))
end

--- Writes the doubles of a tensor to a file.
local function write(t, name)
  local file = assert(io.open(name, "wb"))
  file:write(ffi.string(ffi.cast("char *", t:data_ptr()), t:numel() * 8))
  file:close()
end

--- Shape, non-finite elements, and sums of the rest: of values weighted by
-- position, and of their magnitudes. Of a list of tensors, those of the first.
-- A big tensor is sampled. The values are also written to a file if it has a
-- name.
local function digest(value, base, name)
  if type(value) == "table" then value = value[1] end
  if type(value) == "number" then
    value = st.tensor(value, {dtype = "float64"})
  end
  value = value:detach()
  if value:is_complex() then value = st.view_as_real(value:resolve_conj()) end
  local n, shape = value:numel(), {}
  for d = 1, value:dim() do shape[d] = ("%d"):format(value:size(d)) end
  local t = value:reshape(-1):slice(1, 1, n, 1 + math.floor(n / DIGESTED))
                 :to("float64", {copy = true,
                                 memory_format = "contiguous_format"})
  if name ~= "" then write(t - base, name) end
  local odd = t:isfinite():logical_not()
  t:masked_fill_(odd, 0) -- a NaN must not come through the FFI
  local data, sum, size = ffi.cast("double *", t:data_ptr()), 0, 0
  for i = 0, t:numel() - 1 do
    local x, weight = data[i] - base, i % 251 + 1
    sum, size = sum + x * weight, size + math.abs(x) * weight
  end
  return ("%s\t%d\t%.17g\t%.17g"):format(table.concat(shape, "x"),
                                         odd:sum():item(), sum, size)
end

-- -- Commands ----------------------------------------------------------------

local commands = {}
local loop, per_sample

function commands.threads(n)
  st.set_num_threads(tonumber(n))
  return ""
end

function commands.case(text, expression, base, _, name)
  loop, per_sample = nil, nil
  if package.loaded[NETWORKS] then networks.reset() end
  collectgarbage()
  collectgarbage()
  local once
  loop, once = compile(expression, inputs.make(inputs.parse(text)))
  return digest(once(), tonumber(base), name)
end

local function sample(n)
  local start = clock()
  loop(n)
  return (clock() - start) / n
end

--- Passes in a sample: at least so many unless they take long, and enough
-- to make the clock worth reading.
local function passes(least)
  local n = math.max(1, math.min(least, math.floor(LONG_NS / sample(1))))
  while sample(n) * n < SAMPLE_NS do n = n * 2 end
  return n
end

function commands.time(ms, least)
  local start, ns = clock(), {}
  local finish = start + tonumber(ms) * 1e6
  local warm = start + tonumber(ms) * 1e6 * WARM
  per_sample = per_sample or passes(tonumber(least))
  repeat loop(1) until clock() >= warm
  repeat ns[#ns + 1] = sample(per_sample)
  until #ns >= MAX_SAMPLES or #ns >= MIN_SAMPLES and clock() >= finish
  table.sort(ns)
  return ("%.2f\t%.2f\t%d"):format(ns[1], ns[math.ceil(#ns / 2)], #ns)
end

--- Waits until the threads of this process sleep, at most RESTS times.
local function rest()
  for _ = 1, RESTS do
    local before = os.clock()
    ffi.C.usleep(REST_US)
    if os.clock() - before < REST_US / 1e7 then return end
  end
end

local function answer(text)
  local words = {}
  for word in (text .. "\t"):gmatch "(.-)\t" do words[#words + 1] = word end
  local ok, result = pcall(commands[words[1]], unpack(words, 2))
  rest()
  io.write(ok and "ok\t" or "error\t", (tostring(result):gsub("\n", " ")), "\n")
  io.flush()
end

local config = st.config()
io.write(("ok\tstrided %s, %s kernels, from %s\n")
         :format(config.version, config.isa, jit.version))
io.flush()
for text in io.lines() do answer(text) end
