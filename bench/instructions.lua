--- Counts the instructions of calls from Lua under callgrind, which other load
-- on the machine does not change.
--
--     ./dev bench instructions
--
-- A process makes the calls of all cases, with one thread and the kernels of
-- base, which ./dev makes with the same options on every machine, and callgrind
-- writes the counts of each case when it sees a call of MARK. The loop around a
-- call counts, too. `engine` is what runs below the public header (dispatch,
-- iterator, allocation, kernel), `userdata` a new userdata with the garbage
-- collection that it causes, `binding` the rest: Lua itself and the conversion
-- of arguments. `goal` is the most that a call should take, `known` what it
-- took when the row was last changed: a count that is a tenth higher is an
-- error, one that is a tenth lower needs a new row.

local peers = require "bench.peers"

local format, max = string.format, math.max

local CALLS, WARM = 4000, 1000
local MARK = "st_num_threads"

local CASES = { -- what, the call, goal, known
  {"a + b", "a + b", 2200, 2850}, {"a:add_(b)", "a:add_(b)", 1500, 1520},
  {"add, out=", "st.add(a, b, out)", 1800, 2210},
  {"a * 2", "a * 2", 2400, 2900}, {"m[5]", "m[5]", 1500, 2570},
  {"m:t()", "m:t()", 1300, 2380}, {"a:item()", "a:item()", 400, 790},
  {"a:sum()", "a:sum()", 2000, 4700}, {"empty(10)", "st.empty(10)", 1300, 2310},
  {"m[{5, 2}]", "m[{5, 2}]", 5000, 5050},
  {"a:fill_(1)", "a:fill_(1)", 1500, 1660}
}

-- -- The calls ---------------------------------------------------------------

local function work()
  local st = require "strided"
  local r = st.rand(1)
  local values = {st, st.rand(1), st.rand(1), st.rand(10, 10), {out = r}}
  for _, case in ipairs(CASES) do
    local body = assert(loadstring("local st, a, b, m, out, n = ... "
      .. "for _ = 1, n do local _ = " .. case[2] .. " end"))
    values[6] = WARM
    body(unpack(values))
    collectgarbage()
    values[6] = CALLS
    st.get_num_threads()
    body(unpack(values))
    st.get_num_threads()
  end
end

-- -- Counting ----------------------------------------------------------------

--- Instructions of a file of callgrind, and inclusive ones by function.
local function read(file)
  local text = peers.text(format("callgrind_annotate --inclusive=yes "
                             .. "--threshold=100 %s 2>/dev/null", file))
  local total = text:match "([%d,]+) %(100%.0%%%)  PROGRAM TOTALS"
  if not total then
    error("bench instructions needs valgrind, which ./dev deps installs", 0)
  end
  local by_name = {}
  for cost, name in text:gmatch "\n *([%d,]+) %([^)]*%)  [^\n]-([%w_]+) %[" do
    by_name[name] = max(by_name[name] or 0,
                        tonumber((cost:gsub(",", ""))))
  end
  return tonumber((total:gsub(",", ""))), by_name
end

--- The files of all cases: the counts before a mark are in file 2k - 1 and,
-- between the two marks of case k, in file 2k.
local function count()
  local file = os.tmpname()
  peers.text(format("STRIDED_ISA=base STRIDED_NUM_THREADS=1 valgrind "
                    .. "--tool=callgrind --dump-before=%s "
                    .. "--callgrind-out-file=%s luajit '%s' work 2>/dev/null",
                    MARK, file, arg[0]))
  local counts = {}
  for k = 1, #CASES do
    local total, by_name = read(format("%s.%d", file, 2 * k))
    counts[k] = {total = total / CALLS, by_name = by_name}
  end
  peers.run(format("rm -f %s %s.*", file, file))
  return counts
end

-- -- The table ---------------------------------------------------------------

local ENGINE = {"st_call_converted", "st_call_declared", "st_shortcut_call"}

if ... == "work" then return work() end

print(format("%-12s %8s %8s %8s %9s %7s %6s %7s", "instructions", "engine",
             "userdata", "binding", "together", "goal", "ratio", "known"))
local faults = 0
for k, counted in ipairs(count()) do
  local what, goal, known = CASES[k][1], CASES[k][3], CASES[k][4]
  local function share(name) return (counted.by_name[name] or 0) / CALLS end
  local engine = 0
  for _, name in ipairs(ENGINE) do engine = engine + share(name) end
  local userdata, together = share "st__new_tensor_ud", counted.total
  local change = together / known
  local fault = change > 1.1 and " MORE" or change < 0.9 and " LESS" or ""
  if fault ~= "" then faults = faults + 1 end
  print(format("%-12s %8.0f %8.0f %8.0f %9.0f %7d %6.2f %7d%s", what, engine,
               userdata, together - engine - userdata, together, goal,
               together / goal, known, fault))
end
print(format("%d counts of %d differ by more than a tenth from the known",
             faults, #CASES))
if faults > 0 then os.exit(1) end
