--- Calls of the operators that spec/grad/gradcheck has no samples of, or none
-- that becomes large: by name (dtype, n) -> results, where sizes grow with n,
-- from 1 on.

local st = require "strided"

local unpack = table.unpack or unpack

local ops = st.ops.aten
local others = {}

-- -- Arguments ---------------------------------------------------------------

-- Every call begins with this seed, and the same elements.
local function random(dtype, ...)
  local t = st.rand({...}, {dtype = "float64"}):mul_(2.4):sub_(1)
  return t:to(dtype)
end

local function positive(dtype, ...) return random(dtype, ...):abs():add(0.2) end

local function whole(...) return st.randint(1, 10, {...}) end

local function each(names, call)
  for name in names:gmatch "%S+" do
    others[name] = function(dtype, n) return call(ops[name], dtype, n) end
  end
end

-- -- Elements ----------------------------------------------------------------

each("eq ne lt le gt ge logical_and logical_or logical_xor allclose equal",
     function(f, dtype, n)
  return f(random(dtype, 3 * n, 5), random(dtype, 5))
end)
each([[isnan isinf isfinite isreal isposinf isneginf signbit logical_not
       nonzero]], function(f, dtype, n) return f(random(dtype, 3 * n, 5)) end)
each("all any argmax argmin argsort count_nonzero", function(f, dtype, n)
  return f(random(dtype, 3 * n, 5), 1)
end)
each([[bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
       gcd lcm]], function(f, _, n) return f(whole(3 * n, 5), whole(5)) end)
each("_int_mm", function(f, _, n)
  return f(whole(3 * n, 5 * n):to "int8", whole(5 * n, 3 * n):to "int8")
end)
each("bitwise_not", function(f, _, n) return f(whole(3 * n, 5)) end)
each("detach is_conj is_neg _is_zerotensor", function(f, dtype)
  return f(random(dtype, 3))
end)
each("item _local_scalar_dense is_nonzero", function(f, dtype)
  return f(random(dtype, 1))
end)
each("is_same_size is_set_to result_type", function(f, dtype)
  return f(random(dtype, 3), random(dtype, 3))
end)
each("can_cast promote_types", function(f, dtype) return f("int64", dtype) end)
each("copy_", function(f, dtype, n)
  return f(st.empty({n, 3}, {dtype = dtype}), random("float64", n, 3))
end)
each("fill_diagonal_", function(f, dtype, n)
  return f(random(dtype, n, 3), 2)
end)
each([[special_chebyshev_polynomial_t special_chebyshev_polynomial_u
       special_chebyshev_polynomial_v special_chebyshev_polynomial_w
       special_shifted_chebyshev_polynomial_t
       special_shifted_chebyshev_polynomial_u
       special_shifted_chebyshev_polynomial_v
       special_shifted_chebyshev_polynomial_w
       special_hermite_polynomial_h special_hermite_polynomial_he
       special_laguerre_polynomial_l special_legendre_polynomial_p]],
     function(f, dtype, n)
  return f(random(dtype, 30 * n), st.arange(7, {dtype = dtype}):view(-1, 1))
end)
each([[special_airy_ai special_spherical_bessel_j0
       special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1]],
     function(f, dtype, n) return f(positive(dtype, 90 * n)) end)

-- -- Bins --------------------------------------------------------------------

each("bincount", function(f, dtype, n)
  return f(whole(40 * n), random(dtype, 40 * n))
end)
each("histc", function(f, dtype, n) return f(random(dtype, 40 * n), 7) end)
each("histogram", function(f, dtype, n)
  return f(random(dtype, 40 * n), 7, {density = true})
end)
each("histogramdd", function(f, dtype, n)
  return f(random(dtype, 40 * n, 2), {3, 4}, {density = true})
end)
each("bucketize", function(f, dtype, n)
  return f(random(dtype, 40 * n), st.arange(3, {dtype = dtype}))
end)
each("searchsorted", function(f, dtype, n)
  return f(st.arange(3, {dtype = dtype}), random(dtype, 40 * n))
end)

-- -- Layers ------------------------------------------------------------------

