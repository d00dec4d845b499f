--- Continuous relaxations of discrete distributions, with a temperature, and
-- ContinuousBernoulli.
--
-- @module strided.distributions.relaxed

local st = require "strided"
local base = require "strided.distributions.base"
local raise = require "strided.argument.caller_error"
local composed = require "strided.distributions.composed"
local constraints = require "strided.distributions.constraint"
local discrete = require "strided.distributions.discrete"
local family = require "strided.distributions.exponential_family"
local transforms = require "strided.distributions.transform"

local log = math.log
local rawget = rawget

local M = {}

local broadcast, clamp_probs = base.broadcast, base.clamp_probs

local TEMPERATURE = {"temperature", "positive", 0, true}

-- -- RelaxedBernoulli --------------------------------------------------------

--- The logits of RelaxedBernoulli numbers.
-- @function LogitRelaxedBernoulli
-- @param temperature
-- @param probs
-- @param logits instead of probs
local Logit = base.class("LogitRelaxedBernoulli", {
  params = {TEMPERATURE, {"probs", "unit_interval"}, {"logits", "real"}},
  support = "real", reparameterized = true,
})
M.LogitRelaxedBernoulli = Logit
base.add_probs(Logit, true)

function Logit:init(a)
  local p = base.read_probs(self, a, self.class.name)
  self.temperature = base.as_tensor(a.temperature, p)
  return p.shape
end

function Logit:draw(shape, o)
  local p = clamp_probs(self.probs:expand(shape))
  local u = clamp_probs(base.uniform(self, shape, o))
  return (u:log() - (-u):log1p() + p:log() - (-p):log1p()) / self.temperature
end

function Logit:density(x)
  local logits, value = broadcast(self.logits, x)
  local diff = logits - value * self.temperature
  return self.temperature:log() + diff - 2 * st.softplus(diff)
end

--- A number from 0 to 1, near the ends for a low temperature: sigmoid of
-- LogitRelaxedBernoulli.
-- @function RelaxedBernoulli
-- @param temperature
-- @param probs
-- @param logits instead of probs
M.RelaxedBernoulli = base.class("RelaxedBernoulli", {
  params = {{"temperature"}, {"probs", "unit_interval"}, {"logits", "real"}},
  init = function(self, a)
    return composed.TransformedDistribution.init(self, {
      base_dist = Logit(a), transforms = transforms.Sigmoid(),
    })
  end,
}, composed.TransformedDistribution)

-- -- RelaxedOneHotCategorical ------------------------------------------------

--- The logarithm of RelaxedOneHotCategorical vectors.
-- @function ExpRelaxedCategorical
-- @param temperature
-- @param probs
-- @param logits instead of probs
local ExpRelaxed = base.class("ExpRelaxedCategorical", {
  params = {TEMPERATURE, {"probs", "weights", 1},
            {"logits", "real_vector", 1}},
  support = "real_vector", reparameterized = true,
})
M.ExpRelaxedCategorical = ExpRelaxed
base.add_probs(ExpRelaxed, false)

function ExpRelaxed:init(a)
  local batch, event = discrete.OneHotCategorical.init(self, a)
  self.temperature = base.as_tensor(a.temperature, base.parameter(self))
  return batch, event
end

function ExpRelaxed:draw(shape, o)
  local u = clamp_probs(base.uniform(self, shape, o))
  local scores = (self.logits - (-u:log()):log()) / self.temperature
  return scores - scores:logsumexp({-1}, true)
end

function ExpRelaxed:density(x)
  local n, logits, value = self.event[1], broadcast(self.logits, x)
  local log_scale = st.full_like(self.temperature, n):lgamma()
                    + (n - 1) * self.temperature:log()
  local score = logits - value * self.temperature
  return (score - score:logsumexp({-1}, true)):sum(-1) + log_scale
end

--- Shares, near a vector of one 1 for a low temperature: exp of
-- ExpRelaxedCategorical.
-- @function RelaxedOneHotCategorical
-- @param temperature
-- @param probs
-- @param logits instead of probs
M.RelaxedOneHotCategorical = base.class("RelaxedOneHotCategorical", {
  params = {{"temperature"}, {"probs", "weights", 1},
            {"logits", "real_vector", 1}}, support = "simplex",
  init = function(self, a)
    return composed.TransformedDistribution.init(self, {
      base_dist = ExpRelaxed(a), transforms = transforms.Exp(),
    })
  end,
}, composed.TransformedDistribution)

