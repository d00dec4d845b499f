--- Deterministic reductions in progress. Their stages need every rank, wherever
-- it is: nothing that MPI allows must hang.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local same = check.same

check.run(function()
  local rank, size = mpi.rank(), mpi.size()
  local is_first, is_last = rank == 0, rank == size - 1
  local options = {deterministic = true, async = true}

  --- Rank r has r + 1 parts of n elements, all of them r + k.
  local function start(n, k, comm)
    local x = st.full({rank + 1, n}, rank + k, {dtype = "float64"})
    return (comm or mpi.world):all_reduce(x, options)
  end

  local function check_sum(handle, n, k)
    local want = 0
    for r = 0, size - 1 do want = want + (r + 1) * (r + k) end
    same(handle:wait(), st.full({n}, want, {dtype = "float64"}))
  end

  check.topic("several at once, each rank waits in another order", function()
    local handles = {}
    for i = 1, 6 do
      handles[i] = start(i * 500, i)
      if i % 2 == 0 then mpi.all_reduce(st.ones {3}, {async = true}) end
    end
    for i = 1, 6 do
      local k = (i + 2 * rank) % 6 + 1
      check_sum(handles[k], k * 500, k)
    end
    collectgarbage()
  end)

  check.topic("test becomes true without wait", function()
    local handle = start(1000, 1)
    if is_first then mpi.barrier() end
    while not handle:test() do st.ones(3) end
    if not is_first then mpi.barrier() end
    assert(handle:test())
    check_sum(handle, 1000, 1)
  end)

  check.topic("while a rank is in a collective", function()
    local handle = start(1000, 2)
    if is_first then mpi.barrier() end
    check_sum(handle, 1000, 2)
    if not is_first then mpi.barrier() end
    handle = start(1000, 3)
    local again = start(10, 4)
    same(mpi.all_reduce(st.tensor(1)), st.tensor(size))
    check_sum(again, 10, 4)
    same(mpi.all_reduce(st.full({2, 3}, 1), {deterministic = true}),
         st.full({3}, 2 * size, {dtype = "int64"}))
    check_sum(handle, 1000, 3)
  end)

  check.topic("in another order than that of other communicators", function()
    local comm = mpi.world:dup()
    local handle, split
    if is_last then mpi.barrier() end
    handle = start(700, 5, comm)
    if not is_last then mpi.barrier() end
    check_sum(handle, 700, 5)
    if is_first then handle = start(700, 6, comm) end
    split = mpi.world:split(0)
    if not is_first then handle = start(700, 6, comm) end
    check_sum(handle, 700, 6)
    -- The root of a broadcast does not wait for the others: it goes on to one
    -- that they have not begun yet.
    if is_first then handle = start(700, 7, comm) end
    for _ = 1, 3 do mpi.broadcast(st.ones {3}, size - 1) end
    if not is_first then handle = start(700, 7, comm) end
    check_sum(handle, 700, 7)
    comm:free()
    split:free()
  end)

  check.topic("while a rank waits for a message", function()
    local x = st.full({2 ^ 16}, rank)
    local handle
    if is_first then handle = start(50, 1) end
    if is_first and size > 1 then
      same(mpi.recv({2 ^ 16}, size - 1, {dtype = "int64"}),
           st.full({2 ^ 16}, size - 1))
      mpi.send(x, size - 1)
    elseif is_last and size > 1 then
      mpi.send(x, 0)
      mpi.recv_(x, 0)
    end
    if not is_first then handle = start(50, 1) end
    check_sum(handle, 50, 1)
    handle = start(60, 2)
    if is_last then check_sum(handle, 60, 2) end
    if is_last and size > 1 then mpi.send(x, 0) end
    if is_first and size > 1 then mpi.recv_(x) end
    check_sum(handle, 60, 2)
  end)

  check.topic("one that is collected is completed", function()
    collectgarbage()
    collectgarbage()
    local before = st.memory().tensors.count
    for i = 1, 5 do
      start(100, i)
      collectgarbage()
    end
    for _ = 1, 30 do
      mpi.barrier()
      collectgarbage()
    end
    assert(st.memory().tensors.count <= before)
  end)

  check.topic("errors are those of wait", function()
    local before = st.memory().tensors.count
    for _, waits in ipairs {true, false} do
      local handle = mpi.all_reduce(st.empty {0, 3}, options)
      while not waits and not handle:test() do st.ones(3) end
      check.fails("mpi::all_reduce_parts_async: no rank has any parts",
                  handle.wait, handle)
      check.fails("the operation has failed", handle.wait, handle)
    end
    check.fails("mpi.all_reduce: out does not combine with deterministic",
                mpi.all_reduce, st.ones {2, 3},
                {deterministic = true, out = st.ones {3}})
    check.fails("parts must have a first dimension", mpi.all_reduce,
                st.tensor(1), options)
    collectgarbage()
    assert(st.memory().tensors.count <= before)
  end)

  check.topic("gradients", function()
    local x = st.ones({rank + 1, 2}):requires_grad_(true)
    local handle = mpi.all_reduce(x, options)
    handle:wait():sum():backward()
    same(x.grad, st.full({rank + 1, 2}, size, {dtype = "float32"}))
  end)
end)
