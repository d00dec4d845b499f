--- Convolutions and transposed convolutions of one to three dimensions.
--
-- Inputs have the shape {batch, channels, sizes}, or {channels, sizes}. Sizes
-- that are options are a number, or a list of one for each dimension.
--
-- @module strided.nn.conv

local st = require "strided"
local declare = require "strided.nn.module.declare"
local init = require "strided.nn.init"
local new_parameter = require "strided.nn.module.new_parameter"
local raise = require "strided.argument.caller_error"

local concat, floor, ipairs, no_grad, sqrt, tostring, type = table.concat,
  math.floor, ipairs, st.no_grad, math.sqrt, tostring, type

local conv = {}

local SIGNATURE = "in_channels:size out_channels:size kernel_size:sizes ; "
  .. "stride:sizes=1 padding:%s=0 %sdilation:sizes=1 groups:size=1 "
  .. "bias:flag=true padding_mode:string=zeros dtype:string=nil "
  .. "device:string=nil"

local MODES = {zeros = "constant", reflect = "reflect",
               replicate = "replicate", circular = "circular"}

--- A list of n values.
local function each(value, n)
  if type(value) == "table" then return value end
  local list = {}
  for i = 1, n do list[i] = value end
  return list
end

-- -- Parameters --------------------------------------------------------------

local function check_groups(self, class)
  local groups = self.groups
  if groups < 1 or self.in_channels % groups ~= 0 or
     self.out_channels % groups ~= 0 then
    raise("%s: groups = %d does not divide in_channels = %d and "
          .. "out_channels = %d", class, groups, self.in_channels,
          self.out_channels)
  end
end

--- Creates the parameters; the weight is {first, second / groups, sizes of the
-- kernel}.
local function create(self, first, second, n)
  local sizes, has_bias = {first, second / self.groups}, self.bias
  self.bias = nil -- the flag
  for d, k in ipairs(each(self.kernel_size, n)) do sizes[2 + d] = k end
  self.weight = new_parameter(self, sizes)
  self.bias = has_bias and new_parameter(self, {self.out_channels}) or nil
  self:reset_parameters()
end

--- Initializes the parameters uniformly, within 1 / sqrt(fan_in).
local function reset_parameters(self)
  if self.weight:numel() == 0 then return end
  init.kaiming_uniform_(self.weight, {a = sqrt(5)})
  if not self.bias then return end
  local fan = self.weight:numel() / self.weight.shape[1]
  local bound = 1 / sqrt(fan)
  no_grad(function() self.bias:uniform_(-bound, bound) end)
end

