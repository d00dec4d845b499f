--- Times training steps: without communication, with DataParallel, and with
-- all gradients reduced after the backward pass.
--
--     mpirun -np 2 luajit bench/step.lua
--
-- The network has 8 layers of 1024 x 1024, that is 34 MB of gradients; a rank
-- has 64 samples. The fastest of 20 steps of each kind, in turns.

local st = require "strided"
local mpi = require "strided.mpi"

local WIDTH, DEPTH, ROWS, ROUNDS = 1024, 8, 64, 20

local function network()
  local layers = {}
  for i = 1, DEPTH do layers[i] = st.nn.Linear(WIDTH, WIDTH) end
  return st.nn.Sequential(layers)
end

mpi.run(function()
  st.manual_seed(0)
  local x = st.rand(ROWS, WIDTH)
  local plain, after = network(), network()
  local kinds = {
    {"no communication", plain},
    {"DataParallel", mpi.DataParallel(network())},
    {"DataParallel, 4 MB buckets", mpi.DataParallel(network(), {
      bucket_cap_mb = 4})},
    {"deterministic, a part per rank", mpi.DataParallel(network(), {
      deterministic = true, parts = mpi.size()}), true},
    {"each gradient after the pass", after, false, function()
      for _, p in ipairs(after:parameters()) do
        mpi.all_reduce_(p.grad, "avg")
      end
    end},
  }
  for _ = 1, ROUNDS do
    for _, kind in ipairs(kinds) do
      local net, has_parts, finish = kind[2], kind[3], kind[4]
      net:zero_grad()
      mpi.barrier()
      local began = mpi.time()
      if has_parts then
        for xs in net:parts(x) do net(xs):square():mean():backward() end
      else
        net(x):square():mean():backward()
      end
      if finish then finish() end
      mpi.barrier()
      kind.best = math.min(kind.best or math.huge, mpi.time() - began)
    end
  end
  for _, kind in ipairs(kinds) do
    mpi.log("%-32s %7.2f ms", kind[1], kind.best * 1e3)
  end
end)
