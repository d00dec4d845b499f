--- Neovim: lines of a buffer as vectors, threads of its loop and its pool with
-- Lua states of their own, and leaving it in the middle of all that.

local host = require "spec.hosts.host"

local EXITS = 20 -- in each way
local WAYS = {"joined", "thread", "work"}

--- Runs scripts: what was printed, the exit code.
local function run(scripts, how)
  local commands = {}
  for script in scripts:gmatch "%S+" do
    commands[#commands + 1] = ("-c 'luafile %s/neovim/%s.lua'"):format(
                              host.here, script)
  end
  return host.run(("env STRIDED_NUM_THREADS=2 LUA_PATH='%s' LUA_CPATH='%s' "
    .. "XDG_STATE_HOME='%s' LEAVE='%s' nvim --headless -u NONE -i NONE -n %s "
    .. "-c 'qa!'"):format(host.path, host.cpath, host.scratch(), how or "",
    table.concat(commands, " ")), 120)
end

host.suite("Neovim", host.lacks "nvim", function()
  local version = host.run("nvim --version", 10):match "NVIM v(%S+)"

  -- script, what it prints
  local SCRIPTS = {
    {"finds lines that resemble each other", "lines",
     "3 5 1 2 2\n%s+%[0%.%d+, 0%.%d+, 0%.%d+, 0%.%d+, 1%.0000%]%], "
     .. "dtype=float64%)\n"},
    {"computes in a thread with a state of its own", "thread",
     "here 55, there 2\n"},
    {"makes batches in worker threads", "loader", "380 in batches\n"},
    {"computes in the threads of its pool", "work",
     "12 rows squared\n"},
  }
  for _, script in ipairs(SCRIPTS) do
    it(script[1], function()
      local text, code = run(script[2])
      assert.matches("^" .. script[3] .. "$", text)
      assert.equal(0, code)
    end)
  end

  it("shows a mistake with the line it was made in", function()
    local text, code = run "wrong message"
    assert.matches("<E5113: [^>]*neovim/wrong%.lua:5: matmul: [^>]+>", text)
    assert.equal(0, code)
  end)

  it("is left 60 times without a crash or a hang", function()
    for _, way in ipairs(WAYS) do
      for _ = 1, EXITS do
        local text, code = run("leave", way)
        assert.equal("", text)
        assert.equal(0, code)
      end
    end
    host.report("Neovim %s: similar lines, a thread, a pool of threads, "
                .. "an error, %d exits", version, EXITS * #WAYS)
  end)
end)
