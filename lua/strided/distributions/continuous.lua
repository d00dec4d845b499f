--- Continuous distributions with a location and a scale, and of intervals.
--
-- @module strided.distributions.continuous

local st = require "strided"
local base = require "strided.distributions.base"
local raise = require "strided.argument.caller_error"
local constraints = require "strided.distributions.constraint"
local family = require "strided.distributions.exponential_family"

local log, pi, sqrt = math.log, math.pi, math.sqrt
local math = math

local EULER = 0.57721566490153286060

local M = {}

local broadcast, eps, tiny = base.broadcast, base.eps, base.tiny

local function class(name, def, parent)
  M[name] = base.class(name, def, parent)
  return M[name]
end

--- A class with the parameters loc and scale, to one of which more may come.
local function located(name, def, parent)
  def.params = {{"loc", "real"}, {"scale", "positive"}}
  def.support = def.support or "real"
  def.reparameterized = true
  function def.init(self, a)
    self.loc, self.scale = broadcast(a.loc, a.scale)
    return self.loc.shape
  end
  return class(name, def, parent)
end

--- A class with one parameter, positive by default.
local function single(name, parameter, def, parent)
  def.params = {{parameter, def.constraint or "positive"}}
  def.reparameterized = true
  function def.init(self, a)
    self[parameter] = base.as_tensor(a[parameter])
    return self[parameter].shape
  end
  return class(name, def, parent)
end

local function full(t, value) return st.full_like(t, value) end

-- -- Normal ------------------------------------------------------------------

--- The normal distribution: density exp(-(x - loc)^2 / (2 scale^2)) / (scale
-- sqrt(2 pi)).
-- @function Normal
-- @param loc the mean
-- @param scale the standard deviation
local Normal = located("Normal", {mean_carrier_measure = 0},
                       family.ExponentialFamily)

function Normal.get:mean() return self.loc end
function Normal.get:mode() return self.loc end
function Normal.get:stddev() return self.scale end
function Normal.get:variance() return self.scale:pow(2) end

function Normal:draw(shape, o)
  return self.loc + base.normal(self, shape, o) * self.scale
end

function Normal:density(x)
  return -(x - self.loc):pow(2) / (2 * self.scale:pow(2)) - self.scale:log()
         - log(sqrt(2 * pi))
end

function Normal:below(x)
  return 0.5 * (1 + st.erf((x - self.loc) / self.scale / sqrt(2)))
end

function Normal:quantile(p)
  return self.loc + self.scale * st.erfinv(2 * p - 1) * sqrt(2)
end

function Normal:entropy()
  return 0.5 + 0.5 * log(2 * pi) + self.scale:log()
end

function Normal:natural_params()
  local variance = self.scale:pow(2)
  return {self.loc / variance, -0.5 / variance}
end

function Normal.log_normalizer(_, x, y)
  return -0.25 * x:pow(2) / y + 0.5 * (-pi / y):log()
end

--- exp of normal numbers.
-- @function LogNormal
-- @param loc the mean of the logarithm
-- @param scale the standard deviation of the logarithm
local LogNormal = located("LogNormal", {support = "positive"})

function LogNormal.get:mean()
  return (self.loc + self.scale:pow(2) / 2):exp()
end

function LogNormal.get:mode() return (self.loc - self.scale:square()):exp() end

function LogNormal.get:variance()
  local square = self.scale:pow(2)
  return square:expm1() * (2 * self.loc + square):exp()
end

function LogNormal:draw(shape, o) return Normal.draw(self, shape, o):exp() end

function LogNormal:density(x)
  local y = x:log()
  return Normal.density(self, y) - y
end

function LogNormal:below(x) return Normal.below(self, x:log()) end
function LogNormal:quantile(p) return Normal.quantile(self, p):exp() end
function LogNormal:entropy() return Normal.entropy(self) + self.loc end

--- The absolute value of normal numbers with the mean 0.
-- @function HalfNormal
-- @param scale the standard deviation of the normal numbers
local HalfNormal = single("HalfNormal", "scale", {support = "nonnegative"})

function HalfNormal.get:mean() return self.scale * sqrt(2 / pi) end
function HalfNormal.get:mode() return st.zeros_like(self.scale) end
function HalfNormal.get:variance() return self.scale:pow(2) * (1 - 2 / pi) end

function HalfNormal:draw(shape, o)
  return (base.normal(self, shape, o) * self.scale):abs()
end

function HalfNormal:density(x)
  local value = log(2) - x:pow(2) / (2 * self.scale:pow(2)) - self.scale:log()
                - log(sqrt(2 * pi))
  return value:masked_fill(x:lt(0), -math.huge)
end

