--- Losses: each against its formula, number by number; reductions, classes,
-- weights, what is ignored, what is refused.
-- axes: isa

local gradients = require "spec.support.gradients"
local st = require "strided"
local tensors = require "spec.support.tensors"

local abs, exp, log, max, pi = math.abs, math.exp, math.log, math.max, math.pi
local ipairs, pairs = ipairs, pairs

local inf = math.huge

local f64, i64 = tensors.f64, tensors.i64
local live, near, raises = tensors.live, tensors.near, tensors.raises

local flat = gradients.list

local function sum(list)
  local total = 0
  for _, x in ipairs(list) do total = total + x end
  return total
end

-- -- Element by element ------------------------------------------------------

local function sigmoid(x) return 1 / (1 + exp(-x)) end

local function huber(x, y, delta)
  local d = abs(x - y)
  return d < delta and d * d / 2 or delta * (d - delta / 2)
end

local function entropy(p, t)
  return -t * max(log(p), -100) - (1 - t) * max(log(1 - p), -100)
end

local function any(n) return st.randn({4, n}, {dtype = "float64"}) end
local function signs(n) return any(n):sign() end
local function rates(n) return any(n):abs():mul(3) end
local function shares(n) return st.rand({4, n}, {dtype = "float64"}) end

-- operator, formula, what self and target are, options
local FORMULAS = {
  {"mse_loss", function(x, y) return (x - y) ^ 2 end, any, any},
  {"l1_loss", function(x, y) return abs(x - y) end, any, any},
  {"huber_loss", function(x, y) return huber(x, y, 0.5) end, any, any,
   {delta = 0.5}},
  {"huber_loss", function(x, y) return huber(x, y, 1) end, any, any},
  {"smooth_l1_loss", function(x, y) return huber(x, y, 0.3) / 0.3 end, any,
   any, {beta = 0.3}},
  {"smooth_l1_loss", function(x, y) return abs(x - y) end, any, any,
   {beta = 0}},
  {"kl_div", function(x, y) return y * (log(y) - x) end, any, rates},
  {"kl_div", function(x, y) return exp(y) * (y - x) end, any, any,
   {log_target = true}},
  {"soft_margin_loss", function(x, y) return log(1 + exp(-x * y)) end, any,
   signs},
  {"hinge_embedding_loss", function(x, y)
    return y == 1 and x or max(0, 0.8 - x)
  end, any, signs, {margin = 0.8}},
  {"poisson_nll_loss", function(x, y) return exp(x) - y * x end, any, rates},
  {"poisson_nll_loss", function(x, y) return x - y * log(x + 1e-3) end, rates,
   rates, {log_input = false, eps = 1e-3}},
  {"poisson_nll_loss", function(x, y)
    local factorial = y > 1 and y * log(y) - y + 0.5 * log(2 * pi * y) or 0
    return exp(x) - y * x + factorial
  end, any, rates, {full = true}},
  {"binary_cross_entropy", entropy, shares, shares},
  {"binary_cross_entropy_with_logits", function(x, y)
    return entropy(sigmoid(x), y)
  end, any, shares},
}

local function copy(options)
  local out = {}
  for k, v in pairs(options or {}) do out[k] = v end
  return out
end

