--- Measures memory and time of loops that create temporaries. The garbage
-- collector does not count the bytes of tensors; the binding paces it.
--
--     ./dev bench pacing
--
-- Each workload is a separate process that computes `a + b` in a loop and drops
-- the results. Its peak is the memory that became resident during the loop,
-- including the allocator's cache; `goal` is the least memory that any pacing
-- scheme was seen to need. The time of a call is compared with that of a loop
-- that frees each result explicitly.

local peers = require "bench.peers"

local clock, format, io = os.clock, string.format, io

local MB = 1024 * 1024

-- bytes of a result, how many results are kept, MB of Lua objects, goal in MB
local WORKLOADS = {
  {name = "1 MB", bytes = MB, goal = 64},
  {name = "16 MB", bytes = 16 * MB, goal = 64},
  {name = "1 MB, 200 kept", bytes = MB, kept = 200, goal = 402},
  {name = "1 MB, heap of 30 MB", bytes = MB, heap = 30, goal = 82},
  {name = "64 KB, heap of 30 MB", bytes = MB / 16, heap = 30, goal = 83},
  {name = "4 MB, 100,000 objects", bytes = 4 * MB, objects = 100000},
  {name = "400 KB", bytes = 400000},
}

local SECONDS = 2 -- of a workload

local function resident(field)
  local file = assert(io.open "/proc/self/status")
  local kb = file:read "*a":match(field .. ":%s*(%d+)")
  file:close()
  return tonumber(kb) / 1024
end

-- -- A workload --------------------------------------------------------------

local function make_heap(row)
  local objects = {}
  while #objects < (row.objects or 0) or
        row.heap and collectgarbage "count" < row.heap * 1024 do
    for _ = 1, 1000 do objects[#objects + 1] = {#objects} end
  end
  collectgarbage()
  return objects
end

--- Microseconds per call of body, for some seconds.
local function measure(body)
  for _ = 1, 20 do body() end
  local calls, start = 0, clock()
  while clock() - start < SECONDS do
    for _ = 1, 20 do body() end
    calls = calls + 20
  end
  return (clock() - start) / calls * 1e6
end

local function work(row)
  local st = require "strided"
  st.manual_seed(1)
  st.set_num_threads(1) -- clock() counts the time of all threads
  local n = row.bytes / 4
  local a, b = st.rand(n), st.rand(n)
  local objects, kept, at = make_heap(row), {}, 0
  local before = resident "VmRSS"
  local paced = measure(function()
    local c = a + b
    if row.kept then
      at = at % row.kept + 1
      kept[at] = c
    end
  end)
  local peak = resident "VmHWM" - before
  local n_kept = #kept
  for i = 1, n_kept do kept[i] = nil end
  collectgarbage()
  local freed = measure(function() (a + b):free() end)
  io.write(format("%.1f %.1f %.1f %d %d\n", peak, paced, freed, n_kept,
                  #objects))
end

-- -- The table ---------------------------------------------------------------

local number = tonumber((...))
if number then return work(WORKLOADS[number]) end

print(format("%-24s %9s %9s %7s %10s %14s", "a + b, one thread", "peak MB",
             "goal MB", "ratio", "us a call", "freed by hand"))
for i, row in ipairs(WORKLOADS) do
  local text = peers.text(format("luajit '%s' %d", arg[0], i))
  local peak, paced, freed = text:match "(%S+) (%S+) (%S+)"
  local goal = row.goal
  print(format("%-24s %9s %9s %7s %10s %14s", row.name, peak, goal or "-",
               goal and format("%.2f", peak / goal) or "-", paced, freed))
end
