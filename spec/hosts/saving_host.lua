--- A process that is killed while it saves, or has no room to: the old file is
-- there, whole, and beside it is at most one temporary file, which the next
-- save deletes.

local build = require "spec.support.build"
local host = require "spec.hosts.host"
local st = require "strided"

local KILLS = host.times(30)
local LARGE = build.is_sanitized and 1024 * 1024 or 50 * 1024 * 1024 -- floats

local folder = host.scratch()
local path = folder .. "/saved.npy"

local function command(elements, times, target)
  return ("%s '%s/saving.lua' '%s' %d %d"):format(build.lua, host.here,
                                                  target or path, elements,
                                                  times)
end

--- The names beside the file.
local function others()
  local out = {}
  for name in build.output(("ls '%s'"):format(folder)):gmatch "[^\n]+" do
    if name:find "%.tmp$" then out[#out + 1] = name end
  end
  return out
end

--- True if no process holds the lock of a temporary file. A killed one that is
-- writing to a slow disk lives until the write is done.
local function is_over()
  for _, name in ipairs(others()) do
    local code = os.execute(("flock -n '%s/%s' true"):format(folder, name))
    if code ~= 0 and code ~= true then return false end
  end
  return true
end

--- The number that all elements of the file are.
local function number()
  local t = st.load(path)
  local low, high = t:min():item(), t:max():item()
  assert.equal(low, high)
  return low
end

describe("A save", function()
  setup(function() st.save(path, st.zeros(LARGE)) end)
  teardown(host.clean)

  it(("leaves a whole file when it is killed, %d times"):format(KILLS),
     function()
    local seen, moment, interrupted = {}, 12345, 0
    for k = 1, KILLS do
      local p = host.start("exec " .. command(LARGE, 1000), 60)
      assert.truthy(host.eventually(function()
        return p:output():find "saving"
      end))
      moment = moment * 16807 % 2147483647
      os.execute(("sleep %.3f"):format(moment / 2147483647 * 0.4))
      p:stop "KILL"
      assert.truthy(host.eventually(is_over, 60), "the lock is kept")
      seen[number()] = true
      collectgarbage()
      assert.is_true(#others() <= 1, k .. " kills")
      interrupted = interrupted + #others()
    end
    assert.is_true(interrupted > 0, "no kill came while it saved")
    st.save(folder .. "/other.npy", st.zeros(1))
    assert.same({}, others())
    host.report("killed %d times while it saved %d MB: the file was whole",
                KILLS, LARGE * 4 / 2 ^ 20)
    assert.truthy(next(seen))
  end)

  it("says that a file may not be so large, and lives on", function()
    st.save(path, st.full({100}, 7))
    local text, code = host.run("ulimit -f 1; " .. command(1000000, 1))
    assert.equal(3, code, text)
    assert.matches("cannot save '" .. path:gsub("%p", "%%%0") ..
                   "': File too large", text)
    assert.equal(7, number())
    assert.same({}, others())
  end)

  it("says that the folder is not there", function()
    local text, code = host.run(command(10, 1, folder .. "/none/x.npy"))
    assert.equal(3, code)
    assert.matches("No such file", text)
  end)

  local probe = "unshare -rm sh -c 'mount -t tmpfs -o size=1m tmpfs /mnt'"
  local can_mount = select(2, host.run(probe)) == 0

  it("says that the disk is full, and takes its part away", function()
    if not can_mount then
      pending "a small file system cannot be mounted here"
      return
    end
    local text, code = host.run(("unshare -rm sh -c '%s'"):format((
      "mount -t tmpfs -o size=1m tmpfs /mnt && %s && ! %s && ls /mnt && %s")
      :format(command(100, 1, "/mnt/x.npy"), command(1000000, 1, "/mnt/x.npy"),
              command(100000, 1, "/mnt/y.npy")):gsub("'", "")))
    assert.equal(0, code, text)
    assert.matches("No space left on device", text)
    assert.matches("x%.npy", text)
    assert.is_nil(text:find("%.tmp", 1))
  end)
end)
