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

local peers = require "bench.peers"
local report = require "bench.report"
local rows = require "bench.rows"
local engine = require "bench.engine"

local line, quote, run, say = peers.line, peers.quote, peers.run, peers.say

local FRESH_PASSES = 8    -- per sample, so that it includes garbage collection
local TOLERANCE = 2e-4    -- of results, relative to the sum of magnitudes

local BUILD = peers.build()
local OUT = BUILD .. "/bench"
local HERE = arg[0]:match "^(.*)/[^/]*$"
local PROGRAMS = {overhead = true, pacing = true, instructions = true}
local IN_LUA = {strided = true, eager = true, kernels = true}

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

-- -- Engines -----------------------------------------------------------------

--- Starts a process for an engine; prints the reason if that fails.
local function start(workers, name, program, script)
  local worker, reason =
    engine.start(line {program, HERE .. "/workers/" .. script, name})
  workers[name] = worker
  if not worker then print(("no figures of %s: %s"):format(name, reason)) end
end

--- Starts the engines that the cases need.
local function start_all(cases)
  local workers, is_used = {}, {}
  for _, case in ipairs(cases) do
    for _, name in ipairs(case.engines) do is_used[name] = true end
  end
  local python, reason = peers.python(is_used.numexpr)
  if not python then print("no figures of PyTorch and NumPy: " .. reason) end
  for _, name in ipairs(rows.engines) do
    if is_used[name] and IN_LUA[name] then
      start(workers, name, "luajit", "strided.lua")
    elseif is_used[name] and python then
      start(workers, name, python, "peers.py")
    end
  end
  return workers
end

--- Restarts strided's processes, so that the memory of one case does not affect
-- the next.
local function renew(workers, threads)
  for name in pairs(IN_LUA) do
    if workers[name] then
      workers[name]:stop()
      start(workers, name, "luajit", "strided.lua")
    end
    if workers[name] then workers[name]:tell("threads", threads) end
  end
end

local function stop_all(workers)
  for _, worker in pairs(workers) do worker:stop() end
end

-- -- A case ------------------------------------------------------------------

--- The difference of two digests as text; nil if they agree.
local function difference(a, b)
  if a[1] ~= b[1] then return ("shape %s, not %s"):format(a[1], b[1]) end
  if a[2] ~= b[2] then
    return ("%s values are not finite, not %s"):format(a[2], b[2])
  end
  local apart, size = math.abs(a[3] - b[3]), math.max(a[4], b[4])
  if apart > TOLERANCE * size then
    return ("weighted sum %.9g, not %.9g"):format(a[3], b[3])
  end
end

--- The engines that can run the case, in order, and the digests of their
-- results. Differing results and errors are added to faults.
local function prepare(workers, case, faults)
  local ready, digests, expected = {}, {}, nil
  for _, name in ipairs(rows.engines) do
    local worker = workers[name]
    if worker and case[name] then
      local result, reason = worker:tell("case", case.inputs, case[name],
                                         tostring(case.base),
                                         tostring(case.is_recorded))
      if result then
        ready[#ready + 1], digests[name] = name, result
        local wrong = expected and case.is_checked and
                      difference(result, expected)
        if wrong then faults[name] = name .. ": " .. wrong end
        expected = expected or result
      else faults[name] = name .. ": " .. reason end
    end
  end
  return ready, digests
end

--- The values of a case's expressions, in the form of measured times.
local function values_of(ready, digests)
  local taken = {}
  for _, name in ipairs(ready) do
    local value = tonumber(digests[name][3])
    taken[name] = {fastest = {value}, median = {value}, samples = 1}
  end
  return taken
end

--- The fastest and the median samples of each round, by engine.
local function measure(workers, case, ready, options, faults)
  local taken, passes = {}, case.is_fresh and FRESH_PASSES or 1
  for _, name in ipairs(ready) do
    taken[name] = {fastest = {}, median = {}, samples = 0}
  end
  local function take_turn(name, round)
    local result, reason = workers[name]:tell("time", options.ms, passes)
    if not result then
      taken[name], faults[name] = nil, name .. ": " .. reason
      return
    end
    local t = taken[name]
    t.fastest[round], t.median[round] =
      tonumber(result[1]), tonumber(result[2])
    t.samples = t.samples + tonumber(result[3])
  end
  for round = 1, options.rounds do
    for i = 1, #ready do
      local name = ready[(i + round - 2) % #ready + 1]
      if taken[name] then take_turn(name, round) end
    end
  end
  return taken
end

--- Measures a case: the fastest sample of all rounds and the median of their
-- medians, as {engine = entry of report.lua}.
local function figures_of(workers, case, threads, options)
  local faults, figures = {}, {}
  local ready, digests = prepare(workers, case, faults)
  local taken = case.is_value and values_of(ready, digests) or
                measure(workers, case, ready, options, faults)
  for _, name in ipairs(rows.engines) do
    local t = taken[name]
    if t or faults[name] then
      local entry = {family = case.family, case = case.name, size = case.size,
                     threads = threads, engine = name, fault = faults[name]}
      if t then
        table.sort(t.fastest)
        table.sort(t.median)
        entry.fastest_ns = t.fastest[1]
        entry.median_ns = t.median[math.ceil(#t.median / 2)]
        entry.samples = t.samples
      end
      figures[name] = entry
    end
  end
  return figures
end

-- -- The run -----------------------------------------------------------------

--- The processor and the versions of the engines.
local function about(workers)
  local parts = {peers.processor()}
  for _, name in ipairs(rows.engines) do
    local answer = workers[name] and workers[name].about
    if answer ~= parts[#parts] then parts[#parts + 1] = answer end
  end
  return table.concat(parts, "; ")
end

--- Runs all cases with a number of threads.
local function run_all(workers, cases, threads, options, file)
  for _, worker in pairs(workers) do assert(worker:tell("threads", threads)) end
  report.print_threads(threads)
  local goals, missed, faults, all, engines = 0, 0, 0, {}, nil
  for i, case in ipairs(cases) do
    if case.engines ~= engines then
      engines = case.engines
      report.print_head(engines, options.before)
    end
    renew(workers, threads)
    local figures = figures_of(workers, case, threads, options)
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
  local workers = start_all(cases)
  local file = assert(io.open(options.json, "w"))
  print(about(workers))
  file:write(('{"about": "%s"}\n'):format(about(workers)))
  for threads in options.threads:gmatch "%d+" do
    run_all(workers, cases, tonumber(threads), options, file)
  end
  file:close()
  stop_all(workers)
end

local ok, reason = pcall(main, arg)
if not ok then
  say(reason)
  os.exit(1)
end
