--- DataParallel reduces gradients while the backward pass goes on, in every
-- step, in the same order on every rank.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local nn = st.nn

--- With deterministic reductions the gradients of all parts are kept until the
-- last one, whose backward pass starts the reductions.
local function test_parts()
  local layers = {}
  for i = 1, 4 do layers[i] = nn.Linear(64, 64) end
  local net = mpi.DataParallel(nn.Sequential(layers), {
    bucket_cap_mb = 64 * 65 * 4 / 2 ^ 20, deterministic = true,
    parts = 2 * mpi.size(),
  })
  local part = 0
  for x in net:parts(st.rand(8, 64)) do
    part = part + 1
    local started = {}
    for i, layer in ipairs(net.module) do
      local handle
      handle = layer:register_forward_hook(function(_, _, y)
        y:register_hook(function() started[i] = net.reducer.started end)
        handle:remove()
      end)
    end
    net(x):square():mean():backward()
    for i = 1, 4 do
      local want = part == 2 and 4 - i or 0
      assert(started[i] == want, ("part %d: at layer %d, %d were started")
                                 :format(part, i, started[i]))
    end
  end
  assert(part == 2 and net.reducer.mode == "idle")
end

local function test()
  st.manual_seed(0)
  local layers = {}
  for i = 1, 4 do layers[i] = nn.Linear(64, 64) end
  local net = mpi.DataParallel(nn.Sequential(layers), {
    bucket_cap_mb = 64 * 65 * 4 / 2 ^ 20, -- a bucket per layer
  })
  assert(#net.reducer.buckets == 4)
  local loss -- the graph of the step before is alive during the next one
  for step = 1, 3 do
    local x = st.rand(8, 64)
    local started = {}
    for i, layer in ipairs(net.module) do
      local handle
      handle = layer:register_forward_hook(function(_, _, y)
        y:register_hook(function() started[i] = net.reducer.started end)
        handle:remove()
      end)
    end
    loss = net(x):square():mean()
    net:zero_grad()
    loss:backward()
    -- When the gradient of layer i's output is known, the layers above are
    -- done, and on their way.
    for i = 1, 4 do
      assert(started[i] == 4 - i, ("step %d: at layer %d, %d were started")
                                  :format(step, i, started[i]))
    end
    assert(net.reducer.mode == "idle")
  end
end

check.run(function()
  check.topic("buckets start during the backward pass", test)
  check.topic("deterministic ones during that of the last part", test_parts)
end)
