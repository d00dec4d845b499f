--- Activations: functions of each element, and softmax functions.
--
-- Each is `nn.Name(arguments)`; the arguments are in the row of the class and
-- may be given by name: `nn.LeakyReLU {negative_slope = 0.2}`. `inplace` is
-- accepted for PyTorch's sake; the input is not changed. Inputs have any shape,
-- and outputs the same, except for GLU.
--
-- @module strided.nn.activation

local st = require "strided"
local declare = require "strided.nn.module.declare"
local new_parameter = require "strided.nn.module.new_parameter"
local raise = require "strided.argument.caller_error"

local ipairs, no_grad, unpack = ipairs, st.no_grad, unpack or table.unpack

local activation = {}

--- The operator of this name as a module: `nn.ReLU()(x)` is `st.relu(x)`, and
-- `nn.LeakyReLU(0.2)(x)` is `st.leaky_relu(x, 0.2)`.
-- @function CELU
-- @function ELU
-- @function GLU
-- @function Hardshrink
-- @function Hardsigmoid
-- @function Hardswish
-- @function Hardtanh
-- @function LeakyReLU
-- @function LogSigmoid
-- @function LogSoftmax
-- @function Mish
-- @function ReLU
-- @function ReLU6
-- @function RReLU
-- @function SELU
-- @function SiLU
-- @function Sigmoid
-- @function Softmax
-- @function Softmin
-- @function Softplus
-- @function Softshrink
-- @function Softsign
-- @function Tanh
-- @function Tanhshrink
-- @function Threshold
-- @param[opt] ... the arguments of the operator, by position or by name

-- The class, its signature, the operator and the fields that it gets.
for _, row in ipairs {
  {"CELU", "alpha:number=1 inplace:flag=false", {"celu", "alpha"}},
  {"ELU", "alpha:number=1 inplace:flag=false", {"elu", "alpha"}},
  {"GLU", "dim:integer=-1", "glu"}, -- halves the dimension `dim`
  {"Hardshrink", "lambd:number=0.5", "hardshrink"},
  {"Hardsigmoid", "inplace:flag=false", {"hardsigmoid", ""}},
  {"Hardswish", "inplace:flag=false", {"hardswish", ""}},
  {"Hardtanh", "min_val:number=-1 max_val:number=1 inplace:flag=false",
   {"hardtanh", "min_val max_val"}},
  {"LeakyReLU", "negative_slope:number=0.01 inplace:flag=false",
   {"leaky_relu", "negative_slope"}},
  {"LogSigmoid", "", "log_sigmoid"},
  {"LogSoftmax", "dim:integer", "log_softmax"},
  {"Mish", "inplace:flag=false", {"mish", ""}},
  {"ReLU", "inplace:flag=false", {"relu", ""}},
  {"ReLU6", "inplace:flag=false", {"relu6", ""}},
  {"RReLU", "lower:number=0.125 upper:number=0.3333333333333333 "
   .. "inplace:flag=false", {"rrelu", "lower upper training"}},
  {"SELU", "inplace:flag=false", {"selu", ""}},
  {"SiLU", "inplace:flag=false", {"silu", ""}},
  {"Sigmoid", "inplace:flag=false", {"sigmoid", ""}},
  {"Softmax", "dim:integer", "softmax"},
  {"Softmin", "dim:integer", "softmin"},
  {"Softplus", "beta:number=1 threshold:number=20", "softplus"},
  {"Softshrink", "lambd:number=0.5", "softshrink"},
  {"Softsign", "", "softsign"},
  {"Tanh", "inplace:flag=false", {"tanh", ""}},
  {"Tanhshrink", "", "tanhshrink"},
  {"Threshold", "threshold:number value:number inplace:flag=false",
   {"threshold", "threshold value"}},
} do declare(activation, unpack(row, 1, 3)) end

--- x times the cumulative distribution function of the normal distribution at
-- x, for each element.
-- @function GELU
-- @tparam[opt] table options `approximate = "tanh"`
declare(activation, "GELU", "; approximate:string=none", function(self, x)
  return st.gelu(x, {approximate = self.approximate})
end)

--- Softmax over the channels of {batch, channels, height, width}, or of
-- {channels, height, width}.
-- @function Softmax2d
declare(activation, "Softmax2d", "", function(_, x)
  if x.ndim ~= 3 and x.ndim ~= 4 then
    raise("Softmax2d: the input must have 3 or 4 dimensions, it has %d", x.ndim)
  end
  return x:softmax(-3)
end)

--- x where it is positive, else x times a learned weight.
-- @function PReLU
-- @tparam[opt=1] integer num_parameters 1, or the number of channels, the
-- input's second dimension
-- @tparam[opt] table options `init` (0.25), `dtype`, `device`
declare(activation, "PReLU", "num_parameters:size=1 init:number=0.25 ; "
        .. "dtype:string=nil device:string=nil",
        {"prelu", "weight"}, {setup = function(self)
  self.weight = new_parameter(self, {self.num_parameters})
  self:reset_parameters()
end})

--- Sets the weight to `init`.
function activation.PReLU:reset_parameters()
  no_grad(function() self.weight:fill_(self.init) end)
end

return activation
