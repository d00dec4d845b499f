--- Arguments to check the gradients of operators at: by overload a list of
-- calls, each a list of arguments and, last, keywords.
--
-- Tensors are described here and made by values.lua: A, P, U and Z have random
-- elements, of which gradients are wanted; K has those listed. Positions and
-- dimensions count from 1. A call with `dense` is for contiguous inputs only;
-- `prepare` changes the first argument before the call.

local values = require "spec.grad.gradcheck.values"

local A, K, P, U, Z = values.any, values.constant, values.positive,
  values.small, values.complex

local samples = {}

for _, family in ipairs {"factors", "layers", "numeric", "transforms"} do
  for name, calls in pairs(require("spec.grad.gradcheck." .. family)) do
    samples[name] = calls
  end
end

--- The same calls for several overloads.
local function each(names, calls)
  for name in names:gmatch "%S+" do samples[name] = calls end
end

local MASK = K("bool", {{true, false, true}, {false, true, true}})
local TWO = {A(2, 3), A(2, 3)}

-- -- Views -------------------------------------------------------------------

samples["as_strided"] = {{A(2, 3), {2, 2}, {1, 2}, 1}, {A(4), {2, 3}, {1, 1}}}
samples["view"] = {{A(2, 3), {3, -1}, dense = true}}
samples["_unsafe_view"] = samples["view"]
samples["view_as"] = {{A(2, 3), K("float64", {{1, 2}, {3, 4}, {5, 6}}),
                       dense = true}}
samples["reshape"] = {{A(2, 3), {3, 2}}, {Z(2, 2), {4}}}
samples["reshape_as"] = {{A(2, 2), K("float64", {1, 2, 3, 4})}}
each("alias t numpy_T mT adjoint mH matrix_H ravel positive clone contiguous",
     {{A(2, 3)}, {Z(2, 2)}})
samples["transpose.int"] = {{A(2, 3, 2), 1, 3}}
each("swapaxes swapdims", samples["transpose.int"])
samples["permute"] = {{A(2, 3, 2), {3, 1, 2}}}
samples["select.int"] = {{A(2, 3), 2, 3}, {A(2, 3), 1, -1}}
samples["slice.Tensor"] = {{A(5, 2), 1, 2, 5, 2}, {A(2, 3)}}
samples["squeeze"] = {{A(1, 3, 1)}}
samples["squeeze.dim"] = {{A(1, 3, 1), 1}, {A(2, 1), 1}}
samples["squeeze.dims"] = {{A(1, 3, 1), {1, 3}}}
samples["unsqueeze"] = {{A(2, 3), 2}}
samples["expand"] = {{A(3, 1), {2, 3, 2}}}
samples["broadcast_to"] = samples["expand"]
samples["expand_as"] = {{A(1, 2), K("float64", {{1, 2}, {3, 4}})}}
samples["broadcast_tensors"] = {{{A(2, 1), A(3)}}}
samples["diagonal"] = {{A(3, 3)}, {A(2, 3, 2), 1, 2, 3}}
samples["unfold"] = {{A(5), 1, 3, 1}, {A(2, 4), 2, 2, 2}}
samples["view_as_real"] = {{Z(2, 2)}}
samples["view_as_complex"] = {{A(3, 2), dense = true}}
samples["split.Tensor"] = {{A(5, 2), 2, 1}}
samples["split.sizes"] = {{A(2, 3), {1, 2}, 2}}
samples["split_with_sizes"] = samples["split.sizes"]
samples["unbind.int"] = {{A(2, 3), 2}}
samples["flatten.using_ints"] = {{A(2, 1, 3), 1, 2}}
samples["unflatten.int"] = {{A(2, 4), 2, {2, -1}}}
samples["movedim.int"] = {{A(2, 3, 2), 1, 3}}
samples["movedim.intlist"] = {{A(2, 3, 2), {1, 2}, {2, 3}}}
samples["moveaxis.int"] = samples["movedim.int"]
samples["moveaxis.intlist"] = samples["movedim.intlist"]
samples["narrow"] = {{A(2, 4), 2, 2, 2}}
samples["narrow.Tensor"] = {{A(2, 4), 2, K("int64", 2), 2}}
each("real imag _conj conj resolve_conj", {{Z(2, 2)}})
each("_neg_view resolve_neg", {{A(2, 3)}})
samples["chunk"] = {{A(2, 3), 2, 2}}
samples["tensor_split.sections"] = {{A(2, 3), 2, 2}}
samples["tensor_split.indices"] = {{A(2, 3), {1}, 2}}
samples["tensor_split.tensor_indices_or_sections"] =
  {{A(4, 2), K("int64", 2), 1}}
