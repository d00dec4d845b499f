--- Measures a case: the engines evaluate it, their results are compared, and
-- then they take turns, in another order each round.

local ffi = require "ffi"
local rows = require "bench.rows"

local ipairs, tonumber, tostring = ipairs, tonumber, tostring
local abs, ceil, max = math.abs, math.ceil, math.max

local FRESH_PASSES = 8    -- per sample, so that it includes garbage collection
local TOLERANCE = 2e-4    -- of results, relative to the sum of magnitudes

local measure = {}

-- -- Agreement ---------------------------------------------------------------

--- The difference of two digests as text; nil if they agree.
local function difference(a, b, only_shape)
  if a[1] ~= b[1] then return ("shape %s, not %s"):format(a[1], b[1]) end
  if only_shape then return nil end
  if a[2] ~= b[2] then
    return ("%s values are not finite, not %s"):format(a[2], b[2])
  end
  local apart, size = abs(a[3] - b[3]), max(a[4], b[4])
  if apart > TOLERANCE * size then
    return ("weighted sum %.9g, not %.9g"):format(a[3], b[3])
  end
end

--- The doubles in a file, and their number; the file is removed.
local function values_in(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read "*a"
  file:close()
  os.remove(name)
  local n = #text / 8
  local values = ffi.new("double[?]", n)
  ffi.copy(values, text, n * 8)
  return values, n
end

--- The difference of n values from the expected ones as text; nil if every one
-- is within the tolerance, of itself or of the mean magnitude.
local function deviation(values, expected, n, tolerance)
  local sum, count = 0, 0
  for i = 0, n - 1 do
    local size = abs(expected[i])
    if size < math.huge then sum, count = sum + size, count + 1 end
  end
  local mean = count > 0 and sum / count or 0
  local wrong, first = 0, nil
  for i = 0, n - 1 do
    local x, y = values[i], expected[i]
    if x ~= y and (x == x or y == y) and
       not (abs(x - y) <= tolerance * max(abs(x), abs(y), mean) and
            abs(x - y) < math.huge) then
      wrong, first = wrong + 1, first or i
    end
  end
  if wrong > 0 then
    return ("%d of %d values differ, at %d: %.9g, not %.9g")
           :format(wrong, n, first + 1, values[first], expected[first])
  end
end

--- The engines that can run the case, in order, and the digests of their
-- results. Errors and results unlike those of the first engine are added to
-- faults; these engines are not measured.
local function prepare(workers, case, faults)
  local ready, digests, expected, truth, count = {}, {}, nil, nil, nil
  local is_exact = case.tolerance and case.is_checked
  for _, name in ipairs(rows.engines) do
    local worker = workers[name]
    if worker and case[name] then
      local file = is_exact and os.tmpname() or ""
      local result, reason =
        worker:tell("case", case.inputs, case[name], tostring(case.base),
                    tostring(case.is_recorded), file)
      local values, n
      if is_exact then values, n = values_in(file) end
      local wrong = not result and reason or
                    expected and not case.is_value and
                    difference(result, expected, is_exact or
                                                 not case.is_checked)
      if not wrong and truth then
        wrong = n ~= count and ("%d values, not %d"):format(n, count) or
                deviation(values, truth, n, case.tolerance)
      end
      if wrong then faults[name] = name .. ": " .. wrong
      else ready[#ready + 1], digests[name] = name, result end
      if result and not expected then
        expected, truth, count = result, values, n
      end
    end
  end
  return ready, digests
end

-- -- Time --------------------------------------------------------------------

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
local function times_of(workers, case, ready, options, faults)
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
function measure.case(workers, case, threads, options)
  local faults, figures = {}, {}
  local ready, digests = prepare(workers, case, faults)
  local taken = case.is_value and values_of(ready, digests) or
                times_of(workers, case, ready, options, faults)
  for _, name in ipairs(rows.engines) do
    local t = taken[name]
    if t or faults[name] then
      local entry = {family = case.family, case = case.name, size = case.size,
                     threads = threads, engine = name, fault = faults[name],
                     draw = case.draw}
      if t then
        table.sort(t.fastest)
        table.sort(t.median)
        entry.fastest_ns = t.fastest[1]
        entry.median_ns = t.median[ceil(#t.median / 2)]
        entry.samples = t.samples
      end
      figures[name] = entry
    end
  end
  return figures
end

return measure
