--- A training run ends in the same bits on every instruction set with a fused
-- multiply-add, and with any number of threads.
-- axes: none

local build = require "spec.support.build"

local ipairs = ipairs

local HERE = build.root .. "/spec/strided/nn/training_bits/run.lua"

describe("Training of a CNN and of a transformer", function()
  it("ends in the same bits", function()
    local first
    for threads, isa in ipairs {"avx512", "avx2", "avx512"} do
      local text = build.output(
        ("env STRIDED_NUM_THREADS=%d STRIDED_ISA=%s %s '%s' 10"):format(
          threads, isa, build.lua, HERE))
      local digests, used = text:match "(cnn.*\n)(%w+)\n$"
      assert(digests and digests:find "\ntransformer\t10\t%d+\n", text)
      if build.has_fma(used) then
        first = first or digests
        assert.equal(first, digests)
      end
    end
  end)
end)
