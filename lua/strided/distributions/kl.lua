--- Kullback-Leibler divergences: the mean of log(p(x) / q(x)) for x from p.
--
-- @module strided.distributions.kl

local st = require "strided"
local base = require "strided.distributions.base"
local raise = require "strided.argument.caller_error"
local family = require "strided.distributions.exponential_family"
local multivariate = require "strided.distributions.multivariate"
local transforms = require "strided.distributions.transform"

local log, pi, sqrt = math.log, math.pi, math.sqrt
local ipairs, tostring, type = ipairs, tostring, type

local EULER, INF = 0.57721566490153286060, math.huge

local M = {}

-- -- The registry ------------------------------------------------------------

local rules = {} -- by the class of p, then by that of q
M.rules = rules

--- Registers the divergence of two classes: `f(p, q)`. That of their
-- descendants is the same, unless it is registered, too.
-- @param p_class a class of distributions
-- @param q_class
-- @tparam function f
function M.register_kl(p_class, q_class, f)
  if not (type(p_class) == "table" and p_class.meta and
          type(q_class) == "table" and q_class.meta) then
    raise("register_kl: the first two arguments must be classes of "
          .. "distributions")
  end
  rules[p_class] = rules[p_class] or {}
  rules[p_class][q_class] = f
end

local function no_rule(p, q)
  raise("kl_divergence: there is no rule for %s and %s; register_kl adds one",
        p.class.name, q.class.name)
end

--- The rule whose classes are nearest, those of p first.
local function find(p, q)
  local a = p.class
  while a do
    local b = q.class
    while b do
      local f = rules[a] and rules[a][b]
      if f then return f end
      b = b.parent
    end
    a = a.parent
  end
  no_rule(p, q)
end

--- The divergence of q from p, of the batch shape.
-- @param p a distribution
-- @param q a distribution
-- @treturn Tensor
function M.kl_divergence(p, q)
  if not base.is_distribution(p) or not base.is_distribution(q) then
    raise("kl_divergence: the arguments must be two distributions")
  end
  return find(p, q)(p, q)
end

local function infinite(p, q)
  return st.full_like(base.parameter(p) + base.parameter(q), INF)
end

local function x_log_x(x) return st.xlogy(x, x) end

