--- Distributions against PyTorch's values and samples, and against their own
-- samples.
-- axes: lua

local st = require "strided"
local samples = require "spec.support.samples"
local tensors = require "spec.support.tensors"

local D, T = st.distributions, st.distributions.transforms
local live, near, raises = tensors.live, tensors.near, tensors.raises

local EXPECTED = require "spec.strided.distributions.expected"

local load = loadstring or load -- luacheck: ignore

local function make(text)
  return load("local D, T = ... return " .. text)(D, T)
end

--- Nested lists of numbers in one list.
local function flat(v, out)
  out = out or {}
  if type(v) ~= "table" then
    out[#out + 1] = v
    return out
  end
  for _, e in ipairs(v) do flat(e, out) end
  return out
end

local function check(want, got, tolerance, what)
  want = flat(want)
  got = got:to "float64":reshape(-1):totable()
  assert.equal(#want, #got, what)
  for i, w in ipairs(want) do
    local g = got[i]
    local ok = w ~= w and g ~= g or w == g or
               math.abs(w - g) <= tolerance * math.max(1, math.abs(w))
    assert.is_true(ok, ("%s: %.12g, should be %.12g"):format(what, g, w))
  end
end

describe("Distributions:", function()
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

  for _, row in ipairs(EXPECTED) do
    local text, want = row[1], row[2]
    it(text, function()
      local d = make(text)
      for _, name in ipairs {"log_prob", "cdf"} do
        if want[name] then
          check(want[name], d[name](d, want.x), 1e-6, name)
        end
      end
      for _, name in ipairs {"mean", "variance", "mode"} do
        if want[name] then check(want[name], d[name], 1e-6, name) end
      end
      if want.entropy then check(want.entropy, d:entropy(), 1e-6, "entropy") end
      if want.icdf then check(want.icdf, d:icdf(0.3), 1e-6, "icdf") end
      st.manual_seed(1)
      if want.sample then
        check(want.sample, d:sample {2}, 1e-6, "sample")
      end
    end)
  end

  -- Every distribution with another batch shape, of both generators: the same
  -- log_prob, and samples whose means are right.
  for _, row in ipairs(EXPECTED) do
    local text, want = row[1], row[2]
    it("samples and expands: " .. text, function()
      local d = make(text)
      local wide = d:expand {3, d.batch[1] or 1}
      local x = wide:sample {5}
      local n = #wide.batch + #wide.event
      assert.equal(n + 1, x:dim())
      local p = wide:log_prob(x)
      assert.equal(1 + #wide.batch, p:dim())
      if #d.batch > 0 then
        near(d:log_prob(x):totable(), p:totable(), 1e-12)
      end
      if not want.mean or text:find "Cauchy" or text:find "Categorical" or
         text:find "VonMises" then return end
      for _, algorithm in ipairs {"mt19937", "philox"} do
        local g = st.Generator {algorithm = algorithm, seed = 4}
        local many = d:sample({4000}, {generator = g})
        if d.variance:isfinite():all():item() then
          samples.check_mean(many, d.mean, d.variance)
        end
      end
    end)
  end

  for _, row in ipairs(EXPECTED) do
    local text, want = row[1], row[2]
    if want.cdf and not text:find "Mixture" then
      it("samples by its cdf: " .. text, function()
        local d = make(text)
        for _, algorithm in ipairs {"mt19937", "philox"} do
          local g = st.Generator {algorithm = algorithm, seed = 5}
          local x = d:sample({4000}, {generator = g})
          local p = d:cdf(x):select(2, 1)
          samples.check_continuous(p, function(v) return v end)
        end
      end)
    end
  end
end)

describe("kl_divergence", function()
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

  it("is PyTorch's for each pair of classes", function()
    for _, row in ipairs(require "spec.strided.distributions.divergences") do
      local kl = D.kl_divergence(make("D." .. row[1]), make("D." .. row[2]))
      check(row[3], kl, 1e-7, row[1] .. " and " .. row[2])
    end
  end)

  it("adds up over events, and goes through transforms", function()
    local p, q = D.Normal({0, 1}, {1, 2}), D.Normal({1, 1}, {3, 2})
    local kl = D.kl_divergence(p, q)
    near(kl:sum():item(), D.kl_divergence(D.Independent(p, 1),
                                          D.Independent(q, 1)):item(), 1e-12)
    local function squash(d)
      return D.TransformedDistribution(d, {T.Affine(1, 2), T.Tanh()})
    end
    near(kl:totable(), D.kl_divergence(squash(p), squash(q)):totable(), 1e-12)
    raises("the transforms differ", D.kl_divergence, squash(p),
           D.TransformedDistribution(q, T.Exp()))
  end)

  it("is what register_kl says", function()
    raises("there is no rule for Weibull and Normal", D.kl_divergence,
           D.Weibull(1, 1), D.Normal(0, 1))
    D.register_kl(D.StudentT, D.Normal, function(p) return p.df * 2 end)
    assert.equal(6, D.kl_divergence(D.StudentT(3), D.Normal(0, 1)):item())
    raises("must be two distributions", D.kl_divergence, 1, D.Normal(0, 1))
    raises("must be classes", D.register_kl, 1, D.Normal)
  end)
end)

describe("Distributions", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  it("say what is wrong", function()
    raises({"Normal: scale must be positive, an element is -1"}, D.Normal, 0,
           {1, -1})
    raises("Uniform: low must be less than high", D.Uniform, 1, 0)
    raises("Bernoulli: probs must be from 0 to 1, an element is 2",
           D.Bernoulli, 2)
    raises("Bernoulli: give either probs or logits", D.Bernoulli,
           {probs = 0.5, logits = 0})
    raises("Normal: unknown argument 'mean': it has loc, scale and "
           .. "validate_args", D.Normal, {mean = 1})
    raises("Normal: takes at most 2 arguments, got 3", D.Normal, 0, 1, 2)
    raises("Normal: loc is missing", D.Normal, {scale = 2})
    raises("MultivariateNormal: covariance_matrix must be symmetric and "
           .. "positive definite", D.MultivariateNormal, {0, 0},
           {{1, 2}, {2, 1}})
    raises("MultivariateNormal: give covariance_matrix, precision_matrix or "
           .. "scale_tril", D.MultivariateNormal, {0, 0})
    local d = D.Gamma({1, 2}, 1)
    raises("Gamma: value must be not negative, an element is -1", d.log_prob, d,
           {-1, 1})
    raises({"Gamma: a value of the shape {3}", "batch_shape {2}"}, d.log_prob,
           d, {1, 2, 3})
    raises("Gamma has no icdf", d.icdf, d, 0.5)
    raises("Gamma has no 'sclae'", function() return d.sclae end)
    raises("Poisson has no rsample", d.rsample, D.Poisson(1))
    raises("Poisson has no entropy", D.Poisson.entropy, D.Poisson(1))
    raises("sample: unknown option 'seed': it has generator", d.sample, d,
           {2}, {seed = 1})
    raises("sample: the shape must be a list", d.sample, d, "x")
    raises("Categorical: value must be an integer from 1 to 2",
           d.log_prob, D.Categorical {1, 1}, {0})
    raises("mixture has 2 categories", D.MixtureSameFamily,
           D.Categorical {1, 1}, D.Normal({0, 1, 2}, 1))
    raises("Norml", function() return D.Norml end)
  end)

  it("check nothing if so told", function()
    local d = D.Normal {loc = 0, scale = -1, validate_args = false}
    assert.equal(-1, d.scale:item())
    d = D.Exponential(1, {validate_args = false})
    near(1, d:log_prob(-1):item())
    D.set_default_validate_args(false)
    assert.equal(-1, D.Normal(0, -1).scale:item())
    D.set_default_validate_args(true)
    raises("scale must be positive", D.Normal, 0, -1)
  end)

  it("print their parameters, and have shapes and supports", function()
    local d = D.Normal(0, {1, 2})
    assert.equal("Normal {loc = float32 of {2}, scale = float32 of {2}}",
                 tostring(d))
    assert.equal("Normal {loc = 0, scale = 1.5}", tostring(D.Normal(0, 1.5)))
    assert.equal("{2}", tostring(d.batch_shape))
    assert.equal("{}", tostring(d.event_shape))
    assert.equal("{3}", tostring(D.Dirichlet({1, 2, 3}).event_shape))
    assert.equal("positive", tostring(D.LogNormal(0, 1).support))
    assert.equal("from 0 to 2", tostring(D.Uniform(0, 2).support))
    assert.equal("{3, 4, 2}", tostring(d:sample {3, 4}.shape))
    assert.equal("{5, 2}", tostring(d:sample(5).shape))
    assert.is_true(D.is_distribution(d) and not D.is_distribution(1))
    assert.is_true(d.has_rsample)
    near(math.sqrt(2), D.Chi2(1).stddev:item(), 1e-6)
    near(math.exp(D.Normal(0, 1):entropy():item()),
         D.Normal(0, 1):perplexity():item(), 1e-5)
  end)

  it("take a generator, and samples have no gradients", function()
    local scale = tensors.f64({1, 2}):requires_grad_()
    local d = D.Normal(0, scale)
    local a = d:sample({3}, {generator = st.Generator(4)})
    local b = d:sample({3}, {generator = st.Generator(4)})
    assert.is_true(a:equal(b))
    assert.is_false(a.requires_grad)
    local c = d:sample {generator = st.Generator(4)}
    assert.equal("{2}", tostring(c.shape))
    assert.is_true(d:rsample {3}.requires_grad)
  end)

  it("enumerate what is discrete", function()
    assert.same({{0, 0}, {1, 1}},
                D.Bernoulli({0.2, 0.5}):enumerate_support():totable())
    assert.same({{0}, {1}, {2}}, D.Binomial(2, {0.5}):enumerate_support(false)
                :totable())
    assert.same({1, 2, 3}, tensors.lists(D.Categorical({1, 1, 1})
                :enumerate_support()))
    assert.same({{1, 0}, {0, 1}}, D.OneHotCategorical({1, 1})
                :enumerate_support():totable())
    near(1, D.Binomial(4, 0.3):log_prob(D.Binomial(4, 0.3)
            :enumerate_support()):exp():sum():item(), 1e-6)
    raises("Normal has no enumerate_support", function()
      D.Normal(0, 1):enumerate_support()
    end)
  end)

  -- The mean of f(rsample) has the gradient of the mean of f.
  it("rsample has gradients to the parameters", function()
    local function gradients(make_one, f, ...)
      local list = {}
      for i, v in ipairs {...} do
        list[i] = tensors.f64(v):requires_grad_()
      end
      local d = make_one((unpack or table.unpack)(list))
      local x = d:rsample({20000}, {generator = st.Generator(9)})
      f(x):mean():backward()
      local out = {}
      for i, t in ipairs(list) do out[i] = t.grad:item() end
      return out
    end
    local function same(x) return x end
    near({1, 0}, gradients(D.Normal, same, 1, 2), 0.03)
    near({0.5, -1.5 / 4}, gradients(D.Gamma, same, 1.5, 2), 0.02)
    near({2 / 25, -3 / 25}, gradients(D.Beta, same, 3, 2), 0.01)
    near({-1 / 4}, gradients(D.Exponential, same, 2), 0.01)
    near({1, 0.57721566}, gradients(D.Gumbel, same, 0, 1), 0.03)
    near({1}, gradients(D.Chi2, same, 3), 0.03)
    near({math.sqrt(2 / math.pi)}, gradients(D.HalfNormal, same, 1), 0.02)
    near({1, 0}, gradients(D.Laplace, same, 0, 1), 0.03)
    local c = tensors.f64({1, 2, 3}):requires_grad_()
    D.Dirichlet(c):rsample({20000}, {generator = st.Generator(9)})
      :select(2, 1):mean():backward()
    near({5 / 36, -1 / 36, -1 / 36}, c.grad:totable(), 0.01)
    local p = tensors.f64({0.2, 0.8}):requires_grad_()
    D.OneHotCategoricalStraightThrough({probs = p}):rsample {7}
      :select(2, 1):sum():backward()
    near({7 * 0.8, -7 * 0.2}, p.grad:totable(), 1e-9)
  end)

  it("transforms invert and give their determinants", function()
    local x = tensors.f64 {0.3, 0.7, 1.4}
    for _, t in ipairs {
      T.Exp(), T.Power(2.5), T.Sigmoid(), T.Tanh(), T.Softplus(),
      T.Affine(1, -2), T.Exp().inv, T.Compose {T.Exp(), T.Affine(0, 2)},
      T.CumulativeDistribution(D.Normal(0, 1)),
    } do
      local leaf = x:clone():requires_grad_()
      local y = t(leaf)
      near(x:totable(), t:inverse(y:detach()):totable(), 1e-9)
      local slope = st.grad(y:sum(), leaf)
      near(slope:abs():log():totable(),
           t:log_abs_det_jacobian(x, y:detach()):totable(), 1e-9)
      near(x:totable(), t.inv(y:detach()):totable(), 1e-9)
      assert.is_string(tostring(t))
    end
    local s = T.StickBreaking()
    local shares = s(x)
    near(1, shares:sum():item(), 1e-12)
    near(x:totable(), s:inverse(shares):totable(), 1e-9)
    local m = tensors.f64 {{0.5, 0}, {2, -1}}
    near(m:totable(), T.LowerCholesky():inverse(T.LowerCholesky()(m)):totable(),
         1e-12)
    local r = T.Reshape({3}, {3, 1})
    assert.equal("{3, 1}", tostring(r(x).shape))
    assert.equal("{3}", tostring(r:inverse(r(x)).shape))
    assert.equal(0, r:log_abs_det_jacobian(x, r(x)):item())
    near(1, T.Softmax()(x):sum():item(), 1e-12)
    near(T.Exp():log_abs_det_jacobian(x, x):sum():item(),
         T.Independent(T.Exp(), 1):log_abs_det_jacobian(x, x):item(), 1e-12)
    raises("Softmax has no log_abs_det_jacobian", s.log_abs_det_jacobian,
           T.Softmax(), x, x)
    raises("transforms must be transforms", D.TransformedDistribution,
           D.Normal(0, 1), {1})
  end)

  it("constraints say which values they allow", function()
    local C = D.constraints
    local x = tensors.f64 {-1, 0, 0.5, 2}
    for text, want in pairs {
      ["C.positive"] = {false, false, true, true},
      ["C.nonnegative"] = {false, true, true, true},
      ["C.unit_interval"] = {false, true, true, false},
      ["C.boolean"] = {false, true, false, false},
      ["C.nonnegative_integer"] = {false, true, false, true},
      ["C.positive_integer"] = {false, false, false, true},
      ["C.interval(0, 1)"] = {false, true, true, false},
      ["C.half_open_interval(0, 2)"] = {false, true, true, false},
      ["C.greater_than(0.5)"] = {false, false, false, true},
      ["C.greater_than_eq(0.5)"] = {false, false, true, true},
      ["C.less_than(0.5)"] = {true, true, false, false},
      ["C.integer_interval(0, 2)"] = {false, true, false, true},
    } do
      local c = load("local C = ... return " .. text)(C)
      assert.same(want, c:check(x):totable(), text)
    end
    local m = tensors.f64 {{2, 0}, {1, 3}}
    assert.is_true(C.lower_cholesky:check(m):item())
    assert.is_true(C.lower_triangular:check(m):item())
    assert.is_false(C.lower_cholesky:check(m:mT()):item())
    assert.is_false(C.positive_definite:check(m):item())
    assert.is_true(C.positive_definite:check(m:matmul(m:mT())):item())
    assert.same({true, false}, C.simplex:check(tensors.f64 {{0.5, 0.5},
                                                           {1, 1}}):totable())
    assert.same({true, false}, C.one_hot:check(tensors.f64 {{0, 1}, {1, 1}})
                :totable())
  end)
end)

describe("Corners of distributions", function()
  it("parameters of a transform are part of the batch", function()
    local d = D.TransformedDistribution(
      D.Normal(st.zeros {2, 1}, 1), T.Affine(st.zeros {3}, st.ones {3}))
    assert.same({2, 3}, d.batch_shape)
    assert.same({4, 2, 3}, d:sample({4}).shape)
    local x = D.TransformedDistribution(D.Exponential(1),
                                        T.Power(st.ones {50})):sample()
    assert.is_true(x:std():item() > 0.1) -- independent numbers
  end)

  it("small gamma numbers do not become NaN", function()
    st.manual_seed(0) -- PyTorch's numbers
    near({0.5, 1, 1, 1.1755e-38, 1, 1.1625e-22, 1.1755e-38, 0.5},
         D.Beta(1e-3, 1e-3):sample({8}):totable(), 1e-4)
    local x = D.Dirichlet({1e-3, 1e-3, 1e-3}):sample({2000})
    assert.is_false(x:isnan():any():item())
  end)

  it("the lower tail of a transformed distribution is kept", function()
    local d = D.TransformedDistribution(D.Exponential(1), T.Affine(0, 1))
    assert.is_true(math.abs(d:icdf(1e-9):item() - 1e-9) < 1e-15)
  end)

  it("arguments are checked by name", function()
    raises("Independent: n must be from 0 to 1, the batch dimensions of "
           .. "base_dist", D.Independent, D.Normal(st.zeros {3}, 1), 0.5)
    raises("TransformedDistribution: transforms must be a transform or a list "
           .. "of them", D.TransformedDistribution, D.Normal(0, 1), 3)
    raises("Affine: loc must be a number or a tensor", T.Affine)
    raises("trunc_normal_: mean, std, a and b must be numbers",
           st.nn.init.trunc_normal_, st.zeros(3), {std = "a"})
  end)

  it("a concentration beyond what doubles resolve ends", function()
    assert.is_true(D.VonMises(0, 1e30):sample():abs():item() < 1e-5)
  end)

  it("ends drawing VonMises numbers of any parameters", function()
    local k = st.tensor({0 / 0, -1, 1e-320, 2}, {dtype = "float64"})
    local x = D.VonMises(st.zeros(4, {dtype = "float64"}), k,
                         {validate_args = false}):sample()
    assert.same({true, true, false, false}, x:isnan():totable())
    assert.is_true(x[3] >= -math.pi and x[3] < math.pi)
    assert.is_true(D.VonMises(0 / 0, 1, {validate_args = false}):sample()
                     :isnan():item())
  end)
end)
