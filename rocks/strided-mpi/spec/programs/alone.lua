--- A rank may go on for long after the others have finished, also with
-- collectives that they have no part in, and with messages that they have sent.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

check.run(function()
  local rank, size = mpi.rank(), mpi.size()
  local own = mpi.world:split(rank)
  local some = mpi.world:split(rank < 2 and 0 or 1)

  check.topic("others are there", function()
    for _ = 1, 3 do mpi.barrier() end
    some:barrier()
  end)

  if rank == size - 1 and size > 1 then
    mpi.send(st.full({3}, 7), 0, {tag = 9})
  end
  if rank > 0 then return end
  local start, calls, x = mpi.time(), 0, st.ones {1000000}
  while mpi.time() - start < 1.5 do -- most of the time is spent in MPI
    own:all_reduce(x)
    calls = calls + 1
  end
  assert(calls > 5)
  if size > 1 then
    local y, source = mpi.recv({3}, nil, {tag = 9, dtype = "int64"})
    assert(source == size - 1 and y[1] == 7)
  end
  print "ok a rank that is alone"
end)
