--- The fuzzer as a command: what a script can do wrong, it does.
--
--     ./dev lua spec/fuzz/fuzz.lua [trampoline] [SEED [ROUNDS [FIRST]]]
--
-- The same seed gives the same rounds, and each can be run alone by FIRST;
-- of the trampoline, and of `scripted` in its place, each batch of 500 or 200
-- can.
-- FUZZ_LOG names a file whose last line is the round that ran, for when the
-- process dies. FUZZ_MEDIUM=1 adds sizes that only fail when memory is
-- limited: set ulimit -v, or ASAN_OPTIONS=max_allocation_size_mb=256.

require "strided".warnings(false) -- out= of any shape is on purpose here

local has_name = arg[1] == "trampoline" or arg[1] == "scripted"
local run = require("spec.fuzz." .. (has_name and table.remove(arg, 1)
                                     or "run"))

local BATCH = run.LOOK or 1000

local seed = tonumber(arg[1] or 1)
local first = tonumber(arg[3] or 1)
local last = first + tonumber(arg[2] or 20000) - 1

local log = os.getenv "FUZZ_LOG"
local function note(i, text)
  local file = assert(io.open(log, "w"))
  file:write(("seed %d round %d: %s\n"):format(seed, i, text))
  file:close()
end

local failures, passed, began = 0, 0, os.clock()
run.run(seed, 1, 0) -- what is made once and kept is made here
for from = first, last, BATCH do
  local broken, n = run.run(seed, from, math.min(from + BATCH - 1, last),
                            log and note)
  for _, text in ipairs(broken) do print(text) end
  failures, passed = failures + #broken, passed + n
end
print(("seed %d: rounds %d to %d, %d went through, %d failures, %.0f a second")
  :format(seed, first, last, passed, failures,
          (last - first + 1) / (os.clock() - began)))
os.exit(failures == 0 and 0 or 1)
