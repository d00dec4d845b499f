--- More arguments as in samples.lua: special functions, losses, and what
-- networks are made of.

local values = require "spec.grad.gradcheck.values"

local A, K, P, U = values.any, values.constant, values.positive, values.small
local none, between = values.none, values.between

local layers = {}

local function each(names, calls)
  for name in names:gmatch "%S+" do layers[name] = calls end
end

-- -- Special functions -------------------------------------------------------

each([[special_expm1 special_exp2 special_sinc special_erf special_erfc
       special_gammaln special_i0 special_expit special_erfcx
       special_log_ndtr special_round]], {{A(2, 3)}})
each("special_log1p special_digamma special_psi special_entr", {{P(2, 3)}})
each("special_erfinv special_logit", {{between(0.1, 0.8, 2, 3)}})
each([[special_bessel_j0 special_bessel_j1 special_modified_bessel_i0
       special_modified_bessel_i1]], {{A(2, 3)}})
each([[special_bessel_y0 special_bessel_y1 special_modified_bessel_k0
       special_modified_bessel_k1]], {{P(2, 3)}})
layers["special_polygamma"] = {{1, P(2, 3)}}
layers["special_multigammaln"] = {{values.above(2, 2, 3), 2}}
layers["special_logsumexp"] = {{A(2, 3), 2}}
each("special_softmax special_log_softmax", {{A(2, 3), 2}})
each("special_xlogy special_xlog1py", {{A(2, 3), P(3)}})
each("special_xlogy.self_scalar special_xlog1py.self_scalar " ..
     "special_zeta.self_scalar", {{2.5, values.above(1, 2, 3)}})
each("special_xlogy.other_scalar special_xlog1py.other_scalar", {{A(2, 3), 2}})
-- by its second argument alone
layers["special_zeta"] = {{K("float64", {2.5, 3}), P(2)}}
each("igamma igammac special_gammainc special_gammaincc",
     {{K("float64", {2.5, 0.7}), P(2)}, {K("float64", {{3}, {1}}), P(2)}})

-- -- Backward passes as operators --------------------------------------------

each([[silu_backward mish_backward log_sigmoid_backward hardsigmoid_backward
       hardswish_backward logit_backward]], {{A(2, 3), between(0.1, 0.8, 2, 3)},
     {A(2, 3), between(0.1, 0.8, 3)}})
each("_sigmoid_slope _tanh_slope", {{A(2, 3), A(2, 3)}, {A(3), A(2, 3)}})
each("sigmoid_backward tanh_backward", {{A(2, 3), U(2, 3)}, {A(3), U(2, 3)}})
layers["gelu_backward"] = {{A(2, 3), A(2, 3)},
                           {A(2, 3), A(2, 3), {approximate = "tanh"}}}
layers["threshold_backward"] = {{A(2, 3), A(2, 3), 0.3}}
layers["elu_backward"] = {{A(2, 3), 1.5, 0.7, 0.9, false, A(2, 3)},
                          {A(2, 3), 1.5, 0.7, 0.9, true, U(2, 3)}}
layers["leaky_relu_backward"] = {{A(2, 3), A(2, 3), 0.2, false}}
layers["_prelu_kernel"] = {{A(2, 3), A(3)}, {A(2, 1), A(3)}, {A(3), A(2, 3)}}
layers["hardtanh_backward"] = {{A(2, 3), A(2, 3), -0.7, 0.9}}
layers["softplus_backward"] = {{A(2, 3), A(2, 3), 2, 3}}
each("hardshrink_backward softshrink_backward", {{A(2, 3), A(2, 3), 0.6}})
each("_softmax_backward_data _log_softmax_backward_data", {
  {A(2, 3), A(2, 3), 2, "float64"},
})
layers["select_backward"] = {{A(2), {2, 3}, 2, 3}}
layers["slice_backward"] = {{A(2, 2), {4, 2}, 1, 1, 4, 2}}
layers["diagonal_backward"] = {{A(2), {2, 3}, 0, 1, 2}}
layers["unfold_backward"] = {{A(3, 3), {5}, 1, 3, 1}}
layers["index_select_backward"] = {{A(2, 2), {3, 2}, 1, K("int64", {3, 1})}}
layers["masked_select_backward"] =
  {{A(2), K("float64", {1, 2, 3}), K("bool", {true, false, true})}}
