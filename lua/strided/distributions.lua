--- Probability distributions, with the names of torch.distributions.
--
--     local D = require "strided".distributions
--
--     local d = D.Normal(0, st.tensor {1, 2})
--     d:sample {3}                 -- a tensor of the shape {3, 2}
--     d:rsample {3}                -- with gradients to the parameters
--     d:log_prob(0.5)
--     d.mean, d.variance           -- also stddev, mode
--     d:cdf(x), d:icdf(p), d:entropy()
--     D.kl_divergence(d, D.Normal(1, 1))
--     D.Bernoulli {logits = x}     -- arguments by name
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
-- The classes are in strided.distributions.continuous, gamma, discrete,
-- multivariate, relaxed and composed; transforms in
-- strided.distributions.transform, constraints in
-- strided.distributions.constraint.
--
-- @module strided.distributions

local base = require "strided.distributions.base"
local kl = require "strided.distributions.kl"

local pairs, require = pairs, require

local distributions = {
  Distribution = base.Distribution,
  constraints = require "strided.distributions.constraint",
  transforms = require "strided.distributions.transform",
}

for _, name in pairs {"continuous", "gamma", "discrete", "composed", "relaxed",
                      "multivariate"} do
  for key, value in pairs(require("strided.distributions." .. name)) do
    if value.meta then distributions[key] = value end
  end
end

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

return require("strided.guard").names(distributions, "st.distributions")
