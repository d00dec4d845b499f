--- Datasets: numbered samples, of which a loader makes batches.
--
-- A dataset is an object with two methods: `size()` returns how many samples it
-- has, and `get(i)` returns sample i, from 1 on, as one or more values. A
-- method `batch(indices)`, which is optional, returns the samples of a list of
-- indices joined in batches: TensorDataset has one, which moves whole rows.
--
--     local Files = data.Dataset:extend "Files"
--
--     function Files:init(paths) self.paths = paths end
--     function Files:size() return #self.paths end
--     function Files:get(i) return st.load(self.paths[i]) end
--
--     local files = Files(paths)
--
-- Where a dataset is expected, a list of samples and a tensor, whose rows are
-- the samples, may be given, too, and a table of tensors by name. A file that
-- `st.load(path, {mmap = "r"})` maps is such a tensor or table.
--
-- So may be a description of how to make a dataset, which the workers of a
-- loader need for a class of the user:
--
--     {module = "my.files", args = {"train"}}   -- require "my.files"("train")
--     {make = function(n) ... return dataset end, args = {100}}
--
-- @function data.Dataset
-- @module strided.data.dataset

local st = require "strided"
local core = require "strided.core"
local callable = require "strided.argument.callable"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local abs, floor, is_tensor = math.abs, math.floor, st.is_tensor
local fetch_rows = core.fetch_rows
local debug, error, find, getmetatable, ipairs, next, pairs, pcall, rawget,
  require, select, setmetatable, tostring, type, unpack = debug, error,
  string.find, getmetatable, ipairs, next, pairs, pcall, rawget, require,
  select, setmetatable, tostring, type, unpack or table.unpack

local GENERATOR = {generator = true}
local DESCRIPTION = {module = true, make = true, args = true}

local M = {}

-- The descriptions that datasets were made of.
local recipes = setmetatable({}, {__mode = "k"})

-- The classes of this module by name. Their method `arguments` returns those of
-- the constructor, so that a worker can make an equal dataset.
local classes = {}
M.classes = classes

--- The options of a random operator, nil for the default generator.
-- @param generator
-- @treturn ?table
function M.from(generator)
  return generator and {generator = generator} or nil
end

-- -- Classes -----------------------------------------------------------------

local Dataset = {}

local function create(class, ...)
  local self = setmetatable({}, class)
  self:init(...)
  return self
end

local function describe(self)
  return ("%s of %d samples"):format(getmetatable(self).__name, self:size())
end

local function declare(class, name, parent)
  class.__name, class.__index, class.__tostring = name, class, describe
  return setmetatable(class, {__index = parent, __call = create})
end

declare(Dataset, "Dataset")
M.Dataset = Dataset

--- Declares a subclass. Calling the class creates a dataset and passes the
-- arguments to its method `init`.
-- @tparam string name
-- @treturn table the class
function Dataset:extend(name)
  if type(name) ~= "string" then
    raise("extend: argument 'name' must be a string, got %s; write "
          .. "data.Dataset:extend \"Files\"", type(name))
  end
  return declare({}, name, self)
end

function Dataset.init() end

function Dataset:size()
  raise("%s has no method 'size'", getmetatable(self).__name)
end

function Dataset:get()
  raise("%s has no method 'get'", getmetatable(self).__name)
end

--- The dataset with a function applied to each sample.
-- @tparam function fn gets the values of a sample and returns those that
-- replace them
-- @treturn table a dataset
function Dataset:map(fn)
  callable("map", fn)
  return M.MapDataset(self, fn)
end

--- Raises an error unless i is the number of a sample, of self or of another
-- dataset.
local function check_index(self, i, dataset)
  local n = (dataset or self):size()
  if type(i) ~= "number" or i ~= floor(i) or i < 1 or i > n then
    raise("%s: there is no sample %s, the dataset has %d",
          getmetatable(self).__name, tostring(i), n)
  end
