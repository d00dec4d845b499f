--- Runs programs one after the other in one process, which takes less time than
-- to start as many. Rank 0 prints the path of each before.

local paths = {}
for i, path in ipairs(arg) do paths[i] = path end

local mpi = require "strided.mpi"

mpi.init()
for _, path in ipairs(paths) do
  if mpi.rank() == 0 then
    io.write("program ", path, "\n")
    io.flush()
  end
  arg = {[0] = path} -- luacheck: ignore
  dofile(path)
end
