--- A deterministic training gives the same bits on all ranks together and on
-- each rank alone.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local nn, data = st.nn, st.data

local PARTS, N = 4, 30 -- the last batch of an epoch is smaller

local function network()
  return nn.Sequential {nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(),
                        nn.Dropout(0.3), nn.Linear(16, 3)}
end

--- The weights after two epochs on the ranks of comm.
local function train(comm, deterministic)
  st.manual_seed(1)
  local x, y = st.randn(N, 6), st.randint(1, 4, {N})
  local dataset = data.TensorDataset(x, y)
  local net = mpi.DataParallel(network(), {
    comm = comm, parts = PARTS, deterministic = deterministic,
    bucket_cap_mb = 2e-4,
  })
  local sampler = mpi.DistributedBatchSampler(dataset, {
    comm = comm, parts = PARTS, batch_size = 8,
  })
  local loader = data.DataLoader(dataset, {batch_sampler = sampler})
  local optimizer = st.optim.AdamW(net:parameters(), {lr = 0.01})
  local criterion = nn.CrossEntropyLoss()
  for epoch = 1, 2 do
    sampler:set_epoch(epoch)
    for xs, ys in loader:iter() do
      optimizer:zero_grad()
      for a, b in net:parts(xs, ys) do criterion(net(a), b):backward() end
      optimizer:step()
    end
  end
  return net:parameters()
end

local function test()
  local alone = mpi.world:split(mpi.rank())
  local together, mine = train(mpi.world, true), train(alone, true)
  for i, p in ipairs(together) do
    assert(p:view "int32":equal(mine[i]:view "int32"), "weight " .. i)
  end
  -- Otherwise they are nearly the same.
  for i, p in ipairs(train(mpi.world, false)) do
    assert(st.allclose(p, mine[i], {rtol = 1e-2, atol = 1e-3}), "weight " .. i)
  end
end

check.run(function()
  check.topic("the same bits on all ranks and on each alone", test)
end)
