--- Batches of a loader with worker threads.

local st = require "strided"

local numbers = st.data.TensorDataset(st.arange(20)):map(function(x)
  return x * 2
end)
local sum = 0
for batch in st.data.DataLoader(numbers, {batch_size = 3, num_workers = 2})
             :iter() do
  sum = sum + batch:sum():item()
end
io.stdout:write(("%d in batches\n"):format(sum))
