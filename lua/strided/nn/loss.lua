--- Loss functions as modules.
--
-- Each calls the operator of its name, with an input and a target. All have the
-- option `reduction`: `"mean"` (the default), `"sum"`, or `"none"`, which
-- returns the loss of each element. MSELoss, L1Loss, SmoothL1Loss and HuberLoss
-- warn when the shapes of input and target differ, since they broadcast.
-- Classes count from 1, or from the option `base`. Options that are tensors
-- become buffers.
--
-- @module strided.nn.loss

local st = require "strided"
local computed = require "strided.nn.module.hooks".computed
local declare = require "strided.nn.module.declare"
local Linear = require "strided.nn.linear".Linear
local raise = require "strided.argument.caller_error"

local ipairs, rawget, type = ipairs, rawget, type

local loss = {}

local REDUCTIONS = {mean = true, sum = true, none = true}

--- Raises unless the reduction is one of the class.
local function check_reduction(name, is_batch_mean)
  return function(self)
    local given = self.reduction
    if REDUCTIONS[given] or given == "batchmean" and is_batch_mean then
      return
    end
    raise("%s: option 'reduction' must be \"mean\", \"sum\"%s or \"none\"",
          name, is_batch_mean and ", \"batchmean\"" or "")
  end
end

--- Declares the class of an operator that gets its options by name.
local function declare_loss(name, operator, text)
  local op, names = st[operator], {"reduction"}
  for option in text:gmatch "([%w_]+):" do names[#names + 1] = option end
  declare(loss, name, "; " .. text .. " reduction:string=mean",
          function(self, a, b, c)
    local options = {}
    for i = 1, #names do options[names[i]] = rawget(self, names[i]) end
    if c == nil then return op(a, b, options) end
    return op(a, b, c, options)
  end, {setup = check_reduction(name)})
end

-- -- Numbers -----------------------------------------------------------------

--- The mean of the squared differences.
-- @function MSELoss
-- @tparam[opt] table options `reduction`
declare_loss("MSELoss", "mse_loss", "")

--- The mean of the differences' magnitudes.
-- @function L1Loss
-- @tparam[opt] table options `reduction`
declare_loss("L1Loss", "l1_loss", "")

--- Half the squared difference divided by `beta` for differences below it,
-- linear beyond.
-- @function SmoothL1Loss
-- @tparam[opt] table options `beta` (1), `reduction`
declare_loss("SmoothL1Loss", "smooth_l1_loss", "beta:number=1")

--- Half the squared difference for differences up to `delta`, linear beyond.
-- @function HuberLoss
-- @tparam[opt] table options `delta` (1), `reduction`
declare_loss("HuberLoss", "huber_loss", "delta:number=1")

--- The negative log likelihood of counts, by the logarithm of their rate.
-- @function PoissonNLLLoss
-- @tparam[opt] table options `log_input` (true), false: the input is the rate;
-- `full` (false): with Stirling's approximation; `eps` (1e-8), `reduction`
declare_loss("PoissonNLLLoss", "poisson_nll_loss",
             "log_input:flag=true full:flag=false eps:number=1e-8")

--- The negative log likelihood of normal numbers: `loss(mean, target,
-- variance)`.
-- @function GaussianNLLLoss
-- @tparam[opt] table options `full` (false): with the constant; `eps` (1e-6),
-- the least variance; `reduction`
declare_loss("GaussianNLLLoss", "gaussian_nll_loss",
             "full:flag=false eps:number=1e-6")

--- The Kullback-Leibler divergence of probabilities from those whose logarithms
-- are the input.
-- @function KLDivLoss
-- @tparam[opt] table options `log_target` (false): the target has logarithms,
-- too; `reduction`, also "batchmean", the divergence by its definition: the sum
-- divided by the first size
declare(loss, "KLDivLoss", "; log_target:flag=false reduction:string=mean",
        function(self, input, target)
  local reduction, log_target = self.reduction, self.log_target
  if reduction ~= "batchmean" then
    return st.kl_div(input, target, reduction, {log_target = log_target})
  end
  return st.kl_div(input, target, "sum", {log_target = log_target}) /
         (input.ndim > 0 and input.shape[1] or 1)
end, {setup = check_reduction("KLDivLoss", true)})

-- -- Classes -----------------------------------------------------------------

local WEIGHT = "weight:tensor=nil"
local INDEX = WEIGHT .. " ignore_index:integer=nil base:integer=1"

--- Cross entropy of classes: the negative logarithm of the probability that
-- softmax gives to the target class. The input has unnormalized scores (logits)
-- of shape {batch, classes, ...}; the target has class indices of shape {batch,
-- ...}, or probabilities of the input's shape.
-- @function CrossEntropyLoss
-- @tparam[opt] table options `weight`, one per class; `label_smoothing`;
-- `ignore_index`, a target that contributes no loss; `base`, the index of the
-- first class (1); `reduction`
declare_loss("CrossEntropyLoss", "cross_entropy_loss",
             INDEX .. " label_smoothing:number=0")

--- The negative log likelihood: like CrossEntropyLoss, but the input has
-- logarithms of probabilities, such as log_softmax returns.
-- @function NLLLoss
-- @tparam[opt] table options `weight`, `ignore_index`, `base`, `reduction`
declare_loss("NLLLoss", "nll_loss", INDEX)

--- NLLLoss of images, {batch, classes, height, width}.
-- @function NLLLoss2d
declare_loss("NLLLoss2d", "nll_loss", INDEX)

--- CrossEntropyLoss of a Linear layer of its own, `loss.linear`: `loss(x,
-- target)` with x of shape {batch, in_features}.
-- @function LinearCrossEntropyLoss
-- @tparam integer in_features
-- @tparam integer num_classes
-- @tparam[opt] table options `out_features`: a list of sizes that follow the
-- batch in the target, and num_classes in the scores; `bias` (false),
-- `weight`, `ignore_index`, `label_smoothing`, `base`, `reduction`, `dtype`,
-- `device`
declare(loss, "LinearCrossEntropyLoss", "in_features:size num_classes:size ; "
        .. "out_features:shape=nil bias:flag=false " .. INDEX
        .. " label_smoothing:number=0 reduction:string=mean dtype:string=nil "
        .. "device:string=nil", function(self, x, target)
  local sizes, linear = {self.num_classes}, computed(self.linear)
  for _, n in ipairs(self.sizes) do sizes[#sizes + 1] = n end
  local bias = linear.bias and linear.bias:reshape(sizes)
  sizes[#sizes + 1] = self.in_features
  return st.linear_cross_entropy(x, linear.weight:reshape(sizes), target, {
    linear_bias = bias, weight = self.weight, reduction = self.reduction,
    ignore_index = self.ignore_index, base = self.base,
    label_smoothing = self.label_smoothing})
end, {setup = function(self)
  check_reduction "LinearCrossEntropyLoss"(self)
  local given, n = self.out_features or {}, self.num_classes
  self.sizes = type(given) == "table" and given or {given}
  for _, size in ipairs(self.sizes) do n = n * size end
  self.linear = Linear(self.in_features, n, {
    bias = self.bias, dtype = self.dtype, device = self.device})
end})

--- The greatest margins by which other classes come near the target's: max(0,
-- margin - x[target] + x[i])^p, a mean over the classes i.
-- @function MultiMarginLoss
-- @tparam[opt] table options `p` (1 or 2), `margin` (1), `weight`, one per
-- class, `base` (1), `reduction`
declare_loss("MultiMarginLoss", "multi_margin_loss",
             "p:number=1 margin:number=1 base:integer=1 " .. WEIGHT)

--- MultiMarginLoss of several classes for each sample: the target lists them,
-- and ends by a number below `base`.
-- @function MultiLabelMarginLoss
-- @tparam[opt] table options `base` (1), `reduction`
declare_loss("MultiLabelMarginLoss", "multilabel_margin_loss",
             "base:integer=1")

-- -- Probabilities -----------------------------------------------------------

--- Binary cross entropy: the input is the probability of the target 1.
-- @function BCELoss
-- @tparam[opt] table options `weight`, `reduction`
declare_loss("BCELoss", "binary_cross_entropy", WEIGHT)

--- Binary cross entropy from logits: the sigmoid of the input is the
-- probability of the target 1. Targets are 0 or 1.
-- @function BCEWithLogitsLoss
-- @tparam[opt] table options `weight`, `pos_weight`, `reduction`
declare_loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits",
             WEIGHT .. " pos_weight:tensor=nil")

--- BCEWithLogitsLoss as a mean over the classes, the last dimension.
-- @function MultiLabelSoftMarginLoss
-- @tparam[opt] table options `weight`, `reduction`
declare_loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", WEIGHT)

--- log(1 + exp(-target * x)) for targets -1 and 1.
-- @function SoftMarginLoss
-- @tparam[opt] table options `reduction`
declare_loss("SoftMarginLoss", "soft_margin_loss", "")

--- x for the target 1, max(0, margin - x) for -1.
-- @function HingeEmbeddingLoss
-- @tparam[opt] table options `margin` (1), `reduction`
declare_loss("HingeEmbeddingLoss", "hinge_embedding_loss", "margin:number=1")

-- -- Pairs -------------------------------------------------------------------

--- 1 - cosine for the target 1, max(0, cosine - margin) for -1: `loss(x1, x2,
-- target)`.
-- @function CosineEmbeddingLoss
-- @tparam[opt] table options `margin` (0), `reduction`
declare_loss("CosineEmbeddingLoss", "cosine_embedding_loss", "margin:number=0")

--- max(0, margin - target * (x1 - x2)): `loss(x1, x2, target)`.
-- @function MarginRankingLoss
-- @tparam[opt] table options `margin` (0), `reduction`
declare_loss("MarginRankingLoss", "margin_ranking_loss", "margin:number=0")

--- max(0, margin + distance to positive - distance to negative): `loss(anchor,
-- positive, negative)`.
-- @function TripletMarginLoss
-- @tparam[opt] table options `margin` (1), `p` (2), the distance's norm; `eps`
-- (1e-6), `swap` (false): the negative's distance from anchor or positive,
-- whichever is less; `reduction`
declare_loss("TripletMarginLoss", "triplet_margin_loss",
             "margin:number=1 p:number=2 eps:number=1e-6 swap:flag=false")

--- TripletMarginLoss of any distance.
-- @function TripletMarginWithDistanceLoss
-- @tparam[opt] table options `distance_function` of two tensors
-- (pairwise_distance), `margin` (1), `swap` (false), `reduction`
declare_loss("TripletMarginWithDistanceLoss",
             "triplet_margin_with_distance_loss",
             "distance_function:fn=nil margin:number=1 swap:flag=false")

-- -- Sequences ---------------------------------------------------------------

--- Connectionist temporal classification: `loss(log_probs, targets,
-- input_lengths, target_lengths)`. log_probs is {steps, batch, classes}; the
-- targets are {batch, most} or all in one dimension; lengths are lists or
-- tensors.
-- @function CTCLoss
-- @tparam[opt] table options `blank`, the class of no label (the first);
-- `zero_infinity` (false): infinite losses are 0; `base` (1), `reduction`
declare(loss, "CTCLoss", "; blank:integer=nil zero_infinity:flag=false "
        .. "base:integer=1 reduction:string=mean",
        function(self, log_probs, targets, input_lengths, target_lengths)
  local blank = self.blank and self.blank - self.base + 1 or 1
  return st.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank,
                     self.reduction, self.zero_infinity, {base = self.base})
end, {setup = check_reduction "CTCLoss"})

return loss