--- What pad gets for a convolution: the last dimension first, both sides.
local function pads(self, n)
  local list, padding = {}, self.padding
  local kernel, dilation = each(self.kernel_size, n), each(self.dilation, n)
  for d = n, 1, -1 do
    local before, after = 0, 0
    if padding == "same" then
      local total = dilation[d] * (kernel[d] - 1)
      before = floor(total / 2)
      after = total - before
    elseif padding ~= "valid" then
      before = each(padding, n)[d]
      after = before
    end
    list[#list + 1], list[#list + 2] = before, after
  end
  return list
end

-- -- Convolutions ------------------------------------------------------------

local function declare_conv(n)
  local name, op = "Conv" .. n .. "d", st["conv" .. n .. "d"]
  local class = declare(conv, name, SIGNATURE:format("padding", ""),
                        function(self, x)
    if self.pads then
      x = st.pad(x, self.pads, MODES[self.padding_mode])
      return op(x, self.weight, self.bias, self.stride, 0, self.dilation,
                self.groups)
    end
    return op(x, self.weight, self.bias, self.stride, self.padding,
              self.dilation, self.groups)
  end, {n = n})

  function class:setup()
    check_groups(self, name)
    if not MODES[self.padding_mode] then
      raise("%s: option 'padding_mode' must be \"zeros\", \"reflect\", "
            .. "\"replicate\" or \"circular\", got '%s'", name,
            self.padding_mode)
    end
    if self.padding == "same" then
      for _, s in ipairs(each(self.stride, n)) do
        if s ~= 1 then
          raise("%s: padding = \"same\" needs stride = 1, got %d", name, s)
        end
      end
    end
    if self.padding_mode ~= "zeros" then self.pads = pads(self, n) end
    create(self, self.out_channels, self.in_channels, n)
  end

  class.reset_parameters = reset_parameters
end

--- A convolution: each output channel is the sum of the input channels of its
-- group times the weight, {out_channels, in_channels / groups, kernel sizes},
-- plus the bias.
-- @function Conv1d
-- @tparam integer in_channels
-- @tparam integer out_channels
-- @param kernel_size a size, or a list
-- @tparam[opt] table options `stride` (1), `padding` (0; "same" or "valid"),
-- `dilation` (1), `groups` (1), `bias = false`, `padding_mode` ("zeros",
-- "reflect", "replicate" or "circular"), `dtype`, `device`

--- The same in two dimensions.
-- @function Conv2d

--- The same in three dimensions.
-- @function Conv3d
for n = 1, 3 do declare_conv(n) end

-- -- Transposed convolutions -------------------------------------------------

--- The sizes to add at the end, so that the output has the sizes wanted.
local function output_padding(self, name, x, wanted, n)
  if wanted == nil then return self.output_padding end
  if type(wanted) ~= "table" or #wanted ~= n and #wanted ~= x.ndim then
    raise("%s: output_size must be a list of %d sizes", name, n)
  end
  local stride, padding = each(self.stride, n), each(self.padding, n)
  local kernel, dilation = each(self.kernel_size, n), each(self.dilation, n)
  local list, low, high, fits = {}, {}, {}, true
  for d = 1, n do
    local input = x.shape[x.ndim - n + d]
    low[d] = (input - 1) * stride[d] - 2 * padding[d] +
             dilation[d] * (kernel[d] - 1) + 1
    high[d] = low[d] + stride[d] - 1
    local size = wanted[#wanted - n + d]
    fits = fits and size >= low[d] and size <= high[d]
    list[d] = size - low[d]
  end
  if not fits then
    raise("%s: output_size must be from {%s} to {%s} for an input of shape %s",
          name, concat(low, ", "), concat(high, ", "), tostring(x.shape))
  end
  return list
end

local function declare_transposed(n)
  local name = "ConvTranspose" .. n .. "d"
  local op = st["conv_transpose" .. n .. "d"]
  local class = declare(conv, name,
                        SIGNATURE:format("sizes", "output_padding:sizes=0 "),
                        function(self, x, output_size)
    return op(x, self.weight, self.bias, self.stride, self.padding,
              output_padding(self, name, x, output_size, n), self.groups,
              self.dilation)
  end, {n = n})

  function class:setup()
    check_groups(self, name)
    if self.padding_mode ~= "zeros" then
      raise("%s: option 'padding_mode' must be \"zeros\", got '%s'", name,
            self.padding_mode)
    end
    create(self, self.in_channels, self.out_channels, n)
  end

  class.reset_parameters = reset_parameters
end

--- A transposed convolution, the gradient of a convolution with respect to its
-- input. The weight is {in_channels, out_channels / groups, kernel sizes}.
-- `layer(x, output_size)` chooses among the sizes that stride leaves open.
-- @function ConvTranspose1d
-- @tparam integer in_channels
-- @tparam integer out_channels
-- @param kernel_size a size, or a list
-- @tparam[opt] table options `stride` (1), `padding` (0), `output_padding` (0),
-- `dilation` (1), `groups` (1), `bias = false`, `dtype`, `device`

--- The same in two dimensions.
-- @function ConvTranspose2d

--- The same in three dimensions.
-- @function ConvTranspose3d
for n = 1, 3 do declare_transposed(n) end

return conv
