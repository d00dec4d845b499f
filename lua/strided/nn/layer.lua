--- Layers: Linear, activations, LayerNorm, Dropout and Sequential.
--
-- @module strided.nn.layer

local st = require "strided"
local raise = require "strided.caller_error"
local options = require "strided.options"
local module = require "strided.nn.module"

local Module, Parameter, is_module =
  module.Module, module.Parameter, module.is_module

local concat, empty, empty_like, floor, format, get_default_dtype, no_grad,
  sqrt = table.concat, st.empty, st.empty_like, math.floor, string.format,
  st.get_default_dtype, st.no_grad, math.sqrt
local ipairs, pairs, rawset, select, type = ipairs, pairs, rawset, select, type

local layer = {}

-- -- Arguments ---------------------------------------------------------------

local function check_size(class, name, n)
  if type(n) ~= "number" or n < 0 or n ~= floor(n) then
    raise("%s: argument '%s' must be a size, got %s", class, name,
          type(n) == "number" and format("%g", n) or type(n))
  end
end

--- An uninitialized parameter of these sizes.
local function new_parameter(sizes, o)
  return Parameter(empty(sizes, {dtype = o.dtype or get_default_dtype(),
                                 device = o.device}))
end

-- -- Linear ------------------------------------------------------------------

--- `y = x * weight:t() + bias`. The weight has the shape {outputs, inputs}.
-- Weight and bias are initialized as in PyTorch, to the same numbers after the
-- same seed.
-- @function Linear
-- @tparam integer inputs the size of the last dimension of x
-- @tparam integer outputs the size of the last dimension of y
-- @tparam[opt] table options `bias = false`, `dtype`, `device`
local Linear = Module:extend "Linear"
layer.Linear = Linear

local LINEAR = {bias = true, dtype = true, device = true}

function Linear:init(inputs, outputs, o)
  check_size("Linear", "inputs", inputs)
  check_size("Linear", "outputs", outputs)
  o = options("Linear", o, LINEAR)
  self.inputs, self.outputs = inputs, outputs
  self.weight = new_parameter({outputs, inputs}, o)
  if o.bias ~= false then self.bias = new_parameter({outputs}, o) end
  self:reset_parameters()
end

--- Initializes the parameters: the weight by He initialization for leaky ReLU
-- with slope sqrt(5), which amounts to the same bounds as the bias has. With no
-- inputs the bias is 0.
function Linear:reset_parameters()
  no_grad(function()
    local spread = sqrt(2 / (1 + 5)) / sqrt(self.inputs)
    local bound = sqrt(3) * spread
    if self.inputs > 0 then self.weight:uniform_(-bound, bound) end
    if self.bias then
      bound = self.inputs > 0 and 1 / sqrt(self.inputs) or 0
      self.bias:uniform_(-bound, bound)
    end
  end)
end

function Linear:forward(x) return st.linear(x, self.weight, self.bias) end

function Linear:extra_repr()
  return format("%d, %d%s", self.inputs, self.outputs,
                self.bias and "" or ", bias = false")
end

-- -- Activations -------------------------------------------------------------

--- Declares a module without parameters that calls an operator. The option
-- `inplace` saves memory in PyTorch; here it is accepted.
local function operator(name)
  local class = Module:extend(name)
  function class.init(_, o)
    if o ~= true then options(name, o, {inplace = true}) end
  end
  local apply = st[name:lower()]
  function class.forward(_, x) return apply(x) end
  layer[name] = class
end

for _, name in ipairs {"ReLU", "SiLU", "Sigmoid", "Tanh"} do operator(name) end

--- x times the cumulative distribution function of the normal distribution at
-- x, for each element.
-- @function GELU
-- @tparam[opt] table options `approximate = "tanh"`
local GELU = Module:extend "GELU"
layer.GELU = GELU

function GELU:init(o)
  o = options("GELU", o, {approximate = true})
  self.options = {approximate = o.approximate or "none"}
end

function GELU:forward(x) return st.gelu(x, self.options) end

-- -- LayerNorm ---------------------------------------------------------------

