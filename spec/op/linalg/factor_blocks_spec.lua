--- LU, Cholesky and QR factors, inverses and equations by panels and products:
-- every size around those of panels and vectors, matrices of all kinds and
-- layouts, within the ratios of LAPACK's own tests (E. Anderson, J. Dongarra,
-- S. Ostrouchov, "LAPACK Working Note 41", 1992); pivots as a plain loop takes
-- them; the same bits for every instruction set with fused multiply-adds.
-- axes: isa threads
-- sampled: 3

local build = require "spec.support.build"
local matrices = require "spec.support.matrices"
local st = require "strided"

local abs, floor, ipairs, pairs = math.abs, math.floor, ipairs, pairs
local linalg = st.linalg

local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23,
             complex128 = 2 ^ -52}
local DTYPES = {"float32", "float64", "complex64", "complex128"}
-- Few large ones, and fewer where each takes ten times as long.
local SIZES = build.is_sanitized and {7, 65} or {7, 16, 33, 65, 70}
local LARGE = build.is_sanitized and {} or {127, 200}

-- -- Matrices ----------------------------------------------------------------

local function random(dtype, m, n) return st.randn({m, n}, {dtype = dtype}) end

local function eye(dtype, n) return st.eye(n, {dtype = dtype}) end

--- From 1 down to 2 ^ -20.
local function grades(n)
  return (st.arange(0, n, {dtype = "float64"}) * (-20 / n)):exp2()
end

local KINDS = {
  random = function(dtype, n) return random(dtype, n, n) end,
  graded = function(dtype, n)
    local g = grades(n):to(dtype)
    return random(dtype, n, n) * g * g:unsqueeze(-1)
  end,
  Hilbert = function(dtype, n)
    local i = st.arange(1, n + 1, {dtype = "float64"})
    return (i:unsqueeze(-1) + i - 1):reciprocal():to(dtype)
  end,
  ["of rank three"] = function(dtype, n)
    return random(dtype, n, 3):matmul(random(dtype, 3, n))
  end,
  ["of zeros"] = function(dtype, n)
    return st.zeros({n, n}, {dtype = dtype})
  end,
}

-- -- Checks ------------------------------------------------------------------

local function wide(t)
  return t:to(t.dtype:find "complex" and "complex128" or "float64")
end

local function norm(t) return t:abs():sum(-2):max():item() end

--- How far `got` is from `want`, in units of n, eps and the norms of others.
local function check(want, got, dtype, what, ...)
  local unit = want:size(1) * EPS[dtype]
  for _, t in ipairs {...} do unit = unit * norm(wide(t)) end
  local far = norm(wide(want) - wide(got))
  assert(far <= LIMIT * unit, ("%s, %s, %d: error ratio %g"):format(
    what, dtype, want:size(1), far / unit))
end

local function times(a, ...)
  a = wide(a)
  for _, b in ipairs {...} do a = a:matmul(wide(b)) end
  return a
end

local function check_lu(a, dtype, what)
  local P, L, U = linalg.lu(a)
  check(a, times(P, L, U), dtype, what .. ": P L U", a)
  assert.is_true(L:abs():max():item() <= math.sqrt(2) * (1 + 4 * EPS[dtype]))
end

local function check_equations(a, dtype, what)
  local n = a:size(1)
  local inverse, info = linalg.inv_ex(a)
  if info:item() ~= 0 then return end
  check(eye(dtype, n), times(a, inverse), dtype, what .. ": inverse", inverse,
        a)
  local LU, pivots, at = linalg.lu_factor_ex(a)
  for _, columns in ipairs {1, 20} do
    local b = random(dtype, n, columns)
    local x, is_singular = linalg.solve_ex(a, b)
    if is_singular:item() ~= 0 or at:item() ~= 0 then return end
    check(b, times(a, x), dtype, what .. ": A X = B", a, x)
    x = linalg.solve_ex(a, b:mT(), {left = false})
    check(b:mT(), times(x, a), dtype, what .. ": X A = B", a, x:mT())
    x = linalg.lu_solve(LU, pivots, b, {adjoint = true})
    check(b, times(a:mH(), x), dtype, what .. ": A' X = B", a:mH(), x)
  end
end

