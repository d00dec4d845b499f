--- Measurements as lines of JSON, and as tables.

local ipairs, print, tonumber, type = ipairs, print, tonumber, type

local report = {}

-- -- Lines of JSON -----------------------------------------------------------

local FIELDS = {"family", "case", "size", "threads", "engine", "fastest_ns",
                "median_ns", "samples", "fault"}

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

--- What encode wrote.
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

--- What is the same for the same measurement of two builds.
function report.key(entry)
  return ("%s/%s/%s/%d/%s"):format(entry.family, entry.case, entry.size,
                                   entry.threads, entry.engine)
end

-- -- Tables ------------------------------------------------------------------

local HEAD = "%-40s %-12s %9s %9s %9s %9s %7s %-5s %7s %-5s %6s"

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

--- A table's head; with `before` there are columns for it.
function report.print_head(threads, before)
  print()
  print(("%d thread%s"):format(threads, threads == 1 and "" or "s"))
  put(HEAD:format("us, fastest of many", "size", "strided", "median",
                     "PyTorch", "NumPy", "/PyTch", "goal", "/NumPy", "goal",
                     "/best") ..
      (before and "  now/then  peers" or ""))
end

--- How much slower than before: ours, and the peers' mean.
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
  local best = torch and numpy and math.min(torch, numpy) or torch or numpy
  put(HEAD:format(
    case.family .. ": " .. case.name, case.size, us(ours),
    us(figures.strided and figures.strided.median_ns), us(torch), us(numpy),
    shown(quotient(ours, torch)), bound(case.goal.torch),
    shown(quotient(ours, numpy)), bound(case.goal.numpy),
    shown(quotient(ours, best))) ..
    (before and changes(figures, before) or "") .. marks)
  return goals, missed
end

return report
