--- Python: NumPy, and PyTorch where it is there, take tensors from a Lua in
-- their process and give it theirs, by DLPack. Nothing but the address of the
-- structure goes over.
--
-- STRIDED_PYTHON is the Python to take, one with NumPy.

local host = require "spec.hosts.host"

local PYTHON = os.getenv "STRIDED_PYTHON" or "python3"

--- Can this Python import a module?
local function has(module)
  local _, code = host.run(("'%s' -c 'import %s'"):format(PYTHON, module))
  return code == 0
end

local function lacks()
  return host.lacks(PYTHON) or not has "numpy" and PYTHON .. " has no NumPy"
         or nil
end

local function exchange(library)
  return host.run(("env -u LD_PRELOAD OMP_NUM_THREADS=2 LUA_PATH='%s' "
    .. "LUA_CPATH='%s' '%s' '%s/python/exchange.py' '%s'"):format(
    host.path, host.cpath, PYTHON, host.here, library))
end

host.suite("Python", lacks(), function()
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
    if not has "lupa.luajit21" then return pending "lupa is not there" end
    local text, code = exchange "lupa"
    assert.equal(0, code, text)
    assert.matches("^NumPy [%d.]+ %l+\n", text)
  end)
end)
