--- Linear, Bilinear, Identity, Flatten, Unflatten, and distances of rows.
--
-- @module strided.nn.linear

local st = require "strided"
local declare = require "strided.nn.module.declare"
local init = require "strided.nn.init"
local module = require "strided.nn.module"
local new_parameter = require "strided.nn.module.new_parameter"

local linear_of, no_grad, rawget, sqrt, type = st.linear, st.no_grad, rawget,
  math.sqrt, type

local linear = {}

-- -- Linear ------------------------------------------------------------------

--- `y = x * weight:t() + bias`. The weight has the shape {out_features,
-- in_features}. Weight and bias are initialized as in PyTorch, to the same
-- numbers after the same seed.
-- @function Linear
-- @tparam integer in_features the size of the last dimension of x
-- @tparam integer out_features the size of the last dimension of y
-- @tparam[opt] table options `bias = false`, `dtype`, `device`
local Linear = declare(linear, "Linear", "in_features:size out_features:size ; "
                       .. "bias:flag=true dtype:string=nil device:string=nil")

function Linear:forward(x)
  return linear_of(x, self.weight, rawget(self, "bias"))
end

function Linear:setup()
  local has_bias = self.bias
  self.bias = nil -- the flag
  self.weight = new_parameter(self, {self.out_features, self.in_features})
  self.bias = has_bias and new_parameter(self, {self.out_features}) or nil
  self:reset_parameters()
end

--- Initializes the parameters: the weight by He initialization for leaky ReLU
-- with slope sqrt(5), which amounts to the same bounds as the bias has. With no
-- inputs the bias is 0.
function Linear:reset_parameters()
  local n = self.in_features
  no_grad(function()
    if self.weight:numel() > 0 then
      init.kaiming_uniform_(self.weight, {a = sqrt(5)})
    end
    if self.bias then
      local bound = n > 0 and 1 / sqrt(n) or 0
      self.bias:uniform_(-bound, bound)
    end
  end)
end

--- `y[k] = x1 * weight[k] * x2:t() + bias[k]`, for each of the out_features k.
-- @function Bilinear
-- @tparam integer in1_features the size of the last dimension of x1
-- @tparam integer in2_features the size of the last dimension of x2
-- @tparam integer out_features the size of the last dimension of y
-- @tparam[opt] table options `bias = false`, `dtype`, `device`
local Bilinear = declare(linear, "Bilinear", "in1_features:size "
                         .. "in2_features:size out_features:size ; "
                         .. "bias:flag=true dtype:string=nil "
                         .. "device:string=nil", function(self, x1, x2)
  return st.bilinear(x1, x2, self.weight, self.bias)
end)

function Bilinear:setup()
  local has_bias = self.bias
  self.bias = nil -- the flag
  self.weight = new_parameter(self, {self.out_features, self.in1_features,
                                     self.in2_features})
  self.bias = has_bias and new_parameter(self, {self.out_features}) or nil
  self:reset_parameters()
end

--- Initializes weight and bias uniformly within 1 / sqrt(in1_features).
function Bilinear:reset_parameters()
  local bound = 1 / sqrt(self.in1_features)
  no_grad(function()
    self.weight:uniform_(-bound, bound)
    if self.bias then self.bias:uniform_(-bound, bound) end
  end)
end

-- -- Shapes ------------------------------------------------------------------

--- Returns its input. Arguments are ignored.
-- @function Identity
local Identity = module.Module:extend "Identity"
linear.Identity = Identity

function Identity.forward(_, x) return x end

--- Joins the dimensions from start_dim to end_dim.
-- @function Flatten
-- @tparam[opt=2] integer start_dim
-- @tparam[opt=-1] integer end_dim
declare(linear, "Flatten", "start_dim:integer=2 end_dim:integer=-1", "flatten")

--- Splits a dimension into the sizes of a list.
-- @function Unflatten
-- @tparam integer dim
-- @tparam table unflattened_size
declare(linear, "Unflatten", "dim:integer unflattened_size:shape",
        function(self, x)
  local sizes = self.unflattened_size
  return x:unflatten(self.dim, type(sizes) == "table" and sizes or {sizes})
end)

-- -- Distances ---------------------------------------------------------------

--- The cosine of the angles between the vectors of x1 and x2.
-- @function CosineSimilarity
-- @tparam[opt] table options `dim` (2), along which the vectors lie; `eps`
-- (1e-8), the least product of their norms
declare(linear, "CosineSimilarity", "dim:integer=2 eps:number=1e-8",
        function(self, x1, x2)
  return st.cosine_similarity(x1, x2, self.dim, self.eps)
end)

--- The norm of x1 - x2 + eps over the last dimension.
-- @function PairwiseDistance
-- @tparam[opt] table options `p` (2), `eps` (1e-6), `keepdim` (false)
declare(linear, "PairwiseDistance",
        "p:number=2 eps:number=1e-6 keepdim:flag=false", function(self, x1, x2)
  return st.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)
end)

return linear
