--- Dropout: random zeros in training mode.
--
-- All take the probability `p` (0.5) of a zero: `nn.Dropout(0.1)`. `inplace` is
-- accepted for PyTorch's sake; the input is not changed. In evaluation mode
-- they return their input.
--
-- @module strided.nn.dropout

local st = require "strided"
local declare = require "strided.nn.module.declare"

local dropout = {}

local function declare_dropout(name, operator)
  local op = st[operator]
  declare(dropout, name, "p:probability=0.5 inplace:flag=false",
          function(self, x)
    if not self.training then return x end
    return op(x, self.p, true)
  end)
end

--- Sets each element to 0 with probability p and multiplies the others by 1 /
-- (1 - p), which preserves the expected value.
-- @function Dropout
declare_dropout("Dropout", "dropout")

--- Dropout of whole channels of {batch, channels, length} or {channels,
-- length}.
-- @function Dropout1d
declare_dropout("Dropout1d", "dropout1d")

--- Dropout of whole channels of {batch, channels, height, width}.
-- @function Dropout2d
declare_dropout("Dropout2d", "dropout2d")

--- Dropout of whole channels of {batch, channels, depth, height, width}.
-- @function Dropout3d
declare_dropout("Dropout3d", "dropout3d")

--- Dropout that preserves mean and variance, for SELU: elements become SELU's
-- least value, and all are scaled and shifted.
-- @function AlphaDropout
declare_dropout("AlphaDropout", "alpha_dropout")

--- AlphaDropout of whole channels.
-- @function FeatureAlphaDropout
declare_dropout("FeatureAlphaDropout", "feature_alpha_dropout")

return dropout
