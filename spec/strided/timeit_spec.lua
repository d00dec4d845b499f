--- st.timeit.
-- axes: lua

local raises = require("spec.support.tensors").raises
local core = require "strided.core"
local st = require "strided"

describe("st.timeit", function()
  it("says how long a call takes", function()
    local count, got = 0, nil
    local t = st.timeit(function(...)
      count, got = count + 1, {...}
      local from = core.clock()
      while core.clock() - from < 0.003 do end
    end, 1, "two")
    assert.same({1, "two"}, got)
    assert.equal(5, t.runs)
    assert.is_true(count >= 5 * t.calls)
    assert.is_true(t.best >= 0.003 and t.best <= t.mean and t.mean < 1)
    assert.matches("^[%d.]+ m?s a call %(best of 5 x %d+, mean [%d.]+ m?s%)$",
                   tostring(t))
  end)

  it("calls often what is quick", function()
    local t = st.timeit(function() end)
    assert.is_true(t.calls > 1000 and t.calls % 1 == 0)
    assert.is_true(t.best < 1e-4)
  end)

  it("has units", function()
    local text = require("strided.timeit").seconds_text
    assert.equal("1.5 ns", text(1.5e-9))
    assert.equal("999 ns", text(9.99e-7))
    assert.equal("1 us", text(9.999e-7))
    assert.equal("12.3 us", text(12.34e-6))
    assert.equal("250 ms", text(0.25))
    assert.equal("1 s", text(0.9999))
    assert.equal("90 s", text(90))
  end)

  it("takes a function, and its errors are errors", function()
    raises({"timeit: ", "function", "number"}, st.timeit, 1)
    raises({"inner"}, st.timeit, function() error "inner" end)
    assert.is_true(st.timeit(st.ops.aten.relu, st.ones(2)).best > 0)
  end)
end)
