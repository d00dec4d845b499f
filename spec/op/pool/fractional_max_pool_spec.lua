--- Maxima of windows at random places. The numbers are PyTorch's 2.15.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

local IMAGE = st.arange(36, {dtype = "float32"}):reshape(1, 1, 6, 6)
local SAMPLES = st.tensor {{{0.2, 0.9}}}

describe("fractional_max_pool", function()
  local before
  setup(function() before = live() end)

  it("draws PyTorch's places for a seed", function()
    st.manual_seed(5)
    local y, at = st.fractional_max_pool2d_with_indices(IMAGE, 2, 3)
    near({{{{7, 9, 11}, {19, 21, 23}, {31, 33, 35}}}}, y)
    near(y + 1, at)
    st.manual_seed(5)
    near(y, st.fractional_max_pool2d(IMAGE, 2, 3))
    st.manual_seed(5)
    near({{{{6, 8, 9, 11}, {18, 20, 21, 23}, {30, 32, 33, 35}}}},
         st.fractional_max_pool2d(IMAGE, {2, 1}, {output_ratio = {0.5, 0.7}}))
    st.manual_seed(5)
    near({{{{21, 23}, {29, 31}}, {{53, 55}, {61, 63}}}},
         st.fractional_max_pool3d(st.arange(64, {dtype = "float32"})
           :reshape(1, 4, 4, 4), 2, 2))
  end)

  it("takes the places of given samples", function()
    local want = {{{{7, 9, 11}, {13, 15, 17}, {19, 21, 23}, {31, 33, 35}}}}
    near(want, (st.fractional_max_pool2d(IMAGE, 2, {4, 3}, SAMPLES)))
    near(want, st.fractional_max_pool2d(IMAGE, 2, {
      output_size = {4, 3}, _random_samples = SAMPLES}))
    near(want[1], st.fractional_max_pool2d(IMAGE[1], 2, {
      output_size = {4, 3}, _random_samples = SAMPLES}))
  end)

  it("finds the last NaN of a window", function()
    local x = IMAGE:clone()
    x[1][1][3][3], x[1][1][3][4] = 0 / 0, 0 / 0
    local _, at = st.fractional_max_pool2d(x, 2, {4, 3}, SAMPLES)
    near({{{{8, 10, 12}, {14, 16, 18}, {20, 16, 24}, {32, 34, 36}}}}, at)
  end)

  it("refuses what does not fit", function()
    local pool = st.fractional_max_pool2d
    raises("3 windows of size 5 do not fit dimension 2 from the end of self",
           pool, IMAGE, 5, 3)
    raises("output_size or output_ratio must be given", pool, IMAGE, 2)
    raises("output_ratio must be from 0 to 1, not 2", pool, IMAGE, 2,
           {output_ratio = 2})
    raises("random_samples must have shape [1, 1, 2], not [1, 2]", pool, IMAGE,
           2, 3, SAMPLES[1])
    raises("random_samples must be float32, as self is, not float64", pool,
           IMAGE, 2, 3, SAMPLES:to "float64")
    raises("random_samples must be from 0 to 1, one is 1.5", pool, IMAGE, 2, 3,
           SAMPLES + 1.3)
    raises("not implemented for dtype int64", pool, IMAGE:to "int64", 2, 3)
    assert.same({0, 1, 3, 3}, pool(IMAGE:slice(1, 1, 0), 2, 3):size())
  end)

  it("keeps windows inside where float16 has no number", function()
    local image = st.zeros({1, 1, 70000, 1}, {dtype = "float16"})
    local samples = st.full({1, 1, 2}, 0.5, {dtype = "float16"})
    local _, at = st.fractional_max_pool2d(image, 1, {3, 1}, samples)
    assert.same({70000, 70000, 70000}, at:flatten():totable())
  end)

  teardown(function() assert.equal(before, live()) end)
end)
