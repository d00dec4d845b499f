--- Checked mode: a message of another dtype or shape than its receiver expects
-- is an error there, and is received all the same.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local fails, same = check.fails, check.same

mpi.init()

check.run(function()
  local rank, size = mpi.rank(), mpi.size()
  local to, from = (rank + 1) % size, (rank - 1) % size

  if not mpi.is_checked() then
    local plain = mpi.send(st.ones {3}, to, {async = true, tag = 7})
    mpi.barrier()
    mpi.init {checked = true}
    fails("rank " .. from .. " has sent a message without a header: turn " ..
          "checked mode on on all ranks", mpi.recv, {200}, from, 7)
    plain:wait()
  end

  --- Sends x to the next rank, and receives from the one before with `fn`.
  local function ring(x, fn, tag)
    local sent = mpi.send(x, to, {async = true, tag = tag})
    fn()
    sent:wait()
  end

  --- Each way to receive must raise an error with this text.
  local function differ(x, into, text, tag)
    ring(x, function()
      fails("mpi::recv_: " .. text, mpi.recv_, into, from, tag)
    end, tag)
    for _, tests in ipairs {true, false} do
      local handle
      ring(x, function()
        handle = mpi.recv_(into, nil, {async = true, tag = tag})
        while tests and not handle:test() do st.ones(3) end
        fails("mpi::recv_async_: " .. text, handle.wait, handle)
        fails("the operation has failed", handle.wait, handle)
      end, tag)
    end
    local sent = mpi.send(x, to, {async = true, tag = tag})
    mpi.recv_(into, from, {async = true, tag = tag}) -- is collected
    collectgarbage()
    sent:wait()
  end

  check.topic("messages that are as expected", function()
    for _, dtype in ipairs(check.all_dtypes()) do
      local x = check.values(rank, 6, dtype)
      ring(x, function()
        local y, source = mpi.recv({6}, nil, {dtype = dtype})
        assert(source == from)
        same(y, check.values(from, 6, dtype))
      end)
    end
    for _, shape in ipairs {{}, {0}, {3, 0}, {2, 3, 4}, {2 ^ 20}} do
      local x = st.full(shape, rank, {dtype = "float32"})
      ring(x, function()
        same(mpi.recv(shape, from), st.full(shape, from, {dtype = "float32"}))
      end)
    end
    local turned = (st.arange(6) + rank):view({2, 3}):t()
    ring(turned, function()
      local y = mpi.recv_(st.zeros({2, 3}, {dtype = "int64"}):t(), from)
      same(y, (st.arange(6) + from):view({2, 3}):t())
    end)
    local handle = mpi.recv({4}, from, {async = true})
    ring(st.ones {4} * rank, function()
      local y, source = handle:wait()
      assert(source == from)
      same(y, st.ones {4} * from)
    end)
  end)

  check.topic("in order, on communicators of their own", function()
    local comm = mpi.world:split(rank % 2, -rank)
    local n, r = comm:size(), comm:rank()
    local handles = {}
    for i = 1, 4 do
      handles[i] = comm:send(st.full({i}, r), (r + 1) % n, {async = true})
      handles[4 + i] = mpi.send(st.full({i, 2}, rank), to, {async = true})
    end
    for i = 1, 4 do
      same(mpi.recv({i, 2}, nil, {dtype = "int64"}), st.full({i, 2}, from))
      same(comm:recv({i}, (r - 1) % n, {dtype = "int64"}),
           st.full({i}, (r - 1) % n))
    end
    mpi.wait_all(handles)
    local sent = comm:send(st.ones {2}, (r + 1) % n, {async = true})
    fails(("rank %d receives float64 [2], but rank %d has sent float32 [2]")
          :format(r, (r - 1) % n), comm.recv, comm, {2}, nil,
          {dtype = "float64"})
    sent:wait()
    comm:free()
  end)

  check.topic("dtypes, shapes and lengths", function()
    collectgarbage()
    collectgarbage()
    local before = st.memory().tensors.count
    local function said(own, sent)
      return ("the ranks differ: rank %d receives %s, but rank %d has sent %s")
             :format(rank, own, from, sent)
    end
    differ(st.ones {6}, st.zeros({3}, {dtype = "int64"}),
           said("int64 [3]", "float32 [6]"))
    differ(st.ones {3}, st.zeros({3}, {dtype = "int32"}),
           said("int32 [3]", "float32 [3]"), 5)
    differ(st.ones {2, 3}, st.zeros {3, 2},
           said("float32 [3, 2]", "float32 [2, 3]"))
    differ(st.ones {1}, st.zeros {}, said("float32 []", "float32 [1]"))
    differ(st.ones {2}, st.zeros {4}, said("float32 [4]", "float32 [2]"))
    -- MPICH drops a message that is too long, its header as well.
    local is_dropped = mpi.version():find "MPICH" and size > 1
    local function said_long(own, bytes, sent)
      if not is_dropped then return said(own, sent) end
      return ("self is %s, %d bytes, but the message is longer"):format(own,
                                                                        bytes)
    end
    differ(st.ones {7}, st.zeros {4},
           said_long("float32 [4]", 16, "float32 [7]"))
    differ(st.ones {2 ^ 18}, st.zeros {4},
           said_long("float32 [4]", 16, "float32 [262144]"))
    differ(st.ones {2 ^ 18}, st.zeros {2 ^ 17, 2}:t(),
           said("float32 [2, 131072]", "float32 [262144]"))
    differ(st.ones {4}, st.zeros {0},
           said_long("float32 [0]", 0, "float32 [4]"))
    -- They were received.
    ring(st.full({2}, rank), function()
      same(mpi.recv({2}, from, {dtype = "int64"}), st.full({2}, from))
    end)
    -- What was collected is completed in later calls. Code that LuaJIT has
    -- compiled may keep one tensor.
    local own, start = mpi.world:split(rank), mpi.time()
    local left
    repeat
      own:barrier()
      collectgarbage()
      left = st.memory().tensors.count - before
    until left <= 1 or mpi.time() - start > 10
    assert(left <= 1, left .. " tensors are left")
    own:free()
  end)

  check.topic("pieces, as of counts beyond int", function()
    local core = require "strided.mpi.core"
    core.set_piece(7)
    ring(st.arange(30) + rank, function()
      same(mpi.recv({30}, from, {dtype = "int64"}), st.arange(30) + from)
    end)
    ring(st.arange(30), function()
      fails("has sent int64 [30]", mpi.recv, {31}, from, {dtype = "int64"})
    end)
    core.set_piece()
  end)

  check.topic("from one rank to another", function()
    if size == 1 then return end
    if rank == size - 1 then mpi.send(st.ones {5}, 0) end
    if rank == 0 then
      fails(("rank 0 receives float32 [6], but rank %d has sent float32 [5]")
            :format(size - 1), mpi.recv, {6})
    end
  end)
end)
