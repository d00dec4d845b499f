--- Samplers that give every rank its part of the samples, and shards of
-- datasets.
--
--     local sampler = mpi.DistributedSampler(dataset, {seed = 1})
--     local loader = st.data.DataLoader(dataset, {batch_size = 32,
--                                                 sampler = sampler})
--     for epoch = 1, 10 do
--       sampler:set_epoch(epoch)
--       for x, y in loader:iter() do
--
-- @module strided.mpi.sampler

local st = require "strided"
local check = require "strided.mpi.check"
local split = require "strided.mpi.split"

local ceil, floor = math.ceil, math.floor
local setmetatable, tostring, type = setmetatable, tostring, type

local raise = check.raise

local SAMPLER = {comm = true, num_replicas = true, rank = true, shuffle = true,
                 seed = true, drop_last = true}
local BATCHES = {batch_size = true, parts = true, comm = true,
                 num_replicas = true, rank = true, shuffle = true, seed = true,
                 drop_last = true}
-- Seeds and numbers of epochs are at most this: their sums are exact.
local MOST = 2 ^ 52
local SHARD = {comm = true, num_replicas = true, rank = true}

return function(mpi)
  local M = {}

  --- Raises an error unless n is a whole number from 0 to MOST.
  local function check_seed(name, what, n)
    if check.count(name, what, n, 0) > MOST then
      raise("%s: %s must be at most 2^52, got %s", name, what, tostring(n))
    end
    return n
  end

  --- Which rank of how many: those of options, or of the communicator.
  local function place(name, given)
    local comm = check.comm(name, given.comm, mpi.world)
    local size = check.count(name, "option 'num_replicas'",
                             given.num_replicas or comm:size(), 1)
    local rank = check.count(name, "option 'rank'", given.rank or comm:rank(),
                             0)
    if rank >= size then
      raise("%s: rank %d is none of 0 to %d", name, rank, size - 1)
    end
    return size, rank
  end

  --- The dataset, as the loader takes it, and its number of samples.
  local function count_of(name, dataset)
    if st.is_tensor(dataset) then
      if dataset.ndim == 0 then
        raise("%s: a Tensor without dimensions has no samples", name)
      end
      return dataset.shape[1]
    end
    if type(dataset) ~= "table" then
      raise("%s: argument 'dataset' must be a dataset, got %s", name,
            type(dataset))
    end
    return dataset.size and dataset:size() or
           st.data.SequentialSampler(dataset):size()
  end

  --- Fields that both samplers share.
  local function start(class, name, dataset, given)
    local size, rank = place(name, given)
    return setmetatable({
      n = count_of(name, dataset), num_replicas = size, rank = rank,
      shuffle = given.shuffle ~= false, drop_last = given.drop_last or false,
      seed = check_seed(name, "option 'seed'", given.seed or 0), epoch = 0,
    }, class)
  end

  local function set_epoch(self, epoch)
    self.epoch = check_seed("set_epoch", "argument 'epoch'", epoch)
  end

  --- The numbers of all samples in the order of this epoch: the same list on
  -- every rank.
  local function order_of(self)
    if self.shuffle then
      return st.randperm(self.n, {
        generator = st.Generator(self.seed + self.epoch)}):totable()
    end
    local order = {}
    for i = 1, self.n do order[i] = i end
    return order
  end

  -- -- DistributedSampler ----------------------------------------------------

  local Sampler = {__name = "DistributedSampler", set_epoch = set_epoch}
  Sampler.__index = Sampler

  --- A sampler that gives rank r every size-th sample from sample r + 1 on, of
  -- an order that is PyTorch's for a seed. All ranks get the same number of
  -- samples: without drop_last, the first samples of the order are given again
  -- to fill up; with it, the last ones are left out.
  -- @function DistributedSampler
  -- @param dataset
  -- @tparam[opt] table given options: `shuffle` (true), `seed` (0), `drop_last`
  -- (false), `comm` (mpi.world), `num_replicas` and `rank` (those of comm)
  -- @treturn table a sampler; call its method `set_epoch(epoch)` before each
  -- epoch, otherwise every epoch has the same order
  function M.DistributedSampler(dataset, given)
    given = check.options("DistributedSampler", given, SAMPLER)
    local self = start(Sampler, "DistributedSampler", dataset, given)
    local n, size = self.n, self.num_replicas
    self.num_samples = self.drop_last and floor(n / size) or ceil(n / size)
    return self
  end

  function Sampler:size() return self.num_samples end

  function Sampler:iter()
    local order, k, n = order_of(self), 0, self.n
    return function()
      if k == self.num_samples then return nil end
      local i = k * self.num_replicas + self.rank
      k = k + 1
      return order[i % n + 1]
    end
  end

  -- -- DistributedBatchSampler -----------------------------------------------

  local Batches = {__name = "DistributedBatchSampler", set_epoch = set_epoch}
  Batches.__index = Batches

  --- A batch sampler that divides every batch among the ranks: a batch has the
  -- same samples for any number of ranks, and the parts of it are those that
  -- DataParallel:parts expects.
  -- @function DistributedBatchSampler
  -- @param dataset
  -- @tparam table given options: `batch_size` of all ranks together, required;
  -- `parts` (the number of ranks), as for DataParallel; `shuffle` (true),
  -- `seed` (0), `drop_last` (false): no batch of fewer samples; `comm`,
  -- `num_replicas`, `rank`
  -- @treturn table a batch sampler, with a method `set_epoch`
  function M.DistributedBatchSampler(dataset, given)
    local name = "DistributedBatchSampler"
    given = check.options(name, given, BATCHES)
    local self = start(Batches, name, dataset, given)
    self.batch_size = check.count(name, "option 'batch_size'",
                                  given.batch_size, 1)
    self.parts = check.count(name, "option 'parts'",
                             given.parts or self.num_replicas, 1)
    if self.parts < self.num_replicas then
      raise("%s: %d parts are too few for %d ranks", name, self.parts,
            self.num_replicas)
    end
    local rest = self.n % self.batch_size
    local least = rest > 0 and not self.drop_last and rest or self.batch_size
    if self.n > 0 and least < self.parts then
      raise("%s: a batch of %d samples cannot be divided into %d parts; %s",
            name, least, self.parts, least == rest and
            "choose another batch_size, or drop_last = true" or
            "choose a larger batch_size")
    end
    return self
  end

  function Batches:size()
    local count = self.n / self.batch_size
    return self.drop_last and floor(count) or ceil(count)
  end

  function Batches:iter()
    local order, k = order_of(self), 0
    return function()
      if k == self:size() then return nil end
      local before = k * self.batch_size
      local n = math.min(self.batch_size, self.n - before)
      local first, count = split.share(n, self.parts, self.num_replicas,
                                       self.rank)
      local list = {}
      for i = 1, count do list[i] = order[before + first + i] end
      k = k + 1
      return list
    end
  end

  -- -- Shards ----------------------------------------------------------------

  --- The part of a dataset that is this rank's: a block of nearly 1 / size of
  -- the samples. Of a tensor, also of one that a file is mapped to, it is a
  -- view.
  -- @function shard
  -- @param dataset a dataset, a tensor whose rows are the samples, or a list
  -- @tparam[opt] table given options: `comm`, `num_replicas`, `rank`
  -- @return a tensor, or a data.Subset
  function M.shard(dataset, given)
    given = check.options("shard", given, SHARD)
    local size, rank = place("shard", given)
    local n = count_of("shard", dataset)
    local first, count = split.block(n, size, rank)
    if st.is_tensor(dataset) then return dataset:narrow(1, first + 1, count) end
    local indices = {}
    for i = 1, count do indices[i] = first + i end
    return st.data.Subset(dataset, indices)
  end

  for _, class in ipairs {Sampler, Batches} do
    class.__tostring = function(self)
      return ("%s of rank %s of %s"):format(class.__name, tostring(self.rank),
                                            tostring(self.num_replicas))
    end
  end
  return M
end
