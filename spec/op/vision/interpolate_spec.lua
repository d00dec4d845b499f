--- interpolate: modes, sizes and scale factors, antialiasing. The numbers are
-- PyTorch's 2.15, for sin(0.7 k + 0.3), k = 0, 1, ...
-- axes: isa threads

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

local function waves(...)
  local n = 1
  for _, size in ipairs {...} do n = n * size end
  local x = st.arange(n, {dtype = "float64"})
  return (x * 0.7 + 0.3):sin():reshape {...}
end

-- of an image of 5 x 4 resized to 2 x 3, and the gradient for waves(1, 1, 2, 3)
local ANTIALIASED = {
  bilinear = {
    {{0.06615158, 0.084933027, 0.047791013},
     {-0.081550206, -0.031759977, 0.038942351}},
    {{0.06582041, 0.16207913, 0.2285293, 0.2208708},
     {0.10611825, 0.21854333, 0.28642488, 0.26450854},
     {0.15447463, 0.16655019, 0.1262427, 0.060423828},
     {0.20283101, 0.11455705, -0.033939472, -0.14366088},
     {0.15044407, 0.071091136, -0.051789511, -0.13627744}}},
  bicubic = {
    {{0.089374112, 0.12260094, 0.063930095},
     {-0.12009087, -0.044249616, 0.064759713}},
    {{0.051079737, 0.15962105, 0.2615437, 0.26331108},
     {0.094942075, 0.20864271, 0.29968247, 0.2845122},
     {0.16757221, 0.17869732, 0.12752444, 0.061016026},
     {0.21636986, 0.1233372, -0.062770395, -0.17115799},
     {0.16996663, 0.076100572, -0.093324794, -0.18282416}}},
  lanczos = {
    {{0.11644591, 0.14241012, 0.054687304},
     {-0.14658431, -0.07078614, 0.061521115}},
    {{0.036428761, 0.14357837, 0.2909744, 0.27614786},
     {0.096649418, 0.20219345, 0.30977169, 0.27161043},
     {0.17495032, 0.19990128, 0.13119528, 0.063209584},
     {0.21290323, 0.15150679, -0.077638096, -0.159769},
     {0.16559779, 0.087260678, -0.13947465, -0.20315563}}},
}

