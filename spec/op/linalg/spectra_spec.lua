--- Eigenvectors and singular vectors that are found by dividing the matrix:
-- sizes around those of parts and chunks, matrices that deflate in every way,
-- norms at both ends of the exponents; the same bits for every number of
-- threads and layout.
-- axes: isa threads
-- sampled: 3

local build = require "spec.support.build"
local interrupt = require "spec.support.interrupt"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, max, pairs = ipairs, math.max, pairs
local linalg = st.linalg

-- What LAPACK's tests allow: ratios of errors to n, norms and the epsilon.
local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23,
             complex128 = 2 ^ -52}
local SIZES = {9, 25, 26, 51, 130}
-- Near the greatest and the least norm.
local FAR = {float32 = 1e36, float64 = 1e305, complex64 = 1e36,
             complex128 = 1e305}

-- -- Matrices ----------------------------------------------------------------

local function beside(n, d)
  return st.ones({n - 1}, {dtype = "float64"}):diag_embed(d)
end

local KINDS = {
  random = function(n) return st.randn({n, n}, {dtype = "float64"}) end,
  ["of rank three"] = function(n)
    local a = st.randn({n, 3}, {dtype = "float64"})
    return a:matmul(a:mT())
  end,
  Hilbert = function(n)
    local i = st.arange(1, n + 1, {dtype = "float64"})
    return (i:unsqueeze(-1) + i - 1):reciprocal()
  end,
  graded = function(n)
    local i = st.arange(0, n, {dtype = "float64"})
    local g = (i * (-25 / n)):exp2()
    return st.randn({n, n}, {dtype = "float64"}) * g * g:unsqueeze(-1)
  end,
  ones = function(n) return st.ones({n, n}, {dtype = "float64"}) end,
  zeros = function(n) return st.zeros({n, n}, {dtype = "float64"}) end,
  identity = function(n) return st.eye(n, {dtype = "float64"}) end,
  -- Pairs of equal eigenvalues, up to the last bits: J. H. Wilkinson.
  ["Wilkinson's"] = function(n)
    local i = st.arange(0, n, {dtype = "float64"}) - (n - 1) / 2
    return i:abs():diag_embed() + beside(n, 1) + beside(n, -1)
  end,
  ["of blocks"] = function(n)
    local i = st.arange(0, n, {dtype = "float64"})
    local near = (i / 7):floor():unsqueeze(-1):eq((i / 7):floor())
    return st.randn({n, n}, {dtype = "float64"}) * near:to "float64"
  end,
}

-- -- Checks ------------------------------------------------------------------

local function norm(t) return t:abs():sum(-2):max():item() end

local function near(want, got, scale, what)
  local ratio = norm(want - got) /
                (want:size(-1) * max(scale, 1e-290) * EPS[want.dtype])
  assert(ratio < LIMIT, ("%s: the ratio is %g"):format(what, ratio))
end

local function orthogonal(q, what)
  near(st.eye(q:size(-1), {dtype = q.dtype}), q:mH():matmul(q), 1,
       what .. ", orthogonality")
end

local function ascending(t) return t:diff():ge(0):all():item() end

--- By is a power of two near `far`, without which products are finite.
local function check_eigh(a, by, what)
  for _, uplo in ipairs {"L", "U"} do
    local given = uplo == "L" and a:tril() or a:triu()
    local values, V = linalg.eigh(given * by, {UPLO = uplo})
    local text = what .. ", " .. uplo
    assert.is_true(ascending(values), text)
    near(a, (V * (values / by)):matmul(V:mH()), norm(a), text)
    orthogonal(V, text)
    near(values:diag_embed() / by,
         linalg.eigvalsh(given, {UPLO = uplo}):diag_embed(), norm(a),
         text .. ", alone")
    if a.dtype:find "complex" then -- the diagonal's are not read
      local other = given + given:diagonal():abs():diag_embed() *
        st.complex(st.zeros {}, st.ones {}):to(a.dtype)
      assert.is_true(st.equal(linalg.eigvalsh(given * by, {UPLO = uplo}),
                              linalg.eigvalsh(other * by, {UPLO = uplo})))
    end
  end
end

local function check_svd(a, by, what)
  local m, n = a:size(1), a:size(2)
  local k = math.min(m, n)
  for _, full in ipairs {false, true} do
    local U, S, Vh = linalg.svd(a * by, full)
    assert.same({full and m or k, full and n or k}, {U:size(2), Vh:size(1)})
    S = S / by
    local product = (U:narrow(2, 1, k) * S):matmul(Vh:narrow(1, 1, k))
    near(a, product, norm(a), what)
    orthogonal(U, what .. ", U")
    orthogonal(Vh:mT(), what .. ", V")
    assert.is_true(S:ge(0):all():item() and S:diff():le(0):all():item(), what)
    near(S:diag_embed(), linalg.svdvals(a):diag_embed(), norm(a),
         what .. ", alone")
  end
