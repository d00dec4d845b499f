--- Measures what bench/scaling.lua needs to know: latency and bandwidth between
-- two ranks, the speed of adding two buffers, and of matrix products.
--
--     mpirun -np 2 luajit bench/alpha_beta.lua
--
-- Ping-pong: half of the fastest round trip of many. alpha is that of 8 bytes,
-- beta the slope from 4 MB to 64 MB.

local st = require "strided"

st.manual_seed(1)
local mpi = require "strided.mpi"

local KB, MB = 2 ^ 10, 2 ^ 20
local SIZES = {8, KB, 64 * KB, MB, 4 * MB, 16 * MB, 64 * MB}

--- Half of the fastest round trip of so many bytes, in seconds.
local function half_trip(bytes)
  local rank = mpi.rank()
  local x = st.zeros(bytes / 4)
  local best = math.huge
  for _ = 1, math.max(10, math.min(2000, 256 * MB / bytes / 8)) do
    mpi.barrier()
    local began = mpi.time()
    if rank == 0 then
      mpi.send(x, 1)
      mpi.recv_(x, 1)
    elseif rank == 1 then
      mpi.recv_(x, 0)
      mpi.send(x, 0)
    end
    best = math.min(best, mpi.time() - began)
  end
  return best / 2
end

--- The fastest of many calls, in seconds.
local function fastest(n, fn)
  local best = math.huge
  for _ = 1, n do
    local began = mpi.time()
    fn()
    best = math.min(best, mpi.time() - began)
  end
  return best
end

mpi.run(function()
  if mpi.size() ~= 2 then error "alpha_beta: run it on 2 ranks" end
  st.set_num_threads(1)
  local times = {}
  for _, bytes in ipairs(SIZES) do
    times[bytes] = half_trip(bytes)
    mpi.log("%9d bytes %12.2f us %9.2f GB/s", bytes, times[bytes] * 1e6,
            bytes / times[bytes] / 1e9)
  end
  local alpha = times[8]
  local beta = (times[64 * MB] - times[4 * MB]) / (60 * MB)
  local a, b = st.rand(4 * MB), st.rand(4 * MB)
  local gamma = fastest(20, function() a:add_(b) end) / (16 * MB)
  local m = st.rand(1024, 1024)
  local product = fastest(10, function() return m:matmul(m) end)
  local bucket = st.rand(25 * MB / 4)
  mpi.barrier()
  local reduced = fastest(20, function() mpi.all_reduce_(bucket) end)
  local n = 25 * MB
  mpi.log("all_reduce of 25 MB: %.2f ms measured, %.2f ms by the model",
          reduced * 1e3, 1e3 * (2 * alpha + n * beta + n / 2 * gamma))
  mpi.log("--alpha %.2f --beta %.2f --gamma %.2f --flops %.3f", alpha * 1e6,
          1e-9 / beta, 1e-9 / gamma, 2 * 1024 ^ 3 / product / 1e12)
end)
