--- Attacks that are generated: every module by its name, every public function
-- with values of every kind. Nothing of the host is reached.
-- axes: lua ffi

local build = require "spec.support.build"

-- One of so many calls; with STRIDED_WHOLE all.
local PART = os.getenv "STRIDED_WHOLE" and 1 or 40

local function run(arguments)
  return build.shell(("LUA_PATH='%s' LUA_CPATH='%s' %s "
    .. "'%s/spec/strided/sandbox/attacks.lua' %d %s 2>/dev/null"):format(
      package.path, package.cpath, build.lua, build.root, PART, arguments))
end

describe("Generated attacks in a sandbox", function()
  for _, arguments in ipairs(rawget(_G, "jit") and {"", "no_ffi"} or {""}) do
    it("reach nothing " .. arguments, function()
      local text, status = run(arguments)
      assert.equal(0, status, text)
      local attacks, reached = text:match "^(%d+) attacks\n(.*)$"
      assert.equal("", reached)
      assert.is_true(tonumber(attacks) > 3000, text)
    end)
  end
end)