end

local function same_bits(fn)
  local before = st.get_num_threads()
  st.set_num_threads(1)
  local one = {fn()}
  for threads = 2, 3 do
    st.set_num_threads(threads)
    for i, t in ipairs {fn()} do assert.is_true(st.equal(one[i], t)) end
  end
  st.set_num_threads(before)
end

local function each_kind(dtype, fn)
  for name, make in pairs(KINDS) do
    for _, n in ipairs(SIZES) do
      fn(make(n):to(dtype), ("%s, %s, %d"):format(name, dtype, n))
    end
  end
end

--- Prints numbers for the bits of vectors.
local DIGEST = [[
local cases = require "spec.op.reduce.reproducible.cases"
local st = require "strided"
st.manual_seed(5)
for _, dtype in ipairs {"float32", "float64", "complex64", "complex128"} do
  local a = st.randn({140, 140}, {dtype = dtype})
  local values, V = st.linalg.eigh(a)
  if dtype:find "complex" then V = st.view_as_real(V:mT():contiguous()) end
  for _, t in ipairs {values, V, st.linalg.eigvalsh(a)} do
    print(cases.digest(t):item())
  end
end
print(st.config().isa)
]]

describe("divided matrices", function()
  before_each(function() st.manual_seed(23) end)

  for _, dtype in ipairs {"float32", "float64"} do
    it("have eigenvectors, " .. dtype, function()
      each_kind(dtype, function(a, what)
        check_eigh(a + a:mT(), 1, what)
      end)
      for _, n in ipairs {21, 130} do
        local a = st.randn({n, n}, {dtype = dtype})
        local _, exponent = math.frexp(FAR[dtype])
        for _, e in ipairs {exponent - 12, 12 - exponent} do
          check_eigh((a + a:mT()) / 4, 2 ^ e, "times 2^" .. e)
        end
      end
    end)

    it("have eigenvectors, complex of " .. dtype, function()
      local complex = dtype == "float32" and "complex64" or "complex128"
      each_kind(dtype, function(a, what)
        if build.is_sanitized and a:size(1) ~= 26 then return end
        local b = st.randn(a.shape, {dtype = complex})
        b = b - b:mH() -- times i, Hermitian
        local turn = st.complex(st.zeros {}, st.ones {}):to(complex)
        check_eigh((a + a:mT()):to(complex) + b * turn * a:abs():max():item(),
                   1, what .. ", complex")
      end)
      for _, n in ipairs {1, 2, 33, 130} do
        local a = st.randn({n, n}, {dtype = complex})
        local _, exponent = math.frexp(FAR[dtype])
        for _, e in ipairs {0, exponent - 12, 12 - exponent} do
          check_eigh((a + a:mH()) / 4, 2 ^ e, "times 2^" .. e)
        end
      end
      local nan = st.eye(40, {dtype = complex})
      nan[{30, 20}] = 0 / 0
      assert.has_error(function() linalg.eigh(nan) end)
      assert.has_error(function() linalg.eigvalsh(nan) end)
      local a = st.randn({150, 150}, {dtype = complex})
      same_bits(function() return linalg.eigh(a) end)
      same_bits(function() return linalg.eigvalsh(a) end)
    end)

    it("have singular vectors, " .. dtype, function()
      each_kind(dtype, function(a, what) check_svd(a, 1, what) end)
      for _, shape in ipairs {{10, 9}, {9, 14}, {150, 101}, {101, 150}} do
        check_svd(st.randn(shape, {dtype = dtype}), 1, dtype)
      end
      for _, n in ipairs {21, 130} do
        local a = st.randn({n, n}, {dtype = dtype})
        local _, exponent = math.frexp(FAR[dtype])
        for _, e in ipairs {exponent - 12, 12 - exponent} do
          check_svd(a / 4, 2 ^ e, "times 2^" .. e)
        end
      end
      -- Zeros on the diagonal, and no elements beside it.
      local d = st.arange(0, 60, {dtype = dtype}) % 7
      check_svd(d:diag_embed(), 1, "diagonal, " .. dtype)
      check_svd(d:diag_embed() + st.eye(61, {dtype = dtype}):slice(1, 2)
                :slice(2, 1, 60) * 3, 1, "bidiagonal, " .. dtype)
    end)

    it("have the same bits for every layout and threads, " .. dtype, function()
      local a = st.randn({260, 260}, {dtype = dtype})
      same_bits(function() return linalg.eigh(a) end)
      same_bits(function() return linalg.svd(a) end)
      local values, V = linalg.eigh(a)
      local U = linalg.svd(a)
      for _, b in pairs(matrices.layouts(a)) do
        local w, v = linalg.eigh(b)
        assert.is_true(st.equal(values, w) and st.equal(V, v))
        assert.is_true(st.equal(U, (linalg.svd(b))))
      end
      local many, vectors = linalg.eigh(st.stack({a, a, a, a, a}))
      assert.is_true(st.equal(values, many[4]) and st.equal(V, vectors[4]))
      assert.is_true(st.equal(U, (linalg.svd(st.stack({a, a, a, a})))[2]))
    end)
  end

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("have the same bits for every instruction set", function()
      build.same_by_instruction_set(("%s -e '%s'"):format(build.lua, DIGEST),
                                    "products")
    end)
  end

  -- Values that are equal but for the last bits, of which merges deflate most.
  -- LAPACK leaves what it deflates of the first three out of order; the fourth
  -- has vectors whose squares overflow before they have norm 1.
  local CLUSTERS = {
    float64 = {{seed = 692, n = 132, far = 1.3243209736910177e-14, most = 3},
               {seed = 6949, n = 119, far = 2.9069257458635429e-14, most = 3},
               {seed = 10482, n = 113, far = 9.9548513041891372e-15, most = 1}},
    float32 = {{seed = 6014, n = 43, far = 1e-14, most = 3, is_even = true}},
  }

  local function rotation(n)
    return (linalg.qr(st.randn({n, n}, {dtype = "float64"})))
  end

  local function clustered(c)
    st.manual_seed(c.seed)
    local function rand() return st.rand({c.n}, {dtype = "float64"}) end
    local values = rand() * c.far + (rand() * c.most):round()
    local q = rotation(c.n)
    local a = q * values
    if not c.is_even then return a:matmul(rotation(c.n)) end
    a = a:matmul(q:mT())
    return ((a + a:mT()) / 2):matmul(rotation(c.n))
  end

  it("may have clusters of values", function()
    for dtype, cases in pairs(CLUSTERS) do
      for _, c in ipairs(cases) do
        check_svd(clustered(c):to(dtype), 1, dtype .. ", seed " .. c.seed)
      end
    end
  end)

  it("may have the greatest and the least elements", function()
    for dtype, ends in pairs {float32 = {127, -149}, float64 = {1023, -1074}} do
      for _, n in ipairs {9, 30} do
        local d = st.arange(0, n, {dtype = dtype}):remainder(2):diag_embed()
        for _, e in ipairs(ends) do
          check_eigh(d, 2 ^ e, "2^" .. e)
          check_svd(d, 2 ^ e, "2^" .. e)
        end
      end
    end
  end)

  -- G. D. Smith, "Numerical Solution of Partial Differential Equations", 1985:
  -- those of tridiagonal matrices with equal elements along the diagonals.
  it("may be tridiagonal, as second differences are", function()
    for dtype, eps in pairs {float32 = 2 ^ -24, float64 = 2 ^ -53} do
      for _, n in ipairs {9, 16, 17, 25, 26, 64} do
        local ones = st.ones({n - 1}, {dtype = dtype})
        local a = st.eye(n, {dtype = dtype}) * 2 - ones:diag(1) - ones:diag(-1)
        local k = st.arange(1, n + 1, {dtype = "float64"})
        local want = 2 - 2 * (k * math.pi / (n + 1)):cos()
        local got = linalg.eigh(a):to "float64"
        assert.is_true((got - want):abs():max():item() < 8 * n * eps)
        check_eigh(a, 1, "differences, " .. dtype)
      end
    end
  end)

  it("may be graded, from either end", function()
    for dtype, steep in pairs {float32 = 0.3, float64 = 0.05} do
      for _, n in ipairs {9, 20, 25, 40} do
        local scale = st.pow(steep, st.arange(0, n, {dtype = "float64"}))
        local a = (scale:unsqueeze(2) * scale *
                   (st.eye(n) + 0.5)):to(dtype)
        check_eigh(a, 1, "graded, " .. dtype)
        check_eigh(a:flip {1, 2}, 1, "graded upwards, " .. dtype)
      end
    end
  end)

  it("are finite", function()
    for _, x in ipairs {0 / 0, 1 / 0} do
      for _, n in ipairs {20, 200} do
        local a = st.eye(n, {dtype = "float64"})
        a[{n, 3}] = x
        tensors.raises("self is not finite, or the iteration for it does " ..
                       "not converge", linalg.eigh, a)
        tensors.raises("A is not finite, or the iteration for it does " ..
                       "not converge", linalg.svd, a)
        -- The other triangle is not read.
        assert.is_true(linalg.eigh(a, {UPLO = "U"}):eq(1):all():item())
      end
    end
  end)

  it("are left when a signal comes", function()
    local threads = st.get_num_threads()
    local a = st.randn({400, 400}, {dtype = "float64"})
    for n = 1, 2 do
      st.set_num_threads(n)
      for _ = 1, 3 do
        interrupt.stopped(function() return linalg.eigh(a) end, "S")
        interrupt.stopped(function() return linalg.svd(a) end, "S")
      end
    end
    st.set_num_threads(threads)
    check_eigh(a + a:mT(), 1, "after it")
    check_svd(a, 1, "after it")
  end)
end)
