--- Prints the families of several files of measurements together, of draws or
-- of the table: the geometric means of the times relative to the fastest peer.
--
--     ./dev bench summary FILE... [--against FILE]...
--
-- With --against there is a column of the same means in the files of another
-- build, for example of the commit before.

local results = require "bench.results"

local ipairs, print = ipairs, print

local LINE = "%-14s %6s %9s %9s %7s %6s %7s %7s"

local summary = {}

local function shown(of) return of and ("%.2f"):format(of.mean) or "-" end

--- A family's line; `before` is the same family of another build.
local function line_of(family, before, has_before)
  local text = LINE:format(family.name, family.all.count, shown(family[1]),
                           shown(family[2]), shown(family.all),
                           family.all.slower, ("%.2f"):format(family.all.worst),
                           has_before and shown(before and before.all) or "")
  return (text:gsub("%s+$", ""))
end

--- The lines of a table. `files` and `against` are lists of lists of lines.
function summary.lines(files, against)
  local families, total, abouts = results.families(files)
  local old, old_total = results.families(against)
  local has_before, before = #against > 0, {}
  for _, family in ipairs(old) do before[family.name] = family end
  local lines, seen = {}, {}
  for _, about in ipairs(abouts) do
    if not seen[about] then lines[#lines + 1] = about end
    seen[about] = true
  end
  lines[#lines + 1] = (LINE:format("geometric mean", "cases", "1 thread",
    "2 threads", "/best", (">%.2f"):format(results.SLOWER), "worst",
    has_before and "before" or ""):gsub("%s+$", ""))
  for _, family in ipairs(families) do
    lines[#lines + 1] = line_of(family, before[family.name], has_before)
  end
  if total.all then
    lines[#lines + 1] = line_of(total, old_total, has_before)
  end
  return lines
end

function summary.main(words)
  local names, against = results.parse(words, {})
  for _, line in ipairs(summary.lines(results.read(names),
                                      results.read(against))) do
    print(line)
  end
end

return summary