--- Elements of the formula, and what the operator makes of them.
local function compare(row, x, y, tolerance)
  local name, formula, options = row[1], row[2], copy(row[5])
  local a, b, want = flat(x), flat(y), {}
  for i = 1, #a do want[i] = formula(a[i], b[i]) end
  options.reduction = "none"
  local each = st[name](x, y, options)
  assert.same(x:size(), each:size())
  near(want, flat(each), tolerance)
  options.reduction = "sum"
  near(sum(want), st[name](x, y, options):item(), tolerance)
  options.reduction = "mean"
  near(sum(want) / #want, st[name](x, y, options):item(), tolerance)
  near(sum(want) / #want, st[name](x, y, row[5]):item(), tolerance)
end

describe("A loss between numbers", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(5)
  end)

  for _, row in ipairs(FORMULAS) do
    it("has its formula: " .. row[1], function()
      compare(row, row[3](3), row[4](3))
    end)

    it("does not ask how the elements lie: " .. row[1], function()
      local x, y = row[3](6), row[4](6)
      compare(row, x:t(), y:t())
      compare(row, x:slice(2, 1, -1, 2), y:slice(2, 2, -1, 2))
    end)

    it("is computed in the dtype of its elements: " .. row[1], function()
      for _, dtype in ipairs {"float32", "bfloat16"} do
        local x, y = row[3](3):to(dtype), row[4](3):to(dtype)
        local loss = st[row[1]](x, y, row[5])
        assert.equal(dtype, loss.dtype)
        if dtype == "float32" then compare(row, x, y, 1e-5) end
      end
    end)

    it("of nothing is nothing, and has no mean: " .. row[1], function()
      local x, options = row[3](0), copy(row[5])
      options.reduction = "none"
      assert.same({4, 0}, st[row[1]](x, x, options):size())
      options.reduction = "sum"
      assert.equal(0, st[row[1]](x, x, options):item())
      options.reduction = "mean"
      local mean = st[row[1]](x, x, options):item()
      assert.is_true(mean ~= mean)
    end)

    it("knows shapes without elements: " .. row[1], function()
      local x = row[3](3):to {device = "meta"}
      local options = copy(row[5])
      options.reduction = "none"
      assert.same({4, 3}, st[row[1]](x, x, options):size())
    end)

    it("refuses shapes that do not fit: " .. row[1], function()
      raises(row[1] .. ": ", st[row[1]], row[3](3), row[4](2), row[5])
    end)
  end

  it("takes more than two tensors where it must", function()
    local a, b = f64 {1, 2, -3}, f64 {0.5, 2.5, 1}
    local y = f64 {1, -1, 1}
    near({0, 0, 4.2}, flat(st.margin_ranking_loss(
      a, b, y, {margin = 0.2, reduction = "none"})))
    local p = f64({{1, 0}, {0, 2}})
    local q = f64({{3, 0}, {4, 0}})
    near({0, 0}, flat(st.cosine_embedding_loss(
      p, q, f64 {1, -1}, {reduction = "none"})))
    near({0, 1}, flat(st.cosine_embedding_loss(
      p, q, f64 {1, 1}, {reduction = "none"})))
    local far = st.triplet_margin_loss(p, q, f64({{9, 0}, {0, 3}}),
                                       {reduction = "none", eps = 0})
    near({0, 20 ^ 0.5}, flat(far))
    local swapped = st.triplet_margin_loss(
      p, q, f64({{9, 0}, {4, 0}}), {reduction = "none", eps = 0, swap = true})
    near({0, 1 + 20 ^ 0.5}, flat(swapped))
  end)

  it("weighs elements", function()
    local x, y, w = f64 {0.5, 0.25}, f64 {1, 0}, f64 {2, 3}
    near((2 * -log(0.5) + 3 * -log(0.75)) / 2,
         st.binary_cross_entropy(x, y, w):item())
    local z = f64 {0, log(1 / 3)}
    near((2 * -log(0.5) + 3 * -log(0.75)) / 2,
         st.binary_cross_entropy_with_logits(z, y, w):item())
    near(5 * -log(0.5), st.binary_cross_entropy_with_logits(
      f64 {0}, f64 {1}, {pos_weight = f64 {5}}):item())
  end)

  it("is finite where a logarithm is not", function()
    assert.same({100, 0, 0, 100}, flat(st.binary_cross_entropy(
      f64 {0, 0, 1, 1}, f64 {1, 0, 1, 0}, {reduction = "none"})))
    assert.same({1000, 0}, flat(st.binary_cross_entropy_with_logits(
      f64 {-1000, 1000}, f64 {1, 1}, {reduction = "none"})))
    assert.same({800, 0}, flat(st.soft_margin_loss(
      f64 {-800, 800}, f64 {1, 1}, {reduction = "none"})))
    assert.equal(inf, st.huber_loss(f64 {inf}, f64 {0}):item())
  end)

  it("squares a distance without overflow", function()
    local function f32(x) return st.tensor(x, {dtype = "float32"}) end
    near(2e38, st.huber_loss(f32 {2e19}, f32 {0}, {delta = 1e30}):item(),
         1e32)
    near(2e-44, st.huber_loss(f32 {2e-22}, f32 {0}):item(), 1e-45)
    local t = st.tensor({1, 0.5, 1000}, {dtype = "float16"})
    assert.same({1, 0.5, 1000}, flat(st.smooth_l1_loss(
      t, t * 0, {beta = 1e-5, reduction = "none"})))
    assert.same({800}, flat(st.smooth_l1_loss(
      t:narrow(1, 3, 1), t:narrow(1, 1, 1) * 0,
      {beta = 400, reduction = "none"})))
  end)

  it("of integers is a float, without wrapping", function()
    local function u8(x) return st.tensor(x, {dtype = "uint8"}) end
    for _, name in ipairs {"huber_loss", "smooth_l1_loss"} do
      local loss = st[name](u8 {1, 5}, u8 {3, 5}, {reduction = "none"})
      assert.equal("float32", tostring(loss.dtype))
      assert.same({1.5, 0}, flat(loss))
    end
  end)

  it("drops its temporaries", function()
    assert.is_true(live() <= before)
  end)
end)

-- -- Over classes ------------------------------------------------------------

--- -log softmax(row)[class], both of Lua's count.
local function surprise(row, class)
  local total = 0
  for _, x in ipairs(row) do total = total + exp(x) end
  return log(total) - row[class]
end

local ROWS = {{1, 2, 3}, {0.5, -1, 2}, {0, 0, 4}, {-2, 1, 0.25}}
local CLASSES = {1, 3, 2, 2}
local WEIGHTS = {1, 0.5, 2}

local function surprises(classes)
  local out = {}
  for i, class in ipairs(classes) do out[i] = surprise(ROWS[i], class) end
  return out
end

describe("A loss over classes", function()
  local before
  setup(function() before = live() end)

  it("counts classes from one", function()
    local x, y = f64(ROWS), i64(CLASSES)
    local want = surprises(CLASSES)
    near(want, flat(st.cross_entropy_loss(x, y, {reduction = "none"})))
    near(sum(want) / 4, st.cross_entropy_loss(x, y):item())
    near(sum(want), st.cross_entropy_loss(x, y, {reduction = "sum"}):item())
    local logs = x:log_softmax(2)
    near(sum(want) / 4, st.nll_loss(logs, y):item())
    near(sum(want) / 4, st.nll_loss_nd(logs, y):item())
    near(sum(want) / 4, st.nll_loss(logs, y - 1, {base = 0}):item())
    -- an image of one row and two pixels
    near((0.5 + 4) / 2, st.nll_loss2d(f64({{{{-0.5, -1}}, {{-2, -4}}}}),
                                      i64({{{1, 2}}})):item())
  end)

  it("takes classes of any integer dtype", function()
    local x = f64(ROWS)
    local want = st.cross_entropy_loss(x, i64(CLASSES)):item()
    for _, dtype in ipairs {"uint8", "int8", "int16", "int32"} do
      local y = st.tensor(CLASSES, {dtype = dtype})
      assert.equal(want, st.cross_entropy_loss(x, y):item())
    end
  end)

  it("has the classes in the second dimension, others behind", function()
    local x = st.randn({2, 5, 3, 4}, {dtype = "float64"})
    local y = st.randint(1, 6, {2, 3, 4})
    local loss = st.cross_entropy_loss(x, y, {reduction = "none"})
    assert.same({2, 3, 4}, loss:size())
    local rows = x:permute {1, 3, 4, 2}:reshape {24, 5}
    local same = st.cross_entropy_loss(rows, y:view(-1),
                                       {reduction = "none"})
    near(flat(same), flat(loss))
    local strided = st.cross_entropy_loss(x:transpose(3, 4), y:mT(),
                                          {reduction = "sum"})
    near(sum(flat(loss)), strided:item())
  end)

  it("has the bits of log_softmax at the classes", function()
    for _, dtype in ipairs {"float32", "float64"} do
      for _, n in ipairs {1, 3, 16, 31, 32, 40, 64, 65, 2048, 2049, 5000} do
        local m = n < 100 and 43 or 11
        local x = st.randn({m, n}, {dtype = dtype}) * 9
        x[2] = x[2] * 90 -- some exponentials are subnormal or 0
        local y = st.randint(1, n + 1, {m})
        y[4] = -100
        for _, rows in ipairs {x, x:t():contiguous():t()} do
          local each = {reduction = "none"}
          assert.same(st.nll_loss(rows:log_softmax(2), y, each):totable(),
                      st.cross_entropy_loss(rows, y, each):totable())
        end
      end
    end
  end)

  it("of NaN or infinity is NaN, as log_softmax is", function()
    local y, each = i64 {1, 2}, {reduction = "none"}
    for _, x in ipairs {0 / 0, inf} do
      local loss = st.cross_entropy_loss(f64({{x, 1}, {1, 2}}), y, each)
      assert.same({true, false}, loss:isnan():totable())
    end
  end)

  it("takes one example without a batch", function()
    near(surprise(ROWS[1], 3),
         st.cross_entropy_loss(f64(ROWS[1]), i64(3)):item())
    local one = st.nll_loss(f64(ROWS[1]), i64(3), {reduction = "none"})
    assert.same({}, one:size())
  end)

  it("weighs classes, and means are weighted ones", function()
    local x, y, w = f64(ROWS), i64(CLASSES), f64(WEIGHTS)
    local want, total = surprises(CLASSES), 0
    for i, class in ipairs(CLASSES) do
      want[i] = want[i] * WEIGHTS[class]
      total = total + WEIGHTS[class]
    end
    near(want, flat(st.cross_entropy_loss(x, y, w, "none")))
    near(sum(want) / total, st.cross_entropy_loss(x, y, w):item())
    near(sum(want), st.cross_entropy_loss(x, y, w, "sum"):item())
  end)

  it("leaves out what is ignored, whatever its class", function()
    local x = f64(ROWS)
    local want = surprises {1, 3}
    local near_two = {want[1], want[2], 0, 0}
    local y, options = i64 {1, 3, 2, 2}, {ignore_index = 2}
    near(sum(want) / 2, st.cross_entropy_loss(x, y, options):item())
    options.reduction = "none"
    near(near_two, flat(st.cross_entropy_loss(x, y, options)))
    y = i64 {1, 3, -100, -100}
    near(sum(want) / 2, st.cross_entropy_loss(x, y):item())
    near((want[1] + want[2] * 2) / 3,
         st.cross_entropy_loss(x, y, f64(WEIGHTS)):item())
  end)

  it("finds what is ignored anywhere in the targets", function()
    local n, sums = 4098, {reduction = "sum"}
    local x = st.full({n, 2}, -1)
    for _, k in ipairs {1, 2, 4096, 4097, n} do
      local y = st.ones({n}, {dtype = "int64"})
      y[k] = -100
      local apart = st.stack({y, y}, 2):select(2, 1)
      assert.same({n - 1, n - 1, n - 1}, {
        st.nll_loss(x, y, sums):item(), st.nll_loss(x, apart, sums):item(),
        st.nll_loss(x, (-y):_neg_view(), sums):item()})
    end
  end)

  it("of targets that are all ignored has no mean", function()
    local x, y = f64(ROWS), i64 {-100, -100, -100, -100}
    local mean = st.cross_entropy_loss(x, y):item()
    assert.is_true(mean ~= mean)
    assert.equal(0, st.cross_entropy_loss(x, y, {reduction = "sum"}):item())
  end)

  it("does not read what is ignored", function()
    local logs = f64({{-inf, 0}, {-1, -2}})
    near(2, st.nll_loss(logs, i64 {-100, 2}):item())
  end)

  it("takes probabilities of all classes for targets", function()
    local x = f64(ROWS)
    local y = st.one_hot(i64(CLASSES), 3):to "float64"
    local want = surprises(CLASSES)
    near(sum(want) / 4, st.cross_entropy_loss(x, y):item())
    near(want, flat(st.cross_entropy_loss(x, y, {reduction = "none"})))
    near(st.cross_entropy_loss(x, y, f64(WEIGHTS), "sum"):item(),
         st.cross_entropy_loss(x, i64(CLASSES), f64(WEIGHTS), "sum"):item())
  end)

  it("smooths labels", function()
    local x, hard = f64(ROWS), i64(CLASSES)
    local want = {}
    for i, class in ipairs(CLASSES) do
      local even = 0
      for k = 1, 3 do even = even + surprise(ROWS[i], k) / 3 end
      want[i] = 0.8 * surprise(ROWS[i], class) + 0.2 * even
    end
    local options = {label_smoothing = 0.2, reduction = "none"}
    near(want, flat(st.cross_entropy_loss(x, hard, options)))
    local soft = st.one_hot(hard, 3):to "float64"
    near(want, flat(st.cross_entropy_loss(x, soft, options)))
  end)

  it("knows shapes without elements", function()
    local x = st.empty({4, 3, 2}, {device = "meta"})
    local y = st.empty({4, 2}, {device = "meta", dtype = "int64"})
    local each = st.cross_entropy_loss(x, y, {reduction = "none"})
    assert.same({4, 2}, each:size())
    assert.same({}, st.cross_entropy_loss(x, y):size())
  end)

  it("of no example is empty", function()
    local x, y = st.zeros {0, 3}, st.zeros({0}, {dtype = "int64"})
    assert.same({0}, st.nll_loss(x, y, {reduction = "none"}):size())
    assert.equal(0, st.nll_loss(x, y, {reduction = "sum"}):item())
  end)

  it("drops its temporaries", function()
    assert.is_true(live() <= before)
  end)
end)

-- -- Gradients ---------------------------------------------------------------

--- The gradient of loss(leaf) at x.
local function gradient(x, loss) return flat(gradients.gradient(x, loss)) end

describe("The gradient of a loss", function()
  local before
  setup(function() before = live() end)

  it("is that of the formula where its pieces meet", function()
    local x, zero = f64 {-2, -0.5, 0, 0.5, 2}, f64 {0, 0, 0, 0, 0}
    local function of(name, options)
      return gradient(x, function(leaf)
        options.reduction = "sum"
        return st[name](leaf, zero, options)
      end)
    end
    near({-0.5, -0.5, 0, 0.5, 0.5}, of("huber_loss", {delta = 0.5}))
    near({-1, -1, 0, 1, 1}, of("smooth_l1_loss", {beta = 0.5}))
    near({-1, -1, 0, 1, 1}, of("smooth_l1_loss", {beta = 0}))
    near({-1, -1, 0, 1, 1}, of("l1_loss", {}))
  end)

  it("is finite where a prediction is certain", function()
    near({0, -1e12, 1e12, 0}, gradient(f64 {0, 0, 1, 1}, function(leaf)
      return st.binary_cross_entropy(leaf, f64 {0, 1, 0, 1},
                                     {reduction = "sum"})
    end))
    near({-1, 0, -0.5}, gradient(f64 {-1e4, 1e4, 0}, function(leaf)
      return st.binary_cross_entropy_with_logits(leaf, f64 {1, 1, 1},
                                                 {reduction = "sum"})
    end))
  end)

  it("is zero for what is ignored, even if all is", function()
    local x = f64(ROWS)
    local all = gradient(x, function(leaf)
      return st.cross_entropy_loss(leaf, i64 {1, -100, 2, -100})
    end)
    local some = gradient(x:index_select(1, i64 {1, 3}), function(leaf)
      return st.cross_entropy_loss(leaf, i64 {1, 2})
    end)
    for k = 1, 3 do
      near(some[k], all[k])
      near(some[3 + k], all[6 + k])
      assert.equal(0, all[3 + k])
      assert.equal(0, all[9 + k])
    end
    near({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, gradient(x, function(leaf)
      return st.cross_entropy_loss(leaf, i64 {-100, -100, -100, -100})
    end))
  end)

  it("of classes is softmax less what is asked for", function()
    local x = f64(ROWS)
    local want = (x:softmax(2) - st.one_hot(i64(CLASSES), 3)) / 4
    near(flat(want), gradient(x, function(leaf)
      return st.cross_entropy_loss(leaf, i64(CLASSES))
    end))
  end)

  it("leaves nothing behind", function() assert.is_true(live() <= before) end)
end)

-- -- Refusals ----------------------------------------------------------------

-- operator, arguments, what the message says
local REFUSALS = {
  {"mse_loss", function() return f64 {1}, f64 {2}, "average" end,
   "argument 'reduction' must be 'none', 'mean' or 'sum', got 'average'"},
  {"mse_loss", function() return f64 {1}, f64 {2}, 3 end,
   "argument 'reduction' must be 0 (none), 1 (mean) or 2 (sum), got 3"},
  {"mse_loss", function() return f64 {1}, f64 {2}, true end,
   "argument 'reduction' must be 'none', 'mean' or 'sum', got true"},
  {"huber_loss", function() return f64 {1}, f64 {2}, {delta = 0} end,
   "delta must be positive, it is 0"},
  {"smooth_l1_loss", function() return f64 {1}, f64 {2}, {beta = -1} end,
   "beta must not be negative, it is -1"},
  {"binary_cross_entropy", function() return f64 {1.5}, f64 {1} end,
   "self must hold probabilities, in the range from 0 to 1"},
  {"binary_cross_entropy", function() return f64 {0.5, 1}, f64 {1} end,
   "target has shape [1], self has [2]"},
  {"cosine_embedding_loss",
   function() return f64({{1}}), f64({{1}}), f64({{1}}) end,
   "a target of shape [1, 1] needs inputs with one more dimension"},
  {"nll_loss", function() return f64(ROWS), i64 {1, 2, 3, 4} end,
   "class 4 is out of range for 3 classes; classes count from 1"},
  {"nll_loss", function() return f64(ROWS), i64 {1, 2, 3, 0} end,
   "class 0 is out of range for 3 classes; classes count from 1"},
  {"nll_loss", function() return f64(ROWS), i64 {1, 2, 3} end,
   "target has shape [3], which does not match self of shape [4, 3] with " ..
   "classes along dimension 2"},
  {"nll_loss", function() return f64(ROWS), f64 {1, 2, 3, 1} end,
   "target must hold classes of an integer dtype, not float64"},
  {"nll_loss", function() return f64(1), i64(1) end,
   "self must have a dimension of classes"},
  {"nll_loss", function() return f64(ROWS), i64(CLASSES), f64 {1, 2} end,
   "weight must be a vector of 3 classes, its shape is [2]"},
  {"cross_entropy_loss", function() return f64(ROWS), i64(ROWS) end,
   "target has the shape of self, so it must hold probabilities"},
  {"cross_entropy_loss",
   function() return f64(ROWS), i64(CLASSES), {label_smoothing = 1.5} end,
   "label_smoothing must be in the range from 0 to 1, it is 1.5"},
}

describe("A loss refuses", function()
  for _, row in ipairs(REFUSALS) do
    it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end
end)
