--- An input that shares memory with an output is read as if from a copy: random
-- calls of every operator, against the same calls on copies.
-- axes: isa

local live = require("spec.support.tensors").live
local overlapping = require "spec.conformance.overlapping"
local overlap = require "spec.conformance.overlap"

-- For each operator: all in `./dev test all`, a sample of them otherwise.
local WHOLE = os.getenv "STRIDED_WHOLE" ~= nil
local CASES = WHOLE and 120 or os.getenv "STRIDED_SANITIZED" and 2 or 6

describe("An input that shares memory with an output", function()
  local before

  setup(function() before = live() end)

  it("is read as if from a copy, by every operator", function()
    local names, met = overlapping.operators(), {}
    local done, different, tries = 0, 0, 0
    local cases = CASES * #names
    overlapping.seed(20)
    while done < cases do
      local name = names[tries % #names + 1]
      local case = overlapping.case(name)
      tries = tries + 1
      if case then
        local ok, why, refused = overlap.as_on_copies(case.make)
        assert.is_true(ok, ("try %d, %s: %s"):format(tries, name,
                                                     tostring(why)))
        if not refused then
          done = done + 1
          if not met[name] then different = different + 1 end
          met[name] = true
        end
      end
      assert.is_true(tries < 20 * cases)
    end
    assert.is_true(different > (WHOLE and 0.95 or CASES == 6 and 0.8 or 0.6)
                   * #names)
  end)

  it("leaves no tensor behind", function()
    assert.is_true(live() <= before)
  end)
end)
