--- Reads and writes CSV files beside NumPy (loadtxt, genfromtxt, savetxt) and
-- pandas (read_csv, to_csv). The engines take turns; every turn of a peer is a
-- new process, which measures the call alone.
--
--     ./dev bench csv [OPTION VALUE]...
--
--     --mb N           the size of a file, about (10)
--     --rounds N       the number of turns (5); genfromtxt has at most two
--
-- A rate is the size of the text over the time, of the fastest turn and of the
-- median. pandas is installed next to the other peers if it is not there, and
-- left out if it cannot be.

local ffi = require "ffi"
local peers = require "bench.peers"
local st = require "strided"

st.manual_seed(1)

local format, ipairs, print, tonumber = string.format, ipairs, print, tonumber
local floor, max, random = math.floor, math.max, math.random

local FEW = 2 -- turns of what takes seconds
local LINE = "%-30s %-11s %9s %9s  %s"

local csv = {}

-- -- Files -------------------------------------------------------------------

local function numbers(make, bytes)
  return function(mb)
    return make(floor(mb * 1e6 / (8 * bytes)))
  end
end

-- what is in a file, its columns, whether peers take it as a matrix
local FILES = {
  {"8 x float64, 17 digits", numbers(function(n)
    return st.rand(n, 8, {dtype = "float64"})
  end, 19.3), true},
  {"8 x float64, 4 decimals", numbers(function(n)
    return st.randn(n, 8, {dtype = "float64"}):mul(1e4):round():div(1e4)
  end, 7.3), true},
  {"8 x int64", numbers(function(n)
    return st.randint(-10 ^ 6, 10 ^ 9, {n, 8}, {dtype = "int64"})
  end, 10), true},
  {"id, 2 texts, 2 numbers", function(mb)
    local n = floor(mb * 1e6 / 38)
    local t = {names = {"id", "name", "price", "count", "city"}, {}, {}, {},
               {}, {}}
    local cities = {"Berlin", "Paris", "New York, NY"}
    for i = 1, n do
      t[1][i], t[2][i] = i, "item " .. i % 5000
      t[3][i], t[4][i] = random(10 ^ 5) / 100, i % 97
      t[5][i] = cities[i % 3 + 1]
    end
    return t
  end, false},
}

-- -- Turns -------------------------------------------------------------------

ffi.cdef [[
typedef struct { long seconds, nanoseconds; } bench_csv_time;
int clock_gettime(int, bench_csv_time *);
]]
local stamp = ffi.new "bench_csv_time"

local function now()
  ffi.C.clock_gettime(1, stamp)
  return tonumber(stamp.seconds) + tonumber(stamp.nanoseconds) * 1e-9
end

local function size_of(path)
  local file = assert(io.open(path))
  local size = file:seek "end"
  file:close()
  return size
end

local function sum_of(value)
  if st.is_tensor(value) then
    return value:sum({dtype = "float64"}):item()
  end
  local sum = 0
  for _, column in ipairs(value) do
    if st.is_tensor(column) then sum = sum + sum_of(column) end
  end
  return sum
end

--- The seconds of a turn of strided, and what is to agree.
local function own_turn(what, path, out)
  local value
  if what == "write" then value = st.load(path) end
  collectgarbage()
  collectgarbage()
  local start = now()
  if what == "read" then value = st.load(path)
  else st.write_csv(out, value) end
  local seconds = now() - start
  return seconds, what == "read" and sum_of(value) or size_of(out)
end

local function peer_turn(python, here, what, how, path, out)
  local text = peers.output(peers.line({python, here .. "/workers/csv_files.py",
                                        what, how, path, out}))
  local seconds, result = text:match "^(%S+) (%S+)$"
  return tonumber(seconds), tonumber(result)
end

-- -- Tables ------------------------------------------------------------------

local function compare(row, what, options, where)
  local path = where.folder .. "/csv.csv"
  local out = where.folder .. "/csv-out.csv"
  local engines = {"strided"}
  local function add(name)
    if where.python then engines[#engines + 1] = name end
  end
  if where.has_pandas then add "pandas" end
  if row[3] and what == "read" then
    add "loadtxt"
    add "genfromtxt"
  elseif row[3] and where.has_pandas then
    add "savetxt"
  end
  local turns, results = {}, {}
  for round = 1, options.rounds do
    for _, name in ipairs(engines) do
      local seconds, result
      turns[name] = turns[name] or {}
      if name == "strided" then
        seconds, result = own_turn(what, path, out)
      elseif name ~= "genfromtxt" or round <= FEW then
        seconds, result = peer_turn(where.python, where.here, what, name, path,
                                    out)
      end
      turns[name][#turns[name] + 1] = seconds
      results[name] = result or results[name]
    end
  end
  for _, name in ipairs(engines) do
    local list = turns[name]
    table.sort(list)
    local size = what == "read" and size_of(path) or results[name] or 0
    local note = ""
    if what == "read" and math.abs((results[name] or 0) - results.strided) >
       1e-9 * math.abs(results.strided) then
      note = "ANOTHER RESULT"
    end
    if list[1] then
      print(format(LINE, what .. " " .. row[1], name,
                   format("%.1f", size / list[1] / 1e6),
                   format("%.1f", size / list[floor(#list / 2) + 1] / 1e6),
                   format("of %d%s", #list, note)))
    end
  end
end

function csv.main(words)
  local options = {mb = 10, rounds = 5}
  for i = 1, #words, 2 do
    local key = words[i]:match "^%-%-(%l+)$"
    local value = tonumber(words[i + 1])
    if not options[key] or not value then
      error("not understood: " .. words[i], 0)
    end
    options[key] = value
  end
  options.rounds = max(1, options.rounds)
  local where = {folder = peers.build() .. "/bench",
                 here = arg[0]:match "^(.*)/[^/]*$"}
  peers.run(peers.line {"mkdir", "-p", where.folder})
  where.python = peers.python {pandas = true}
  where.has_pandas = where.python and
    peers.run(peers.line({where.python, "-c", "import pandas"},
                         ">/dev/null 2>&1"))
  print(format("%s; files of %g MB; MB/s", peers.processor(), options.mb))
  print(format(LINE, "", "", "fastest", "median", ""))
  for _, row in ipairs(FILES) do
    st.write_csv(where.folder .. "/csv.csv", row[2](options.mb))
    compare(row, "read", options, where)
    compare(row, "write", options, where)
  end
  os.remove(where.folder .. "/csv.csv")
  os.remove(where.folder .. "/csv-out.csv")
end

return csv
