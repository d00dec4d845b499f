--- Optimizers that divide by the root of a sum of squares: Adagrad, Adadelta,
-- RMSprop.
--
-- @module strided.optim

local st = require "strided"
local declare = require "strided.optim.optimizer".declare
local fused = require "strided.optim.fused"

local fused_adagrad = st.ops.aten._fused_adagrad_

local adagrad = {}

--- What is wrong with a factor that is no number from 0 to 1, or nil.
local function up_to_one(value)
  if not (value >= 0 and value <= 1) then
    return ("must be from 0 to 1, got %g"):format(value)
  end
end

--- Divides by the root of the sum of all squares.
-- @function Adagrad
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-2); `lr_decay` (0): lr is divided by 1 +
-- lr_decay times the steps before; `weight_decay` (0);
-- `initial_accumulator_value` (0), what the sums start with; `eps` (1e-10);
-- `maximize` (false)
adagrad.Adagrad = declare {
  name = "Adagrad",
  defaults = {lr = 1e-2, lr_decay = 0, weight_decay = 0, eps = 1e-10,
              initial_accumulator_value = 0, maximize = false},
  kept = {step = "number", sum = "tensor"},
  initial = {sum = function(group) return group.initial_accumulator_value end},
}

local SUM = {"sum"}

function adagrad.Adagrad.lists() return SUM end

function adagrad.Adagrad.update(batch, group, state)
  fused_adagrad(batch.params, batch.grads, batch.sum,
                fused.steps(batch, state.step), {
    lr = group.lr, lr_decay = group.lr_decay, eps = group.eps,
    weight_decay = group.weight_decay, maximize = group.maximize})
end

--- Steps of the size of the steps before.
-- @function Adadelta
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1); `rho` (0.9), the decay factor of the
-- mean squares; `eps` (1e-6); `weight_decay` (0); `maximize` (false)
adagrad.Adadelta = declare {
  name = "Adadelta",
  defaults = {lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0,
              maximize = false},
  ranges = {rho = up_to_one},
  kept = {step = "number", square_avg = "tensor", acc_delta = "tensor"},
}

local DELTA = {"square_avg", "acc_delta"}

function adagrad.Adadelta.lists() return DELTA end

function adagrad.Adadelta.update(batch, group)
  fused.step("adadelta", batch, DELTA, group, {
    lr = group.lr, beta2 = group.rho})
end

--- Divides by the root of a running mean of squares.
-- @function RMSprop
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-2); `alpha` (0.99), the decay factor of
-- the mean; `eps` (1e-8); `weight_decay` (0); `momentum` (0); `centered`
-- (false): the variance instead of the mean of squares; `maximize` (false)
adagrad.RMSprop = declare {
  name = "RMSprop",
  defaults = {lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0,
              momentum = 0, centered = false, maximize = false},
  kept = {step = "number", square_avg = "tensor", grad_avg = "tensor",
          momentum_buffer = "tensor"},
}

function adagrad.RMSprop.needs(group, key)
  if key == "grad_avg" then return group.centered end
  return key ~= "momentum_buffer" or group.momentum > 0
end

--- The lists by the flags of the step.
local MEANS = {
  [0] = {"square_avg"}, {"square_avg", "grad_avg"},
  {"square_avg", "momentum_buffer"},
  {"square_avg", "grad_avg", "momentum_buffer"},
}

local function mode(group)
  return (group.centered and fused.EXTRA or 0) +
         (group.momentum > 0 and fused.MOMENTUM or 0)
end

function adagrad.RMSprop.lists(group) return MEANS[mode(group)] end

function adagrad.RMSprop.update(batch, group)
  fused.step("rmsprop", batch, MEANS[mode(group)], group, {
    lr = group.lr, beta1 = group.momentum, beta2 = group.alpha,
    mode = mode(group)})
end

return adagrad
