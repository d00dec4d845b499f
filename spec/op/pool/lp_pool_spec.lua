--- Norms of windows, and max_unpool1d. The numbers are PyTorch's 2.15, for
-- sin(0.7 k + 0.3), k = 0, 1, ...
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

local function waves(...)
  local n = 1
  for _, size in ipairs {...} do n = n * size end
  local x = st.arange(n, {dtype = "float64"})
  return (x * 0.7 + 0.3):sin():reshape {...}
end

describe("Norms of windows", function()
  local before
  setup(function() before = live() end)

  it("over one to three dimensions", function()
    local y = st.lp_pool1d(waves(1, 6), 3, 3, 2, true)
    near({{1.16883512, 1.08674296}}, y:slice(2, 1, 2), 1e-8)
    -- the sum of cubes is negative, so it has no root
    assert.is_true(y[1][3] ~= y[1][3])
    near({{{1.76365214}}}, st.lp_pool2d(waves(1, 3, 4), 2, {2, 3}), 1e-8)
    near({{{{2.05132988}, {1.93769518}}}},
         st.lp_pool3d(waves(1, 2, 3, 2), 2, 2, 1), 1e-8)
  end)

  it("of 0 have no gradient", function()
    local x = st.zeros({1, 2}, {dtype = "float64"}):requires_grad_()
    st.lp_pool1d(x, 1, 2):sum():backward()
    near({{0, 0}}, x.grad)
  end)

  teardown(function() assert.equal(before, live()) end)
end)

describe("max_unpool1d", function()
  local x = st.tensor {{{1, 2}}}
  local at = st.tensor({{{2, 4}}}, {dtype = "int64"})

  it("puts elements where max_pool1d found them", function()
    near({{{0, 1, 0, 2}}}, st.max_unpool1d(x, at, 2))
    near({{0, 1, 0, 2}}, st.max_unpool1d(x[1], at[1], 2))
    near({{{0, 1, 0, 2, 0}}}, st.max_unpool1d(x, at, 2, {output_size = 5}))
    near({{{0, 1, 0, 2, 0}}},
         st.max_unpool1d(x, at, 2, {output_size = {1, 1, 5}}))
    near({{{0, 1, 0, 2, 0}}}, st.max_unpool1d(x, at, 3, 2))
    near({{{0, 1, 0, 2}}}, st.max_unpool1d(x, at, 3, 3, 1))
  end)

  it("refuses what no pooling gives", function()
    raises("output_size must have one entry, more than 2 and less than 6",
           st.max_unpool1d, x, at, 2, {output_size = 6})
    raises("index 4 is out of range", st.max_unpool1d, x, at, 1)
    raises("self must have 2 dimensions, or 3", st.max_unpool1d,
           st.ones(2), at, 2)
    local function huge(dtype)
      return st.empty({1, 2 ^ 32 + 2}, {device = "meta", dtype = dtype})
    end
    raises("the size of the result is too large", st.max_unpool1d,
           huge "float32", huge "int64", 2 ^ 31 - 1, 2 ^ 31 - 1, 0, {5})
  end)
end)