end

--- Declares a class of this module.
local function class_named(name)
  classes[name] = Dataset:extend(name)
  return classes[name]
end

-- -- Tensors -----------------------------------------------------------------

--- Samples that are rows: sample i of TensorDataset(x, y) has row i of x and
-- of y, which are tensors without dimensions for 1-d ones. Of a table of
-- tensors by name it is a table of their rows i.
-- @function TensorDataset
-- @tparam Tensor ... tensors of the same first size; or a table of such by name
local TensorDataset = class_named "TensorDataset"
M.TensorDataset = TensorDataset

local function device_of(t) return t.device end

--- What is wrong with a tensor that has no elements to read: it was freed, or
-- is on the meta device.
-- @treturn ?string
function M.why_empty(t)
  local ok, device = core.try(device_of, t)
  if not ok then return "was freed" end
  return device == "meta" and "is on the meta device: it has no elements" or nil
end

local function check_elements(name, t)
  local why = is_tensor(t) and M.why_empty(t)
  if why then raise("%s: a Tensor of the dataset %s", name, why) end
end

local function check_rows(name, t, n)
  if not is_tensor(t) then
    raise("TensorDataset: %s must be a Tensor, got %s", name, type(t))
  elseif M.why_empty(t) == "was freed" then
    raise("TensorDataset: %s was freed", name)
  elseif t.ndim == 0 then
    raise("TensorDataset: %s has no dimension for its samples", name)
  elseif n and t.shape[1] ~= n then
    raise("TensorDataset: %s has %d rows where others have %d", name,
          t.shape[1], n)
  end
  return t.shape[1]
end

function TensorDataset:init(first, ...)
  if type(first) == "table" and select("#", ...) == 0 and next(first) then
    self.named = {}
    for name, t in pairs(first) do
      self.n = check_rows("'" .. tostring(name) .. "'", t, self.n)
      self.named[name] = t
    end
    return
  end
  self.tensors = {first, ...}
  for i = 1, select("#", first, ...) do
    self.n = check_rows("argument " .. i, self.tensors[i], self.n)
  end
end

function TensorDataset:arguments()
  if self.named then return self.named end
  return unpack(self.tensors)
end

function TensorDataset:size() return self.n end

