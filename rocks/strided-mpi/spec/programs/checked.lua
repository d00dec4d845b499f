--- Checked mode: what the ranks do differently is an error on every rank.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local fails = check.fails

mpi.init {checked = true}

check.run(function()
  local rank, size = mpi.rank(), mpi.size()
  local last = size - 1
  local is_last = rank == last and size > 1

  --- On one rank there is nothing to differ from.
  local function differ(text, fn, ...)
    if size > 1 then fails(text, fn, ...) end
  end

  check.topic("what is equal passes", function()
    assert(mpi.is_checked())
    for _ = 1, 20 do
      mpi.all_reduce(st.ones {3})
      mpi.barrier()
      mpi.broadcast(st.ones {2, 2}, last)
    end
    mpi.all_gather(st.ones {2}, {async = true}):wait()
  end)

  check.topic("shapes", function()
    differ(("the ranks differ: rank 0 calls mpi::all_reduce sum of float32 " ..
            "[3], but rank %d calls mpi::all_reduce sum of float32 [4]")
           :format(last), mpi.all_reduce, st.ones {is_last and 4 or 3})
    differ("float32 [2, 3]", mpi.all_reduce_,
           is_last and st.ones {6} or st.ones {2, 3})
  end)

  check.topic("dtypes", function()
    differ(("rank %d calls mpi::broadcast of int32 [3], root 0"):format(last),
           mpi.broadcast,
           st.ones({3}, {dtype = is_last and "int32" or "float32"}))
  end)

  check.topic("reductions and roots", function()
    differ(("rank %d calls mpi::all_reduce max of"):format(last),
           mpi.all_reduce, st.ones {3}, is_last and "max" or "sum")
    differ(("rank %d calls mpi::broadcast of float32 [3], root %d")
           :format(last, last), mpi.broadcast, st.ones {3},
           is_last and last or 0)
  end)

  check.topic("operators", function()
    differ(("rank %d calls mpi::barrier"):format(last), function()
      if is_last then mpi.barrier() else mpi.all_gather(st.ones {3}) end
    end)
    differ(("rank %d calls comm:dup"):format(last), function()
      if is_last then mpi.world:dup() else mpi.barrier() end
    end)
    differ(("rank %d calls mpi::all_reduce_async sum"):format(last),
           function()
      mpi.all_reduce(st.ones {3}, {async = is_last})
    end)
  end)

  check.topic("parts may be any number, but of one shape", function()
    local x = st.ones {rank + 1, 3}
    assert(mpi.all_reduce(x, {deterministic = true})[1] ==
           size * (size + 1) / 2)
    differ("float32 [*, 4]", mpi.all_reduce,
           st.ones {rank + 1, is_last and 4 or 3}, {deterministic = true})
  end)

  check.topic("after the error the ranks go on together", function()
    assert(mpi.all_reduce(st.tensor(rank)):item() == size * (size - 1) / 2)
  end)

  check.topic("on a part of the ranks", function()
    local comm = mpi.world:split(rank % 2)
    local n, r = comm:size(), comm:rank()
    if n > 1 then
      fails("the ranks differ: rank 0 calls mpi::all_reduce sum of float32 " ..
            "[3], but rank " .. n - 1 .. " calls mpi::all_reduce sum of " ..
            "float32 [4]", comm.all_reduce, comm,
            st.ones {r == n - 1 and 4 or 3})
    end
    comm:free()
  end)
end)
