--- Prints what a draw has measured: each case, the means of the families, and
-- the cases in which strided is slower than a peer.

local report = require "bench.report"

local ipairs, print = ipairs, print
local put, us, shown = report.put, report.us, report.shown

local draw_report = {}

local SLOWER = 1.15  -- than the fastest peer: the case is listed

-- number, family and name, size, threads; fastest and median of each engine
local LINE = "%5s %-64s %-16s %1s %9s %9s %9s %9s %9s %9s %7s"
local ENGINES = {"strided", "torch", "numpy"}

function draw_report.print_head(seed)
  print()
  put(LINE:format("", ("us, fastest and median; seed %d"):format(seed), "size",
                  "t", "strided", "median", "PyTorch", "median", "NumPy",
                  "median", "/best"))
end

--- Strided's time relative to the fastest peer's, if there are both.
local function ratio_of(figures)
  local function fastest(name)
    return figures[name] and figures[name].fastest_ns
  end
  local ours, best = fastest "strided", report.best_of(fastest)
  return ours and best and ours / best
end

--- "7/3", "unary: exp, float32", ...
local function put_case(case, figures)
  local columns = {}
  for _, name in ipairs(ENGINES) do
    local entry = figures[name] or {}
    columns[#columns + 1] = us(entry.fastest_ns)
    columns[#columns + 1] = us(entry.median_ns)
  end
  columns[#columns + 1] = shown(ratio_of(figures))
  put(LINE:format(case.draw:match "/(.*)", case.family .. ": " .. case.name,
                  case.size, case.threads, unpack(columns)))
end

draw_report.print_case = put_case

-- -- The summary -------------------------------------------------------------

local FAMILY = "%-14s %6s %6s %8s %7s"

--- The ratios of the cases of a family, or of all.
local function ratios_of(cases, all, family)
  local ratios, slower = {}, 0
  for i, case in ipairs(cases) do
    local ratio = ratio_of(all[i])
    if ratio and (not family or case.family == family) then
      ratios[#ratios + 1] = ratio
      if ratio > SLOWER then slower = slower + 1 end
    end
  end
  return ratios, slower
end

local function put_family(name, ratios, slower)
  local worst = 0
  for _, ratio in ipairs(ratios) do
    if ratio > worst then worst = ratio end
  end
  put(FAMILY:format(name, #ratios, shown(#ratios > 0 and report.mean(ratios)),
                    slower, shown(#ratios > 0 and worst)))
end

--- The cases that meet a condition, with their figures.
local function selected(cases, all, condition)
  local list = {}
  for i, case in ipairs(cases) do
    if condition(all[i]) then list[#list + 1] = {case, all[i], i} end
  end
  return list
end

--- True if an engine has a fault in a case.
local function has_fault(figures)
  for _, name in ipairs(ENGINES) do
    if figures[name] and figures[name].fault then return true end
  end
  return false
end

--- A case, what it evaluates, and its faults.
local function put_details(case, figures)
  put_case(case, figures)
  print(("      %s -- %s"):format(case.inputs, case.strided))
  for _, name in ipairs(ENGINES) do
    local fault = figures[name] and figures[name].fault
    if fault then print("      FAULT " .. fault) end
  end
end

--- The means of the families; the cases that are slower than a peer, worst
-- first; those with faults. all[i] are the figures of cases[i].
function draw_report.print_summary(cases, all)
  print()
  put(FAMILY:format("geometric mean", "cases", "/best",
                    (">%.2f"):format(SLOWER), "worst"))
  local seen = {}
  for _, case in ipairs(cases) do
    if not seen[case.family] then
      seen[case.family] = true
      put_family(case.family, ratios_of(cases, all, case.family))
    end
  end
  put_family("all", ratios_of(cases, all))
  local slow = selected(cases, all, function(figures)
    return (ratio_of(figures) or 0) > SLOWER
  end)
  table.sort(slow, function(a, b)
    local x, y = ratio_of(a[2]), ratio_of(b[2])
    return x > y or x == y and a[3] < b[3]
  end)
  print(("\n%d cases above %.2f, worst first"):format(#slow, SLOWER))
  for _, entry in ipairs(slow) do put_details(entry[1], entry[2]) end
  local faulty = selected(cases, all, has_fault)
  print(("\n%d cases with faults"):format(#faulty))
  for _, entry in ipairs(faulty) do put_details(entry[1], entry[2]) end
end

return draw_report