function HalfNormal:below(x) return st.erf(x / self.scale / sqrt(2)) end

function HalfNormal:quantile(p)
  return self.scale * st.erfinv(p) * sqrt(2)
end

function HalfNormal:entropy()
  return 0.5 + 0.5 * log(2 * pi) + self.scale:log() - log(2)
end

-- -- Cauchy ------------------------------------------------------------------

--- The Cauchy distribution: density 1 / (pi scale (1 + ((x - loc) / scale)^2)).
-- It has no mean.
-- @function Cauchy
-- @param loc the median
-- @param scale half of the distance of the quartiles
local Cauchy = located("Cauchy", {})

function Cauchy.get:mean() return full(self.loc, 0 / 0) end
function Cauchy.get:mode() return self.loc end
function Cauchy.get:variance() return full(self.loc, math.huge) end

function Cauchy:draw(shape, o)
  return self.loc + base.empty(self, shape):cauchy_(0, 1, o) * self.scale
end

function Cauchy:density(x)
  return -log(pi) - self.scale:log()
         - ((x - self.loc) / self.scale):pow(2):log1p()
end

function Cauchy:below(x)
  return st.atan((x - self.loc) / self.scale) / pi + 0.5
end

function Cauchy:quantile(p)
  return st.tan(pi * (p - 0.5)) * self.scale + self.loc
end

function Cauchy:entropy() return log(4 * pi) + self.scale:log() end

--- The absolute value of Cauchy numbers with the median 0.
-- @function HalfCauchy
-- @param scale
local HalfCauchy = single("HalfCauchy", "scale", {support = "nonnegative"})

function HalfCauchy.get:mean() return full(self.scale, math.huge) end
function HalfCauchy.get:mode() return st.zeros_like(self.scale) end
function HalfCauchy.get:variance() return full(self.scale, math.huge) end

function HalfCauchy:draw(shape, o)
  return (base.empty(self, shape):cauchy_(0, 1, o) * self.scale):abs()
end

function HalfCauchy:density(x)
  local value = log(2 / pi) - self.scale:log() - (x / self.scale):pow(2):log1p()
  return value:masked_fill(x:lt(0), -math.huge)
end

function HalfCauchy:below(x) return 2 * st.atan(x / self.scale) / pi end
function HalfCauchy:quantile(p) return st.tan(pi * p / 2) * self.scale end
function HalfCauchy:entropy() return log(2 * pi) + self.scale:log() end

-- -- Laplace, Gumbel ---------------------------------------------------------

--- The Laplace distribution: density exp(-|x - loc| / scale) / (2 scale).
-- @function Laplace
-- @param loc the mean
-- @param scale
local Laplace = located("Laplace", {})

function Laplace.get:mean() return self.loc end
function Laplace.get:mode() return self.loc end
function Laplace.get:stddev() return self.scale * sqrt(2) end
function Laplace.get:variance() return 2 * self.scale:pow(2) end

function Laplace:draw(shape, o)
  local u = base.uniform(self, shape, o, eps(self.loc) - 1, 1)
  return self.loc - self.scale * u:sign() * (-u:abs()):log1p()
end

function Laplace:density(x)
  return -(2 * self.scale):log() - (x - self.loc):abs() / self.scale
end

function Laplace:below(x)
  local d = x - self.loc
  return 0.5 - 0.5 * d:sign() * (-d:abs() / self.scale):expm1()
end

function Laplace:quantile(p)
  local d = p - 0.5
  return self.loc - self.scale * d:sign() * (-2 * d:abs()):log1p()
end

function Laplace:entropy() return 1 + (2 * self.scale):log() end

--- The Gumbel distribution of maxima: cdf exp(-exp(-(x - loc) / scale)).
-- @function Gumbel
-- @param loc the mode
-- @param scale
local Gumbel = located("Gumbel", {})

function Gumbel.get:mean() return self.loc + self.scale * EULER end
function Gumbel.get:mode() return self.loc end
function Gumbel.get:stddev() return pi / sqrt(6) * self.scale end
function Gumbel.get:variance() return self.stddev:pow(2) end

function Gumbel:draw(shape, o)
  local u = base.uniform(self, shape, o, tiny(self.loc), 1 - eps(self.loc))
  return self.loc - self.scale * (-u:log()):log()
end

function Gumbel:density(x)
  local y = (self.loc - x) / self.scale
  return y - y:exp() - self.scale:log()
end

function Gumbel:below(x)
  return (-((self.loc - x) / self.scale):exp()):exp()
end

function Gumbel:quantile(p) return self.loc - self.scale * (-p:log()):log() end
function Gumbel:entropy() return self.scale:log() + (1 + EULER) end

