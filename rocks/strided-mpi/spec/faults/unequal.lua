--- The ranks make different numbers of steps: the last rank has one batch more.

local st = require "strided"
local mpi = require "strided.mpi"

mpi.run(function()
  local net = mpi.DataParallel(st.nn.Linear(3, 2))
  for _ = 1, mpi.rank() == mpi.size() - 1 and 3 or 2 do
    net(st.rand(4, 3)):sum():backward()
  end
end)
