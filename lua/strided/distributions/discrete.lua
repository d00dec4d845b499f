--- Discrete distributions. Categories count from 1, as indices do.
--
-- @module strided.distributions.discrete

local st = require "strided"
local base = require "strided.distributions.base"
local constraints = require "strided.distributions.constraint"
local family = require "strided.distributions.exponential_family"
local raise = require "strided.argument.caller_error"
local math, type = math, type

local M = {}

local broadcast, join, like, part =
  base.broadcast, base.join, base.like, base.part

local PROBS = {{"probs", "unit_interval"}, {"logits", "real"}}
local VECTORS = {{"probs", "weights", 1}, {"logits", "real_vector", 1}}

local function class(name, def, parent)
  M[name] = base.class(name, def, parent)
  return M[name]
end

--- -log_prob of x, a number from 0 to 1.
local function cross_entropy(logits, x)
  logits, x = broadcast(logits, x:to(logits.dtype))
  return st.binary_cross_entropy_with_logits(logits, x, nil, nil, 0)
end

-- -- Bernoulli ---------------------------------------------------------------

--- 1 with probability probs, else 0.
-- @function Bernoulli
-- @param probs
-- @param logits log(probs / (1 - probs)), instead of probs
local Bernoulli = class("Bernoulli", {
  params = PROBS, support = "boolean", mean_carrier_measure = 0,
}, family.ExponentialFamily)
base.add_probs(Bernoulli, true)

function Bernoulli:init(a)
  return base.read_probs(self, a, "Bernoulli").shape
end

function Bernoulli.get:mean() return self.probs end

function Bernoulli.get:mode()
  local p = self.probs
  return p:ge(0.5):to(p.dtype):masked_fill(p:eq(0.5), 0 / 0)
end

function Bernoulli.get:variance() return self.probs * (1 - self.probs) end

function Bernoulli:draw(shape, o)
  return st.bernoulli(self.probs:expand(shape), o)
end

function Bernoulli:density(x) return -cross_entropy(self.logits, x) end
function Bernoulli:entropy() return cross_entropy(self.logits, self.probs) end
function Bernoulli:natural_params() return {self.logits} end
function Bernoulli.log_normalizer(_, x) return st.softplus(x) end
function Bernoulli:values()
  return st.arange(2, like(base.parameter(self)))
end

-- -- Geometric ---------------------------------------------------------------

--- The number of failures before the first success: k with probability (1 -
-- probs)^k probs.
-- @function Geometric
-- @param probs the probability of a success
-- @param logits instead of probs
local Geometric = class("Geometric", {
  params = PROBS, support = "nonnegative_integer",
})
base.add_probs(Geometric, true)

function Geometric:init(a)
  local p = base.read_probs(self, a, "Geometric")
  if a.probs and a.validate_args ~= false and base.validates and
     not p:gt(0):all():item() then
    raise("Geometric: probs must be greater than 0")
  end
  return p.shape
end

function Geometric.get:mean() return 1 / self.probs - 1 end
function Geometric.get:mode() return st.zeros_like(self.probs) end

function Geometric.get:variance()
  return (1 / self.probs - 1) / self.probs
end

function Geometric:draw(shape, o)
  local p = self.probs
  local u = base.uniform(self, shape, o, base.tiny(p), 1)
  return (u:log() / (-p:expand(shape)):log1p()):floor()
end

function Geometric:density(x)
  local value, p = broadcast(x:to(self.probs.dtype), self.probs)
  p = st.where(st.logical_and(p:eq(1), value:eq(0)), 0, p)
  return value * (-p):log1p() + self.probs:log()
end

function Geometric:entropy()
  return cross_entropy(self.logits, self.probs) / self.probs
end

-- -- Binomial ----------------------------------------------------------------

--- The number of successes in total_count trials.
-- @function Binomial
-- @param[opt=1] total_count
-- @param probs the probability of a success
-- @param logits instead of probs
local Binomial = class("Binomial", {
  params = {{"total_count", "nonnegative_integer"}, PROBS[1], PROBS[2]},
  defaults = {total_count = true},
  support = function(self)
    return constraints.integer_interval(0, self.total_count)
  end,
})
base.add_probs(Binomial, true)

function Binomial:init(a)
  local p = base.read_probs(self, a, "Binomial")
  local key = a.probs and "probs" or "logits"
  self.total_count, self[key] = broadcast(a.total_count or 1, p)
  self.total_count = self.total_count:to(p.dtype)
  return self.total_count.shape
end

function Binomial.get:mean() return self.total_count * self.probs end

function Binomial.get:mode()
  return ((self.total_count + 1) * self.probs):floor()
         :clamp_max(self.total_count)
end

function Binomial.get:variance()
  return self.total_count * self.probs * (1 - self.probs)
end

function Binomial:draw(shape, o)
  return st.binomial(self.total_count:expand(shape), self.probs:expand(shape),
                     o)
end

