--- ctc_loss and linear_cross_entropy. The numbers of the former are those of
-- PyTorch 2.15 for the input sin(0.7 i); classes count from 0 there.
-- axes: isa

local gradient = require("spec.support.gradients").gradient
local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, i64 = tensors.f64, tensors.i64
local live, near, raises = tensors.live, tensors.near, tensors.raises
local ipairs = ipairs

local F64 = {dtype = "float64"}

local function wave(shape, k)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return (st.arange(n, F64) * 0.7 + (k or 0)):sin():reshape(shape)
end

-- Shape, targets, lengths of inputs and targets, options; losses, and the sum
-- of the gradient of 1 loss1 + 2 loss2 + ... times wave(shape, 1).
local ROWS = {
  {{5, 2, 4}, {{2, 3, 3}, {4, 2, 1}}, {5, 4}, {3, 2}, {reduction = "none"},
   {6.01784312, 2.90248399}, -0.720901615},
  {{5, 2, 4}, {2, 3, 3, 4, 2}, {5, 4}, {3, 2}, {reduction = "none"},
   {6.01784312, 2.90248399}, -0.720901615},
  {{5, 2, 4}, {2, 3, 3, 4, 2}, {5, 4}, {3, 2}, {reduction = "mean"},
   {1.72859485}, -0.0657595283},
  {{5, 2, 4}, {2, 3, 3, 4, 2}, {5, 4}, {3, 2}, {reduction = "sum"},
   {8.92032711}, -0.0682127251},
  {{4, 3, 4}, {{1, 1, 1}, {2, 2, 2}, {3, 2, 1}}, {4, 4, 2}, {0, 3, 3},
   {blank = 4, reduction = "none", zero_infinity = true}, {5.74525224, 0, 0},
   1.01245145},
  {{4, 3, 4}, {{1, 1, 1}, {2, 2, 2}, {3, 2, 1}}, {4, 4, 2}, {0, 3, 3},
   {blank = -1, zero_infinity = true}, {1.91508408}, 0.337483816},
  {{4, 3}, {2, 3}, {4}, {2}, {reduction = "none"}, {1.63818113}, -0.11573809},
}