each("hsplit.int vsplit.int", {{A(2, 2), 2}})
each("hsplit.array vsplit.array", {{A(2, 2), {1}}})
samples["dsplit.int"] = {{A(1, 2, 2), 2}}
samples["dsplit.array"] = {{A(1, 2, 2), {1}}}

-- -- Copies of views ---------------------------------------------------------

for name in ([[alias detach t permute squeeze unsqueeze expand diagonal unfold
               view_as_real view_as_complex view as_strided narrow
               split_with_sizes]]):gmatch "%S+" do
  samples[name .. "_copy"] = samples[name]
end
for name, overload in ([[transpose.int select.int slice.Tensor squeeze.dim
                         squeeze.dims split.Tensor unbind.int]])
    :gmatch "(%w+)%.(%w+)" do
  samples[name .. "_copy." .. overload] = samples[name .. "." .. overload]
end
samples["detach_copy"] = {{A(2, 3)}}
samples["view_copy.dtype"] = {{A(2, 3), "int64", dense = true}}
samples["unsafe_split.Tensor"] = samples["split.Tensor"]
samples["unsafe_split_with_sizes"] = samples["split_with_sizes"]
samples["unsafe_chunk"] = samples["chunk"]
samples["linalg_diagonal"] = {{A(3, 3)}, {A(2, 3, 2), {dim1 = 2, dim2 = 3}}}

-- -- Copies ------------------------------------------------------------------

samples["_to_copy"] = {{A(2, 3)}, {A(2, 3), {dtype = "complex128"}}}
samples["to.dtype"] = {{A(2, 3), "complex128"}, {Z(2), "complex128"}}
samples["to.dtype_layout"] = {{A(2, 3), {dtype = "float64", copy = true}}}
samples["to.device"] = {{A(2, 3), "cpu", "float64"}}
samples["to.prim_Device"] = {{A(2, 3), "cpu"}}
samples["to.other"] = {{A(2), K("complex128", {1, 2})}}
samples["type_as"] = {{A(2), K("float64", {1, 2})}}
samples["fill.Scalar"] = {{A(2, 3), 2}}
samples["fill.Tensor"] = {{A(2, 3), A()}}
samples["zero"] = {{A(2, 3)}}
each("complex polar", {TWO, {A(2, 1), A(3)}, {P(2), A()}})

-- -- Arithmetic --------------------------------------------------------------

each("add.Tensor sub.Tensor rsub.Tensor", {
  TWO, {A(2, 3), A(3)}, {A(2, 1), A(3), {alpha = 2}}, {A(), A(2)},
  {Z(2), Z(2, 2), {alpha = 2}}, {A(2), Z(2)},
})
each("add.Scalar sub.Scalar rsub.Scalar", {{A(2, 3), 2, 3}, {Z(2), 2}})
each("mul.Tensor div.Tensor true_divide.Tensor", {
  TWO, {A(2, 3), A(3)}, {A(2, 1), A(1, 3)}, {A(), A(2)}, {Z(2), Z(2, 2)},
  {A(2), Z(2)}, {Z(2), A(2)},
})
each("mul.Scalar div.Scalar true_divide.Scalar", {{A(2, 3), 3}, {Z(2), 3}})
each("div.Tensor_mode", {
  {A(2, 3), A(3), {rounding_mode = "floor"}},
  {A(2, 3), A(3), {rounding_mode = "trunc"}},
})
samples["div.Scalar_mode"] = {{A(2, 3), 0.7, {rounding_mode = "floor"}}}
samples["floor_divide"] = {{A(2, 3), A(3)}}
samples["floor_divide.Scalar"] = {{A(2, 3), 0.7}}
each("remainder.Tensor fmod.Tensor", {TWO, {A(2, 3), A(3)}})
each("remainder.Scalar fmod.Scalar", {{A(2, 3), 0.7}})
samples["remainder.Scalar_Tensor"] = {{5, A(2, 3)}}
each("addcmul addcdiv", {
  {A(2, 3), A(2, 3), A(2, 3), {value = 2}}, {A(3), A(2, 1), A(2, 3)},
  {Z(2), Z(2), Z(2)},
})
samples["pow.Tensor_Tensor"] = {{P(2, 3), A(2, 3)}, {P(2, 1), A(3)},
                                {Z(2), Z(2)}}
