--- Nothing is left of calls: no tensors, no memory of the process.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local function collect()
  for _ = 1, 3 do collectgarbage() end
end

--- The resident memory of the process in pages.
local function resident()
  local file = assert(io.open "/proc/self/statm")
  local _, pages = file:read("*n", "*n")
  file:close()
  return pages
end

check.run(function()
  local size = mpi.size()
  local x = st.ones {64}
  local rows = st.ones {size, 16}
  local turned = st.ones({8, 8}):t()
  local out = st.zeros {size, 64}

  local function round()
    for _, name in ipairs {"all_reduce", "reduce", "broadcast", "all_gather",
                           "gather"} do
      mpi[name](x)
      mpi[name](turned)
      mpi[name](x, {async = true}):wait()
      mpi[name](turned, {async = true})
    end
    for _, name in ipairs {"scatter", "reduce_scatter", "all_to_all"} do
      mpi[name](rows)
      mpi[name](rows, {async = true}):wait()
    end
    mpi.all_gather(x, {out = out})
    mpi.all_reduce_(turned, "avg")
    mpi.broadcast_(turned)
    mpi.all_reduce(rows, {deterministic = true})
    mpi.reduce(turned, {deterministic = true})
    mpi.all_reduce(rows, {deterministic = true, async = true})
    mpi.reduce(turned, {deterministic = true, async = true}):wait()
    pcall(mpi.all_reduce, x, "no")
    pcall(mpi.scatter, st.ones {size + 1})
    pcall(mpi.recv_, x:expand {2, 64})
    pcall(mpi.all_gather, x, {out = x})
    local w = st.ones({3}):requires_grad_(true)
    mpi.all_reduce(mpi.broadcast(w) * 2):sum():backward()
    local comm = mpi.world:split(0)
    comm:barrier()
    comm:free()
  end

  check.topic("tensors and memory after many calls", function()
    -- Heaps grow for a while, but a leak grows in every stage. Pages have 4 KB:
    -- 100 bytes for each of 30 calls in 200 rounds are 146.
    local least, pages, tensors = math.huge, nil, nil
    for stage = 1, 5 do
      for _ = 1, 200 do round() end
      collect()
      for _ = 1, 10 do mpi.barrier() end
      if stage == 1 then tensors = st.memory().tensors.count end
      local now = resident()
      if pages then least = math.min(least, now - pages) end
      pages = now
    end
    local more = st.memory().tensors.count - tensors
    assert(more <= 0, more .. " tensors are left")
    assert(least < 60, least .. " pages are left")
  end)

  check.topic("no memory", function()
    -- The k-th allocation fails, on all ranks alike, until the call succeeds.
    -- On one rank only: the others would wait for the one that failed.
    if size > 1 then return end
    local function exhaust(call)
      for k = 1, 200 do
        st.memory_fail_at(k)
        local ok, why = pcall(call)
        local left = st.memory_fail_at(0)
        if ok and left > 0 then return end
        assert(ok or tostring(why):find "memory", why)
      end
      error "never succeeds"
    end
    collect()
    local tensors = st.memory().tensors.count
    exhaust(function() return mpi.all_reduce(turned) end)
    exhaust(function() return mpi.all_reduce_(turned, "avg") end)
    exhaust(function() return mpi.all_gather(turned) end)
    exhaust(function() return mpi.reduce_scatter(rows) end)
    exhaust(function()
      return mpi.all_reduce(turned, {deterministic = true})
    end)
    exhaust(function()
      return mpi.all_reduce(turned, {deterministic = true, async = true}):wait()
    end)
    exhaust(function() return mpi.broadcast(turned, {async = true}):wait() end)
    collect()
    assert(st.memory().tensors.count <= tensors)
  end)
end)
