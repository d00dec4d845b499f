--- Standardises a table of numbers that is larger than memory.
--
--     ./dev lua examples/outofcore.lua [OPTION]... FOLDER
--
-- The table is a .npy file, which is mapped into memory and read block by
-- block. A first pass finds the sum, mean, deviation, least and largest number
-- of each column; a second one writes the standardised table into a new file
-- and counts its numbers in bins.
--
-- Moments of blocks are merged as in Chan, Golub, LeVeque: "Algorithms for
-- computing the sample variance", The American Statistician 37 (1983): no
-- square of a mean is subtracted, so nothing cancels where means are large.
--
-- On several ranks, with the rock strided-mpi, each takes a part of the rows:
--
--     mpirun -np 4 luajit examples/outofcore.lua [OPTION]... FOLDER

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = HERE .. "/../?.lua;" .. package.path

local st = require "strided"
local command = require "examples.support.command"

local floor, min = math.floor, math.min

local COMMAND = {
  name = "outofcore", most = 1,
  options = {
    rows = {"size", 78125000}, columns = {"size", 64}, block = {"size", 65536},
    seed = {"count", 0},
  },
  usage = [[
usage: ./dev lua examples/outofcore.lua [OPTION]... FOLDER

Standardises the columns of FOLDER/table.npy, which it makes if there is none,
into FOLDER/standard.npy; FOLDER/columns.npz has what it found. The defaults are
a table of 20 GB, and as much again for the result; the memory that it takes
does not depend on the size.

  --rows N      of a table that it makes (78125000)
  --columns N   of a table that it makes (64)
  --block N     rows that are in memory at a time (65536)
  --seed N      of the numbers of a table that it makes (0)
  -h, --help    this
]],
}

local BINS, RANGE = 50, 5 -- of the histogram: from -RANGE to RANGE

-- -- Ranks -------------------------------------------------------------------

--- The rock strided-mpi if mpirun started this process, else nil.
local function find_mpi()
  if not (os.getenv "OMPI_COMM_WORLD_SIZE" or os.getenv "PMI_SIZE") then
    return nil
  end
  local ok, mpi = pcall(require, "strided.mpi")
  if ok then return mpi end
  command.fail(COMMAND, "ranks need the rock strided-mpi: " .. tostring(mpi))
end

local mpi = find_mpi()
local rank, ranks = 0, 1

--- Replaces t by the sum, or another reduction, over all ranks.
local function over_ranks(t, op)
  if ranks > 1 then mpi.all_reduce_(t, op or "sum") end
  return t
end

local function wait_for_all() if ranks > 1 then mpi.barrier() end end

local function say(...) if rank == 0 then command.say(...) end end

--- This rank's part of n rows: how many lie before it, and how many it has.
local function part_of(n)
  local first = floor(n * rank / ranks)
  return first, floor(n * (rank + 1) / ranks) - first
end

--- A pass over blocks of this rank's rows. The first rank shows how far it is.
local function pass(tensors, given, words)
  return st.chunks(tensors, given.block, {progress = rank == 0 and words})
end

-- -- The table ---------------------------------------------------------------

--- Columns of different means and deviations. The file gets its name when it
-- is complete.
local function make(path, given)
  say("making %s: %d x %d float32", path, given.rows, given.columns)
  local unfinished = path .. ".part"
  local g = st.Generator(given.seed)
  local t = st.create(unfinished, {given.rows, given.columns},
                      {dtype = "float32"})
  local scale = st.linspace(0.5, 4, given.columns)
  local shift = st.linspace(-100, 100, given.columns)
  for block in pass(t, given, "making the table") do
    block:normal_(0, 1, {generator = g}):mul_(scale):add_(shift)
  end
  t:free()
  assert(os.rename(unfinished, path))
end

--- The table, mapped: its elements are read when they are used.
local function open(path, given)
  local file = io.open(path, "rb")
  if file then file:close() end
  if not file and rank == 0 then make(path, given) end
  wait_for_all()
  local x = st.load(path, {mmap = true})
  if not st.is_tensor(x) or x.ndim ~= 2 or not x:is_floating_point() or
     x:numel() == 0 then
    command.fail(COMMAND, path .. " has no table of numbers")
  end
  return x
end

-- -- Moments -----------------------------------------------------------------

--- Adds the moments of a block: the number of rows, and the mean and the sum of
-- squared distances from it, of each column.
local function add_block(all, block)
  local wide = block:to "float64"
  local n = block.shape[1]
  local var, mean = st.var_mean(wide, {dim = 1, correction = 0})
  local away = mean - all.mean
  local total = all.n + n
  all.squares = all.squares + var * n + away * away * (all.n * n / total)
  all.mean = all.mean + away * (n / total)
  all.sum = all.sum + wide:sum {dim = 1}
  all.n = total
end

--- The moments of all rows from those of the ranks.
local function merge_ranks(all)
  local n = over_ranks(st.tensor({all.n}, {dtype = "float64"})):item()
  local mean = over_ranks(all.mean * (all.n / n))
  local away = all.mean - mean
  all.squares = over_ranks(all.squares + away * away * all.n)
  all.n, all.mean = n, mean
  over_ranks(all.sum)
  over_ranks(all.least, "min")
  over_ranks(all.largest, "max")
