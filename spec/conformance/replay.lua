--- Replays vectors that PyTorch produced and says where we differ.
--
--     ./dev lua spec/conformance/replay.lua [--verbose] FILE...
--
-- A file is JSON lines, plain or gzipped, in either format of the golden
-- vectors: `engine` (the machinery) or `ops` (operators). Per file it prints
-- how many cases passed, failed and are not supported, the operators that are
-- missing, and the first mismatches (all of them with --verbose). The exit
-- code is 1 when there is any mismatch.
--
-- Shapes, strides, offsets, dtypes, sharing, integers, booleans and copies are
-- exact. Floating results are exact too unless the case carries its own
-- tolerance, or a sample of PyTorch's database (engine/opinfo) has none: then
-- |got - want| <= atol + rtol * |want| with the figures of opinfo.TOLERANCES.

local engine = require "spec.conformance.engine"
local ops = require "spec.conformance.ops"
local reader = require "spec.conformance.reader"

local SHOWN = 5 -- mismatches printed per file without --verbose

local replay = {}

--- Checks one decoded case: true; false and why; or nil and what is missing.
function replay.check(case)
  local is_operator = type(case.id) == "string" and type(case.op) == "string"
  return (is_operator and ops or engine).check(case)
end

local function label(case, number)
  local id = type(case.id) == "string" and case.id or "line " .. number
  return type(case.op) == "string" and id .. " " .. case.op or id
end

--- Replays a file: {passed, failed, unsupported, missing = {name = count},
-- failures = {{label, why}, ...}}.
function replay.file(path)
  local result = {passed = 0, failed = 0, unsupported = 0, missing = {},
                  failures = {}}
  local number = 0
  for case in reader.cases(path) do
    number = number + 1
    local ok, why = replay.check(case)
    if ok then
      result.passed = result.passed + 1
    elseif ok == nil then
      result.unsupported = result.unsupported + 1
      result.missing[why] = (result.missing[why] or 0) + 1
    else
      result.failed = result.failed + 1
      result.failures[#result.failures + 1] = {label(case, number), why}
    end
  end
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

local function report(path, result, verbose)
  print(("%s: %d passed / %d failed / %d unsupported"):format(
        reader.name(path), result.passed, result.failed, result.unsupported))
  print_missing(result.missing)
  local n = verbose and #result.failures or math.min(SHOWN, #result.failures)
  for i = 1, n do
    print(("  failed %s\n    %s"):format(unpack(result.failures[i])))
  end
  if n < #result.failures then
    print(("  ... and %d more"):format(#result.failures - n))
  end
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
