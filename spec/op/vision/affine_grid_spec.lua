--- Grids of affine maps, images sampled by names of modes, and columns folded
-- to images. The numbers are PyTorch's 2.15, for sin(0.7 k + 0.3), k = 0, ...
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

describe("Grids", function()
  local before
  setup(function() before = live() end)

  it("of affine maps", function()
    local theta = waves(1, 2, 3)
    near({{{{0.37391585, -1.082957}, {0.57092932, -0.63264822},
            {0.76794279, -0.18233944}},
           {{1.2153868, -1.0413763}, {1.4124003, -0.59106756},
            {1.6094138, -0.14075877}}}},
         st.affine_grid(theta, {1, 1, 2, 3}), 1e-7)
    near({{{{-0.14532638, -1.3289017}, {0.15019383, -0.65343855},
            {0.44571403, 0.022024627}},
           {{1.5376156, -1.2457404}, {1.8331358, -0.57027723},
            {2.128656, 0.10518595}}}},
         st.affine_grid_generator(theta, {1, 1, 2, 3}, true), 1e-7)
    near({{{{{0.10696758, -0.59831604, 1.0205259},
             {0.40248779, -0.55673538, 0.64664923}},
            {{0.94843857, -1.2101739, 1.3320673},
             {1.2439588, -1.1685933, 0.9581906}}}}},
         st.affine_grid(waves(1, 3, 4), {1, 1, 1, 2, 2}), 1e-7)
    -- a dimension of one pixel is at 0
    near({{{{theta[1][1][3], theta[1][2][3]}}}},
         st.affine_grid(theta, {1, 1, 1, 1}, true))
  end)

  it("sample images, the modes by name", function()
    local grid = st.affine_grid(waves(1, 2, 3), {1, 1, 2, 3})
    local x = waves(1, 1, 3, 3)
    near({{{{1.2089832, 0.91932921, -0.29094312},
            {1.320299, 0.83655643, -0.12249177}}}},
         st.grid_sample(x, grid, "bicubic", "reflection"), 1e-7)
    near(st.grid_sampler(x, grid, 1, 1, true),
         st.grid_sample(x, grid, {mode = "nearest", padding_mode = "border",
                                  align_corners = true}))
    raises("mode must be 'bilinear', 'nearest' or 'bicubic', not 'linear'",
           st.grid_sample, x, grid, "linear")
    raises("padding_mode must be 'zeros', ", st.grid_sample, x, grid, nil, "0")
  end)

  it("refuse maps of other images", function()
    raises("theta must have shape [2, 2, 3] for images over 2 dimensions, not "
           .. "[1, 2, 3]", st.affine_grid, waves(1, 2, 3), {2, 1, 2, 3})
    raises("size must have 4 or 5 entries, it has 3", st.affine_grid,
           waves(1, 2, 3), {1, 2, 3})
    raises("size must be positive", st.affine_grid, waves(1, 2, 3),
           {1, 1, 0, 3})
    raises("theta must have a floating point dtype", st.affine_grid,
           st.ones(1, 2, 3):to "int64", {1, 1, 2, 2})
  end)

  teardown(function() assert.equal(before, live()) end)
end)

describe("fold", function()
  it("adds columns to images", function()
    near({{{{1, 2, 1}, {2, 4, 2}, {1, 2, 1}}}},
         st.fold(st.ones(1, 4, 4), 3, 2))
    local x = waves(1, 2, 5, 4)
    local columns = st.im2col(x, {2, 2}, {1, 2}, {1, 0}, {2, 1})
    near(st.col2im(columns, {5, 4}, {2, 2}, {1, 2}, {1, 0}, {2, 1}),
         st.fold(columns, {5, 4}, 2, {1, 2}, {1, 0}, {2, 1}))
  end)
end)
