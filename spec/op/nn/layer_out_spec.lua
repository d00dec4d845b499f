--- out= of pools, paddings, resampling and losses: the tensors that are given
-- hold what the call returns.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises
local unpack = unpack or table.unpack

local I = tensors.i64
local LINE = st.arange(12):to "float64":view(1, 2, 6)
local IMAGE = (st.arange(32) * 7 % 13):to "float64":view(1, 2, 4, 4)
local CUBE = (st.arange(64) * 7 % 13):to "float64":view(1, 1, 4, 4, 4)
local ROWS = (st.arange(8) * 3 % 7):to "float64":view(2, 4) / 10
local SIGNS = st.tensor {{1, -1, 1, 1}, {-1, -1, 1, -1}}:to "float64"
local GRID = st.affine_grid_generator(
  st.tensor {{{0, 1, 0}, {1, 0, 0}}}:to "float64", {1, 2, 3, 3}, false)
local GRID3 = st.affine_grid_generator(
  st.eye(3, 4, {dtype = "float64"}):unsqueeze(1), {1, 1, 3, 3, 3}, false)

local SAMPLES = st.tensor {{{0.2, 0.7, 0.4}, {0.5, 0.1, 0.9}}}:to "float64"
local PAIR = {"out", "indices"}

--- Operator (of aten, where an overload is named), arguments, names of outputs.
local CALLS = {
  {"max_unpool2d", {IMAGE["..., 1:1, 1:2"], I {{{{1, 3}}, {{2, 8}}}}, {2, 4}}},
  {"max_unpool3d", {CUBE["..., 1:1, 1:1, 1:2"], I {{{{{1, 3}}}}}, {1, 2, 4},
                    {1, 2, 2}, {0, 0, 0}}},
  {"max_pool2d_with_indices", {IMAGE, {2, 3}, {1, 2}}, PAIR},
  {"max_pool3d_with_indices", {CUBE, {2, 3, 2}}, PAIR},
  {"adaptive_max_pool2d", {IMAGE, {3, 2}}, PAIR},
  {"adaptive_max_pool3d", {CUBE, {3, 2, 4}}, PAIR},
  {"fractional_max_pool2d", {IMAGE, {2, 2}, {2, 3}, SAMPLES["..., 1:2"]},
   {"output", "indices"}},
  {"fractional_max_pool3d", {CUBE, {2, 2, 1}, {2, 3, 2}, SAMPLES[":, 1:1"]},
   {"output", "indices"}},
  {"reflection_pad1d", {LINE, {1, 2}}},
  {"reflection_pad2d", {IMAGE, {1, 2, 0, 1}}},
  {"reflection_pad3d", {CUBE, {1, 2, 0, 1, 1, 1}}},
  {"replication_pad1d", {LINE, {1, 2}}},
  {"replication_pad2d", {IMAGE, {1, 2, 0, 1}}},
  {"replication_pad3d", {CUBE, {1, 2, 0, 1, 1, 1}}},
  {"upsample_nearest1d", {LINE, 9}}, {"upsample_nearest2d", {IMAGE, {7, 5}}},
  {"upsample_nearest3d", {CUBE, {7, 5, 2}}},
  {"_upsample_nearest_exact1d", {LINE, 9}},
  {"_upsample_nearest_exact2d", {IMAGE, {7, 5}}},
  {"_upsample_nearest_exact3d", {CUBE, {7, 5, 2}}},
  {"upsample_linear1d", {LINE, 9, false}},
  {"upsample_bilinear2d", {IMAGE, {7, 5}, true}},
  {"upsample_bicubic2d", {IMAGE, {7, 5}, false}},
  {"upsample_trilinear3d", {CUBE, {7, 5, 2}, false}},
  {"_upsample_bilinear2d_aa", {IMAGE, {3, 5}, false}},
  {"_upsample_bicubic2d_aa", {IMAGE, {3, 5}, false}},
  {"_upsample_lanczos2d_aa", {IMAGE, {3, 5}, false}},
  {"glu", {ROWS, 2}}, {"pixel_shuffle", {IMAGE:view(1, 8, 2, 2), 2}},
  {"pixel_unshuffle", {IMAGE, 2}}, {"channel_shuffle", {IMAGE, 2}},
  {"grid_sampler_2d", {IMAGE, GRID, 0, 0, false}},
  {"grid_sampler_3d", {CUBE, GRID3, 0, 0, false}},
  {"affine_grid_generator",
   {st.eye(2, 3, {dtype = "float64"}):unsqueeze(1), {1, 2, 3, 3}, false}},
  {"smooth_l1_loss", {ROWS, SIGNS}}, {"huber_loss", {ROWS, SIGNS}},
  {"soft_margin_loss", {ROWS, SIGNS}},
  {"multi_margin_loss", {ROWS, I {1, 4}, 2, 0.8}},
  {"multilabel_margin_loss", {ROWS, I {{1, 3, 0, 0}, {2, 0, 0, 0}}}},
  {"binary_cross_entropy", {ROWS, SIGNS:gt(0):to "float64"}},
  {"nll_loss", {ROWS, I {1, 4}}},
  {"nll_loss2d", {IMAGE, I {{{1, 2, 1, 1}, {1, 1, 2, 2}, {2, 1, 2, 1},
                             {1, 2, 1, 1}}}}},
}

local function with(args, options)
  local all = {unpack(args)}
  all[#all + 1] = options
  return unpack(all)
end

describe("out= of", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  for _, row in ipairs(CALLS) do
    local name, args, names = row[1], row[2], row[3] or {"out"}
    it(name .. " is what the call returns", function()
      local f = st[name] or st.ops.aten[name]
      local want, given = {f(unpack(args))}, {}
      for i, word in ipairs(names) do
        given[word] = st.empty({0}, {dtype = want[i].dtype})
      end
      for _ = 1, 2 do -- the second call takes the binding's short cut
        local got = {f(with(args, given))}
        for i, word in ipairs(names) do
          assert.equal(given[word], got[i])
          assert.same(want[i]:size(), got[i]:size())
          assert.is_true(want[i]:equal(got[i]), word)
          given[word]:zero_()
        end
      end
      given[names[1]] = st.empty({0}, {dtype = "int32"})
      raises({name, "int32"}, f, with(args, given))
    end)
  end
end)
