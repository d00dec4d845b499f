--- The errors of decompositions, in units of the size of the matrix and the
-- machine epsilon, as LAPACK's own tests bound them: E. Anderson, J. Demmel,
-- "LAPACK Working Note 41: Installation Guide for LAPACK", 1999: ratios such
-- as ||A - Q R|| / (n ||A|| eps) and ||I - Q' Q|| / (n eps), in the 1-norm, are
-- below the thresholds of the files dtest.in, dlintest and dsvd.in.
-- axes: isa
-- sampled: 3

local lapack = require "spec.support.lapack"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, max, min, pairs = ipairs, math.max, math.min, pairs
local kinds = tensors.kinds

local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23,
             complex128 = 2 ^ -52}

-- -- Matrices ----------------------------------------------------------------

local function normal(dtype, shape) return st.randn(shape, {dtype = dtype}) end

--- Singular values from 1 down to 1 / condition.
local function conditioned(dtype, m, n, condition)
  local k = min(m, n)
  local U = st.linalg_qr(normal(dtype, {m, k}))
  local V = st.linalg_qr(normal(dtype, {n, k}))
  local S = st.logspace(0, -math.log(condition) / math.log(10), k,
                        {dtype = "float64"}):to(dtype)
  return (U * S):matmul(V:mH())
end

local function hilbert(dtype, m, n)
  local i = st.arange(1, m + 1, {dtype = "float64"}):unsqueeze(-1)
  local j = st.arange(0, n, {dtype = "float64"})
  return (i + j):reciprocal():to(dtype)
end

local KINDS = {
  random = function(dtype, m, n) return normal(dtype, {m, n}) end,
  ["ill-conditioned"] = function(dtype, m, n)
    return conditioned(dtype, m, n, 1e12)
  end,
  ["rank-deficient"] = function(dtype, m, n)
    local k = max(1, min(m, n) - 3)
    return normal(dtype, {m, k}):matmul(normal(dtype, {k, n}))
  end,
  Hilbert = hilbert,
}

--- The matrix itself, as columns, every other one of a larger one's, a batch.
local LAYOUTS = {
  dense = function(a) return a end,
  columns = function(a) return a:mT():contiguous():mT() end,
  sliced = function(a)
    return st.stack({a, a * 0 + 7}, -1):flatten(-2):slice(-1, 1, nil, 2)
  end,
  batched = function(a) return st.stack({a, a * 2, a}, 1) end,
}

local function each(dtype, shapes, check)
  for kind, make in pairs(KINDS) do
    for _, shape in ipairs(shapes) do
      st.manual_seed(41) -- pairs has no order
      local a = make(dtype, shape[1], shape[2])
      for layout, lay_out in pairs(LAYOUTS) do
        check(lay_out(a), ("%s, %dx%d, %s"):format(kind, shape[1], shape[2],
                                                   layout), kind)
      end
    end
  end
end

local SQUARE = {{12, 12}, {1, 1}}
local ANY = {{12, 12}, {17, 9}, {9, 17}}
-- matrices for which there are kernels
local SMALL_SQUARE = {{12, 12}, {8, 8}, {5, 5}, {1, 1}}
local SMALL_ANY = {{12, 12}, {17, 9}, {9, 17}, {8, 8}, {7, 4}, {3, 8}}

-- -- Ratios ------------------------------------------------------------------

--- The greatest 1-norm of a batch.
local function norm(t)
  return t:abs():sum(-2):max():item()
end

