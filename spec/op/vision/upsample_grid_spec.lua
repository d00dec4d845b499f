--- Images of another size, and images read at any points.
-- axes: isa

local images = require "spec.support.images"
local st = require "strided"
local tensors = require "spec.support.tensors"

local flat, lists, whole = images.flat, tensors.lists, images.whole
local f64, live, near = tensors.f64, tensors.live, tensors.near
local raises = tensors.raises

-- -- Another size ------------------------------------------------------------

local LINE = {1, 2, 4, 8}

-- operator, arguments, the line
local LINES = {
  {"upsample_nearest1d", {6}, {1, 1, 2, 4, 4, 8}},
  {"upsample_nearest1d", {3}, {1, 2, 4}},
  {"_upsample_nearest_exact1d", {6}, {1, 2, 2, 4, 8, 8}},
  {"_upsample_nearest_exact1d", {3}, {1, 4, 8}},
  {"upsample_linear1d", {6, false}, {1, 1.5, 7 / 3, 11 / 3, 6, 8}},
  {"upsample_linear1d", {7, true}, {1, 1.5, 2, 3, 4, 6, 8}},
  {"upsample_linear1d", {2, false}, {1.5, 6}},
  {"upsample_linear1d", {1, true}, {1}},
  {"upsample_linear1d", {4, false}, {1, 2, 4, 8}},
  {"upsample_linear1d", {2, false, 0.6}, {4 / 3, 4}},
  {"upsample_linear1d", {5, false, 1.3},
   {1, 1.6538461538, 2.8461538462, 4.7692307692, 7.8461538462}},
  {"upsample_bicubic2d", {{1, 6}, false},
   {0.9131944444, 1.3125, 2.3043981481, 3.3831018519, 6.1875, 8.3472222222}},
  {"upsample_bicubic2d", {{1, 7}, true},
   {1, 1.3125, 2, 2.71875, 4, 6.1875, 8}},
}

local unpack = unpack or table.unpack

