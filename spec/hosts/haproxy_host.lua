--- HAProxy ranks vectors, in Lua 5.3 or whichever it was built with: as a
-- daemon that forked after its Lua states had computed, in two threads.

local st = require "strided"
local client = require "spec.hosts.rank.client"
local host = require "spec.hosts.host"
local send_scripts = require "spec.hosts.strangers"

local ROWS, SIZE = 2000, 768
local LUA = host.run "haproxy -vv":match "Built with Lua version : Lua (%d%.%d)"
local CPATH = ("%s/lua%s/?.so"):format(host.folder, LUA or "")

local function lacks()
  local why = host.lacks("haproxy", "wrk")
  if not why and not LUA then return "haproxy was built without Lua" end
  if not why and not host.read((CPATH:gsub("?", "strided/core"))) then
    why = "the build has no binding for Lua " .. LUA
  end
  return why
end

host.suite("HAProxy", lacks(), function()
  local port, pid, lists
  local requests, rates = 0, {}

  setup(function()
    lists = client.write_data(ROWS, SIZE)
    port = host.port()
    local config = host.write("haproxy.cfg", host.fill("haproxy/haproxy.cfg", {
      path = host.path:gsub(";;$", ""), cpath = CPATH, here = host.here,
      vectors = host.scratch() .. "/vectors.npy", port = port,
    }))
    local file = host.scratch() .. "/pid"
    local output, code = host.run(("exec haproxy -D -f '%s' -p '%s'"):format(
                                  config, file), 60)
    assert.equal(0, code, output)
    pid = tonumber((host.read(file)))
    host.adopt(pid)
    assert.is_true(host.answers(port))
  end)

  for _, row in ipairs {{"shared", "a state that its threads share"},
                        {"own", "a state per thread"}} do
    local path = "/" .. row[1]

    it("answers what plain loops find, in " .. row[2], function()
      assert.is_nil(client.compare(port, path, lists))
      assert.equal(400, select(2, host.request(port, path, "short")))
    end)

    it("answers 1,000 requests in " .. row[2], function()
      local sent, said = client.send(port, path, 1000)
      assert.is_number(sent, said)
      requests, rates[row[1]] = requests + sent, said:match "[^,]+"
      assert.is_number(host.resident(pid))
    end)
  end

  it("computes on one thread after the fork, and on all before", function()
    assert.equal("1 " .. st.get_num_threads(),
                 (host.request(port, "/who", "")))
  end)

  it("is interrupted in a mode, and goes on", function()
    for _ = 1, 10 do
      assert.equal("120100 200", (host.request(port, "/modes", "")))
    end
  end)

  it("runs scripts of strangers in sandboxes, and goes on", function()
    for _ = 1, 4 do assert.equal(12, send_scripts(port, "/script")) end
    for _, path in ipairs {"/shared", "/own"} do
      assert.is_nil(client.compare(port, path, lists))
    end
  end)

  it("ends when it is told to, and leaves nothing", function()
    host.run("kill -USR1 " .. pid)
    assert.is_truthy(host.eventually(function()
      return not host.resident(pid)
    end, 30))
    host.report("HAProxy %s, Lua %s: %d requests ranked %d vectors of %d "
                .. "floats (shared state %s, state per thread %s)",
                host.run "haproxy -v":match "version (%S+)", LUA, requests,
                ROWS, SIZE, rates.shared, rates.own)
  end)
end)
