--- Forms of dropout, rrelu and gumbel_softmax. The numbers are those of PyTorch
-- 2.15 after torch.manual_seed(7), as of torch.alpha_dropout(x, 0.3, True).
-- axes: isa

local gradient = require("spec.support.gradients").gradient
local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

local X = {{1, -2, 3, -4}, {0.5, -1.5, 0, 2}}
local x = st.tensor(X, {dtype = "float32"})

--- Seven-digit numbers in the order of memory, after the seed 7.
local function gives(want, make, tolerance)
  st.manual_seed(7)
  near(want, make():flatten():totable(), tolerance or 1e-7)
end

describe("alpha_dropout", function()
  local kept = {1.31504464, -1.26781321, -1.05954826, -2.98971844,
                -1.05954826, -1.05954826, 0.454092056, 2.17599726}

  it("gives PyTorch's numbers, and in place", function()
    gives(kept, function() return st.alpha_dropout(x, 0.3, true) end)
    gives(kept, function() return x:clone():alpha_dropout_(0.3, true) end)
  end)

  it("keeps mean and variance", function()
    local t = st.alpha_dropout(st.randn(20000), 0.4, true)
    near(0, t:mean():item(), 0.05)
    near(1, t:var():item(), 0.05)
  end)

  it("drops whole channels", function()
    local t = x:view(2, 2, 2)
    local want = {1.31504464, -1.26781321, 3.03694987, -2.98971844,
                  -1.05954826, -1.05954826, 0.454092056, 2.17599726}
    gives(want, function() return st.feature_alpha_dropout(t, 0.3, true) end)
    gives(want, function()
      return t:clone():feature_alpha_dropout_(0.3, true)
    end)
    raises("input needs two dimensions, its shape is [2]", function()
      st.feature_alpha_dropout(st.ones(2), 0.3, true)
    end)
  end)

  it("is the input where nothing is dropped", function()
    for _, name in pairs {"alpha_dropout", "feature_alpha_dropout"} do
      assert.is_true(st[name](x):equal(x))
      assert.is_true(st[name](x, 0, true):equal(x))
      near({0, 0, 0, 0}, (st[name](x, 1, true)[1]:abs()))
    end
    -- p = 1 takes no random number
    st.manual_seed(7)
    local first = st.rand(1)
    st.manual_seed(7)
    st.alpha_dropout(x, 1, true)
    assert.is_true(first:equal(st.rand(1)))
  end)
end)

describe("dropout of channels", function()
  local t = x:view(2, 2, 2)

  it("of (C, L) and (N, C, L)", function()
    gives({1.66666663, -3.33333325, 5, -6.66666651, 0, 0, 0, 0},
          function() return st.dropout1d(x:view(4, 2), 0.4) end)
    raises("input must have shape (N, C, L) or (C, L), it has shape [8]",
           function() st.dropout1d(x:view(8)) end)
  end)

  it("of (N, C, H, W), where (C, H, W) counts as (N, C, L)", function()
    local function all() return st.dropout2d(t, 0.4) end
    gives({1.66666663, -3.33333325, 5, -6.66666651, 0, 0, 0, 0}, all)
    gives({1.66666663, -3.33333325, 5, -6.66666651, 0, 0, 0, 0},
          function() return st.dropout2d(t:unsqueeze(4), 0.4) end)
  end)

  it("of (C, D, H, W) and (N, C, D, H, W)", function()
    gives({1.66666663, -3.33333325, 5, -6.66666651, 0.833333313, -2.5, 0,
           3.33333325},
          function() return st.dropout3d(t:unsqueeze(4), 0.4) end)
    gives({1.66666663, -3.33333325, 5, -6.66666651, 0, 0, 0, 0}, function()
      return st.dropout3d(t:unsqueeze(4):unsqueeze(5), 0.4)
    end)
  end)

  it("in place", function()
    gives({1.66666663, -3.33333325, 5, -6.66666651, 0, 0, 0, 0},
          function() return t:clone():feature_dropout_(0.4) end)
  end)
end)

