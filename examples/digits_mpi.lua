--- Trains a small network to recognize handwritten digits, on several
-- processes: each computes the gradients of its part of every batch, and their
-- mean is what all of them learn from.
--
--     mpirun -np 4 luajit examples/digits_mpi.lua [OPTION]...
--
-- It needs the rock strided-mpi (rocks/strided-mpi). Every epoch has the same
-- batches for any number of processes, so the accuracy is the same, too, but
-- sums of gradients are rounded differently. With --deterministic they are not,
-- and the weights have the same bits on 1, 2, 3 and 4 processes: the checksum
-- at the end shows it.

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = HERE .. "/../?.lua;" .. package.path

local st = require "strided"
local mpi = require "strided.mpi"
local command = require "examples.support.command"

local nn, optim, data = st.nn, st.optim, st.data

local COMMAND = {
  name = "digits_mpi", most = 0,
  options = {
    epochs = {"count", 20}, seed = {"count", 0}, batch = {"size", 32},
    parts = {"size", 4}, deterministic = {"flag"}, save = {"tables"},
  },
  usage = [[
usage: mpirun -np N luajit examples/digits_mpi.lua [OPTION]...

Trains a network on handwritten digits, on N processes.

  --epochs N       how often it sees every picture (20)
  --seed N         of all random numbers (0)
  --batch N        pictures between two steps, of all processes together (32)
  --parts N        parts of a batch, at least one per process (4)
  --deterministic  the same weights for any number of processes
  --save FILE      write the network, as .safetensors or .pt
  -h, --help       this
]],
}

local DATA = HERE .. "/data/"
local RATE = 3e-3

-- -- The digits --------------------------------------------------------------

--- Images as rows of numbers from 0 to 1, and their classes: digit + 1.
local function load_digits()
  local x = st.load(DATA .. "digits_images.npy"):flatten(2):to "float32" / 16
  local y = st.load(DATA .. "digits_labels.npy"):to "int64" + 1
  return data.TensorDataset(x, y)
end

-- -- The network -------------------------------------------------------------

local function new_network()
  return nn.Sequential {
    nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Dropout(0.2),
    nn.Linear(128, 10),
  }
end

--- The accuracy in per cent; each process counts its part of the dataset.
local function accuracy(net, dataset)
  local right = st.zeros(1)
  net:eval()
  local loader = data.DataLoader(mpi.shard(dataset), {batch_size = 512})
  for x, y in loader:iter() do
    right = right + st.no_grad(net, x):argmax(2):eq(y):sum()
  end
  net:train()
  return 100 * mpi.all_reduce(right):item() / dataset:size()
end

--- Trains for some epochs, with cosine decay of the learning rate.
local function train(net, training, held_out, given)
  local sampler = mpi.DistributedBatchSampler(training, {
    batch_size = given.batch, parts = given.parts, seed = given.seed,
  })
  local loader = data.DataLoader(training, {batch_sampler = sampler})
  local criterion = nn.CrossEntropyLoss()
  local optimizer = optim.AdamW(net:parameters(), {lr = RATE})
  for epoch = 1, given.epochs do
    sampler:set_epoch(epoch)
    optimizer.param_groups[1].lr =
      RATE * (1 + math.cos(math.pi * (epoch - 1) / given.epochs)) / 2
    local loss = 0
    for x, y in loader:iter() do
      optimizer:zero_grad()
      for xs, ys in net:parts(x, y) do
        local mean = criterion(net(xs), ys)
        mean:backward()
        loss = loss + mean:item() * ys:numel()
      end
      optimizer:step()
    end
    loss = mpi.all_reduce(st.tensor {loss}):item() / training:size()
    mpi.log("epoch %d of %d  loss %.4f  %.1f %% of those held out", epoch,
            given.epochs, loss, accuracy(net, held_out))
  end
end

--- A number that depends on every bit of the weights.
local function checksum(net)
  local sum = 0
  for _, p in ipairs(net:parameters()) do
    for _, word in ipairs(p:detach():flatten():view "int32":totable()) do
      sum = (sum * 31 + word) % 4294967291
    end
  end
  return ("%08x"):format(sum)
end

-- -- Main --------------------------------------------------------------------

local given = command.parse(COMMAND, arg)

mpi.run(function()
  local size = mpi.size()
  if given.parts < size then
    if mpi.rank() == 0 then
      io.stderr:write(("digits_mpi: %d parts are too few for %d processes\n")
                      :format(given.parts, size))
    end
    mpi.finalize()
    os.exit(2)
  end
  st.manual_seed(given.seed)
  local training, held_out = data.random_split(load_digits(), {0.8, 0.2})
  local net = mpi.DataParallel(new_network(), {
    parts = given.parts, deterministic = given.deterministic,
  })
  local seconds = command.stopwatch()
  train(net, training, held_out, given)
  local took = seconds()
  if given.save then mpi.save(given.save, net:state_dict()) end
  mpi.log("weights %s", checksum(net))
  mpi.log("Done: %.1f %% of %d digits never seen before are read, on %d "
          .. "process%s, after %.1f s.", accuracy(net, held_out),
          held_out:size(), size, size > 1 and "es" or "", took)
end)