layers["value_selecting_reduction_backward"] =
  {{A(2), 2, K("int64", {3, 1}), {2, 3}, false}}
each("_attached _attached_backward", {{A(2, 3), A(2)}})
layers["constant_pad_nd_backward"] = {{A(2, 5), {1, 2}}}
layers["im2col_backward"] = {{A(4, 2), {1, 2, 3}, {2, 2}, {1, 1}, {0, 0},
                              {1, 1}}}

-- -- Losses ------------------------------------------------------------------

each("mse_loss l1_loss smooth_l1_loss huber_loss", {
  {A(2, 3), A(2, 3)}, {A(2, 3), A(2, 3), 0}, {A(2, 3), A(2, 3), 2},
})
layers["kl_div"] = {{A(2, 3), P(2, 3)},
                    {A(2, 3), A(2, 3), 2, {log_target = true}}}
layers["poisson_nll_loss"] = {{A(2, 3), P(2, 3)}, {P(2, 3), P(2, 3), false}}
layers["gaussian_nll_loss"] = {
  {A(2, 3), A(2, 3), P(2, 3)}, {A(2, 3), A(2, 3), P(2), {reduction = "sum"}},
  {A(2, 3), A(2, 3), P(2, 1), true, 1e-6, 0},
}
layers["multilabel_soft_margin_loss"] = {
  {A(2, 3), U(2, 3)}, {A(2, 3), U(2, 3), P(3), {reduction = "none"}},
}
local SIGNS = K("float64", {1, -1})
layers["soft_margin_loss"] = {{A(2), SIGNS}}
layers["hinge_embedding_loss"] = {{A(2), SIGNS, 1.5}}
layers["margin_ranking_loss"] = {{A(2), A(2), SIGNS, 0.3}}
layers["cosine_embedding_loss"] = {{A(2, 3), A(2, 3), SIGNS, 0.1}}
layers["triplet_margin_loss"] = {{A(2, 3), A(2, 3), A(2, 3)},
                                 {A(2, 3), A(2, 3), A(2, 3), 2, {swap = true}}}
local CLASSES = K("int64", {2, 3})
local WEIGHTED = {A(2, 3), CLASSES, K("float64", {1, 2, 3}), 2}
layers["multi_margin_loss"] = {
  {A(2, 3), CLASSES}, {A(2, 3), CLASSES, 2, 0.7, P(3), 0},
  {A(3), K("int64", 2), 1, 0.3},
}
layers["multilabel_margin_loss"] = {
  {A(2, 3), K("int64", {{3, 1, 0}, {2, 0, 3}})}, {A(3), K("int64", {2, 3, 0})},
}
each("nll_loss nll_loss_nd", {{A(2, 3), CLASSES}, WEIGHTED})
layers["cross_entropy_loss"] = {
  {A(2, 3), CLASSES}, WEIGHTED, {A(2, 3), P(2, 3)},
  {A(2, 3), CLASSES, {label_smoothing = 0.2}},
}
layers["nll_loss2d"] = {{A(1, 3, 2, 1), K("int64", {{{2}, {3}}})}}
each("_huber _smooth_l1", {{A(2, 3), A(2, 3), 0.5}})
layers["_binary_cross_entropy"] = {{between(0.1, 0.9, 2, 3),
                                    between(0.1, 0.9, 2, 3)}}
layers["binary_cross_entropy"] = {
  {between(0.1, 0.9, 2, 3), between(0.1, 0.9, 2, 3)},
  {between(0.1, 0.9, 2, 3), between(0.1, 0.9, 2, 3), P(3), 2},
}
layers["binary_cross_entropy_with_logits"] = {
  {A(2, 3), U(2, 3)}, {A(2, 3), U(2, 3), P(3), P(3), 0},
}

-- -- Layers ------------------------------------------------------------------

