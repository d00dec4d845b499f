--- Layers that torch.nn.functional has beside those of classes: bilinear forms,
-- responses normalised by their neighbours, convolutions over time. The numbers
-- are PyTorch's 2.15, for sin(0.7 k + 0.3), k = 0, 1, ...
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, live, near, raises = tensors.f64, tensors.live, tensors.near,
                                tensors.raises

local function waves(...)
  local n = 1
  for _, size in ipairs {...} do n = n * size end
  local x = st.arange(n, {dtype = "float64"})
  return (x * 0.7 + 0.3):sin():reshape {...}
end

describe("Layers as functions", function()
  local before
  setup(function() before = live() end)

  it("bilinear", function()
    near({{0.757071417, 1.73883608}, {1.16489637, -1.14795264}},
         st.bilinear(waves(2, 3), waves(2, 2), waves(2, 3, 2), waves(2)), 1e-8)
    near({0.46155121, 0.897365092},
         st.bilinear(waves(3), waves(2), waves(2, 3, 2)), 1e-8)
    assert.same({2, 0}, st.bilinear(waves(2, 3), waves(2, 2),
                                    waves(0, 3, 2)):size())
    near(f64 {{1, 1}}, st.bilinear(st.ones(1, 0), st.ones(1, 2),
                                   st.ones(2, 0, 2), st.ones(2)))
  end)

  it("local_response_norm", function()
    near({{{0.216591459, 0.613313886}, {0.726732053, 0.481748481},
           {0.0289971457, -0.434595033}, {-0.721333491, -0.644273982}}},
         st.local_response_norm(waves(1, 4, 2), 3, 0.5, 0.6, 1.5), 1e-8)
    near({{{{0.295519239}, {0.841448642}}, {{0.991624995}, {0.67543369}},
           {{0.0415791264}, {-0.611838833}}}},
         st.local_response_norm(waves(1, 3, 2, 1), 2), 1e-8)
    local empty = st.empty(0, 3, 2)
    assert.same({0, 3, 2}, st.local_response_norm(empty, 2):size())
  end)

  it("conv_tbc", function()
    near({{{0.535382009, 1.82365706}, {-0.900657792, -0.347662661}},
          {{2.22645345, 1.2702403}, {0.729812859, 2.78085319}},
          {{-2.07391494, -1.54547743}, {2.25362776, 1.312172}},
          {{0.68786941, 2.75315626}, {-2.05873928, -1.55944376}},
          {{1.28532669, 1.09359918}, {0.469057314, 1.78447878}}},
         st.conv_tbc(waves(4, 2, 3), waves(2, 3, 2), waves(2), 1), 1e-8)
  end)

  it("refuse shapes that do not fit", function()
    raises("weight must be (out, last size of input1, last size of input2), "
           .. "but the shapes are [2, 3, 3], [2, 3] and [2, 2]",
           st.bilinear, waves(2, 3), waves(2, 2), waves(2, 3, 3))
    raises("the batches of input1 and input2 differ", st.bilinear,
           waves(2, 3), waves(1, 2), waves(2, 3, 2))
    raises("bias must have shape [2], not [3]", st.bilinear, waves(2, 3),
           waves(2, 2), waves(2, 3, 2), waves(3))
    raises("input must have 3 dimensions or more", st.local_response_norm,
           waves(2, 3), 2)
    raises("size must be positive", st.local_response_norm, waves(1, 2, 3), 0)
    raises("self must be (time, batch, in)", st.conv_tbc, waves(4, 2, 3),
           waves(2, 2, 2), waves(2))
  end)

  teardown(function() assert.equal(before, live()) end)
end)

describe("dropout1d to dropout3d", function()
  it("drop whole channels, also without a batch", function()
    st.manual_seed(1)
    for _, row in ipairs {{st.dropout1d, 1, {8, 2}},
                          {st.dropout1d, 1, {3, 8, 2}},
                          {st.dropout2d, 2, {3, 8, 2, 2}},
                          {st.dropout3d, 3, {8, 2, 2, 2}},
                          {st.dropout3d, 3, {3, 8, 2, 2, 2}}} do
      local x = st.ones(row[3])
      local y = row[1](x)
      local means = y:flatten(-row[2], -1):mean {-1}
      assert.is_true((means:eq(0) + means:eq(2)):all():item())
      assert.is_true(means:sum():item() > 0 and
                     means:sum():item() < 2 * means:numel())
      near(x, row[1](x, 0.5, false))
    end
    -- of three dimensions, the first is a batch
    st.manual_seed(1)
    local y = st.dropout2d(st.ones(2, 8, 3))
    st.manual_seed(1)
    near(st.dropout1d(st.ones(2, 8, 3)), y)
    raises("input must have shape (N, C, L) or (C, L)", st.dropout1d,
           st.ones(2))
  end)
end)