samples["pow.Tensor_Scalar"] = {{A(2, 3), 3}, {P(2), 0.5}, {A(2), 0}, {Z(2), 2},
                                {A(2), 1}}
samples["pow.Scalar"] = {{2.5, A(2, 3)}}
for _, kind in ipairs {"Tensor_Tensor", "Tensor_Scalar", "Scalar"} do
  samples["float_power." .. kind] = samples["pow." .. kind]
end
samples["ldexp.Tensor"] = {{A(2, 3), A(3)}}
samples["lerp.Scalar"] = {{A(2, 3), A(3), 0.3}, {Z(2), Z(2), 0.7}}
samples["lerp.Tensor"] = {{A(2, 3), A(3), U(2, 1)}}

-- -- Functions of one element ------------------------------------------------

each([[square exp sin cos tan sinh cosh tanh asinh atan sigmoid sgn neg
       reciprocal abs sinc]], {{A(2, 3)}, {Z(2, 2)}})
each("sqrt rsqrt log log2 log10", {{P(2, 3)}, {Z(2, 2)}})
samples["log1p"] = {{P(2, 3)}}
each("asin acos atanh", {{U(2, 3)}, {Z(2, 2)}})
samples["acosh"] = {{values.above(1, 2, 3)}, {Z(2)}}
each([[cbrt expm1 exp2 deg2rad rad2deg sign erf erfc lgamma i0 floor ceil round
       trunc frac relu silu mish softplus relu6 selu celu hardsigmoid hardswish
       log_sigmoid logsigmoid nan_to_num special_i0e special_i1 special_i1e
       special_ndtr special_ndtri]], {{A(2, 3)}})
each("conj_physical angle", {{A(2, 3)}, {Z(2, 2)}})
samples["_ldexp"] = {{A(2, 3), K("int64", {2, -1, 0})}}
samples["_conj_physical"] = {{Z(2, 2)}}
each("erfinv logit", {{values.between(0.1, 0.8, 2, 3)}})
samples["special_ndtri"] = samples["erfinv"]
samples["logit"] = {samples["erfinv"][1],
                    {values.between(0.05, 0.95, 2, 3), 0.2}}
samples["digamma"] = {{P(2, 3)}}
samples["polygamma"] = {{1, P(2, 3)}, {0, P(2)}}
samples["mvlgamma"] = {{values.above(2, 2, 3), 2}}
samples["round.decimals"] = {{A(2, 3), {decimals = 1}}}
samples["frexp.Tensor"] = {{A(2, 3)}}
samples["gelu"] = {{A(2, 3)}, {A(2, 3), {approximate = "tanh"}}}
samples["leaky_relu"] = {{A(2, 3), 0.2}}
samples["elu"] = {{A(2, 3)}, {A(2, 3), 1.5, 0.7, 0.9}}
samples["celu"] = {{A(2, 3), 1.3}}
samples["softplus"] = {{A(2, 3), 2, 3}}
samples["threshold"] = {{A(2, 3), 0.3, 2}}
samples["hardtanh"] = {{A(2, 3), -0.7, 0.9}}
each("hardshrink softshrink", {{A(2, 3), 0.6}})
samples["prelu"] = {{A(2, 3), A(3)}, {A(2, 3), A(1)}}
each("softsign tanhshrink", {{A(2, 3)}, {Z(2)}})
samples["_softsign"] = {{A(2, 3)}}
samples["glu"] = {{A(2, 4), 2}}

