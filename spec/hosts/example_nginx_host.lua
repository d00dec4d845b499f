--- examples/nginx: a network that reads digits, trained for a moment, in nginx.

local build = require "spec.support.build"
local files = require "spec.support.files"
local host = require "spec.hosts.host"
local server = require "spec.hosts.nginx.server"

local EXAMPLES = host.here .. "/../../examples/"
local REQUESTS = host.times(8000)
local SLACK = 2048 -- kilobytes that the memory of a worker may move

local THREE = "..####..\n.##..##.\n.....##.\n...###..\n.....##.\n.....##.\n"
  .. ".##..##.\n..####..\n"

host.suite("nginx that reads digits", server.lacks(), function()
  local nginx

  local function ask(body)
    return host.request(nginx.port, "/digit", body)
  end

  --- Kilobytes of the largest worker.
  local function largest()
    local most = 0
    for _, pid in ipairs(nginx:workers()) do
      most = math.max(most, host.resident(pid))
    end
    return most
  end

  local function train(options)
    local said, code = host.run(("env LUA_PATH='%s' LUA_CPATH='%s' %s "
      .. "'%scnn.lua' %s '%s'"):format(host.path, host.cpath, build.lua,
      EXAMPLES, options, host.scratch()))
    assert.equal(0, code, said)
  end

  setup(function()
    train "--epochs 3"
    nginx = server.run(function(values)
      local text = assert(files.read(EXAMPLES .. "nginx/nginx.conf"))
      local count
      text, count = text:gsub("127%.0%.0%.1:8080", "127.0.0.1:" .. values.port)
      assert.equal(1, count)
      text, count = text:gsub("include /etc/[^\n]*", (([[
        load_module MODULES/ndk_http_module.so;
        load_module MODULES/ngx_http_lua_module.so;
        USER]]):gsub("%u%u%u%u+", {MODULES = values.modules,
                                   USER = values.user})))
      assert.equal(1, count)
      return host.write("nginx.conf", text)
    end)
  end)

  it("answers a picture with its digit and probabilities", function()
    local answer, status = ask(THREE)
    assert.equal(200, status, nginx.process:output())
    local digit, list = answer:match
                        '^{"digit": (%d), "probabilities": %[(.*)%]}\n$'
    assert.equal("3", digit, answer)
    local sum, count = 0, 0
    for p in list:gmatch "[^, ]+" do
      sum, count = sum + tonumber(p), count + 1
    end
    assert.equal(10, count)
    assert.is_true(math.abs(sum - 1) < 0.001)
    local numbers = {}
    for c in THREE:gmatch "[.#]" do
      numbers[#numbers + 1] = c == "#" and 16 or 0
    end
    assert.equal(answer, (ask("[" .. table.concat(numbers, ", ") .. "]")))
    assert.equal(answer, (ask(THREE:gsub("%.", " "))))
  end)

  it("says what is wrong with others", function()
    for body, why in pairs {
      ["[1, 2]"] = "64 pixels are expected, not 2",
      ["[" .. ("1,"):rep(65) .. "1]"] = "more than 64 pixels",
      ["[" .. ("17,"):rep(64) .. "]"] = "a pixel is a number from 0 to 16",
      ["[[-1]]"] = "a pixel is a number from 0 to 16",
      ["[\"a\"]"] = "a pixel is a number from 0 to 16",
      ["#########"] = "a picture has 8 rows of 8 pixels",
      [("#\n"):rep(9)] = "a picture has 8 rows of 8 pixels",
      ["...\n..."] = "the picture is empty",
      [""] = "the picture is empty",
    } do
      local answer, status = ask(body)
      assert.equal(400, status, body)
      assert.equal(('{"error": "%s"}\n'):format(why), answer)
    end
    assert.equal(413, select(2, ask(("#"):rep(9000))))
    assert.equal(405, select(2, host.request(nginx.port, "/digit")))
    assert.equal(404, select(2, host.request(nginx.port, "/", THREE)))
  end)

  it("answers thousands of requests and needs no more memory", function()
    local script = host.write("post.lua", ("wrk.method, wrk.body = 'POST', %q")
                                          :format(THREE))
    local function send(n)
      local text, code = host.run(("wrk -t 1 -c 8 -d %ds -s '%s' "
        .. "http://127.0.0.1:%d/digit"):format(n, script, nginx.port))
      assert.equal(0, code, text)
      assert.is_nil(text:find "Non%-2xx", text)
      return tonumber(text:match "(%d+) requests in"),
             text:match "Requests/sec:%s*(%S+)"
    end
    local seconds = math.ceil(REQUESTS / 4000)
    send(1)
    local before = largest()
    local count, rate = send(seconds)
    local more = largest() - before
    assert.is_true(count > 1000, count)
    assert.is_true(more < SLACK, more .. " KB")
    host.report("nginx read %d pictures of digits, %s per second; memory of "
                .. "the largest worker %+d KB", count, rate, more)
  end)

  it("loads another network when it is told to", function()
    local answer = ask(THREE)
    train "--epochs 1 --seed 1"
    assert.equal(answer, (ask(THREE)))
    nginx:signal "reload"
    assert.is_truthy(host.eventually(function()
      return ask(THREE) ~= answer and #nginx:workers() == 2
    end))
    assert.equal(200, select(2, ask(THREE)))
    nginx:signal "quit"
    assert.equal(0, nginx.process:wait(30))
    assert.is_nil(nginx.process:output():find "exited on signal")
  end)
end)
