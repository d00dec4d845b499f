--- The last rank ends early, while the others wait for it: it returns, or calls
-- os.exit, which closes the Lua state or not.

local st = require "strided"
local mpi = require "strided.mpi"

mpi.run(function()
  mpi.barrier()
  if mpi.rank() == mpi.size() - 1 then
    if arg[1] == "exit" then os.exit(0) end
    if arg[1] == "close" then os.exit(0, true) end
    return
  end
  mpi.all_reduce(st.ones(3))
end)
