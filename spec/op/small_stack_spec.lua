--- Threads with a stack of 48 KB: every operator runs there.
-- axes: lua

local build = require "spec.support.build"

describe("On a thread with a stack of 48 KB", function()
  it("every operator runs, and recursion is an error", function()
    if build.is_sanitized then return end -- their frames are larger
    local lua = rawget(_G, "jit") and "luajit-5.1" or build.lua
    assert.equal("all operators, most in 48 KB\n",
                 build.output(build.program("hosts/stack-" .. lua) ..
                              " 48 '" .. build.root ..
                              "/spec/hosts/stack/operators.lua'"))
  end)
end)