describe("interpolate", function()
  local before
  setup(function() before = live() end)

  for mode, row in pairs(ANTIALIASED) do
    local options = {size = {2, 3}, mode = mode, antialias = true}

    it("with antialias, mode " .. mode, function()
      local x = waves(1, 1, 5, 4):requires_grad_()
      local y = st.interpolate(x, options)
      near({{row[1]}}, y, 1e-7)
      y:backward(waves(1, 1, 2, 3))
      near({{row[2]}}, x.grad, 1e-7)
    end)

    it("keeps the layout, mode " .. mode, function()
      local x = st.randn {2, 3, 5, 4}
      local want = st.interpolate(x, options)
      x = x:contiguous {memory_format = "channels_last"}
      local y = st.interpolate(x, options)
      assert.is_true(y:is_contiguous {memory_format = "channels_last"})
      near(want, y, 1e-6)
      assert.equal("bfloat16",
                   tostring(st.interpolate(x:to "bfloat16", options).dtype))
    end)
  end

  it("with antialias, the corners aligned, or larger", function()
    local x = waves(1, 1, 5, 4)
    near({{{{0.11476891, 0.077314683}, {0.0036946817, 0.0011661939},
            {-0.14891429, 0.29587092}}}},
         st.interpolate(x, {size = {3, 2}, mode = "bilinear", antialias = true,
                            align_corners = true}), 1e-7)
    near({{{{0.18668897, 0.20265236, 0.20680048, 0.1595394, 0.077539832,
             0.0073555364},
            {-0.051142615, -0.0042634251, 0.054901685, 0.10404537, 0.12583284,
             0.13533438},
            {-0.21612872, -0.20510656, -0.17519687, -0.09964671,
             -0.0051054015, 0.070548367}}}},
         st.interpolate(x, {scale_factor = {0.6, 1.5}, mode = "bilinear",
                            antialias = true}), 1e-7)
  end)

  it("of large images, in blocks and threads", function()
    local x = st.randn({2, 3, 40, 1100}, {dtype = "float64"})
    local y = st._upsample_bilinear2d_aa(x, {13, 700}, false)
    local rows = st._upsample_bilinear2d_aa(x, {13, 1100}, false)
    near(st._upsample_bilinear2d_aa(rows, {13, 700}, false), y, 1e-12)
    near(x:mean {3, 4}, st.interpolate(x, {size = 1, mode = "area"}):flatten(2),
         1e-12)
  end)

  it("chooses the operator by mode and dimensions", function()
    local x = waves(1, 1, 5)
    near({{{0.29552021, 0.84147098, 0.67546318}}}, st.interpolate(x, 3), 1e-7)
    near({{{0.29552021, 0.99166481, 0.041580662}}},
         st.interpolate(x, 3, nil, "nearest-exact"), 1e-7)
    near({{{0.5684956, 0.83619966, 0.35852192}}},
         st.interpolate(x, {size = {3}, mode = "area"}), 1e-7)
    near({{{0.41250966, 0.93802416, 0.63018586}}},
         st.interpolate(x, {scale_factor = 0.7, mode = "linear"}), 1e-7)
    near({{{0.4775038, 0.99166481, 0.25287484}}},
         st.interpolate(x, {scale_factor = 0.7, mode = "linear",
                            recompute_scale_factor = true}), 1e-7)
    x = waves(1, 2, 3, 4)
    near(st.upsample_bilinear2d(x, {6, 8}, true),
         st.upsample_bilinear(x, {6, 8}))
    near(st.upsample_nearest2d(x, {6, 8}), st.upsample_nearest(x, nil, 2))
    near(st.upsample_bicubic2d(x, {6, 8}, false),
         st.upsample(x, {scale_factor = 2, mode = "bicubic"}))
    x = waves(1, 1, 2, 3, 4)
    near(st.upsample_trilinear3d(x, {4, 2, 3}, true),
         st.interpolate(x, {size = {4, 2, 3}, mode = "trilinear",
                            align_corners = true}))
    near(st.adaptive_avg_pool3d(x, {1, 2, 2}),
         st.interpolate(x, {size = {1, 2, 2}, mode = "area"}))
  end)

  it("refuses what belongs together differently", function()
    local x = waves(1, 1, 5, 4)
    local function refuses(text, options)
      raises("interpolate: " .. text, st.interpolate, x, options)
    end
    refuses("either size or scale_factor must be given", nil)
    refuses("either size or scale_factor must be given",
            {size = 2, scale_factor = 2})
    refuses("size must have 2 entries", {size = {1, 2, 3}})
    refuses("scale_factor must have 2 entries", {scale_factor = {1, 2, 3}})
    refuses("mode must be 'nearest', ", {size = 2, mode = "cubic"})
    refuses("mode 'linear' does not resize 2 dimensions without antialias",
            {size = 2, mode = "linear"})
    refuses("mode 'nearest' does not resize 2 dimensions with antialias",
            {size = 2, antialias = true})
    refuses("mode 'area' takes no align_corners",
            {size = 2, mode = "area", align_corners = false})
    refuses("recompute_scale_factor needs a scale_factor",
            {size = 2, recompute_scale_factor = true})
    refuses("scale_factor would give size 0", {scale_factor = 0.1,
                                               mode = "area"})
    raises("input must have 3 to 5 dimensions", st.interpolate, st.ones(2), 2)
    raises("_resample: the 3 taps from index 3 on are not in a dimension of "
           .. "size 5", st._resample, waves(5), 1,
           st.tensor({{3, 3}}, {dtype = "int64"}), waves(1, 3))
    raises("a gradient of shape [3, 2, 2] and weights of shape [2, 2] do not "
           .. "fit an image", st.ops.aten._resample_backward, waves(3, 2, 2), 2,
           st.zeros({2, 2}, {dtype = "int64"}), waves(2, 2), {2, 4, 2})
  end)

  it("makes no table for what it cannot or need not compute", function()
    local size = {2 ^ 31 - 1, 2 ^ 31 - 1}
    for _, antialias in ipairs {true, false} do
      local options = {size = size, mode = "bilinear", antialias = antialias}
      raises("does not fit in the address space", st.interpolate,
             waves(1, 1, 5, 4), options)
      options.size = {2 ^ 31 - 1, 2}
      local x = st.empty({1, 1, 5, 4}, {device = "meta"})
      assert.same({1, 1, 2 ^ 31 - 1, 2}, st.interpolate(x, options).shape)
    end
  end)

  teardown(function() assert.equal(before, live()) end)
end)