function Binomial:density(x)
  local n, logits = self.total_count, self.logits
  local choices = st.lgamma(n + 1) - st.lgamma(x + 1) - st.lgamma(n - x + 1)
  local norm = n * logits:clamp_min(0) + n * (-logits:abs()):exp():log1p()
  return x * logits + choices - norm
end

local function count_to(self, name)
  local most = self.total_count:max():item()
  if self.total_count:min():item() ~= most then
    raise("%s: total_count differs in the batch", name)
  end
  return st.arange(most + 1, like(base.parameter(self)))
end

function Binomial:values() return count_to(self, "enumerate_support") end

function Binomial:entropy()
  count_to(self, "entropy")
  local p = self:log_prob(self:enumerate_support(false))
  return -(p:exp() * p):sum(1)
end

-- -- Poisson, NegativeBinomial -----------------------------------------------

--- The Poisson distribution: k with probability rate^k exp(-rate) / k!.
-- @function Poisson
-- @param rate the mean
local Poisson = class("Poisson", {
  params = {{"rate", "nonnegative"}}, support = "nonnegative_integer",
}, family.ExponentialFamily)

function Poisson:init(a)
  self.rate = base.as_tensor(a.rate)
  return self.rate.shape
end

function Poisson.get:mean() return self.rate end
function Poisson.get:mode() return self.rate:floor() end
function Poisson.get:variance() return self.rate end

function Poisson:draw(shape, o)
  return st.poisson(self.rate:expand(shape), o)
end

function Poisson:density(x)
  return st.xlogy(x, self.rate) - self.rate - (x + 1):lgamma()
end

function Poisson:natural_params() return {self.rate:log()} end
function Poisson.log_normalizer(_, x) return x:exp() end

--- The number of successes of probability probs before total_count failures.
-- @function NegativeBinomial
-- @param total_count which need not be an integer
-- @param probs the probability of a success
-- @param logits instead of probs
local NegativeBinomial = class("NegativeBinomial", {
  params = {{"total_count", "nonnegative"},
            {"probs", constraints.half_open_interval(0, 1)}, PROBS[2]},
  support = "nonnegative_integer",
})
base.add_probs(NegativeBinomial, true)

function NegativeBinomial:init(a)
  local p = base.read_probs(self, a, "NegativeBinomial")
  local key = a.probs and "probs" or "logits"
  self.total_count, self[key] = broadcast(a.total_count, p)
  self.total_count = self.total_count:to(p.dtype)
  return self.total_count.shape
end

function NegativeBinomial.get:mean()
  return self.total_count * self.logits:exp()
end

function NegativeBinomial.get:mode()
  return ((self.total_count - 1) * self.logits:exp()):floor():clamp_min(0)
end

function NegativeBinomial.get:variance()
  return self.mean / st.sigmoid(-self.logits)
end

function NegativeBinomial:draw(shape, o)
  local rate = (-self.logits):exp()
  local x = st._standard_gamma(self.total_count:expand(shape), o)
            / rate:expand(shape)
  return st.poisson(x:clamp_min(base.tiny(x)), o)
end

function NegativeBinomial:density(x)
  local n, logits = self.total_count, self.logits
  local unnormalized = n * st.log_sigmoid(-logits) + x * st.log_sigmoid(logits)
  local norm = -(n + x):lgamma() + (x + 1):lgamma() + n:lgamma()
  norm = norm:masked_fill((n + x):eq(0), 0)
  return unnormalized - norm
end

-- -- Categorical -------------------------------------------------------------

--- A category from 1 to the size of the last dimension of probs, which are
-- normalized.
-- @function Categorical
-- @param probs weights of the categories
-- @param logits their logarithms, instead of probs
local Categorical = class("Categorical", {
  params = VECTORS,
  support = function(self)
    return constraints.integer_interval(1, self.num_events)
  end,
})

