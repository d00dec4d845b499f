--- Normalization: batch, layer, group, instance and RMS norms, and local
-- response.
--
-- @module strided.nn.norm

local st = require "strided"
local declare = require "strided.nn.module.declare"
local new_parameter = require "strided.nn.module.new_parameter"
local raise = require "strided.argument.caller_error"

local ipairs, no_grad, rawset, tostring, type, zeros = ipairs, st.no_grad,
  rawset, tostring, type, st.zeros

local norm = {}

local TYPES = " dtype:string=nil device:string=nil"

-- -- Parameters --------------------------------------------------------------

local function create_affine(self, sizes, has_weight, has_bias)
  rawset(self, "bias", nil) -- the flag
  self.weight = has_weight and new_parameter(self, sizes) or nil
  self.bias = has_bias and new_parameter(self, sizes) or nil
end

--- Sets the weight to 1 and the bias to 0.
local function reset_affine(self)
  no_grad(function()
    if self.weight then self.weight:fill_(1) end
    if self.bias then self.bias:zero_() end
  end)
end

-- -- Running statistics ------------------------------------------------------

local function create_statistics(self)
  local n = self.num_features
  local o = {dtype = self.dtype or st.get_default_dtype(),
             device = self.device}
  create_affine(self, {n}, self.affine, self.affine)
  if self.track_running_stats then
    self:register_buffer("running_mean", zeros({n}, o))
    self:register_buffer("running_var", st.ones({n}, o))
    self:register_buffer("num_batches_tracked",
                         zeros({}, {dtype = "int64", device = self.device}))
  end
  self:reset_parameters()
end

--- Sets the running mean to 0 and the running variance to 1.
local function reset_running_stats(self)
  if not self.track_running_stats then return end
  no_grad(function()
    self.running_mean:zero_()
    self.running_var:fill_(1)
    self.num_batches_tracked:zero_()
  end)
end

local function reset_statistics(self)
  reset_running_stats(self)
  reset_affine(self)
end

local function check_channels(self, name, x, at)
  if x.shape[at] ~= self.num_features then
    raise("%s: the input of shape %s must have %d channels, in dimension %d",
          name, tostring(x.shape), self.num_features, at)
  end
end

local function batch_norm_forward(name, least, most)
  return function(self, x)
    if x.ndim < least or x.ndim > most then
      raise("%s: the input must have %s%d dimensions, its shape is %s", name,
            least < most and least .. " or " or "", most, tostring(x.shape))
    end
    check_channels(self, name, x, 2)
    local factor, tracks = self.momentum or 0, self.running_mean ~= nil
    if self.training and tracks then
      self.num_batches_tracked:add_(1)
      if self.cumulative then
        factor = 1 / self.num_batches_tracked:item()
      end
    end
    return st.batch_norm(x, self.weight, self.bias, self.running_mean,
                         self.running_var, self.training or not tracks, factor,
                         self.eps)
  end
end

local BATCH = "num_features:size eps:number=1e-5 ; momentum:momentum=0.1 "
  .. "affine:flag=true track_running_stats:flag=true" .. TYPES

local function declare_batch(n, least, most)
  local name = "BatchNorm" .. n .. "d"
  local class = declare(norm, name, BATCH,
                        batch_norm_forward(name, least, most))

  function class:setup()
    self.cumulative = self.momentum == false
    create_statistics(self)
  end

  class.reset_parameters = reset_statistics
  class.reset_running_stats = reset_running_stats
end

--- Normalizes each channel to mean 0 and variance 1 over the batch, then
-- multiplies by a learned weight and adds a learned bias. In evaluation mode by
-- the running mean and variance instead, buffers that training updates. The
-- input is {batch, channels} or {batch, channels, length}.
-- @function BatchNorm1d
-- @tparam integer num_features the number of channels
-- @tparam[opt] table options `eps` (1e-5), added to the variance; `momentum`
-- (0.1), the share of the newest batch in the running statistics, false: they
-- are the means of all batches; `affine = false`: no weight and bias;
-- `track_running_stats = false`: no running statistics; `dtype`, `device`
declare_batch(1, 2, 3)

--- The same for {batch, channels, height, width}.
-- @function BatchNorm2d
declare_batch(2, 4, 4)

--- The same for {batch, channels, depth, height, width}.
-- @function BatchNorm3d
declare_batch(3, 5, 5)

-- -- Instances ---------------------------------------------------------------

local INSTANCE = "num_features:size eps:number=1e-5 ; momentum:number=0.1 "
  .. "affine:flag=false track_running_stats:flag=false" .. TYPES

