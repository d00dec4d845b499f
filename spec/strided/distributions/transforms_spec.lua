--- Transforms, the registries of constraints, and exponential families. The
-- numbers are those that PyTorch 2.15 gives in float64.
-- axes: lua

local st = require "strided"
local samples = require "spec.support.samples"
local tensors = require "spec.support.tensors"

local D, T = st.distributions, st.distributions.transforms
local C = D.constraints
local f64, live, near, raises = tensors.f64, tensors.live, tensors.near,
  tensors.raises

local load = loadstring or load -- luacheck: ignore

local function flat(x) return x:reshape(-1):totable() end

local X = {0.3, -0.7, 1.4}

--- t and its inverse undo each other, and its determinant is right: that of the
-- Jacobian matrix of the elements `free` of y.
local function check_transform(t, x, free)
  local y = t(x)
  near(flat(x), flat(t:inverse(y)), 1e-9)
  near(flat(x), flat(t.inv(y)), 1e-9)
  assert.same(tensors.lists(y.shape), tensors.lists(t:forward_shape(x.shape)))
  assert.same(tensors.lists(x.shape), tensors.lists(t:inverse_shape(y.shape)))
  assert.is_true(t.codomain:check(y):all():item())
  local matrix = st.autograd.jacobian(function(v)
    return free(t(v)):reshape(-1)
  end, x):reshape(-1, x:numel())
  local _, log_det = st.linalg_slogdet(matrix)
  near(log_det:item(), t:log_abs_det_jacobian(x, y):sum():item(), 1e-9)
end

local function whole(y) return y end