local function check_cholesky(a, dtype, what)
  local n = a:size(1)
  local L = linalg.cholesky(a)
  local U = linalg.cholesky(a, {upper = true})
  check(a, times(L, L:mH()), dtype, what .. ": L L'", a)
  check(a, times(U:mH(), U), dtype, what .. ": U' U", a)
  assert.is_true(st.equal(L, L:tril()) and st.equal(U, U:triu()))
  local b = random(dtype, n, 5)
  for _, upper in ipairs {false, true} do
    local factor = upper and U or L
    local x = st.cholesky_solve(b, factor, upper)
    check(b, times(a, x), dtype, what .. ": equation", a, x)
    local inverse = st.cholesky_inverse(factor, upper)
    assert.is_true(st.equal(inverse, inverse:mH()))
    check(eye(dtype, n), times(inverse, a), dtype, what .. ": inverse", a,
          inverse)
  end
end

local function check_triangles(full, dtype, what)
  local n = full:size(1)
  local a = full / n + 2 * eye(dtype, n)
  for _, upper in ipairs {false, true} do
    for _, unit in ipairs {false, true} do
      local t = (upper and a:triu() or a:tril()):clone()
      if unit then t:diagonal():fill_(1) end
      for _, columns in ipairs {1, 3, 33} do
        local b = random(dtype, n, columns)
        local options = {upper = upper, unitriangular = unit}
        local x = linalg.solve_triangular(a, b, options)
        check(b, times(t, x), dtype, what .. ": T X = B", t, x)
        options.left = false
        x = linalg.solve_triangular(a, b:mT(), options)
        check(b:mT(), times(x, t), dtype, what .. ": X T = B", t, x:mT())
      end
    end
  end
end

--- A = Q R, and products of the reflections with C, from both sides.
local function check_qr(a, dtype, what)
  local m, n = a:size(1), a:size(2)
  local k = math.min(m, n)
  local Q, R = linalg.qr(a, "complete")
  check(a, times(Q, R), dtype, what .. ": Q R", a)
  check(eye(dtype, m), times(Q:mH(), Q), dtype, what .. ": Q' Q")
  -- Where columns nearly depend on others, Q of other roundings is another.
  local factors, tau = st.geqrf(a)
  Q = st.ormqr(factors, tau, eye(dtype, m))
  check(a, times(Q, factors:triu()), dtype, what .. ": geqrf", a)
  check(eye(dtype, m), times(Q:mH(), Q), dtype, what .. ": its Q' Q")
  if m >= n then
    check(Q:narrow(2, 1, k), linalg.householder_product(factors, tau), dtype,
          what .. ": product")
    local few = linalg.householder_product(factors, tau:narrow(1, 1, 1))
    check(eye(dtype, n), times(few:mH(), few), dtype, what .. ": of one")
  end
  local c = random(dtype, m, 6)
  for _, adjoint in ipairs {false, true} do
    local q = adjoint and Q:mH() or Q
    check(times(q, c), st.ormqr(factors, tau, c, true, adjoint), dtype,
          what .. ": Q C", c)
    check(times(c:mH(), q), st.ormqr(factors, tau, c:mH(), false, adjoint),
          dtype, what .. ": C Q", c:mH())
  end
end

-- -- Pivots ------------------------------------------------------------------

--- |re| + |im|, a product and a quotient of pairs.
local function size(x) return abs(x[1]) + abs(x[2]) end
local function mul(x, y)
  return {x[1] * y[1] - x[2] * y[2], x[1] * y[2] + x[2] * y[1]}
end
local function div(x, y)
  local d = y[1] * y[1] + y[2] * y[2]
  return {(x[1] * y[1] + x[2] * y[2]) / d, (x[2] * y[1] - x[1] * y[2]) / d}
end

local function pairs_of(a)
  local rows = {}
  for i = 1, a:size(1) do
    rows[i] = {}
    for k = 1, a:size(2) do
      local x = a[{i, k}]
      rows[i][k] = x.dtype:find "complex"
        and {st.real(x):item(), st.imag(x):item()} or {x:item(), 0}
    end
  end
  return rows
end

--- Those of a loop over columns: the first of the largest.
local function pivots_of(a)
  local x, pivots = pairs_of(a), {}
  local m, n = a:size(1), a:size(2)
  for k = 1, math.min(m, n) do
    local at = k
    for i = k + 1, m do
      if size(x[i][k]) > size(x[at][k]) then at = i end
    end
    pivots[k] = at
    x[k], x[at] = x[at], x[k]
    for i = k + 1, size(x[k][k]) > 0 and m or 0 do
      local by = div(x[i][k], x[k][k])
      for c = k + 1, n do
        local p = mul(by, x[k][c])
        x[i][c] = {x[i][c][1] - p[1], x[i][c][2] - p[2]}
      end
    end
  end
  return pivots
end

