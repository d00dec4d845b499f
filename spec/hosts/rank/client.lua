--- Asks a server that ranks vectors (vectors.lua): the data for it, what it
-- is to answer, and many requests at once.

local st = require "strided"
local host = require "spec.hosts.host"

local client = {QUERIES = 8, BEST = 10, NEAR = 100}

local sqrt = math.sqrt

-- -- Data --------------------------------------------------------------------

local function bytes(t)
  return require "strided.core".get_bytes(t, 0, t:numel() * t:element_size())
end

local function length(row)
  local sum = 0
  for i = 1, #row do sum = sum + row[i] * row[i] end
  return sqrt(sum)
end

--- All positions, by their cosine with the query, from loops over numbers.
local function rank(vectors, query)
  local list = {}
  for i, row in ipairs(vectors) do
    local sum = 0
    for j = 1, #row do sum = sum + row[j] * query[j] end
    list[i] = {i, sum / (length(row) * length(query))}
  end
  table.sort(list, function(a, b) return a[2] > b[2] end)
  return list
end

--- Writes vectors and queries into the scratch folder; the k-th query lies
-- near vector k * NEAR. Returns what is to be answered: for each query a list
-- of {position, cosine}.
function client.write_data(rows, size)
  st.manual_seed(size)
  local vectors = st.randn(rows, size)
  local queries = st.randn(client.QUERIES, size)
  local lists, numbers = {}, vectors:totable()
  for k = 1, client.QUERIES do
    queries[k]:add_(vectors[k * client.NEAR], {alpha = 0.25})
    host.write(k .. ".query", bytes(queries[k]))
    lists[k] = rank(numbers, queries[k]:totable())
  end
  st.save(host.scratch() .. "/vectors.npy", vectors)
  return lists
end

-- -- One by one --------------------------------------------------------------

local function differs(answer, list)
  local i = 0
  for position, cosine in answer:gmatch "%[(%d+),([%d.e-]+)%]" do
    i = i + 1
    if tonumber(position) ~= list[i][1] or
       math.abs(cosine - list[i][2]) > 1e-5 then
      return ("%s where %d, %.6f is expected"):format(answer, list[i][1],
                                                      list[i][2])
    end
  end
  if i ~= client.BEST then return answer end
end

--- Sends each query once and keeps the answers, for post.lua. Returns what is
-- wrong, or nil.
function client.compare(port, path, lists)
  for k, list in ipairs(lists) do
    local query = host.read(("%s/%d.query"):format(host.scratch(), k))
    local answer, status = host.request(port, path, query)
    if status ~= 200 then return tostring(status) end
    local why = differs(answer, list)
    if why or list[1][1] ~= k * client.NEAR then
      return ("query %d: %s"):format(k, why or "it has another best")
    end
    host.write(k .. ".answer", answer)
  end
end

-- -- Many at once ------------------------------------------------------------

--- The command that sends requests for so many seconds. options: connections
-- (8); connection, the header of that name.
function client.load(port, path, seconds, options)
  options = options or {}
  return ("exec wrk -t 2 -c %d -d %d --timeout 30 -s '%s/rank/post.lua' "
          .. "http://127.0.0.1:%d%s -- '%s' %s"):format(
          options.connections or 8, seconds, host.here, port, path,
          host.scratch(), options.connection or "")
end

--- What wrk printed, if all went well: how many requests, and the rest. Else
-- nil and all of it.
function client.read(output)
  local n, wrong, failed, rest =
    output:match "(%d+) requests, (%d+) wrong, (%d+) failed, (.-)\n$"
  if n and tonumber(wrong) == 0 and tonumber(failed) == 0 then
    return tonumber(n), rest
  end
  return nil, output
end

--- Sends requests until so many were answered: how many, and what wrk said
-- last. Nil and what was wrong, if anything was.
function client.send(port, path, wanted)
  local sent = 0
  while true do
    local n, rest = client.read((host.run(client.load(port, path, 3))))
    if not n then return nil, rest end
    sent = sent + n
    if sent >= wanted then return sent, rest end
  end
end

return client