describe("Transforms:", function()
  local before
  local default = st.get_default_dtype()
  setup(function()
    before = live()
    st.set_default_dtype "float64"
  end)
  teardown(function()
    st.set_default_dtype(default)
    collectgarbage()
    assert.equal(before, live())
  end)

  it("each has PyTorch's name", function()
    for name in ([[Abs Affine Cat Compose CorrCholesky CumulativeDistribution
        Exp Independent LowerCholesky PositiveDefinite Power Reshape Sigmoid
        Softmax Softplus Stack StickBreaking Tanh]]):gmatch "%a+" do
      assert.equal(T[name], D[name .. "Transform"])
      assert.equal(T[name], T[name .. "Transform"])
    end
    assert.equal(T.identity_transform, D.identity_transform)
    assert.is_true(T.is_transform(D.identity_transform))
    assert.same(X, D.identity_transform(X):totable())
    assert.same({0, 0, 0}, flat(D.identity_transform:log_abs_det_jacobian(
      f64(X), f64(X))))
  end)

  it("CorrCholesky makes rows of norm 1", function()
    local t, x = T.CorrCholesky(), f64(X)
    near({1, 0, 0, 0.29131261245, 0.9566279119, 0, -0.60436777712,
          0.70536449214, 0.37040588982}, flat(t(x)), 1e-10)
    near(-2.302263519383449, t:log_abs_det_jacobian(x, t(x)):item(), 1e-10)
    check_transform(t, x, function(y)
      return y:masked_select(st.ones({3, 3}, {dtype = "bool"}):tril(-1))
    end)
    assert.same({2, 4, 4}, t:forward_shape {2, 6})
    assert.same({2, 6}, t:inverse_shape {2, 4, 4})
    raises("CorrCholesky: the last dimension must be of n (n - 1) / 2 "
           .. "elements, got 4", t, st.zeros {4})
    raises("CorrCholesky: the matrices must be square, got 2 x 3",
           t.inverse_shape, t, {2, 3})
  end)

  it("PositiveDefinite is a matrix times its transpose", function()
    local t = T.PositiveDefinite()
    local y = t(f64 {{0.5, 9}, {2, -1}})
    near({2.718281828459, 3.2974425414, 3.2974425414, 4.135335283237}, flat(y),
         1e-9)
    near({0.5, 0, 2, -1}, flat(t:inverse(y)), 1e-9)
    assert.is_true(t.codomain:check(y):item())
    assert.is_false(t.bijective)
  end)

  it("Cat transforms parts of a dimension", function()
    local t, x = T.Cat({T.Exp(), T.Affine(1, -2)}, -1, {2, 1}), f64(X)
    near({1.34985880758, 0.49658530379, -1.8}, flat(t(x)), 1e-10)
    near({0.3, -0.7, 0.69314718056}, flat(t:log_abs_det_jacobian(x, t(x))),
         1e-10)
    check_transform(t, x, whole)
    assert.same({false, true, true}, t.codomain:check(f64 {-1, 2, -5})
                :totable())
    assert.is_true(t.bijective)
    assert.is_false(T.Cat({T.Exp(), T.Softmax()}).bijective)
    -- The parts are vectors: {1, 3} and {2, 3} become {1, 4} and {2, 4}.
    local s = T.StickBreaking()
    local rows = f64 {X, {1.3, 0.3, 2.4}, {2.3, 1.3, 3.4}}
    local pair = T.Cat({s, s}, 1, {1, 2})
    near(s:log_abs_det_jacobian(rows, s(rows)):totable(),
         pair:log_abs_det_jacobian(rows, pair(rows)):totable(), 1e-12)
    -- In the dimension of an event the determinants are added.
    local one = T.Independent(T.Exp(), 1)
    local both = T.Cat({one, one}, -1, {1, 2})
    near({1, 4, 7}, both:log_abs_det_jacobian(rows, both(rows)):totable(),
         1e-12)
    assert.equal(1, both.event_dim)
    raises("Cat: 1 lengths for 2 transforms", T.Cat, {s, s}, 1, {1})
    raises("Cat: element 2 must be a transform", T.Cat, {s, 1})
    raises("Cat: there is no transform", T.Cat, {})
    raises("Cat: dimension -1 must be of 3 elements, it is of 2", t,
           st.zeros {2})
    raises("Cat: a tensor of 1 dimensions has no dimension 2",
           T.Cat({s}, 2), st.zeros {1})
  end)

  it("Stack transforms the elements of a dimension", function()
    local t, x = T.Stack {T.Exp(), T.Sigmoid(), T.Tanh()}, f64(X)
    near({1.34985880758, 0.33181222783, 0.8853516482}, flat(t(x)), 1e-10)
    near({0.3, -1.50637209777, -1.53177129146},
         flat(t:log_abs_det_jacobian(x, t(x))), 1e-10)
    check_transform(t, x, whole)
    assert.is_true(t.bijective)
    assert.same({true, false, true}, t.codomain:check(f64 {1, 2, 0.5})
                :totable())
    local last = T.Stack({T.Exp(), T.Tanh()}, -1)
    check_transform(last, f64 {{0.1, 0.2}, {0.3, 0.4}}, whole)
    raises("Stack: dimension 1 must be of 3 elements, it is of 2", t,
           st.zeros {2})
  end)

  it("others have determinants and shapes, too", function()
    check_transform(T.StickBreaking(), f64(X), function(y)
      return y:narrow(-1, 1, 3)
    end)
    check_transform(T.Compose {T.Reshape({4}, {2, 2}), T.Exp(),
                               T.Reshape({2, 2}, {1, 4}), T.Affine(1, 2)},
                    f64 {1, 2, 3, 4}, whole)
    check_transform(T.Independent(T.Power(2), 1), f64 {1, 2}, whole)
    raises("Reshape: in_shape has 3 elements, out_shape has 4", T.Reshape, {3},
           {4})
    raises("Reshape: a shape of {2, 2} has no event of {4}",
           T.Reshape({4}, {2, 2}).forward_shape, T.Reshape({4}, {2, 2}), {2, 2})
    raises("Independent: takes 2 dimensions or more, got 1",
           T.Independent(T.Exp(), 2), st.zeros {3})
    raises("Reshape: domain.event_dim is 1, codomain.event_dim is 2", function()
      return T.Reshape({4}, {2, 2}).event_dim
    end)
  end)

  it("are equal if their parameters are", function()
    assert.is_true(T.Exp() == T.Exp() and T.Exp() ~= T.Tanh())
    assert.is_true(T.Affine(1, {2, 3}) == T.Affine(1, f64 {2, 3}))
    assert.is_true(T.Power(2) ~= T.Power(3))
    local tenth = st.tensor({0.5}, {dtype = "float32"})
    assert.is_true(T.Power(tenth) == T.Power(f64 {0.5})
                   and T.Power(tenth) ~= T.Power(f64 {0.5, 0.5}))
    assert.is_true(T.Exp().inv == T.Exp().inv and T.Exp().inv ~= T.Exp())
    assert.is_true(T.Compose {T.Exp(), T.Tanh()}
                   == T.Compose {T.Exp(), T.Tanh()})
    assert.is_true(T.Compose {T.Exp()} ~= T.Compose {T.Tanh()})
    local t = T.Reshape({4}, {2, 2})
    assert.is_true(t == t.inv.inv and t ~= T.Reshape({4}, {2, 2}))
  end)

  it("name the argument that is wrong", function()
    raises("interval: lower_bound must be a number or a tensor, got nil",
           C.interval)
    raises("interval: upper_bound must be a number or a tensor, got string",
           C.interval, 0, "x")
    raises("greater_than: lower_bound must be a number", C.greater_than, {})
    raises("Affine: event_dim must be an integer from 0 on, got x", T.Affine, 1,
           2, "x")
    raises("event_dim must be an integer from 0 on, got -1", T.Affine, 1, 2, -1)
    raises("Stack: dim must be an integer, got x", T.Stack, {T.Exp()}, "x")
    raises("Cat: dim must be an integer, got 1.5", T.Cat, {T.Exp()}, 1.5)
    raises("Cat: lengths must be a list of sizes, got number", T.Cat,
           {T.Exp()}, 1, 3)
    raises("Cat: length 1 must be an integer from 0 on, got x", T.Cat,
           {T.Exp()}, 1, {"x"})
    raises("cat: length 1 must be an integer", C.cat, {C.real}, 1, {-1})
  end)

  it("work on Meta", function()
    local x = st.empty({3}, {device = "meta"})
    for _, t in ipairs {T.StickBreaking(), T.CorrCholesky()} do
      assert.equal("meta", t(x).device)
    end
  end)

  it("keep their last values if they have a cache", function()
    local x = f64 {30} -- whose tanh is rounded to 1
    assert.equal(math.huge, T.Tanh():inverse(T.Tanh()(x)):item())
    for _, t in ipairs {
      T.Tanh {cache_size = 1}, T.Tanh():with_cache(),
      T.Compose({T.Affine(0, 1), T.Tanh()}, {cache_size = 1}),
      T.Independent(T.Tanh(), 0, {cache_size = 1}),
      T.Tanh().inv:with_cache().inv,
    } do
      assert.equal(30, t:inverse(t(x)):item())
      assert.equal(30, t.inv(t(x)):item())
      assert.equal(math.huge, t:with_cache(0):inverse(t(x)):item())
    end
    raises("Tanh: cache_size must be 0 or 1", T.Tanh, {cache_size = 2})
    raises("Affine: unknown argument 'scal': it has loc, scale, event_dim, "
           .. "cache_size", T.Affine, {scal = 2})
    raises("Exp: takes at most 0 arguments, got 1", T.Exp, 1)
    assert.equal(1, T.Affine {loc = 0, scale = 2, event_dim = 1}.event_dim)
  end)

  it("are classes that Transform makes", function()
    local Cube = D.Transform("Cube", {
      bijective = true, sign = 1,
      forward = function(_, x) return x:pow(3) end,
      backward = function(_, y) return y:sign() * y:abs():pow(1 / 3) end,
      jacobian = function(_, x) return (3 * x:pow(2)):log() end,
    })
    check_transform(Cube(), f64(X), whole)
    assert.equal("Cube", tostring(Cube()))
    local d = D.TransformedDistribution(D.Normal(0, 1), Cube())
    near(D.Normal(0, 1):cdf(2):item(), d:cdf(8):item(), 1e-9)
    raises("Transform: give the name of a class", D.Transform, {})
    raises("Half has no inverse", T.Exp.inverse, D.Transform("Half", {})(), 1)
  end)
end)