-- -- Functions of two --------------------------------------------------------

each("logaddexp logaddexp2 hypot atan2 maximum minimum fmax fmin max.other " ..
     "min.other", {TWO, {A(2, 1), A(3)}})
samples["xlogy.Tensor"] = {{A(2, 3), P(3)}}
samples["xlogy.Scalar_Self"] = {{2, P(2, 3)}}
samples["xlogy.Scalar_Other"] = {{A(2, 3), 2}}
samples["copysign.Tensor"] = {{A(2, 3), A(3)}}
samples["copysign.Scalar"] = {{A(2, 3), -1}}
samples.nextafter = {{A(2, 3), A(3)}}
samples["heaviside"] = {{A(2, 3), A(3)}}
samples["clamp"] = {{A(2, 3), -0.6, 0.9}, {A(2, 3), {max = 0.5}}}
samples["clamp.Tensor"] = {{A(2, 3), values.between(-0.9, -0.3, 3), P(2, 1)}}
each("clamp_min clamp_max", {{A(2, 3), 0.4}})
each("clamp_min.Tensor clamp_max.Tensor", {TWO, {A(2, 3), A(3)}})
samples["where.self"] = {{MASK, A(2, 3), A(3)}, {MASK, Z(2, 1), A(3)}}
samples["where.ScalarSelf"] = {{MASK, 2, A(2, 3)}}
samples["where.ScalarOther"] = {{MASK, A(2, 3), 2}}
samples["masked_fill.Scalar"] = {{A(2, 3), MASK, 2}, {A(3), MASK, 2}}
samples["masked_fill.Tensor"] = {{A(2, 3), MASK, A()}}

-- -- Making and joining ------------------------------------------------------

each("tril triu", {{A(3, 3)}, {A(2, 3), 1}})
samples["diag"] = {{A(3), 1}, {A(3, 3)}}
samples["diag_embed"] = {{A(2, 3)}, {A(2), 1, 1, 2}}
samples["diagflat"] = {{A(3), 1}}
samples["trace"] = {{A(3, 3)}}
each("cat concat concatenate", {{{A(2, 2), A(2, 1)}, 2}, {{Z(1), A(2)}, 1}})
samples["stack"] = {{{A(2, 3), A(2, 3)}, 2}}
each("hstack vstack row_stack dstack column_stack", {{{A(2, 3), A(2, 3)}}})
each("atleast_1d atleast_2d atleast_3d", {{A(3)}})
samples["repeat"] = {{A(2, 3), {2, 1, 2}}}
samples["tile"] = {{A(2, 3), {2, 2}}}
samples["repeat_interleave.self_int"] = {{A(2, 3), 2, 1}, {A(2), 3}}
samples["repeat_interleave.self_Tensor"] = {{A(2, 3), K("int64", {2, 1}), 1}}
samples["flip"] = {{A(2, 3), {1, 2}}}
each("fliplr flipud", {{A(2, 3)}})
samples["roll"] = {{A(2, 3), 1, 2}, {A(2, 3), {1, 2}, {1, 2}}, {A(2, 3), 2}}
each("fft_fftshift fft_ifftshift", {{A(2, 3)}, {A(3), 1}, {Z(2, 3), {2}}})
samples["rot90"] = {{A(2, 3), 1, {1, 2}}}
samples["meshgrid.indexing"] = {{{A(2), A(3)}, {indexing = "xy"}}}
each("meshgrid cartesian_prod", {{{A(2), A(3)}}})
samples["block_diag"] = {{{A(2, 1), A(1, 2)}}}
samples["bernoulli"] = {{values.between(0.2, 0.8, 2, 3), seeded = true}}
samples["poisson"] = {{values.between(1, 5, 2, 3), seeded = true}}
samples["binomial"] = {{values.between(5, 9, 2, 3), values.between(0.2, 0.4, 3),
                        seeded = true}}