-- -- Uniform -----------------------------------------------------------------

--- The uniform distribution on [low, high).
-- @function Uniform
-- @param low
-- @param high
local Uniform = class("Uniform", {
  params = {{"low"}, {"high"}}, reparameterized = true,
  support = function(self)
    return constraints.interval(self.low, self.high)
  end,
})

Uniform.arg_constraints.low = constraints.dependent
Uniform.arg_constraints.high = constraints.dependent

function Uniform:init(a)
  self.low, self.high = broadcast(a.low, a.high)
  if base.validates and a.validate_args ~= false and
     not self.low:lt(self.high):all():item() then
    raise("Uniform: low must be less than high")
  end
  return self.low.shape
end

function Uniform.get:mean() return (self.high + self.low) / 2 end
function Uniform.get:mode() return full(self.high, 0 / 0) end
function Uniform.get:stddev() return (self.high - self.low) / sqrt(12) end
function Uniform.get:variance() return (self.high - self.low):pow(2) / 12 end

function Uniform:draw(shape, o)
  return self.low + base.uniform(self, shape, o) * (self.high - self.low)
end

function Uniform:density(x)
  local inside = st.logical_and(self.low:le(x), self.high:gt(x))
  return inside:to(self.low.dtype):log() - (self.high - self.low):log()
end

function Uniform:below(x)
  return ((x - self.low) / (self.high - self.low)):clamp(0, 1)
end

function Uniform:quantile(p) return p * (self.high - self.low) + self.low end
function Uniform:entropy() return (self.high - self.low):log() end

-- -- Exponential and its kin -------------------------------------------------

--- The exponential distribution: density rate exp(-rate x).
-- @function Exponential
-- @param rate 1 / mean
local Exponential = single("Exponential", "rate", {
  support = "nonnegative", mean_carrier_measure = 0,
}, family.ExponentialFamily)

function Exponential.get:mean() return self.rate:reciprocal() end
function Exponential.get:mode() return st.zeros_like(self.rate) end
function Exponential.get:stddev() return self.rate:reciprocal() end
function Exponential.get:variance() return self.rate:pow(-2) end

function Exponential:draw(shape, o)
  return base.empty(self, shape):exponential_(1, o) / self.rate
end

function Exponential:density(x) return self.rate:log() - self.rate * x end
function Exponential:below(x) return -(-self.rate * x):expm1() end
function Exponential:quantile(p) return -(-p):log1p() / self.rate end
function Exponential:entropy() return 1 - self.rate:log() end
function Exponential:natural_params() return {-self.rate} end
function Exponential.log_normalizer(_, x) return -(-x):log() end

--- The Weibull distribution: cdf 1 - exp(-(x / scale)^concentration).
-- @function Weibull
-- @param scale
-- @param concentration the shape
local Weibull = class("Weibull", {
  params = {{"scale", "positive"}, {"concentration", "positive"}},
  support = "positive", reparameterized = true,
})

function Weibull:init(a)
  self.scale, self.concentration = broadcast(a.scale, a.concentration)
  return self.scale.shape
end

local function weibull_moment(self, n)
  return self.scale:pow(n) * st.lgamma(1 + n / self.concentration):exp()
end

function Weibull.get:mean() return weibull_moment(self, 1) end

function Weibull.get:mode()
  local k = self.concentration
  return st.where(k:le(1), st.zeros_like(k),
                  self.scale * ((k - 1) / k):clamp_min(0):pow(1 / k))
end

function Weibull.get:variance()
  return weibull_moment(self, 2) - weibull_moment(self, 1):pow(2)
end

function Weibull:draw(shape, o)
  local x = base.empty(self, shape):exponential_(1, o)
  return self.scale * x:pow(self.concentration:reciprocal())
end

function Weibull:density(x)
  local k, y = self.concentration, (x / self.scale):log()
  return k:log() - self.scale:log() + (k - 1) * y - (k * y):exp()
end

function Weibull:below(x)
  return -(-(x / self.scale):pow(self.concentration)):expm1()
end

function Weibull:quantile(p)
  return self.scale * (-(-p):log1p()):pow(self.concentration:reciprocal())
end

function Weibull:entropy()
  local inverse = self.concentration:reciprocal()
  return EULER * (1 - inverse) + (self.scale * inverse):log() + 1
end

--- The Kumaraswamy distribution: cdf 1 - (1 - x^concentration1)^concentration0.
-- @function Kumaraswamy
-- @param concentration1
-- @param concentration0
local Kumaraswamy = class("Kumaraswamy", {
  params = {{"concentration1", "positive"}, {"concentration0", "positive"}},
  support = "unit_interval", reparameterized = true,
})

