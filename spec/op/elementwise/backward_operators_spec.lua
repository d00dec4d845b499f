--- The operators that gradients are made of: those of activations, of views,
-- of what selects elements, and of layers.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack

local nan, inf = 0 / 0, math.huge

local f64, i64, live = tensors.f64, tensors.i64, tensors.live
local raises = tensors.raises

local function near(t, want, tolerance)
  tensors.elements_near(t, want, tolerance, 1)
end

-- -- Activations -------------------------------------------------------------

local G, X = {1, 2, 3, 4}, {-2, -0.5, 0.25, 1.5}
local S = {0.1, 0.2, 0.5, 0.9}

-- operator, what comes behind the gradient, PyTorch's answer
local ACTIVATIONS = {
  {"threshold_backward", {X, 0.25}, {0, 0, 0, 4}},
  {"silu_backward", {X},
   {-0.0907842487849, 0.520077625395, 1.87113006471, 4.1651766172}},
  {"mish_backward", {X},
   {-0.10835509242, 0.579021355827, 2.26251800316, 4.35395194003}},
  {"gelu_backward", {X},
   {-0.0852318010782, 0.265009750688, 2.08612006465, 4.50987676892}},
  {"gelu_backward", {X, {approximate = "tanh"}},
   {-0.0860992566236, 0.265260192931, 2.08606228545, 4.51084317261}},
  {"elu_backward", {1.5, 1.1, 0.7, false, X},
   {0.284819493353, 1.62782948725, 3.3, 4.4}},
  {"elu_backward", {1, 1, 1, true, {-0.5, 0, 1, 2}}, {0.5, 2, 3, 4}},
  {"leaky_relu_backward", {X, 0.25, false}, {0.25, 0.5, 3, 4}},
  {"hardtanh_backward", {X, -0.5, 1.5}, {0, 0, 3, 0}},
  {"softplus_backward", {X, 2, 20},
   {0.0179862099621, 0.53788284274, 1.86737799361, 3.81029650729}},
  {"softplus_backward", {X, 2, 1},
   {0.0179862099621, 0.53788284274, 1.86737799361, 4}},
  {"softplus_backward", {{-1000, 1000, 0, 0}, 1, 1e9}, {0, 2, 1.5, 2}},
  {"log_sigmoid_backward", {X},
   {0.880797077978, 1.2449186624, 1.31347049734, 0.729702095225}},
  {"log_sigmoid_backward", {{-1000, 1000, 0, inf}}, {1, 0, 1.5, 0}},
  {"hardsigmoid_backward", {{-3, -1, 1, 3}},
   {0, 0.333333343267, 0.500000014901, 0}},
  {"hardswish_backward", {X}, {-1 / 6, 2 / 3, 1.75, 4}},
  {"hardshrink_backward", {X, 0.5}, {1, 0, 0, 4}},
  {"softshrink_backward", {X, 0.25}, {1, 2, 0, 4}},
  {"logit_backward", {{0.1, 0.5, 0.9, 2}}, {100 / 9, 8, 100 / 3, nan}},
  {"logit_backward", {{0.1, 0.5, 0.9, 2}, 0.2}, {0, 8, 0, 0}},
  {"sigmoid_backward", {S}, {0.09, 0.32, 0.75, 0.36}},
  {"tanh_backward", {S}, {0.99, 1.92, 2.25, 0.76}},
}

local TOLERANCE = {float64 = 1e-11, float32 = 2e-6, float16 = 2e-3,
                   bfloat16 = 2e-2}

local function arguments(list, dtype)
  local out = {}
  for i, v in ipairs(list) do
    out[i] = type(v) == "table" and #v > 0 and
             st.tensor(v, {dtype = dtype}) or v
  end
  return out
end

