--- Adam and its kin: Adam, AdamW, NAdam, RAdam, Adamax.
--
-- @module strided.optim

local st = require "strided"
local declare = require "strided.optim.optimizer".declare
local fused = require "strided.optim.fused"

local format, ipairs, pairs, sqrt = string.format, ipairs, pairs, math.sqrt
local aten = st.ops.aten

local adam = {}

local MOMENTS = {"exp_avg", "exp_avg_sq"}
local THREE = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
local NONE = {}

--- A class with means of gradients and of their squares.
local function moments(class)
  class.kept = class.kept or {}
  class.kept.step, class.kept.exp_avg = "number", "tensor"
  class.kept.exp_avg_sq = "tensor"
  class.lists = function() return MOMENTS end
  return class
end

--- The defaults of all, and more.
local function defaults(more)
  local all = {lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0,
               maximize = false}
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

--- Adam or AdamW: their operator differs.
local function adam_class(name, weight_decay, operator)
  local class = declare(moments {
    name = name,
    defaults = defaults {amsgrad = false, weight_decay = weight_decay},
    kept = {max_exp_avg_sq = "tensor"},
  })
  function class.needs(group, key)
    return key ~= "max_exp_avg_sq" or group.amsgrad
  end
  function class.lists(group) return group.amsgrad and THREE or MOMENTS end
  function class.update(batch, group, state)
    operator(batch.params, batch.grads, batch.exp_avg, batch.exp_avg_sq,
             batch.max_exp_avg_sq or NONE, fused.steps(batch, state.step), {
      lr = group.lr, beta1 = group.betas[1], beta2 = group.betas[2],
      weight_decay = group.weight_decay, eps = group.eps,
      amsgrad = group.amsgrad, maximize = group.maximize})
  end
  return class
end

--- Adam: steps of the size of the gradients' mean by their root mean square.
-- @function Adam
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-3); `betas` ({0.9, 0.999}), the decay
-- factors of the running mean and mean square of the gradients; `eps` (1e-8);
-- `weight_decay` (0), added to the gradients; `amsgrad` (false): the largest
-- mean square counts; `maximize` (false)
adam.Adam = adam_class("Adam", 0, aten._fused_adam_)

--- Adam with decoupled weight decay.
-- @function AdamW
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options those of Adam; `weight_decay` (1e-2)
adam.AdamW = adam_class("AdamW", 1e-2, aten._fused_adamw_)

-- -- NAdam and RAdam ---------------------------------------------------------

--- The numbers of a step that the weight decay determines.
local function decay(group, x)
  if group.decoupled_weight_decay then
    x.decay, x.shrink = 0, 1 - group.lr * group.weight_decay
  end
  return x
end

--- Adam with Nesterov's momentum.
-- @function NAdam
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options those of Adam without `amsgrad`; `lr` (2e-3);
-- `momentum_decay` (4e-3); `decoupled_weight_decay` (false): as in AdamW
adam.NAdam = declare(moments {
  name = "NAdam",
  defaults = defaults {lr = 2e-3, momentum_decay = 4e-3,
                       decoupled_weight_decay = false},
  kept = {mu_product = "number"},
  initial = {mu_product = 1},
})

--- The factor of the momentum at a step.
local function momentum(group, step)
  return group.betas[1] * (1 - 0.5 * 0.96 ^ (step * group.momentum_decay))
end

function adam.NAdam.key(state)
  return format("%d %.17g", state.step, state.mu_product)
end

function adam.NAdam.update(batch, group, state)
  local step, lr, beta2 = state.step, group.lr, group.betas[2]
  local mu, following = momentum(group, step), momentum(group, step + 1)
  local product = state.mu_product * mu
  for _, each in ipairs(batch.states) do each.mu_product = product end
  fused.step("nadam", batch, MOMENTS, group, decay(group, {
    beta1 = group.betas[1], beta2 = beta2, a = 1 - beta2 ^ step,
    b = lr * (1 - mu) / (1 - product),
    lr = lr * following / (1 - product * following)}))
end

--- Rectified Adam: divides by the root mean square only once its variance is
-- known.
-- @function RAdam
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options those of Adam without `amsgrad`;
-- `decoupled_weight_decay` (false): as in AdamW
adam.RAdam = declare(moments {
  name = "RAdam",
  defaults = defaults {decoupled_weight_decay = false},
})

function adam.RAdam.update(batch, group, state)
  local step, beta1, beta2 = state.step, group.betas[1], group.betas[2]
  local correction = 1 - beta2 ^ step
  local limit = 2 / (1 - beta2) - 1
  local rho = limit - 2 * step * beta2 ^ step / correction
  local x = {beta1 = beta1, beta2 = beta2, lr = group.lr / (1 - beta1 ^ step)}
  if rho > 5 then
    local rectified = (rho - 4) * (rho - 2) * limit /
                      ((limit - 4) * (limit - 2) * rho)
    x.mode, x.a = fused.EXTRA, sqrt(correction) * sqrt(rectified)
  end
  fused.step("radam", batch, MOMENTS, group, decay(group, x))
end

-- -- Adamax ------------------------------------------------------------------

--- Adam by the largest gradient instead of the root mean square.
-- @function Adamax
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options those of Adam without `amsgrad`; `lr` (2e-3)
adam.Adamax = declare {
  name = "Adamax",
  defaults = defaults {lr = 2e-3},
  kept = {step = "number", exp_avg = "tensor", exp_inf = "tensor"},
}

local LARGEST = {"exp_avg", "exp_inf"}

function adam.Adamax.lists() return LARGEST end

function adam.Adamax.update(batch, group, state)
  fused.step("adamax", batch, LARGEST, group, {
    beta1 = group.betas[1], beta2 = group.betas[2],
    lr = group.lr / (1 - group.betas[1] ^ state.step)})
end

return adam
