--- The instructions of calls from Lua, which ./dev bench instructions lists.
-- axes: unsanitized

local build = require "spec.support.build"

local _it = (build.is_sanitized or build.is_by_clang()) and pending or it

describe("The instructions of a call", function()
  _it("are within a tenth of what is known", function()
    local text = build.output(("cd '%s'; luajit bench/instructions.lua")
                              :format(build.root))
    assert.matches("\n0 counts of %d+ differ by more than a tenth", text)
  end)
end)
