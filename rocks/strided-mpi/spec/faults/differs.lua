--- What a word says differs on the last rank: the shape, the dtype, the root,
-- the reduction, or the collective. Checked mode finds it.

local st = require "strided"
local mpi = require "strided.mpi"

local what = arg[1]
mpi.init {checked = true}

mpi.run(function()
  local is_last = mpi.rank() == mpi.size() - 1
  mpi.all_reduce(st.ones(4)) -- nothing differs
  if what == "shape" then
    mpi.all_reduce(st.ones(is_last and {2, 3} or {2, 2}))
  elseif what == "dtype" then
    mpi.broadcast_(st.ones(3, {dtype = is_last and "int32" or "float32"}))
  elseif what == "root" then
    mpi.reduce(st.ones(3), is_last and 1 or 0)
  elseif what == "op" then
    mpi.all_reduce(st.ones(3), is_last and "max" or "sum")
  elseif is_last then
    mpi.barrier()
  else
    mpi.all_gather(st.ones(3))
  end
end)