-- the same elements are dropped each time
layers["dropout3d"] = {{A(3, 2, 1, 2), 0.5, true, seeded = true}}
each([[dropout feature_dropout native_dropout alpha_dropout dropout1d dropout2d
       feature_alpha_dropout]], {
  {A(2, 3), 0.5, true, seeded = true}, {A(2, 3), 0.5, false},
})
layers["dropout3d"] = {{A(2, 1, 2, 1), 0.5, true, seeded = true}}
layers["rrelu"] = {{A(2, 3), 0.1, 0.4, true, seeded = true}, {A(2, 3)}}
layers["rrelu_with_noise_backward"] = {
  {A(2, 3), A(2, 3), A(2, 3), 0.1, 0.4, true, false},
}
layers["gumbel_softmax"] = {{A(2, 3), 0.7, seeded = true}}
layers["linear_cross_entropy"] = {
  {A(2, 3), A(4, 3), K("int64", {1, 4}), {linear_bias = A(4)}},
}
each("gru_cell", {{A(2, 3), A(2, 2), A(6, 3), A(6, 2), A(6), A(6)}})
each("rnn_tanh_cell rnn_relu_cell", {
  {A(2, 3), A(2, 2), A(2, 3), A(2, 2), A(2), A(2)},
})
layers["lstm_cell"] = {
  {A(2, 3), {A(2, 2), A(2, 2)}, A(8, 3), A(8, 2), A(8), A(8)},
}
layers["_rnn_layer_steps"] = {
  {A(3, 6), A(2, 2), none, A(6, 2), A(6), 0, {2, 1}, true},
  {A(3, 8), A(2, 1), A(2, 2), A(8, 1), none, 1, {2, 1}, false, A(1, 2)},
}

--- A network of a layer, and a packed sequence of two directions.
local function recurrent(name, gates, twice)
  local function state(n)
    return twice and {A(n, 2, 1), A(n, 2, 1)} or A(n, 2, 1)
  end
  local side = {A(gates, 2), A(gates, 1), A(gates), A(gates)}
  local sides = {A(gates, 2), A(gates, 1), A(gates, 2), A(gates, 1)}
  layers[name .. ".input"] = {
    {A(2, 2, 2), state(1), side, true, 1, 0, true, false, true},
  }
  layers[name .. ".data"] = {
    {A(3, 2), K("int64", {2, 1}), state(2), sides, false, 1, 0, true, true},
  }
end

recurrent("gru", 3)
recurrent("lstm", 4, true)
recurrent("rnn_tanh", 1)
recurrent("rnn_relu", 1)
layers["native_layer_norm"] = {{A(2, 3), {3}, A(3), A(3), 1e-5}}
layers["layer_norm"] = {{A(2, 3), {3}, A(3), A(3)}, {A(2, 3), {2, 3}}}
layers["rms_norm"] = {{A(2, 3), {3}, A(3)}, {A(2, 3), {3}}}
layers["native_group_norm"] = {{A(2, 4, 3), A(4), A(4), 2, 4, 3, 2, 1e-5}}
layers["group_norm"] = {{A(2, 4, 3), 2, A(4), A(4)}}
layers["batch_norm"] = {
  {A(3, 2), A(2), A(2), none, none, true},
  {A(2, 2, 1, 3), A(2), A(2), none, none, true}, {A(1, 2, 3), none, none, none,
                                                  none, true},
  {A(3, 2), A(2), A(2), K("float64", {1, 2}), K("float64", {1, 2}), false},
}
layers["native_batch_norm"] = {
  {A(3, 2), A(2), A(2), none, none, true, 0.1, 1e-5},
  {A(3, 2), A(2), A(2), K("float64", {1, 2}), K("float64", {1, 2}), false, 0.1,
   1e-5},
}
each("_batch_norm_with_update_functional", {
  {A(3, 2), A(2), A(2), K("float64", {1, 2}), K("float64", {1, 2}), 0.1, 1e-5},
})
each("_batch_norm_no_update _native_batch_norm_legit_no_training", {
  {A(3, 2), A(2), A(2), K("float64", {1, 2}), K("float64", {1, 2}), 0.1, 1e-5},
})
layers["instance_norm"] = {{A(2, 2, 3), A(2), A(2)}}
layers["scaled_dot_product_attention"] = {
  {A(1, 2, 3), A(1, 2, 3), A(1, 2, 2)},
  {A(2, 3), A(2, 3), A(2, 3), {is_causal = true}},
  {A(2, 3), A(4, 3), A(4, 2),
   K("bool", {{true, false, true, true}, {false, false, false, false}})},
  {A(4, 2, 3), A(2, 3, 3), A(2, 3, 2), A(2, 3), {enable_gqa = true}},
  {A(4, 2, 3), A(2, 3, 3), A(2, 3, 2), {enable_gqa = true, scale = 0.7}},
  {A(2, 1, 2, 3), A(2, 1, 2, 3), A(2, 1, 2, 1), {is_causal = true}},
}
layers["fold"] = {{A(4, 4), {3, 3}, {2, 2}}}
layers["_window_sum"] = {{A(1, 2, 3, 3), {2, 2}, {1, 1}, {1, 0}, {1, 2}}}
layers["_window_sum_backward"] =
  {{A(1, 1, 2, 2), {1, 1, 3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}}}
