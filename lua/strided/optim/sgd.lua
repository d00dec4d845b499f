--- Optimizers whose step is the gradient or its sign: SGD, ASGD, Rprop.
--
-- @module strided.optim

local st = require "strided"
local check = require "strided.optim.check"
local declare = require "strided.optim.optimizer".declare
local fused = require "strided.optim.fused"

local format, ipairs, max = string.format, ipairs, math.max
local fused_sgd = st.ops.aten._fused_sgd_

local sgd = {}

--- Stochastic gradient descent.
-- @function SGD
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-3); `momentum` (0), the factor of the
-- previous step; `dampening` (0) of the gradient in the momentum; `nesterov`
-- (false); `weight_decay` (0); `maximize` (false)
sgd.SGD = declare {
  name = "SGD",
  defaults = {lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0,
              nesterov = false, maximize = false},
  kept = {step = "number", momentum_buffer = "tensor"},
}

function sgd.SGD.needs(group, key)
  return key == "step" or group.momentum ~= 0
end

function sgd.SGD.check(group)
  if group.nesterov and (group.momentum == 0 or group.dampening ~= 0) then
    return "Nesterov's momentum needs a momentum and no dampening"
  end
end

local NONE, BUFFER = {}, {"momentum_buffer"}

function sgd.SGD.lists(group) return group.momentum ~= 0 and BUFFER or NONE end

--- Whether this is the first step with a momentum, which the buffer starts
-- with.
function sgd.SGD.key(state)
  return state.step == 0 or not state.momentum_buffer
end

function sgd.SGD.update(batch, group)
  fused_sgd(batch.params, batch.grads, batch.momentum_buffer or NONE, {
    weight_decay = group.weight_decay, momentum = group.momentum,
    lr = group.lr, dampening = group.dampening, nesterov = group.nesterov,
    maximize = group.maximize, is_first_step = batch.key})
end

--- Stochastic gradient descent whose parameters are averaged: the averages are
-- `optimizer.state[p].ax`.
-- @function ASGD
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-2); `lambd` (1e-4), the decay of the
-- parameters; `alpha` (0.75), the power of the decay of the step size; `t0`
-- (1e6), the step at which averaging starts; `weight_decay` (0); `maximize`
-- (false)
sgd.ASGD = declare {
  name = "ASGD",
  defaults = {lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6,
              weight_decay = 0, maximize = false},
  kept = {step = "number", ax = "tensor", eta = "number", mu = "number"},
  initial = {eta = function(group) return group.lr end, mu = 1},
}

local AVERAGE = {"ax"}

function sgd.ASGD.lists() return AVERAGE end

-- The step size is that of a parameter's last step.
function sgd.ASGD.key(state)
  return format("%d %.17g %.17g", state.step, state.eta, state.mu)
end

function sgd.ASGD.update(batch, group, state)
  local lr, lambd, step = group.lr, group.lambd, state.step
  local eta = step == 1 and lr or state.eta
  fused.step("asgd", batch, AVERAGE, group, {
    lr = eta, shrink = 1 - lambd * eta, a = state.mu})
  for _, each in ipairs(batch.states) do
    each.eta = lr / (1 + lambd * lr * step) ^ group.alpha
    each.mu = 1 / max(1, step - group.t0)
  end
end

--- Resilient propagation: a step size per element, which grows while its
-- gradient keeps its sign.
-- @function Rprop
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-2), the first step size; `etas`
-- ({0.5, 1.2}), the factors by which it shrinks and grows; `step_sizes`
-- ({1e-6, 50}), its limits; `maximize` (false)
sgd.Rprop = declare {
  name = "Rprop",
  defaults = {lr = 1e-2, etas = {0.5, 1.2}, step_sizes = {1e-6, 50},
              maximize = false},
  ranges = {etas = check.numbers, step_sizes = check.numbers},
  kept = {step = "number", prev = "tensor", step_size = "tensor"},
  initial = {step_size = function(group) return group.lr end},
}

--- The step sizes are those of the first step's options.
function sgd.Rprop.needs(_, key) return key == "step" end

function sgd.Rprop.check(group)
  local minus, plus = group.etas[1], group.etas[2]
  if not (0 < minus and minus < 1 and 1 < plus) then
    return "option 'etas' must be a number between 0 and 1, and one above 1"
  end
end

local PREVIOUS = {"prev", "step_size"}

function sgd.Rprop.lists() return PREVIOUS end

function sgd.Rprop.update(batch, group)
  fused.step("rprop", batch, PREVIOUS, group, {
    lr = group.lr, beta1 = group.etas[1], beta2 = group.etas[2],
    a = group.step_sizes[1], b = group.step_sizes[2]})
end

return sgd