--- Normalizes the elements over the last dimensions to mean 0 and variance 1,
-- then multiplies by a learned weight and adds a learned bias.
-- @function LayerNorm
-- @param shape the sizes of these dimensions, a list or a single size
-- @tparam[opt] table options `eps` (1e-5), added to the variance;
-- `elementwise_affine = false`: no weight and bias; `bias = false`: no bias;
-- `dtype`, `device`
local LayerNorm = Module:extend "LayerNorm"
layer.LayerNorm = LayerNorm

local LAYER_NORM = {eps = true, elementwise_affine = true, bias = true,
                    dtype = true, device = true}

function LayerNorm:init(shape, o)
  self.shape = {}
  for i, n in ipairs(type(shape) == "table" and shape or {shape}) do
    check_size("LayerNorm", "shape", n)
    self.shape[i] = n
  end
  if not self.shape[1] then
    raise("LayerNorm: argument 'shape' must be a size or a list of sizes")
  end
  o = options("LayerNorm", o, LAYER_NORM)
  self.eps = o.eps or 1e-5
  if o.elementwise_affine ~= false then
    self.weight = new_parameter(self.shape, o)
    if o.bias ~= false then self.bias = new_parameter(self.shape, o) end
  end
  self:reset_parameters()
end

--- Sets the weight to 1 and the bias to 0.
function LayerNorm:reset_parameters()
  no_grad(function()
    if self.weight then self.weight:fill_(1) end
    if self.bias then self.bias:zero_() end
  end)
end

function LayerNorm:forward(x)
  return st.layer_norm(x, self.shape, self.weight, self.bias, self.eps)
end

function LayerNorm:extra_repr()
  return format("{%s}, eps = %g", concat(self.shape, ", "), self.eps)
end

-- -- Dropout -----------------------------------------------------------------

--- In training mode, sets each element to 0 with probability p and multiplies
-- the others by 1 / (1 - p), which preserves the expected value. In evaluation
-- mode it returns its input.
-- @function Dropout
-- @tparam[opt=0.5] number p
local Dropout = Module:extend "Dropout"
layer.Dropout = Dropout

function Dropout:init(p)
  if type(p) == "table" then p = options("Dropout", p, {p = true}).p end
  p = p == nil and 0.5 or p
  if type(p) ~= "number" or not (p >= 0 and p <= 1) then
    raise("Dropout: argument 'p' must be a number from 0 to 1")
  end
  self.p = p
end

function Dropout:forward(x)
  if not self.training or self.p == 0 then return x end
  if self.p == 1 then return x * 0 end
  return x * empty_like(x):bernoulli_(1 - self.p):div_(1 - self.p)
end

function Dropout:extra_repr() return format("%g", self.p) end

-- -- Sequential --------------------------------------------------------------

--- Calls its layers, modules or functions, one after the other.
-- @function Sequential
-- @tparam table layers a list; or the layers as arguments
local Sequential = Module:extend "Sequential"
layer.Sequential = Sequential

local function add_layer(self, i, added)
  if not is_module(added) and type(added) ~= "function" then
    raise("Sequential: layer %d must be a module or a function, got %s", i,
          type(added))
  end
  rawset(self, i, added)
end

function Sequential:init(...)
  local layers, n = {...}, select("#", ...)
  if n == 1 and type(layers[1]) == "table" and not is_module(layers[1]) then
    layers = layers[1]
    n = #layers
    for key in pairs(layers) do
      if type(key) == "string" then
        raise("Sequential: the layers are a list, got the name '%s'; write "
              .. "module.%s = layer in an nn.Module", key, key)
      end
    end
  end
  for i = 1, n do add_layer(self, i, layers[i]) end
end

--- Appends a layer to a Sequential; `add`, as in torch7, is the same.
-- @function Sequential:append
-- @param added a module or a function
-- @treturn table the Sequential
function Sequential:append(added)
  add_layer(self, #self + 1, added)
  return self
end

Sequential.add = Sequential.append

function Sequential:forward(x)
  for i = 1, #self do x = self[i](x) end
  return x
end

return layer
