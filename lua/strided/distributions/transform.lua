--- Transforms: invertible functions of tensors with the logarithm of their
-- Jacobian determinant.
--
--     local t = st.distributions.transforms.Affine(1, 2)
--     local y = t(x)                       -- 1 + 2 x
--     t:inverse(y)                         -- x
--     t:log_abs_det_jacobian(x, y)         -- log 2
--     t.inv(y)                             -- the inverse as a transform
--
-- `domain` and `codomain` are constraints; `sign` is 1 or -1 for monotonic
-- functions of an element.
--
-- @module strided.distributions.transform

local st = require "strided"
local base = require "strided.distributions.base"
local constraints = require "strided.distributions.constraint"
local raise = require "strided.caller_error"

local format, ipairs, log, max, next, rawequal, select, setmetatable, tostring,
  type = string.format, ipairs, math.log, math.max, next, rawequal, select,
  setmetatable, tostring, type

local M = {}

-- -- Classes -----------------------------------------------------------------

local Transform = {sign = nil}
local marks = setmetatable({}, {__mode = "k"})
local Inverse, invert

--- A class: forward(self, x), backward(self, y), jacobian(self, x, y); domain
-- and codomain; sign; forward_shape and inverse_shape of a list of sizes.
local function class(name, def, init)
  def.name = name
  def.domain = constraints.find(def.domain or "real")
  def.codomain = constraints.find(def.codomain or "real")
  setmetatable(def, {
    __index = Transform,
    __call = function(c, ...)
      local self = setmetatable({}, c.meta)
      marks[self] = true
      if init then init(self, ...) end
      return self
    end,
  })
  def.meta = {
    __index = function(self, key)
      if key == "inv" then return invert(self) end
      return def[key]
    end,
    __call = function(self, x) return self:forward(base.as_tensor(x)) end,
    __tostring = function(self)
      return self.text and self:text() or name
    end,
  }
  M[name] = def
  return def
end

--- True for transforms.
function M.is_transform(v) return type(v) == "table" and marks[v] ~= nil end

function Transform:inverse(y)
  if not self.backward then raise("%s has no inverse", self.name) end
  return self:backward(base.as_tensor(y))
end

function Transform:log_abs_det_jacobian(x, y)
  if not self.jacobian then
    raise("%s has no log_abs_det_jacobian", self.name)
  end
  return self:jacobian(x, y)
end

function Transform.forward_shape(_, shape) return shape end
function Transform.inverse_shape(_, shape) return shape end

--- The inverse of a transform, as its field `inv`.
Inverse = class("Inverse", {}, function(self, t)
  self.base, self.sign = t, t.sign
  self.domain, self.codomain = t.codomain, t.domain
end)

function Inverse:forward(y) return self.base:inverse(y) end
function Inverse:backward(x) return self.base(x) end
function Inverse:jacobian(y, x) return -self.base:log_abs_det_jacobian(x, y) end
function Inverse:forward_shape(shape) return self.base:inverse_shape(shape) end
function Inverse:inverse_shape(shape) return self.base:forward_shape(shape) end
function Inverse:text() return "inverse of " .. tostring(self.base) end

function invert(t)
  return t.name == "Inverse" and t.base or Inverse(t)
end

-- -- Of elements -------------------------------------------------------------

local function sign_of(x)
  if st.is_tensor(x) then return x:sign() end
  return x > 0 and 1 or x < 0 and -1 or 0
end

--- Numbers or tensors that are the same.
local function equal(a, b)
  a = base.as_tensor(a)
  return a:equal(base.as_tensor(b, a))
end

