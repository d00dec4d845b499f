--- st.lobpcg: some of the largest or smallest eigenvalues of a symmetric
-- matrix, and their vectors, without all the others.
--
-- Sources: A. V. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM
-- J. Sci. Comput. 23(2), 2001: the method "basic". J. A. Duersch, M. Shao, C.
-- Yang, M. Gu, "A robust and efficient implementation of LOBPCG", SIAM J. Sci.
-- Comput. 40(5), 2018: the orthogonal basis of "ortho" and when to stop.
--
-- @module strided.lobpcg

local core = require "strided.core"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local next, require, tostring, type = next, require, tostring, type
local floor, huge, log = math.floor, math.huge, math.log
local max, min, sqrt = math.max, math.min, math.sqrt

local function st() return core.fields or require "strided" end

local KNOWN = {k = true, B = true, X = true, n = true, iK = true, niter = true,
               tol = true, largest = true, method = true}

-- -- Algebra ------------------------------------------------------------------

--- M S, S where M is nil, the identity.
local function times(M, S) return M and M:matmul(S) or S end

--- S' M S
local function form(M, S) return S:mT():matmul(times(M, S)) end

local function columns(t, first, last)
  return t:narrow(2, first, max(last - first + 1, 0))
end

--- The eigenvalues in the order that is wanted, and their vectors.
local function eigen(M, largest)
  local E, Z = st().linalg_eigh(M)
  if largest then return E:flip {1}, Z:flip {2} end
  return E, Z
end

--- The matrix R for which S R is B-orthonormal.
local function orthonormalizer(w, S)
  local G = form(w.B, S)
  local d = G:diagonal():pow(-0.5)
  local R, info = st().linalg_cholesky_ex(G * d * d:unsqueeze(2),
                                          {upper = true})
  if info:item() ~= 0 then
    raise("lobpcg: %s", w.B and "the columns of X depend on each other, or B "
          .. "is not positive definite" or "the columns of X depend on each "
          .. "other")
  end
  return st().linalg_solve_triangular(R, d:diag_embed(),
                                      {upper = true, left = false})
end

--- Columns that span what those of U do, B-orthonormal up to rounding.
local function orthonormal(w, U)
  local d = form(w.B, U):diagonal()
  local kept = d:ne(0):flatnonzero()
  if kept:numel() < d:numel() then
    U = U:index_select(2, kept)
    d = d:index_select(1, kept)
  end
  if U:numel() == 0 then return U end
  d = d:pow(-0.5)
  local E, Z = st().linalg_eigh(form(w.B, U) * d * d:unsqueeze(2))
  E = E:clamp_min(w.tol * E:abs():max():item())
  return (U * d):matmul(Z * E:pow(-0.5))
end

local function norm(t) return t:norm():item() end

--- The options of a new tensor that is like t.
local function like(t) return {dtype = t.dtype, device = t.device} end

--- Columns that span what those of U add to those of V, B-orthonormal, and
-- B-orthogonal to V.
local function beside(w, U, V)
  local BV = norm(times(w.B, V))
  for _ = 1, 3 do
    U = U - V:matmul(V:mT():matmul(times(w.B, U)))
    for _ = 1, 3 do
      U = orthonormal(w, U)
      if U:numel() == 0 then return U end
      local G = form(w.B, U)
      local rest = norm(G - st().eye(G.shape[1], like(G)))
      if rest < w.tol * norm(U) * norm(times(w.B, U)) then break end
    end
    local rest = norm(V:mT():matmul(times(w.B, U)))
    if rest < w.tol * BV * norm(U) then break end
    if w.m < U.shape[2] + V.shape[2] then
      raise("lobpcg: the vectors outgrow the %d rows of A", w.m)
    end
  end
  return U
end

-- -- The iteration ------------------------------------------------------------

--- The residuals of the vectors, and how many of the first have converged.
local function measure(w)
  w.R = times(w.A, w.X) - times(w.B, w.X) * w.E
  local size = w.X:norm(2, 1) * (w.E:abs() * w.B_norm + w.A_norm)
  local converged = w.R:norm(2, 1):le(size * w.tol):totable()
  local count = 0
  while converged[count + 1] do count = count + 1 end
  w.converged = max(w.converged, count)
end

--- What the next step tries beside the vectors and their last steps.
local function search(w, first)
  local W = times(w.iK, columns(w.R, first, w.n))
  if w.method == "basic" then return W end
  return beside(w, W, w.P and st().cat({w.X, w.P}, 2) or w.X)
end

