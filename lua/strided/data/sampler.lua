--- Samplers: the order in which a loader takes the samples of a dataset.
--
-- A sampler is an object with two methods: `iter()` returns an iterator over
-- numbers of samples, and `size()` how many there are. The orders of a seed are
-- PyTorch's, with numbers that count from 1.
--
-- @module strided.data.sampler

local st = require "strided"
local dataset = require "strided.data.dataset"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local floor, is_tensor = math.floor, st.is_tensor
local ipairs, setmetatable, tostring, type = ipairs, setmetatable, tostring,
  type

local RANDOM = {replacement = true, num_samples = true, generator = true}
local SUBSET = {generator = true}
local BATCH = {drop_last = true}

local from = dataset.from

local M = {}

local function class(name)
  local c = {__name = name}
  c.__index = c
  M[name] = setmetatable(c, {__call = function(_, ...)
    local self = setmetatable({}, c)
    self:init(...)
    return self
  end})
  return c
end

local function is_count(n)
  return type(n) == "number" and n >= 1 and n == floor(n)
end

local function check_count(name, option, n)
  if not is_count(n) then
    raise("%s: %s must be a number of samples, got %s", name, option,
          tostring(n))
  end
end

--- Raises an error unless x has the methods of a sampler.
-- @tparam string where it is, for the message
-- @param x
function M.check(where, x)
  if type(x) ~= "table" or not x.iter or not x.size then
    raise("%s must have the methods 'iter' and 'size', got %s", where,
          is_tensor(x) and "a Tensor" or
          type(x) == "table" and "a table without them" or type(x))
  end
end

--- Calls the method `iter` of a sampler.
-- @tparam string name of the called function
-- @tparam table sampler
-- @treturn function
function M.start(name, sampler)
  local nextone = sampler:iter()
  if type(nextone) ~= "function" then
    raise("%s: method 'iter' of the sampler must return a function, got %s",
          name, type(nextone))
  end
  return nextone
end

--- An iterator over the elements of a list.
local function each(list)
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

--- The samples in order.
-- @function SequentialSampler
-- @param dataset
local Sequential = class "SequentialSampler"

function Sequential:init(source)
  self.source = dataset.as_dataset("SequentialSampler", source)
end

function Sequential:size() return self.source:size() end

function Sequential:iter()
  local i, n = 0, self.source:size()
  return function()
    i = i + 1
    if i <= n then return i end
  end
end

--- The samples in random order.
-- @function RandomSampler
-- @param dataset
-- @tparam[opt] table given options: `replacement` (false): samples may be taken
-- again; `num_samples`: so many, by default all; `generator`, by default a new
-- one that the default generator seeds
local Random = class "RandomSampler"

function Random:init(source, given)
  self.source = dataset.as_dataset("RandomSampler", source)
  given = options("RandomSampler", given, RANDOM)
  if given.num_samples then
    check_count("RandomSampler", "num_samples", given.num_samples)
  end
  self.replacement, self.num_samples = given.replacement, given.num_samples
  self.generator = given.generator
end

function Random:size() return self.num_samples or self.source:size() end

--- The generator of one pass.
local function generator_of(self)
  if self.generator then return self.generator end
  local seed = st.empty({}, {dtype = "int64"}):random_():item()
  return st.Generator(seed)
end

-- The numbers are drawn in parts: of 32, or all samples in random order. As in
-- PyTorch, the part behind the last whole one is drawn even if none of it is
-- taken.
function Random:iter()
  local n, left = self.source:size(), self:size()
  local part = self.replacement and 32 or n
  local drawn, at, count = {}, 0, 0
  local g = {generator = generator_of(self)}
  local is_last = n == 0
  local function draw()
    count, is_last = left < part and left or part, left < part
    if not self.replacement then return st.randperm(n, g):totable() end
    return st.randint(1, n + 1, {count}, g):totable()
  end
  return function()
    if at == count then
      if is_last then return nil end
      drawn, at = draw(), 0
      left = left - count
      if count == 0 then return nil end
    end
    at = at + 1
    return drawn[at]
  end
end

--- The samples of a list of indices, in random order.
-- @function SubsetRandomSampler
-- @tparam table indices
-- @tparam[opt] table given options: `generator`
local Subset = class "SubsetRandomSampler"

function Subset:init(indices, given)
  if is_tensor(indices) then indices = indices:totable() end
  if type(indices) ~= "table" then
    raise("SubsetRandomSampler: argument 'indices' must be a list, got %s",
          type(indices))
  end
  self.indices = indices
  self.generator = options("SubsetRandomSampler", given, SUBSET).generator
end

function Subset:size() return #self.indices end

function Subset:iter()
  local order = {}
  local drawn = st.randperm(#self.indices, from(self.generator))
  for k, i in ipairs(drawn:totable()) do order[k] = self.indices[i] end
  return each(order)
end

--- Samples with the probabilities of weights.
-- @function WeightedRandomSampler
-- @tparam table weights a list or a tensor, one weight per sample
-- @tparam integer num_samples
-- @tparam[opt] table given options: `replacement` (true), `generator`
local Weighted = class "WeightedRandomSampler"

function Weighted:init(weights, num_samples, given)
  check_count("WeightedRandomSampler", "argument 'num_samples'", num_samples)
  given = options("WeightedRandomSampler", given, RANDOM)
  if not is_tensor(weights) and type(weights) ~= "table" then
    raise("WeightedRandomSampler: argument 'weights' must be a list or a "
          .. "Tensor, got %s", type(weights))
  end
  self.weights = is_tensor(weights) and weights:to "float64"
                 or st.tensor(weights, {dtype = "float64"})
  self.num_samples, self.generator = num_samples, given.generator
  self.replacement = given.replacement ~= false
end

function Weighted:size() return self.num_samples end

function Weighted:iter()
  return each(st.multinomial(self.weights, self.num_samples, self.replacement,
                             from(self.generator)):totable())
end

--- Lists of so many samples of a sampler.
-- @function BatchSampler
-- @param sampler
-- @tparam integer batch_size
-- @tparam[opt] table given options: `drop_last` (false): no list of fewer
local Batch = class "BatchSampler"

function Batch:init(sampler, batch_size, given)
  check_count("BatchSampler", "argument 'batch_size'", batch_size)
  M.check("BatchSampler: argument 'sampler'", sampler)
  self.sampler, self.batch_size = sampler, batch_size
  self.drop_last = options("BatchSampler", given, BATCH).drop_last or false
end

function Batch:size()
  local whole = floor(self.sampler:size() / self.batch_size)
  local rest = self.sampler:size() % self.batch_size
  return (rest > 0 and not self.drop_last) and whole + 1 or whole
end

function Batch:iter()
  local nextone = M.start("BatchSampler", self.sampler)
  return function()
    local list = {}
    while #list < self.batch_size do
      local i = nextone()
      if i == nil then break end
      list[#list + 1] = i
    end
    local is_whole = #list == self.batch_size
    if is_whole or (list[1] and not self.drop_last) then return list end
  end
end

return M