describe("biject_to and transform_to", function()
  local before
  local default = st.get_default_dtype()
  setup(function()
    before = live()
    st.set_default_dtype "float64"
  end)
  teardown(function()
    st.set_default_dtype(default)
    assert.equal(before, live())
  end)

  it("are PyTorch's", function()
    local exp = {1.34985880758, 0.49658530379, 4.05519996684}
    for text, want in pairs {
      real = X, real_vector = X, positive = exp, nonnegative = exp,
      ["independent(C.positive, 1)"] = exp,
      unit_interval = {0.57444251681, 0.33181222783, 0.80218388856},
      ["interval(-1, 2)"] = {0.72332755043, -0.0045633165, 1.40655166568},
      ["half_open_interval(0, 3)"] = {1.72332755043, 0.9954366835,
                                      2.40655166568},
      ["greater_than(2)"] = {3.34985880758, 2.49658530379, 6.05519996684},
      ["greater_than_eq(2)"] = {3.34985880758, 2.49658530379, 6.05519996684},
      ["less_than(-1)"] = {-2.34985880758, -1.49658530379, -5.05519996684},
      corr_cholesky = {1, 0, 0, 0.29131261245, 0.9566279119, 0, -0.60436777712,
                       0.70536449214, 0.37040588982},
      ["cat({C.positive, C.real}, 1, {2, 1})"] = {exp[1], exp[2], 1.4},
      ["stack {C.positive, C.real, C.unit_interval}"] = {exp[1], -0.7,
                                                         0.80218388856},
    } do
      local c = load("local C = ... return C." .. text)(C)
      for _, to in ipairs {D.biject_to, D.transform_to} do
        local t = to(c)
        near(want, flat(t(X)), 1e-10)
        assert.is_true(t.bijective, text)
        assert.is_true(c:check(t(X)):all():item(), text)
        near(X, flat(t:inverse(t(X))), 1e-9)
      end
    end
    near({0.31032244201, 0.13718086826, 0.44320394298, 0.10929274675},
         flat(D.biject_to(C.simplex)(X)), 1e-10)
    near({0.22872589226, 0.08414355343, 0.68713055432},
         flat(D.transform_to(C.simplex)(X)), 1e-10)
    local m = {{0.5, 9}, {2, -1}}
    near({1.64872127070, 0, 2, 0.36787944117},
         flat(D.transform_to(C.lower_cholesky)(m)), 1e-10)
    near({2.71828182846, 3.2974425414, 3.2974425414, 4.13533528324},
         flat(D.transform_to(C.positive_definite)(m)), 1e-10)
    raises("biject_to: there is no transform to 'lower triangular with a "
           .. "positive diagonal'", D.biject_to, C.lower_cholesky)
    raises("biject_to: the argument must be a constraint", D.biject_to, 1)
  end)

  it("reach the values of distributions", function()
    for _, d in ipairs {
      D.Normal(0, 1), D.Gamma(1, 1), D.Beta(1, 1), D.Uniform(2, 3),
      D.Pareto(2, 1), D.Dirichlet {1, 1, 1}, D.LKJCholesky(3),
      D.GeneralizedPareto(1, 1, {-0.5, 0.5, 0}), D.Wishart(3, st.eye(3)),
      D.MultivariateNormal({0, 0}, st.eye(2)),
    } do
      local x = D.transform_to(d.support):inverse(d:sample {4})
      assert.is_true(x:isfinite():all():item(), tostring(d))
    end
  end)

  it("take more by register", function()
    local even = C.Constraint {name = "even", is_discrete = true,
                               check = function(x) return x:eq(0) end}
    raises("no transform to 'even'", D.transform_to, even)
    D.transform_to:register(even, function() return T.Affine(0, 2) end)
    assert.equal(6, D.transform_to(even)(3):item())
    raises("no transform to 'even'", D.biject_to, even)
    raises("biject_to:register: give a constraint", D.biject_to.register,
           D.biject_to, 1, 2)
    D.biject_to:register(C.multinomial, function() return T.Exp() end)
    assert.is_true(T.Exp() == D.biject_to(C.multinomial(3)))
    raises("Constraint: give a table", C.Constraint, {})
  end)

  it("constraints of matrices and of several say what they allow", function()
    local m = f64 {{1, 2}, {2, 1}}
    local values = {
      symmetric = true, square = true, positive_semidefinite = false,
      positive_definite = false, corr_cholesky = false,
      lower_triangular = false,
    }
    for name, want in pairs(values) do
      assert.equal(want, C[name]:check(m):item(), name)
    end
    -- The eigenvalue 0 of a diagonal matrix has no rounding.
    local flat_one = f64 {{1, 0}, {0, 0}}
    assert.is_true(C.positive_semidefinite:check(flat_one):item())
    assert.is_false(C.positive_definite:check(flat_one):item())
    assert.is_true(C.positive_semidefinite:check(f64 {{2, 1}, {1, 2}}):item())
    assert.is_true(C.corr_cholesky:check(st.eye(2, {dtype = "int64"})):item())
    local meta = st.empty({2, 3, 2}, {device = "meta"})
    assert.equal("meta", C.square:check(meta).device)
    local wide = st.zeros {3, 2, 1}
    for _, name in ipairs {"square", "symmetric", "positive_definite"} do
      assert.same({false, false, false}, C[name]:check(wide):totable())
    end
    assert.is_true(C.corr_cholesky:check(f64 {{1, 0}, {0.6, 0.8}}):item())
    assert.is_false(C.corr_cholesky:check(f64 {{1, 0}, {0.6, 0.7}}):item())
    local pair = C.cat({C.simplex, C.positive}, 1)
    assert.equal(1, pair.event_dim)
    assert.same({true, true}, pair:check(f64 {{0.5, 0.5}, {3, 4}}):totable())
    assert.same({true, false}, pair:check(f64 {{0.5, 0.5}, {3, 0}}):totable())
    assert.same({false, true}, C.stack({C.positive, C.real}, -1)
                :check(f64 {0, 0}):totable())
    assert.is_true(C.is_dependent(D.Uniform.arg_constraints.low))
    raises("dependent: what it allows depends", C.dependent.check, C.dependent,
           1)
  end)
end)

