--- A script for wrk: posts queries and checks the answers.
--
--     wrk ... -s post.lua URL -- FOLDER [CONNECTION]
--
-- FOLDER has what is posted and what is to be answered: 1.query, 1.answer,
-- 2.query, and so on; CONNECTION is the value of that header. Each of wrk's
-- threads runs this script in a state of its own.

-- luacheck: globals wrk setup init request response done wrong

local threads = {}
local queries, answers, last = {}, {}, 0

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "*a"
  file:close()
  return text
end

function setup(thread)
  threads[#threads + 1] = thread
end

function init(arguments)
  local headers = {Connection = arguments[2]}
  while true do
    local name = tostring(#queries + 1)
    local query = read(arguments[1] .. "/" .. name .. ".query")
    if not query then break end
    headers.Name = name
    queries[#queries + 1] = wrk.format("POST", nil, headers, query)
    answers[name] = read(arguments[1] .. "/" .. name .. ".answer")
  end
  wrong = 0
end

function request()
  last = last % #queries + 1
  return queries[last]
end

function response(status, headers, body)
  local name = headers.Name or headers.name
  if status ~= 200 or body ~= answers[name] then wrong = wrong + 1 end
end

function done(summary, latency)
  local errors, bad = summary.errors, 0
  for _, thread in ipairs(threads) do bad = bad + thread:get "wrong" end
  print(("%d requests, %d wrong, %d failed, %.0f per second, "
    .. "%.2f ms (median), %.2f ms (99%%)"):format(summary.requests, bad,
    errors.connect + errors.read + errors.write + errors.status +
    errors.timeout, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
