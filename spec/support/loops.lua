--- Loops that create and drop tensors, each run in a separate process, because
-- the garbage collector's limit depends on the Lua heap, which specs fill.
--
--     luajit spec/support/loops.lua N
--
-- runs loop N and prints the peak of live memory in MB.

local MB = 1024 * 1024

local st, one

--- A loop that creates results of a number of bytes.
local function results(bytes, keep)
  return function()
    local kept = {}
    for i = 1, math.min(20000, 400 * MB / bytes) do
      local t = st.empty(bytes / 4)
      if keep then kept[i % keep] = t end
    end
    return #kept
  end
end

local function repeated(make)
  return function()
    for _ = 1, 100 do make() end
  end
end

-- name, limit of the peak in MB, loop, number of other Lua objects
local LOOPS = {
  {"small results", 6, results(4000)},
  {"results of 1 MB", 8, results(MB)},
  {"results of 8 MB", 26, results(8 * MB)},
  {"results of 1 MB, 50 of them kept", 64, results(MB, 50)},
  {"results of 1 MB beside 100,000 objects", 90, results(MB), 100000},
  {"results of 64 KB beside 100,000 objects", 90, results(MB / 16), 100000},
  {"conversions of small tensors", 6, function()
    local t = one:slice(1, 1, 8192)
    for _ = 1, 4000 do local _ = t:to "int32" end
  end},
  {"what out= makes", 8, repeated(function()
    st.add(one, one, {out = st.empty(0)})
  end)},
  {"what resize_ makes", 8, repeated(function()
    st.empty(0):resize_ {MB / 4}
  end)},
  {"what resize_ makes and free takes away", 8, repeated(function()
    local t, _ = st.empty(0):resize_ {MB / 4}, one + 1
    t:free()
  end)},
  {"what another state hands over", 8, repeated(function()
    local t = one + 1
    local token = st.share(t)
    t:free()
    t = st.attach(token)
    local _ = one + 1
    t:free()
  end)},
}

local n = tonumber(arg and arg[1])
if not n then return LOOPS end

st = require "strided"
one = st.ones(MB / 4)
local heap = {}
for i = 1, LOOPS[n][4] or 0 do heap[i] = {i} end
collectgarbage()
collectgarbage()
st.memory.reset_peak()
local start = st.memory().data.bytes
LOOPS[n][3]()
print(("%.1f MB beside %d objects"):format(
  (st.memory().data.peak - start) / MB, #heap))