local function declare_instance(n)
  local name = "InstanceNorm" .. n .. "d"
  local class = declare(norm, name, INSTANCE, function(self, x)
    if x.ndim ~= n + 1 and x.ndim ~= n + 2 then
      raise("%s: the input must have %d or %d dimensions, its shape is %s",
            name, n + 1, n + 2, tostring(x.shape))
    end
    local is_single = x.ndim == n + 1
    check_channels(self, name, x, is_single and 1 or 2)
    if is_single then x = x:unsqueeze(1) end
    x = st.instance_norm(x, self.weight, self.bias, self.running_mean,
                         self.running_var,
                         self.training or not self.track_running_stats,
                         self.momentum, self.eps)
    return is_single and x:squeeze(1) or x
  end, {setup = create_statistics})

  class.reset_parameters = reset_statistics
  class.reset_running_stats = reset_running_stats
end

--- Normalizes each channel of each sample. The input is {batch, channels,
-- length} or {channels, length}.
-- @function InstanceNorm1d
-- @tparam integer num_features the number of channels
-- @tparam[opt] table options `eps` (1e-5), `momentum` (0.1), `affine` (false),
-- `track_running_stats` (false), `dtype`, `device`

--- The same for {batch, channels, height, width}.
-- @function InstanceNorm2d

--- The same for {batch, channels, depth, height, width}.
-- @function InstanceNorm3d
for n = 1, 3 do declare_instance(n) end

-- -- Last dimensions ---------------------------------------------------------

local function sizes_of(shape)
  local list = {}
  for i, n in ipairs(type(shape) == "table" and shape or {shape}) do
    list[i] = n
  end
  return list
end

--- Normalizes the elements over the last dimensions to mean 0 and variance 1,
-- then multiplies by a learned weight and adds a learned bias.
-- @function LayerNorm
-- @param normalized_shape the sizes of these dimensions, a list or a single
-- size
-- @tparam[opt] table options `eps` (1e-5), added to the variance;
-- `elementwise_affine = false`: no weight and bias; `bias = false`: no bias;
-- `dtype`, `device`
local LayerNorm = declare(norm, "LayerNorm", "normalized_shape:shape ; "
  .. "eps:number=1e-5 elementwise_affine:flag=true bias:flag=true" .. TYPES,
                          function(self, x)
  return st.layer_norm(x, self.normalized_shape, self.weight, self.bias,
                       self.eps)
end)

function LayerNorm:setup()
  self.normalized_shape = sizes_of(self.normalized_shape)
  create_affine(self, self.normalized_shape, self.elementwise_affine,
                self.elementwise_affine and self.bias)
  self:reset_parameters()
end

LayerNorm.reset_parameters = reset_affine

--- Divides by the root of the mean square over the last dimensions, then
-- multiplies by a learned weight.
-- @function RMSNorm
-- @param normalized_shape the sizes of these dimensions, a list or a single
-- size
-- @tparam[opt] table options `eps` (that of the dtype), added to the mean
-- square; `elementwise_affine = false`: no weight; `dtype`, `device`
local RMSNorm = declare(norm, "RMSNorm", "normalized_shape:shape ; "
  .. "eps:number=nil elementwise_affine:flag=true" .. TYPES, function(self, x)
  return st.rms_norm(x, self.normalized_shape, self.weight, self.eps)
end)

function RMSNorm:setup()
  self.normalized_shape = sizes_of(self.normalized_shape)
  create_affine(self, self.normalized_shape, self.elementwise_affine, false)
  self:reset_parameters()
end

RMSNorm.reset_parameters = reset_affine

-- -- Groups ------------------------------------------------------------------

--- Normalizes groups of channels of each sample. The input is {batch, channels,
-- ...}.
-- @function GroupNorm
-- @tparam integer num_groups
-- @tparam integer num_channels
-- @tparam[opt] table options `eps` (1e-5), `affine = false`: no weight and
-- bias; `bias = false`: no bias; `dtype`, `device`
local GroupNorm = declare(norm, "GroupNorm", "num_groups:size "
  .. "num_channels:size eps:number=1e-5 ; affine:flag=true bias:flag=true"
  .. TYPES, function(self, x)
  return st.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)
end)

function GroupNorm:setup()
  if self.num_groups < 1 or self.num_channels % self.num_groups ~= 0 then
    raise("GroupNorm: %d channels do not make %d groups", self.num_channels,
          self.num_groups)
  end
  create_affine(self, {self.num_channels}, self.affine,
                self.affine and self.bias)
  self:reset_parameters()
end

GroupNorm.reset_parameters = reset_affine

-- -- Local response ----------------------------------------------------------

--- Divides by a power of the mean square of `size` neighbouring channels: (k +
-- alpha * mean) ^ beta.
-- @function LocalResponseNorm
-- @tparam integer size
-- @tparam[opt] table options `alpha` (1e-4), `beta` (0.75), `k` (1)
declare(norm, "LocalResponseNorm",
        "size:size alpha:number=0.0001 beta:number=0.75 k:number=1",
        "local_response_norm")

return norm
