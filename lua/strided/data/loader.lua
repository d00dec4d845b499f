--- DataLoader: batches of a dataset.
--
--     local loader = data.DataLoader(data.TensorDataset(x, y),
--                                    {batch_size = 64, shuffle = true})
--     for x, y in loader:iter() do
--       local loss = criterion(net(x), y)
--     end
--
-- With the option `num_workers` threads make the batches while the loop uses
-- the one before, in the same order. Each has a Lua state of its own, and a
-- dataset of its own, which is made anew there: tensors share their elements,
-- also those of mapped files; numbers, strings and tables are copied. Functions
-- are copied with their upvalues, which may be such values, modules and such
-- functions. A dataset of another class must be described: see
-- strided.data.dataset. While a pass runs, nobody may write to the tensors of
-- its dataset.
--
--     local loader = data.DataLoader(
--       {module = "my.files", args = {"train"}},
--       {batch_size = 64, shuffle = true, num_workers = 2})
--
-- Random numbers that a worker draws depend on the number of the batch and on
-- the seed that the pass draws from the option `generator`, or from the default
-- generator: they are the same for any number of workers. This holds for
-- strided's default generator, and in LuaJIT and Lua 5.4 for `math.random`.
-- Without workers, samples draw from the default generator of the process,
-- unless `batch_seeds` is true.
--
-- Calls of a worker run on one thread: there, `st.set_num_threads(1)` has no
-- effect. The default dtype, the limits of memory and other settings of the
-- process cannot be changed by workers. Their batches have no gradients, and
-- tensors that require one are not sent to them. A process that forks during a
-- pass keeps to the rules for hosts with threads in the README.
--
-- @module strided.data.loader

local core = require "strided.core"
local st = require "strided"
local collate = require "strided.data.collate"
local dataset = require "strided.data.dataset"
local guard = require "strided.name.guard"
local options = require "strided.option.options"
local prefetch = require "strided.data.prefetch"
local progress = require "strided.progress"
local raise = require "strided.argument.caller_error"
local sampler = require "strided.data.sampler"

local floor, huge = math.floor, math.huge
local error, getmetatable, ipairs, package, pcall, select, setmetatable,
  tonumber, tostring, type, unpack = error, getmetatable, ipairs, package,
  pcall, select, setmetatable, tonumber, tostring, type, unpack or table.unpack

local KNOWN = {batch_size = true, shuffle = true, sampler = true,
               batch_sampler = true, collate = true, drop_last = true,
               generator = true, progress = true, num_workers = true,
               prefetch_factor = true, worker_init = true,
               persistent_workers = true, batch_seeds = true}

local M = {default_collate = collate.default_collate}

-- -- Batches -----------------------------------------------------------------

local DataLoader = {}
DataLoader.__index = DataLoader
M.DataLoader = setmetatable(DataLoader, {})

