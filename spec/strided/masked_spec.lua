--- st.masked. The numbers are those of torch.masked of PyTorch 2.15, for the
-- same input and mask.
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, lists, near, raises = tensors.f64, tensors.lists, tensors.near,
  tensors.raises

local masked, huge = st.masked, math.huge

local x = f64 {{1.5, -2, 3, 0.5}, {4, 0, -1, 2}, {7, 8, 9, -3}}
local m = st.tensor {{1, 0, 1, 1}, {0, 0, 0, 0}, {0, 1, 0, 1}}:to "bool"

--- Near, where NaN and infinities are themselves.
local function same(want, got)
  near(want:nan_to_num(0, 1, -1), got:nan_to_num(0, 1, -1), 1e-14)
  assert.is_true(want:isnan():equal(got:isnan()))
  assert.is_true(want:isinf():equal(got:isinf()))
end

-- name, along dimension 2, over all
local ROWS = {
  {"sum", {5, 0, 5}, 10}, {"prod", {2.25, 1, -24}, -54},
  {"amax", {3, -huge, 8}, 8}, {"amin", {0.5, huge, -3}, -3},
  {"mean", {5 / 3, 0 / 0, 2.5}, 2},
  {"var", {1.5833333333333335, 0 / 0, 60.5}, 16.125},
  {"std", {1.2583057392117918, 0 / 0, 7.7781745930520225}, 16.125 ^ 0.5},
  {"logsumexp", {3.2663678998071335, -huge, 8.000016701561318},
   8.008772580411968},
}

local LINES = {
  cumsum = {{1.5, 1.5, 4.5, 5}, {0, 0, 0, 0}, {0, 8, 8, 5}},
  cumprod = {{1.5, 1.5, 4.5, 2.25}, {1, 1, 1, 1}, {1, 8, 8, -24}},
  softmax = {{0.17095278019779026, 0, 0.7661572065563422, 0.0628900132458675},
             {0 / 0, 0 / 0, 0 / 0, 0 / 0},
             {0, 0.999983298578152, 0, 1.6701421848095184e-05}},
  log_softmax = {{-1.7663678998071337, -huge, -0.26636789980713366,
                  -2.7663678998071335}, {0 / 0, 0 / 0, 0 / 0, 0 / 0},
                 {-huge, -1.670156131830428e-05, -huge, -11.000016701561318}},
  softmin = {{0.25371618163502524, 0, 0.056611732240471294,
              0.6896720861245036}, {0 / 0, 0 / 0, 0 / 0, 0 / 0},
             {0, 1.6701421848095184e-05, 0, 0.999983298578152}},
}

