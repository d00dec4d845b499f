--- Optimizers: they update parameters with their gradients.
--
--     local optimizer = optim.AdamW(net:parameters(), {lr = 1e-3})
--     optimizer:zero_grad()
--     loss:backward()
--     optimizer:step()
--
-- They compute the same as PyTorch's optimizers of these names. Parameters are
-- a list of tensors, or a list of groups with separate options:
--
--     optim.SGD({{params = head:parameters(), lr = 0.1},
--                {params = body:parameters()}}, {lr = 0.01})
--
-- The groups are in `optimizer.param_groups`, where options may be changed at
-- any time: `optimizer.param_groups[1].lr = 0.001`. Schedulers do that:
-- `strided.optim.lr_scheduler`. A step is one pass over all parameters, without
-- temporaries. Half precision is computed as float32; with the option
-- `master_weights = true`, which all but LBFGS have, parameters of half
-- precision have copies in float32 that are updated and rounded.
--
-- @module strided.optim

local guard = require "strided.name.guard"

local ipairs, pairs = ipairs, pairs

local require = require "strided.core".require

local optim = {}

for _, family in ipairs {"sgd", "adam", "adagrad", "adafactor", "muon",
                         "lbfgs"} do
  for name, class in pairs(require("strided.optim." .. family)) do
    optim[name] = class
  end
end
optim.lr_scheduler = require "strided.optim.lr_scheduler"
optim.swa_utils = require "strided.optim.swa_utils"

return guard.names(optim, "st.optim")