describe("rrelu", function()
  local want = {1, -0.479380459, 3, -0.947387457, 0.5, -0.796569765, 0, 2}
  local slopes = {1, 0.239690229, 1, 0.236846864, 1, 0.53104651, 0.42834422, 1}

  it("gives PyTorch's numbers, and in place", function()
    gives(want, function() return st.rrelu(x, 0.1, 0.6, true) end)
    gives(want, function() return x:clone():rrelu_(0.1, 0.6, true) end)
  end)

  it("draws in the order of the elements", function()
    gives({1, 0.5, -0.479380459, -0.355270296, 3, 0, -1.71337688, 2},
          function() return st.rrelu(x:t(), 0.1, 0.6, true) end)
  end)

  it("writes its slopes to noise", function()
    local noise = st.zeros(2, 4)
    gives(want, function()
      return st.rrelu_with_noise(x, noise, 0.1, 0.6, true)
    end)
    near(slopes, noise:flatten():totable(), 1e-7)
    noise:zero_()
    gives(want, function()
      return x:clone():rrelu_with_noise_(noise, 0.1, 0.6, true)
    end)
    near(slopes, noise:flatten():totable(), 1e-7)
    local grad = st.rrelu_with_noise_backward(st.ones(2, 4), x, noise, 0.1,
                                              0.6, true, false)
    near(slopes, grad:flatten():totable(), 1e-7)
    grad = st.rrelu_with_noise_backward(st.ones(2, 4), x, noise, 0.1, 0.6,
                                        false, false)
    near({1, 0.35, 1, 0.35}, (grad[1]), 1e-7)
    raises("noise must have self's shape [2, 4], not [4]", function()
      st.rrelu_with_noise(x, st.zeros(4))
    end)
  end)

  it("has the mean slope but in training", function()
    near({1, -0.7, 3, -1.4}, (st.rrelu(x, 0.1, 0.6)[1]), 1e-6)
    near({1, -0.7, 3, -1.4}, (x:clone():rrelu_(0.1, 0.6)[1]), 1e-6)
    raises("lower must be at most upper, they are 0.6 and 0.1",
           function() st.rrelu(x, 0.6, 0.1) end)
    raises("lower must be finite, it is -inf", st.rrelu, x, -1 / 0, 0.1)
    raises("upper must be finite, it is inf",
           st.ops.aten._rrelu_slopes, x, 0, 1 / 0)
  end)

  it("refuses noise before self is written", function()
    local row = {
      {"several elements in one place", st.zeros(1):expand(2, 4)},
      {"noise must be float32, as self is, not int64",
       st.zeros({2, 4}, {dtype = "int64"})},
      {"noise must be on self's device", st.zeros({2, 4}, {device = "meta"})},
    }
    for _, r in ipairs(row) do
      local y = x:clone()
      raises(r[1], y.rrelu_with_noise_, y, r[2], 0.1, 0.6, true)
      assert.is_true(y:equal(x))
    end
  end)

  it("has its slopes as derivative", function()
    gives(slopes, function()
      return gradient(x, function(t) return t:rrelu(0.1, 0.6, true) end)
    end)
    gives(slopes, function()
      return gradient(x, function(t) return (t * 1):rrelu_(0.1, 0.6, true) end)
    end)
  end)

  it("draws with Philox for any number of threads", function()
    local function draw(n)
      local before = st.get_num_threads()
      st.set_num_threads(n)
      local g = st.Generator {algorithm = "philox", seed = 3}
      local t = st.rrelu(-st.ones(20000), 0.25, 0.5, true, g)
      st.set_num_threads(before)
      return t
    end
    local one = draw(1)
    assert.is_true(one:equal(draw(3)))
    assert.is_true(one:le(-0.25):all():item() and one:ge(-0.5):all():item())
    near(-0.375, one:mean():item(), 0.005)
  end)
end)

describe("gumbel_softmax", function()
  it("has rows that sum to 1, or one 1", function()
    local soft = st.gumbel_softmax(x, 0.7)
    near({1, 1}, soft:sum({2}), 1e-6)
    st.manual_seed(3)
    soft = st.gumbel_softmax(x, 0.7, false, {dim = 1})
    near({1, 1, 1, 1}, soft:sum({1}), 1e-6)
    st.manual_seed(3)
    local hard = st.gumbel_softmax(x, 0.7, true, {dim = 1})
    assert.is_true(hard:round():equal(st.one_hot(soft:argmax(1), 2):t()
                                        :to "float32"))
  end)

  it("draws by softmax(logits)", function()
    local logits = st.tensor {0.5, -1, 2}
    local g = st.Generator {algorithm = "philox", seed = 1}
    local many = st.gumbel_softmax(logits:expand(20000, 3), 1, true,
                                   {generator = g})
    near(logits:softmax(1):totable(), (many:mean({1}):totable()), 0.01)
  end)

  it("has the derivative of the soft one", function()
    local w = st.tensor(X, {dtype = "float32"}) + 1
    local function slope(hard)
      st.manual_seed(5)
      return gradient(x, function(t)
        return st.gumbel_softmax(t, 0.7, hard) * w
      end)
    end
    assert.is_true(slope(true):equal(slope(false)))
  end)
end)

describe("Random activations", function()
  local before
  setup(function() before = live() end)
  it("leave no tensor behind", function()
    st.rrelu(x, 0.1, 0.6, true)
    st.gumbel_softmax(x, 1, true)
    st.alpha_dropout(x, 0.5, true)
    assert.equal(before, live())
  end)
end)
