--- all_reduce, broadcast and all_gather beside the same calls of MPI in C, in
-- one run.
--
--     cmake -S . -B build -DSTRIDED_MPI_BENCH=ON && cmake --build build
--     LUA_CPATH="build/?.so;;" mpirun -np 2 luajit bench/collectives.lua
--
-- Options: the number of rounds (25), and the milliseconds of a turn (4).
--
-- Both use the same memory: all_reduce in place, against MPI_IN_PLACE;
-- broadcast in place; all_gather into an existing tensor (out=). A new tensor
-- for each result would cost the page faults of its memory, in C as well. In a
-- round, C and strided take turns of many calls. The fastest turn is the least
-- disturbed one; the median says what to expect.
--
-- all_gather sends the given number of bytes from each rank.

local st = require "strided"
local mpi = require "strided.mpi"
local raw = require "raw"

local floor, format, sort = math.floor, string.format, table.sort

local ROUNDS = tonumber(arg[1]) or 25
local SECONDS = (tonumber(arg[2]) or 4) / 1000
local SIZES = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536} -- KB

--- Rows: name, fn(x, out, count), which returns the seconds of the calls.
local CASES = {
  {"all_reduce_", function(x, _, count)
    local start = mpi.time()
    for _ = 1, count do mpi.all_reduce_(x) end
    return mpi.time() - start
  end, raw.all_reduce},
  {"broadcast_", function(x, _, count)
    local start = mpi.time()
    for _ = 1, count do mpi.broadcast_(x) end
    return mpi.time() - start
  end, raw.broadcast},
  {"all_gather", function(x, out, count)
    local start, options = mpi.time(), {out = out}
    for _ = 1, count do mpi.all_gather(x, options) end
    return mpi.time() - start
  end, raw.all_gather},
}

--- The number of calls of a turn, the same on every rank.
local function calls_for(fn)
  fn(2)
  local count = floor(SECONDS / (fn(5) / 5))
  count = count < 2 and 2 or count > 5000 and 5000 or count
  return mpi.broadcast(st.tensor(count)):item()
end

local function summary(times)
  sort(times)
  return times[1] * 1e6, times[floor(#times / 2) + 1] * 1e6
end

local function measure(case, kb)
  local n = kb * 256
  local x = st.zeros {n}
  local out = case[1] == "all_gather" and st.zeros {mpi.size(), n} or x
  local from, to = x:data_ptr(), out:data_ptr()
  local function ours(count) return case[2](x, out, count) end
  local function theirs(count) return case[3](from, n, count, to) end
  local count = calls_for(theirs)
  local mine, c = {}, {}
  for round = 1, ROUNDS do
    for turn = 1, 2 do
      mpi.barrier()
      if (turn + round) % 2 == 0 then
        c[round] = theirs(count) / count
      else
        mine[round] = ours(count) / count
      end
    end
  end
  local c_least, c_median = summary(c)
  local least, median = summary(mine)
  return c_least, least, c_median, median
end

mpi.run(function()
  local is_first = mpi.rank() == 0
  if is_first then
    print(format("%s, %d ranks; microseconds per call", mpi.version():match
                 "^[^,]*", mpi.size()))
    print(format("%-12s %8s | %9s %9s %6s %7s | %9s %9s %6s", "", "KB",
                 "C", "strided", "ratio", "more", "C median", "strided",
                 "ratio"))
  end
  for _, case in ipairs(CASES) do
    for _, kb in ipairs(SIZES) do
      local c, s, c_median, s_median = measure(case, kb)
      if is_first then
        print(format("%-12s %8d | %9.2f %9.2f %6.2f %7.2f | %9.2f %9.2f %6.2f",
                     case[1], kb, c, s, s / c, s - c, c_median, s_median,
                     s_median / c_median))
        io.flush()
      end
    end
  end
end)
