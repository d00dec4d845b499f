--- Distributions of vectors and matrices: MultivariateNormal,
-- LowRankMultivariateNormal, Wishart, LKJCholesky.
--
-- The samples of two distributions are not PyTorch's numbers. Wishart: PyTorch
-- 2.15 takes positive definite matrices for singular ones, and draws them again
-- up to ten times. LKJCholesky of 3 x 3 and more: PyTorch's rows have other
-- beta numbers than its own density and the article below ask for.
--
-- @module strided.distributions.multivariate

local st = require "strided"
local base = require "strided.distributions.base"
local constraints = require "strided.distributions.constraint"
local family = require "strided.distributions.exponential_family"
local raise = require "strided.argument.caller_error"

local unpack = unpack or table.unpack
local ipairs, log, pi, type = ipairs, math.log, math.pi, type
local rawget, tostring = rawget, tostring

local require = require "strided.core".require

local M = {}

local join, like, part = base.join, base.like, base.part

local MATRICES = {
  {"covariance_matrix", "positive_definite", 2},
  {"precision_matrix", "positive_definite", 2},
  {"scale_tril", "lower_cholesky", 2},
}

-- -- Matrices ----------------------------------------------------------------

local function diagonal(a) return st.diagonal(a, {dim1 = -2, dim2 = -1}) end
local function log_det(l) return diagonal(l):log():sum(-1) end
local function apply(a, x) return (a:matmul(x:unsqueeze(-1))):squeeze(-1) end

local function solve_lower(l, b)
  return st.linalg_solve_triangular(l, b, {upper = false})
end

--- |inv(l) x|^2.
local function mahalanobis(l, x)
  return solve_lower(l, x:unsqueeze(-1)):squeeze(-1):square():sum(-1)
end

--- The Cholesky factor of the inverse of p.
local function precision_to_scale(p)
  local flipped = st.linalg_cholesky(p:flip {-2, -1})
  local inverse = flipped:flip({-2, -1}):mT()
  local n = p.shape[p:dim()]
  return solve_lower(inverse, st.eye(n, like(p)):expand_as(p))
end

M.matrices = {
  apply = apply, log_det = log_det, mahalanobis = mahalanobis,
  solve_lower = solve_lower,
}

--- The one matrix that is given, and its name.
local function read_matrix(a, name)
  local found, value
  for _, p in ipairs(MATRICES) do
    if a[p[1]] ~= nil then
      if found then raise("%s: give one of %s and %s", name, found, p[1]) end
      found, value = p[1], base.as_tensor(a[p[1]])
    end
  end
  if not found then
    raise("%s: give covariance_matrix, precision_matrix or scale_tril", name)
  end
  local shape = value.shape
  if #shape < 2 or shape[#shape] ~= shape[#shape - 1] then
    raise("%s: %s must be a square matrix, it has the shape %s", name, found,
          tostring(shape))
  end
  return value, found
end

--- The fields that follow from one of the matrices.
local function add_matrices(class)
  function class.get:scale_tril() return rawget(self, "factor") end
  function class.get:covariance_matrix()
    local l = self.scale_tril
    return l:matmul(l:mT())
  end
  function class.get:precision_matrix()
    local l = self.scale_tril
    local n = l.shape[l:dim()]
    return st.cholesky_solve(st.eye(n, like(l)):expand_as(l), l)
  end
end

--- Sets the field factor, which is the scale_tril of another matrix.
local function factorize(self)
  st.enable_grad(function()
    local c, p = rawget(self, "covariance_matrix"),
                 rawget(self, "precision_matrix")
    if c then self.factor = st.linalg_cholesky(c) end
    if p then self.factor = precision_to_scale(p) end
  end)
end

--- The factor of an expanded distribution.
local function expand(self, shape)
  local out = base.Distribution.expand(self, shape)
  local factor, n = rawget(self, "factor"), self.event[1]
  out.factor = factor and factor:expand(join(out.batch, {n, n}))
  return out
end

--- Fails as the constraint of the matrix does, before a factorization fails.
local function check_matrix(self, a, name)
  if a.validate_args == false or not base.validates then return end
  for _, p in ipairs(MATRICES) do
    local v = rawget(self, p[1])
    local c = constraints.find(p[2])
    if v and not c:check(v:detach()):all():item() then
      raise("%s: %s must be %s", name, p[1], c.name)
    end
  end
end