--- Batches of successive values of an iterator.
local function stream(self)
  local nextone = self.source()
  if type(nextone) ~= "function" then
    raise("DataLoader: the function given as a dataset must return an "
          .. "iterator, got %s", type(nextone))
  end
  return function()
    local packed = {}
    while #packed < self.batch_size do
      local sample = collate.pack(nextone())
      if sample[1] == nil then break end
      packed[#packed + 1] = sample
    end
    if not packed[1] or (self.drop_last and #packed < self.batch_size) then
      return nil
    end
    return collate.join(packed, self.collate)
  end
end

--- A batch with a seed of its own, as a worker makes it.
local function fetch_seeded(self, indices, seed)
  local before = core.copy_rng()
  st.manual_seed(seed)
  local batch = collate.pack(pcall(collate.fetch, self.dataset, indices,
                                   self.collate))
  core.restore_rng(before)
  if not batch[1] then error(batch[2], 0) end
  return unpack(batch, 2, batch.n)
end

--- Batches that this thread makes.
local function direct(self, seed, nextlist)
  local k = 0
  return function()
    local indices = nextlist()
    if not indices then return nil end
    k = k + 1
    if self.batch_seeds then return fetch_seeded(self, indices, seed + k) end
    return collate.fetch(self.dataset, indices, self.collate)
  end
end

local LARGEST_SEED = 2 ^ 52

--- The lists of samples of a pass.
local function lists(batches)
  local nextlist = sampler.start("DataLoader", batches)
  return function()
    local list = nextlist()
    if list == nil then return nil end
    if type(list) ~= "table" or list[1] == nil then
      raise("DataLoader: the batch_sampler must return lists of numbers of "
            .. "samples, got %s",
            type(list) == "table" and "an empty one" or type(list))
    end
    return list
  end
end

--- An iterator over the batches of one pass: what it returns are the values of
-- a batch, `x, y` of TensorDataset(x, y). Every call shuffles anew. Passes at
-- the same time are independent, each with workers of its own; with
-- `persistent_workers` a pass ends the one before, as in PyTorch. An error of a
-- worker ends the pass. The workers stop when a pass is over, and after a
-- `break` when the next pass begins, the iterator is collected, or at once in
-- Lua 5.4.
-- @function DataLoader:iter
-- @treturn function
function DataLoader:iter()
  local batches, a, b, closing
  if self.source then
    batches = stream(self)
  else
    -- PyTorch draws the seed of its workers first, with or without workers.
    local seed = st.empty({}, {dtype = "int64"})
    seed:random_(dataset.from(self.generator))
    seed = tonumber((seed % LARGEST_SEED):item())
    local iter = self.num_workers > 0 and prefetch.iter or direct
    batches, a, b, closing = iter(self, seed, lists(self.batches))
  end
  if self.progress then
    local total = not self.source and self.batches:size() or nil
    batches = progress.each(batches, total, self.progress, "DataLoader")
  end
  return batches, a, b, closing
end

-- for a, b in loader do calls it with two arguments.
function DataLoader:__call(...)
  if select("#", ...) > 0 then
    raise "a loader is no iterator; write for a, b in loader:iter() do"
  end
  return self:iter()
end

--- The number of batches of a pass; nil if the dataset is a function.
-- @function DataLoader:size
-- @treturn integer
function DataLoader:size()
  if not self.source then return self.batches:size() end
end

--- Ends the pass and stops the workers now. The next pass starts others.
-- @function DataLoader:close
function DataLoader:close() prefetch.close(self) end

guard.methods(DataLoader, "loader", function(value)
  return type(value) == "table" and getmetatable(value) == DataLoader
end, {"iter", "size", "close"})

--- In a worker: `{id =, num_workers =, dataset =}`, with its number from 1 on;
-- elsewhere nil.
-- @function get_worker_info
-- @treturn ?table
function M.get_worker_info()
  local worker = package.loaded["strided.data.worker"]
  return worker and worker.info
end

-- -- Construction ------------------------------------------------------------

local function check_workers(given)
  local n = given.num_workers
  if n ~= nil and (type(n) ~= "number" or n < 0 or n ~= floor(n) or
                   n == huge) then
    raise("DataLoader: option 'num_workers' must be a number of threads, got "
          .. "%s", tostring(n))
  end
  local room = given.prefetch_factor
  if room ~= nil and (type(room) ~= "number" or room < 1 or
                      room ~= floor(room) or room == huge) then
    raise("DataLoader: option 'prefetch_factor' must be a number of batches, "
          .. "got %s", tostring(room))
  end
  for _, name in ipairs {"prefetch_factor", "persistent_workers"} do
    if given[name] and (n or 0) == 0 then
      raise("DataLoader: option '%s' needs num_workers", name)
    end
  end
  if given.worker_init ~= nil and type(given.worker_init) ~= "function" then
    raise("DataLoader: option 'worker_init' must be a function, got %s",
          type(given.worker_init))
  end
end

local function check(given)
  local n = given.batch_size
  if n ~= nil and (type(n) ~= "number" or n < 1 or n ~= floor(n)) then
    raise("DataLoader: option 'batch_size' must be a number of samples, got "
          .. "%s", tostring(n))
  end
  for _, name in ipairs {"sampler", "batch_sampler"} do
    if given[name] ~= nil then
      sampler.check("DataLoader: option '" .. name .. "'", given[name])
    end
  end
  if given.progress ~= nil then progress.check("DataLoader", given.progress) end
  if given.sampler and given.shuffle then
    raise "DataLoader: give a sampler or shuffle, not both"
  elseif given.batch_sampler and (n or given.shuffle or given.sampler or
                                  given.drop_last) then
    raise("DataLoader: a batch_sampler stands for batch_size, shuffle, "
          .. "sampler and drop_last")
  elseif given.collate ~= nil and type(given.collate) ~= "function" then
    raise("DataLoader: option 'collate' must be a function, got %s",
          type(given.collate))
  end
end

local function order_of(source, given)
  if given.sampler then return given.sampler end
  if given.shuffle then
    return sampler.RandomSampler(source, {generator = given.generator})
  end
  return sampler.SequentialSampler(source)
end

--- A loader, which makes batches of a dataset.
-- @function DataLoader
-- @param source a dataset (strided.data.dataset), a tensor, a table; or a
-- function that returns an iterator over samples, called for every pass
-- @tparam[opt] table given options: `batch_size` (1), `shuffle` (false),
-- `drop_last` (false): no batch of fewer samples; `generator` of the order;
-- `sampler` or `batch_sampler` (strided.data.sampler); `collate`, a function
-- that makes a batch of a list of samples, by default as `default_collate`
-- does; `progress`: true, or what to write before the line that shows how far
-- a pass is, on a terminal: a text, or a function that returns it, so that it
-- can tell the epoch and the loss; `num_workers` (0) threads that make batches;
-- `prefetch_factor` (2), how many batches per worker are made in advance;
-- `worker_init`, a function that each worker calls first, with its number;
-- `persistent_workers` (false): they stay for the next pass; `batch_seeds`
-- (false): random numbers without workers are those with workers
-- @treturn table
getmetatable(DataLoader).__call = function(_, source, given)
  given = options("DataLoader", given, KNOWN)
  check(given)
  check_workers(given)
  local self = setmetatable({
    batch_size = given.batch_size or 1, drop_last = given.drop_last or false,
    generator = given.generator, collate = given.collate,
    progress = given.progress, num_workers = given.num_workers or 0,
    prefetch_factor = given.prefetch_factor or 2,
    worker_init = given.worker_init, batch_seeds = given.batch_seeds,
    persistent_workers = given.persistent_workers,
    open = setmetatable({}, {__mode = "v"})}, DataLoader)
  if type(source) == "function" then
    if given.shuffle or given.sampler or given.batch_sampler then
      raise "DataLoader: samples of an iterator cannot be shuffled or chosen"
    elseif self.num_workers > 0 then
      raise "DataLoader: workers cannot share an iterator of samples"
    end
    self.source = source
    return self
  end
  self.dataset = dataset.as_dataset("DataLoader", source)
  self.batches = given.batch_sampler or
    sampler.BatchSampler(order_of(self.dataset, given), self.batch_size,
                         {drop_last = self.drop_last})
  return self
end

return M
