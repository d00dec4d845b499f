--- Communicators.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local same = check.same

check.run(function()
  local rank, size = mpi.rank(), mpi.size()

  check.topic("the world", function()
    assert(mpi.world:rank() == rank and mpi.world:size() == size)
    assert(mpi.world:id() == 0)
    assert(mpi.is_comm(mpi.world) and not mpi.is_comm(1))
    same(mpi.world:all_reduce(st.tensor(1)), st.tensor(size))
    assert(tostring(mpi.world) == "mpi.comm 0")
    check.fails("the world cannot be freed", mpi.world.free, mpi.world)
  end)

  check.topic("ranks of the same color", function()
    local comm = mpi.world:split(rank % 2)
    local members, sum = 0, 0
    for r = rank % 2, size - 1, 2 do
      members, sum = members + 1, sum + r
    end
    assert(comm:size() == members)
    assert(comm:rank() == (rank - rank % 2) / 2)
    same(comm:all_reduce(st.tensor(rank)), st.tensor(sum))
    same(mpi.all_reduce(st.tensor(rank), {comm = comm}), st.tensor(sum))
    same(comm:all_gather(st.tensor(rank)), st.arange(rank % 2, size, 2))
    same(comm:all_reduce(st.tensor(rank), {async = true}):wait(),
         st.tensor(sum))
    comm:barrier()
    comm:free()
    check.fails("the communicator was freed", comm.rank, comm)
    check.fails("the communicator was freed", comm.all_reduce, comm,
                st.tensor(1))
    check.fails("there is no communicator 9999999", st.ops.mpi.all_reduce,
                st.tensor(1), "sum", 9999999)
    check.fails("there is no communicator -1", st.ops.mpi.all_reduce,
                st.tensor(1), "sum", -1)
  end)

  check.topic("keys give the order", function()
    local comm = mpi.world:split(0, size - rank)
    assert(comm:rank() == size - 1 - rank)
    same(comm:broadcast(st.tensor(rank), 0), st.tensor(size - 1))
    comm:free()
  end)

  check.topic("no color, no communicator", function()
    local comm = mpi.world:split(rank == 0 and 5 or nil)
    assert((comm ~= nil) == (rank == 0))
    if comm then
      assert(comm:size() == 1)
      same(comm:all_reduce(st.tensor(3)), st.tensor(3))
      comm:free()
    end
    check.fails("a color must not be negative", mpi.world.split, mpi.world,
                -1)
  end)

  check.topic("a duplicate keeps messages apart", function()
    local comm = mpi.world:dup()
    local to, from = (rank + 1) % size, (rank - 1) % size
    local s1 = comm:send(st.tensor(100 + rank), to, {async = true})
    local s2 = mpi.send(st.tensor(200 + rank), to, {async = true})
    local x = mpi.recv({}, from, {dtype = "int64"})
    local y = comm:recv({}, from, {dtype = "int64"})
    s1:wait()
    s2:wait()
    assert(x:item() == 200 + from and y:item() == 100 + from)
    comm:free()
  end)

  check.topic("one that was freed names no other", function()
    local freed = mpi.world:dup()
    freed:free()
    local seen = {[freed:id()] = true}
    for _ = 1, size > 2 and 50 or 2000 do
      local comm = mpi.world:dup()
      assert(not seen[comm:id()])
      seen[comm:id()] = true
      check.fails("the communicator was freed", freed.size, freed)
      check.fails("the communicator was freed", freed.free, freed)
      assert(comm:size() == size)
      comm:free()
    end
  end)

  check.topic("one in use is not freed", function()
    local comm = mpi.world:dup()
    local h = comm:all_reduce(st.full({3}, rank, {dtype = "float32"}),
                              {op = "avg", async = true})
    check.fails("mpi::all_reduce_async is in progress on the communicator",
                comm.free, comm)
    local want = size * (size - 1) / 2 / size
    assert(math.abs(h:wait():sum():item() - 3 * want) < 1e-5)
    comm:all_reduce(st.ones(3), {async = true})
    collectgarbage()
    collectgarbage()
    comm:free()
  end)

  check.topic("gradients on a part of the ranks", function()
    local comm = mpi.world:split(rank % 2)
    local x = st.ones({2}):requires_grad_(true)
    comm:all_reduce(x):sum():backward()
    same(x.grad, st.full({2}, comm:size(), {dtype = "float32"}))
    comm:free()
  end)
end)
