--- Runs rounds of the fuzzer and holds each against the promises: a call may
-- fail, but then its inputs are as they were; nothing stays behind.

local st = require "strided"
local collect = require "spec.support.collect"
local libraries = require "spec.fuzz.libraries"
local operators = require "spec.fuzz.operators"
local others = require "spec.fuzz.others"
local public = require "spec.fuzz.public"
local values = require "spec.fuzz.values"

local M = {}

local KINDS = {
  others.subscript, others.subscript, others.table, others.method,
  others.file, others.iterator, libraries.round, public.round, public.round,
}

local LARGEST = 2 ^ 29 -- bytes of all tensors of a round

--- Live objects by kind, once all garbage is gone.
function M.live()
  collect()
  collectgarbage()
  local out = {}
  for kind, m in pairs(st.memory()) do out[kind] = m.count end
  out.registry = nil -- names that were defined once stay
  return out
end

--- Adds to broken what is live in other numbers than before. which: words and
-- numbers of what ran.
function M.report_live(broken, before, which)
  for kind, n in pairs(M.live()) do
    if n ~= before[kind] then
      broken[#broken + 1] = ("%s: %d %s live, %d before"):format(which, n, kind,
                                                              before[kind])
    end
  end
end

--- Runs a round: did its call go through, and what promise it broke, if any.
function M.check(round)
  local before = values.all_contents(round.tensors)
  -- bincount of a large number may ask for all the memory of the machine
  local limit = st.memory.set_limit(LARGEST)
  local ok, why = pcall(round.run)
  st.memory.set_limit(limit)
  st.memory_fail_at(0)
  if ok and round.writes then return true end
  for i, t in ipairs(round.tensors) do
    if values.contents(t) ~= before[i] then
      return ok, ("input %d changed (%s)"):format(i, ok and "a pure call" or
                                                  tostring(why))
    end
  end
  if not ok and type(why) == "string" and why:find "attempt to " and
     not why:find "spec/fuzz" and not why:find "to yield" then
    return false, "an error of Lua itself: " .. why
  end
  return ok
end

--- The promises that rounds first..last of a seed break, as texts, and how
-- many rounds went through. note(i, text) hears of each before it runs.
function M.run(seed, first, last, note)
  local all = M.all or operators.overloads()
  M.all = all
  local broken, passed = {}, 0
  local before = M.live()
  for i = first, last do
    local c = values.case(seed, i)
    local make = c:chance(0.72) and operators.round or c:pick(KINDS)
    local round = make(c, all)
    if note then note(i, round.text) end
    local ok, what = M.check(round)
    if ok then passed = passed + 1 end
    if what then
      broken[#broken + 1] = ("seed %d round %d: %s: %s"):format(seed, i,
                                                     round.text, what)
    end
  end
  others.close()
  local which = ("seed %d rounds %d to %d"):format(seed, first, last)
  M.report_live(broken, before, which)
  return broken, passed
end

return M
