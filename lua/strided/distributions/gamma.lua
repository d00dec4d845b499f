--- Distributions made of gamma numbers: Gamma, Chi2, Beta, Dirichlet, StudentT,
-- FisherSnedecor.
--
-- @module strided.distributions.gamma

local st = require "strided"
local base = require "strided.distributions.base"
local family = require "strided.distributions.exponential_family"
local raise = require "strided.argument.caller_error"

local log, pi = math.log, math.pi
local math = math

local M = {}

local broadcast, tiny = base.broadcast, base.tiny

local function class(name, def, parent)
  M[name] = base.class(name, def, parent)
  return M[name]
end

--- Changes a sample, which no gradient passes.
local function clamp_min(x, low)
  x:detach():clamp_min_(low)
  return x
end

--- Gamma numbers of the rate 1.
local function gammas(concentration, shape, o)
  return st._standard_gamma(concentration:expand(shape), o)
end

local function gamma_sample(concentration, rate, shape, o)
  local x = gammas(concentration, shape, o) / rate:expand(shape)
  return clamp_min(x, tiny(x))
end

-- -- Gamma -------------------------------------------------------------------

--- The gamma distribution: density rate^concentration x^(concentration - 1)
-- exp(-rate x) / gamma(concentration).
-- @function Gamma
-- @param concentration the shape
-- @param rate 1 / scale
local Gamma = class("Gamma", {
  params = {{"concentration", "positive"}, {"rate", "positive"}},
  support = "nonnegative", reparameterized = true, mean_carrier_measure = 0,
}, family.ExponentialFamily)

function Gamma:init(a)
  self.concentration, self.rate = broadcast(a.concentration, a.rate)
  return self.concentration.shape
end

function Gamma.get:mean() return self.concentration / self.rate end

function Gamma.get:mode()
  return ((self.concentration - 1) / self.rate):clamp_min(0)
end

function Gamma.get:variance()
  return self.concentration / self.rate:pow(2)
end

function Gamma:draw(shape, o)
  return gamma_sample(self.concentration, self.rate, shape, o)
end

function Gamma:density(x)
  local a, b = self.concentration, self.rate
  return st.xlogy(a, b) + st.xlogy(a - 1, x) - b * x - a:lgamma()
end

function Gamma:below(x)
  return st.igamma(self.concentration:expand_as(self.concentration + x),
                   self.rate * x)
end

function Gamma:entropy()
  local a = self.concentration
  return a - self.rate:log() + a:lgamma() + (1 - a) * a:digamma()
end

function Gamma:natural_params() return {self.concentration - 1, -self.rate} end

function Gamma.log_normalizer(_, x, y)
  return (x + 1):lgamma() - (x + 1) * (-y):log()
end

--- The chi-square distribution with df degrees of freedom: Gamma(df / 2,
-- 1 / 2).
-- @function Chi2
-- @param df
local Chi2 = class("Chi2", {params = {{"df", "positive"}}}, Gamma)

function Chi2:init(a)
  self.df = base.as_tensor(a.df)
  return self.df.shape
end

function Chi2.get:concentration() return 0.5 * self.df end
function Chi2.get:rate() return st.full_like(self.df, 0.5) end

--- 1 / x for gamma numbers x.
-- @function InverseGamma
-- @param concentration
-- @param rate
local InverseGamma = class("InverseGamma", {
  params = Gamma.params, support = "positive", reparameterized = true,
  init = Gamma.init,
})

function InverseGamma.get:mean()
  local a = self.concentration
  return st.where(a:gt(1), self.rate / (a - 1), math.huge)
end

function InverseGamma.get:mode() return self.rate / (self.concentration + 1) end

function InverseGamma.get:variance()
  local a = self.concentration
  return st.where(a:gt(2), self.rate:square() / ((a - 1):square() * (a - 2)),
                  math.huge)
end

function InverseGamma:draw(shape, o)
  return Gamma.draw(self, shape, o):reciprocal()
end

function InverseGamma:density(x)
  local a, b = self.concentration, self.rate
  return a * b:log() - a:lgamma() - (a + 1) * x:log() - b / x
end

