--- Counts the instructions of calls from Lua under callgrind, which other load
-- on the machine does not change.
--
--     ./dev bench instructions
--
-- A case is a process that makes 2,000 calls, and one that makes 10,000 more;
-- the table shows the difference per call, with one thread and avx2 kernels.
-- `engine` is what runs below the public header (dispatch, iterator,
-- allocation, kernel), `userdata` a new userdata with the garbage collection
-- that it causes, `binding` the rest: Lua itself and the conversion of
-- arguments. `goal` is the most that a call should take.

local peers = require "bench.peers"

local format, max = string.format, math.max

local FEW, MORE = 2000, 10000

local CASES = {
  {"a + b", "a + b", 2200}, {"a:add_(b)", "a:add_(b)", 1500},
  {"add, out=", "st.add(a, b, out)", 1800}, {"a * 2", "a * 2", 2400},
  {"m[5]", "m[5]", 1500}, {"m:t()", "m:t()", 1300},
  {"a:item()", "a:item()", 400}, {"m:sum()", "m:sum()", 2000},
  {"empty(10)", "st.empty(10)", 1300},
}

-- -- A case ------------------------------------------------------------------

local function work(expression, n)
  local st = require "strided"
  local body = assert(loadstring("local st, a, b, m, out, n = ... "
    .. "for _ = 1, n do local _ = " .. expression .. " end"))
  local r = st.rand(1)
  body(st, st.rand(1), st.rand(1), st.rand(10, 10), {out = r}, n)
end

-- -- Counting ----------------------------------------------------------------

--- Instructions of all, and inclusive ones by function.
local function count(case, n)
  local file = os.tmpname()
  peers.text(format("STRIDED_ISA=avx2 OMP_NUM_THREADS=1 valgrind "
                    .. "--tool=callgrind --callgrind-out-file=%s luajit '%s' "
                    .. "%d %d 2>/dev/null", file, arg[0], case, n))
  local text = peers.text(format("callgrind_annotate --inclusive=yes "
                             .. "--threshold=100 %s 2>/dev/null", file))
  os.remove(file)
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

local function per_call(before, after) return (after - before) / MORE end

-- -- The table ---------------------------------------------------------------

local ENGINE = {"st_call_converted", "st_call_declared", "st__shortcut_call"}

local number, n = tonumber((...)), tonumber((select(2, ...)))
if number then return work(CASES[number][2], n) end

print(format("%-12s %8s %8s %9s %9s %7s %7s", "instructions", "engine",
             "userdata", "binding", "together", "goal", "ratio"))
for i, case in ipairs(CASES) do
  local few, few_by = count(i, FEW)
  local all, all_by = count(i, FEW + MORE)
  local function share(name)
    return per_call(few_by[name] or 0, all_by[name] or few_by[name] or 0)
  end
  local engine = 0
  for _, name in ipairs(ENGINE) do engine = engine + share(name) end
  local userdata, together = share "st__new_tensor_ud", per_call(few, all)
  print(format("%-12s %8.0f %8.0f %9.0f %9.0f %7d %7.2f", case[1], engine,
               userdata, together - engine - userdata, together, case[3],
               together / case[3]))
end
