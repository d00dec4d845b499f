--- Losses of margins between classes, and of a normal distribution: each
-- against its formula, number by number; what is refused.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local log, max, pi = math.log, math.max, math.pi
local ipairs, pairs = ipairs, pairs

local f64, i64, lists = tensors.f64, tensors.i64, tensors.lists
local live, near = tensors.live, tensors.near

local ROWS = {{0.3, 1.7, -0.4}, {2.1, 1.9, 0.2}}

--- The loss of one row x with class y.
local function multi(x, y, p, margin, weight)
  local total = 0
  for j, xj in ipairs(x) do
    if j ~= y then total = total + max(0, margin - x[y] + xj) ^ p end
  end
  return total * (weight and weight[y] or 1) / #x
end

--- The loss of one row x, whose classes y are those up to one below 1.
local function multilabel(x, y)
  local own, total = {}, 0
  for _, class in ipairs(y) do
    if class < 1 then break end
    own[class] = true
  end
  for class in pairs(own) do
    for j, xj in ipairs(x) do
      if not own[j] then total = total + max(0, 1 - x[class] + xj) end
    end
  end
  return total / #x
end

describe("A loss of margins", function()
  local before
  setup(function() before = live() end)

  it("is the mean excess of the other classes: multi_margin_loss", function()
    local weight = {0.5, 2, 3}
    for p = 1, 2 do
      for _, w in ipairs {false, weight} do
        local want = {multi(ROWS[1], 3, p, 0.8, w),
                      multi(ROWS[2], 1, p, 0.8, w)}
        local function loss(reduction)
          return st.multi_margin_loss(f64(ROWS), i64 {3, 1}, p, 0.8,
                                      w and f64(w) or nil, reduction)
        end
        near(want, lists(loss "none"))
        near(want[1] + want[2], loss "sum":item())
        near((want[1] + want[2]) / 2, loss "mean":item())
      end
    end
  end)

  it("is one number for one sample: multi_margin_loss", function()
    local x, want = f64(ROWS[1]), multi(ROWS[1], 2, 1, 1)
    local options = {reduction = "none"}
    near(want, st.multi_margin_loss(x, i64(2), options):item())
    assert.same({}, st.multi_margin_loss(x, i64(2), options):size())
    assert.same({1}, st.multi_margin_loss(x, i64 {2}, options):size())
    near(want, st.multi_margin_loss(x, i64(1), {base = 0}):item())
    assert.equal(0, st.multi_margin_loss(f64(4), i64(1)):item())
  end)

  it("is over pairs of classes: multilabel_margin_loss", function()
    for _, classes in ipairs {{{3, 1, 0}, {2, 0, 3}}, {{0, 1, 2}, {1, 2, 3}},
                              {{-1, 2, 2}, {3, 2, -7}}} do
      local want = {}
      for i, y in ipairs(classes) do want[i] = multilabel(ROWS[i], y) end
      near(want, lists(st.multilabel_margin_loss(f64(ROWS), i64(classes),
                                                 "none")))
      near((want[1] + want[2]) / 2,
           st.multilabel_margin_loss(f64(ROWS), i64(classes)):item())
      near(want[1], st.multilabel_margin_loss(f64(ROWS[1]),
                                              i64(classes[1])):item())
    end
  end)

  it("is the mean over labels: multilabel_soft_margin_loss", function()
    local x, y = f64(ROWS), f64 {{1, 0, 1}, {0, 0, 1}}
    local each = st.binary_cross_entropy_with_logits(x, y, {reduction = "none"})
    near(lists(each:mean(2)),
         lists(st.multilabel_soft_margin_loss(x, y, {reduction = "none"})))
  end)

  it("of a normal distribution has its formula", function()
    local x, y, var = f64 {0.5, 2}, f64 {1, -1}, f64 {0.3, 1e-9}
    local want = {(log(0.3) + 0.25 / 0.3) / 2 + log(2 * pi) / 2,
                  (log(1e-3) + 9 / 1e-3) / 2 + log(2 * pi) / 2}
    near(want, lists(st.gaussian_nll_loss(x, y, var, true, 1e-3, "none")))
  end)

  it("of a normal distribution has the gradient of the variance used",
     function()
    local var = f64 {1e-9}:requires_grad_()
    st.gaussian_nll_loss(f64 {2}, f64 {-1}, var, {eps = 1e-3}):backward()
    near(0.5 * (1e3 - 9e6), var.grad:item(), 1e-3)
  end)

  it("leaves nothing behind", function() assert.is_true(live() <= before) end)
end)

-- operator, arguments, what the message says
local REFUSALS = {
  {"multi_margin_loss", function() return f64(ROWS), i64 {1} end,
   "target has shape [1], which does not match self of shape [2, 3]"},
  {"multi_margin_loss", function() return f64(ROWS), i64 {1, 4} end,
   "class 4 is out of range for 3 classes; classes count from 1"},
  {"multi_margin_loss", function() return f64(ROWS), i64 {1, 2}, 3 end,
   "p must be 1 or 2, it is 3"},
  {"multi_margin_loss", function() return f64(ROWS), f64 {1, 2} end,
   "target must hold classes of an integer dtype, not float64"},
  {"multi_margin_loss",
   function() return f64(ROWS), i64 {1, 2}, 1, 1, f64 {1} end,
   "weight must be a vector of 3 classes, its shape is [1]"},
  {"multi_margin_loss", function() return f64 {ROWS}, i64 {1, 2} end,
   "self must have at most 2 dimensions and at least 1 class"},
  {"multilabel_margin_loss", function() return f64(ROWS), i64 {1, 2} end,
   "target has shape [2], which does not match self of shape [2, 3]"},
  {"multilabel_margin_loss",
   function() return f64(ROWS[1]), i64 {1, 5, 0} end,
   "class 5 is out of range for 3 classes; classes count from 1"},
  {"gaussian_nll_loss", function() return f64(ROWS), f64(ROWS), f64 {1} end,
   "var has shape [1], which does not match input of shape [2, 3]"},
  {"gaussian_nll_loss",
   function() return f64 {1, 2}, f64 {1, 2}, f64 {1, -1e-9} end,
   "var must not be negative"},
}

describe("A loss of margins refuses", function()
  for _, row in ipairs(REFUSALS) do
    it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end
end)
