--- Products, convolutions, transforms, reductions and training give on arm64
-- the bits that they give here (operator_bits/arm64.lua).
-- axes: none

local arm64 = require "spec.op.operator_bits.arm64"
local build = require "spec.support.build"
local st = require "strided"

local ipairs = ipairs

-- Processors without fused multiply-add round products; a sanitizer makes the
-- programs slow, and other Luas print other numbers.
if not st.config().fma or build.is_sanitized or not jit then return end

describe("The bits of arm64", function()
  for _, row in ipairs(arm64) do
    it(("are those of %s %s"):format(row[1], row[2]), function()
      local text = build.output(("%s '%s/spec/%s' %s"):format(
        build.lua, build.root, row[1], row[2]))
      local printed = text:match "^(.*\n)%w+\n$"
      assert.equal(row[3], arm64.checksum(assert(printed, text)), text)
    end)
  end
end)
