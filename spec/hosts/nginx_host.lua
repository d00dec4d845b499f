--- nginx ranks vectors: loaded by the master, ranked by four workers that are
-- forked from it, reloaded and killed.

local st = require "strided"
local client = require "spec.hosts.rank.client"
local host = require "spec.hosts.host"
local server = require "spec.hosts.nginx.server"
local send_scripts = require "spec.hosts.strangers"

local ROWS, SIZE = 10000, 768
local RELOADS, REQUESTS = host.times(10) * 10, host.times(2000)
local WORKERS = server.WORKERS
local ROUNDS = 8 -- of 2 * REQUESTS: the most until one needs no more memory
local SLACK = 4096 -- kilobytes that the memory of a master may move
local STEADY = 1024 -- kilobytes that a worker may need more in a steady round

-- The vectors are loaded before the sandbox takes files away.
local SCRIPTS = {
  init = [[
    scripts = require "spec.hosts.scripts"
    scripts.open()
  ]],
  more = [[
    location /script {
      content_by_lua_block {
        ngx.req.read_body()
        ngx.print(select(2, scripts.run(ngx.req.get_body_data())))
      }
    }
  ]],
}

host.suite("nginx", server.lacks(), function()
  local nginx, lists
  local version = host.run "nginx -v":match "nginx/(%S+)"
  local said = {requests = 0, deaths = 0, rate = "", master = 0, rounds = {}}

  local function send(wanted)
    local sent, rest = client.send(nginx.port, "/rank", wanted)
    assert.is_number(sent, rest)
    said.requests, said.rate = said.requests + sent, rest
  end

  --- Kilobytes of the largest worker: others may not have served yet.
  local function largest()
    local most = 0
    for _, pid in ipairs(nginx:workers()) do
      most = math.max(most, host.resident(pid))
    end
    return most
  end

  setup(function()
    lists = client.write_data(ROWS, SIZE)
    nginx = server.start(SCRIPTS)
  end)

  after_each(function()
    assert.equal(said.deaths, nginx:logged "exited on signal", nginx:log())
  end)

  it("answers what plain loops find", function()
    assert.is_nil(client.compare(nginx.port, "/rank", lists))
    assert.equal(400, select(2, host.request(nginx.port, "/rank", "short")))
  end)

  it("computes on one thread in a worker, and on all in the master",
     function()
    local _, here, at_load = host.request(nginx.port, "/who"):match
                             "^(%d+) (%d+) (%d+)$"
    assert.equal(1, tonumber(here))
    assert.equal(st.get_num_threads(), tonumber(at_load))
  end)

  -- A leak adds to every round. What waits for the collector does not: its
  -- peak is as high as the heap and the requests of that moment make it.
  it("answers many requests and needs no more memory", function()
    local grown = math.huge
    send(REQUESTS)
    while grown >= STEADY and #said.rounds < ROUNDS do
      local before = largest()
      send(2 * REQUESTS)
      grown = largest() - before
      said.rounds[#said.rounds + 1] = ("%+d"):format(grown)
    end
    assert.is_true(grown < STEADY, table.concat(said.rounds, " ") .. " KB")
  end)

  it("runs scripts of strangers in a sandbox, and goes on", function()
    for _ = 1, WORKERS do
      assert.equal(12, send_scripts(nginx.port, "/script"))
    end
    send(500)
    assert.is_nil(client.compare(nginx.port, "/rank", lists))
  end)

  it("computes in a thread of a worker", function()
    for n = 1000, 20000, 1000 do
      assert.equal(tostring(n * (n + 1) / 2),
                   (host.request(nginx.port, "/thread?n=" .. n)))
    end
  end)

  it("is reloaded many times while it answers", function()
    local _, master = nginx:workers()
    local load, before
    for i = 1, RELOADS do
      if not load then
        load = host.start(client.load(nginx.port, "/rank", host.times(10), {
          connections = 2, connection = "close",
        }))
      end
      nginx:signal "reload"
      assert.is_truthy(host.eventually(function()
        return nginx:logged "start worker process " == (i + 1) * WORKERS
      end, 30), nginx:log())
      if i == RELOADS / 10 then before = host.resident(master) end
      if i == RELOADS or load:wait(0) then
        assert.equal(0, load:wait(30))
        local sent, rest = client.read(load:output())
        assert.is_number(sent, rest)
        said.requests = said.requests + sent
        load = nil
      end
    end
    assert.is_truthy(host.eventually(function()
      return nginx:logged "exited with code 0" == RELOADS * WORKERS
    end), nginx:log())
    said.master = host.resident(master) - before
    assert.is_true(said.master < SLACK, said.master .. " KB")
  end)

  it("goes on when a worker is killed", function()
    local victim = nginx:workers()[1]
    host.run("kill -KILL " .. victim)
    said.deaths = 1
    assert.is_truthy(host.eventually(function()
      local pids = nginx:workers()
      return #pids == WORKERS and pids[1] ~= victim
    end))
    send(500)
  end)

  it("ends when it is told to, and leaves nothing", function()
    local _, master = nginx:workers()
    nginx:signal "quit"
    assert.equal(0, nginx.process:wait(30))
    assert.is_nil(host.resident(master))
    assert.equal("", nginx.process:output())
    host.report("nginx %s: %d requests ranked %d vectors of %d floats (%s); "
                .. "%d reloads; memory of the largest worker %s KB in rounds "
                .. "of %d requests, of the master %+d KB over %d reloads",
                version, said.requests, ROWS, SIZE, said.rate, RELOADS,
                table.concat(said.rounds, " "), 2 * REQUESTS, said.master,
                RELOADS * 0.9)
  end)
end)
