--- Benchmarks strided against PyTorch and NumPy, case by case, in one run.
--
--     ./dev bench [FAMILY...] [OPTION VALUE]...
--
--     --threads 1,2    the numbers of threads, measured one after the other
--                      (1,2)
--     --case PATTERN   only cases whose name or size matches the Lua pattern
--     --rounds N       the number of turns of each engine at a case (5)
--     --ms N           the duration of a turn in ms (20)
--     --json FILE      the file for the measurements, a line of JSON each
--                      (bench/cases.jsonl in the folder of the build)
--     --against FILE   the measurements of another build, to compare with
--
-- STRIDED_BENCH_BUILD names the folder of an existing build, which is not
-- rebuilt; peers.lua says where the peers are installed.
--
-- Families and cases are the rows of cases.lua; `overhead`, the cost of calls,
-- `pacing`, the memory of loops, and `instructions`, those of a call, are
-- separate programs. Each engine runs in a separate process: a new one per case
-- for strided, one for all cases for the peers, which take too long to start.
-- Each process creates a case's inputs, with the same values in all engines;
-- the results must agree before anything
-- is measured. Then the engines take turns, in another order each round, so
-- that disturbances of the machine affect all engines alike.
--
-- Compare ratios of one run only: machines differ, and the speed of one machine
-- varies with time. The fastest sample is the least disturbed one; it includes
-- garbage collection for cases that return a new tensor.

local engines = require "bench.engines"
local measure = require "bench.measure"
local peers = require "bench.peers"
local report = require "bench.report"
local rows = require "bench.rows"

local line, quote, run, say = peers.line, peers.quote, peers.run, peers.say

local BUILD = peers.build()
local OUT = BUILD .. "/bench"
local HERE = arg[0]:match "^(.*)/[^/]*$"
local PROGRAMS = {overhead = true, pacing = true, instructions = true}

-- -- Options -----------------------------------------------------------------

local function parse(words)
  local options = {threads = "1,2", rounds = "5", ms = "20", case = "",
                   json = OUT .. "/cases.jsonl", against = ""}
  local names, i = {}, 1
  while words[i] do
    local key = words[i]:match "^%-%-(%l+)$"
    if not key then names[#names + 1] = words[i]
    elseif options[key] and words[i + 1] then
      options[key], i = words[i + 1], i + 1
    else error("not understood: " .. words[i], 0) end
    i = i + 1
  end
  return names, options
end

--- The cases of the families whose name or size matches the pattern.
local function chosen(names, pattern)
  local families, known, all = {}, {}, {}
  for _, family in ipairs(require "bench.cases") do
    all[#all + 1], known[family.family] = family.family, family
    if #names == 0 then families[#families + 1] = family end
  end
  for _, name in ipairs(names) do
    if not known[name] then
      error(("no family '%s'; there are %s, overhead, pacing, instructions")
            :format(name, table.concat(all, ", ")), 0)
    end
    families[#families + 1] = known[name]
  end
  local cases = {}
  for _, case in ipairs(rows.expand(families)) do
    if (case.name .. " " .. case.size):find(pattern) then
      cases[#cases + 1] = case
    end
  end
  if #cases == 0 then error("no case has '" .. pattern .. "'", 0) end
  return cases
end

-- -- The run -----------------------------------------------------------------

--- Runs all cases with a number of threads.
local function run_all(crew, cases, threads, options, file)
  report.print_threads(threads)
  local goals, missed, faults, all, shown = 0, 0, 0, {}, nil
  for i, case in ipairs(cases) do
    if case.engines ~= shown then
      shown = case.engines
      report.print_head(shown, options.before)
    end
    local figures = measure.case(crew:ready(threads), case, threads, options)
    all[i] = figures
    local g, m = report.print_case(case, figures, options.before)
    goals, missed = goals + g, missed + m
    for _, name in ipairs(rows.engines) do
      local entry = figures[name]
      if entry then file:write(report.encode(entry), "\n") end
      if entry and entry.fault then
        faults = faults + 1
        print("  FAULT " .. entry.fault)
      end
    end
    io.stdout:flush()
  end
  local g, m = report.print_targets(cases, all)
  goals, missed = goals + g, missed + m
  print(("%d goals, %d missed, %d faults"):format(goals, missed, faults))
end

local function main(words)
  local names, options = parse(words)
  for i = #names, 1, -1 do
    if PROGRAMS[names[i]] then
      run(line {"luajit", HERE .. "/" .. table.remove(names, i) .. ".lua"})
      if #names == 0 then return end
    end
  end
  local cases = chosen(names, options.case)
  assert(run("mkdir -p " .. quote(OUT)))
  options.before = options.against ~= "" and report.load(options.against)
  local crew = engines.new(cases)
  local file = assert(io.open(options.json, "w"))
  local about = engines.about(crew:ready(tonumber(options.threads:match "%d+")))
  print(about)
  file:write(('{"about": "%s"}\n'):format(about))
  for threads in options.threads:gmatch "%d+" do
    run_all(crew, cases, tonumber(threads), options, file)
  end
  file:close()
  crew:stop()
end

local ok, reason = pcall(main, arg)
if not ok then
  say(reason)
  os.exit(1)
end
