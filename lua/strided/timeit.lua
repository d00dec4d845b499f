--- st.timeit: how long a call takes.
--
-- @module strided.timeit

local callable = require "strided.argument.callable"
local core = require "strided.core"

local clock = core.clock
local format, max, min, setmetatable = string.format, math.max, math.min,
  setmetatable

local RUNS = 5
local SHORTEST = 0.02 -- seconds of a run

--- Seconds as text, with three digits: "12.3 us".
local function seconds_text(s)
  if s < 9.995e-7 then return format("%.3g ns", s * 1e9) end
  if s < 9.995e-4 then return format("%.3g us", s * 1e6) end
  if s < 0.9995 then return format("%.3g ms", s * 1e3) end
  return format("%.3g s", s)
end

local Timing = {}
Timing.__index = Timing

function Timing:__tostring()
  return format("%s a call (best of %d x %d, mean %s)",
                seconds_text(self.best), self.runs, self.calls,
                seconds_text(self.mean))
end

local function run(n, fn, ...)
  local start = clock()
  for _ = 1, n do fn(...) end
  return clock() - start
end

--- Measures how long `fn(...)` takes: the best and the mean of 5 runs, each of
-- as many calls as fill 20 ms, or of one call. Prints as "12.3 us a call (best
-- of 5 x 2048, mean 12.5 us)".
-- @function timeit
-- @tparam function fn
-- @param ... its arguments
-- @treturn table `best` and `mean`, in seconds; `calls` of a run; `runs`
local function timeit(fn, ...)
  callable("timeit", fn)
  local calls, took = 1, run(1, fn, ...)
  while took < SHORTEST and calls < 2 ^ 30 do
    calls = calls * max(2, min(16, SHORTEST / max(took, 1e-9) / 2))
    calls = calls - calls % 1
    took = run(calls, fn, ...)
  end
  local best, total = took, took
  for _ = 2, RUNS do
    took = run(calls, fn, ...)
    best, total = min(best, took), total + took
  end
  return setmetatable({best = best / calls, mean = total / calls / RUNS,
                       calls = calls, runs = RUNS}, Timing)
end

return {timeit = timeit, seconds_text = seconds_text}
