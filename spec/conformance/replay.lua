--- Replays vectors that PyTorch produced and says where we differ.
--
--     ./dev lua spec/conformance/replay.lua [--verbose] FILE...
--
-- A file is JSON lines, plain or gzipped, in either format of the golden
-- vectors: `engine` (the machinery) or `ops` (operators). Per file it prints
-- how many cases passed, failed and are not supported, the operators that are
-- missing, what differs on purpose (deviations.lua) and the first mismatches
-- (all of them with --verbose). The exit code is 1 when there is any mismatch.
--
-- Shapes, strides, offsets, dtypes, sharing, integers, booleans and copies are
-- exact. Floating results are exact too unless the case carries its own
-- tolerance, or a sample of PyTorch's database (engine/opinfo) has none: then
-- |got - want| <= atol + rtol * |want| with the figures of opinfo.TOLERANCES.

local engine = require "spec.conformance.engine"
local ops = require "spec.conformance.ops"
local reader = require "spec.conformance.reader"

local unpack = unpack or table.unpack

local SHOWN = 7 -- of a kind, per file, without --verbose

local replay = {}

--- Checks one decoded case: true; false and why; nil and what is missing; or
-- nil, what is different on purpose, and true.
function replay.check(case)
  local is_operator = type(case.id) == "string" and type(case.op) == "string"
  return (is_operator and ops or engine).check(case)
end

--- Takes back what the checks registered; more checks may follow.
function replay.leave() engine.leave() end

local function label(case, number)
  local id = type(case.id) == "string" and case.id or
             type(case.input) == "string" and case.input or "line " .. number
  return type(case.op) == "string" and id .. " " .. case.op or id
end

--- Replays a file: {passed, failed, unsupported, missing = {name = count},
-- failures = {{label, why}, ...}, deviations = {what, ...}}. With a step only
-- every step-th case.
function replay.file(path, step)
  local result = {passed = 0, failed = 0, unsupported = 0, missing = {},
                  failures = {}, deviations = {}}
  local function check(case, number)
    local ok, why, by_design = replay.check(case)
    if ok then
      result.passed = result.passed + 1
    elseif by_design then
      result.deviations[#result.deviations + 1] = why
    elseif ok == nil then
      result.unsupported = result.unsupported + 1
      result.missing[why] = (result.missing[why] or 0) + 1
    else
      result.failed = result.failed + 1
      result.failures[#result.failures + 1] = {label(case, number), why}
    end
  end
  for case, _, number in reader.cases(path, step) do check(case, number) end
  replay.leave()
  return result
end

-- -- Reporting ---------------------------------------------------------------

local function print_missing(missing)
  local names = {}
  for name in pairs(missing) do names[#names + 1] = name end
  table.sort(names, function(a, b)
    if missing[a] ~= missing[b] then return missing[a] > missing[b] end
    return a < b
  end)
  for _, name in ipairs(names) do
    print(("  unsupported %6d  %s"):format(missing[name], name))
  end
end

local function print_some(list, all, show)
  local n = all and #list or math.min(SHOWN, #list)
  for i = 1, n do show(list[i]) end
  if n < #list then print(("  ... and %d more"):format(#list - n)) end
end

local function report(path, result, verbose)
  print(("%s: %d passed / %d failed / %d unsupported"):format(
        reader.name(path), result.passed, result.failed, result.unsupported))
  print_missing(result.missing)
  print_some(result.deviations, verbose, function(what)
    print("  by design  " .. what)
  end)
  print_some(result.failures, verbose, function(failure)
    print(("  failed %s\n    %s"):format(unpack(failure)))
  end)
end

local function main(arguments)
  local verbose, paths, failed = false, {}, 0
  for _, a in ipairs(arguments) do
    if a == "--verbose" then verbose = true else paths[#paths + 1] = a end
  end
  if #paths == 0 then
    io.stderr:write "usage: replay.lua [--verbose] FILE...\n"
    os.exit(2)
  end
  for _, path in ipairs(paths) do
    local result = replay.file(path)
    failed = failed + result.failed
    report(path, result, verbose)
  end
  os.exit(failed == 0 and 0 or 1)
end

if arg and arg[0] and arg[0]:find "replay%.lua$" then main(arg) end

return replay