function Kumaraswamy:init(a)
  self.concentration1, self.concentration0 =
    broadcast(a.concentration1, a.concentration0)
  return self.concentration1.shape
end

local function kumaraswamy_moment(self, n)
  local a, b = 1 + n / self.concentration1, self.concentration0
  return b * (a:lgamma() + b:lgamma() - (a + b):lgamma()):exp()
end

function Kumaraswamy.get:mean() return kumaraswamy_moment(self, 1) end

function Kumaraswamy.get:mode()
  local a, b = self.concentration1, self.concentration0
  local mode = b:reciprocal() * (-b):log1p() - (-a * b):log1p()
  return mode:masked_fill(st.logical_or(a:lt(1), b:lt(1)), 0 / 0):exp()
end

function Kumaraswamy.get:variance()
  return kumaraswamy_moment(self, 2) - self.mean:pow(2)
end

function Kumaraswamy:draw(shape, o)
  local u = base.uniform(self, shape, o)
  return (1 - u:pow(self.concentration0:reciprocal()))
         :pow(self.concentration1:reciprocal())
end

function Kumaraswamy:density(x)
  local a, b = self.concentration1, self.concentration0
  return a:log() + b:log() + (a - 1) * x:log()
         + (b - 1) * (-x:pow(a)):log1p()
end

function Kumaraswamy:below(x)
  return 1 - (1 - x:pow(self.concentration1)):pow(self.concentration0)
end

function Kumaraswamy:quantile(p)
  return (1 - (1 - p):pow(self.concentration0:reciprocal()))
         :pow(self.concentration1:reciprocal())
end

function Kumaraswamy:entropy()
  local a, b = self.concentration1, self.concentration0
  local harmonic = st.digamma(b + 1) + EULER
  return (1 - b:reciprocal()) + (1 - a:reciprocal()) * harmonic - a:log()
         - b:log()
end

-- -- VonMises ----------------------------------------------------------------

--- The von Mises distribution of angles: density exp(concentration cos(x -
-- loc)) / (2 pi I0(concentration)). Samples are from -pi to pi.
-- @function VonMises
-- @param loc an angle
-- @param concentration
local VonMises = class("VonMises", {
  params = {{"loc", "real"}, {"concentration", "positive"}}, support = "real",
})

function VonMises:init(a)
  self.loc, self.concentration = broadcast(a.loc, a.concentration)
  return self.loc.shape
end

local function log_i0(x) return st.special_i0e(x):log() + x end

function VonMises.get:mean() return self.loc end
function VonMises.get:mode() return self.loc end

function VonMises.get:variance()
  local k = self.concentration
  return 1 - st.special_i1e(k) / st.special_i0e(k)
end

--- The parameter of the wrapped Cauchy numbers, of which some are rejected
-- (Best and Fisher, "Efficient Simulation of the von Mises Distribution",
-- Applied Statistics 28, 1979).
local function proposal(k)
  local tau = 1 + (1 + 4 * k:square()):sqrt()
  local rho = (tau - (2 * tau):sqrt()) / (2 * k)
  return st.where(k:lt(1e-5), 1 / k + k, (1 + rho:square()) / (2 * rho))
end

function VonMises:draw(shape, o)
  local loc, k = self.loc:to "float64", self.concentration:to "float64"
  local is_none = k:ge(0):logical_not():expand(shape) -- NaN, of no number
  k = k:clamp(1e-300, 1e14) -- beyond it r is infinite or rounded to 1
  local r, x = proposal(k), st.zeros(shape, base.like(k))
  local done = is_none
  local three = base.join({3}, shape)
  while not done:all():item() do
    local u = st.rand(three, {dtype = "float64", device = k.device,
                              generator = o and o.generator})
    local u1, u2, u3 = u:select(1, 1), u:select(1, 2), u:select(1, 3)
    local z = (pi * u1):cos()
    local f = (1 + r * z) / (r + z)
    local c = k * (r - f)
    local accept = st.logical_or((c * (2 - c) - u2):gt(0),
                                 ((c / u2):log() + 1 - c):ge(0))
    x = st.where(accept, (u3 - 0.5):sign() * f:acos(), x)
    done = st.logical_or(done, accept)
  end
  x = x:masked_fill(is_none, 0 / 0)
  return (x + pi + loc):remainder(2 * pi):sub(pi):to(self.loc.dtype)
end

function VonMises:density(x)
  return self.concentration * (x - self.loc):cos() - log(2 * pi)
         - log_i0(self.concentration)
end

function VonMises:entropy()
  local k = self.concentration
  return log(2 * pi) + log_i0(k) - k * st.special_i1e(k) / st.special_i0e(k)
end

return M
