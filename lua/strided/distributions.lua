--- Probability distributions, with the names of torch.distributions.
--
--     local D = require "strided".distributions
--
--     local d = D.Normal(0, {1, 2})
--     d:sample {3}                 -- a tensor of the shape {3, 2}
--     d:rsample {3}                -- with gradients to the parameters
--     d:log_prob(0.5)
--     d.mean, d.variance           -- also stddev, mode
--     d:cdf(x), d:icdf(p), d:entropy()
--     D.kl_divergence(d, D.Normal(1, 1))
--     D.Bernoulli {logits = x}     -- arguments by name
--     D.transform_to(d.support)    -- a transform of any numbers to its values
--
-- Parameters are tensors, numbers or lists. They are broadcast, and their shape
-- is the `batch_shape` of the distribution: so many distributions are one
-- object. A value of a vector distribution has an `event_shape`.
--
-- `sample` and `rsample` draw from the default generator, or from the option
-- `generator`: `d:sample({3}, {generator = g})`. The same seed gives PyTorch's
-- numbers. Categories count from 1, where PyTorch's count from 0.
--
-- Parameters and values are checked: errors name what is wrong. The option
-- `validate_args = false` of a distribution, or
-- `D.set_default_validate_args(false)`, omits that.
--
-- The classes are in strided.distributions.continuous, pareto, gamma, discrete,
-- multivariate, relaxed, composed and exponential_family; transforms in
-- strided.distributions.transform, constraints in
-- strided.distributions.constraint, and transforms to constraints in
-- strided.distributions.constraint_registry.
--
-- @module strided.distributions

local base = require "strided.distributions.base"
local kl = require "strided.distributions.kl"
local registry = require "strided.distributions.constraint_registry"
local transforms = require "strided.distributions.transform"

local pairs, type = pairs, type

local require = require "strided.core".require

local distributions = {
  Distribution = base.Distribution,
  constraints = require "strided.distributions.constraint",
  transforms = transforms,
  biject_to = registry.biject_to,
  transform_to = registry.transform_to,
}

for _, name in pairs {"continuous", "pareto", "gamma", "discrete", "composed",
                      "relaxed", "multivariate", "exponential_family"} do
  for key, value in pairs(require("strided.distributions." .. name)) do
    if type(value) == "table" and value.meta then distributions[key] = value end
  end
end

for name, class in pairs(transforms.names) do distributions[name] = class end

kl.define(distributions)
distributions.kl_divergence = kl.kl_divergence
distributions.register_kl = kl.register_kl

--- True for distributions.
-- @param v
-- @treturn boolean
distributions.is_distribution = base.is_distribution

--- Sets whether new distributions check their parameters and values.
-- @tparam boolean flag
function distributions.set_default_validate_args(flag)
  base.validates = flag and true or false
end

return require("strided.name.guard").names(distributions, "st.distributions")
