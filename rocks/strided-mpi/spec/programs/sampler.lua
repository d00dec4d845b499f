--- Samplers and shards: every rank has its samples.

local st = require "strided"
local mpi = require "strided.mpi"
local check = dofile((arg[0]:match ".*/" or "") .. "check.lua")

local data = st.data

local function collect(sampler)
  local list = {}
  for i in sampler:iter() do list[#list + 1] = i end
  assert(#list == sampler:size())
  return list
end

local function failure(fn, ...)
  local ok, why = pcall(fn, ...)
  assert(not ok, "no error")
  return tostring(why)
end

local function expect(pattern, why)
  assert(why:find(pattern, 1, true), why)
end

-- samples, ranks, drop_last, seed, epoch: the orders of the ranks of PyTorch's
-- torch.utils.data.DistributedSampler, plus 1
local ORDERS = {
  {10, 3, false, 0, 0, "5 6 1 3/2 4 9 5/8 10 7 2"},
  {10, 3, true, 0, 0, "5 6 1/2 4 9/8 10 7"},
  {10, 4, false, 5, 2, "6 2 9/1 8 3/4 10 6/5 7 1"},
  {11, 4, true, 5, 2, "4 6/1 9/10 5/3 11"},
  {2, 5, false, 1, 0, "2/1/2/1/2"},
  {8, 4, true, 3, 1, "3 6/8 2/4 5/7 1"},
}

local function orders_are_pytorchs()
  for _, row in ipairs(ORDERS) do
    local n, size, drop_last, seed, epoch, expected =
      row[1], row[2], row[3], row[4], row[5], row[6]
    local texts = {}
    for rank = 0, size - 1 do
      local sampler = mpi.DistributedSampler(st.zeros(n), {
        num_replicas = size, rank = rank, drop_last = drop_last, seed = seed,
      })
      sampler:set_epoch(epoch)
      texts[rank + 1] = table.concat(collect(sampler), " ")
    end
    local text = table.concat(texts, "/")
    assert(text == expected, text .. " is not " .. expected)
  end
  local sampler = mpi.DistributedSampler(st.zeros(5), {
    num_replicas = 2, rank = 1, shuffle = false})
  assert(table.concat(collect(sampler), " ") == "2 4 1")
end

--- How often each sample comes on all ranks.
local function counts_of(lists, n)
  local counts = st.zeros(n)
  for _, i in ipairs(lists) do counts[i] = counts[i] + 1 end
  return mpi.all_reduce(counts)
end

local function loaders_take_them()
  local n = 12 * mpi.size()
  local x = st.arange(1, n + 1)
  local dataset = data.TensorDataset(x)
  local seen = {}
  local loader = data.DataLoader(dataset, {
    batch_size = 5, sampler = mpi.DistributedSampler(dataset)})
  for batch in loader:iter() do
    for _, value in ipairs(batch:totable()) do seen[#seen + 1] = value end
  end
  assert(#seen == 12)
  assert(counts_of(seen, n):eq(1):all():item())
end

--- The samples of each batch, of all ranks in order.
local function batches(n, given)
  local lists = {}
  for rank = 0, given.num_replicas - 1 do
    given.rank = rank
    local sampler = mpi.DistributedBatchSampler(st.zeros(n), given)
    sampler:set_epoch(3)
    local k = 0
    for list in sampler:iter() do
      k = k + 1
      lists[k] = lists[k] or {}
      for _, i in ipairs(list) do table.insert(lists[k], i) end
    end
    assert(k == sampler:size())
  end
  for k, list in ipairs(lists) do lists[k] = table.concat(list, " ") end
  return table.concat(lists, "/"), lists
end

local function batches_are_the_same_for_any_number_of_ranks()
  for _, drop_last in ipairs {false, true} do
    local function given(size)
      return {batch_size = 8, parts = 4, seed = 2, drop_last = drop_last,
              num_replicas = size}
    end
    local first, lists = batches(30, given(1))
    assert(#lists == (drop_last and 3 or 4))
    for size = 2, 4 do assert(batches(30, given(size)) == first) end
  end
  local text = batches(6, {batch_size = 4, num_replicas = 2, shuffle = false})
  assert(text == "1 2 3 4/5 6", text)
end

local function shards_are_blocks()
  local x = st.arange(1, 11)
  local texts = {}
  for rank = 0, 2 do
    local shard = mpi.shard(x, {num_replicas = 3, rank = rank})
    assert(shard.base == x or shard:storage_offset() == 3 * rank)
    texts[rank + 1] = table.concat(shard:totable(), " ")
    local subset = mpi.shard(data.TensorDataset(x), {num_replicas = 3,
                                                     rank = rank})
    assert(subset:size() == shard.shape[1])
    assert(subset:get(1) == shard[1] or subset:get(1):item() == shard[1])
  end
  assert(table.concat(texts, "/") == "1 2 3/4 5 6/7 8 9 10")
  local mine = mpi.shard(st.arange(1, 24))
  assert(counts_of(mine:totable(), 23):eq(1):all():item())
end

local function large_seeds()
  local sampler = mpi.DistributedSampler(st.zeros(50), {
    num_replicas = 1, rank = 0, seed = 2 ^ 52})
  local texts = {}
  for i, epoch in ipairs {0, 1, 2 ^ 52} do
    sampler:set_epoch(epoch)
    texts[i] = table.concat(collect(sampler), " ")
  end
  assert(texts[1] ~= texts[2] and texts[2] ~= texts[3])
  for _, seed in ipairs {2 ^ 53, 2 ^ 70} do
    expect("DistributedSampler: option 'seed' must be at most 2^52, got ",
           failure(mpi.DistributedSampler, st.zeros(5), {seed = seed}))
  end
  expect("set_epoch: argument 'epoch' must be at most 2^52, got ",
         failure(sampler.set_epoch, sampler, 2 ^ 53))
end

local function communicators()
  for _, name in ipairs {"DistributedSampler", "DistributedBatchSampler",
                         "shard"} do
    local given = {comm = 3}
    local why = failure(function() return (mpi[name](st.zeros(8), given)) end)
    assert(why:find "^[^\n]*programs/sampler%.lua:%d+: ", why)
    expect(name .. ": option 'comm' must be a communicator, got number", why)
  end
end

local function misuse()
  expect("DistributedSampler: rank 3 is none of 0 to 2",
         failure(mpi.DistributedSampler, st.zeros(4),
                 {num_replicas = 3, rank = 3}))
  expect("argument 'dataset' must be a dataset, got string",
         failure(mpi.DistributedSampler, "x"))
  expect("there is no option 'batch'; it has batch_size, comm",
         failure(mpi.DistributedBatchSampler, st.zeros(4), {batch = 3}))
  expect("option 'batch_size' must be a whole number from 1 on, got nil",
         failure(mpi.DistributedBatchSampler, st.zeros(4)))
  expect("3 parts are too few for 4 ranks",
         failure(mpi.DistributedBatchSampler, st.zeros(9),
                 {batch_size = 9, parts = 3, num_replicas = 4, rank = 0}))
  expect("a batch of 2 samples cannot be divided into 4 parts; choose another "
         .. "batch_size, or drop_last = true",
         failure(mpi.DistributedBatchSampler, st.zeros(10),
                 {batch_size = 4, parts = 4, num_replicas = 2, rank = 0}))
  expect("set_epoch: argument 'epoch' must be a whole number from 0 on, got -1",
         failure(function()
           mpi.DistributedSampler(st.zeros(9)):set_epoch(-1)
         end))
end

check.run(function()
  check.topic("orders are PyTorch's", orders_are_pytorchs)
  check.topic("loaders take the samplers", loaders_take_them)
  check.topic("batches are the same for any number of ranks",
              batches_are_the_same_for_any_number_of_ranks)
  check.topic("shards are blocks", shards_are_blocks)
  check.topic("large seeds", large_seeds)
  check.topic("communicators of samplers", communicators)
  check.topic("misuse of samplers", misuse)
end)