describe("ctc_loss", function()
  local before
  setup(function() before = live() end)

  for i, row in ipairs(ROWS) do
    it("gives PyTorch's numbers, row " .. i, function()
      local shape, targets, inputs, lengths, options, want, slope =
        (table.unpack or unpack)(row)
      local x = wave(shape)
      local function loss(t, a, b)
        return st.ctc_loss(t:log_softmax(-1), i64(targets), a, b, options)
      end
      local got = loss(x, inputs, lengths)
      near(want, got:flatten():totable(), 1e-8)
      assert.is_true(got:equal(loss(x, i64(inputs), i64(lengths))))
      near(want, loss(x:to "float32", inputs, lengths):flatten():totable(),
           1e-5)
      local g = gradient(x, function(t)
        local each = loss(t, inputs, lengths)
        return each * st.arange(1, each:numel() + 1, F64):view(each.shape)
      end)
      near(slope, (g * wave(shape, 1)):sum():item(), 1e-8)
    end)
  end

  it("is infinite where no timing fits", function()
    local x = wave({2, 1, 3}):log_softmax(3)
    local loss = st.ctc_loss(x, i64 {{2, 2}}, {2}, {2})
    assert.equal(math.huge, loss:item())
    assert.equal(0, st.ctc_loss(x, i64 {{2, 2}}, {2}, {2},
                                {zero_infinity = true}):item())
    -- nothing is certain in no time
    near({0, math.huge}, st.ctc_loss(wave({2, 2, 3}), i64 {{2}, {2}}, {0, 0},
                                     {0, 1}, {reduction = "none"}))
  end)

  it("sums the probabilities of all timings", function()
    local p = wave({3, 1, 3}):softmax(3):squeeze(2):totable()
    local b, one = 1, 2 -- the classes of blank and of the target
    local function path(...)
      local product = 1
      for t, class in ipairs {...} do product = product * p[t][class] end
      return product
    end
    local sum = path(one, one, one) + path(b, one, one) + path(one, one, b) +
                path(b, b, one) + path(b, one, b) + path(one, b, b)
    near(-math.log(sum), st.ctc_loss(wave({3, 1, 3}):log_softmax(3),
                                     i64 {{2}}, {3}, {1}):item(), 1e-12)
  end)

  it("says what does not fit", function()
    local x, t = wave {4, 2, 3}, i64 {{2, 3}, {3, 2}}
    local rows = {
      {"input_lengths must have a number for each of 2", x, t, {4}, {2, 2}},
      {"input_lengths must be from 0 to 4, number 2 is 5", x, t, {4, 5},
       {2, 2}},
      {"target_lengths must be from 0 to 2, number 1 is 3", x, t, {4, 4},
       {3, 2}},
      {"target_lengths must be from 0 to 2, number 1 is -1", x, t, {4, 4},
       {-1, 2}},
      {"targets has class 4, but the classes are 1 to 3", x,
       i64 {{2, 4}, {3, 2}}, {4, 4}, {2, 2}},
      {"targets must be integers of shape (2, longest)", x, f64 {{1, 1}},
       {4, 4}, {1, 1}},
      {"the sum of target_lengths is 3, but targets has 4", x,
       i64 {2, 2, 2, 2}, {4, 4}, {1, 2}},
      {"blank is none of the 3 classes", x, t, {4, 4}, {2, 2}, {blank = 4}},
      {"log_probs must have shape (steps, N, classes)", wave {3}, t, {4, 4},
       {2, 2}},
      {"not implemented for dtype float16", x:to "float16", t, {4, 4},
       {2, 2}},
      {"input_lengths must be integers on the CPU", x, t, f64 {4, 4},
       i64 {2, 2}},
    }
    for _, row in ipairs(rows) do
      raises(row[1], function()
        st.ctc_loss(row[2], row[3], row[4], row[5], row[6])
      end)
    end
  end)

  it("leaves no tensor behind", function()
    assert.equal(before, live())
  end)
end)

describe("linear_cross_entropy", function()
  local x = f64 {{1, 2, 3}, {-1, 0, 2}}
  local w = (st.arange(12, F64) / 7 - 0.5):reshape(4, 3)
  local b = f64 {0.1, -0.2, 0.3, 0}

  it("is cross_entropy of a linear layer", function()
    near(3.1874745571662437, st.linear_cross_entropy(x, w, i64 {2, 4}, {
      linear_bias = b}):item(), 1e-12)
    near({5.13866812125905, 0}, st.linear_cross_entropy(x, w, i64 {2, -100}, {
      linear_bias = b, reduction = "none", label_smoothing = 0.2}), 1e-12)
    near(2.650899117182261, st.linear_cross_entropy(x[1], w, st.tensor(3))
           :item(), 1e-12)
  end)

  it("has classes of several dimensions", function()
    near(7.005965108476307, st.linear_cross_entropy(
      x, w:reshape(2, 2, 3), i64 {{2, 1}, {1, 2}},
      {linear_bias = b:reshape(2, 2), reduction = "sum"}):item(), 1e-12)
  end)

  it("says what does not fit", function()
    raises("input must have shape (N, features) or (features)", function()
      st.linear_cross_entropy(x, w:t(), i64 {2, 4})
    end)
    raises("linear_bias must have the shape of linear_weight", function()
      st.linear_cross_entropy(x, w, i64 {2, 4}, {linear_bias = b:view(2, 2)})
    end)
    raises("ignore_index is for targets that are classes", function()
      st.linear_cross_entropy(x, w, st.ones({2, 4}, F64), {ignore_index = 1})
    end)
  end)
end)
