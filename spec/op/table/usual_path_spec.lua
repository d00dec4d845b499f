--- Shortcuts of calls, direct calls of pointwise operators and cached overload
-- resolutions give what the usual path gives.
-- axes: isa lua5.4
-- sampled: 3

local build = require "spec.support.build"

-- More where calls of C functions are compiled; the others are the same code.
local CALLS = rawget(_G, "jit") and not build.is_sanitized and 1500 or 500

local function calls(seed, environment)
  return build.output(("%s %s '%s/spec/support/shortcut_calls.lua' %d %d")
                      :format(environment, build.lua, build.root, seed, CALLS))
end

describe("Shortcuts of calls", function()
  for _, seed in ipairs {20221, 7, 130363} do
    it("change no result and no error, seed " .. seed, function()
      local usual = calls(seed, "STRIDED_SHORTCUTS=0")
      local _, n = usual:gsub(" | ", "")
      assert.is_true(n > 4 * CALLS, usual:sub(1, 500))
      assert.is_true(usual == calls(seed, "STRIDED_SHORTCUTS=1"))
    end)
  end
end)
