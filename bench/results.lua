--- Files of measurements, as `--json` writes them, by family: the time relative
-- to the fastest of PyTorch, NumPy and, where they are measured, SciPy, ducc0
-- and pyFFTW.

local report = require "bench.report"

local exp, ipairs, log = math.exp, ipairs, math.log
local pairs, tostring = pairs, tostring

local results = {}

results.SLOWER = 1.15 -- than the fastest peer: the case is counted

--- The figures of a group of ratios.
local function summed(ratios)
  local sum, worst, slower = 0, 0, 0
  for _, ratio in ipairs(ratios) do
    sum, worst = sum + log(ratio), ratio > worst and ratio or worst
    if ratio > results.SLOWER then slower = slower + 1 end
  end
  return {count = #ratios, mean = exp(sum / #ratios), worst = worst,
          slower = slower}
end

--- The cases of files, each a list of lines, in order: {family =, name =,
-- size =, threads =, strided =, torch =, numpy =, ..} in ns; and the
-- lines' descriptions of machine and engines.
function results.cases(files)
  local cases, by_key, abouts = {}, {}, {}
  for i, lines in ipairs(files) do
    for _, line in ipairs(lines) do
      local entry = report.decode(line)
      if entry.about then abouts[#abouts + 1] = entry.about end
      if entry.engine and entry.fastest_ns then
        local key = ("%d|%s|%s|%s|%s|%d"):format(i, entry.family, entry.case,
          entry.size, entry.draw or "", entry.threads)
        local case = by_key[key]
        if not case then
          case = {family = entry.family, name = entry.case,
                  size = tostring(entry.size), threads = entry.threads}
          by_key[key], cases[#cases + 1] = case, case
        end
        case[entry.engine] = entry.fastest_ns
      end
    end
  end
  return cases, abouts
end

--- Strided's time relative to the fastest peer's, or nil.
function results.ratio(case)
  local best = report.best_of(function(engine) return case[engine] end)
  return case.strided and best and case.strided / best
end

--- The families of files, each a list of lines, in the order of their names:
-- {name =, [1] =, [2] =, all =}, where [n] is about n threads, as {count =,
-- mean =, worst =, slower =}; the same for all families; and the descriptions.
function results.families(files)
  local cases, abouts = results.cases(files)
  local list, by_name, ratios = {}, {}, {}
  local total = {name = "all"}
  local function add(family, key, ratio)
    ratios[family] = ratios[family] or {}
    local of = ratios[family]
    of[key] = of[key] or {}
    of[key][#of[key] + 1] = ratio
  end
  for _, case in ipairs(cases) do
    local ratio = results.ratio(case)
    if ratio then
      local family = by_name[case.family]
      if not family then
        family = {name = case.family}
        by_name[case.family], list[#list + 1] = family, family
      end
      for _, of in ipairs {family, total} do
        add(of, case.threads, ratio)
        add(of, "all", ratio)
      end
    end
  end
  for of, groups in pairs(ratios) do
    for key, group in pairs(groups) do of[key] = summed(group) end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list, total, abouts
end

--- The lines of the files.
function results.read(names)
  local files = {}
  for i, name in ipairs(names) do
    local lines = {}
    local file, reason = io.open(name)
    if not file then error(reason, 0) end
    for line in file:lines() do lines[#lines + 1] = line end
    file:close()
    files[i] = lines
  end
  return files
end

--- The options of a command line: names of files, and lists of those that
-- follow --against; of others the word after them.
function results.parse(words, options)
  local names, against, i = {}, {}, 1
  while words[i] do
    local key = words[i]:match "^%-%-(%l+)$"
    if key == "against" and words[i + 1] then
      against[#against + 1], i = words[i + 1], i + 1
    elseif key and options[key] and words[i + 1] then
      options[key], i = words[i + 1], i + 1
    elseif key then error("not understood: " .. words[i], 0)
    else names[#names + 1] = words[i] end
    i = i + 1
  end
  if #names == 0 then error("which files of measurements?", 0) end
  return names, against, options
end

return results