layers["im2col"] = {{A(1, 3, 3), {2, 2}, {1, 1}, {1, 0}, {1, 2}}}
layers["col2im"] = {{A(4, 4), {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}}}

layers["bilinear"] = {{A(2, 3), A(2, 2), A(2, 3, 2), A(2)},
                      {A(3), A(2), A(1, 3, 2)}}
layers["local_response_norm"] = {{A(1, 3, 2), 2, 0.5, 0.6, 1.5}}
each("channel_shuffle native_channel_shuffle", {{A(1, 4, 2), 2}})

-- -- Bags of indices ---------------------------------------------------------

local BAG, STARTS = K("int64", {2, 3, 3, 1}), K("int64", {1, 3, 3})
layers["embedding_bag.functional"] = {
  {A(3, 2), BAG, STARTS}, {A(3, 2), BAG, STARTS, {mode = "max"}},
  {A(3, 2), K("int64", {{1, 2}, {3, 3}}), none,
   {mode = "sum", padding_idx = 2, per_sample_weights = P(2, 2)}},
}
layers["embedding_bag"] = {{A(3, 2), BAG, STARTS},
                           {A(3, 2), BAG, STARTS, false, 0, false, P(4)}}
layers["embedding_bag.padding_idx"] =
  {{A(3, 2), BAG, STARTS, false, 1, false, none, false, 3}}
layers["embedding_renorm"] = {{A(3, 2), K("int64", {2, 1}), 0.5, 2}}
local FROM0, STARTS0 = K("int64", {1, 2, 2, 0}), K("int64", {0, 2, 2, 4})
local BAGS0 = K("int64", {0, 0, 2, 2})
layers["_bag_sums"] = {{A(3, 2), FROM0, STARTS0, 0, P(4), none, BAGS0},
                       {A(3, 2), FROM0, STARTS0, -1, none, none, BAGS0}}
layers["_bag_sums_backward"] =
  {{A(3, 2), FROM0, BAGS0, 0, P(4), none, {3, 2}}}
layers["_bag_scales_backward"] = {{A(3, 2), A(3, 2), FROM0, BAGS0, 1}}

-- -- Convolutions ------------------------------------------------------------

each("conv1d", {
  {A(2, 2, 4), A(2, 2, 3), A(2)}, {A(2, 4), A(2, 1, 2), {groups = 2}},
  {A(1, 1, 5), A(1, 1, 2), none, 2, 1, 2},
})
layers["conv1d.padding"] = {{A(1, 1, 4), A(1, 1, 3), A(1), 1, "same"}}
layers["conv2d"] = {{A(1, 2, 3, 3), A(1, 2, 2, 2), A(1)},
                    {A(1, 1, 3, 4), A(2, 1, 2, 2), none, {2, 1}, {1, 0}}}
layers["conv2d.padding"] = {{A(1, 1, 3, 3), A(1, 1, 2, 2), A(1), 1, "same"}}
layers["conv3d"] = {{A(1, 1, 2, 2, 3), A(1, 1, 1, 2, 2), A(1)}}
layers["conv3d.padding"] =
  {{A(1, 1, 2, 2, 2), A(1, 1, 1, 2, 1), A(1), 1, "valid"}}
layers["conv_transpose1d"] = {{A(1, 2, 3), A(2, 1, 2), A(1)},
                              {A(1, 2, 3), A(2, 1, 2), none, 2, 1, 1},
                              {A(1, 2, 3), A(2, 1, 2), none, 1, 1, 2, 1, 3}}