--- Rules of pairs of classes, by their names: "P Q" or "P Q,R".
function M.define(classes)
  local function rule(p, list, f)
    for q in list:gmatch "%a+" do
      M.register_kl(classes[p], classes[q], f)
    end
  end

  -- -- Of one class -----------------------------------------------------------

  rule("Bernoulli", "Bernoulli", function(p, q)
    local a, b = p.probs, q.probs
    local one = a * (st.softplus(-q.logits) - st.softplus(-p.logits))
    one = st.where(b:eq(0), INF, one)
    one = st.where(a:eq(0), 0, one)
    local none = (1 - a) * (st.softplus(q.logits) - st.softplus(p.logits))
    none = st.where(b:eq(1), INF, none)
    return one + st.where(a:eq(1), 0, none)
  end)

  rule("Beta", "Beta", function(p, q)
    local a, b, c, d = p.concentration1, p.concentration0, q.concentration1,
                       q.concentration0
    local m, n = a + b, c + d
    return c:lgamma() + d:lgamma() + m:lgamma()
           - (a:lgamma() + b:lgamma() + n:lgamma()) + (a - c) * a:digamma()
           + (b - d) * b:digamma() + (n - m) * m:digamma()
  end)

  rule("Binomial", "Binomial", function(p, q)
    local n, m = p.total_count, q.total_count
    if n:lt(m):any():item() then
      raise("kl_divergence: total_count of q must not exceed that of p")
    end
    local kl = n * (p.probs * (p.logits - q.logits) + (-p.probs):log1p()
                    - (-q.probs):log1p())
    return st.where(n:gt(m), INF, kl)
  end)

  local function categorical(p, q)
    local t = p.probs * (p.logits - q.logits)
    t = st.where(q.probs:eq(0), INF, t)
    return st.where(p.probs:eq(0), 0, t):sum(-1)
  end
  rule("Categorical", "Categorical", categorical)
  rule("OneHotCategorical", "OneHotCategorical", categorical)

  rule("ContinuousBernoulli", "ContinuousBernoulli", function(p, q)
    return p.mean * (p.logits - q.logits) + p:log_norm() + (-p.probs):log1p()
           - q:log_norm() - (-q.probs):log1p()
  end)

  rule("Dirichlet", "Dirichlet", function(p, q)
    local a, b = p.concentration, q.concentration
    local m = a:sum(-1)
    return m:lgamma() - b:sum(-1):lgamma() - (a:lgamma() - b:lgamma()):sum(-1)
           + ((a - b) * (a:digamma() - m:digamma():unsqueeze(-1))):sum(-1)
  end)

  rule("Exponential", "Exponential", function(p, q)
    local ratio = q.rate / p.rate
    return ratio - ratio:log() - 1
  end)

  rule("Gamma", "Gamma", function(p, q)
    local a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate):log() + b:lgamma() - a:lgamma()
           + (a - b) * a:digamma() + (q.rate - p.rate) * (a / p.rate)
  end)

  rule("InverseGamma", "InverseGamma", rules[classes.Gamma][classes.Gamma])

  rule("Gumbel", "Gumbel", function(p, q)
    local ratio = p.scale / q.scale
    local a, b = q.loc / q.scale, p.loc / q.scale
    return -ratio:log() - a + b + ratio * EULER
           + (a + (1 + ratio):lgamma() - b):exp() - (1 + EULER)
  end)

  rule("Geometric", "Geometric", function(p, q)
    return -p:entropy() - (-q.probs):log1p() / p.probs - q.logits
  end)

  local function normal(p, q)
    local ratio = (p.scale / q.scale):pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale):pow(2) - 1 - ratio:log())
  end
  rule("Normal", "Normal", normal)
  rule("LogNormal", "LogNormal", normal)
  rule("HalfNormal", "HalfNormal", function(p, q)
    local ratio = (p.scale / q.scale):pow(2)
    return 0.5 * (ratio - 1 - ratio:log())
  end)

  rule("Laplace", "Laplace", function(p, q)
    local ratio, distance = p.scale / q.scale, (p.loc - q.loc):abs()
    return distance / q.scale - ratio:log()
           + ratio * (-distance / p.scale):exp() - 1
  end)

  rule("Pareto", "Pareto", function(p, q)
    local ratio = q.alpha / p.alpha
    local kl = q.alpha * (p.scale / q.scale):log() - ratio:log() + ratio - 1
    return st.where(p.scale:lt(q.scale), INF, kl)
  end)

  rule("Poisson", "Poisson", function(p, q)
    return p.rate * (p.rate:log() - q.rate:log()) - (p.rate - q.rate)
  end)

  rule("Uniform", "Uniform", function(p, q)
    local kl = ((q.high - q.low) / (p.high - p.low)):log()
    return st.where(st.logical_or(q.low:gt(p.low), q.high:lt(p.high)), INF, kl)
  end)

  rule("Cauchy", "Cauchy", function(p, q)
    return ((p.scale + q.scale):pow(2) + (p.loc - q.loc):pow(2)):log()
           - (4 * p.scale * q.scale):log()
  end)
  rule("HalfCauchy", "HalfCauchy", function(p, q)
    return 2 * (p.scale + q.scale):log() - (4 * p.scale * q.scale):log()
  end)

  -- -- Of Bernoulli, Beta, Exponential ----------------------------------------

  rule("Bernoulli", "Poisson", function(p, q)
    return -p:entropy() - (p.probs * q.rate:log() - q.rate)
  end)
  rule("Poisson", "Bernoulli, Binomial", infinite)

  for _, name in ipairs {"Beta", "Uniform"} do
    rule(name, "ContinuousBernoulli", function(p, q)
      local kl = -p:entropy() - p.mean * q.logits - (-q.probs):log1p()
                 - q:log_norm()
      if name == "Beta" then return kl end
      return st.where(st.logical_or(p.high:ge(1), p.low:le(0)), INF, kl)
    end)
  end

  rule("Beta", "Pareto", infinite)
  rule("Beta", "Exponential", function(p, q)
    return -p:entropy() - q.rate:log() + q.rate * p.mean
  end)
  rule("Beta", "Gamma", function(p, q)
    local a, b = p.concentration1, p.concentration0
    local c = q.concentration
    return -p:entropy() + c:lgamma() - c * q.rate:log()
           - (c - 1) * (a:digamma() - (a + b):digamma()) + q.rate * p.mean
  end)
  rule("Beta", "Normal", function(p, q)
    local variance, mean = q.scale:pow(2), p.mean
    return -p:entropy() + 0.5 * (variance * (2 * pi)):log()
           + (0.5 * (p.variance + mean:pow(2)) - q.loc * mean
              + 0.5 * q.loc:pow(2)) / variance
  end)
  rule("Beta", "Uniform", function(p, q)
    local kl = -p:entropy() + (q.high - q.low):log()
    return st.where(st.logical_or(q.low:gt(0), q.high:lt(1)), INF, kl)
  end)

  rule("ContinuousBernoulli", "Pareto", infinite)
  rule("ContinuousBernoulli", "Exponential", function(p, q)
    return -p:entropy() - q.rate:log() + q.rate * p.mean
  end)
  rule("ContinuousBernoulli", "Normal", function(p, q)
    return -p:entropy() + 0.5 * (log(2 * pi) + (q.loc / q.scale):square())
           + q.scale:log() + (p.variance + p.mean:square() - 2 * q.loc * p.mean)
                             / (2 * q.scale:square())
  end)
  rule("ContinuousBernoulli", "Uniform", function(p, q)
    local kl = -p:entropy() + (q.high - q.low):log()
    return st.where(st.logical_or(q.low:gt(0), q.high:lt(1)), INF, kl)
  end)

  rule("Exponential", "Beta, ContinuousBernoulli, Pareto, Uniform", infinite)
  rule("Exponential", "Gamma", function(p, q)
    local ratio, c = q.rate / p.rate, q.concentration
    return ratio - c * ratio:log() + c:lgamma() + c * EULER - (1 + EULER)
  end)
  rule("Exponential", "Gumbel", function(p, q)
    local product, ratio = p.rate * q.scale, q.loc / q.scale
    return product:log() - 1 - ratio + ratio:exp() * product / (product + 1)
           + product:reciprocal()
  end)
  rule("Exponential", "Normal", function(p, q)
    local variance, square = q.scale:pow(2), p.rate:pow(2)
    return 0.5 * (square * variance * (2 * pi)):log() - 1
           + (square:reciprocal() - q.loc / p.rate + 0.5 * q.loc:pow(2))
             / variance
  end)

  -- -- Of Gamma, Gumbel, Laplace, Normal --------------------------------------

  rule("Gamma", "Beta, ContinuousBernoulli, Pareto, Uniform", infinite)
  rule("Gamma", "Exponential", function(p, q)
    return -p:entropy() - q.rate:log() + q.rate * p.concentration / p.rate
  end)
  rule("Gamma", "Gumbel", function(p, q)
    local c, product, ratio = p.concentration, p.rate * q.scale,
                              q.loc / q.scale
    return (c - 1) * c:digamma() - c:lgamma() - c + product:log() + c / product
           + ratio:exp() * (1 + product:reciprocal()):pow(-c) - ratio
  end)
  rule("Gamma", "Normal", function(p, q)
    local c, variance, square = p.concentration, q.scale:pow(2), p.rate:pow(2)
    return 0.5 * (square * variance * (2 * pi)):log() - c - c:lgamma()
           + (c - 1) * c:digamma()
           + (0.5 * (c:pow(2) + c) / square - q.loc * c / p.rate
              + 0.5 * q.loc:pow(2)) / variance
  end)

  rule("Gumbel", "Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, "
       .. "Uniform", infinite)
  rule("Gumbel", "Normal", function(p, q)
    local ratio = p.scale / q.scale
    return -(ratio / sqrt(2 * pi)):log() + (pi * ratio * 0.5):pow(2) / 3
           + 0.5 * ((p.loc + p.scale * EULER - q.loc) / q.scale):pow(2)
           - (EULER + 1)
  end)

  rule("Laplace", "Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, "
       .. "Uniform", infinite)
  rule("Laplace", "Normal", function(p, q)
    local ratio = (p.scale / q.scale):pow(2)
    return -0.5 * (2 * ratio / pi):log() + ratio
           + 0.5 * ((p.loc - q.loc) / q.scale):pow(2) - 1
  end)

  rule("Normal", "Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, "
       .. "Uniform", infinite)
  rule("Normal", "Gumbel", function(p, q)
    local ratio, a, b = (p.scale / q.scale):pow(2), p.loc / q.scale,
                        q.loc / q.scale
    return -0.5 * ratio:log() + a - b + (-a + 0.5 * ratio + b):exp()
           - 0.5 * (1 + log(2 * pi))
  end)
  rule("Normal", "Laplace", function(p, q)
    local distance = p.loc - q.loc
    local z = distance / p.scale
    return -(p.scale / q.scale):log()
           + (sqrt(2 / pi) * p.scale * (-0.5 * z:pow(2)):exp()
              + distance * st.erf(sqrt(0.5) * z)) / q.scale
           - 0.5 * (1 + log(0.5 * pi))
  end)

  -- -- Of Pareto, Uniform -----------------------------------------------------

  rule("Pareto", "Beta, ContinuousBernoulli, Uniform", infinite)
  rule("Pareto", "Exponential", function(p, q)
    local product, a = p.scale * q.rate, p.alpha
    local kl = (a / product):log() - a:reciprocal() + a * product / (a - 1) - 1
    return st.where(a:le(1), INF, kl)
  end)
  rule("Pareto", "Gamma", function(p, q)
    local a, c = p.alpha, q.concentration
    local common = p.scale:log() + a:reciprocal()
    local kl = a:log() - common + c:lgamma() - c * q.rate:log()
               + (1 - c) * common + q.rate * a * p.scale / (a - 1) - 1
    return st.where(a:le(1), INF, kl)
  end)
  rule("Pareto", "Normal", function(p, q)
    local a, common = p.alpha, p.scale / (p.alpha - 1)
    local kl = (sqrt(2 * pi) * q.scale * a / p.scale):log() - a:reciprocal()
               + (a * common:pow(2) / (a - 2) + (a * common - q.loc):pow(2))
                 / (2 * q.scale:pow(2)) - 1
    return st.where(a:le(2), INF, kl)
  end)

  rule("Uniform", "Beta", function(p, q)
    local width, a, b = p.high - p.low, q.concentration1, q.concentration0
    local kl = (b - 1) * (x_log_x(1 - p.high) - x_log_x(1 - p.low) + width)
               / width + a:lgamma() + b:lgamma() - (a + b):lgamma()
               - width:log()
               - (a - 1) * (x_log_x(p.high) - x_log_x(p.low) - width) / width
    return st.where(st.logical_or(p.high:gt(1), p.low:lt(0)), INF, kl)
  end)
  rule("Uniform", "Exponential", function(p, q)
    local kl = q.rate * (p.high + p.low) / 2
               - ((p.high - p.low) * q.rate):log()
    return st.where(p.low:lt(0), INF, kl)
  end)
  rule("Uniform", "Gamma", function(p, q)
    local width, c = p.high - p.low, q.concentration
    local kl = c:lgamma() - c * q.rate:log() - width:log()
               + (1 - c) * (x_log_x(p.high) - x_log_x(p.low) - width) / width
               + q.rate * (p.high + p.low) / 2
    return st.where(p.low:lt(0), INF, kl)
  end)
  rule("Uniform", "Gumbel", function(p, q)
    local common = q.scale / (p.high - p.low)
    local high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return common:log() + 0.5 * (high + low)
           - common * ((-high):exp() - (-low):exp())
  end)
  rule("Uniform", "Normal", function(p, q)
    local width = p.high - p.low
    return (sqrt(2 * pi) * q.scale / width):log()
           + 0.5 * (width:pow(2) / 12 + ((p.high + p.low) / 2 - q.loc):pow(2))
             / q.scale:pow(2)
  end)
  rule("Uniform", "Pareto", function(p, q)
    local width = p.high - p.low
    local mean = (x_log_x(p.high) - x_log_x(p.low) - width) / width
    local kl = mean * (q.alpha + 1)
               - (q.alpha * q.scale:pow(q.alpha) * width):log()
    return st.where(p.low:lt(q.scale), INF, kl)
  end)

  rule("Weibull", "Weibull", function(p, q)
    local a, b = p.concentration, q.concentration
    local ratio = (p.scale / q.scale):log()
    return (a / b):log() - b * ratio + (a - b) * (-EULER / a)
           + (b * ratio + (b / a + 1):lgamma()):exp() - 1
  end)
  rule("Kumaraswamy", "Kumaraswamy", function(p, q)
    local a, b, c = p.concentration1, p.concentration0, q.concentration0
    if not (a - q.concentration1):eq(0):all():item() then
      raise("kl_divergence: concentration1 must be the same")
    end
    return (b / c):log() + (c - b) / b
  end)

  -- -- Of vectors, and of other distributions ---------------------------------

  local matrices = multivariate.matrices

  local function check_events(p, q)
    if base.same(p.event, q.event) then return end
    raise("kl_divergence: the event shapes %s and %s differ",
          tostring(p.event_shape), tostring(q.event_shape))
  end

  --- The sum of squares of a matrix.
  local function squares(a) return a:square():sum({-2, -1}) end

  rule("MultivariateNormal", "MultivariateNormal", function(p, q)
    check_events(p, q)
    local a, b = p.scale_tril, q.scale_tril
    local both = st.broadcast_tensors {b, a}
    return matrices.log_det(b) - matrices.log_det(a)
           + 0.5 * (squares(matrices.solve_lower(both[1], both[2]))
                    + matrices.mahalanobis(b, q.loc - p.loc) - p.event[1])
  end)

  --- q is of low rank.
  local function low_rank(p, q)
    check_events(p, q)
    local l, trace = p.scale_tril, q.precision_matrix
    trace = (trace:matmul(l) * l):sum({-2, -1})
    return 0.5 * (q:log_det() - 2 * matrices.log_det(l) + trace
                  + q:distance(q.loc - p.loc) - p.event[1])
  end
  rule("MultivariateNormal", "LowRankMultivariateNormal", low_rank)
  rule("LowRankMultivariateNormal", "LowRankMultivariateNormal", low_rank)
  rule("LowRankMultivariateNormal", "MultivariateNormal",
       rules[classes.MultivariateNormal][classes.MultivariateNormal])

  rule("Wishart", "Wishart", function(p, q)
    check_events(p, q)
    local n, a, b = p.event[1], p.scale_tril, q.scale_tril
    local both = st.broadcast_tensors {b, a}
    local steps = st.arange(n, base.like(p.df)) / 2
    local slope = ((p.df / 2):unsqueeze(-1) - steps):digamma():sum(-1)
    return q.df * (matrices.log_det(b) - matrices.log_det(a))
           + p.df / 2 * (squares(matrices.solve_lower(both[1], both[2])) - n)
           + st.mvlgamma(q.df / 2, n) - st.mvlgamma(p.df / 2, n)
           + (p.df - q.df) / 2 * slope
  end)

  rule("ExponentialFamily", "ExponentialFamily", function(p, q)
    if p.class ~= q.class or not p.class.natural_params then no_rule(p, q) end
    return family.divergence(p, q)
  end)

  rule("Independent", "Independent", function(p, q)
    if p.n ~= q.n then
      raise("kl_divergence: n of Independent must be the same, it is %d and %d",
            p.n, q.n)
    end
    return base.sum_last(M.kl_divergence(p.base_dist, q.base_dist), p.n)
  end)

  rule("TransformedDistribution", "TransformedDistribution", function(p, q)
    local a, b = transforms.Compose(p.transforms),
                 transforms.Compose(q.transforms)
    if not transforms.same(a, b) then
      raise("kl_divergence: the transforms differ")
    end
    check_events(p, q)
    return M.kl_divergence(p.base_dist, q.base_dist)
  end)
end

return M