samples["multinomial"] = {{P(2, 3), 2}}
samples["combinations"] = {{A(4), 2}}
samples["constant_pad_nd"] = {{A(2, 3), {1, 2}, 0.5}, {A(2, 3), {-1, 1, 1, 0}}}
samples["pad"] = {{A(2, 3), {1, 2}}, {A(1, 2, 3), {1, 1}, {mode = "reflect"}},
                  {A(1, 2, 3), {1, 2}, {mode = "replicate"}},
                  {A(1, 2, 3), {1, 2}, {mode = "circular"}}}
samples["pixel_shuffle"] = {{A(4, 1, 2), 2}}
samples["pixel_unshuffle"] = {{A(1, 2, 2), 2}}

-- -- Positions ---------------------------------------------------------------

local ROWS = K("int64", {2, 1, 2})
local PLACES = K("int64", {{1, 2, 2}, {2, 1, 1}})

samples["index.Tensor"] = {{A(3, 2), {ROWS}}, {A(2, 3), {MASK}},
                           {A(2, 2, 2), {K("int64", {1, 2}), values.none,
                                         K("int64", {2, 2})}}}
samples["index_put"] = {
  {A(3, 2), {K("int64", {3, 1})}, A(2, 2)}, {A(3), {ROWS}, A(3), true},
  {A(2, 3), {MASK}, A()},
}
samples["_unsafe_masked_index"] = {
  {A(3, 2), K("bool", {true, false}), {K("int64", {3, 9}), K("int64", {1, 1})},
   0.5},
}
samples["_unsafe_masked_index_put_accumulate"] = {
  {A(3, 2), K("bool", {true, false, true}),
   {K("int64", {3, 9, 3}), K("int64", {1, 1, 1})}, A(3)},
}
samples["_chunk_cat"] = {{{A(3, 2), A(2, 1)}, 1, 2}}
samples["index_select"] = {{A(3, 2), 1, ROWS}, {A(2, 3), 2, ROWS}}
samples["gather"] = {{A(2, 3), 1, PLACES}, {A(2, 3), 2, PLACES}}
samples["take"] = {{A(2, 3), K("int64", {6, 1, 1})}}
samples["take_along_dim"] = {{A(2, 3), PLACES, 2},
                             {A(2, 3), K("int64", {6, 1})}}
samples["put"] = {{A(2, 3), K("int64", {6, 2}), A(2)},
                  {A(2, 3), K("int64", {6, 6}), A(2), true}}
samples["scatter.src"] = {{A(2, 3), 2, K("int64", {{1, 2}, {3, 1}}), A(2, 2)}}
samples["scatter.value"] = {{A(2, 3), 2, PLACES, 2}}
samples["scatter_add"] = {{A(2, 3), 2, PLACES, A(2, 3)}}
samples["scatter_reduce.two"] = {
  {A(2, 3), 2, PLACES, A(2, 3), "sum"}, {A(2, 3), 2, PLACES, A(2, 3), "mean"},
  {A(2, 3), 2, PLACES, A(2, 3), "amax"}, {A(2, 3), 2, PLACES, A(2, 3), "amin"},
  {A(2, 3), 2, PLACES, A(2, 3), "prod"},
  {A(2, 3), 2, PLACES, A(2, 3), "mean", {include_self = false}},
}
samples["index_add"] = {{A(3, 2), 1, ROWS, A(3, 2), {alpha = 2}}}
samples["index_copy"] = {{A(3, 2), 1, K("int64", {3, 1}), A(2, 2)}}
samples["index_fill.int_Scalar"] = {{A(3, 2), 1, ROWS, 2}}
samples["index_reduce"] = {
  {A(3, 2), 1, ROWS, A(3, 2), "amax"}, {A(3, 2), 1, ROWS, A(3, 2), "mean"},
  {A(3, 2), 1, ROWS, A(3, 2), "prod"}, {A(3, 2), 1, ROWS, A(3, 2), "amin"},
}
samples["_scatter_reduce_backward"] = {
  {A(2, 3), A(2, 3), 2, PLACES, A(2, 3), "prod", true, A(2, 3)},
  {A(2, 3), A(2, 3), 2, PLACES, A(2, 3), "mean", false, A(2, 3)},
}
samples["_index_reduce_backward"] =
  {{A(3, 2), A(3, 2), 1, ROWS, A(3, 2), "prod", true, A(3, 2)}}
