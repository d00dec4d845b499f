--- The last rank is killed while the others wait for it.

local st = require "strided"
local mpi = require "strided.mpi"

mpi.run(function()
  mpi.barrier()
  if mpi.rank() == mpi.size() - 1 then os.execute "kill -KILL $PPID" end
  mpi.all_reduce(st.ones(3))
  mpi.barrier()
end)
