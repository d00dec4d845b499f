--- Benchmarks strided against PyTorch and NumPy, case by case, in one run.
--
--     ./dev bench [FAMILY...] [OPTION VALUE]...
--     ./dev bench --draw SEED N [FAMILY...] [OPTION VALUE]...
--
--     --threads 1,2    the numbers of threads, measured one after the other, or
--                      drawn (1,2)
--     --draw SEED N    N cases that are drawn, instead of those of cases.lua
--     --case PATTERN   only cases whose name or size matches the Lua pattern
--     --rounds N       the number of turns of each engine at a case (5); 0
--                      only compares results
--     --ms N           the duration of a turn in ms (20)
--     --json FILE      the file for the measurements, a line of JSON each
--                      (bench/cases.jsonl in the folder of the build)
--     --against FILE   the measurements of another build, to compare with; not
--                      of a draw
--
-- A draw is a number of cases that a generator chooses: operators, dtypes,
-- sizes, layouts and threads (drawn/draw.lua). Its seed names it: the cases are
-- the same everywhere. A summary has the geometric means, and lists the cases
-- in which strided is slower than the fastest peer.
--
-- STRIDED_BENCH_BUILD names the folder of an existing build, which is not
-- rebuilt; peers.lua says where the peers are installed.
--
-- Families and cases are the rows of cases.lua; `overhead`, the cost of calls,
-- `pacing`, the memory of loops, and `instructions`, those of a call, are
-- separate programs. So are, with options of their own, `growth`, the time per
-- element by size, `large`, tensors of more than 2^31 elements, `csv`, the
-- reading and writing of CSV files beside NumPy and pandas, `chart` and
-- `summary`, the families of files of measurements, and `limits`, the slower
-- cases of files with what limits them.
--
-- Each engine runs in a separate process: a new one per case for strided, one
-- for all cases for the peers, which take too long to start, and of NumPy one
-- for each number of threads. Each process creates a case's
-- inputs, with the same values in all engines; an engine whose result differs
-- is reported and not measured. Then the engines take turns, in another order
-- each round, so that disturbances of the machine affect all engines alike.
--
-- Compare ratios of one run only: machines differ, and the speed of one machine
-- varies with time. The fastest sample is the least disturbed one; it includes
-- garbage collection for cases that return a new tensor.

local draw_report = require "bench.drawn.report"
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
local COMMANDS = {csv = true, growth = true, large = true, chart = true,
                  summary = true, limits = true}

-- -- Options -----------------------------------------------------------------

local function parse(words)
  local options = {threads = "1,2", rounds = "5", ms = "20", case = "",
                   json = OUT .. "/cases.jsonl", against = ""}
  local names, i = {}, 1
  while words[i] do
    local key = words[i]:match "^%-%-(%l+)$"
    if not key then names[#names + 1] = words[i]
    elseif key == "draw" and tonumber(words[i + 2]) then
      options.seed, options.count = tonumber(words[i + 1]),
                                    tonumber(words[i + 2])
      i = i + 2
    elseif options[key] and words[i + 1] then
      options[key], i = words[i + 1], i + 1
    else error("not understood: " .. words[i], 0) end
    i = i + 1
  end
  return names, options
end

--- The cases of the families, or of all, whose name or size matches the
-- pattern. `all` are the families that there are.
local function matching(list, names, all, pattern)
  local is_wanted, is_known, cases = {}, {}, {}
  for _, name in ipairs(all) do
    is_known[name], is_wanted[name] = true, #names == 0
  end
  for _, name in ipairs(names) do
    if not is_known[name] then
      error(("no family '%s'; there are %s, overhead, pacing, instructions")
            :format(name, table.concat(all, ", ")), 0)
    end
    is_wanted[name] = true
  end
  for _, case in ipairs(list) do
    if is_wanted[case.family] and
       (case.name .. " " .. case.size):find(pattern) then
      cases[#cases + 1] = case
    end
  end
  if #cases == 0 then error("no case has '" .. pattern .. "'", 0) end
  return cases
end

--- The numbers of threads.
local function threads_of(options)
  local list = {}
  for n in options.threads:gmatch "%d+" do list[#list + 1] = tonumber(n) end
  return list
end

--- The cases of the words: of the table, or drawn.
local function chosen(names, options)
  if options.seed then
    local draw = require "bench.drawn.draw"
    return matching(draw.cases(options.seed, options.count,
                               threads_of(options)),
                    names, draw.families(), options.case)
  end
  local families, all = require "bench.cases", {}
  for i, family in ipairs(families) do all[i] = family.family end
  return matching(rows.expand(families), names, all, options.case)
end

-- -- The run -----------------------------------------------------------------

--- Writes the figures of a case as lines; prints its faults. Returns their
-- number.
local function record(file, figures)
  local faults = 0
  for _, name in ipairs(rows.engines) do
    local entry = figures[name]
    if entry then file:write(report.encode(entry), "\n") end
    if entry and entry.fault then
      faults = faults + 1
      print("  FAULT " .. entry.fault)
    end
  end
  io.stdout:flush()
  return faults
end

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
    faults = faults + record(file, figures)
  end
  local g, m = report.print_targets(cases, all)
  goals, missed = goals + g, missed + m
  print(("%d goals, %d missed, %d faults"):format(goals, missed, faults))
end

--- Runs drawn cases, each with its number of threads.
local function run_draw(crew, cases, options, file)
  local all = {}
  draw_report.print_head(options.seed)
  for i, case in ipairs(cases) do
    local figures = measure.case(crew:ready(case.threads), case, case.threads,
                                 options)
    all[i] = figures
    draw_report.print_case(case, figures)
    record(file, figures)
  end
  draw_report.print_summary(cases, all)
end

local function main(words)
  if COMMANDS[words[1]] then
    return require("bench." .. table.remove(words, 1)).main(words)
  end
  local names, options = parse(words)
  for i = #names, 1, -1 do
    if PROGRAMS[names[i]] then
      run(line {"luajit", HERE .. "/" .. table.remove(names, i) .. ".lua"})
      if #names == 0 then return end
    end
  end
  local cases = chosen(names, options)
  assert(run("mkdir -p " .. quote(OUT)))
  options.before = options.against ~= "" and report.load(options.against)
  local crew = engines.new(cases)
  local file = assert(io.open(options.json, "w"))
  local about = engines.about(crew:ready(threads_of(options)[1]))
  print(about)
  file:write(('{"about": "%s"}\n'):format(about))
  if options.seed then run_draw(crew, cases, options, file)
  else
    for _, threads in ipairs(threads_of(options)) do
      run_all(crew, cases, threads, options, file)
    end
  end
  file:close()
  crew:stop()
end

local ok, reason = pcall(main, arg)
if not ok then
  say(reason)
  os.exit(1)
end
