--- PyTorch's answers to calls whose strides, dtypes or special values are
-- easily missed: spec/vectors/operators.py.
-- axes: isa

local live = require("spec.support.tensors").live
local replay = require "spec.conformance.replay"
local root = require("spec.support.build").root

describe("PyTorch's answers to single calls", function()
  it("are those of strided", function()
    local before = live()
    local result = replay.file(root .. "/spec/data/operators.jsonl.gz")
    local wrong = {}
    for i, failure in ipairs(result.failures) do
      wrong[i] = ("%s: %s"):format(failure[1], tostring(failure[2]))
    end
    assert.equal("", table.concat(wrong, "\n"))
    assert.equal(0, result.unsupported)
    assert.is_true(result.passed > 200)
    assert.same(before, live())
  end)
end)
