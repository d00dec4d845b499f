--- A host that forks while another of its threads runs Lua states: by the rules
-- of the README no child hangs or dies.

local build = require "spec.support.build"
local host = require "spec.hosts.host"

-- Their allocator has locks that stay taken in a child.
local why = build.is_sanitized and "sanitizers cannot do this" or nil

-- Lua library, scene, number of forks, what the rule says
local RULES = {
  {"luajit-5.1", "between", 1000, "forks between calls of Lua"},
  {"luajit-5.1", "off", 1000, "turns the compiler off in other threads"},
  {"lua5.1", "compiling", 1000, "runs a Lua without a compiler"},
  {"luajit-5.1", "required", 200, "requires strided before it forks"},
  {"lua5.1", "required", 200, "requires strided before it forks, in Lua 5.1"},
}

host.suite("A host that forks", why, function()
  local function run(lua, scene, n)
    local program = build.program("hosts/forking-" .. lua)
    return host.run(("env -u LD_PRELOAD LUA_PATH='%s' LUA_CPATH='%s' %s %s %d")
                    :format(host.path, host.cpath, program, scene, n), 300)
  end

  for _, rule in ipairs(RULES) do
    local lua, scene, n = rule[1], rule[2], host.times(rule[3])
    it(rule[4], function()
      local text, code = run(lua, scene, n)
      assert.equal(("%d of %d children were well\n"):format(n, n), text)
      assert.equal(0, code)
    end)
  end
end)