--- Applies fn to each tensor; returns the results as samples are returned.
local function each_tensor(self, fn)
  local results = {}
  for name, t in pairs(self.named or self.tensors) do results[name] = fn(t) end
  if self.named then return results end
  return unpack(results, 1, #self.tensors)
end

function TensorDataset:get(i)
  check_index(self, i)
  return each_tensor(self, function(t)
    fetch_rows(t, i)
    return t:select(1, i)
  end)
end

function TensorDataset:batch(indices)
  for _, i in ipairs(indices) do check_index(self, i) end
  for _, t in pairs(self.named or self.tensors) do
    check_elements("DataLoader", t)
    fetch_rows(t, indices)
  end
  local rows = st.tensor(indices, {dtype = "int64"})
  return each_tensor(self, function(t)
    return t:index_select(1, rows:to(t.device))
  end)
end

-- -- Lists and functions -----------------------------------------------------

--- The samples of a list.
local ListDataset = class_named "ListDataset"

function ListDataset:init(list) self.list = list end

function ListDataset:arguments() return self.list end

function ListDataset:size() return #self.list end

function ListDataset:get(i)
  check_index(self, i)
  return self.list[i]
end

--- n samples that a function returns: sample i is `fn(i)`.
-- @function FunctionDataset
-- @tparam integer n
-- @tparam function fn
local FunctionDataset = class_named "FunctionDataset"
M.FunctionDataset = FunctionDataset

function FunctionDataset:init(n, fn)
  if type(n) ~= "number" or n < 0 or n ~= floor(n) then
    raise("FunctionDataset: argument 'n' must be a number of samples, got %s",
          tostring(n))
  end
  callable("FunctionDataset", fn)
  self.n, self.fn = n, fn
end

function FunctionDataset:arguments() return self.n, self.fn end

function FunctionDataset:size() return self.n end

function FunctionDataset:get(i)
  check_index(self, i)
  return self.fn(i)
end

local function is_dataset(x)
  return type(x) == "table" and type(x.get) == "function" and
         type(x.size) == "function"
end

--- True for an object with the methods of a dataset.
M.is_dataset = is_dataset

--- The name of a dataset's class, for messages.
function M.name_of(x)
  local class = getmetatable(x)
  local name = type(class) == "table" and rawget(class, "__name")
  return type(name) == "string" and name or "?"
end

--- The class of a dataset of this module; nil for others.
function M.class_of(x)
  local class = type(x) == "table" and getmetatable(x)
  local name = type(class) == "table" and rawget(class, "__name")
  return name and classes[name] == class and class or nil
end

--- The description {module =, make =, args =} that a dataset was made of.
function M.recipe_of(x) return recipes[x] end

local function is_description(x)
  return x[1] == nil and
         (type(x.module) == "string" or type(x.make) == "function")
end

local function is_callable(x)
  local meta = debug.getmetatable(x)
  return type(x) == "function" or
         type(meta) == "table" and rawget(meta, "__call") ~= nil
end

--- The module of a description. What is not there or not given is an error of
-- the caller; an error of its own passes.
local function load_module(name, module)
  local ok, made = pcall(core.public_require or require, module)
  if ok then return made end
  local absent = "module '" .. module .. "' not found"
  local text = core.is_refusal(made) and made or
               find(tostring(made), absent, 1, true) and made
  if not text then error(made, 0) end
  raise("%s: %s", name, text)
end

--- Makes a dataset as described.
local function make(name, x)
  for key in pairs(x) do
    if not DESCRIPTION[key] then
      raise("%s: the description of a dataset has module or make, and args, "
            .. "not '%s'", name, tostring(key))
    end
  end
  if x.args ~= nil and type(x.args) ~= "table" then
    raise("%s: 'args' must be a list, got %s", name, type(x.args))
  end
  if x.make ~= nil and type(x.make) ~= "function" then
    raise("%s: 'make' must be a function, got %s", name, type(x.make))
  end
  local args = x.args or {}
  local made = x.make
  if not made then
    made = load_module(name, x.module)
  end
  if is_callable(made) then
    made = made(unpack(args, 1, args.n or #args))
  elseif not M.is_dataset(made) then
    raise("%s: module '%s' must return a dataset, or a function that makes "
          .. "one, got %s", name, x.module, type(made))
  end
  made = M.as_dataset(name, made)
  recipes[made] = {module = x.module, make = x.make, args = args}
  return made
end

--- The dataset that an argument stands for.
-- @tparam string name of the called function
-- @param x a dataset, a tensor, a table of tensors, a list, or a description
-- @treturn table
function M.as_dataset(name, x)
  check_elements(name, x)
  if is_tensor(x) then return TensorDataset(x) end
  if is_dataset(x) then return x end
  if type(x) == "table" then
    if is_description(x) then return make(name, x) end
    local _, value = next(x)
    if x[1] == nil and is_tensor(value) then return TensorDataset(x) end
    return ListDataset(x)
  end
  raise("%s: a dataset must be a Tensor, a table, or an object with the "
        .. "methods 'get' and 'size', got %s", name, type(x))
end

-- -- Datasets of datasets ----------------------------------------------------

local MapDataset = class_named "MapDataset"
M.MapDataset = MapDataset

function MapDataset:init(dataset, fn) self.dataset, self.fn = dataset, fn end

function MapDataset:arguments() return self.dataset, self.fn end

function MapDataset:size() return self.dataset:size() end

function MapDataset:get(i) return self.fn(self.dataset:get(i)) end

--- Some samples of a dataset.
-- @function Subset
-- @param dataset
-- @tparam table indices a list of the numbers of samples
local Subset = class_named "Subset"
M.Subset = Subset

function Subset:init(dataset, indices)
  self.dataset = M.as_dataset("Subset", dataset)
  if is_tensor(indices) then indices = indices:totable() end
  if type(indices) ~= "table" then
    raise("Subset: argument 'indices' must be a list, got %s", type(indices))
  end
  self.indices = indices
  for _, i in ipairs(indices) do check_index(self, i, self.dataset) end
  if self.dataset.batch then
    function self.batch(_, list)
      local inner = {}
      for k, i in ipairs(list) do
        check_index(self, i)
        inner[k] = indices[i]
      end
      return self.dataset:batch(inner)
    end
  end
end

function Subset:arguments() return self.dataset, self.indices end

function Subset:size() return #self.indices end

function Subset:get(i)
  check_index(self, i)
  return self.dataset:get(self.indices[i])
end

--- The samples of several datasets, one after the other.
-- @function ConcatDataset
-- @tparam table list of datasets
local ConcatDataset = class_named "ConcatDataset"
M.ConcatDataset = ConcatDataset

function ConcatDataset:init(list)
  if type(list) ~= "table" or is_dataset(list) or not list[1] then
    raise "ConcatDataset: a list of datasets is expected"
  end
  self.datasets, self.n = {}, 0
  for k, dataset in ipairs(list) do
    self.datasets[k] = M.as_dataset("ConcatDataset", dataset)
    self.n = self.n + self.datasets[k]:size()
  end
end

function ConcatDataset:arguments() return self.datasets end

function ConcatDataset:size() return self.n end

function ConcatDataset:get(i)
  check_index(self, i)
  for _, dataset in ipairs(self.datasets) do
    local n = dataset:size()
    if i <= n then return dataset:get(i) end
    i = i - n
  end
end

-- -- Splits ------------------------------------------------------------------

--- Numbers of samples for fractions of n, as PyTorch rounds them: down, and
-- what is left is added to the first ones.
local function sizes_of(fractions, n)
  local sizes, left = {}, n
  for k, share in ipairs(fractions) do
    sizes[k] = floor(n * share)
    left = left - sizes[k]
  end
  for k = 0, left - 1 do
    local at = k % #sizes + 1
    sizes[at] = sizes[at] + 1
  end
  return sizes
end

--- Splits a dataset at random. The parts are PyTorch's for a seed.
-- @function random_split
-- @param dataset
-- @tparam table lengths numbers of samples that add up to all of them, or
-- fractions that add up to 1
-- @tparam[opt] table given options: `generator`
-- @return the parts, each a Subset
function M.random_split(dataset, lengths, given)
  dataset = M.as_dataset("random_split", dataset)
  given = options("random_split", given, GENERATOR)
  if type(lengths) ~= "table" then
    raise("random_split: argument 'lengths' must be a list, got %s",
          type(lengths))
  end
  local n, sum = dataset:size(), 0
  for k, length in ipairs(lengths) do
    if type(length) ~= "number" or length < 0 or length ~= length then
      raise("random_split: length %d must be a number of samples or a "
            .. "fraction, got %s", k, tostring(length))
    end
    sum = sum + length
  end
  if abs(sum - 1) < 1e-9 and (n ~= 1 or #lengths > 1) then
    lengths, sum = sizes_of(lengths, n), n
  end
  if sum ~= n then
    raise("random_split: the lengths add up to %g, the dataset has %d samples",
          sum, n)
  end
  local order = st.randperm(n, M.from(given.generator)):totable()
  local parts, at = {}, 0
  for k, length in ipairs(lengths) do
    local indices = {}
    for i = 1, length do indices[i] = order[at + i] end
    parts[k], at = M.Subset(dataset, indices), at + length
  end
  return unpack(parts)
end

return M