layers["conv_transpose2d.input"] =
  {{A(1, 1, 2, 2), A(1, 2, 2, 2), A(2), 2}}
layers["conv_transpose3d.input"] =
  {{A(1, 1, 1, 2, 2), A(1, 1, 1, 2, 2), A(1)}}
layers["_direct_convolution"] = {
  {A(2, 2, 5), A(4, 1, 2), A(4), {2}, {1}, {1}, false, {0}, 2},
  {A(1, 2, 3), A(2, 1, 2), none, {2}, {0}, {1}, true, {1}, 1},
}
layers["_convolution_input_backward"] = {
  {A(1, 4, 3), {1, 2, 4}, A(4, 2, 2), {2}, {1}, {1}, false, {0}, 1},
}
layers["_convolution_weight_backward"] = {
  {A(2, 4, 3), A(2, 2, 4), {4, 1, 2}, {2}, {1}, {1}, false, {0}, 2},
  {A(1, 2, 4), A(1, 1, 2), {1, 2, 2}, {2}, {0}, {1}, true, {0}, 1},
}
layers["conv_tbc"] = {{A(3, 2, 2), A(2, 2, 1), A(1), 1}}
layers["convolution"] = {
  {A(1, 2, 4), A(2, 2, 2), A(2), {1}, {1}, {1}, false, {0}, 1},
  {A(1, 2, 3), A(2, 1, 2), none, {2}, {0}, {1}, true, {0}, 1},
}

-- -- Pooling -----------------------------------------------------------------

each("avg_pool1d max_pool1d max_pool1d_with_indices", {
  {A(1, 2, 4), 2}, {A(1, 1, 5), 3, 2, 1},
})
each("avg_pool2d max_pool2d max_pool2d_with_indices", {
  {A(1, 1, 3, 4), 2}, {A(1, 1, 3, 3), 2, 1, 1},
})
each("avg_pool3d max_pool3d max_pool3d_with_indices", {
  {A(1, 1, 2, 2, 3), 2, 1},
})
each([[adaptive_avg_pool1d adaptive_max_pool1d
       adaptive_max_pool1d_with_indices]], {{A(1, 2, 5), 2}})
each([[adaptive_avg_pool2d adaptive_max_pool2d
       adaptive_max_pool2d_with_indices]], {{A(1, 1, 3, 4), {2, 2}}})
each([[adaptive_avg_pool3d adaptive_max_pool3d
       adaptive_max_pool3d_with_indices]], {{A(1, 1, 2, 2, 3), {1, 2, 2}}})
local PLACES2, PLACES3 = K("float64", {{{0.2, 0.9}}}),
                         K("float64", {{{0.2, 0.9, 0.4}}})
layers["fractional_max_pool2d"] = {{A(1, 1, 4, 5), 2, {2, 3}, PLACES2}}
layers["fractional_max_pool3d"] = {{A(1, 1, 3, 2, 3), {2, 1, 2}, 2, PLACES3}}
each("fractional_max_pool2d.functional fractional_max_pool2d_with_indices", {
  {A(1, 1, 4, 5), 2, {2, 3}, none, PLACES2},
  {A(1, 1, 4, 5), 2, none, {0.5, 0.6}, seeded = true},
})
each("fractional_max_pool3d.functional fractional_max_pool3d_with_indices", {
  {A(1, 1, 3, 2, 3), {2, 1, 2}, 2, none, PLACES3},
})
layers["lp_pool1d"] = {{P(1, 5), 3, 2, 2, true}, {A(1, 4), 2, 2}}
layers["lp_pool2d"] = {{P(1, 3, 4), 1.5, {2, 3}}}
layers["lp_pool3d"] = {{P(1, 2, 2, 3), 3, 2, 1}}
layers["max_unpool1d"] = {{A(1, 1, 2), K("int64", {{{1, 4}}}), 2}}
layers["max_unpool2d"] =
  {{A(1, 1, 1, 2), K("int64", {{{{1, 4}}}}), {2, 2}}}
layers["max_unpool3d"] =
  {{A(1, 1, 1, 1, 2), K("int64", {{{{{1, 4}}}}}), {1, 2, 2}, {1, 2, 1},
    {0, 0, 0}}}