function InverseGamma:below(x)
  return st.igammac(self.concentration:expand_as(self.concentration + x),
                    self.rate / x)
end

function InverseGamma:entropy()
  local a = self.concentration
  return a + self.rate:log() + a:lgamma() - (1 + a) * a:digamma()
end

-- -- Beta, Dirichlet ---------------------------------------------------------

--- The beta distribution: density x^(concentration1 - 1) (1 - x)^
-- (concentration0 - 1) / B(concentration1, concentration0).
-- @function Beta
-- @param concentration1
-- @param concentration0
local Beta = class("Beta", {
  params = {{"concentration1", "positive"}, {"concentration0", "positive"}},
  support = "unit_interval", reparameterized = true,
}, family.ExponentialFamily)

function Beta:init(a)
  self.concentration1, self.concentration0 =
    broadcast(a.concentration1, a.concentration0)
  return self.concentration1.shape
end

function Beta.get:mean()
  return self.concentration1 / (self.concentration1 + self.concentration0)
end

function Beta.get:mode()
  local a, b = self.concentration1, self.concentration0
  local mode = (a - 1) / (a + b - 2)
  mode = st.where(st.logical_and(a:lt(1), b:ge(1)), 0, mode)
  mode = st.where(st.logical_and(a:ge(1), b:lt(1)), 1, mode)
  return st.where(st.logical_or(st.logical_and(a:lt(1), b:lt(1)),
                                st.logical_and(a:eq(1), b:eq(1))), 0 / 0, mode)
end

function Beta.get:variance()
  local a, b = self.concentration1, self.concentration0
  local total = a + b
  return a * b / (total:pow(2) * (total + 1))
end

local function pair(self)
  return st.stack({self.concentration1, self.concentration0}, -1)
end

function Beta:draw(shape, o)
  local x = st._sample_dirichlet(pair(self):expand(base.join(shape, {2})), o)
  return x:select(-1, 1)
end

function Beta:density(x)
  local a, b = self.concentration1, self.concentration0
  return st.xlogy(a - 1, x) + st.xlogy(b - 1, 1 - x) + (a + b):lgamma()
         - a:lgamma() - b:lgamma()
end

function Beta:entropy()
  local a, b = self.concentration1, self.concentration0
  return a:lgamma() + b:lgamma() - (a + b):lgamma() - (a - 1) * a:digamma()
         - (b - 1) * b:digamma() + (a + b - 2) * (a + b):digamma()
end

function Beta:natural_params()
  return {self.concentration1, self.concentration0}
end

function Beta.log_normalizer(_, x, y)
  return x:lgamma() + y:lgamma() - (x + y):lgamma()
end

--- The Dirichlet distribution of vectors of shares: density prod x_i^(c_i - 1)
-- gamma(sum c) / prod gamma(c_i).
-- @function Dirichlet
-- @param concentration the last dimension is of the vectors
local Dirichlet = class("Dirichlet", {
  params = {{"concentration", "positive", 1}}, support = "simplex",
  reparameterized = true,
}, family.ExponentialFamily)