describe("A line of another size:", function()
  for _, row in ipairs(LINES) do
    it(("%s to %d places"):format(row[1], #row[3]), function()
      local x = f64(LINE)
      x = row[1]:find "2d" and x:view(1, 1, 1, 4) or x:view(1, 1, 4)
      near(row[3], (flat(st[row[1]](x, unpack(row[2])))), 1e-9)
    end)
  end
end)

-- by dimensions: the operator, and that of one dimension
local KINDS = {
  {"upsample_nearest%dd", "upsample_nearest1d"},
  {"_upsample_nearest_exact%dd", "_upsample_nearest_exact1d"},
  {{"upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"},
   "upsample_linear1d", true},
}

describe("Resampling", function()
  local before

  setup(function() before = live() end)

  for _, kind in ipairs(KINDS) do
    for n = 1, 3 do
      local name = type(kind[1]) == "table" and kind[1][n] or
                   kind[1]:format(n)

      it("goes dimension by dimension: " .. name, function()
        local x = whole(unpack({2, 3, 4, 5, 3}, 1, 2 + n))
        local size = {unpack({7, 3, 5}, 1, n)}
        local aligned = kind[3] and {false} or {}
        local want = x
        for d = 1, n do
          local line = want:transpose(2 + d, -1)
          local shape = line:size()
          line = st[kind[2]](line:reshape(-1, 1, shape[#shape]), size[d],
                             unpack(aligned))
          shape[#shape] = size[d]
          want = line:view(shape):transpose(2 + d, -1)
        end
        local got = st[name](x, size, unpack(aligned))
        assert.same(want:size(), got:size())
        assert.is_true((got - want):abs():max():item() < 1e-13)
        local turned = x:transpose(1, -1):contiguous():transpose(1, -1)
        assert.is_true(st[name](turned, size, unpack(aligned)):equal(got))
      end)

      it("takes factors instead: " .. name, function()
        local x = whole(unpack({1, 2, 4, 6, 2}, 1, 2 + n))
        local vec = st.ops.aten[name].vec
        local o = {scale_factors = {unpack({2, 1.5, 3}, 1, n)}}
        local size = {unpack({8, 9, 6}, 1, n)}
        local y = vec(x, o)
        assert.same(size, {unpack(y:size(), 3)})
        local want = st[name](x, size)
        assert.is_true((want - y):abs():max():item() < 1e-12)
        assert.is_true(vec(x, {output_size = size}):equal(want))
      end)
    end
  end

  it("of fewer rows than there are gives the bits of more", function()
    local x = whole(2, 3, 40, 7)
    for _, dtype in ipairs {"float64", "float32", "float16"} do
      for _, name in ipairs {"upsample_bilinear2d", "upsample_bicubic2d"} do
        local t = (x / 7):to(dtype)
        -- halves are computed in float32 (half_sums_spec)
        local want = st[name](dtype == "float16" and t:float() or t, {40, 9},
                              false)
        want = st[name](want, {4, 9}, false):to(dtype)
        assert.is_true(st[name](t, {4, 9}, false):equal(want))
      end
      local doubled = st.upsample_nearest2d(x:to(dtype), {4, 14})
      assert.is_true(doubled:equal(x:to(dtype):index_select(
        3, st.arange(4, {dtype = st.int64}) * 10 + 1)
        :repeat_interleave(2, 4)))
    end
  end)

  it("to the same size is a copy", function()
    local x = whole(1, 2, 3, 3)
    for _, name in ipairs {"upsample_bilinear2d", "upsample_bicubic2d"} do
      local y = st[name](x, {3, 3}, false)
      assert.is_true(y:equal(x))
      y:zero_()
    end
    assert.is_true(x:equal(whole(1, 2, 3, 3)))
  end)

  for _, dtype in ipairs {"float32", "float16", "bfloat16"} do
    it("keeps " .. dtype, function()
      local x = whole(1, 1, 3, 3):to(dtype)
      local y = st.upsample_bilinear2d(x, {6, 6}, false)
      assert.equal(dtype, tostring(y.dtype))
      local want = st.upsample_bilinear2d(x:to "float64", {6, 6}, false)
      assert.is_true((y:to "float64" - want):abs():max():item() < 0.1)
    end)
  end

  it("to the nearest place takes any dtype", function()
    for _, dtype in ipairs {"bool", "uint8", "int64", "complex64"} do
      local x = whole(1, 1, 3):abs():to(dtype)
      local y = st.upsample_nearest1d(x, 6)
      assert.is_true(y:equal(x:repeat_interleave(2, 3)))
    end
  end)

  it("of meta tensors has its shape", function()
    local x = st.empty({2, 3, 4, 5}, {device = "meta"})
    local y = st.upsample_bicubic2d(x, {8, 3}, true)
    assert.same({2, 3, 8, 3}, y:size())
    assert.equal("meta", tostring(y.device))
    local grid = st.empty({2, 6, 7, 2}, {device = "meta"})
    assert.same({2, 3, 6, 7}, st.grid_sampler(x, grid, 0, 2, false):size())
    y = st.grid_sampler(st.ones(2, 3, 4, 5), grid, 0, 0, false)
    assert.equal("meta", tostring(y.device))
  end)

  it("leaves nothing behind", function()
    assert.same(before, live())
  end)
end)

-- -- Points ------------------------------------------------------------------

-- how, beyond the border how, are corners the centres of places; of the points
-- below
local POINTS = {{-1, -1}, {0, 0}, {.5, -.25}, {1.5, 0}, {-3, 2.2}}
local SAMPLES = {
  {0, 0, true, {1.0, 6.5, 6.25, 2.0, 0.0}},
  {0, 0, false, {0.25, 6.5, 6.0, 0.0, 0.0}},
  {0, 1, true, {1.0, 6.5, 6.25, 8.0, 9.0}},
  {0, 1, false, {1.0, 6.5, 6.0, 8.0, 9.0}},
  {0, 2, true, {1.0, 6.5, 6.25, 7.25, 7.2}},
  {0, 2, false, {1.0, 6.5, 6.0, 7.5, 6.8}},
  {1, 0, true, {1.0, 7.0, 7.0, 0.0, 0.0}},
  {1, 0, false, {1.0, 7.0, 7.0, 0.0, 0.0}},
  {1, 1, true, {1.0, 7.0, 7.0, 8.0, 9.0}},
  {1, 1, false, {1.0, 7.0, 7.0, 8.0, 9.0}},
  {1, 2, true, {1.0, 7.0, 7.0, 7.0, 8.0}},
  {1, 2, false, {1.0, 7.0, 7.0, 7.0, 8.0}},
  {2, 0, true, {1.0, 6.5, 6.3605499268, 1.84765625, 0.0}},
  {2, 0, false, {0.015625, 6.5, 6.5481719971, -0.75, 0.0}},
  {2, 1, true, {1.0, 6.5, 6.00390625, 8.03515625, 9.0}},
  {2, 1, false, {0.53125, 6.5, 5.712890625, 8.0, 9.0}},
  {2, 2, true, {1.0, 6.5, 5.8984375, 7.3671875, 6.816}},
  {2, 2, false, {0.0625, 6.5, 5.712890625, 7.59375, 6.6305}},
}

local HOW = {[0] = "bilinear", "nearest", "bicubic"}
local BEYOND = {[0] = "zeros", "the border", "reflections"}

describe("grid_sampler", function()
  for _, row in ipairs(SAMPLES) do
    it(("reads points: %s, beyond the border %s, corners %s"):format(
       HOW[row[1]], BEYOND[row[2]], row[3] and "aligned" or "outside"),
       function()
      local image = st.arange(1, 13):to "float64":view(1, 1, 3, 4)
      local grid = f64({{POINTS}})
      local y = st.grid_sampler(image, grid, row[1], row[2], row[3])
      assert.same({1, 1, 1, 5}, y:size())
      near(row[4], (flat(y)), 1e-9)
      local two = st.cat({image, image * 2}, 2)
      local z = st.grid_sampler_2d(st.cat {two, two}, st.cat {grid, grid},
                                   row[1], row[2], row[3])
      near(row[4], (flat(z[1][1][1])), 1e-9)
      near(row[4], (flat(z[2][2][1] / 2)), 1e-9)
    end)
  end

  it("reads volumes", function()
    local volume = whole(1, 2, 3, 4, 5)
    local base = {}
    for d, n in ipairs {3, 4, 5} do
      base[d] = st.linspace(-1, 1, n, {dtype = "float64"})
    end
    local z, y, x = unpack(st.meshgrid({base[1], base[2], base[3]},
                                       {indexing = "ij"}))
    local grid = st.stack({x, y, z}, -1):unsqueeze(1)
    for mode = 0, 1 do
      for border = 0, 2 do
        local got = st.grid_sampler(volume, grid, mode, border, true)
        assert.is_true((got - volume):abs():max():item() < 1e-12)
      end
    end
  end)

  -- With a gradient the result is composed of operators, else of a kernel.
  it("gives the same bits with and without a gradient", function()
    for _, sizes in ipairs {{{3, 4, 7, 9}, {3, 11, 13, 2}},
                            {{2, 3, 4, 1, 5}, {2, 3, 5, 7, 3}}} do
      local image = st.randn(sizes[1]):transpose(-1, -2)
      local grid = st.randn(sizes[2]):transpose(2, 3)
      grid[1][1][1]:fill_(0 / 0)
      grid[1][2][1]:fill_(1 / 0)
      grid[1][3][1]:fill_(-1)
      for _, dtype in ipairs {"float32", "float64"} do
        local x, g = image:to(dtype), grid:to(dtype)
        for case = 0, 11 do
          local mode, border = case % 2, math.floor(case / 2) % 3
          local y = st.grid_sampler(x, g, mode, border, case > 5)
          local z = st.grid_sampler(x:detach():requires_grad_(true), g, mode,
                                    border, case > 5):detach()
          assert.same(z:stride(), y:stride())
          y, z = st.nan_to_num(y, 99), st.nan_to_num(z, 99)
          assert.is_true(st.equal(z, y))
          assert.is_true(st.equal(z:signbit(), y:signbit()))
        end
      end
    end
  end)

  it("reads nothing at points that are no numbers", function()
    local image = whole(1, 1, 3, 3)
    local grid = st.full({1, 1, 2, 2}, 0 / 0, {dtype = "float64"})
    grid[1][1][2]:fill_(1e300)
    for mode = 0, 2 do
      for border = 0, 2 do
        local y = st.grid_sampler(image, grid, mode, border, false)
        assert.same({1, 1, 1, 2}, y:size())
      end
    end
    assert.same({{{{0, 0}}}}, lists(st.grid_sampler(image, grid, 1, 0, true)))
  end)
end)

-- -- Misuse ------------------------------------------------------------------

local x3, x4 = whole(1, 2, 5), whole(1, 2, 5, 5)
local vec = st.ops.aten.upsample_nearest2d.vec

local MISUSE = {
  {"an image where a line must be", function()
    st.upsample_nearest1d(x4, 3)
  end, {"upsample_nearest1d: ", "self must have 3 dimensions"}},
  {"no place at all", function() st.upsample_nearest1d(x3, 0) end,
   "upsample_nearest1d: output_size must be 1 or more"},
  {"sizes of other dimensions", function()
    st.upsample_nearest2d(x4, {1, 2, 3})
  end, {"upsample_nearest2d: ", "one entry or two"}},
  {"an empty image", function()
    st.upsample_nearest1d(st.zeros(1, 2, 0), 3)
  end, {"upsample_nearest1d: ", "the images of ", " are empty"}},
  {"interpolated integers", function()
    st.upsample_linear1d(x3:to "int64", 3, false)
  end, "upsample_linear1d: not implemented"},
  {"a size and factors", function()
    vec(x4, {output_size = {2, 2}, scale_factors = {2, 2}})
  end, "upsample_nearest2d: either output_size or scale_factors"},
  {"neither a size nor factors", function()
    vec(x4)
  end, "upsample_nearest2d: either output_size or scale_factors"},
  {"too many factors", function() vec(x4, {scale_factors = {1, 2, 3}}) end,
   {"upsample_nearest2d: ", "2 entries"}},
  {"a factor that leaves nothing", function()
    vec(x4, {scale_factors = {0.1, 1}})
  end, {"upsample_nearest2d: ", "give size 0"}},
  {"a factor that is no number", function()
    vec(x4, {scale_factors = {0 / 0, 1}})
  end, "upsample_nearest2d: scale_factors would give size"},
  {"a grid of other dimensions", function()
    st.grid_sampler(x4, st.zeros(1, 2, 2, 3):to "float64", 0, 0, false)
  end, {"grid_sampler: ", "grid (batch, points.., 2)", "[1, 2, 2, 3]"}},
  {"a grid for another batch", function()
    st.grid_sampler(x4, st.zeros(2, 2, 2, 2):to "float64", 0, 0, false)
  end, {"grid_sampler: ", "grid (batch, points.., 2)", "[2, 2, 2, 2]"}},
  {"a grid of another dtype", function()
    st.grid_sampler(x4, st.zeros(1, 2, 2, 2), 0, 0, false)
  end, "grid_sampler: input is float64, but grid is float32"},
  {"a line to sample", function()
    st.grid_sampler(x3, st.zeros(1, 2, 1), 0, 0, false)
  end, {"grid_sampler: ", "4 or 5 dimensions"}},
  {"to sample in a way that is none", function()
    st.grid_sampler(x4, st.zeros(1, 2, 2, 2):to "float64", 3, 0, false)
  end, "grid_sampler: interpolation_mode must be"},
  {"cubic volumes", function()
    st.grid_sampler(whole(1, 1, 2, 2, 2), whole(1, 1, 1, 1, 3), 2, 0, false)
  end, "grid_sampler: interpolation_mode must be"},
  {"a border that is none", function()
    st.grid_sampler(x4, st.zeros(1, 2, 2, 2):to "float64", 0, -1, false)
  end, "grid_sampler: padding_mode must be"},
  {"to sample integers", function()
    st.grid_sampler(x4:to "int64", st.zeros(1, 2, 2, 2), 0, 0, false)
  end, "grid_sampler: not implemented"},
}

describe("Resampling refuses", function()
  for _, row in ipairs(MISUSE) do
    it(row[1], function() raises(row[3], row[2]) end)
  end
end)
