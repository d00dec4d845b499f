--- A program whose address space is limited (RLIMIT_AS) once Lua runs, with
-- one state and with four in threads of their own.

local build = require "spec.support.build"
local host = require "spec.hosts.host"

local INCLUDE = "/usr/include/lua5.1"
local ROOM = 200 -- megabytes above what the process has

local reason = not host.read(INCLUDE .. "/lua.h") and "Lua 5.1 is not here" or
               build.is_sanitized and "AddressSanitizer needs address space"

host.suite("A process with little address space", reason, function()
  local program
  setup(function() program = build.program "hosts/limits" end)

  for _, threads in ipairs {1, 4} do
    it(("gets clean errors, and goes on, with %d states"):format(threads),
       function()
      local text, code = host.run((
        "LUA_PATH='%s' LUA_CPATH='%s' %s '%s/limits.lua' %d %d"):format(
        host.path, host.cpath, program, host.here, threads, ROOM))
      assert.equal(0, code, text)
      assert.equal(threads, select(2, text:gsub("bytes requested", "")))
      host.report("RLIMIT_AS, %d states: %s", threads, text:match "[^\n]*")
    end)
  end
end)
