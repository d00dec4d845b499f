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
-- functions of an element; `bijective` is true if t.inv(t(x)) is x and t(t.inv
-- (y)) is y; `event_dim` is that of the domain and the codomain. forward_shape
-- and inverse_shape say which shape comes of which. A transform made with the
-- option `cache_size = 1`, or by t:with_cache(), keeps its last x and y: the
-- inverse of that y is that x, without a rounding.
--
-- Each class has PyTorch's name, too: AffineTransform in st.distributions.
-- st.distributions.Transform makes classes.
--
-- @module strided.distributions.transform

local st = require "strided"
local base = require "strided.distributions.base"
local classes = require "strided.distributions.transform_class"
local constraints = require "strided.distributions.constraint"
local raise = require "strided.argument.caller_error"

local floor, format, log, pairs, rawget, require, sqrt, tostring, type =
  math.floor, string.format, math.log, pairs, rawget, require, math.sqrt,
  tostring, type

local M = {is_transform = classes.is_transform, same = classes.same}

local join, part = base.join, base.part
local check_dimensions, equal, with_sizes = classes.check_dimensions,
  classes.equal, classes.with_sizes

local function class(name, def)
  M[name] = classes.class(name, def)
  return M[name]
end

-- -- Of elements -------------------------------------------------------------

local function sign_of(x)
  if st.is_tensor(x) then return x:sign() end
  return x > 0 and 1 or x < 0 and -1 or 0
end

--- A parameter: a number or a tensor.
local function parameter(label, name, v)
  if type(v) == "number" or st.is_tensor(v) then return v end
  if type(v) == "table" then return base.as_tensor(v) end
  raise("%s: %s must be a number or a tensor", label, name)
end

--- y = exp(x).
-- @function Exp
local Exp = class("Exp", {codomain = "positive", sign = 1, bijective = true})
function Exp.forward(_, x) return x:exp() end
function Exp.backward(_, y) return y:log() end
function Exp.jacobian(_, x) return x end

--- y = x^exponent, for positive x.
-- @function Power
-- @param exponent
local Power = class("Power", {
  domain = "positive", codomain = "positive", bijective = true,
  params = {"exponent"},
  init = function(self, a)
    self.exponent = parameter("Power", "exponent", a.exponent)
    self.sign = sign_of(self.exponent)
  end,
})
function Power:forward_shape(shape) return with_sizes(shape, self.exponent) end
Power.inverse_shape = Power.forward_shape
function Power:forward(x) return x:pow(self.exponent) end
function Power:backward(y) return y:pow(1 / self.exponent) end
function Power:jacobian(x, y) return (self.exponent * y / x):abs():log() end
function Power:equals(other) return equal(self.exponent, other.exponent) end

--- y = 1 / (1 + exp(-x)), away from 0 and 1.
-- @function Sigmoid
local Sigmoid = class("Sigmoid", {
  codomain = "unit_interval", sign = 1, bijective = true,
})

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
local Tanh = class("Tanh", {
  codomain = constraints.interval(-1, 1), sign = 1, bijective = true,
})

--- log |tanh'(x)|.
local function log_tanh_slope(x)
  return 2 * (log(2) - x - st.softplus(-2 * x))
end

function Tanh.forward(_, x) return x:tanh() end
function Tanh.backward(_, y) return y:atanh() end
function Tanh.jacobian(_, x) return log_tanh_slope(x) end

--- y = log(1 + exp(x)).
-- @function Softplus
local Softplus = class("Softplus", {
  codomain = "positive", sign = 1, bijective = true,
})
function Softplus.forward(_, x) return st.softplus(x) end
function Softplus.backward(_, y) return (-(-y):expm1()):log() + y end
function Softplus.jacobian(_, x) return -st.softplus(-x) end

--- y = |x|. The inverse is the positive one.
-- @function Abs
local Abs = class("Abs", {codomain = "positive"})
function Abs.forward(_, x) return x:abs() end
function Abs.backward(_, y) return y end

--- y = loc + scale x.
-- @function Affine
-- @param loc
-- @param scale
-- @param[opt=0] event_dim the dimensions of an event
local Affine = class("Affine", {
  bijective = true, params = {"loc", "scale", "event_dim"},
  init = function(self, a)
    self.loc = parameter("Affine", "loc", a.loc)
    self.scale = parameter("Affine", "scale", a.scale)
    self.event_dim = constraints.read_integer("Affine", "event_dim",
                                              a.event_dim or 0, 0)
    self.sign = sign_of(self.scale)
    self.domain = constraints.independent(constraints.real, self.event_dim)
    self.codomain = self.domain
  end,
})
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
function Affine:equals(other)
  return equal(self.loc, other.loc) and equal(self.scale, other.scale)
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
function Softmax:forward_shape(shape)
  check_dimensions(self, shape, 1)
  return shape
end
Softmax.inverse_shape = Softmax.forward_shape

--- Shares of a stick, of which each element breaks a part off: from n numbers
-- to n + 1 shares.
-- @function StickBreaking
local StickBreaking = class("StickBreaking", {
  domain = "real_vector", codomain = "simplex", bijective = true,
})

