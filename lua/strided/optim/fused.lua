--- The fused operators of optimizers: one pass over all parameters of a batch.
--
-- @module strided.optim.fused

local st = require "strided"

local aten, full, ipairs = st.ops.aten, st.full, ipairs
local fused_step = aten._fused_step_

local fused = {}

--- The flags of a step: core/kernel/optim/optim.h.
fused.EXTRA, fused.MOMENTUM = 1, 2

--- A step of the rule of this name over a batch: core/kernel/optim/optim.h has
-- the numbers of each rule.
-- @tparam string rule
-- @tparam table batch Note [Batches of parameters]
-- @tparam table names of the states, in the order of the rule
-- @tparam table group
-- @tparam table x the numbers by name; `decay` is group.weight_decay
function fused.step(rule, batch, names, group, x)
  local states = {}
  for _, name in ipairs(names) do
    for _, t in ipairs(batch[name]) do states[#states + 1] = t end
  end
  -- ORDER OPTIM_NUMBERS
  fused_step(batch.params, batch.grads, states, rule, {
    group.maximize and -1 or 1, x.decay or group.weight_decay or 0,
    x.shrink or 1, x.lr, x.beta1 or 0, x.beta2 or 0, x.eps or group.eps or 0,
    x.a or 0, x.b or 0, x.mode or 0,
  })
end

--- A list with the number of steps of each parameter of a batch.
function fused.steps(batch, step)
  local list = {}
  local t = full({}, step, {dtype = "float64",
                            device = batch.params[1].device})
  for i in ipairs(batch.params) do list[i] = t end
  return list
end

return fused
