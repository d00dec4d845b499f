--- AdaptiveLogSoftmaxWithLoss: softmax of very many classes.
--
-- @module strided.nn.adaptive_softmax

local st = require "strided"
local container = require "strided.nn.container"
local declare = require "strided.nn.module.declare"
local Linear = require "strided.nn.linear".Linear
local raise = require "strided.argument.caller_error"

local floor, ipairs, tostring, type, unpack = math.floor, ipairs, tostring,
  type, unpack or table.unpack

local adaptive = {}

--- Softmax of many classes whose frequencies differ: the first classes, those
-- below the first cutoff, are in the head, the others in clusters of smaller
-- projections. The input has the shape {batch, in_features} or {in_features},
-- the target {batch} or none. Calling the module returns the logarithm of the
-- probability of each target, and the loss, a mean.
-- @function AdaptiveLogSoftmaxWithLoss
-- @tparam integer in_features
-- @tparam integer n_classes
-- @tparam table cutoffs how many classes are in the head, in the head and the
-- first cluster, and so on
-- @tparam[opt] table options `div_value` (4), by which each cluster's
-- projection is smaller than that before; `head_bias` (false); `base`, the
-- index of the first class (1); `dtype`, `device`
local Adaptive = declare(adaptive, "AdaptiveLogSoftmaxWithLoss",
  "in_features:size n_classes:size cutoffs:shape ; div_value:number=4 "
  .. "head_bias:flag=false base:integer=1 dtype:string=nil device:string=nil")

local NAME = "AdaptiveLogSoftmaxWithLoss"

function Adaptive:setup()
  local cutoffs = type(self.cutoffs) == "table" and {unpack(self.cutoffs)} or
                  {self.cutoffs}
  local last = 0
  for _, cutoff in ipairs(cutoffs) do
    if cutoff <= last or cutoff >= self.n_classes then
      raise("%s: cutoffs must increase, and be below the %d classes", NAME,
            self.n_classes)
    end
    last = cutoff
  end
  cutoffs[#cutoffs + 1] = self.n_classes
  self.limits = cutoffs
  local n = #cutoffs - 1
  local like = {dtype = self.dtype, device = self.device, bias = false}
  self.head = Linear(self.in_features, cutoffs[1] + n,
                     {bias = self.head_bias, dtype = self.dtype,
                      device = self.device})
  self.tail = container.ModuleList {}
  for i = 1, n do
    local hidden = floor(self.in_features / self.div_value ^ i)
    self.tail:append(container.Sequential {
      Linear(self.in_features, hidden, like),
      Linear(hidden, cutoffs[i + 1] - cutoffs[i], like),
    })
  end
end

function Adaptive:reset_parameters()
  self.head:reset_parameters()
  for i = 1, #self.tail do
    self.tail[i][1]:reset_parameters()
    self.tail[i][2]:reset_parameters()
  end
end

--- The logarithms of the probabilities of all classes, {batch, n_classes}.
-- @function AdaptiveLogSoftmaxWithLoss:log_prob
-- @tparam Tensor x
-- @treturn Tensor
function Adaptive:log_prob(x)
  local limits = self.limits
  local head = self.head(x):log_softmax(-1)
  local parts = {head:narrow(-1, 1, limits[1])}
  for i = 1, #self.tail do
    parts[i + 1] = self.tail[i](x):log_softmax(-1) +
                   head:narrow(-1, limits[1] + i, 1)
  end
  return st.cat(parts, -1)
end

--- The most probable classes.
-- @function AdaptiveLogSoftmaxWithLoss:predict
-- @tparam Tensor x
-- @treturn Tensor
function Adaptive:predict(x)
  return self:log_prob(x):argmax(-1) + (self.base - 1)
end

function Adaptive:forward(x, target)
  local is_single = target.ndim == 0
  if is_single then x, target = x:unsqueeze(1), target:unsqueeze(1) end
  if x.ndim ~= 2 or target.ndim ~= 1 or x.shape[1] ~= target.shape[1] then
    raise("%s: the input must have the shape {batch, %d}, and the target "
          .. "{batch}, got %s and %s", NAME, self.in_features,
          tostring(x.shape), tostring(target.shape))
  end
  local limits = self.limits
  local class = target - self.base -- from 0
  if class:lt(0):any():item() or class:ge(self.n_classes):any():item() then
    raise("%s: targets must be from %d to %d", NAME, self.base,
          self.base + self.n_classes - 1)
  end
  local head, rows, parts = self.head(x), {}, {}
  local gate = class:clone()
  for i = 1, #self.tail do
    local inside = st.logical_and(class:ge(limits[i]), class:lt(limits[i + 1]))
    local at = inside:nonzero():reshape(-1)
    if at:numel() > 0 then
      gate = gate:masked_fill(inside, limits[1] + i - 1)
      local own = self.tail[i](x:index_select(1, at)):log_softmax(2)
      local offset = class:index_select(1, at) - limits[i]
      rows[#rows + 1] = at
      parts[#parts + 1] = own:gather(2, (offset + 1):unsqueeze(2)):squeeze(2)
    end
  end
  local output = head:log_softmax(2):gather(2, (gate + 1):unsqueeze(2))
    :squeeze(2)
  for i, at in ipairs(rows) do output = output:index_add(1, at, parts[i]) end
  local loss = -output:mean()
  return is_single and output:squeeze(1) or output, loss
end

return adaptive