samples["masked_select"] = {{A(2, 3), MASK}, {A(3), MASK}}
samples["masked_scatter"] = {{A(2, 3), MASK, A(5)}}
samples["select_scatter"] = {{A(2, 3), A(3), 1, 2}}
samples["slice_scatter"] = {{A(4, 2), A(2, 2), 1, 1, 4, 2}}
samples["diagonal_scatter"] = {{A(3, 3), A(3)}}
samples["as_strided_scatter"] = {{A(2, 3), A(2, 2), {2, 2}, {3, 1}, 1,
                                  dense = true}}
samples["embedding"] = {{A(3, 2), ROWS}}

-- -- Reductions --------------------------------------------------------------

each("sum mean", {{A(2, 3)}, {Z(2, 2)}, {A()}})
each("prod max min median nanmedian amax amin aminmax", {{A(2, 3)}})
samples["prod"] = {{A(2, 3)}, {Z(3)}, {K("float64", {2, 0, 3}, true)}}
each("sum.dim_IntList mean.dim", {
  {A(2, 3), 1}, {A(2, 3, 2), {1, 3}, true}, {Z(2, 2), 2},
})
each("nansum nanmean nanvar nanstd nanprod", {{A(2, 3), 2}, {A(2, 3)}})
each("prod.dim_int", {{A(2, 3), 2}, {A(2, 3), 1, true}})
each("amax amin nanmax nanmin", {
  {A(2, 3)}, {A(2, 3), 2, true}, {A(2, 2, 2), {1, 3}}})
each("nanargmax nanargmin", {{A(2, 3), 2}})
samples["aminmax"] = {{A(2, 3)}, {A(2, 3), {dim = 2}}}
each("max.dim min.dim median.dim nanmedian.dim mode cummax cummin", {
  {A(2, 3), 2}, {A(3, 2), 1},
})
samples["kthvalue"] = {{A(2, 3), 2, 2}}
samples["topk"] = {{A(2, 3), 2, 2}}
samples["sort"] = {{A(2, 3), 2, true}}
samples["sort.stable"] = {{A(2, 3), {stable = true, dim = 1}}}
samples["msort"] = {{A(3, 2)}}
each([[unique_consecutive _unique2 unique unique_all unique_counts
       unique_inverse unique_values]], {{A(4)}})
samples["unique_dim"] = {{A(2, 3), 2}}
each("var std var_mean std_mean", {{A(2, 3)}, {A(2, 3), false}, {Z(3)}})
each("var.dim std.dim var_mean.dim std_mean.dim", {
  {A(2, 3), 2}, {A(3, 2, 2), {1, 3}, false, true},
})
each("var.correction std.correction var_mean.correction std_mean.correction", {
  {A(2, 3), 2, {correction = 0}}, {A(2, 3), {keepdim = true}},
  {Z(3), {correction = 1}},
})
samples["norm.Scalar"] = {{A(2, 3)}, {A(2, 3), 3}, {A(2, 3), 1}, {Z(3)}}
samples["norm.ScalarOpt_dim"] = {{A(2, 3), 2, 2}, {A(2, 3), 3, 1, true},
                                 {A(2, 3), 1.5, 2}}
samples["linalg_vector_norm"] = {
  {A(2, 3)}, {A(2, 3), 1, 2}, {A(2, 3), 3, {keepdim = true}},
  {A(2, 3), math.huge, 2}, {A(2, 3), -math.huge, 1}, {A(2, 3), 0}, {Z(3)},
  {A(2, 3), 0.5, 2},
}
samples["logsumexp"] = {{A(2, 3), 2}, {A(2, 3), {1, 2}, true}}
each("cumsum logcumsumexp nancumsum nancumprod", {{A(2, 3), 2}, {A(3), 1}})
samples["cumprod"] = {{A(2, 3), 2}, {Z(3), 1},
                      {K("float64", {2, 0, 3, 0}, true), 1}}