--- ||want - got|| / (n ||scale|| eps) is below the limit.
local function near(want, got, scale, what)
  local n = max(want.shape[#want.shape], want.shape[#want.shape - 1])
  local ratio = norm(want - got) / (n * max(scale, 1e-300) * EPS[want.dtype])
  assert.is_true(ratio < LIMIT, ("%s: the ratio is %g"):format(what, ratio))
end

--- The columns are orthonormal.
local function unitary(q, what)
  local n = q.shape[#q.shape]
  local product = q:mH():matmul(q)
  near(st.eye(n, {dtype = q.dtype}):expand(product.shape), product, 1,
       what .. ", orthogonality")
end

local function hermitian(a) return a + a:mH() end

local function diagonal(t, dtype) return t:to(dtype):diag_embed() end

--- The least ||A X - B|| has a residual R that is orthogonal to A's columns:
-- ||A' R|| / (max(m, n) ||A|| ||R or B|| eps).
local function least(a, x, b, what)
  local residual = b - a:matmul(x)
  local scale = norm(a) * (norm(a) * norm(x) + norm(b))
  near(a:mH():matmul(residual) * 0, a:mH():matmul(residual), scale, what)
end

-- -- Decompositions ----------------------------------------------------------

local CHECKS = {}

function CHECKS.linalg_qr(dtype)
  each(dtype, ANY, function(a, what)
    local Q, R = st.linalg_qr(a)
    near(a, Q:matmul(R), norm(a), what)
    unitary(Q, what)
    local all, tall = st.linalg_qr(a, "complete")
    near(a, all:matmul(tall), norm(a), what .. ", complete")
    unitary(all, what .. ", complete")
    local _, alone = st.linalg_qr(a, "r")
    near(R, alone, norm(a), what .. ", r")
  end)
end

function CHECKS.linalg_householder_product(dtype)
  each(dtype, {{12, 12}, {17, 9}}, function(a, what)
    local packed, tau = st.geqrf(a)
    local Q = st.linalg_householder_product(packed, tau)
    near(a, Q:matmul(packed:narrow(-2, 1, a.shape[#a.shape]):triu()), norm(a),
         what)
    unitary(Q, what)
    local R = packed:triu()
    near(a, st.ormqr(packed, tau, R), norm(a), what .. ", ormqr")
    near(R, st.ormqr(packed, tau, a, true, true), norm(a), what .. ", adjoint")
    local right = st.ormqr(packed, tau, a:mH(), false)
    near(R:mH(), right, norm(a:mH()), what .. ", from the right")
  end)
end

function CHECKS.linalg_cholesky(dtype)
  each(dtype, SQUARE, function(a, what)
    local n = a.shape[#a.shape]
    local spd = a:matmul(a:mH())
    spd = spd + st.eye(n, {dtype = dtype}) * (norm(spd) * n * 4 * EPS[dtype])
    local L = st.linalg_cholesky(spd)
    near(spd, L:matmul(L:mH()), norm(spd), what)
    local U = st.linalg_cholesky(spd, {upper = true})
    near(spd, U:mH():matmul(U), norm(spd), what .. ", upper")
  end)
end

function CHECKS.linalg_lu(dtype)
  each(dtype, ANY, function(a, what)
    local P, L, U = st.linalg_lu(a)
    near(a, P:matmul(L):matmul(U), norm(a), what)
    local LU, pivots = st.linalg_lu_factor_ex(a)
    local P2, L2, U2 = st.lu_unpack(LU, pivots)
    near(a, P2:matmul(L2):matmul(U2), norm(a), what .. ", lu_factor")
  end)
end

--- ||B - A X|| / (||A|| ||X|| n eps)
local function equation(a, x, b, what)
  near(b, a:matmul(x), norm(a) * norm(x), what)
end

local function is_regular(kind) return kind ~= "rank-deficient" end

function CHECKS.linalg_solve(dtype)
  each(dtype, SQUARE, function(a, what, kind)
    if not is_regular(kind) then return end
    local b = normal(dtype, {a.shape[#a.shape], 3})
    local wide = a:matmul(b) * 0 + b
    local LU, pivots, info = st.linalg_lu_factor_ex(a)
    local x, other = st.linalg_solve_ex(a, b)
    -- In float32, an ill-conditioned matrix may be singular, in either way of
    -- rounding.
    if (info:any() + other:any()):item() then
      assert.equal(2 ^ -23, EPS[dtype])
      return
    end
    equation(a, x, wide, what)
    equation(a, st.linalg_lu_solve(LU, pivots, b), wide, what .. ", lu_solve")
    equation(a:mH(), st.linalg_lu_solve(LU, pivots, b, {adjoint = true}), wide,
             what .. ", adjoint")
  end)
end

function CHECKS.linalg_inv(dtype)
  each(dtype, SQUARE, function(a, what, kind)
    if not is_regular(kind) then return end
    local inverse = st.linalg_inv(a)
    local product = a:matmul(inverse)
    near(st.eye(a.shape[#a.shape], {dtype = dtype}):expand(product.shape),
         product, norm(a) * norm(inverse), what)
  end)
end

function CHECKS.linalg_ldl_factor(dtype)
  for _, conjugates in ipairs {false, true} do
    each(dtype, SQUARE, function(a, what, kind)
      if not is_regular(kind) then return end
      local h = conjugates and hermitian(a) or a + a:mT()
      local b = normal(dtype, {a.shape[#a.shape], 3})
      local LD, pivots = st.linalg_ldl_factor(h, {hermitian = conjugates})
      local x = st.linalg_ldl_solve(LD, pivots, b, {hermitian = conjugates})
      equation(h, x, h:matmul(b) * 0 + b, what)
    end)
  end
end

function CHECKS.linalg_eigh(dtype)
  each(dtype, SMALL_SQUARE, function(a, what)
    local h = hermitian(a)
    local values, V = st.linalg_eigh(h)
    near(h, (V * values:to(dtype):unsqueeze(-2)):matmul(V:mH()), norm(h), what)
    unitary(V, what)
    local alone = st.linalg_eigvalsh(h)
    near(diagonal(values, dtype), diagonal(alone, dtype), norm(h), what)
  end)
end

function CHECKS.linalg_eig(dtype)
  each(dtype, SQUARE, function(a, what)
    local values, V = st.linalg_eig(a)
    local wide = a:to(V.dtype)
    near(wide:matmul(V), V * values:unsqueeze(-2), norm(a), what)
    local lengths = V:abs():square():sum({-2}, true)
    near(st.ones_like(lengths), lengths, 1, what .. ", lengths")
    -- the trace and the sum of the values
    local trace = a:diagonal(0, -2, -1):sum({-1}, true):unsqueeze(-1)
    near(trace:to(V.dtype), values:sum({-1}, true):unsqueeze(-1),
         norm(a) * a.shape[#a.shape], what .. ", trace")
    local alone = st.linalg_eigvals(a):sum({-1}, true):unsqueeze(-1)
    near(trace:to(V.dtype), alone, norm(a) * a.shape[#a.shape],
         what .. ", eigvals")
  end)
end

function CHECKS.linalg_svd(dtype)
  each(dtype, SMALL_ANY, function(a, what)
    for _, full in ipairs {false, true} do
      local U, S, Vh = st.linalg_svd(a, full)
      local k = S.shape[#S.shape]
      local product = (U:narrow(-1, 1, k) * S:to(dtype):unsqueeze(-2))
                      :matmul(Vh:narrow(-2, 1, k))
      near(a, product, norm(a), what)
      unitary(U, what .. ", U")
      unitary(Vh:mH(), what .. ", V")
      assert.is_true(S:ge(0):all():item() and S:diff():le(0):all():item())
      near(diagonal(S, dtype), diagonal(st.linalg_svdvals(a), dtype), norm(a),
           what .. ", values")
    end
  end)
end

function CHECKS.linalg_lstsq(dtype)
  each(dtype, ANY, function(a, what, kind)
    local b = normal(dtype, {a.shape[#a.shape - 1], 2})
    if #a.shape == 3 then b = st.stack({b, b * 2, b}, 1) end
    for _, driver in ipairs {"gelsy", "gels", "gelsd", "gelss"} do
      if driver ~= "gels" or kind == "random" then
        local x = st.linalg_lstsq(a, b, {driver = driver})
        -- the solution has no part outside of A's rows if it has full rank
        least(a, x, b, what .. ", " .. driver)
      end
    end
  end)
end

for dtype in pairs(matrices.DTYPES) do
  describe("Of " .. dtype .. ", the errors are small of", function()
    local before

    setup(function()
      before = kinds()
      st.manual_seed(41)
    end)

    for name, check in pairs(CHECKS) do
      lapack.it_of(name, it, pending)(name, function()
        st.manual_seed(41)
        check(dtype)
      end)
    end

    it("decompositions, which leave nothing behind", function()
      assert.same(before, kinds())
    end)
  end)
end