-- -- Padding and resampling --------------------------------------------------

each("reflection_pad1d replication_pad1d", {{A(1, 2, 3), {1, 2}}})
each("reflection_pad2d replication_pad2d", {{A(1, 2, 3), {1, 2, 1, 0}}})
each("reflection_pad3d replication_pad3d", {
  {A(1, 2, 2, 2), {1, 1, 1, 0, 0, 1}},
})
each("upsample_nearest1d _upsample_nearest_exact1d", {{A(1, 1, 3), 5}})
each("upsample_nearest2d _upsample_nearest_exact2d", {{A(1, 1, 2, 3), {4, 2}}})
each("upsample_nearest3d _upsample_nearest_exact3d", {
  {A(1, 1, 2, 1, 2), {2, 2, 3}},
})
each("upsample_nearest1d.vec _upsample_nearest_exact1d.vec", {
  {A(1, 1, 3), none, {2}},
})
each("upsample_nearest2d.vec _upsample_nearest_exact2d.vec", {
  {A(1, 1, 2, 2), {3, 3}, none},
})
each("upsample_nearest3d.vec _upsample_nearest_exact3d.vec", {
  {A(1, 1, 1, 2, 2), {2, 3, 3}, none},
})
layers["upsample_linear1d"] = {{A(1, 1, 3), 5, true}, {A(1, 1, 3), 5, false}}
layers["upsample_linear1d.vec"] = {{A(1, 1, 3), {5}, true, none}}
layers["upsample_bilinear2d"] = {{A(1, 1, 2, 3), {4, 2}, false}}
layers["upsample_bilinear2d.vec"] = {{A(1, 1, 2, 2), none, true, {2, 1.5}}}
layers["upsample_trilinear3d"] = {{A(1, 1, 1, 2, 2), {2, 3, 2}, false}}
layers["upsample_trilinear3d.vec"] =
  {{A(1, 1, 1, 2, 2), {2, 3, 2}, true, none}}
layers["upsample_bicubic2d"] = {{A(1, 1, 2, 3), {4, 2}, false}}
layers["upsample_bicubic2d.vec"] = {{A(1, 1, 2, 2), {3, 3}, true, none}}
each("_upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa", {
  {A(1, 1, 4, 3), {2, 4}, false},
})
each([[_upsample_bilinear2d_aa.vec _upsample_bicubic2d_aa.vec
       _upsample_lanczos2d_aa.vec]], {{A(1, 1, 3, 2), none, false, {0.7, 1.5}}})
local SPANS, WEIGHTS = K("int64", {{0, 2}, {1, 3}}),
                       K("float64", {{1, 2, 0}, {-1, 0.5, 3}})
layers["_resample"] = {{A(2, 4, 2), 2, SPANS, WEIGHTS}}
layers["_resample_backward"] = {{A(2, 2, 2), 2, SPANS, WEIGHTS, {2, 4, 2}}}
layers["interpolate"] = {
  {A(1, 1, 3), {5}, none, "linear"}, {A(1, 1, 4, 3), 2, none, "area"},
  {A(1, 1, 3, 2), none, {0.7, 1.5}, "bicubic", {antialias = true}},
}
layers["upsample"] = {{A(1, 1, 2, 2), none, {1.5}, "bilinear"}}
each("upsample_nearest upsample_bilinear", {{A(1, 1, 2, 2), {3, 4}}})
each("affine_grid affine_grid_generator", {
  {A(1, 2, 3), {1, 1, 2, 3}, true}, {A(1, 3, 4), {1, 1, 2, 2, 1}, false},
})
layers["grid_sample"] = {{A(1, 1, 3, 3), U(1, 2, 2, 2), "bilinear", "border"}}
each("grid_sampler grid_sampler_2d", {
  {A(1, 1, 3, 3), U(1, 2, 2, 2), 0, 0, true},
  {A(1, 1, 3, 3), U(1, 2, 2, 2), 0, 1, false},
  {A(1, 1, 3, 3), U(1, 2, 2, 2), 1, 0, false},
})
layers["grid_sampler_3d"] = {{A(1, 1, 2, 3, 2), U(1, 1, 2, 2, 3), 0, 0, true}}

return layers
