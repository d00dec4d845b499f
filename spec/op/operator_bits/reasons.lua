--- The operators whose bits may differ, and why: operator_bits_spec.lua
-- measures the same, and docs/generate/lists.lua writes a table of them.

local registry = require "spec.grad.gradcheck.registry"

local ipairs, pairs = ipairs, pairs
local sort = table.sort

local reasons = {}

local function row(key, title, why, names)
  local set = {}
  for name in names:gmatch "%S+" do set[name] = true end
  reasons[#reasons + 1] = {key = key, title = title, why = why, names = set}
end

row("base", "products", [[Processors of x86 without fused multiply-add round
each product, others do not.]],
    [[_cdist_forward _convolution_input_backward _convolution_weight_backward
      _direct_convolution _linalg_lyapunov _linalg_matrix_sqrth _linalg_pinv
      _linalg_polar addbmm addmm baddbmm bilinear bmm cdist chain_matmul
      cholesky cholesky_inverse cholesky_solve conv1d conv2d conv3d conv_tbc
      conv_transpose1d conv_transpose2d conv_transpose3d convolution convolve
      corrcoef correlate cov det einsum geqrf gru gru_cell inner inverse
      linalg_cholesky linalg_cholesky_ex linalg_cond linalg_det linalg_eig
      linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product
      linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex
      linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor
      linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_exp
      linalg_matrix_norm linalg_matrix_power linalg_matrix_sqrth
      linalg_multi_dot linalg_norm linalg_pinv linalg_polar linalg_qr
      linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular
      linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve linear
      linear_cross_entropy logdet lstm lstm_cell lu_solve matmul matrix_exp
      matrix_exp_backward matrix_power mm orgqr ormqr pca_lowrank pinverse
      polyfit polymul rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roots
      scaled_dot_product_attention slogdet svd svd_lowrank tensordot]])

row("libm", "C library", [[The C library computes functions of complex numbers,
parts of special functions and, as in PyTorch, of random numbers in float64:
another library, or the same on another kind of processor, may round
otherwise.]],
    [[_cdist_forward _ctc_loss _ctc_loss_backward _dirichlet_grad _pdist_forward
      _sample_dirichlet _standard_gamma _standard_gamma_grad abs acos acosh
      angle asin asinh atan atanh cauchy_ cdist cos cosh digamma dist exp
      float_power i0 igamma igammac kaiser_window ldexp lgamma linalg_eig
      linalg_eigvals linalg_norm linalg_vector_norm log log10 log2 log_normal_
      logcumsumexp logdet logsumexp mvlgamma norm norm_except_dim normal
      normalize pairwise_distance pca_lowrank pdist polygamma pow randn
      randn_like rsqrt sgn sigmoid signal_windows_kaiser sin sinc sinh softsign
      special_bessel_y0 special_bessel_y1 special_digamma special_erfcx
      special_gammainc special_gammaincc special_gammaln special_i0 special_i0e
      special_i1 special_i1e special_log_ndtr special_logsumexp
      special_modified_bessel_i0 special_modified_bessel_i1
      special_modified_bessel_k0 special_modified_bessel_k1 special_multigammaln
      special_polygamma special_psi special_scaled_modified_bessel_k0
      special_scaled_modified_bessel_k1 special_sinc special_spherical_bessel_j0
      special_zeta sqrt svd_lowrank tan tanh tanhshrink]])

row("lapack", "LAPACK", [[LAPACK chooses its kernels by the processor.]],
    [[linalg_eig linalg_eigvals roots]])

row("layout", "memory", [[The order of the elements in memory decides, as in
PyTorch: which random number an element gets, what a stride leads to.]],
    [[alpha_dropout as_strided as_strided_copy dropout multinomial]])

row("any", "any value", [[The elements are those that the memory had.]],
    [[empty empty_like empty_permuted empty_strided new_empty
      new_empty_strided resize_ resize_as_]])

--- Operators whose arguments another one makes, which has a
-- sample: they have its reasons.
reasons.inner = {
  _avg_pool = "avg_pool2d", _bag_maxima = "embedding_bag",
  _bag_numbers = "embedding_bag", _batch_norm = "native_batch_norm",
  _batch_norm_backward = "native_batch_norm",
  _batch_norm_double_backward = "native_batch_norm",
  _direct_weight_backward = "_convolution_weight_backward",
  _fractional_max_indices = "fractional_max_pool2d",
  _grid_samples = "grid_sampler_2d",
  _householder_backward = "linalg_householder_product",
  _layer_norm = "native_layer_norm",
  _layer_norm_double_backward = "native_layer_norm",
  native_layer_norm_backward = "native_layer_norm",
  _linalg_lstsq = "linalg_lstsq", _linalg_lstsq_backward = "linalg_lstsq",
  _linalg_lu_solve_backward = "linalg_lu_solve",
  _linalg_solve_ex = "linalg_solve", _linalg_solve_backward = "linalg_solve",
  _max_pool_back = "max_pool2d", _max_pool_indices = "max_pool2d",
  _max_pool_take = "max_pool2d", _max_pool_values = "max_pool2d",
  _pad_borders = "reflection_pad2d",
  _rnn_layer = "gru", _rnn_layer_backward = "gru",
  _scaled_dot_product_attention = "scaled_dot_product_attention",
  _scaled_dot_product_attention_backward = "scaled_dot_product_attention",
  _scaled_dot_product_attention_double_backward =
    "scaled_dot_product_attention",
  _solve_triangular_backward = "linalg_solve_triangular",
}

--- The names of all operators, without overloads and variants that write to
-- their first argument.
-- @treturn table sorted
function reasons.operators()
  local seen, names = {}, {}
  registry.each(function(_, base) seen[base] = true end)
  for name in pairs(seen) do
    local functional = name:match "^(.*[^_])_$"
    if not (functional and seen[functional]) then names[#names + 1] = name end
  end
  sort(names)
  return names
end

--- True if a reason has the name, or the operator that it is a part of.
function reasons.has(reason, name)
  return reason.names[reasons.inner[name] or name] or false
end

--- True if none has.
function reasons.has_none(name)
  for _, reason in ipairs(reasons) do
    if reasons.has(reason, name) then return false end
  end
  return true
end

return reasons
