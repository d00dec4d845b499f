--- Elementwise operators and copies against the naive loop: the program in
-- spec/property, which sees the one public header, makes random calls, on
-- shapes, strides, dtypes and overlaps as they come. Every element must be
-- what plain C gives over the logical indices, every other byte what it was,
-- and what has no answer must be refused and leave all as it was.
--
-- The kernels are those of STRIDED_ISA, the number of threads is the case's
-- own. So a case that passes under every instruction set has the same bits
-- under all of them, and with every number of threads and in every layout that
-- the seed brings.
--
-- A failure names the seed and the case. PROPERTY="SEED COUNT" asks for other
-- cases.
-- axes: isa

local build = require "spec.support.build"

-- LuaJIT's runs are the long ones: the program does not know who called it.
-- STRIDED_WHOLE makes them longer, for each instruction set.
local CASES = os.getenv "PROPERTY" or build.is_sanitized and "2 20000"
  or not rawget(_G, "jit") and "3 20000"
  or os.getenv "STRIDED_WHOLE" and "1 200000"
  or os.getenv "STRIDED_ISA" and "1 50000" or "1 100000"

describe("Elementwise results", function()
  local program
  setup(function() program = build.program "property/property" end)

  it("are compared byte by byte", function()
    local text = build.run(program .. " 1 2000 damage")
    local noticed, changed = text:match
      "^(%d+) of (%d+) changed bytes were noticed\n$"
    assert.truthy(noticed, text)
    -- The rest are bits of a NaN, of which one is as good as another.
    assert.is_true(changed - noticed < changed / 30)
    assert.is_true(tonumber(changed) > 1500)
  end)

  it("are those of the naive loop, whatever the layout", function()
    local seed, count = CASES:match "^(%d+) (%d+)$"
    local text = build.run(("%s %s %s"):format(program, seed, count))
    local cases, results, refusals, operators, all, pairs_copied =
      text:match("^seed " .. seed .. ": (%d+) cases, (%d+) results, (%d+) "
                 .. "refusals\n(%d+) of (%d+) operators, copies of (%d+) of "
                 .. "225 pairs of dtypes\n")
    assert.equal(count, cases, text)
    assert.equal(tonumber(count), results + refusals)
    if tonumber(count) >= 20000 then
      assert.equal(all, operators)
      assert.equal("225", pairs_copied)
    end
  end)
end)