each("_ctc_loss ctc_loss", function(f, dtype, n)
  local x = st.log_softmax(random(dtype, 6 * n, 2, 5), 3)
  return f(x, st.randint(2, 6, {2, 4}), {6 * n, 6 * n}, {4, 3}, 1)
end)
each("_ctc_loss_backward", function(_, dtype, n)
  local x = random(dtype, 6 * n, 2, 5):requires_grad_()
  st.ctc_loss(st.log_softmax(x, 3), st.randint(2, 6, {2, 4}), {6 * n, 6 * n},
              {4, 3}, 1):backward()
  return x.grad
end)
each("_log_softmax_at", function(f, dtype, n)
  return f(random(dtype, 8 * n, 9), st.randint(1, 10, {8 * n, 1}), 2)
end)
each("_rrelu_slopes", function(f, dtype, n)
  return f(random(dtype, 9 * n), .1, .3)
end)
each("rrelu_with_noise", function(f, dtype, n)
  local x = random(dtype, 9 * n)
  return f(x, st.zeros_like(x), .1, .3, true)
end)
each("_native_batch_norm_legit", function(f, dtype, n)
  local one = st.ones({3}, {dtype = dtype})
  return f(random(dtype, 2, 3, 5 * n), one, one * 2, one * 3, one * 4, true, .1,
           1e-5)
end)
each("_batch_norm_with_update", function(f, dtype, n)
  local one = st.ones({3}, {dtype = dtype})
  return f(random(dtype, 2, 3, 5 * n), one, one * 2, one * 3, one * 4, .1, 1e-5)
end)
each("_einsum_path", function(f, dtype, n)
  return f("ij,jk", {random(dtype, n, 2), random(dtype, 2, 3)})
end)

-- -- Optimizers --------------------------------------------------------------

local ADAM = {lr = .01, beta1 = .9, beta2 = .99, weight_decay = .1, eps = 1e-8,
              amsgrad = false, maximize = false}
each("_fused_adam_ _fused_adamw_", function(update, dtype, n)
  local x, step = random(dtype, 40 * n), st.full({}, 7, {dtype = "float32"})
  update({x}, {random(dtype, 40 * n)}, {random(dtype, 40 * n)},
    {positive(dtype, 40 * n)}, {}, {step}, ADAM)
  return x
end)
each("_fused_adagrad_", function(update, dtype, n)
  local x, step = random(dtype, 40 * n), st.full({}, 7, {dtype = "float32"})
  update({x}, {random(dtype, 40 * n)}, {positive(dtype, 40 * n)}, {step},
    {lr = .01, lr_decay = .1, weight_decay = .1, eps = 1e-8, maximize = false})
  return x
end)
each("_fused_sgd_", function(update, dtype, n)
  local x = random(dtype, 40 * n)
  update({x}, {random(dtype, 40 * n)}, {random(dtype, 40 * n)},
    {weight_decay = .1, momentum = .9, lr = .01, dampening = .1,
     nesterov = true, maximize = false, is_first_step = false})
  return x
end)
each("_fused_step_", function(_, dtype, n)
  local x = random(dtype, 40 * n):requires_grad_()
  local optimizer = st.optim.RMSprop({x}, {lr = .01})
  for _ = 1, 2 do
    optimizer:zero_grad()
    x:pow(3):sum():backward()
    optimizer:step()
  end
  return x:detach()
end)

-- -- Products ----------------------------------------------------------------

each("bmm linalg_matmul", function(f, dtype, n)
  return f(random(dtype, 2, 4 * n, 3 * n), random(dtype, 2, 3 * n, 2 * n))
end)
each("baddbmm addbmm", function(f, dtype, n)
  return f(random(dtype, 4 * n, 2 * n), random(dtype, 2, 4 * n, 3 * n),
           random(dtype, 2, 3 * n, 2 * n))
end)
each("chain_matmul linalg_multi_dot", function(f, dtype, n)
  return f {random(dtype, 4 * n, 3 * n), random(dtype, 3 * n, 2 * n),
            random(dtype, 2 * n, 5 * n)}
end)
each("mv", function(f, dtype, n)
  return f(random(dtype, 4 * n, 30 * n), random(dtype, 30 * n))
end)
each("dot vdot linalg_vecdot", function(f, dtype, n)
  return f(random(dtype, 90 * n), random(dtype, 90 * n))
end)

