--- Handles of operations in progress.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local same = check.same

check.run(function()
  local rank, size = mpi.rank(), mpi.size()
  local ranks = size * (size - 1) / 2

  check.topic("every collective, with the result of the plain call", function()
    local x = st.arange(6, {dtype = "float32"}) + rank
    local rows = st.arange(3 * size, {dtype = "float32"}):view {size, 3} + rank
    local root = size - 1
    for _, row in ipairs {
      {"all_reduce", x, {}}, {"all_reduce", x, {op = "avg"}},
      {"reduce", x, {root = root}}, {"broadcast", x, {root = root}},
      {"all_gather", x, {}}, {"gather", x, {root = root}},
      {"scatter", rows, {root = root}}, {"reduce_scatter", rows, {}},
      {"all_to_all", rows, {}},
    } do
      local name, t, options = row[1], row[2], row[3]
      local want = mpi[name](t, options)
      options.async = true
      local h = mpi[name](t, options)
      same(h:wait(), want, name)
      assert(h:wait() == h:wait(), "wait twice")
      assert(h:test() == true)
    end
    local y = x:clone()
    local h = mpi.all_reduce_(y, {async = true})
    assert(h:wait() == y)
    same(y, mpi.all_reduce(x))
    y = x:clone()
    h = mpi.broadcast_(y, {root = root, async = true})
    assert(h:wait() == y)
    same(y, mpi.broadcast(x, root))
    h = mpi.barrier {async = true}
    assert(h:wait() == nil)
  end)

  check.topic("test becomes true without wait", function()
    local h = mpi.all_reduce(st.full({1000}, rank), {async = true})
    local n = 0
    while not h:test() do n = n + 1 end
    same(h:wait(), st.full({1000}, ranks))
  end)

  check.topic("many at a time, completed in another order", function()
    local handles = {}
    for i = 1, 50 do
      handles[i] = mpi.all_reduce(st.full({i}, rank + i), {async = true})
    end
    for i = 50, 1, -1 do
      same(handles[i]:wait(), st.full({i}, ranks + size * i))
    end
    for i = 1, 5 do
      handles[i] = mpi.all_reduce(st.full({i}, rank + i), {async = true})
    end
    handles[6], handles[50] = nil, nil
    for i = 6, 50 do handles[i] = nil end
    local results = mpi.wait_all(handles)
    for i = 1, 5 do same(results[i], st.full({i}, ranks + size * i)) end
  end)

  check.topic("a handle keeps its tensors", function()
    local handles = {}
    for i = 1, 20 do
      handles[i] = mpi.all_reduce(st.full({5000}, rank + i), {async = true})
      collectgarbage()
    end
    for _ = 1, 50 do st.full({5000}, -1) end -- in freed memory
    for i = 1, 20 do
      same(handles[i]:wait(), st.full({5000}, ranks + size * i))
    end
  end)

  check.topic("a handle that is collected is completed", function()
    collectgarbage()
    collectgarbage()
    local before = st.memory().tensors.count
    for i = 1, 30 do
      mpi.all_reduce(st.full({3000}, rank + i), {async = true})
      if i % 7 == 0 then collectgarbage() end
    end
    collectgarbage()
    collectgarbage()
    for _ = 1, 100 do
      mpi.barrier()
      collectgarbage()
    end
    local left = st.memory().tensors.count - before
    assert(left <= 0, left .. " tensors are left")
    same(mpi.all_reduce(st.tensor(rank)), st.tensor(ranks, {dtype = "int64"}))
  end)

  check.topic("messages", function()
    local to, from = (rank + 1) % size, (rank - 1) % size
    local got = mpi.recv({4}, from, {async = true, tag = 3})
    local sent = mpi.send(st.full({4}, rank, {dtype = "float32"}), to,
                          {async = true, tag = 3})
    local t, source = got:wait()
    sent:wait()
    assert(source == from)
    same(t, st.full({4}, from, {dtype = "float32"}))
    got = mpi.recv_(st.zeros {4}, nil, {async = true})
    sent = mpi.send(st.ones {3}, to, {async = true})
    check.fails("self is float32 [4], 16 bytes, but rank " .. from ..
                " sent 12 bytes", got.wait, got)
    sent:wait()
    for _, async in ipairs {false, true} do
      sent = mpi.send(st.ones {7}, to, {async = true})
      check.fails("self is float32 [4], 16 bytes, but the message is longer",
                  function()
        local h = mpi.recv_(st.zeros {4}, from, {async = async})
        if async then h:wait() end
      end)
      sent:wait()
    end
  end)

  check.topic("a request is over once it was waited for", function()
    local t, id = st.ops.mpi.all_reduce_async(st.tensor(rank))
    local core = require "strided.mpi.core"
    core.wait(core.request(id))
    assert(t:item() == ranks)
    check.fails("it may be over", core.wait, core.request(id))
  end)
end)
