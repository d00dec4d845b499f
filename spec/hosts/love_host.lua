--- LÖVE without a display: particles against their closed form, threads that
-- get tensors through channels, a tensor over the memory of a ByteData.

local host = require "spec.hosts.host"

local EXITS = 20

local function run(argument)
  return host.run(("env SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy "
    .. "STRIDED_NUM_THREADS=2 LUA_PATH='%s' LUA_CPATH='%s' HOME='%s' "
    .. "love '%s/love' %s"):format(host.path, host.cpath, host.scratch(),
    host.here, argument or ""), 120)
end

host.suite("LÖVE", host.lacks "love", function()
  local version = host.run("love --version", 10):match "LOVE ([%d.]+)"

  it("plays a game in which everything moves as it should", function()
    local text, code = run()
    assert.equal("120 frames, 12 measurements, Lua 5.1\n", text)
    assert.equal(0, code)
  end)

  it("ends while threads compute, without a crash or a hang", function()
    for _ = 1, EXITS do
      local text, code = run "leave"
      assert.equal("", text)
      assert.equal(0, code)
    end
    host.report("LÖVE %s: 120 frames, 2 threads, a ByteData, %d exits",
                version, EXITS)
  end)
end)
