--- Loss functions as modules.
--
-- Each calls the operator of its name, with an input and a target. All have the
-- option `reduction`: `"mean"` (the default), `"sum"`, or `"none"`, which
-- returns the loss of each element. MSELoss, L1Loss and HuberLoss warn when the
-- shapes of input and target differ, since they broadcast.
--
-- @module strided.nn.loss

local st = require "strided"
local raise = require "strided.caller_error"
local options = require "strided.options"
local Module = require "strided.nn.module".Module

local is_tensor = st.is_tensor
local pairs = pairs

local REDUCTIONS = {mean = true, sum = true, none = true}

local loss = {}

--- Declares the class for an operator. known has its options besides
-- `reduction`. Options that are tensors become buffers.
local function declare(name, operator, known)
  local class = Module:extend(name)
  known.reduction = true

  function class:init(given)
    self.options = {reduction = "mean"}
    for key, value in pairs(options(name, given, known)) do
      self.options[key] = value
      if is_tensor(value) then self:register_buffer(key, value) end
    end
    if not REDUCTIONS[self.options.reduction] then
      raise("%s: option 'reduction' must be \"mean\", \"sum\" or \"none\"",
            name)
    end
  end

  function class:forward(input, target)
    return st[operator](input, target, self.options)
  end

  loss[name] = class
end

--- The mean of the squared differences.
-- @function MSELoss
-- @tparam[opt] table options `reduction`
declare("MSELoss", "mse_loss", {})

--- The mean of the differences' magnitudes.
-- @function L1Loss
-- @tparam[opt] table options `reduction`
declare("L1Loss", "l1_loss", {})

--- Half the squared difference for differences up to `delta`, linear beyond.
-- @function HuberLoss
-- @tparam[opt] table options `delta` (1), `reduction`
declare("HuberLoss", "huber_loss", {delta = true})

--- Cross entropy of classes: the negative logarithm of the probability that
-- softmax gives to the target class. The input has unnormalized scores (logits)
-- of shape {batch, classes, ...}; the target has class indices of shape {batch,
-- ...}, or probabilities of the input's shape.
-- @function CrossEntropyLoss
-- @tparam[opt] table options `weight`, one per class; `label_smoothing`;
-- `ignore_index`, a target that contributes no loss; `base`, the index of the
-- first class (1); `reduction`
declare("CrossEntropyLoss", "cross_entropy_loss",
        {weight = true, label_smoothing = true, ignore_index = true,
         base = true})

--- The negative log likelihood: like CrossEntropyLoss, but the input has
-- logarithms of probabilities, such as log_softmax returns.
-- @function NLLLoss
-- @tparam[opt] table options `weight`, `ignore_index`, `base`, `reduction`
declare("NLLLoss", "nll_loss",
        {weight = true, ignore_index = true, base = true})

--- Binary cross entropy from logits: the sigmoid of the input is the
-- probability of the target 1. Targets are 0 or 1.
-- @function BCEWithLogitsLoss
-- @tparam[opt] table options `weight`, `pos_weight`, `reduction`
declare("BCEWithLogitsLoss", "binary_cross_entropy_with_logits",
        {weight = true, pos_weight = true})

return loss
