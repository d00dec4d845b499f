--- A C program as the host: it forks, ends in every way, and its threads come
-- and go. A hang is a failure: each program gives itself a time.

local build = require "spec.support.build"
local host = require "spec.hosts.host"
local lapack = require "spec.support.lapack"

-- Their allocator has locks that stay taken in a child, and they look for
-- leaks while other threads are at work.
local why = build.is_sanitized and "sanitizers cannot do this" or nil

host.suite("A process that forks", why, function()
  it("has children that compute and may ask for threads", function()
    local program = build.program "process/forks"
    assert.equal([[
a thread without a team
a parent at rest
a busy parent: 100 children
two at once
inside a region
a child that returns into a region
programs
]], build.run(program .. " 100"))
  end)
end)

host.suite("A process ends", why, function()
  local program, unload
  setup(function()
    program = build.program "process/exits"
    unload = build.program "process/unload"
  end)

  for _, way in ipairs {
    "asleep", "thread", "last thread", "busy", "busy quick", "busy now",
    "at exit",
  } do
    it("ten times, " .. way, function()
      assert.equal(("0\n"):rep(10), build.output(
        ("for i in 1 2 3 4 5 6 7 8 9 10; do env -u LD_PRELOAD %s '%s'; " ..
         "echo $?; done"):format(program, way)))
    end)
  end

  it("after the library was unloaded", function()
    assert.equal("0\n", build.run(("%s '%s/lib/libstrided.so'; echo $?")
                                  :format(unload, build.folder)))
  end)
end)

host.suite("Threads of a host", why, function()
  it("begin at once, compute, and leave nothing when they go", function()
    local program = build.program "process/come"
    assert.equal("begun by 8 at once\n1000 came and went\n",
                 build.run(program .. " 1000"))
  end)
end)

host.suite("A process that requires strided", why, function()
  local function say(script)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write([[
      local function read(name)
        local file = assert(io.open("/proc/self/" .. name))
        local text = file:read "*a"
        file:close()
        return text
      end
      local function has_lapack()
        local maps = read "maps"
        return (maps:find "libopenblas" or maps:find "liblapack") ~= nil
      end
      local st = require "strided"
    ]], script)
    file:close()
    local text = build.run("luajit " .. path)
    os.remove(path)
    return text
  end

  it("is resident in less than 10 MB", function()
    local said = say 'print(read "status":match "VmRSS:%s*(%d+)")'
    local kilobytes = assert(tonumber(said), said)
    assert.is_true(kilobytes < 10240, kilobytes .. " kB")
  end)

  local _it = lapack.it_of("linalg_eigvals", it, pending)
  _it("loads LAPACK for what nothing else computes", function()
    assert.equal("false\tfalse\ttrue\n", say [[
      local before, large = has_lapack(), st.ones(999, 999)
      st.matmul(large, large)
      local a = st.randn(30, 20)
      st.linalg.svd(a)
      st.linalg.lstsq(a, a, {driver = "gelsd"})
      local between = has_lapack()
      st.linalg.eigvals(st.ones(30, 30))
      print(before, between, has_lapack())
    ]])
  end)
end)