describe("the gradient of an activation", function()
  local before = live()

  for i, row in ipairs(ACTIVATIONS) do
    it(("is right: %s, row %d"):format(row[1], i), function()
      for dtype, tolerance in pairs(TOLERANCE) do
        local args = arguments(row[2], dtype)
        local got = st[row[1]](st.tensor(G, {dtype = dtype}), unpack(args))
        assert.equal(dtype, tostring(got.dtype))
        near(got, row[3], tolerance)
      end
    end)
  end

  -- x, and the slope at it, of float64 and to float32, by mpmath
  local GELU = {
    {-36.7, -4.9182029005074431e-292, 0},
    {-30.3, -5.26222561242645205e-199, 0},
    {-12.3, -6.85090094979213631e-33, -6.85088498496286832e-33},
    {-8.7, -1.2556036223259219e-16, -1.25560567762196457e-16},
    {-4.1, -0.000345315287513698476, -0.000345315413586139712},
    {-1.3, -0.125978685076539233, -0.12597868254337636},
    {-0.4, 0.197270202268346495, 0.197270198229434116},
    {0.6, 0.925681643985006189, 0.925681657014303555},
    {2.7, 1.02466955019590033, 1.02466954756725239},
  }
  it("of gelu is right to the last digits far below 0", function()
    for column, dtype in pairs {[2] = "float64", [3] = "float32"} do
      local eps = dtype == "float64" and 2 ^ -52 or 2 ^ -23
      for _, row in ipairs(GELU) do
        local x = st.tensor({row[1]}, {dtype = dtype})
        local got, want = st.gelu_backward(st.ones_like(x), x)[1], row[column]
        assert.near(want, got, 4 * eps * math.abs(want), dtype .. row[1])
      end
    end
  end)

  it("reads strided and expanded tensors as they are", function()
    local g = f64({{1, 2}, {3, 4}})
    local x = f64({{-1, 2}, {3, -4}})
    near(st.threshold_backward(g:t(), x, 0), {0, 3, 2, 0}, 0)
    near(st.threshold_backward(f64 {5}:expand(2, 2), x, 0), {0, 5, 5, 0}, 0)
  end)

  it("is that of the conjugate for complex numbers", function()
    local y = st.tensor({st.complex(0.5, 1)}, {dtype = "complex128"})
    local got = st.tanh_backward(st.ones_like(y), y):item()
    assert.equal(1.75, got.re) -- 1 - y^2 is 1.75 - i
    assert.equal(1, got.im)
  end)

  it("does not come from a result that a slope has turned", function()
    assert.error_matches(function()
      st.leaky_relu_backward(f64 {1}, f64 {1}, -1, true)
    end, "leaky_relu_backward: negative_slope is negative")
    assert.error_matches(function()
      st.elu_backward(f64 {1}, -1, 1, 1, true, f64 {1})
    end, "elu_backward: alpha is negative")
  end)

  it("is for floats", function()
    assert.error_matches(function()
      st.silu_backward(i64 {1}, i64 {1})
    end, "silu_backward: not implemented for dtype int64")
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Softmax -----------------------------------------------------------------

--- The same, spelled out, in float64.
local function softmax_gradient(g, y, dim)
  g, y = g:to "float64", y:to "float64"
  return (g - (g * y):sum({dim}, true)) * y
end

local function log_softmax_gradient(g, y, dim)
  g, y = g:to "float64", y:to "float64"
  return g - y:exp() * g:sum({dim}, true)
end

describe("the gradient of softmax", function()
  local before = live()

  for dtype, tolerance in pairs(TOLERANCE) do
    it("is that of the formula, along any dimension: " .. dtype, function()
      st.manual_seed(1)
      for _, shape in ipairs {{3, 5}, {2, 33}, {1, 2100}, {4, 3, 2}} do
        for dim = 1, #shape do
          local g = st.randn(shape):to(dtype)
          local y = st.randn(shape):to(dtype):softmax(dim)
          near(st._softmax_backward_data(g, y, dim, dtype),
               softmax_gradient(g, y, dim):reshape(-1):totable(), tolerance)
          y = st.randn(shape):to(dtype):log_softmax(dim)
          near(st._log_softmax_backward_data(g, y, dim, dtype),
               log_softmax_gradient(g, y, dim):reshape(-1):totable(),
               4 * tolerance)
        end
      end
    end)
  end

  it("has the dtype of what softmax was given", function()
    local y = f64 {0.25, 0.75}
    local got = st._softmax_backward_data(f64 {1, 0}, y, 1, "float16")
    assert.equal("float16", tostring(got.dtype))
    near(got, {0.1875, -0.1875}, 1e-3)
  end)

  it("of a number is 0, and of nothing is nothing", function()
    near(st._softmax_backward_data(f64(3), f64(1), 1, "float64"), {0}, 0)
    local none = st.zeros(0, 3)
    assert.same({0, 3}, st._softmax_backward_data(none, none, 2,
                                                  "float32").shape)
  end)

  it("wants the two to be alike", function()
    assert.error_matches(function()
      st._softmax_backward_data(f64 {1, 2}, f64 {1}, 1, "float64")
    end, "_softmax_backward_data: output has shape %[1%], grad_output %[2%]")
    assert.error_matches(function()
      st._log_softmax_backward_data(f64 {1}, st.ones(1), 1, "float64")
    end, "output has dtype float32, grad_output float64")
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Views -------------------------------------------------------------------

-- sentence, call, result
local PARTS = {
  {"select_backward puts a slice among zeros",
   function() return st.select_backward(f64 {5, 6}, {2, 3}, 2, 3) end,
   {{0, 0, 5}, {0, 0, 6}}},
  {"select_backward counts from the end",
   function() return st.select_backward(f64 {5, 6}, {2, 2}, 1, -1) end,
   {{0, 0}, {5, 6}}},
  {"slice_backward puts a range among zeros",
   function() return st.slice_backward(f64 {5, 6}, {5}, 1, 2, 4, 2) end,
   {0, 5, 0, 6, 0}},
  {"slice_backward takes a range that is open",
   function()
     return st.slice_backward(f64 {5, 6}, {2}, 1, st.none, st.none, 1)
   end, {5, 6}},
  {"diagonal_backward puts a diagonal among zeros",
   function() return st.diagonal_backward(f64 {5, 6}, {2, 3}, 1, 1, 2) end,
   {{0, 5, 0}, {0, 0, 6}}},
  {"unfold_backward adds up windows that overlap",
   function() return st.unfold_backward(st.ones(4, 3), {6}, 1, 3, 1) end,
   {1, 2, 3, 3, 2, 1}},
  {"unfold_backward adds up few windows that are long",
   function()
     return st.unfold_backward(f64({{1, 2, 3}, {4, 5, 6}}), {5}, 1, 3, 2)
   end, {1, 2, 7, 5, 6}},
  {"unfold_backward leaves gaps at 0",
   function() return st.unfold_backward(st.ones(2, 1), {4}, 1, 1, 2) end,
   {1, 0, 1, 0}},
  {"unfold_backward goes along any dimension",
   function()
     return st.unfold_backward(st.ones(2, 2, 2), {2, 3}, 2, 2, 1)
   end, {{1, 2, 1}, {1, 2, 1}}},
  {"index_select_backward adds up what was selected twice",
   function()
     return st.index_select_backward(f64({{1, 2, 4}}), {1, 2}, 2,
                                     i64 {2, 1, 2})
   end, {{2, 5}}},
  {"masked_select_backward puts elements back",
   function()
     return st.masked_select_backward(f64 {5, 6}, st.zeros(2, 2),
                                      st.tensor {{true, false},
                                                 {false, true}})
   end, {{5, 0}, {0, 6}}},
  {"masked_select_backward sums over what was expanded",
   function()
     return st.masked_select_backward(f64 {5, 6, 7}, st.zeros(2),
                                      st.tensor {{true, true},
                                                 {false, true}})
   end, {5, 13}},
  {"value_selecting_reduction_backward puts values back",
   function()
     return st.value_selecting_reduction_backward(f64 {5, 6}, 2, i64 {3, 1},
                                                  {2, 3}, false)
   end, {{0, 0, 5}, {6, 0, 0}}},
  {"value_selecting_reduction_backward knows a kept dimension",
   function()
     return st.value_selecting_reduction_backward(f64({{5, 6}}), 1,
                                                  i64({{2, 1}}), {2, 2}, true)
   end, {{0, 6}, {5, 0}}},
  {"sum_to_size sums over what expand repeats",
   function() return f64({{1, 2}, {3, 4}}):sum_to_size(1, 2) end, {{4, 6}}},
  {"sum_to_size drops dimensions",
   function() return f64({{1, 2}, {3, 4}}):sum_to_size(2) end, {4, 6}},
  {"sum_to_size sums up everything",
   function() return f64({{1, 2}, {3, 4}}):sum_to_size({}):reshape(1) end,
   {10}},
  {"select_scatter writes a slice of a copy",
   function() return st.select_scatter(st.ones(2, 2), f64 {5, 6}, 2, 1) end,
   {{5, 1}, {6, 1}}},
  {"slice_scatter writes a range of a copy",
   function()
     return st.slice_scatter(st.ones(4), st.zeros(2), 1, 2, 3)
   end, {1, 0, 0, 1}},
  {"diagonal_scatter writes a diagonal of a copy",
   function() return st.diagonal_scatter(st.zeros(2, 2), f64 {5, 6}) end,
   {{5, 0}, {0, 6}}},
  {"as_strided_scatter writes where strides lead",
   function()
     return st.as_strided_scatter(st.zeros(2, 3), f64 {5, 6}, {2}, {3}, 1)
   end, {{0, 5, 0}, {0, 6, 0}}},
  {"as_strided_scatter follows the storage of a view",
   function()
     local whole = st.zeros(2, 3)
     return st.as_strided_scatter(whole:narrow(1, 2, 1), f64 {5}, {1}, {1}, 4)
   end, {{0, 5, 0}}},
  {"as_strided_scatter copies what is expanded",
   function()
     return st.as_strided_scatter(st.ones(1):expand(3), f64 {5}, {1}, {1}, 1)
   end, {1, 5, 1}},
}

-- call, what the error says
local WRONG = {
  {function() st.select_backward(f64 {1}, {2, 3}, 2, 1) end,
   "select_backward: grad_output has shape [1], but the view has shape [2]"},
  {function() st.slice_backward(f64 {1, 2, 3}, {5}, 1, 1, 2, 1) end,
   "slice_backward: grad_output has shape [3], but the view has shape [2]"},
  {function() st.diagonal_backward(f64 {1}, {2, 2}, 0, 1, 2) end,
   "diagonal_backward: grad_output has shape [1], but the view has shape " ..
   "[2]"},
  {function() st.unfold_backward(st.ones(3, 3), {6}, 1, 3, 1) end,
   "unfold_backward: grad_in has shape [3, 3]"},
  {function() st.select_scatter(st.ones(2, 2), f64 {1}, 1, 1) end,
   "select_scatter: src has shape [1]"},
  {function() st.select_scatter(st.ones(2, 2), f64 {1, 2}, 1, 3) end,
   "select_scatter: index 3 is out of range for shape [2, 2] at dimension 1"},
  {function() st.as_strided_scatter(st.ones(2), f64 {1}, {1}, {1}, 2) end,
   {"as_strided_scatter: shape [1] with strides [1] at offset 2 ",
    "needs a storage of 12 bytes, this one has 8"}},
  {function() st.ones(2, 3):sum_to_size(2) end,
   "sum_to_size: size [2] does not expand to self's shape [2, 3]"},
  {function() st.ones(3):sum_to_size(2, 3) end,
   "sum_to_size: size [2, 3] does not expand to self's shape [3]"},
}

describe("a part of a tensor", function()
  local before = live()

  for _, row in ipairs(PARTS) do
    it("is written as a function: " .. row[1], function()
      assert.same(row[3], row[2]():totable())
    end)
  end

  it("leaves its argument alone", function()
    local t = st.ones(2, 2)
    st.select_scatter(t, f64 {5, 6}, 1, 1)
    st.as_strided_scatter(t, f64 {5, 6}, {2}, {1})
    assert.same({{1, 1}, {1, 1}}, t:totable())
  end)

  it("has a shape on the meta device", function()
    local g = st.zeros({2, 3}, {device = "meta"})
    assert.same({4, 3}, st.slice_backward(g, {4, 3}, 1, 1, 2, 1).shape)
    assert.same({4}, st.unfold_backward(g, {4}, 1, 3, 1).shape)
    assert.same({2, 3}, st.select_scatter(g, g:select(1, 1), 1, 1).shape)
  end)

  for i, row in ipairs(WRONG) do
    it("must fit, row " .. i, function()
      raises(row[2], row[1])
    end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Layers ------------------------------------------------------------------

-- sentence, call, what it gives
local LAYERS = {
  {"constant_pad_nd_backward cuts the borders off",
   function()
     return {st.constant_pad_nd_backward(f64 {1, 2, 3, 4, 5}, {1, 2}),
             st.constant_pad_nd_backward(f64({{1, 2, 3}, {4, 5, 6}}),
                                         {0, 1, 1, 0})}
   end, {{2, 3}, {{4, 5}}}},
  {"_cdist_backward goes along the difference",
   function()
     return st._cdist_backward(f64({{10}}), f64({{3, 4}}), f64({{0, 0}}), 2,
                               f64({{5}}))
   end, {{6, 8}}},
  -- The normalised input is n = {-1, -1, 1, 1}. The gradient of the input is
  -- 2 * (g - mean(g) - n * mean(g * n)), that of the weight g * n.
  {"native_layer_norm_backward takes mean and slope out",
   function()
     return {st.native_layer_norm_backward(
       f64 {4, 0, 0, 0}, f64 {1.5, 1.5, 2.5, 2.5}, {4}, f64 {2}, f64 {2},
       f64 {1, 1, 1, 2}, f64 {0, 0, 0, 0})}
   end, {{4, -4, 0, 0}, {-4, 0, 0, 0}, {4, 0, 0, 0}}},
  {"im2col_backward adds up what is in several windows",
   function()
     return st.im2col_backward(f64({{{1, 2}, {3, 4}}}), {1, 1, 1, 3}, {1, 2},
                               1, 0, 1)
   end, {{{{1, 5, 4}}}}},
  {"_window_sum sums each window",
   function() return st._window_sum(f64({{{{1, 2, 4}}}}), {1, 2}, 1, 0, 1) end,
   {{{{3, 6}}}}},
  {"_window_sum_backward adds up what is in several windows",
   function()
     return st._window_sum_backward(f64({{{{1, 2}}}}), {1, 1, 1, 3}, {1, 2},
                                    1, 0, 1)
   end, {{{{1, 3, 2}}}}},
}

describe("the gradient of a layer", function()
  local before = live()

  for _, row in ipairs(LAYERS) do
    it("is a function: " .. row[1], function()
      assert.same(row[3], tensors.lists(row[2]()))
    end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