end

local function describe(x, given)
  local columns = x.shape[2]
  local double = {dtype = "float64"}
  local all = {
    n = 0, sum = st.zeros({columns}, double),
    mean = st.zeros({columns}, double), squares = st.zeros({columns}, double),
    least = st.full({columns}, math.huge, {dtype = x.dtype}),
    largest = st.full({columns}, -math.huge, {dtype = x.dtype}),
  }
  for block in pass(x, given, "describing") do
    st.scope(function()
      add_block(all, block)
      all.least = st.minimum(all.least, block:amin {dim = 1})
      all.largest = st.maximum(all.largest, block:amax {dim = 1})
      return all
    end)
  end
  merge_ranks(all)
  all.std = (all.squares / all.n):sqrt()
  return all
end

-- -- Standardisation ---------------------------------------------------------

--- Writes (x - mean) / std of each column into z; returns how many numbers lie
-- in each bin. A column of equal numbers becomes zeros.
local function standardise(x, z, all, given)
  local mean = all.mean:to(x.dtype)
  local std = all.std:masked_fill(all.std:eq(0), 1):to(x.dtype)
  local counts = st.zeros({BINS}, {dtype = "float64"})
  for from, to in pass({x, z}, given, "standardising") do
    st.sub(from, mean, {out = to})
    to:div_(std)
    counts:add_(st.histc(to, BINS, -RANGE, RANGE))
  end
  return over_ranks(counts)
end

--- The result as a file that all ranks write to.
local function create(path, x)
  if rank == 0 then st.create(path, x.shape, {dtype = x.dtype}):free() end
  wait_for_all()
  return st.load(path, {mmap = "r+"})
end

-- -- Reports -----------------------------------------------------------------

--- The largest resident memory of a rank in megabytes, mapped pages among them;
-- nil if the system does not tell.
local function peak()
  local text = command.read "/proc/self/status"
  local kilobytes = text and tonumber(text:match "VmHWM:%s*(%d+)")
  local most = st.tensor({kilobytes or 0}, {dtype = "float64"})
  return kilobytes and over_ranks(most, "max"):item() / 1000
end

local function say_speed(what, bytes, seconds)
  say("%-14s %7.2f GB in %6.1f s  %6.2f GB/s", what, bytes / 1e9, seconds,
      bytes / 1e9 / math.max(seconds, 1e-3))
end

local function say_columns(all)
  say("\n%7s %12s %12s %12s %12s %12s", "column", "sum", "mean", "deviation",
      "least", "largest")
  local n = all.mean.shape[1]
  for _, c in ipairs(n > 4 and {1, 2, n - 1, n} or {1, 2, 3, 4}) do
    if c <= n then
      say("%7d %12.6g %12.6g %12.6g %12.6g %12.6g", c, all.sum[c], all.mean[c],
          all.std[c], all.least[c], all.largest[c])
    end
  end
end

local function say_histogram(counts)
  local most = counts:amax():item()
  say "\nThe standardised numbers:"
  for k = 1, BINS, 5 do
    local n = counts:narrow(1, k, min(5, BINS - k + 1)):sum():item()
    say("%5.1f to %4.1f %14.0f  %s", (k - 1) * 2 * RANGE / BINS - RANGE,
        (k + 4) * 2 * RANGE / BINS - RANGE, n,
        ("#"):rep(floor(n / most * 8 + 0.5)))
  end
end

-- -- Main --------------------------------------------------------------------

local function main(given)
  if mpi then rank, ranks = mpi.rank(), mpi.size() end
  local folder = given[1]
  local whole = open(folder .. "/table.npy", given)
  local before, n = part_of(whole.shape[1])
  local x = whole:narrow(1, before + 1, n)
  local bytes = whole:numel() * whole:element_size()
  say("%d x %d %s, %d rank%s", whole.shape[1], whole.shape[2], whole.dtype,
      ranks, ranks > 1 and "s" or "")
  local seconds = command.stopwatch()
  local all = describe(x, given)
  wait_for_all()
  local first = seconds()
  local z = create(folder .. "/standard.npy", whole)
  local counts = standardise(x, z:narrow(1, before + 1, n), all, given)
  wait_for_all()
  local both = seconds()
  if rank == 0 then
    command.save(COMMAND, folder .. "/columns.npz", {
      sum = all.sum, mean = all.mean, std = all.std, least = all.least,
      largest = all.largest, histogram = counts})
  end
  say_columns(all)
  say_histogram(counts)
  say ""
  say_speed("described", bytes, first)
  say_speed("standardised", 2 * bytes, both - first)
  local most = peak()
  if most then say("resident peak  %7.1f MB", most) end
end

local given = command.parse(COMMAND, arg)
if not given[1] then command.refuse(COMMAND, "a folder for the files?") end
if mpi then
  mpi.run(main, given)
else
  local ok, why = pcall(main, given)
  if not ok then command.fail(COMMAND, tostring(why)) end
end
