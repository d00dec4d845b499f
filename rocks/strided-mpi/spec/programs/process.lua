--- The life of MPI in a process: before init, init twice, finalize, after.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")
local fails = check.fails

-- Before.
assert(not mpi.is_initialized() and not mpi.is_finalized())
local missing = "MPI is not initialized: call mpi.init() first"
fails(missing, mpi.rank)
fails(missing, mpi.size)
fails(missing, mpi.all_reduce, st.ones {2})
fails(missing, mpi.barrier)
fails(missing, mpi.world.split, mpi.world, 1)
fails(missing, st.ops.mpi.all_gather, st.ones {2})
fails("mpi.init: there is no option 'check'; it has checked, threads",
      mpi.init, {check = true})
assert(mpi.time() == 0)
assert(mpi.version():find "MPI" or mpi.version():find "MPICH")

-- init.
assert(mpi.init() == mpi)
assert(mpi.is_initialized() and not mpi.is_checked())
assert(st.get_num_threads() >= 1)
local rank, size = mpi.rank(), mpi.size()
assert(rank >= 0 and rank < size)
check.topic("before init", function() end)

check.topic("init again", function()
  mpi.init()
  mpi.init {checked = true, threads = 1}
  assert(mpi.is_checked() and st.get_num_threads() == 1)
  assert(mpi.rank() == rank)
  local start = mpi.time()
  assert(mpi.time() >= start)
end)

check.topic("run returns what its function returns", function()
  local a, b, c = mpi.run(function(x, y, z) return y, nil, x, z end, 1, nil, 3)
  assert(a == nil and b == nil and c == 1)
  assert(select("#", mpi.run(function() end)) == 0)
end)

-- After.
local pending = mpi.all_reduce(st.ones {2}, {async = true})
local next, before = (rank + 1) % size, (rank - 1) % size
local big = st.full({2^20}, rank, {dtype = "int32"}) -- waits for its receiver
local sent = mpi.send(big, next, {async = true})
local got = mpi.recv_(big + 1, before, {async = true})
local kept = mpi.all_reduce(st.ones {3})
-- A rank that finishes takes part in what others still wait for.
local parts = mpi.all_reduce(st.ones {2, 3}, {deterministic = true,
                                              async = true})
if rank == 0 then assert(parts:wait():sum():item() == 6 * size) end
mpi.finalize()
mpi.finalize()
assert(mpi.is_finalized())
fails("MPI is finalized", mpi.rank)
fails("MPI is finalized", mpi.all_reduce, st.ones {2})
fails("MPI is finalized and cannot start again", mpi.init)
fails("MPI is finalized", pending.wait, pending)
fails("MPI is finalized", pending.wait, pending)
fails("MPI is finalized", sent.wait, sent)
assert(st.equal(got.result, st.full({2^20}, before, {dtype = "int32"})))
assert(parts.result:sum():item() == 6 * size)
assert(kept:sum():item() == 3 * size)
if rank == 0 then print "ok finalize" end