--- n, n - 1, ..., 1 of the dtype of x, for the size n of its last dimension.
local function falling(x)
  local n = x.shape[x:dim()]
  return st.arange(n, 0, -1, {dtype = x.dtype, device = x.device})
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

local function with_last(self, shape, change)
  check_dimensions(self, shape, 1)
  local out = join(shape)
  out[#out] = out[#out] + change
  return out
end

function StickBreaking:forward_shape(shape) return with_last(self, shape, 1) end
function StickBreaking:inverse_shape(shape)
  return with_last(self, shape, -1)
end

-- -- Of matrices -------------------------------------------------------------

local MATRIX = constraints.independent(constraints.real, 2)

--- Lower triangular matrices with exp of the diagonal.
-- @function LowerCholesky
local LowerCholesky = class("LowerCholesky", {
  domain = MATRIX, codomain = "lower_cholesky",
})

local function with_diagonal(x, fn)
  local d = st.diagonal(x, {dim1 = -2, dim2 = -1})
  return x:tril(-1) + fn(d):diag_embed()
end

function LowerCholesky.forward(_, x) return with_diagonal(x, st.exp) end
function LowerCholesky.backward(_, y) return with_diagonal(y, st.log) end

--- L L' for the L of LowerCholesky.
-- @function PositiveDefinite
local PositiveDefinite = class("PositiveDefinite", {
  domain = MATRIX, codomain = "positive_definite",
})

function PositiveDefinite.forward(_, x)
  local l = with_diagonal(x, st.exp)
  return l:matmul(l:mT())
end
function PositiveDefinite.backward(_, y)
  return with_diagonal(st.linalg_cholesky(y), st.log)
end

--- The Cholesky factors of correlation matrices: n (n - 1) / 2 numbers become
-- the lower triangle of a matrix with n rows of norm 1.
-- @function CorrCholesky
local CorrCholesky = class("CorrCholesky", {
  domain = "real_vector", codomain = "corr_cholesky", bijective = true,
})

--- The elements of n x n matrices that are below diagonal `k`, as a mask for x.
local function lower(x, n, k)
  return x:new_ones({n, n}, {dtype = "bool"}):tril(k)
end

--- The elements of the matrices y below a diagonal, in vectors.
local function to_vector(y, k)
  local shape = y.shape
  local mask = lower(y, shape[#shape], k)
  return y:masked_select(mask):reshape(join(part(shape, 1, #shape - 2),
                                            {mask:sum():item()}))
end

--- The same except the last column, after a column of 1.
local function shifted(x)
  return st.constant_pad_nd(x:narrow(-1, 1, x.shape[x:dim()] - 1), {1, 0}, 1)
end

--- n of n (n - 1) / 2.
local function matrix_size(self, shape)
  check_dimensions(self, shape, 1)
  local count = shape[#shape]
  local n = floor(sqrt(0.25 + 2 * count) + 1)
  if n * (n - 1) / 2 ~= count then
    raise("%s: the last dimension must be of n (n - 1) / 2 elements, got %d",
          self.name, count)
  end
  return n
end

function CorrCholesky:forward_shape(shape)
  local n = matrix_size(self, shape)
  return join(part(shape, 1, #shape - 1), {n, n})
end

function CorrCholesky:inverse_shape(shape)
  check_dimensions(self, shape, 2)
  local n = shape[#shape]
  if shape[#shape - 1] ~= n then
    raise("%s: the matrices must be square, got %d x %d", self.name,
          shape[#shape - 1], n)
  end
  return join(part(shape, 1, #shape - 2), {floor(n * (n - 1) / 2)})
end

function CorrCholesky:forward(x)
  local shape = self:forward_shape(x.shape)
  local n, eps = shape[#shape], base.eps(x)
  x = x:tanh():clamp(eps - 1, 1 - eps)
  local r = x:new_zeros(shape):masked_scatter(
    lower(x, n, -1):expand(shape), x)
  local left = (1 - r:square()):sqrt():cumprod(-1)
  local eye = st.eye(n, {dtype = x.dtype, device = x.device})
  return (r + eye) * shifted(left)
end

function CorrCholesky:backward(y)
  self:inverse_shape(y.shape)
  local left = shifted(1 - y:square():cumsum(-1))
  local t = to_vector(y, -1) / to_vector(left, -1):sqrt()
  return (t:log1p() - (-t):log1p()) / 2
end

--- Of the elements below the diagonal: there are as many as in x.
function CorrCholesky.jacobian(_, x, y)
  local left = to_vector(1 - y:square():cumsum(-1), -2)
  return 0.5 * left:log():sum(-1) + log_tanh_slope(x):sum(-1)
end

-- -- Of transforms, and PyTorch's names --------------------------------------

require "strided.distributions.transform_compound"(class)

--- The transform that changes nothing.
M.identity_transform = M.Compose {}

M.names = {
  Transform = classes.Transform, identity_transform = M.identity_transform,
}
for name, v in pairs(M) do
  if type(v) == "table" and rawget(v, "meta") then
    M.names[name .. "Transform"] = v
  end
end
for name, v in pairs(M.names) do M[name] = v end

return M