describe("Families and mixtures:", function()
  local before
  local default = st.get_default_dtype()
  setup(function()
    before = live()
    st.set_default_dtype "float64"
  end)
  teardown(function()
    st.set_default_dtype(default)
    collectgarbage()
    assert.equal(before, live())
  end)

  local entropy = D.ExponentialFamily.entropy
  local function pairs_of_one_class()
    return {
      {D.Normal({0, 1}, {1, 2}), D.Normal(1, 3)},
      {D.Exponential {1, 2}, D.Exponential(3)},
      {D.Gamma({1, 2}, {2, 3}), D.Gamma(3, 1)}, {D.Chi2(3), D.Chi2(4)},
      {D.Bernoulli {0.2, 0.6}, D.Bernoulli(0.3)},
      {D.ContinuousBernoulli {0.2, 0.5}, D.ContinuousBernoulli(0.7)},
      {D.Wishart(4, {{2, 0.5}, {0.5, 1}}), D.Wishart(3, st.eye(2))},
      {D.Poisson(2), D.Poisson(3), true}, {D.Beta(2, 3), D.Beta(1, 4), true},
      {D.Dirichlet {1, 2, 3}, D.Dirichlet {3, 2, 1}, true},
    }
  end

  local divergence =
    require "strided.distributions.exponential_family".divergence

  it("the normalizer gives entropies and divergences", function()
    local list = pairs_of_one_class()
    for _, row in ipairs(list) do
      local p, q, has_none = row[1], row[2], row[3]
      if has_none then
        raises("has no entropy", entropy, p)
      else
        near(p:entropy():totable(), entropy(p):totable(), 1e-7)
      end
      near(D.kl_divergence(p, q):totable(), divergence(p, q):totable(), 1e-7)
    end
    near(7.140810774333904, list[7][1]:entropy():item(), 1e-9)
    near(1.3902134726353879, D.kl_divergence(list[7][1], list[7][2]):item(),
         1e-9)
  end)

  it("classes of one's own have them", function()
    -- The Rayleigh distribution: density x / s^2 exp(-x^2 / (2 s^2)), whose
    -- entropy is 1 + log(s / sqrt 2) + gamma / 2.
    local Rayleigh = D.ExponentialFamily("Rayleigh", {
      params = {{"scale", "positive"}}, support = "positive",
      natural_params = function(self) return {-0.5 / self.scale:pow(2)} end,
      log_normalizer = function(_, n) return -(-2 * n):log() end,
      mean_carrier_measure = function(self)
        return (self.scale * math.sqrt(2)):log() - 0.57721566490153 / 2
      end,
    })
    local scale = f64({1, 3}):requires_grad_()
    local d = Rayleigh(scale)
    local want = scale:detach() / math.sqrt(2)
    near((want:log() + 1 + 0.57721566490153 / 2):totable(),
         d:entropy():totable(), 1e-9)
    near({1, 1 / 3}, st.grad(d:entropy():sum(), scale):totable(), 1e-9)
    -- log(b^2 / a^2) + a^2 / b^2 - 1
    local kl = D.kl_divergence(Rayleigh(1), Rayleigh(3))
    near(math.log(9) + 1 / 9 - 1, kl:item(), 1e-9)
    assert.is_false(kl.requires_grad)
    raises("there is no rule for Rayleigh and Normal", D.kl_divergence, d,
           D.Normal(0, 1))
    local Empty = D.ExponentialFamily("Empty", {
      params = {{"scale", "positive"}}, mean_carrier_measure = 0,
      natural_params = function(self) return {self.scale} end,
      log_normalizer = function() end,
    })
    raises("Empty: log_normalizer must return a Tensor, got nil", entropy,
           Empty(1))
    raises("ExponentialFamily: give the name", D.ExponentialFamily, 1)
    local Own = D.Distribution("Own", {params = {{"a", "real"}, {"b", "real"}}})
    assert.same({2}, Own(1, {2, 3}).batch_shape)
    raises("Own has no log_prob", Own.log_prob, Own(1, 2), 1)
    raises("Distribution: give the name", D.Distribution, 1)
  end)

  it("more divergences", function()
    near(0.032140925409568255, D.kl_divergence(
      D.InverseGamma(2, 3), D.InverseGamma(1.5, 2)):item(), 1e-9)
    for _, pair in ipairs { -- against the integral of p log(p / q)
      {D.Weibull(1.5, 2), D.Weibull(2, 1.2)},
      {D.Kumaraswamy(2, 3), D.Kumaraswamy(2, 1.5)},
    } do
      local p, q = pair[1], pair[2]
      local u = (st.arange(4000, {dtype = "float64"}) + 0.5) / 4000
      local x = p:icdf(u)
      near((p:log_prob(x) - q:log_prob(x)):mean():item(),
           D.kl_divergence(p, q):item(), 1e-3)
    end
    raises("concentration1 must be the same", D.kl_divergence,
           D.Kumaraswamy(1, 1), D.Kumaraswamy(2, 1))
  end)

  it("the mixture of a batch may have another shape", function()
    local d = D.MixtureSameFamily(D.Categorical {0.3, 0.7},
                                  D.Normal({{0, 1}, {2, 3}, {4, 5}}, 1))
    near({-1.04393853320, -2.20378198498, -3.94767174588},
         d:log_prob({0.5, 1, 2}):totable(), 1e-10)
    near({0.7, 2.7, 4.7}, d.mean:totable(), 1e-12)
    near({1.21, 1.21, 1.21}, d.variance:totable(), 1e-12)
    near({0.42341501549, 0.06352166854, 0.00776996821},
         d:cdf({0.5, 1, 2}):totable(), 1e-10)
    local x = d:sample({4000}, {generator = st.Generator(3)})
    assert.same({4000, 3}, x.shape)
    samples.check_mean(x, d.mean, d.variance)
    samples.check_continuous(d:cdf(x):select(2, 3), function(p) return p end)
    raises("batch_shape {2} of mixture does not expand to {3}",
           D.MixtureSameFamily, D.Categorical(st.ones {2, 2}),
           D.Normal(st.zeros {3, 2}, 1))
    assert.equal(d.mixture, d.mixture_distribution)
  end)

  it("LKJCholesky's correlations are uniform for 1/2 and matrices of 3",
     function()
    local g = st.Generator {seed = 8, algorithm = "philox"}
    local l = D.LKJCholesky(3, 0.5):sample({4000}, {generator = g})
    local r = l:matmul(l:mT())
    for _, at in ipairs {{2, 1}, {3, 1}, {3, 2}} do
      samples.check_continuous(r:select(3, at[2]):select(2, at[1]), function(v)
        return (v + 1) / 2
      end)
    end
    raises("LKJCholesky: dim must be an integer from 2 on", D.LKJCholesky, 1)
  end)

  it("Independent enumerates if no dimension is an event", function()
    local p = D.Bernoulli {0.2, 0.5}
    assert.is_true(D.Independent(p, 0).has_enumerate_support)
    assert.same({{0, 0}, {1, 1}}, D.Independent(p, 0):enumerate_support()
                :totable())
    raises("Independent has no enumerate_support", function()
      D.Independent(p, 1):enumerate_support()
    end)
  end)
end)