samples["diff"] = {{A(2, 4)}, {A(2, 3), 2, 2, A(2, 1), A(2, 1)}}
each("polyval convolve", {{A(3), A(4)}})
samples["unwrap"] = {{A(2, 3)}, {A(4), {period = 0.5}}}
samples["interp"] = {{K("float64", {0.2, 1.3, 3.1, 9}),
                      K("float64", {1, 2, 4}), A(3)}}
samples["polyfit"] = {{K("float64", {0, 1, 3, 4}), A(4), 2}}
each("trapezoid.x cumulative_trapezoid.x trapz.x", {{A(2, 3), A(3)}})
each("trapezoid.dx cumulative_trapezoid.dx trapz.dx", {{A(2, 3), {dx = 2}}})
samples["trapz.dx"] = {{A(2, 3), {dx = 2}}}
each("softmax.int log_softmax.int", {{A(2, 3), 2}, {A(2, 3), 1}, {A(3), 1}})
samples["softmin"] = samples["softmax.int"]
each("quantile nanquantile", {{A(2, 3), K("float64", {0.3, 0.8}), 2}})
each("percentile nanpercentile", {{A(2, 3), K("float64", {30, 80}), 2}})
each("percentile.scalar nanpercentile.scalar", {{A(2, 3), 30, 1}})
each("quantile.scalar nanquantile.scalar", {{A(2, 3), 0.3, 1}, {A(5), 0.7}})
samples["gradient.scalarint"] = {{A(4, 3), {dim = 1, spacing = 2}}}
samples["gradient.scalararray"] = {{A(4, 3), {dim = {1, 2}, spacing = 2}}}
samples["gradient.array"] = {{A(4, 3), {dim = {1, 2}}}}
samples["gradient.scalarrayint"] = {{A(4), {spacing = {2}, dim = 1}}}
samples["gradient.scalarrayarray"] =
  {{A(4, 3), {spacing = {2, 3}, dim = {1, 2}}}}
samples["gradient.tensorarrayint"] =
  {{A(4), {spacing = {K("float64", {0, 1, 3, 4})}, dim = 1}}}
samples["gradient.tensorarray"] =
  {{A(3), {spacing = {K("float64", {0, 1, 3})}, dim = {1}}}}
samples["sum_to_size"] = {{A(2, 3), {1, 3}}, {A(2, 3), {3}}}
samples["corrcoef"] = {{A(2, 4)}}
samples["cov"] = {{A(2, 4)}, {A(3), {correction = 0}}}
samples["renorm"] = {{A(2, 3), 2, 1, 0.8}, {A(2, 3), 3, 2, 9}}

-- -- Products ----------------------------------------------------------------

samples["mm"] = {{A(2, 3), A(3, 2)}, {Z(2, 2), Z(2, 1)}}
samples["bmm"] = {{A(2, 2, 3), A(2, 3, 1)}}
samples["mv"] = {{A(2, 3), A(3)}, {Z(2, 2), Z(2)}}
samples["dot"] = {{A(3), A(3)}, {Z(2), Z(2)}}
samples["einsum"] = {
  {"ij,jk->ik", {A(2, 3), A(3, 2)}}, {"ii->i", {A(3, 3)}},
  {"bij,bkj->b", {A(2, 2, 3), A(2, 2, 3)}}, {"ij->", {A(2, 3)}},
  {"i,ij,j", {A(2), A(2, 3), A(3)}}, {"...i,i", {Z(2, 2), Z(2)}}}
samples["tensordot"] = {{A(2, 3, 2), A(3, 2), {2, 3}, {1, 2}},
                        {Z(2, 2), Z(2, 2), {1}, {2}}, {A(2), A(3), {}, {}}}