for _, name in ipairs {"RelaxedBernoulli", "RelaxedOneHotCategorical"} do
  for _, key in ipairs {"temperature", "probs", "logits"} do
    M[name].get[key] = function(self) return self.base_dist[key] end
  end
end

-- -- ContinuousBernoulli -----------------------------------------------------

local LOW, HIGH = 0.499, 0.501 -- between, series about 1/2 are exacter

--- Numbers from 0 to 1 with a density proportional to probs^x (1 - probs)^
-- (1 - x).
-- @function ContinuousBernoulli
-- @param probs
-- @param logits instead of probs
local Continuous = base.class("ContinuousBernoulli", {
  params = {{"probs", "unit_interval"}, {"logits", "real"}},
  support = "unit_interval", reparameterized = true, mean_carrier_measure = 0,
}, family.ExponentialFamily)
M.ContinuousBernoulli = Continuous
base.add_probs(Continuous, true)

function Continuous:init(a)
  local p = base.read_probs(self, a, "ContinuousBernoulli")
  if a.probs then
    if a.validate_args ~= false and base.validates and
       not constraints.unit_interval:check(p):all():item() then
      raise("ContinuousBernoulli: probs must be from 0 to 1")
    end
    self.probs = clamp_probs(p)
  end
  return p.shape
end

function Continuous.get:probs()
  return clamp_probs(st.sigmoid(rawget(self, "logits")))
end

local function is_far(p) return st.logical_or(p:le(LOW), p:gt(HIGH)) end

--- probs, or LOW where they are near 1/2.
local function cut(p) return st.where(is_far(p), p, LOW) end

local function odds(p) return (-p):log1p() - p:log() end

function Continuous:log_norm()
  local p, c = self.probs, cut(self.probs)
  local below = st.where(c:le(0.5), c, 0)
  local above = st.where(c:ge(0.5), c, 1)
  local norm = odds(c):abs():log()
               - st.where(c:le(0.5), (-2 * below):log1p(),
                          (2 * above - 1):log())
  local x = (p - 0.5):pow(2)
  return st.where(is_far(p), norm, log(2) + (4 / 3 + 104 / 45 * x) * x)
end

function Continuous.get:mean()
  local p, c = self.probs, cut(self.probs)
  local x = p - 0.5
  return st.where(is_far(p), c / (2 * c - 1) + 1 / odds(c),
                  0.5 + (1 / 3 + 16 / 45 * x:pow(2)) * x)
end

function Continuous.get:variance()
  local p, c = self.probs, cut(self.probs)
  local x = (p - 0.5):pow(2)
  return st.where(is_far(p),
                  c * (c - 1) / (1 - 2 * c):pow(2) + 1 / odds(c):pow(2),
                  1 / 12 - (1 / 15 - 128 / 945 * x) * x)
end

function Continuous:draw(shape, o)
  return Continuous.quantile(self, base.uniform(self, shape, o))
end

function Continuous:density(x)
  return discrete.Bernoulli.density(self, x) + self:log_norm()
end

function Continuous:below(x)
  local p, c = self.probs, cut(self.probs)
  local far = (c:pow(x) * (1 - c):pow(1 - x) + c - 1) / (2 * c - 1)
  return st.where(is_far(p), far, x):clamp(0, 1)
end

function Continuous:quantile(u)
  local p, c = self.probs, cut(self.probs)
  local far = ((-c + u * (2 * c - 1)):log1p() - (-c):log1p()) / -odds(c)
  return st.where(is_far(p), far, u)
end

function Continuous:entropy()
  local p = self.probs
  return self.mean * odds(p) - self:log_norm() - (-p):log1p()
end

function Continuous:natural_params() return {self.logits} end

--- log of (exp(x) - 1) / x.
function Continuous.log_normalizer(_, x)
  local far = st.logical_or(x:le(LOW - 0.5), x:gt(HIGH - 0.5))
  local c, square = st.where(far, x, LOW - 0.5), x:square()
  return st.where(far, (c:expm1() / c):log(),
                  0.5 * x + square / 24 - square:square() / 2880)
end

return M
