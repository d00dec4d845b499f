--- The fuzzer as a command: what a script can do wrong, it does.
--
--     ./dev lua spec/fuzz/fuzz.lua [SEED [ROUNDS [FIRST]]]
--
-- The same seed gives the same rounds, and each can be run alone by FIRST.
-- FUZZ_LOG names a file whose last line is the round that ran, for when the
-- process dies. FUZZ_MEDIUM=1 adds sizes that only fail when memory is
-- limited: set ulimit -v, or ASAN_OPTIONS=max_allocation_size_mb=256.

local run = require "spec.fuzz.run"

local BATCH = 1000

local seed = tonumber(arg[1] or 1)
local first = tonumber(arg[3] or 1)
local last = first + tonumber(arg[2] or 20000) - 1

local log = os.getenv "FUZZ_LOG"
local function note(i, text)
  local file = assert(io.open(log, "w"))
  file:write(("seed %d round %d: %s\n"):format(seed, i, text))
  file:close()
end

local failures, passed = 0, 0
run.run(seed, 0, 0) -- what is made once and kept is made here
for from = first, last, BATCH do
  local broken, n = run.run(seed, from, math.min(from + BATCH - 1, last),
                            log and note)
  for _, text in ipairs(broken) do print(text) end
  failures, passed = failures + #broken, passed + n
end
print(("seed %d: rounds %d to %d, %d went through, %d failures"):format(
  seed, first, last, passed, failures))
os.exit(failures == 0 and 0 or 1)
