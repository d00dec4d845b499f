--- The calls of gradcheck/samples.lua for factors of matrices, equations and
-- determinants.
--
-- `prepare` makes the first argument out of the leaf: a matrix that is far from
-- singular. `after` makes results that do not depend on the phases of vectors.

local st = require "strided"
local values = require "spec.grad.gradcheck.values"

local A, K, Z = values.any, values.constant, values.complex

local function identity(t)
  return st.eye(t.shape[#t.shape], {dtype = t.dtype})
end

--- Elements of up to 2 in no more than 3 columns.
local function dominant(t) return t + 7 * identity(t) end

local function larger_dominant(t) return t + 30 * identity(t) end

local function definite(t) return t:matmul(t:mH()) + identity(t) end

local function each(samples, names, calls)
  for name in names:gmatch "%S+" do samples[name] = calls end
end

local samples = {}

each(samples, [[linalg_inv linalg_inv_ex inverse linalg_det det linalg_slogdet
                slogdet logdet]], {
  {A(3, 3), prepare = dominant}, {A(2, 1, 2, 2), prepare = dominant},
  {Z(2, 2), prepare = dominant},
})
each(samples, "linalg_cholesky linalg_cholesky_ex", {
  {A(3, 3), prepare = definite}, {Z(2, 2), prepare = definite},
  {A(2, 2, 2), {upper = true}, prepare = definite},
  {Z(2, 2), {upper = true}, prepare = definite},
})
samples["cholesky"] = {
  {A(3, 3), prepare = definite}, {Z(2, 2), true, prepare = definite},
}
each(samples, "linalg_solve linalg_solve_ex", {
  {A(3, 3), A(3, 2), prepare = dominant},
  {A(3, 3), A(2, 3), {left = false}, prepare = dominant},
  {A(3, 3), A(3), prepare = dominant},
  {A(2, 2, 2), A(2, 2), prepare = dominant},
  {A(2, 1, 2, 2), A(3, 2, 1), prepare = dominant},
  {Z(2, 2), Z(2, 1), prepare = dominant},
  {Z(2, 2), Z(1, 2), {left = false}, prepare = dominant},
  {A(9, 9), A(9, 2), prepare = larger_dominant},
  {A(9, 9), A(2, 9), {left = false}, prepare = larger_dominant},
})
samples["linalg_solve_triangular"] = {
  {A(3, 3), A(3, 2), {upper = true}, prepare = dominant},
  {A(3, 3), A(2, 3), {upper = false, left = false}, prepare = dominant},
  {A(2, 2, 2), A(2, 1), {upper = true, unitriangular = true}},
  {A(2, 2), A(3, 2, 1), {upper = false, unitriangular = true}},
  {Z(2, 2), Z(2, 1), {upper = false}, prepare = dominant},
}

each(samples, "linalg_lu_factor linalg_lu_factor_ex", {
  {A(3, 3), prepare = dominant}, {A(2, 3, 2)}, {A(2, 3)}, {Z(2, 2)},
})
samples["linalg_lu"] = {
  {A(3, 3), prepare = dominant}, {A(2, 3, 2)}, {A(2, 3)}, {Z(2, 2)},
}
samples["lu_unpack"] = {
  {A(2, 3, 3), K("int32", {{2, 3, 3}, {1, 2, 3}})},
  {A(2, 3), K("int32", {2, 2})}, {A(3, 2), K("int32", {3, 2})},
  {Z(2, 2), K("int32", {2, 2})},
}

local PIVOTS = K("int32", {2, 2})
samples["linalg_lu_solve"] = {
  {A(2, 2), PIVOTS, A(2, 3), prepare = dominant},
  {A(2, 2), PIVOTS, A(3, 2), {left = false}, prepare = dominant},
  {A(2, 2), PIVOTS, A(2, 2, 1), {adjoint = true}, prepare = dominant},
  {Z(2, 2), PIVOTS, Z(2, 2), prepare = dominant},
  {Z(2, 2), PIVOTS, Z(1, 2), {left = false, adjoint = true},
   prepare = dominant},
  {Z(2, 2), PIVOTS, Z(2, 1), {adjoint = true}, prepare = dominant},
}

samples["lu_solve"] = {
  {A(2, 3), K("float64", {{4, 1}, {0.25, 3}}), PIVOTS},
}
samples["cholesky_solve"] = {
  {A(3, 2), K("float64", {{4, 9, 9}, {1, 3, 9}, {-1, 1, 2}}, true)},
  {Z(2, 1), K("complex128", {{4, 1}, {9, 3}}, true), true},
}

-- The vectors of complex matrices are defined up to a phase.
samples["linalg_qr"] = {
  {A(3, 3), prepare = dominant}, {A(2, 3, 2)}, {A(2, 3)},
  {A(2, 3), "complete"}, {Z(2, 2), prepare = dominant}, {Z(3, 2)},
  {Z(2, 3), "complete"},
}
each(samples, "linalg_householder_product orgqr", {
  {A(3, 3), A(3)}, {A(2, 4, 3), A(2, 2)}, {Z(3, 2), Z(2)}, {A(3, 2), A(0)},
})
samples["ormqr"] = {
  {A(3, 2), A(2), A(3, 2)}, {A(2, 3, 2), A(2, 2), A(2, 2, 3), false},
  {A(2, 3), A(2), A(2, 1), true, true}, {Z(2, 2), Z(2), Z(2, 1), true, true},
  {Z(3, 2), Z(2), Z(1, 3), false, true}, {Z(2, 1), Z(1), Z(2, 2)},
}
samples["linalg_eigh"] = {
  {A(3, 3), prepare = definite}, {A(2, 2, 2), "U", prepare = definite},
}
samples["linalg_eigvalsh"] = {
  {A(3, 3), prepare = definite}, {Z(2, 2), "U", prepare = definite},
}
local function without_phases(L, V)
  return L, st.real(V):square() + st.imag(V):square()
end

samples["linalg_eig"] = {
  {A(3, 3), after = without_phases}, {A(2, 2, 2), after = without_phases},
  {Z(3, 3), after = without_phases},
}
samples["linalg_eigvals"] = {{A(3, 3)}, {A(2, 2, 2)}, {Z(3, 3)}}
samples["svd"] = {{A(2, 2)}, {A(2, 3, 2)}, {A(2, 3)}}
samples["svd_lowrank"] = {
  {A(3, 2), 2, seeded = true}, {A(2, 2, 3), 2, 1, seeded = true},
  {A(2, 3), 2, 1, A(3), seeded = true},
}
samples["pca_lowrank"] = {{A(4, 2), seeded = true},
                          {A(4, 2), 2, false, seeded = true}}
samples["linalg_lstsq"] = {
  {A(4, 2), A(4, 3)}, {A(2, 3), A(2)}, {A(2, 4, 2), A(1, 4), {driver = "gels"}},
  {A(5, 2), A(5, 1), {driver = "gelsd"}}, {A(2, 2, 3), A(2, 2, 1)},
  {Z(3, 2), Z(3), {driver = "gelss"}}, {Z(2, 3), Z(2, 2), {driver = "gelsd"}},
}
samples["linalg_svd"] = {
  {A(2, 2)}, {A(2, 3, 2), false}, {A(2, 3), false},
}
samples["linalg_matrix_norm"] = {
  {A(3, 2), 2}, {A(2, 2, 3), -2, {1, 3}}, {A(3, 2), 1},
  {A(2, 3), math.huge, {keepdim = true}}, {Z(2, 2), 2}}
each(samples, "linalg_matrix_norm.str_ord linalg_norm.ord_str", {
  {A(3, 2), "fro"}, {A(2, 3, 2), "nuc", {1, 2}}, {Z(2, 2), "nuc"}})
samples["linalg_norm"] = {{A(2, 3)}, {A(3, 2), 2}, {A(4), 3}, {Z(2, 2), 1}}
samples["linalg_cond"] = {
  {A(2, 2), prepare = dominant}, {A(3, 2), -2},
  {A(2, 2), 1, prepare = dominant}}
samples["linalg_cond.p_str"] = {{A(2, 2), "fro", prepare = dominant},
                                {A(2, 2), "nuc", prepare = dominant}}
samples["linalg_pinv.atol_rtol_float"] = {
  {A(3, 2)}, {A(2, 2, 3)}, {Z(2, 2)},
  {A(3, 3), {hermitian = true}, prepare = definite}}
samples["linalg_matrix_rank"] = {{A(3, 2), 1e-3}}
samples["linalg_matrix_rank.atol_rtol_float"] = {{A(3, 2)}}
each(samples, "linalg_pinv pinverse", {{A(3, 2), 1e-10}, {A(2, 3), 1e-10}})
samples["_linalg_pinv"] = {{A(3, 2), 0, 1e-10, false}}
samples["linalg_svdvals"] = {{A(3, 2)}, {A(2, 2, 3)}, {Z(2, 2)}}

-- -- Functions of matrices ----------------------------------------------------

local function half(t) return t / 2 end

each(samples, "linalg_matrix_exp matrix_exp", {
  {A(3, 3)}, {A(2, 2, 2), prepare = half}, {Z(2, 2)},
})
samples["matrix_exp_backward"] = {{A(2, 2), A(2, 2)}, {Z(2, 2), Z(2, 2)}}
each(samples, "linalg_matrix_sqrth _linalg_matrix_sqrth", {
  {A(3, 3), prepare = definite}, {A(2, 2, 2), prepare = definite},
  {Z(2, 2), prepare = definite}, {A(2, 2), prepare = identity},
})
samples["_linalg_lyapunov"] = {
  {A(3, 3), A(3, 3), prepare = definite}, {A(2, 2, 2), A(2, 2),
                                           prepare = definite},
  {Z(2, 2), Z(2, 2), prepare = definite},
}
each(samples, "linalg_polar _linalg_polar", {
  {A(3, 3), prepare = dominant}, {A(2, 3, 2)}, {Z(3, 2)}, {Z(2, 2)},
})

-- The diagonals of factors are real.
local function lower(t) return st.linalg_cholesky(definite(t)) end
local function upper(t) return lower(t):mH() end

samples["cholesky_inverse"] = {
  {A(3, 3), prepare = lower}, {A(2, 2, 2), true, prepare = upper},
  {Z(2, 2), prepare = lower}, {Z(2, 2), true, prepare = upper},
}
samples["triangular_solve"] = {
  {A(3, 2), K("float64", {{4, 1, 2}, {9, 3, 1}, {9, 9, 2}}, true)},
  {A(2, 2, 1), K("float64", {{4, 9}, {1, 3}}, true), false, true},
  {Z(2, 1), K("complex128", {{4, 1}, {9, 3}}, true), true, true},
}
samples["linalg_tensorinv"] = {
  {A(3, 3), 1, prepare = dominant},
}
samples["linalg_vander"] = {{A(3), {N = 3}}, {A(2, 2)}, {Z(2), {N = 4}}}
samples["vander"] = {{A(3)}, {A(2), 3, true}, {A(2), 0}}
samples["linalg_tensorsolve"] = {
  {A(3, 3), A(3), prepare = dominant},
}

return samples