--- What a network of one layer gives, and its gradients.
local function recurrent(name)
  others[name] = function(dtype, n)
    local net = st.nn[name:gsub("_.*", ""):upper()](
      3 * n, 2 * n, {nonlinearity = name:match "_(.*)"})
    local x = random(dtype, 4, 3, 3 * n):requires_grad_()
    for _, p in ipairs(net:parameters()) do
      p.data:copy_(random("float32", unpack(p.shape)))
    end
    if dtype == "float64" then net:double() end
    local y = net(x)
    y:sum():backward()
    local out = {y, x.grad}
    for _, p in ipairs(net:parameters()) do out[#out + 1] = p.grad end
    return unpack(out)
  end
end
recurrent "gru"
recurrent "lstm"
recurrent "rnn_tanh"
recurrent "rnn_relu"

each("_convolution_weight_backward", function(f, dtype, n)
  return f(random(dtype, 2, 2 * n, 9, 9), random(dtype, 2, 3, 9, 9),
           {2 * n, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1)
end)
each("linear_cross_entropy", function(f, dtype, n)
  return f(random(dtype, 4 * n, 3 * n), random(dtype, 5 * n, 3 * n),
           st.randint(1, 5 * n, {4 * n}))
end)

-- -- Factors -----------------------------------------------------------------

local function lower(dtype, n)
  return random(dtype, 4 * n, 4 * n):tril() + 9 * st.eye(4 * n, {dtype = dtype})
end
each("cholesky_solve triangular_solve", function(f, dtype, n)
  return f(random(dtype, 4 * n, 3), lower(dtype, n))
end)
each("lu_solve", function(f, dtype, n)
  local LU, pivots = ops.linalg_lu_factor(random(dtype, 4 * n, 4 * n))
  return f(random(dtype, 4 * n, 3), LU, pivots)
end)

each("geqrf", function(f, dtype, n) return f(random(dtype, 7 * n, 5 * n)) end)
local function symmetric(dtype, n)
  local a = random(dtype, 4 * n, 4 * n)
  return a + a:t()
end
each("linalg_ldl_factor linalg_ldl_factor_ex", function(f, dtype, n)
  return f(symmetric(dtype, n))
end)
each("linalg_ldl_solve", function(f, dtype, n)
  local LD, pivots = st.ops.aten.linalg_ldl_factor(symmetric(dtype, n))
  return f(LD, pivots, random(dtype, 4 * n, 2))
end)

-- -- Random numbers ----------------------------------------------------------

each("cauchy_ exponential_ log_normal_ random_ uniform_", function(f, dtype, n)
  return f(st.empty({37 * n}, {dtype = dtype}))
end)
each("geometric_", function(f, dtype, n)
  return f(st.empty({37 * n}, {dtype = dtype}), .3)
end)
each("rand randn", function(f, dtype, n)
  return f({37 * n}, {dtype = dtype})
end)
each("normal", function(f, dtype, n)
  return f(1, 2, {37 * n}, {dtype = dtype})
end)
each("randint", function(f, _, n) return f(3, 99, {37 * n}) end)
each("randperm", function(f, _, n) return f(37 * n) end)
each("rand_like randn_like", function(f, dtype, n)
  return f(random(dtype, 9 * n, 2))
end)
each("_standard_gamma _sample_dirichlet", function(f, dtype, n)
  return f(positive(dtype, 9 * n, 3))
end)
each("_standard_gamma_grad", function(f, dtype, n)
  return f(positive(dtype, 9 * n), positive(dtype, 9 * n))
end)
each("_dirichlet_grad", function(f, dtype, n)
  local x = positive(dtype, 9 * n, 3)
  x = x / x:sum(2, true)
  local alpha = positive(dtype, 9 * n, 3)
  return f(x, alpha, alpha:sum(2, true):expand_as(x))
end)

-- -- New tensors -------------------------------------------------------------

each("arange", function(f, dtype, n) return f(0, n, .3, {dtype = dtype}) end)
each("range", function(f, dtype, n) return f(0, n, .3, {dtype = dtype}) end)
each("eye", function(f, dtype, n) return f(2 * n, 3, {dtype = dtype}) end)
each("full", function(f, dtype, n) return f({n, 3}, .3, {dtype = dtype}) end)
each("ones zeros _efficientzerotensor", function(f, dtype, n)
  return f({n, 3}, {dtype = dtype})
end)
each("scalar_tensor", function(f, dtype) return f(.3, {dtype = dtype}) end)
each("fft_fftfreq fft_rfftfreq", function(f, dtype, n)
  return f(7 * n, .3, {dtype = dtype})
end)
each("tril_indices triu_indices", function(f, _, n) return f(2 * n, 3) end)
each("ones_like zeros_like", function(f, dtype, n)
  return f(random(dtype, n, 3))
end)
each("full_like", function(f, dtype, n) return f(random(dtype, n, 3), .3) end)
each("new_ones new_zeros", function(f, dtype, n)
  return f(random(dtype, 1), {n, 3})
end)
each("new_full", function(f, dtype, n)
  return f(random(dtype, 1), {n, 3}, .3)
end)
each([[bartlett_window blackman_window hamming_window hann_window kaiser_window
       signal_windows_bartlett signal_windows_blackman signal_windows_cosine
       signal_windows_exponential signal_windows_gaussian
       signal_windows_general_hamming signal_windows_hamming signal_windows_hann
       signal_windows_kaiser signal_windows_nuttall]], function(f, dtype, n)
  return f(31 * n, {dtype = dtype})
end)
each("signal_windows_general_cosine", function(f, dtype, n)
  return f(31 * n, {a = {.4, .5, .1}, dtype = dtype})
end)

return others