samples["tensordot.int"] = {{A(2, 3), A(3, 2), 1}, {Z(2, 2), Z(2, 2)}}
samples["kron"] = {{A(2, 2), A(1, 3)}, {Z(2), Z(2)}}
samples["vdot"] = {{A(3), A(3)}, {Z(2), Z(2)}}
samples["linalg_multi_dot"] = {{{A(2), A(2, 3), A(3, 2)}},
                               {{Z(2, 2), Z(2, 1)}}}
samples["chain_matmul"] = {{{A(2, 3), A(3, 2), A(2, 1)}}, {{A(2, 2)}}}
each("linalg_matrix_power matrix_power",
     {{A(2, 2), 0}, {A(2, 2), 1}, {A(2, 2), 5}, {Z(2, 2), 2}})
samples["linalg_matmul"] = {{A(2, 3), A(3, 2)}}
samples["linalg_vecdot"] = {{A(2, 3), A(3)}, {Z(2), Z(2)}}
samples["inner"] = {{A(2, 3), A(2, 3)}, {A(3), A(3)}}
samples["outer"] = {{A(2), A(3)}}
samples["addmm"] = {{A(2, 2), A(2, 3), A(3, 2), {beta = 2, alpha = 3}},
                    {A(2), A(2, 3), A(3, 2)}, {Z(2, 2), Z(2, 2), Z(2, 2)}}
samples["addmv"] = {{A(2), A(2, 3), A(3), {beta = 2, alpha = 3}},
                    {A(), A(2, 3), A(3)}}
samples["addr"] = {{A(2, 3), A(2), A(3), {beta = 2, alpha = 3}}}
samples["baddbmm"] = {{A(2, 1, 2), A(2, 1, 3), A(2, 3, 2),
                       {beta = 2, alpha = 3}}}
samples["addbmm"] = {{A(1, 2), A(2, 1, 3), A(2, 3, 2)}}
samples["matmul"] = {
  {A(3), A(3)}, {A(2, 3), A(3)}, {A(3), A(3, 2)}, {A(2, 1, 3), A(3, 2)},
  {A(2, 1, 3), A(1, 3, 2)}, {Z(2, 2), Z(2)}, {A(2, 2, 3), A(3)},
}
samples["linear"] = {{A(2, 3), A(2, 3), A(2)}, {A(3), A(2, 3)},
                     {A(2, 2, 3), A(1, 3), A(1)}}
each("cross linalg_cross", {{A(2, 3), A(2, 3), {dim = 2}}})
samples["cross"] = {{A(2, 3), A(2, 3), 2}}
samples["dist"] = {{A(2, 3), A(2, 3)}, {A(2, 3), A(3), 3}, {A(3), A(3), 1}}
samples["pairwise_distance"] = {{A(2, 3), A(2, 3)}, {A(2, 3), A(2, 3), 3}}
samples["cosine_similarity"] = {{A(2, 3), A(2, 3)}, {A(2, 3), A(3), 2}}
samples["normalize"] = {{A(2, 3)}, {P(2, 3), 3, 1}, {Z(2, 2)}}
samples["cdist"] = {{A(2, 3), A(3, 3)}, {A(2, 2), A(2, 2), 3},
                    {A(2, 2), A(2, 2), 1}}
samples["_cdist_forward"] = {{A(2, 3), A(3, 3), 2, values.none},
                             {A(2, 2), A(2, 2), 3, values.none}}
samples["_cdist_backward"] = {{A(2, 3), A(2, 2), A(3, 2), 3, P(2, 3)}}
each("pdist _pdist_forward", {{A(3, 2)}, {A(3, 2), 3}})

-- -- Without a gradient ------------------------------------------------------

each("isclose isin.Tensor_Tensor", {{A(2), A(2)}})
samples["isin.Tensor_Scalar"] = {{A(2), 1}}
samples["isin.Scalar_Tensor"] = {{1, A(2)}}
each("argwhere nonzero_numpy where", {{A(2)}})
samples["one_hot"] = {{K("int64", {1, 2})}}

return samples
