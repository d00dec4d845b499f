--- Benchmarks ranking 10,000 vectors in nginx, by strided and by a LuaJIT loop,
-- alternately, with the same server, vectors and requests.
--
--     ./dev hosts bench [SECONDS]

local client = require "spec.hosts.rank.client"
local host = require "spec.hosts.host"
local server = require "spec.hosts.nginx.server"

local ROWS, SIZE, ROUNDS = 10000, 768, 3
local SECONDS = tonumber(arg[1]) or 5

-- path, what answers there
local WAYS = {{"/rank", "strided"}, {"/plain", "plain Lua"}}

local function measure(nginx, lists)
  local results = {}
  for i, way in ipairs(WAYS) do
    local why = client.compare(nginx.port, way[1], lists)
    if why then error(way[2] .. ": " .. why) end
    results[i] = {}
  end
  for _ = 1, ROUNDS do
    for i, way in ipairs(WAYS) do
      client.compare(nginx.port, way[1], lists) -- its answers to the digit
      local n, said = client.read((host.run(client.load(nginx.port, way[1],
                                                        SECONDS))))
      if not n then error(said) end
      local rate = tonumber(said:match "%d+")
      table.insert(results[i], {rate, said})
    end
  end
  return results
end

local function show(results)
  for i, way in ipairs(WAYS) do
    table.sort(results[i], function(a, b) return a[1] > b[1] end)
    print(("%-10s best of %d: %s"):format(way[2], ROUNDS, results[i][1][2]))
    results[i].median = results[i][math.ceil(ROUNDS / 2)][1]
  end
  print(("strided answers %.1f times as many (best), %.1f times (median)")
        :format(results[1][1][1] / results[2][1][1],
                results[1].median / results[2].median))
end

local why = server.lacks()
if why then
  print("nginx cannot be measured: " .. why)
  os.exit(1)
end
print(("%d vectors of %d floats, %d workers, 8 connections"):format(
      ROWS, SIZE, server.WORKERS))
local ok, failure = xpcall(function()
  local lists = client.write_data(ROWS, SIZE)
  show(measure(server.start {
    init = 'plain = require "spec.hosts.rank.plain"; plain.load "'
           .. host.scratch() .. '/vectors.npy"',
    more = "location /plain { content_by_lua_block { rank(plain) } }",
  }, lists))
end, debug.traceback)
host.clean()
if not ok then error(failure, 0) end