--- Normalized probabilities, or logits.
local function read_weights(self, a, name)
  local p = base.read_probs(self, a, name)
  if p:dim() == 0 then
    raise("%s: probs must have a dimension", name)
  end
  if a.probs then
    if a.validate_args ~= false and base.validates and
       not constraints.weights:check(p):all():item() then
      raise("%s: probs must be %s", name, constraints.weights.name)
    end
    self.probs = p / p:sum({-1}, true)
  else
    self.logits = p - p:logsumexp({-1}, true)
  end
  local shape = p.shape
  return part(shape, 1, #shape - 1), shape[#shape]
end

function Categorical:init(a)
  local batch, n = read_weights(self, a, self.class.name)
  self.num_events = n
  return batch
end

base.add_probs(Categorical, false)

function Categorical.get:mean()
  return st.full(self.batch, 0 / 0, like(self.probs))
end
Categorical.get.variance = Categorical.get.mean
function Categorical.get:mode() return self.probs:argmax(-1) end

--- Categories of the shape `outer`, batch shape.
local function draw_categories(self, outer, o)
  local p, n = self.probs, 1
  for i = 1, #outer do n = n * outer[i] end
  local x = st.multinomial(p:reshape(-1, p.shape[p:dim()]), n, true, o)
  return x:t():reshape(join(outer, self.batch))
end

function Categorical:draw(_, o, outer)
  return draw_categories(self, outer, o)
end

--- values[..., x]: the elements of the last dimension at the categories x.
local function pick(values, x)
  local own = values.shape
  local at = st.broadcast_tensors {x:to "int64":unsqueeze(-1),
                                   values:narrow(-1, 1, 1)}[1]
  values = values:expand(join(part(at.shape, 1, #at.shape - 1), {own[#own]}))
  return values:gather(-1, at):squeeze(-1)
end

function Categorical:density(x) return pick(self.logits, x) end

function Categorical:entropy()
  local logits = self.logits:clamp_min(st.dtype_info(self.logits.dtype).min)
  return -(logits * self.probs):sum(-1)
end

function Categorical:values()
  return st.arange(1, self.num_events + 1,
                   {dtype = "int64", device = base.parameter(self).device})
end

--- A vector of 0 with one 1, at a random category.
-- @function OneHotCategorical
-- @param probs as of Categorical
-- @param logits instead of probs
local OneHot = class("OneHotCategorical", {
  params = VECTORS, support = "one_hot",
})
base.add_probs(OneHot, false)

function OneHot:init(a)
  local batch, n = read_weights(self, a, self.class.name)
  return batch, {n}
end

function OneHot.get:mean() return self.probs end
function OneHot.get:variance() return self.probs * (1 - self.probs) end

local function one_hot(x, n, dtype) return st.one_hot(x, n):to(dtype) end

function OneHot.get:mode()
  local p = self.probs
  return one_hot(p:argmax(-1), self.event[1], p.dtype)
end

function OneHot:draw(_, o, outer)
  return one_hot(draw_categories(self, outer, o), self.event[1],
                 self.probs.dtype)
end

function OneHot:density(x) return pick(self.logits, x:argmax(-1)) end
OneHot.entropy = Categorical.entropy

function OneHot:values()
  return st.eye(self.event[1], like(self.probs))
end

--- The same, whose rsample passes the gradient of a sample to probs (straight
-- through).
-- @function OneHotCategoricalStraightThrough
-- @param probs
-- @param logits
local Straight = class("OneHotCategoricalStraightThrough", {
  reparameterized = true,
}, OneHot)

function Straight:draw(shape, o, outer)
  local x, p = OneHot.draw(self, shape, o, outer), self.probs
  return x + (p - p:detach())
end

-- -- Multinomial -------------------------------------------------------------

--- How often each category comes in total_count draws.
-- @function Multinomial
-- @param[opt=1] total_count a number
-- @param probs as of Categorical
-- @param logits instead of probs
local Multinomial = class("Multinomial", {
  params = {{"total_count", nil, 0, true}, VECTORS[1], VECTORS[2]},
  defaults = {total_count = true},
  support = function(self) return constraints.multinomial(self.total_count) end,
})
base.add_probs(Multinomial, false)

function Multinomial:init(a)
  local n = a.total_count or 1
  if st.is_tensor(n) and n:numel() == 1 then n = n:item() end
  if type(n) ~= "number" or n < 0 or n ~= math.floor(n) then
    raise("Multinomial: total_count must be a number from 0 on")
  end
  self.total_count = n
  local batch, size = read_weights(self, a, "Multinomial")
  return batch, {size}
end

function Multinomial.get:mean() return self.probs * self.total_count end

function Multinomial.get:variance()
  return self.total_count * self.probs * (1 - self.probs)
end

function Multinomial:draw(shape, o, outer)
  local counts = st.zeros(shape, like(self.probs))
  if self.total_count == 0 then return counts end
  local x = draw_categories(self, join({self.total_count}, outer), o)
  x = x:movedim(1, -1)
  return counts:scatter_add_(-1, x, st.ones(x.shape, like(counts)))
end

function Multinomial:density(x)
  local logits = self.logits
  logits, x = broadcast(logits, x:to(logits.dtype))
  local rare = st.logical_and(x:eq(0), logits:eq(-math.huge))
  logits = logits:masked_fill(rare, 0)
  return (x:sum(-1) + 1):lgamma() - (x + 1):lgamma():sum(-1)
         + (logits * x):sum(-1)
end

function Multinomial:entropy()
  local n, p = self.total_count, self.probs
  local category = Categorical {probs = p, validate_args = false}:entropy()
  local counts = st.arange(1, n + 1, like(p))
  local weights = Binomial {total_count = n, probs = p,
                            validate_args = false}
  local outer = {n}
  for _ = 1, p:dim() do outer[#outer + 1] = 1 end
  counts = counts:reshape(outer)
  local chances = weights:log_prob(counts):exp()
  local factorial = st.tensor(n + 1, like(p)):lgamma()
  return n * category - factorial
         + (chances * (counts + 1):lgamma()):sum({1, -1})
end

return M