function Dirichlet:init(a)
  self.concentration = base.as_tensor(a.concentration)
  local shape = self.concentration.shape
  if #shape == 0 then
    raise("Dirichlet: concentration must have a dimension")
  end
  return base.part(shape, 1, #shape - 1), {shape[#shape]}
end

local function total(c) return c:sum({-1}, true) end

function Dirichlet.get:mean()
  return self.concentration / total(self.concentration)
end

function Dirichlet.get:mode()
  local c = self.concentration
  local above = (c - 1):clamp_min(0)
  local mode = above / total(above)
  local only = st.one_hot(c:argmax(-1), self.event[1])
  local all_below = c:lt(1):all(-1):unsqueeze(-1)
  return st.where(all_below, only:to(c.dtype), mode)
end

function Dirichlet.get:variance()
  local c, sum = self.concentration, total(self.concentration)
  return c * (sum - c) / (sum:pow(2) * (sum + 1))
end

function Dirichlet:draw(shape, o)
  return st._sample_dirichlet(self.concentration:expand(shape), o)
end

function Dirichlet:density(x)
  local c = self.concentration
  return st.xlogy(c - 1, x):sum(-1) + c:sum(-1):lgamma() - c:lgamma():sum(-1)
end

function Dirichlet:entropy()
  local c = self.concentration
  local n, sum = self.event[1], c:sum(-1)
  return c:lgamma():sum(-1) - sum:lgamma() - (n - sum) * sum:digamma()
         - ((c - 1) * c:digamma()):sum(-1)
end

function Dirichlet:natural_params() return {self.concentration} end

function Dirichlet.log_normalizer(_, x)
  return x:lgamma():sum(-1) - x:sum(-1):lgamma()
end

-- -- StudentT, FisherSnedecor ------------------------------------------------

--- Student's t distribution: loc + scale x, where x has a density proportional
-- to (1 + x^2 / df)^(-(df + 1) / 2).
-- @function StudentT
-- @param df the degrees of freedom
-- @param[opt=0] loc
-- @param[opt=1] scale
local StudentT = class("StudentT", {
  params = {{"df", "positive"}, {"loc", "real"}, {"scale", "positive"}},
  defaults = {loc = true, scale = true},
  support = "real", reparameterized = true,
})

function StudentT:init(a)
  self.df, self.loc, self.scale = broadcast(a.df, a.loc or 0, a.scale or 1)
  return self.df.shape
end

function StudentT.get:mean()
  return st.where(self.df:le(1), 0 / 0, self.loc)
end

function StudentT.get:mode() return self.loc end

function StudentT.get:variance()
  local df = self.df
  local v = self.scale:pow(2) * df / (df - 2)
  v = st.where(st.logical_and(df:le(2), df:gt(1)), math.huge, v)
  return st.where(df:le(1), 0 / 0, v)
end

function StudentT:draw(shape, o)
  local x = base.normal(self, shape, o)
  local z = gamma_sample(0.5 * self.df, st.full_like(self.df, 0.5), shape, o)
  return self.loc + self.scale * (x * (z / self.df):rsqrt())
end

local function student_norm(df)
  return 0.5 * df:log() + 0.5 * log(pi) + (0.5 * df):lgamma()
         - (0.5 * (df + 1)):lgamma()
end

function StudentT:density(x)
  local y = (x - self.loc) / self.scale
  return -0.5 * (self.df + 1) * (y:square() / self.df):log1p()
         - self.scale:log() - student_norm(self.df)
end

function StudentT:entropy()
  local df = self.df
  local beta = (0.5 * df):lgamma() + 0.5 * log(pi) - (0.5 * (df + 1)):lgamma()
  return self.scale:log()
         + 0.5 * (df + 1) * ((0.5 * (df + 1)):digamma() - (0.5 * df):digamma())
         + 0.5 * df:log() + beta
end

--- The F distribution: (x / df1) / (y / df2) for chi-square numbers x and y.
-- @function FisherSnedecor
-- @param df1
-- @param df2
local Fisher = class("FisherSnedecor", {
  params = {{"df1", "positive"}, {"df2", "positive"}}, support = "nonnegative",
  reparameterized = true,
})

function Fisher:init(a)
  self.df1, self.df2 = broadcast(a.df1, a.df2)
  return self.df1.shape
end

function Fisher.get:mean()
  return st.where(self.df2:le(2), 0 / 0, self.df2 / (self.df2 - 2))
end

function Fisher.get:mode()
  local mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
  return st.where(self.df1:le(2), 0 / 0, mode)
end

function Fisher.get:variance()
  local m, n = self.df1, self.df2
  local v = 2 * n:square() * (m + n - 2) / (m * (n - 2):square() * (n - 4))
  return st.where(n:le(4), 0 / 0, v)
end

function Fisher:draw(shape, o)
  local x = gamma_sample(0.5 * self.df1, self.df1, shape, o)
  local y = gamma_sample(0.5 * self.df2, self.df2, shape, o)
  local least = tiny(y)
  return clamp_min(x / clamp_min(y, least), least)
end

function Fisher:density(x)
  local a, b, ratio = 0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2
  return (a + b):lgamma() - a:lgamma() - b:lgamma() + a * ratio:log()
         + (a - 1) * x:log() - (a + b) * (ratio * x):log1p()
end

return M
