--- Data for training: datasets, samplers, and loaders that make batches.
--
--     local data = require "strided.data" -- or st.data
--
--     local all = data.TensorDataset(x, y)
--     local train, test = data.random_split(all, {0.8, 0.2})
--     local loader = data.DataLoader(train, {batch_size = 64, shuffle = true})
--     for epoch = 1, 10 do
--       for inputs, targets in loader:iter() do
--         local loss = criterion(net(inputs), targets)
--       end
--     end
--
-- The classes are in strided.data.dataset, strided.data.sampler and
-- strided.data.loader; functions of samples in strided.data.transforms. Samples
-- count from 1. The orders and splits of a seed are PyTorch's.
--
-- @module strided.data

local pairs = pairs

local require = require "strided.core".require

local data = {transforms = require "strided.data.transforms"}

for _, name in pairs {"dataset", "sampler", "loader"} do
  for key, value in pairs(require("strided.data." .. name)) do
    if key:find "^%u" or key == "random_split" or key == "default_collate" or
       key == "get_worker_info" then
      data[key] = value
    end
  end
end

require("strided.name.guard").names(data.transforms, "st.data.transforms")
return require("strided.name.guard").names(data, "st.data")
