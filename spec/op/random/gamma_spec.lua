--- Gamma and Dirichlet numbers: PyTorch 2.15's for a seed, their distribution
-- functions, and the derivatives by their parameters.
-- axes: isa

local st = require "strided"
local samples = require "spec.support.samples"
local tensors = require "spec.support.tensors"

local f64, live, near, raises = tensors.f64, tensors.live, tensors.near,
                                tensors.raises

local SHAPES = {0.05, 0.5, 1, 2.5, 40, 1e5}
local ROWS = {{0.05, 0.5, 1}, {2.5, 40, 1e5}}

describe("Gamma numbers:", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  -- torch.manual_seed(7)
  for dtype, want in pairs {
    float32 = {0.000705378188, 0.0290857088, 0.416416258, 4.53404331,
               41.7012825, 100041.664},
    float64 = {0.000705378272, 0.0290857092, 0.416416292, 4.53404314, 41.70128,
               100041.67},
  } do
    it("those of a seed are PyTorch's, " .. dtype, function()
      local g = st.Generator(7)
      local got = st._standard_gamma(st.tensor(SHAPES, {dtype = dtype}), g)
      near(want, got:totable(), dtype == "float32" and 1e-7 or 5e-9)
      assert.equal(dtype, tensors.dtype(got))
    end)
  end

  for dtype, want in pairs {
    float32 = {{0.00158083078, 0.0651842877, 0.93323487},
               {4.53006105e-05, 0.000416646537, 0.999538064}},
    float64 = {{0.00158083058, 0.0651842855, 0.933234884},
               {4.53006099e-05, 0.000416646547, 0.999538053}},
  } do
    it("rows of a seed are PyTorch's, " .. dtype, function()
      local g = st.Generator(7)
      local got = st._sample_dirichlet(st.tensor(ROWS, {dtype = dtype}), g)
      near(want, got:totable(), dtype == "float32" and 1e-7 or 5e-9)
    end)
  end

  for _, algorithm in ipairs {"mt19937", "philox"} do
    for _, shape in ipairs {0.1, 1, 3.7, 200} do
      it(("shape %g, of %s"):format(shape, algorithm), function()
        local g = st.Generator {algorithm = algorithm, seed = 11}
        local a = st.full({20000}, shape, {dtype = "float64"})
        local x = st._standard_gamma(a, g)
        samples.check_continuous(x, function(v)
          return st.igamma(a, v)
        end)
      end)
    end

    it("elements of rows are beta numbers, of " .. algorithm, function()
      local g = st.Generator {algorithm = algorithm, seed = 12}
      local x = st._sample_dirichlet(f64({1, 2, 3}):expand(20000, 3), g)
      near(1, x:sum {dim = 2}:min():item(), 1e-12)
      -- of concentrations a and 6 - a: polynomials
      samples.check_continuous(x:select(2, 1), function(v)
        return 1 - (1 - v):pow(5)
      end)
      samples.check_continuous(x:select(2, 3), function(v)
        return v:pow(3) * (10 - 15 * v + 6 * v:square())
      end)
    end)
  end

  it("are at least the smallest normal number", function()
    local x = st._standard_gamma(st.zeros {2})
    near({2 ^ -126, 2 ^ -126}, x:totable(), 1e-45)
    assert.is_true(st._standard_gamma(st.full({50}, 1e-3)):gt(0):all():item())
    local row = st._sample_dirichlet(f64 {1e-3, 1e-3, 1e5})
    assert.is_true(row:gt(0):all():item() and row:lt(1):all():item())
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local half = st._sample_dirichlet(st.ones({3}, {dtype = dtype}))
      assert.equal(dtype, tensors.dtype(half))
    end
  end)

  it("check their parameters", function()
    raises({"_standard_gamma: self must be finite and not negative, ",
            "an element is -1"}, st._standard_gamma, f64 {1, -1})
    raises({"_sample_dirichlet: ", "an element is "}, st._sample_dirichlet,
           f64 {0 / 0})
    raises("int64", st._standard_gamma, tensors.i64 {1})
    assert.equal("{0, 3}", tostring(st._sample_dirichlet(st.ones(0, 3)).shape))
    assert.equal("meta", tostring(st._standard_gamma(st.ones({3}, {
      device = "meta"})).device))
  end)

  -- torch._standard_gamma_grad, torch._dirichlet_grad
  it("have PyTorch's derivatives by the shape", function()
    near({0.789404403143, 3.56382270003, 0.498024107967, 1.32171355228,
          0.86132603264, 1.01864751626, 0.660678666318, 1.00333750231,
          1.25754145462, 0.768776673034},
         st._standard_gamma_grad(f64 {0.3, 0.3, 2, 2, 7, 9, 9, 50, 50, 50},
                                 f64 {0.1, 2, 0.5, 3, 5, 9, 4, 50, 80, 30})
           :totable(), 1e-10)
    near({0.511685576221, 0.344507569433, 0.743282793241, 0.0254184036801,
          0.02372146762, 0.0991504047687, 0.150362230697, 0.0783343778818},
         st._dirichlet_grad(
           f64 {0.1, 0.9, 0.98, 0.5, 0.55, 0.3, 0.7, 0.4},
           f64 {0.5, 2, 1, 20, 20, 3, 4, 2},
           f64 {1.5, 5, 3, 40, 50, 12, 9, 30}):totable(), 1e-10)
  end)

  it("have the derivative of the distribution function", function()
    local a = f64({0.2, 1.5, 6, 30}):repeat_interleave(50)
    local x = st._standard_gamma(a, st.Generator(3))
    local h = 1e-5
    local slope = (st.igamma(a + h, x) - st.igamma(a - h, x)) / (2 * h)
    local log_density = (a - 1) * x:log() - x - a:lgamma()
    local want = -slope / log_density:exp()
    near(want:totable(), st._standard_gamma_grad(a, x):totable(), 2e-3)
  end)

  it("pass gradients to their parameters", function()
    local a = f64({0.5, 2, 9}):requires_grad_()
    local x = st._standard_gamma(a, st.Generator(1))
    x:sum():backward()
    near(st._standard_gamma_grad(a:detach(), x:detach()):totable(),
         a.grad:totable())
    local c = f64({0.5, 2, 9}):requires_grad_()
    local row = st._sample_dirichlet(c, st.Generator(1))
    local weights = f64 {1, -2, 3}
    ;(row * weights):sum():backward()
    local y, total = row:detach(), st.full({3}, 11.5, {dtype = "float64"})
    local slope = st._dirichlet_grad(y, c:detach(), total)
    near((slope * (weights - (y * weights):sum())):totable(), c.grad:totable())
    raises("_standard_gamma_grad", function()
      local s = f64({1}):requires_grad_()
      st._standard_gamma_grad(s, f64 {1}):sum():backward()
    end)
  end)
end)
