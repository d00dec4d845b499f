--- A program whose Lua has an allocator that fails: each allocation of a state
-- in turn, while strided is opened and while a script works with it.

local build = require "spec.support.build"
local host = require "spec.hosts.host"

-- Lua, folder of its lua.h, its library, folder of the binding in the build
local LUAS = {
  {"Lua 5.1", "/usr/include/lua5.1", "lua5.1", "lua"},
  {"Lua 5.3", "/usr/include/lua5.3", "lua5.3", "lua5.3"},
  {"Lua 5.4", "/usr/include/lua5.4", "lua5.4", "lua5.4"},
}

local function lacks(row)
  if not host.read(row[2] .. "/lua.h") then return row[1] .. " is not here" end
  if not host.read(("%s/%s/strided/core.so"):format(host.folder, row[4])) then
    return "there is no binding for " .. row[1]
  end
end

for _, row in ipairs(LUAS) do
  host.suite(row[1] .. " that runs out of memory", lacks(row), function()
    local program
    setup(function() program = build.program("hosts/allocator-" .. row[3]) end)

    it("gets errors, and closes with nothing left", function()
      local cpath = ("%s/%s/?.so"):format(host.folder, row[4])
      local text, code = host.run((
        "env -u LD_PRELOAD LUA_PATH='%s' LUA_CPATH='%s' STRIDED_SCRATCH='%s' "
        .. "%s '%s/allocator.lua'"):format(host.path, cpath, host.scratch(),
                                             program, host.here))
      assert.equal(0, code, text)
      local scenarios, failures = 0, 0
      for n in text:gmatch ": (%d+)" do
        scenarios, failures = scenarios + 1, failures + n
      end
      assert.is_true(scenarios > 15)
      assert.is_true(failures > 1500)
      host.report("%s: %d failed allocations in %d scenarios", row[1],
                  failures, scenarios)
    end)
  end)
end