describe("A masked reduction", function()
  for _, row in ipairs(ROWS) do
    it("counts what the mask selects: " .. row[1], function()
      local f = masked[row[1]]
      same(f64(row[2]), f(x, 2, {mask = m}))
      same(f64(row[2]):view(3, 1), f(x, {2}, {mask = m, keepdim = true}))
      same(f64(row[3]), f(x, {mask = m}))
      -- all of them without a mask
      local all = st.ones({3, 4}, {dtype = "bool"})
      same(f(x, 1), f(x, 1, {mask = all}))
    end)
  end

  it("gives positions", function()
    assert.same({3, 1, 2}, lists(masked.argmax(x, 2, {mask = m})))
    assert.same({3, 0, 3}, lists(masked.argmin(x, 2, {mask = m, base = 0})))
    assert.same(10, lists(masked.argmax(x, {mask = m})))
    assert.same(12, lists(masked.argmin(x, {mask = m})))
  end)

  it("gives medians and norms", function()
    same(f64 {1.5, 0 / 0, -3}, masked.median(x, {mask = m}))
    for ord, want in pairs {
      [2] = {3.391164991562634, 0, 8.54400374531753}, [1] = {5, 0, 11},
      [huge] = {3, 0, 8}, [-huge] = {0.5, huge, 3}, [0] = {3, 0, 2},
    } do
      same(f64(want), masked.norm(x, ord, 2, {mask = m}))
    end
    near(masked.norm(x, {mask = m}):item(), 84.5 ^ 0.5, 1e-14)
    same(f64 {{0.4423258684646914, 0, 0.8846517369293828,
               0.14744195615489714}, {0, 0, 0, 0},
              {0, 0.9363291775690445, 0, -0.3511234415883917}},
         masked.normalize(x, 2, 2, {mask = m}))
  end)

  it("leaves out what does not count of norms of negative orders", function()
    local t, mask = f64 {1, 0, 4}, st.tensor {true, false, true}
    assert.near(0.8, st.masked.norm(t, -1, {mask = mask}):item(), 1e-15)
    assert.same(1, st.masked.norm(t, -1 / 0, {mask = mask}):item())
  end)

  it("adds logarithms of integers", function()
    local t = st.tensor {1, 2}
    local y = st.masked.logaddexp(t, t, {input_mask = st.tensor {true, false}})
    assert.equal("float32", y.dtype)
    near({1 + math.log(2), 2}, y:totable(), 1e-6)
  end)

  it("adds logarithms", function()
    same(f64 {{1.5, -4, 3, 0.5}, {8, 0, -2, 4}, {14, 8, 18, -3}},
         masked.logaddexp(x, x * 2, {input_mask = m,
                                     other_mask = m:logical_not()}))
  end)

  it("names the mask of logarithms that does not fit", function()
    local t = st.ones {2}
    raises("masked.logaddexp: option 'other_mask' must be a Tensor of dtype "
           .. "bool, got float32", masked.logaddexp, t, t, {other_mask = t})
    raises("masked.logaddexp: option 'input_mask' of shape {3} does not "
           .. "broadcast to the input, shape {2}", masked.logaddexp, t, t,
           {input_mask = st.ones({3}, {dtype = "bool"})})
    raises("masked.logaddexp: argument 'other' must be a Tensor, got number",
           masked.logaddexp, t, 1)
  end)

  for name, want in pairs(LINES) do
    it("goes along a dimension: " .. name, function()
      same(f64(want), masked[name](x, 2, {mask = m}))
    end)
  end

  it("broadcasts the mask, of integers too", function()
    local i, k = st.tensor {{1, 2}, {3, 4}}, st.tensor {true, false}
    for _, name in ipairs {"sum", "prod", "amax", "amin"} do
      local out = masked[name](i, 2, {mask = k})
      assert.same({1, 3}, lists(out))
      assert.equal("int64", out.dtype)
    end
    assert.same({0, 0}, lists(masked.var(i, 2, {mask = k, unbiased = false})))
    assert.equal("float32", masked.mean(i, {mask = k, dtype = "float32"}).dtype)
  end)

  it("passes no gradient to the others", function()
    local w = x:clone():requires_grad_()
    masked.sum(w * 2, {mask = m}):backward()
    assert.same(lists(m:to "float64" * 2), lists(w.grad))
  end)

  it("refuses other masks and options", function()
    raises({"masked.sum: option 'mask' must be a Tensor of dtype bool, got " ..
            "float64"}, masked.sum, x, {mask = x})
    raises({"masked.amax: argument 'input' must be a Tensor, got number"},
           masked.amax, 1)
    raises({"masked.mean: the elements must be floating-point or complex, " ..
            "got int64"}, masked.mean, st.arange(3))
    raises({"masked.softmin: the elements must be floating-point"},
           masked.softmin, st.arange(3), 1)
    raises({"masked.softmax: argument 'dim' must be a dimension, got nil"},
           masked.softmax, x)
    raises({"masked.normalize: argument 'ord' must be a number, got nil"},
           st.masked.normalize, f64 {1, 2})
    raises({"masked.prod: there is no option 'maks': did you mean mask?"},
           masked.prod, x, {maks = m})
    raises({"masked.sum: option 'mask' of shape {2} does not broadcast to the "
            .. "input, shape {3, 4}"}, masked.sum, x,
           {mask = st.tensor {true, false}})
    raises({"masked.prod: dimension 1 appears twice in argument 'dim'"},
           masked.prod, x, {1, 1})
  end)
end)
