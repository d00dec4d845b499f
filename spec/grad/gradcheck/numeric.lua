--- More arguments as in samples.lua: functions of NumPy, segments, norms.

local values = require "spec.grad.gradcheck.values"

local A, K, Z = values.any, values.constant, values.complex

local numeric = {}

local function each(names, calls)
  for name in names:gmatch "%S+" do numeric[name] = calls end
end

each("polyadd polysub polymul", {{A(2), A(4)}, {A(3), Z(3)}})
each("correlate", {{A(4), A(2)}, {A(2), Z(4), "full"}})
numeric["polyder"] = {{A(4)}, {A(4), 2}}
numeric["polyint"] = {{A(3)}, {A(3), 2, {1, 2}}}
numeric["roots"] = {{K("float64", {2, 1, -7, 0.5}, true)}}
each("intersect1d union1d setdiff1d setxor1d", {{A(4), A(3)}})

local lengths = K("int64", {2, 0, 3})
numeric["segment_reduce"] = {
  {A(5, 2), "sum", {lengths = lengths}},
  {A(5, 2), "mean", {lengths = lengths, initial = 0.5}},
  {A(5), "max", {offsets = K("int64", {1, 3, 6})}},
  {A(5), "min", {lengths = lengths, initial = 9}},
  {A(2, 4), "prod", {lengths = K("int64", {{1, 3}, {2, 2}}), axis = 2}},
}
each("norm_except_dim", {{A(2, 3)}, {A(2, 3), 3, 2}, {A(3), 2, -1}, {A(2)}})
each("atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence",
     {{{A(2), A()}}})
local index = K("int64", {{1, 2, 1}})
numeric["scatter.reduce"] = {
  {A(2, 3), 1, index, A(1, 3), {reduce = "add"}},
  {A(2, 3), 1, index, A(1, 3), {reduce = "multiply"}},
}
numeric["scatter.value_reduce"] = {{A(2, 3), 1, index, 2, {reduce = "add"}}}
numeric["index_fill.int_Tensor"] = {
  {A(2, 3), 2, K("int64", {1, 3}), A()},
  {A(2, 3), 1, K("int64", {2, -1, 2}), A()},
}
numeric["norm.ScalarOpt_dtype"] = {{A(2, 3), 3, {dtype = "float64"}}}
numeric["norm.ScalarOpt_dim_dtype"] = {{A(2, 3), 2, 1, {dtype = "float64"}}}
numeric["mm.dtype"] = {{A(2, 3), A(3, 2), "float64"}}
numeric["bmm.dtype"] = {{A(2, 2, 3), A(2, 3, 1), "float64"}}
numeric["addmm.dtype"] = {{A(2), A(2, 3), A(3, 2), "float64", {beta = 2}}}
numeric["baddbmm.dtype"] = {{A(2, 1, 1), A(2, 1, 3), A(2, 3, 2), "float64"}}
numeric["linalg_pinv.atol_rtol_tensor"] = {
  {A(2, 3, 2), {rtol = K("float64", {1e-9, 1e-8})}},
}
numeric["linalg_pinv.rcond_tensor"] = {{A(2, 3), K("float64", 1e-9)}}

-- without a gradient
each("flatnonzero", {{A(2, 3)}})
numeric["nonzero_static"] = {{A(2, 3), {size = 2}}}
numeric["unravel_index"] = {{K("int64", {5, 2}), {2, 3}}}
numeric["ravel_multi_index"] = {{{K("int64", {1, 2}), K("int64", {3, 1})},
                                 {2, 3}}}
numeric["digitize"] = {{A(4), K("float64", {0, 1})}}
each("lexsort", {{{A(3), A(3)}}})
numeric["lexsort.Tensor"] = {{A(2, 3)}}
numeric["repeat_interleave.Tensor"] = {{K("int64", {2, 0, 1})}}
numeric["randint_like.Tensor"] = {{A(2), K("int64", 3)}}
each("linspace.Tensor_Tensor logspace.Tensor_Tensor", {{A(), A(), 3}})
each("linspace.Tensor_Scalar logspace.Tensor_Scalar", {{A(), 2, 3}})
each("linspace.Scalar_Tensor logspace.Scalar_Tensor", {{2, A(), 3}})
numeric["linalg_matrix_rank.atol_rtol_tensor"] = {
  {A(2, 3, 2), {atol = K("float64", {0, 1})}},
}
numeric["linalg_matrix_rank.tol_tensor"] = {{A(2, 3), K("float64", 0)}}

return numeric