-- -- MultivariateNormal ------------------------------------------------------

--- The normal distribution of vectors: density exp(-(x - loc)' inv(C) (x - loc)
-- / 2) / sqrt((2 pi)^n det C).
-- @function MultivariateNormal
-- @param loc the mean
-- @param covariance_matrix C
-- @param precision_matrix inv(C), instead of C
-- @param scale_tril a lower triangular L with L L' = C, instead of C
local Normal = base.class("MultivariateNormal", {
  params = {{"loc", "real_vector", 1}, MATRICES[1], MATRICES[2], MATRICES[3]},
  support = "real_vector", reparameterized = true,
})
M.MultivariateNormal = Normal
add_matrices(Normal)

function Normal:init(a)
  local matrix, key = read_matrix(a, "MultivariateNormal")
  local loc = base.as_tensor(a.loc, matrix)
  local n = matrix.shape[matrix:dim()]
  if loc:dim() < 1 or (loc.shape[loc:dim()] ~= n and
                       loc.shape[loc:dim()] ~= 1) then
    raise("MultivariateNormal: loc must be vectors of %d elements, it has the "
          .. "shape %s", n, tostring(loc.shape))
  end
  local outer = part(matrix.shape, 1, matrix:dim() - 2)
  local batch = st.broadcast_tensors {
    st.empty(outer, {device = "meta"}),
    st.empty(part(loc.shape, 1, loc:dim() - 1), {device = "meta"})}[1].shape
  self.loc = loc:expand(join(batch, {n}))
  self[key] = matrix:expand(join(batch, {n, n}))
  check_matrix(self, a, "MultivariateNormal")
  factorize(self)
  return batch, {n}
end

Normal.expand = expand
function Normal.get:mean() return self.loc end
function Normal.get:mode() return self.loc end

function Normal.get:variance()
  return self.scale_tril:pow(2):sum(-1):expand(join(self.batch, self.event))
end

function Normal:draw(shape, o)
  return self.loc + apply(self.scale_tril, base.normal(self, shape, o))
end

function Normal:density(x)
  local l = self.scale_tril
  return -0.5 * (self.event[1] * log(2 * pi) + mahalanobis(l, x - self.loc))
         - log_det(l)
end

function Normal:entropy()
  return 0.5 * self.event[1] * (1 + log(2 * pi)) + log_det(self.scale_tril)
end

-- -- LowRankMultivariateNormal -----------------------------------------------

--- A normal distribution of vectors with the covariance W W' + diag(D).
-- @function LowRankMultivariateNormal
-- @param loc the mean
-- @param cov_factor W, with as many columns as the rank
-- @param cov_diag D, positive
local LowRank = base.class("LowRankMultivariateNormal", {
  params = {{"loc", "real_vector", 1}, {"cov_factor", "real", 2},
            {"cov_diag", "positive", 1}},
  support = "real_vector", reparameterized = true,
})
M.LowRankMultivariateNormal = LowRank

function LowRank:init(a)
  local w = base.as_tensor(a.cov_factor)
  local loc, d = base.as_tensor(a.loc, w), base.as_tensor(a.cov_diag, w)
  local n = loc.shape[loc:dim()]
  if w:dim() < 2 or loc:dim() < 1 or d:dim() < 1 or
     w.shape[w:dim() - 1] ~= n or d.shape[d:dim()] ~= n then
    raise("LowRankMultivariateNormal: loc, cov_factor and cov_diag must end in "
          .. "{n}, {n, m} and {n}; they have the shapes %s, %s and %s",
          tostring(loc.shape), tostring(w.shape), tostring(d.shape))
  end
  loc, w, d = unpack(st.broadcast_tensors {loc:unsqueeze(-1), w,
                                           d:unsqueeze(-1)})
  self.loc, self.cov_factor = loc:select(-1, 1), w
  self.cov_diag = d:select(-1, 1)
  return part(loc.shape, 1, loc:dim() - 2), {n}
end

--- W' inv(D), and the Cholesky factor of I + W' inv(D) W.
local function capacitance(self)
  local w = self.cov_factor
  local scaled = w:mT() / self.cov_diag:unsqueeze(-2)
  local m = w.shape[w:dim()]
  return scaled, st.linalg_cholesky(scaled:matmul(w)
                                    + st.eye(m, like(w)))
end

--- The logarithm of the determinant of the covariance.
function LowRank:log_det()
  local _, l = capacitance(self)
  return 2 * log_det(l) + self.cov_diag:log():sum(-1)