--- Blocks along the diagonal, which elimination leaves alone until it comes to
-- them; in the first column of each all numbers are as large.
local function tied(dtype, m, n)
  local a = st.zeros({m, n}, {dtype = dtype})
  local k, width = 1, 6
  while k <= math.min(m, n) do
    local rows = math.min(k + width, m + 1) - k
    local cols = math.min(k + width, n + 1) - k
    local block = random(dtype, rows, cols)
    local signs = random(dtype, rows, 1)
    signs = st.where(st.real(signs):gt(0), 1, -1):to(dtype)
    if dtype:find "complex" then
      local turn = st.complex(st.zeros {}, st.ones {}):to(dtype)
      signs = st.where(st.rand {rows, 1}:gt(0.5), signs, signs * turn)
    end
    block:narrow(2, 1, 1):copy_(signs)
    a:narrow(1, k, rows):narrow(2, k, cols):copy_(block)
    k, width = k + width, width + 9
  end
  return a
end

-- -- Digests -----------------------------------------------------------------

local DIGEST = [[
local cases = require "spec.op.reduce.reproducible.cases"
local st = require "strided"
local linalg = st.linalg
for _, dtype in ipairs {"float32", "float64", "complex64", "complex128"} do
  for _, n in ipairs {9, 40, 65, 150} do
    st.manual_seed(n)
    local a = st.randn({n, n}, {dtype = dtype})
    local b = st.randn({n, 37}, {dtype = dtype})
    local p = (a + a:mH()) / 4 + n * st.eye(n, {dtype = dtype})
    local L = linalg.cholesky(p)
    local all = {linalg.solve(a, b), linalg.inv(a), L,
                 linalg.cholesky(p, {upper = true}), st.cholesky_inverse(L),
                 linalg.solve_triangular(p, b, {upper = true}),
                 (linalg.lu_factor(a)), (linalg.lu_factor(a:mT())),
                 (linalg.qr(a)), (linalg.qr(b, "complete"))}
    for _, hermitian in ipairs {false, true} do
      local h = hermitian and a + a:mH() or a + a:mT()
      local LD, pivots = linalg.ldl_factor(h, {hermitian = hermitian})
      all[#all + 1] = LD
      for _, c in ipairs {b, b:narrow(2, 1, 2)} do
        all[#all + 1] = linalg.ldl_solve(LD, pivots, c,
                                         {hermitian = hermitian})
      end
    end
    for _, t in ipairs(all) do
      if dtype:find "complex" then t = st.view_as_real(t:contiguous()) end
      print(cases.digest(t:contiguous()):item())
    end
  end
end
print(st.config().isa)
]]

describe("factors by panels", function()
  before_each(function() st.manual_seed(31) end)

  for _, dtype in ipairs(DTYPES) do
    it("are near for every size, " .. dtype, function()
      local step = dtype == "float64" and not build.is_sanitized and 1 or 7
      for n = 1, 70, step do
        check_lu(random(dtype, n, n), dtype, "random")
        check_lu(random(dtype, n, 71 - n), dtype, "of any shape")
        local a = random(dtype, n, n)
        local p = a:matmul(a:mH()) + eye(dtype, n)
        local L = linalg.cholesky(p)
        check(p, times(L, L:mH()), dtype, "L L'", p)
        local inverse = linalg.inv(p)
        check(eye(dtype, n), times(inverse, p), dtype, "inverse", inverse, p)
        check_qr(a, dtype, "random")
        check_qr(random(dtype, n, 71 - n), dtype, "of any shape")
      end
      for _, shape in ipairs {{200, 130}, {130, 200}} do
        check_qr(random(dtype, shape[1], shape[2]), dtype, "random")
      end
    end)

    it("are near for matrices of every kind, " .. dtype, function()
      for kind, make in pairs(KINDS) do
        for _, n in ipairs(SIZES) do
          st.manual_seed(n) -- pairs has no order
          local a = make(dtype, n)
          check_lu(a, dtype, kind)
          check_equations(a, dtype, kind)
          check_qr(a, dtype, kind)
        end
      end
      for _, n in ipairs(LARGE) do
        local a = random(dtype, n, n)
        check_lu(a, dtype, "random")
        check_equations(a, dtype, "random")
      end
    end)

    it("are near for definite matrices, " .. dtype, function()
      for _, n in ipairs {1, 9, 33, 64, 65, 130} do
        local a = random(dtype, n, n)
        local p = a:matmul(a:mH()) / n + eye(dtype, n)
        local g = grades(n):to(dtype)
        check_cholesky(p, dtype, "definite")
        check_cholesky(p * g * g:unsqueeze(-1), dtype, "graded")
      end
    end)

    it("solve triangular equations, " .. dtype, function()
      for _, n in ipairs {1, 5, 16, 33, 64, 67, 130} do
        check_triangles(random(dtype, n, n), dtype, "triangle")
      end
    end)

    it("take any layout, " .. dtype, function()
      local a = random(dtype, 75, 75)
      local p = a:matmul(a:mH()) + eye(dtype, 75)
      local LU, pivots = linalg.lu_factor(a)
      local L, inverse = linalg.cholesky(p), linalg.inv(a)
      for _, b in pairs(matrices.layouts(a)) do
        local got, at = linalg.lu_factor(b)
        assert.is_true(st.equal(LU, got) and st.equal(pivots, at))
        check(eye(dtype, 75), times(linalg.inv(b), a), dtype, "inverse",
              inverse, a)
      end
      for _, q in pairs(matrices.layouts(p)) do
        assert.is_true(st.equal(L, linalg.cholesky(q)))
      end
    end)

    it("take the pivots of a loop, " .. dtype, function()
      for _, shape in ipairs {{9, 9}, {40, 40}, {70, 66}, {20, 33}} do
        for _, make in ipairs {random, tied} do
          local a = make(dtype, shape[1], shape[2])
          local _, pivots = linalg.lu_factor(a)
          assert.are.same(pivots_of(a), pivots:totable())
        end
      end
    end)

    it("end where elements are not finite, " .. dtype, function()
      for _, bad in ipairs {0 / 0, 1 / 0, -1 / 0} do
        for _, n in ipairs {9, 70, 130} do
          for _, at in ipairs {1, floor(n / 2), n} do
            local a = random(dtype, n, n)
            a[{at, at}] = bad
            local LU, pivots = linalg.lu_factor_ex(a)
            assert.is_false(LU:isfinite():all():item())
            assert.is_true(pivots:ge(st.arange(1, n + 1)):all():item() and
                           pivots:le(n):all():item())
            assert.is_false(linalg.solve_ex(a, random(dtype, n, 2)):isfinite()
                            :all():item() and bad ~= bad)
            local _, info = linalg.cholesky_ex(eye(dtype, n):diagonal_scatter(
              a:diagonal()):abs():to(dtype))
            assert.are.equal(bad ~= bad and at or 0, info:item())
            local _, R = linalg.qr(a)
            assert.is_false(R:isfinite():all():item())
          end
        end
      end
    end)
  end

  it("are of matrices with large and small numbers", function()
    for _, scale in ipairs {2 ^ 120, 2 ^ -126, 2 ^ -140} do
      for _, dtype in ipairs {"float32", "complex64"} do
        local a = st.eye(20, {dtype = dtype}) * scale
        if dtype == "complex64" then
          a = a * st.complex(st.zeros {}, st.ones {})
        end
        local x = linalg.solve(a, a)
        check(eye(dtype, 20), x, dtype, "A X = A")
        x = linalg.solve_triangular(a, a, {upper = true})
        check(eye(dtype, 20), x, dtype, "T X = T")
      end
    end
  end)

  it("are quotients of the first column, rounded once", function()
    for _, dtype in ipairs {"float32", "float64"} do
      local n = 300
      local a = st.eye(n, {dtype = dtype})
      local far = dtype == "float32" and 60 or 500
      for _, e in ipairs {0, far - 1, 1 - far, far + 3, -far - 3} do
        local by = st.full({}, 2, {dtype = dtype}):pow(e) * 1.7
        local column = (st.rand({n}, {dtype = dtype}) * 2 - 1) * by
        column[1] = by
        a:select(2, 1):copy_(column)
        local LU = linalg.lu_factor(a)
        local got = LU:select(2, 1):narrow(1, 2, n - 1)
        assert.is_true(st.equal(column:narrow(1, 2, n - 1) / by, got))
      end
    end
  end)

  it("say where there are none", function()
    for _, n in ipairs {20, 150} do
      local a = eye("float64", n)
      a[{n - 3, n - 3}] = 0
      local _, _, info = linalg.lu_factor_ex(a)
      assert.are.equal(n - 3, info:item())
      local inverse, at = linalg.inv_ex(a)
      assert.is_true(at:item() == n - 3 and inverse:isnan():all():item())
      assert.has_error(function() st.cholesky_inverse(a) end)
      for _, bad in ipairs {0, -1} do
        a[{n - 3, n - 3}] = bad
        local _, order = linalg.cholesky_ex(a)
        assert.are.equal(n - 3, order:item())
      end
    end
  end)

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("have the same bits for every instruction set", function()
      build.same_by_instruction_set(("%s -e '%s'"):format(build.lua, DIGEST),
                                    "products")
    end)
  end
end)
