--- Modules that say how far an output is from a target: a number, to be made
-- smaller.
--
-- Each calls the operator of its name. All have the option `reduction`:
-- `"mean"`, which is what they do without it, `"sum"`, or `"none"` for the
-- loss of every element.
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

--- A class for the operator; known are its options besides `reduction`. Those
-- that are tensors are buffers.
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

--- As MSELoss / 2 for differences up to `delta`, as L1Loss beyond.
-- @function HuberLoss
-- @tparam[opt] table options `delta` (1), `reduction`
declare("HuberLoss", "huber_loss", {delta = true})

--- Classes, from scores of any scale: minus the logarithm of the probability
-- that softmax gives to the class of the target. Scores have the shape
-- {batch, classes, ...}, targets {batch, ...}; or targets are probabilities
-- in the shape of the scores.
-- @function CrossEntropyLoss
-- @tparam[opt] table options `weight`, one per class; `label_smoothing`;
-- `ignore_index`, a class that does not count; `base`, what the first class is
-- called (1); `reduction`
declare("CrossEntropyLoss", "cross_entropy_loss",
        {weight = true, label_smoothing = true, ignore_index = true,
         base = true})

--- The same from logarithms of probabilities, which log_softmax gives.
-- @function NLLLoss
-- @tparam[opt] table options `weight`, `ignore_index`, `base`, `reduction`
declare("NLLLoss", "nll_loss",
        {weight = true, ignore_index = true, base = true})

--- Yes or no, from scores of any scale, whose sigmoid is the probability of
-- a yes; targets are 1 or 0.
-- @function BCEWithLogitsLoss
-- @tparam[opt] table options `weight`, `pos_weight`, `reduction`
declare("BCEWithLogitsLoss", "binary_cross_entropy_with_logits",
        {weight = true, pos_weight = true})

return loss
