--- The last rank has no memory for a stage of a deterministic reduction, and
-- catches the error; the others wait for its part.

local st = require "strided"
local mpi = require "strided.mpi"

mpi.run(function()
  local x = st.ones {3, 2 ^ 16}
  local options = {deterministic = true, async = arg[1] == "async"}
  mpi.barrier()
  if mpi.rank() == mpi.size() - 1 then
    -- The result finds room, what is sent does not.
    st.memory.set_limit(st.memory.stats().live + 2 ^ 18 + 1024)
  end
  pcall(function()
    local handle = mpi.all_reduce(x, options)
    if options.async then handle:wait() end
  end)
  mpi.barrier()
end)
