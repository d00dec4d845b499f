--- A C program with several Lua states: in turn, in four threads, left open
-- at the end of the process, and forked.

local build = require "spec.support.build"
local host = require "spec.hosts.host"

-- Lua, folders its lua.h may be in, its library
local LUAS = {
  {"LuaJIT", "/usr/include/luajit-2.*", "luajit-5.1"},
  {"Lua 5.1", "/usr/include/lua5.1", "lua5.1"},
}

-- scene, how often, what it prints
local SCENES = {
  {"lives through 100 pairs of states, tensors outliving their makers",
   "turns", 100, "^100 pairs of states\n$"},
  {"hands tensors over among four threads while states come and go",
   "threads", 25, "^4 threads with states, 100 tensors handed over\n$"},
  {"gets errors for operators of other states, living and closed",
   "operators", 5, "^in another state: %S*states%.lua:%d+: states::thrice: its "
   .. "kernel is a function of a Lua state that is not running on this "
   .. "thread\nin another thread: [^\n]* is not running on this thread\n"
   .. "after its state: [^\n]*'thrice' %(a nil value%)\n$"},
  {"is forked 50 times at rest", "forks", 50,
   "^50 children of a process at rest\n$"},
  {"is forked 50 times while another thread is inside a parallel region",
   "forks-busy", 50,
   "^50 children of a process inside a parallel region\n$"},
}

-- Ways to end, each with the exit code asked for.
local ENDS = {
  "return", "return-asleep", "exit-open", "exit-in-thread",
  "exit-while-busy", "_exit",
}
local TIMES, CODE = 10, 7

local function find_headers(row)
  return build.output("ls -d " .. row[2] .. "/lua.h"):match "^(/[^\n]+)/lua%.h"
end

for _, row in ipairs(LUAS) do
  local headers = find_headers(row)
  local reason = not headers and row[1] .. "'s headers are not here" or nil
  host.suite("A C program with " .. row[1], reason, function()
    local program
    setup(function() program = build.program("hosts/states-" .. row[3]) end)

    local function run(scene, n)
      return host.run(("env -u LD_PRELOAD STRIDED_NUM_THREADS=2 LUA_PATH='%s' "
        .. "LUA_CPATH='%s' %s '%s/states/states.lua' %s %d"):format(
        host.path, host.cpath, program, host.here, scene, n), 300)
    end

    for _, scene in ipairs(SCENES) do
      it(scene[1], function()
        local text, code = run(scene[2], scene[3])
        assert.matches(scene[4], text)
        assert.equal(0, code, text)
      end)
    end

    it("ends cleanly whichever way it ends", function()
      for _, scene in ipairs(ENDS) do
        for _ = 1, TIMES do
          local text, code = run(scene, CODE)
          assert.equal(CODE, code, scene .. ": " .. text)
          assert.equal("", text)
        end
      end
      host.report("C program with %s: 200 states in turn, 4 threads, "
                  .. "100 forks, %d process exits", row[1], #ENDS * TIMES)
    end)
  end)
end
