--- A dataset of a class of its own, which worker threads make of a description:
-- n samples, each the number of the worker and a product.

local data = require("strided").data

local Own = data.Dataset:extend "Own"

function Own:init(n, factor) self.n, self.factor = n, factor end

function Own:size() return self.n end

function Own:get(i)
  local info = data.get_worker_info()
  return {worker = info and info.id or 0, value = i * self.factor}
end

return Own