local function start(w)
  local size = norm(w.X)
  w.A_norm = norm(times(w.A, w.X)) / size
  w.B_norm = norm(times(w.B, w.X)) / size
  local R = orthonormalizer(w, w.X)
  local E, Z = eigen(form(form(w.A, w.X), R), w.largest)
  w.X, w.E = w.X:matmul(R:matmul(Z)), E
  measure(w)
  w.W = search(w, 1)
end

--- Replaces the vectors that have not converged by the best ones among all
-- sums of them, of their last steps, and of the residuals. These are orthogonal
-- to the others only in the method "ortho"; "basic" replaces all of them.
local function step(w)
  local done = w.method == "basic" and 0 or w.converged
  local left = w.n - done
  local parts = {columns(w.X, done + 1, w.n)}
  if w.P then parts[#parts + 1] = w.P end
  parts[#parts + 1] = w.W
  local S = st().cat(parts, 2)
  local R = w.method == "basic" and orthonormalizer(w, S) or nil
  local M = form(w.A, S)
  local E, Z = eigen(R and form(M, R) or M, w.largest)
  local width = Z.shape[2]
  local first, rest = columns(Z, 1, left), columns(Z, left + 1, width)
  w.X = st().cat({columns(w.X, 1, done), S:matmul(times(R, first))}, 2)
  w.E = st().cat({w.E:narrow(1, 1, done), E:narrow(1, 1, left)})
  if R then
    w.P = S:matmul(R:matmul(columns(rest, 1, min(left, width - left))))
  else
    local turn = st().linalg_qr(rest:narrow(1, 1, left):mT())
    w.P = S:matmul(rest:matmul(turn))
  end
  measure(w)
  w.W = search(w, w.converged + 1)
end

--- The eigenvalues and vectors of one matrix.
local function iterate(w)
  -- A power of two, exact, whose squares neither overflow nor vanish.
  local size = w.A:abs():max():item()
  if size ~= size or size == huge then raise "lobpcg: A is not finite" end
  local exponent = 0
  if size > 0 then exponent = max(-120, min(floor(log(size) / log(2)), 120)) end
  w.A = w.A:ldexp(-exponent)
  w.converged = 0
  start(w)
  local steps = w.niter < 0 and huge or w.niter
  while steps > 0 and w.converged < w.k do
    step(w)
    steps = steps - 1
  end
  return w.E:narrow(1, 1, w.k):ldexp(exponent), columns(w.X, 1, w.k)
end

-- -- Gradients ----------------------------------------------------------------

--- E and X with the derivatives of all eigenvalues and vectors of A: those of
-- L^-1 A L'^-1 where B = L L'.
local function attach(A, B, largest, E, X)
  local k = E.shape[#E.shape]
  local L = B and st().linalg_cholesky((B + B:mT()) / 2)
  local M = (A + A:mT()) / 2
  if L then
    M = st().linalg_solve_triangular(L, M, {upper = false})
    M = st().linalg_solve_triangular(L, M:mT(), {upper = false})
  end
  local values, vectors = st().linalg_eigh(M)
  local first = largest and values.shape[#values.shape] - k + 1 or 1
  values, vectors = values:narrow(-1, first, k), vectors:narrow(-1, first, k)
  if largest then values, vectors = values:flip {-1}, vectors:flip {-1} end
  if L then
    vectors = st().linalg_solve_triangular(L:mT(), vectors, {upper = true})
  end
  local sign = (vectors:detach() * X):sum {dim = -2, keepdim = true}:sgn()
  vectors = vectors * sign
  return E + (values - values:detach()), X + (vectors - vectors:detach())
end

-- -- Arguments ----------------------------------------------------------------

local function check_integer(name, value, least)
  if type(value) == "number" and value == floor(value) and value >= least then
    return value
  end
  raise("lobpcg: argument '%s' must be an integer of at least %d, got %s", name,
        least, tostring(value))
end

local function check_matrix(name, value, A, sizes)
  if value == nil then return end
  if not core.is_tensor(value) then
    raise("lobpcg: argument '%s' must be a Tensor, got %s", name, type(value))
  end
  if value.dtype ~= A.dtype or not sizes(value.shape) then
    raise("lobpcg: argument '%s' of shape %s and dtype %s does not fit A of "
          .. "shape %s and dtype %s", name, tostring(value.shape), value.dtype,
          tostring(A.shape), A.dtype)
  end
end

local function read(A, k, opt)
  if not core.is_tensor(A) then
    raise("lobpcg: argument 'A' must be a Tensor, got %s", type(A))
  end
  local shape, n = A.shape, A.ndim
  if A.dtype ~= "float32" and A.dtype ~= "float64" then
    raise("lobpcg: A must be float32 or float64, not %s", A.dtype)
  end
  if n < 2 or shape[n] ~= shape[n - 1] then
    raise("lobpcg: A must be a square matrix or a batch of them, its shape is "
          .. "%s", tostring(shape))
  end
  local function is_like(s)
    return tostring(s) == tostring(shape)
  end
  check_matrix("B", opt.B, A, is_like)
  check_matrix("iK", opt.iK, A, function(s)
    return is_like(s) or #s == 2 and s[1] == shape[n] and s[2] == shape[n]
  end)
  check_matrix("X", opt.X, A, function(s)
    return #s == n and s[n - 1] == shape[n] and
           s:numel() == A:numel() / shape[n] * s[n]
  end)
  local method = opt.method or "ortho"
  if method ~= "ortho" and method ~= "basic" then
    raise("lobpcg: method must be \"ortho\" or \"basic\", got %s",
          tostring(method))
  end
  local columns_of_X = opt.X and opt.X.shape[n]
  k = check_integer("k", k or columns_of_X or 1, 1)
  local width = columns_of_X or check_integer("n", opt.n or k, 1)
  if opt.X and opt.n and opt.n ~= width then
    raise("lobpcg: argument 'n' must be the %d columns of X, got %s", width,
          tostring(opt.n))
  end
  if k > width or shape[n] < 3 * width then
    raise("lobpcg: %d eigenvalues by %d vectors of %d rows: there must be a "
          .. "vector for each, and 3 rows for each vector", k, width, shape[n])
  end
  local tol = opt.tol or sqrt(core.dtype_info(A.dtype).eps)
  if type(tol) ~= "number" or not (tol > 0 and tol < huge) then
    raise("lobpcg: argument 'tol' must be a positive number, got %s",
          tostring(tol))
  end
  if opt.largest ~= nil and type(opt.largest) ~= "boolean" then
    raise("lobpcg: argument 'largest' must be a boolean, got %s",
          tostring(opt.largest))
  end
  return {
    m = shape[n], n = width, k = k, method = method,
    niter = check_integer("niter", opt.niter or 1000, -1),
    tol = tol,
    largest = opt.largest ~= false,
  }
end

--- The eigenvalues and vectors of each matrix of a batch, one after another.
local function solve(A, opt, settings)
  if A.ndim == 2 then
    local w = {A = A, B = opt.B, iK = opt.iK}
    for key, value in next, settings do w[key] = value end
    w.X = opt.X or st().randn({w.m, w.n}, like(A))
    return iterate(w)
  end
  local shape, E, X = A.shape, {}, {}
  for i = 1, shape[1] do
    E[i], X[i] = solve(A[i], {
      B = opt.B and opt.B[i], X = opt.X and opt.X[i],
      iK = opt.iK and (opt.iK.ndim == 2 and opt.iK or opt.iK[i]),
    }, settings)
  end
  if shape[1] == 0 then
    local sizes = {}
    for d = 1, A.ndim - 1 do sizes[d] = shape[d] end
    sizes[A.ndim] = settings.k
    local none = A:new_empty(sizes)
    return none:select(-2, 1), none
  end
  return st().stack(E), st().stack(X)
end

--- The largest or smallest eigenvalues of a symmetric matrix, or of each of a
-- batch, and their vectors. A vector has converged when its residual is below
-- tol times the norms of A, of B and of itself.
-- @function lobpcg
-- @tparam Tensor A
-- @tparam[opt] integer k how many; 1, or the columns of X
-- @tparam[opt] table options `B` for the equation A x = e B x; `X`: where to
-- begin, else `n` random vectors; `iK`, a preconditioner; `niter`, 1000, or -1
-- for no limit; `tol`; `largest`, true; `method`, "ortho" or "basic"
-- @return the eigenvalues, of shape (..., k)
-- @return the vectors, of shape (..., m, k)
local function lobpcg(A, k, given)
  if type(k) == "table" and given == nil then k, given = nil, k end
  local opt = options("lobpcg", given, KNOWN)
  if k ~= nil and opt.k ~= nil then
    raise "lobpcg: argument 'k' is given twice"
  end
  if k == nil then k = opt.k end
  local settings = read(A, k, opt)
  local ok, E, X = core.try(st().no_grad, solve, A, opt, settings)
  if not ok then
    local why = tostring(E)
    raise("lobpcg: %s", why:match "lobpcg: (.*)$" or
          why:match "^.-:%d+: (.*)$" or why)
  end
  local B = opt.B
  if st().is_grad_enabled() and (A.requires_grad or B and B.requires_grad) then
    return attach(A, B, settings.largest, E, X)
  end
  return E, X
end

return {lobpcg = lobpcg}
