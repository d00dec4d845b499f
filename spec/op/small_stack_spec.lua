--- Threads with a stack of 48 KB: every operator runs there. The frames of
-- sanitized builds are larger.
-- axes: lua5.4 unsanitized

local build = require "spec.support.build"

local SIZE = build.is_sanitized and 512 or 48 -- KB
local EXPECTED = build.is_sanitized and "^all operators, most in [^\n]+\n$"
                                     or "^all operators, most in 48 KB\n$"

-- Clang's frames are larger, and not held to a size.
local _it = build.is_by_clang() and pending or it

describe("On a thread with a stack of 48 KB", function()
  _it("every operator runs, and recursion is an error", function()
    local lua = rawget(_G, "jit") and "luajit-5.1" or build.lua
    assert.matches(EXPECTED, build.output(
      ("%s %d '%s/spec/hosts/stack/operators.lua'"):format(
        build.program("hosts/stack-" .. lua), SIZE, build.root)))
  end)
end)