end

--- x' inv(C) x for the covariance C.
function LowRank:distance(x)
  local scaled, l = capacitance(self)
  return (x:pow(2) / self.cov_diag):sum(-1) - mahalanobis(l, apply(scaled, x))
end

function LowRank.get:mean() return self.loc end
function LowRank.get:mode() return self.loc end

function LowRank.get:variance()
  return self.cov_factor:pow(2):sum(-1) + self.cov_diag
end

function LowRank.get:covariance_matrix()
  local w = self.cov_factor
  return w:matmul(w:mT()) + self.cov_diag:diag_embed()
end

function LowRank.get:scale_tril()
  local root = self.cov_diag:sqrt():unsqueeze(-1)
  local w = self.cov_factor / root
  return root * st.linalg_cholesky(w:matmul(w:mT())
                                   + st.eye(self.event[1], like(w)))
end

function LowRank.get:precision_matrix()
  local scaled, l = capacitance(self)
  local a = solve_lower(l, scaled)
  return self.cov_diag:reciprocal():diag_embed() - a:mT():matmul(a)
end

function LowRank:draw(shape, o)
  local w = self.cov_factor
  local inner = join(part(shape, 1, #shape - 1), {w.shape[w:dim()]})
  local x, y = base.normal(self, inner, o), base.normal(self, shape, o)
  return self.loc + apply(w, x) + self.cov_diag:sqrt() * y
end

function LowRank:density(x)
  return -0.5 * (self.event[1] * log(2 * pi) + self:log_det()
                 + self:distance(x - self.loc))
end

function LowRank:entropy()
  return 0.5 * (self.event[1] * (1 + log(2 * pi)) + self:log_det())
end

-- -- Wishart -----------------------------------------------------------------

--- The Wishart distribution: X X' for df columns X of normal vectors with the
-- covariance C.
-- @function Wishart
-- @param df more than the size of the matrices, less 1
-- @param covariance_matrix C
-- @param precision_matrix inv(C), instead of C
-- @param scale_tril a lower triangular L with L L' = C, instead of C
local Wishart = base.class("Wishart", {
  params = {{"df", "positive"}, MATRICES[1], MATRICES[2], MATRICES[3]},
  support = "positive_definite", reparameterized = true,
  mean_carrier_measure = 0,
}, family.ExponentialFamily)
M.Wishart = Wishart
add_matrices(Wishart)

function Wishart:init(a)
  local matrix, key = read_matrix(a, "Wishart")
  local df, n = base.as_tensor(a.df, matrix), matrix.shape[matrix:dim()]
  if not df:gt(n - 1):all():item() then
    raise("Wishart: df must be greater than %d", n - 1)
  end
  local outer = st.empty(part(matrix.shape, 1, matrix:dim() - 2),
                         like(df))
  self.df = st.broadcast_tensors {df, outer}[1]
  local batch = self.df.shape
  self[key] = matrix:expand(join(batch, {n, n}))
  check_matrix(self, a, "Wishart")
  factorize(self)
  return batch, {n, n}
end

Wishart.expand = expand

function Wishart.get:arg_constraints()
  local out = {df = constraints.greater_than(self.event[1] - 1)}
  for _, p in ipairs(MATRICES) do out[p[1]] = constraints.find(p[2]) end
  return out
end

function Wishart.get:mean()
  return self.df:unsqueeze(-1):unsqueeze(-1) * self.covariance_matrix
end

function Wishart.get:mode()
  local factor = self.df - self.event[1] - 1
  factor = factor:masked_fill(factor:le(0), 0 / 0)
  return factor:unsqueeze(-1):unsqueeze(-1) * self.covariance_matrix
end

function Wishart.get:variance()
  local c = self.covariance_matrix
  local d = diagonal(c)
  return self.df:unsqueeze(-1):unsqueeze(-1)
         * (c:pow(2) + d:unsqueeze(-1) * d:unsqueeze(-2))
end

--- Bartlett's decomposition: L A A' L' for a lower triangular A with roots of
-- chi-square numbers in the diagonal and normal numbers below it.
function Wishart:draw(_, o, outer)
  local n, l = self.event[1], self.scale_tril
  local shape = join(outer, self.batch)
  local df = self.df:unsqueeze(-1) - st.arange(n, like(l))
  local chi2 = require "strided.distributions.gamma".Chi2(df)
  local full = join(shape, {n})
  local a = chi2.draw(chi2, full, o):sqrt():clamp_min(base.eps(l)):diag_embed()
  local below = st.empty(join(shape, {n * (n - 1) / 2}), like(l))
                :normal_(0, 1, o)
  local mask = st.ones({n, n}, {dtype = "bool", device = l.device}):tril(-1)
  a = a:masked_scatter(mask:expand(join(shape, {n, n})), below)
  local root = l:matmul(a)
  return root:matmul(root:mT())
end

function Wishart:density(x)
  local df, n, l = self.df, self.event[1], self.scale_tril
  local _, log_abs = st.linalg_slogdet(x)
  return -df * (n * log(2) / 2 + log_det(l)) - st.mvlgamma(df / 2, n)
         + (df - n - 1) / 2 * log_abs
         - diagonal(st.cholesky_solve(x, l)):sum(-1) / 2
end

--- The derivative of mvlgamma.
local function mvdigamma(x, n)
  return (x:unsqueeze(-1) - st.arange(n, like(x)) / 2):digamma():sum(
    -1)
end

function Wishart:entropy()
  local df, n = self.df, self.event[1]
  return (n + 1) * (n * log(2) / 2 + log_det(self.scale_tril))
         + st.mvlgamma(df / 2, n)
         - (df - n - 1) / 2 * mvdigamma(df / 2, n) + df * n / 2
end

function Wishart:natural_params()
  return {self.precision_matrix / -2, (self.df - self.event[1] - 1) / 2}
end

function Wishart:log_normalizer(x, y)
  local n = self.event[1]
  local _, log_abs = st.linalg_slogdet(-2 * x)
  y = y + (n + 1) / 2
  return y * (n * log(2) - log_abs) + st.mvlgamma(y, n)
end

-- -- LKJCholesky -------------------------------------------------------------

--- Cholesky factors L of correlation matrices: density proportional to
-- det(L L')^(concentration - 1) of the matrix L L' (Lewandowski, Kurowicka and
-- Joe, "Generating random correlation matrices based on vines and extended
-- onion method", Journal of Multivariate Analysis 100, 2009).
-- @function LKJCholesky
-- @tparam integer dim the size of the matrices, 2 or more
-- @param[opt=1] concentration 1: all correlation matrices alike; more: nearer
-- to the identity
local LKJ = base.class("LKJCholesky", {
  params = {{"dim", nil, 0, true}, {"concentration", "positive"}},
  defaults = {concentration = true}, support = "corr_cholesky",
})
M.LKJCholesky = LKJ

function LKJ:init(a)
  local n = a.dim
  if type(n) ~= "number" or n < 2 or n % 1 ~= 0 then
    raise("LKJCholesky: dim must be an integer from 2 on")
  end
  self.dim, self.concentration = n, base.as_tensor(a.concentration or 1)
  return self.concentration.shape, {n, n}
end

--- By the onion method: row i is a direction in a space of i - 1 dimensions
-- times the root of a beta number, and what is left of the norm 1.
function LKJ:draw(shape, o, outer)
  local n, c = self.dim, self.concentration
  local steps = st.arange(n - 1, like(c)) / 2
  steps = st.constant_pad_nd(steps, {1, 0})
  local beta = require "strided.distributions.gamma".Beta(
    steps + 0.5, (c + 0.5 * (n - 2)):unsqueeze(-1) - steps)
  local y = beta.draw(beta, join(outer, beta.batch), o):unsqueeze(-1)
  local u = base.normal(self, shape, o):tril(-1)
  local norm = st.linalg_vector_norm(u, 2, {-1}, true)
  local w = y:sqrt() * (u / st.where(norm:eq(0), 1, norm))
  local rest = (1 - w:square():sum(-1)):clamp_min(base.tiny(c))
  return w + rest:sqrt():diag_embed()
end

function LKJ:density(x)
  local n, c = self.dim, self.concentration
  local order = 2 * (c - 1):unsqueeze(-1) + n
                - st.arange(2, n + 1, like(c))
  local alpha = c + 0.5 * (n - 1)
  local norm = 0.5 * (n - 1) * log(pi) + st.mvlgamma(alpha - 0.5, n - 1)
               - alpha:lgamma() * (n - 1)
  return (order * diagonal(x):narrow(-1, 2, n - 1):log()):sum(-1) - norm
end

return M
