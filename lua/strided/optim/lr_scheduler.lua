--- Schedulers: they change the lr of an optimizer from epoch to epoch.
--
--     local scheduler = lr_scheduler.StepLR(optimizer, 30, {gamma = 0.1})
--     for _ = 1, 90 do
--       train(net, optimizer)
--       scheduler:step()
--     end
--
-- They compute the same as PyTorch's schedulers of these names. Epochs are
-- counted from 0, the one before the first `step`. A warm-up and a decay:
--
--     lr_scheduler.SequentialLR(optimizer, {
--       lr_scheduler.LinearLR(optimizer, {start_factor = 0.01}),
--       lr_scheduler.CosineAnnealingLR(optimizer, 100),
--     }, {5})
--
-- `get_last_lr`, `state_dict` and `load_state_dict` are methods of all.
--
-- @module strided.optim.lr_scheduler

local guard = require "strided.name.guard"

local ipairs, pairs = ipairs, pairs

local require = require "strided.core".require

local lr_scheduler = {}

for _, family in ipairs {"decay", "cycle", "composed"} do
  local classes = require("strided.optim.lr_scheduler." .. family)
  for name, class in pairs(classes) do lr_scheduler[name] = class end
end

return guard.names(lr_scheduler, "st.optim.lr_scheduler")
