--- DataLoader: batches of a dataset.
--
--     local loader = data.DataLoader(data.TensorDataset(x, y),
--                                    {batch_size = 64, shuffle = true})
--     for x, y in loader:iter() do
--       local loss = criterion(net(x), y)
--     end
--
-- @module strided.data.loader

local st = require "strided"
local dataset = require "strided.data.dataset"
local options = require "strided.options"
local progress = require "strided.data.progress"
local raise = require "strided.caller_error"
local sampler = require "strided.data.sampler"

local floor, is_tensor = math.floor, st.is_tensor
local getmetatable, ipairs, pairs, select, setmetatable, tostring, type,
  unpack = getmetatable, ipairs, pairs, select, setmetatable, tostring, type,
  unpack or table.unpack

local KNOWN = {batch_size = true, shuffle = true, sampler = true,
               batch_sampler = true, collate = true, drop_last = true,
               generator = true, progress = true}

local M = {}

-- -- Collation ---------------------------------------------------------------

local collate

local function collate_tables(list)
  local joined = {}
  for i, sample in ipairs(list) do
    if #sample ~= #list[1] then
      raise("default_collate: sample 1 has %d elements, sample %d has %d",
            #list[1], i, #sample)
    end
  end
  for key in pairs(list[1]) do
    local values = {}
    for i, sample in ipairs(list) do
      if type(sample) ~= "table" or sample[key] == nil then
        raise("default_collate: sample %d has no '%s'", i, tostring(key))
      end
      values[i] = sample[key]
    end
    joined[key] = collate(values)
  end
  return joined
end

function collate(list)
  local first = list[1]
  for i, value in ipairs(list) do
    if type(value) ~= type(first) or is_tensor(value) ~= is_tensor(first) then
      raise("default_collate: sample 1 is a %s, sample %d a %s",
            is_tensor(first) and "Tensor" or type(first), i,
            is_tensor(value) and "Tensor" or type(value))
    end
  end
  if is_tensor(first) then return st.stack(list) end
  local kind = type(first)
  if kind == "number" or kind == "boolean" then return st.tensor(list) end
  return kind == "table" and collate_tables(list) or list
end

--- Joins samples into a batch: tensors are stacked, numbers and booleans become
-- a tensor, tables are joined by key, and other values stay a list.
-- @function default_collate
-- @tparam table list of samples
-- @return the batch
function M.default_collate(list)
  if type(list) ~= "table" or list[1] == nil then
    raise("default_collate: a list of samples is expected, got %s",
          type(list) == "table" and "an empty one" or type(list))
  end
  return collate(list)
end

local function pack(...) return {n = select("#", ...), ...} end

--- Joins the k-th values of samples that have several.
local function collate_values(packed)
  local batch = {}
  for i, sample in ipairs(packed) do
    if sample.n ~= packed[1].n then
      raise("DataLoader: sample 1 of a batch has %d values, sample %d has %d",
            packed[1].n, i, sample.n)
    end
  end
  for k = 1, packed[1].n do
    local values = {}
    for i, sample in ipairs(packed) do
      values[i] = sample[k]
      if values[i] == nil then
        raise("DataLoader: value %d of sample %d of a batch is nil", k, i)
      end
    end
    batch[k] = collate(values)
  end
  return unpack(batch, 1, packed[1].n)
end

-- -- Batches -----------------------------------------------------------------

local DataLoader = {}
DataLoader.__index = DataLoader
M.DataLoader = setmetatable(DataLoader, {})

--- For a collate function of the user, a sample of one value is that value, one
-- of several a list.
local function plain(packed)
  for i, sample in ipairs(packed) do
    if sample.n == 1 then packed[i] = sample[1] end
  end
  return packed
end

local function join(self, packed)
  if self.collate then return self.collate(plain(packed)) end
  return collate_values(packed)
end

local function fetch(self, indices)
  if self.dataset.batch and not self.collate then
    return self.dataset:batch(indices)
  end
  local packed = {}
  for k, i in ipairs(indices) do packed[k] = pack(self.dataset:get(i)) end
  return join(self, packed)
end

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
      local sample = pack(nextone())
      if sample[1] == nil then break end
      packed[#packed + 1] = sample
    end
    if not packed[1] or (self.drop_last and #packed < self.batch_size) then
      return nil
    end
    return join(self, packed)
  end
end

--- An iterator over the batches of one pass: what it returns are the values of
-- a batch, `x, y` of TensorDataset(x, y). Every call shuffles anew.
-- @function DataLoader:iter
-- @treturn function
function DataLoader:iter()
  local batches
  if self.source then
    batches = stream(self)
  else
    -- PyTorch draws the seed of its workers first, with or without workers.
    st.empty({}, {dtype = "int64"}):random_(dataset.from(self.generator))
    local nextlist = self.batches:iter()
    batches = function()
      local indices = nextlist()
      if indices then return fetch(self, indices) end
    end
  end
  if not self.progress then return batches end
  local total = not self.source and self.batches:size() or nil
  return progress.each(batches, total, self.progress)
end

DataLoader.__call = DataLoader.iter

--- The number of batches of a pass; nil if the dataset is a function.
-- @function DataLoader:size
-- @treturn integer
function DataLoader:size()
  if not self.source then return self.batches:size() end
end

-- -- Construction ------------------------------------------------------------

local function check(given)
  local n = given.batch_size
  if n ~= nil and (type(n) ~= "number" or n < 1 or n ~= floor(n)) then
    raise("DataLoader: option 'batch_size' must be a number of samples, got "
          .. "%s", tostring(n))
  end
  for _, name in ipairs {"sampler", "batch_sampler"} do
    local value = given[name]
    if value ~= nil and (type(value) ~= "table" or not value.iter) then
      raise("DataLoader: option '%s' must have a method 'iter', got %s", name,
            is_tensor(value) and "a Tensor" or type(value))
    end
  end
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
-- a pass is, on a terminal
-- @treturn table
getmetatable(DataLoader).__call = function(_, source, given)
  given = options("DataLoader", given, KNOWN)
  check(given)
  local self = setmetatable({
    batch_size = given.batch_size or 1, drop_last = given.drop_last or false,
    generator = given.generator, collate = given.collate,
    progress = given.progress}, DataLoader)
  if type(source) == "function" then
    if given.shuffle or given.sampler or given.batch_sampler then
      raise "DataLoader: samples of an iterator cannot be shuffled or chosen"
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
