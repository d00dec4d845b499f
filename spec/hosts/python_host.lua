--- Python: NumPy, and PyTorch where it is there, take tensors from a Lua in
-- their process and give it theirs, by DLPack. Nothing but the address of the
-- structure goes over.
--
-- STRIDED_PYTHON is the Python to take; otherwise it is the first in the path
-- that has NumPy, or Debian's.

local host = require "spec.hosts.host"

--- Does a line run in a Python?
local function runs(python, line)
  local _, code = host.run(("'%s' -c '%s'"):format(python, line))
  return code == 0
end

--- Has it a lupa with LuaJIT? lupa 1 has but one Lua.
local function has_lupa(python)
  return runs(python, "import lupa.luajit21") or
         runs(python, 'import lupa; assert lupa.LuaRuntime().eval("jit")')
end

local function find()
  for _, python in ipairs {os.getenv "STRIDED_PYTHON" or "python3",
                           "/usr/bin/python3"} do
    if runs(python, "import numpy") then return python end
  end
end

local PYTHON = find()

local function exchange(library)
  return host.run(("env -u LD_PRELOAD OMP_NUM_THREADS=2 LUA_PATH='%s' "
    .. "LUA_CPATH='%s' '%s' '%s/python/exchange.py' '%s'"):format(
    host.path, host.cpath, PYTHON, host.here, library))
end

host.suite("Python", not PYTHON and "no Python has NumPy" or nil, function()
  for _, row in ipairs {{"LuaJIT", "libluajit-5.1.so.2"},
                        {"Lua 5.1", "liblua5.1.so.0"}} do
    it("exchanges arrays with " .. row[1], function()
      local text, code = exchange(row[2])
      assert.equal(0, code, text)
      assert.matches("^NumPy [%d.]+ %l+\n", text)
      host.report("Python, %s: %s", row[1], text:gsub("\n", ", "):sub(1, -3))
    end)
  end

  it("exchanges arrays with the LuaJIT of lupa", function()
    if not has_lupa(PYTHON) then
      return pending "lupa, with LuaJIT, is not there"
    end
    local text, code = exchange "lupa"
    assert.equal(0, code, text)
    assert.matches("^NumPy [%d.]+ %l+\n", text)
    host.report("Python, lupa: %s", text:gsub("\n", ", "):sub(1, -3))
  end)
end)
