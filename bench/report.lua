--- Formats measurements as lines of JSON, and as tables.

local rows = require "bench.rows"

local ipairs, print, tonumber, type = ipairs, print, tonumber, type
local unpack = unpack

local report = {}

-- -- Lines of JSON -----------------------------------------------------------

local FIELDS = {"family", "case", "size", "threads", "engine", "fastest_ns",
                "median_ns", "samples", "fault", "draw"}

--- {case = "add", threads = 2} as a line.
function report.encode(entry)
  local parts = {}
  for _, key in ipairs(FIELDS) do
    local value = entry[key]
    if value ~= nil then
      value = type(value) == "number" and ("%.10g"):format(value) or
              '"' .. value:gsub('[%c"\\]', " ") .. '"'
      parts[#parts + 1] = ('"%s": %s'):format(key, value)
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

--- Decodes a line of encode.
function report.decode(line)
  local entry = {}
  for key, text in line:gmatch '"([%l_]+)": "([^"]*)"' do entry[key] = text end
  for key, text in line:gmatch '"([%l_]+)": ([%d.e+]+)' do
    entry[key] = tonumber(text)
  end
  return entry
end

--- The entries of a file by what they measure.
function report.load(name)
  local entries = {}
  for line in io.lines(name) do
    local entry = report.decode(line)
    if entry.fastest_ns then entries[report.key(entry)] = entry end
  end
  return entries
end

--- The key that identifies a measurement across builds.
function report.key(entry)
  return ("%s/%s/%s/%d/%s"):format(entry.family, entry.case, entry.size,
                                   entry.threads, entry.engine)
end

-- -- Tables ------------------------------------------------------------------

local HEAD = "%-40s %-12s %9s %9s %9s %9s %7s %-5s %7s %-5s %6s"
local FURTHER = " %9s %7s"

-- what a peer is called, and next to a ratio
local NAMES = {eager = {"eager", "/eager"},
               kernels = {"kernels", "/kernel"}, torch = {"PyTorch", "/PyTch"},
               compile = {"compiled", "/compld"}, numpy = {"NumPy", "/NumPy"},
               numexpr = {"numexpr", "/numexp"}, scipy = {"SciPy", "/SciPy"},
               ducc0 = {"ducc0", "/ducc0"}, pyfftw = {"pyFFTW", "/pyFFT"}}

--- Microseconds, three digits.
local function us(ns)
  if not ns then return "-" end
  local value = ns / 1000
  return (value < 10 and "%.2f" or value < 100 and "%.1f" or "%.0f")
         :format(value)
end

local function quotient(a, b)
  return a and b and a / b or nil
end

local function shown(ratio)
  return ratio and (ratio < 0.1 and "%.3f" or "%.2f"):format(ratio) or "-"
end

local function bound(goal) return goal and ("<%.3g"):format(goal) or "" end

local function put(text) print((text:gsub("%s+$", ""))) end

--- The columns of the engines that not every case has; text(name) gives two.
local function further(engines, text)
  local parts = {}
  for _, name in ipairs(engines) do
    if name ~= "strided" and name ~= "torch" and name ~= "numpy" then
      parts[#parts + 1] = FURTHER:format(text(name))
    end
  end
  return table.concat(parts)
end

function report.print_threads(threads)
  print()
  print(("%d thread%s"):format(threads, threads == 1 and "" or "s"))
end

--- A table's head; with `before` there are columns for it.
function report.print_head(engines, before)
  put(HEAD:format("us, fastest of many", "size", "strided", "median",
                     "PyTorch", "NumPy", "/PyTch", "goal", "/NumPy", "goal",
                     "/best") ..
      further(engines, function(name) return unpack(NAMES[name]) end) ..
      (before and "  now/then  peers" or ""))
end

--- The slowdown against before: strided's, and the mean of the peers'.
local function changes(figures, before)
  local function change(engine)
    local now = figures[engine]
    local old = now and before[report.key(now)]
    return old and now.fastest_ns / old.fastest_ns
  end
  local torch, numpy = change "torch", change "numpy"
  local drift = torch and numpy and (torch * numpy) ^ 0.5 or torch or numpy
  return ("  %8s  %5s"):format(shown(change "strided"), shown(drift))
end

--- The time of the fastest library, where time(engine) is that of an engine or
-- nil; nil if there is none.
function report.best_of(time)
  local best
  for _, engine in ipairs {"torch", "numpy", "scipy", "ducc0", "pyfftw"} do
    local ns = time(engine)
    if ns and (not best or ns < best) then best = ns end
  end
  return best
end

--- A case's line: figures[engine] is its entry. Returns the number of goals
-- that there are, and of those missed.
function report.print_case(case, figures, before)
  local function fastest(engine)
    return figures[engine] and figures[engine].fastest_ns
  end
  local ours, torch, numpy =
    fastest "strided", fastest "torch", fastest "numpy"
  local goals, missed, marks = 0, 0, ""
  for _, peer in ipairs {"torch", "numpy"} do
    local ratio, goal = quotient(ours, fastest(peer)), case.goal[peer]
    if ratio and goal then
      goals = goals + 1
      if ratio > goal then
        missed = missed + 1
        marks = marks .. (peer == "torch" and " MISSED:T" or " MISSED:N")
      end
    end
  end
  put(HEAD:format(
    case.family .. ": " .. case.name, case.size, us(ours),
    us(figures.strided and figures.strided.median_ns), us(torch), us(numpy),
    shown(quotient(ours, torch)), bound(case.goal.torch),
    shown(quotient(ours, numpy)), bound(case.goal.numpy),
    shown(quotient(ours, report.best_of(fastest)))) ..
    further(case.engines, function(name)
      return us(fastest(name)), shown(quotient(ours, fastest(name)))
    end) ..
    (before and changes(figures, before) or "") .. marks)
  return goals, missed
end

-- -- Targets -----------------------------------------------------------------

--- How many times as fast as the engine strided is, in the cases that the
-- target is about: ratios, and the cases.
local function speedups(family, target, cases, all)
  local ratios, about = {}, {}
  for i, case in ipairs(cases) do
    local ours, theirs = all[i].strided, all[i][target.engine]
    local ratio = ours and theirs and
                  quotient(theirs.fastest_ns, ours.fastest_ns)
    if ratio and case.family == family and
       (not target.at or case.elements == target.at) then
      ratios[#ratios + 1], about[#about + 1] = ratio, case
    end
  end
  return ratios, about
end

--- The geometric mean, and the minimum with its index.
local function summary(ratios)
  local product, least = 1, 1
  for i, ratio in ipairs(ratios) do
    product = product * ratio
    if ratio < ratios[least] then least = i end
  end
  return product ^ (1 / #ratios), ratios[least], least
end

--- Prints a line about a target; returns whether it is reached.
local function print_target(target, ratios, about)
  local mean, least, worst = summary(ratios)
  local value = target.mean and mean or least
  local below = 0
  for _, ratio in ipairs(ratios) do
    if ratio < target.least then below = below + 1 end
  end
  local case = about[worst]
  put(("%-40s %-12s mean %5.2f  least %5.2f (%s, %s)  %d of %d below %g%s")
      :format(("%s: %s / strided"):format(case.family, NAMES[target.engine][1]),
              target.at and rows.shown(target.at) or "all sizes", mean, least,
              case.name, case.size, below, #ratios, target.least,
              value < target.least and "  MISSED" or ""))
  return value >= target.least
end

--- What families are to reach as a whole; all[i] are the figures of cases[i].
-- Returns the number of targets, and of those missed.
function report.print_targets(cases, all)
  local seen, count, missed = {}, 0, 0
  for _, case in ipairs(cases) do
    local family = case.family
    if not seen[family] then
      seen[family] = true
      for _, target in ipairs(case.targets or {}) do
        local ratios, about = speedups(family, target, cases, all)
        if #ratios > 0 then
          count = count + 1
          if not print_target(target, ratios, about) then
            missed = missed + 1
          end
        end
      end
    end
  end
  return count, missed
end

report.put, report.us, report.shown, report.mean = put, us, shown, summary

return report
