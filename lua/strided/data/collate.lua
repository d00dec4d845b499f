--- Batches of samples: how they are joined, and fetched from a dataset.
--
-- @module strided.data.collate

local st = require "strided"
local raise = require "strided.argument.caller_error"

local is_tensor = st.is_tensor
local ipairs, pairs, select, tostring, type, unpack = ipairs, pairs, select,
  tostring, type, unpack or table.unpack

local M = {}

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

--- For a collate function of the user, a sample of one value is that value, one
-- of several a list.
local function plain(packed)
  for i, sample in ipairs(packed) do
    if sample.n == 1 then packed[i] = sample[1] end
  end
  return packed
end

M.pack = pack

--- The values of a batch that a function or method of the user returned.
local function checked(what, first, ...)
  if first == nil then
    raise("DataLoader: %s returned nil, which would end the loop over batches",
          what)
  end
  return first, ...
end

--- The batch of a list of samples, each packed.
-- @tparam table packed
-- @tparam ?function collate of the user
function M.join(packed, collate_fn)
  if collate_fn then
    return checked("the function 'collate'", collate_fn(plain(packed)))
  end
  return collate_values(packed)
end

--- The batch of some samples of a dataset.
-- @param dataset
-- @tparam table indices
-- @tparam ?function collate_fn of the user
-- @tparam ?function stops returns true if nobody wants the batch any more
function M.fetch(dataset, indices, collate_fn, stops)
  if dataset.batch and not collate_fn then
    return checked("method 'batch' of the dataset", dataset:batch(indices))
  end
  local packed = {}
  for k, i in ipairs(indices) do
    if stops and stops() then return nil end
    packed[k] = pack(dataset:get(i))
  end
  return M.join(packed, collate_fn)
end

return M