--- The shape of x and of parameters, broadcast.
local function with_sizes(shape, ...)
  local list = {st.empty(shape, {device = "meta"})}
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if st.is_tensor(v) then
      list[#list + 1] = st.empty(v.shape, {device = "meta"})
    end
  end
  return base.join(st.broadcast_tensors(list)[1].shape)
end

--- A parameter: a number or a tensor.
local function parameter(label, name, v)
  if type(v) == "number" or st.is_tensor(v) then return v end
  if type(v) == "table" then return base.as_tensor(v) end
  raise("%s: %s must be a number or a tensor", label, name)
end

--- y = exp(x).
-- @function Exp
local Exp = class("Exp", {codomain = "positive", sign = 1})
function Exp.forward(_, x) return x:exp() end
function Exp.backward(_, y) return y:log() end
function Exp.jacobian(_, x) return x end

--- y = x^exponent, for positive x.
-- @function Power
-- @param exponent
local Power = class("Power", {domain = "positive", codomain = "positive"},
                    function(self, exponent)
  self.exponent = parameter("Power", "exponent", exponent)
  self.sign = sign_of(self.exponent)
end)
function Power:forward_shape(shape) return with_sizes(shape, self.exponent) end
Power.inverse_shape = Power.forward_shape
function Power:forward(x) return x:pow(self.exponent) end
function Power:backward(y) return y:pow(1 / self.exponent) end
function Power:jacobian(x, y) return (self.exponent * y / x):abs():log() end

--- y = 1 / (1 + exp(-x)), away from 0 and 1.
-- @function Sigmoid
local Sigmoid = class("Sigmoid", {codomain = "unit_interval", sign = 1})

local function clipped_sigmoid(x)
  return st.sigmoid(x):clamp(base.tiny(x), 1 - base.eps(x))
end

function Sigmoid.forward(_, x) return clipped_sigmoid(x) end
function Sigmoid.backward(_, y)
  y = y:clamp(base.tiny(y), 1 - base.eps(y))
  return y:log() - (-y):log1p()
end
function Sigmoid.jacobian(_, x) return -st.softplus(-x) - st.softplus(x) end

--- y = tanh(x).
-- @function Tanh
local Tanh = class("Tanh", {codomain = constraints.interval(-1, 1), sign = 1})
function Tanh.forward(_, x) return x:tanh() end
function Tanh.backward(_, y) return y:atanh() end
function Tanh.jacobian(_, x) return 2 * (log(2) - x - st.softplus(-2 * x)) end

--- y = log(1 + exp(x)).
-- @function Softplus
local Softplus = class("Softplus", {codomain = "positive", sign = 1})
function Softplus.forward(_, x) return st.softplus(x) end
function Softplus.backward(_, y) return (-(-y):expm1()):log() + y end
function Softplus.jacobian(_, x) return -st.softplus(-x) end

--- y = |x|. The inverse is the positive one.
-- @function Abs
local Abs = class("Abs", {codomain = "nonnegative"})
function Abs.forward(_, x) return x:abs() end
function Abs.backward(_, y) return y end

--- y = loc + scale x.
-- @function Affine
-- @param loc
-- @param scale
-- @param[opt=0] event_dim the dimensions of an event
local Affine = class("Affine", {}, function(self, loc, scale, event_dim)
  self.loc = parameter("Affine", "loc", loc)
  self.scale = parameter("Affine", "scale", scale)
  self.event_dim = event_dim or 0
  self.sign = sign_of(self.scale)
  self.domain = constraints.independent(constraints.real, self.event_dim)
  self.codomain = self.domain
end)
function Affine:forward_shape(shape)
  return with_sizes(shape, self.loc, self.scale)
end
Affine.inverse_shape = Affine.forward_shape
function Affine:forward(x) return x * self.scale + self.loc end
function Affine:backward(y) return (y - self.loc) / self.scale end
function Affine:jacobian(x)
  local scale = base.as_tensor(self.scale, x)
  return base.sum_last(scale:abs():log():expand_as(x), self.event_dim)
end
function Affine:text()
  return format("Affine(%s, %s)", tostring(self.loc), tostring(self.scale))
end

-- -- Of vectors --------------------------------------------------------------

--- Shares proportional to exp(x). Not bijective: it has no determinant.
-- @function Softmax
local Softmax = class("Softmax", {domain = "real_vector", codomain = "simplex"})
function Softmax.forward(_, x) return st.softmax(x, -1) end
function Softmax.backward(_, y) return y:log() end

--- Shares of a stick, of which each element breaks a part off: from n numbers
-- to n + 1 shares.
-- @function StickBreaking
local StickBreaking = class("StickBreaking", {
  domain = "real_vector", codomain = "simplex",
})

--- n, n - 1, ..., 1 of the dtype of x, for the size n of its last dimension.
local function falling(x)
  local n = x.shape[x:dim()]
  return st.arange(n, 0, -1, {dtype = x.dtype})
end

function StickBreaking.forward(_, x)
  local z = clipped_sigmoid(x - falling(x):log())
  return st.constant_pad_nd(z, {0, 1}, 1)
         * st.constant_pad_nd((1 - z):cumprod(-1), {1, 0}, 1)
end

function StickBreaking.backward(_, y)
  local crop = y:narrow(-1, 1, y.shape[y:dim()] - 1)
  local rest = (1 - crop:cumsum(-1)):clamp_min(base.tiny(y))
  return crop:log() - rest:log() + falling(crop):log()
end

function StickBreaking.jacobian(_, x, y)
  x = x - falling(x):log()
  local crop = y:narrow(-1, 1, y.shape[y:dim()] - 1)
  return (st.log_sigmoid(x) - x + crop:log()):sum(-1)
end

function StickBreaking.forward_shape(_, shape)
  local out = base.join(shape)
  out[#out] = out[#out] + 1
  return out
end

function StickBreaking.inverse_shape(_, shape)
  local out = base.join(shape)
  out[#out] = out[#out] - 1
  return out
end

--- Lower triangular matrices with exp of the diagonal.
-- @function LowerCholesky
local LowerCholesky = class("LowerCholesky", {
  domain = constraints.independent(constraints.real, 2),
  codomain = "lower_cholesky",
})

local function with_diagonal(x, fn)
  local d = st.diagonal(x, {dim1 = -2, dim2 = -1})
  return x:tril(-1) + fn(d):diag_embed()
end

function LowerCholesky.forward(_, x) return with_diagonal(x, st.exp) end
function LowerCholesky.backward(_, y) return with_diagonal(y, st.log) end

-- -- Of transforms -----------------------------------------------------------

--- Several transforms, the first one first.
-- @function Compose
-- @tparam table list
local Compose = class("Compose", {}, function(self, list)
  self.list, self.sign = list, 1
  local need, into = 0, 0
  for i = #list, 1, -1 do -- dimensions of an event before each part
    local t = list[i]
    need = max(need + t.domain.event_dim - t.codomain.event_dim,
               t.domain.event_dim)
  end
  for _, t in ipairs(list) do
    into = max(into + t.codomain.event_dim - t.domain.event_dim,
               t.codomain.event_dim)
    self.sign = self.sign and t.sign and self.sign * t.sign
  end
  if #list == 0 then
    self.domain, self.codomain = constraints.real, constraints.real
    return
  end
  local first, last = list[1].domain, list[#list].codomain
  self.domain = constraints.independent(first, need - first.event_dim)
  self.codomain = constraints.independent(last, into - last.event_dim)
end)

function Compose:forward(x)
  for _, t in ipairs(self.list) do x = t(x) end
  return x
end

function Compose:backward(y)
  for i = #self.list, 1, -1 do y = self.list[i]:inverse(y) end
  return y
end

function Compose:jacobian(x)
  local event_dim, sum = self.domain.event_dim, 0
  for _, t in ipairs(self.list) do
    local y = t(x)
    local part = t:log_abs_det_jacobian(x, y)
    sum = sum + base.sum_last(part, event_dim - t.domain.event_dim)
    event_dim = event_dim + t.codomain.event_dim - t.domain.event_dim
    x = y
  end
  return sum
end

function Compose:forward_shape(shape)
  for _, t in ipairs(self.list) do shape = t:forward_shape(shape) end
  return shape
end

function Compose:inverse_shape(shape)
  for i = #self.list, 1, -1 do shape = self.list[i]:inverse_shape(shape) end
  return shape
end

--- A transform whose events have n more dimensions.
-- @function Independent
-- @param transform
-- @tparam integer n
local Independent = class("Independent", {}, function(self, transform, n)
  self.base, self.n = transform, n
  self.domain = constraints.independent(transform.domain, n)
  self.codomain = constraints.independent(transform.codomain, n)
end)

function Independent:forward(x) return self.base(x) end
function Independent:backward(y) return self.base:inverse(y) end
function Independent:jacobian(x, y)
  return base.sum_last(self.base:log_abs_det_jacobian(x, y), self.n)
end
function Independent:forward_shape(s) return self.base:forward_shape(s) end
function Independent:inverse_shape(s) return self.base:inverse_shape(s) end

--- Another shape of an event.
-- @function Reshape
-- @tparam table from sizes
-- @tparam table to sizes
local Reshape = class("Reshape", {}, function(self, from, to)
  self.from, self.to = base.join(from), base.join(to)
  self.domain = constraints.independent(constraints.real, #from)
  self.codomain = constraints.independent(constraints.real, #to)
end)

local function with_event(shape, n, event)
  return base.join(base.part(shape, 1, #shape - n), event)
end

function Reshape:forward(x)
  return x:reshape(with_event(x.shape, #self.from, self.to))
end
function Reshape:backward(y)
  return y:reshape(with_event(y.shape, #self.to, self.from))
end
function Reshape:jacobian(x)
  return x:new_zeros(with_event(x.shape, #self.from, {}))
end
function Reshape:forward_shape(s) return with_event(s, #self.from, self.to) end
function Reshape:inverse_shape(s) return with_event(s, #self.to, self.from) end

--- y = cdf(x) of a distribution.
-- @function CumulativeDistribution
-- @param distribution
local Cumulative = class("CumulativeDistribution", {
  codomain = "unit_interval", sign = 1,
}, function(self, distribution)
  self.distribution, self.domain = distribution, distribution.support
end)
function Cumulative:forward(x) return self.distribution:cdf(x) end
function Cumulative:backward(y) return self.distribution:icdf(y) end
function Cumulative:jacobian(x) return self.distribution:log_prob(x) end

--- Whether two transforms are the same: one object, or a class without
-- parameters.
function M.same(a, b)
  if rawequal(a, b) then return true end
  if a.name ~= b.name then return false end
  if a.name == "Affine" then
    return equal(a.loc, b.loc) and equal(a.scale, b.scale)
  end
  if a.name == "Power" then return equal(a.exponent, b.exponent) end
  if a.name == "Inverse" then return M.same(a.base, b.base) end
  if a.name == "Compose" then
    if #a.list ~= #b.list then return false end
    for i, t in ipairs(a.list) do
      if not M.same(t, b.list[i]) then return false end
    end
    return true
  end
  return next(a) == nil
end

return M
