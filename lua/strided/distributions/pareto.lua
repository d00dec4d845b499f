--- Distributions with a lower end and a heavy tail: Pareto, GeneralizedPareto.
--
-- @module strided.distributions.pareto

local st = require "strided"
local base = require "strided.distributions.base"
local constraints = require "strided.distributions.constraint"
local math = math

local M = {}

-- -- Pareto ------------------------------------------------------------------

--- The Pareto distribution: cdf 1 - (scale / x)^alpha for x from scale on.
-- @function Pareto
-- @param scale the least value
-- @param alpha the shape
local Pareto = base.class("Pareto", {
  params = {{"scale", "positive"}, {"alpha", "positive"}},
  reparameterized = true,
  support = function(self) return constraints.greater_than_eq(self.scale) end,
})
M.Pareto = Pareto

function Pareto:init(a)
  self.scale, self.alpha = base.broadcast(a.scale, a.alpha)
  return self.scale.shape
end

function Pareto.get:mean()
  local a = self.alpha:clamp_min(1)
  return a * self.scale / (a - 1)
end

function Pareto.get:mode() return self.scale end

function Pareto.get:variance()
  local a = self.alpha:clamp_min(2)
  return self.scale:pow(2) * a / ((a - 1):pow(2) * (a - 2))
end

function Pareto:draw(shape, o)
  local x = base.empty(self, shape):exponential_(1, o) / self.alpha
  return self.scale * x:exp()
end

function Pareto:density(x)
  return self.alpha:log() + self.alpha * self.scale:log()
         - (self.alpha + 1) * x:log()
end

function Pareto:below(x)
  return -(self.alpha * (self.scale / x):log()):expm1()
end

function Pareto:quantile(p)
  return self.scale * (-(-p):log1p() / self.alpha):exp()
end

function Pareto:entropy()
  return (self.scale / self.alpha):log() + (1 + self.alpha:reciprocal())
end

-- -- GeneralizedPareto -------------------------------------------------------

--- The generalized Pareto distribution: cdf 1 - (1 + concentration z)^(-1 /
-- concentration) for z = (x - loc) / scale, and 1 - exp(-z) if concentration
-- is 0. Values are from loc on, up to loc - scale / concentration if
-- concentration is negative.
-- @function GeneralizedPareto
-- @param loc the least value
-- @param scale
-- @param concentration the shape
local General = base.class("GeneralizedPareto", {
  params = {{"loc", "real"}, {"scale", "positive"}, {"concentration", "real"}},
  reparameterized = true,
  support = function(self)
    local high = self.loc - self.scale / self.concentration
    return constraints.interval(self.loc, st.where(self.concentration:lt(0),
                                                   high, math.huge))
  end,
})
M.GeneralizedPareto = General

--- Where the concentration is 0, and the concentration, 1 there.
local function shape_of(self)
  local c = self.concentration
  local is_zero = c:abs():le(1e-8)
  return is_zero, st.where(is_zero, 1, c)
end

function General.get:mean()
  local c = self.concentration
  local mean = self.loc + self.scale / (1 - st.where(c:lt(1), c, 0.5))
  return st.where(c:lt(1), mean, 0 / 0)
end

function General.get:mode() return self.loc end

function General.get:variance()
  local c = self.concentration
  local safe = st.where(c:lt(0.5), c, 0.25)
  local v = self.scale:pow(2) / ((1 - safe):pow(2) * (1 - 2 * safe))
  return st.where(c:lt(0.5), v, 0 / 0)
end

function General:draw(shape, o)
  return General.quantile(self, base.uniform(self, shape, o))
end

function General:density(x)
  local z, is_zero, c = (x - self.loc) / self.scale, shape_of(self)
  local power = 1 / c + 1
  local value = st.where(power:eq(0), power, power * (c * z):log1p())
  return -self.scale:log() - st.where(is_zero, z, value)
end

--- log(1 - cdf(x)).
function General:log_survival(x)
  local z, is_zero, c = (x - self.loc) / self.scale, shape_of(self)
  return st.where(is_zero, -z, -(c * z):log1p() / c)
end

function General:below(x) return -self:log_survival(x):expm1() end

function General:quantile(p)
  local u, is_zero, c = (-p):log1p(), shape_of(self)
  return st.where(is_zero, self.loc - self.scale * u,
                  self.loc + self.scale / c * (-c * u):expm1())
end

function General:entropy() return self.scale:log() + self.concentration + 1 end

return M
