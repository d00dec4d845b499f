--- Prints the cases in which strided is slower than a peer, each with the line
-- that says what limits it and what was tried.
--
--     ./dev bench limits FILE...
--
-- The lines are in limit_lines.lua. A case that no line is about is listed
-- last, as one that has to be looked at.

local lines = require "bench.limit_lines"
local results = require "bench.results"

local ipairs, print = ipairs, print
local format = string.format

local limits = {}

local function applies(line, case)
  local ns = case.strided
  if line.family and not (" " .. line.family .. " ")
                         :find(" " .. case.family .. " ", 1, true) then
    return false
  end
  if line.case then
    local found = false
    for _, pattern in ipairs(line.case) do
      found = found or case.name:find(pattern) ~= nil
    end
    if not found then return false end
  end
  if line.without and case.name:find(line.without) then return false end
  return ns >= (line.from or 0) * 1e3 and ns < (line.to or 1e99) * 1e3
end

--- The first line that is about a case, or nil.
function limits.line_of(case)
  for _, line in ipairs(lines) do
    if applies(line, case) then return line end
  end
  return nil
end

--- Groups the slower cases of files by their lines: {line =, cases =} in the
-- order of the lines, and the cases without one.
function limits.grouped(files)
  local groups, by_line, others = {}, {}, {}
  for _, case in ipairs(results.cases(files)) do
    case.ratio = results.ratio(case)
    if case.ratio and case.ratio > results.SLOWER then
      local line = limits.line_of(case)
      local list = others
      if line then
        list = by_line[line] or {}
        by_line[line] = list
      end
      list[#list + 1] = case
    end
  end
  for _, line in ipairs(lines) do
    local cases = by_line[line]
    if cases then groups[#groups + 1] = {line = line, cases = cases} end
  end
  return groups, others
end

local function print_cases(cases)
  table.sort(cases, function(a, b) return a.ratio > b.ratio end)
  for _, case in ipairs(cases) do
    print(format("    %5.2f  %10.2f us  %s: %s, %s, %d thread%s", case.ratio,
                 case.strided / 1e3, case.family, case.name, case.size,
                 case.threads, case.threads == 1 and "" or "s"))
  end
end

function limits.main(words)
  local groups, others = limits.grouped(results.read((results.parse(words,
                                                                    {}))))
  for _, group in ipairs(groups) do
    print(format("\n%s\n  limit: %s\n  tried: %s", group.line.name,
                 group.line.limit, group.line.tried))
    print_cases(group.cases)
  end
  print(format("\n%d cases without a line", #others))
  print_cases(others)
end

return limits
