--- Eigenvectors and singular vectors that are found by dividing the matrix:
-- sizes around those of parts and chunks, matrices that deflate in every way,
-- norms at both ends of the exponents; the same bits for every number of
-- threads and layout.
-- axes: isa threads

local interrupt = require "spec.support.interrupt"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, max, pairs = ipairs, math.max, pairs
local linalg = st.linalg

-- What LAPACK's tests allow: ratios of errors to n, norms and the epsilon.
local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52}
local SIZES = {9, 20, 21, 41, 130, 200}
-- Near the greatest and the least norm.
local FAR = {float32 = 1e36, float64 = 1e305}

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
  near(st.eye(q:size(-1), {dtype = q.dtype}), q:mT():matmul(q), 1,
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
    near(a, (V * (values / by)):matmul(V:mT()), norm(a), text)
    orthogonal(V, text)
    near(values:diag_embed() / by, linalg.eigvalsh(a):diag_embed(), norm(a),
         text .. ", alone")
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

    it("have the same bits for every layout and threads, " .. dtype, function()
      local a = st.randn({260, 260}, {dtype = dtype})
      same_bits(function() return linalg.eigh(a) end)
      local values, V = linalg.eigh(a)
      for _, b in pairs(matrices.layouts(a)) do
        local w, v = linalg.eigh(b)
        assert.is_true(st.equal(values, w) and st.equal(V, v))
      end
      local many, vectors = linalg.eigh(st.stack({a, a, a, a, a}))
      assert.is_true(st.equal(values, many[4]) and st.equal(V, vectors[4]))
    end)
  end

  it("are finite", function()
    for _, x in ipairs {0 / 0, 1 / 0} do
      for _, n in ipairs {20, 200} do
        local a = st.eye(n, {dtype = "float64"})
        a[{n, 3}] = x
        tensors.raises("self is not finite, or LAPACK's iteration does not " ..
                       "converge for it", linalg.eigh, a)
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
      end
    end
    st.set_num_threads(threads)
    check_eigh(a + a:mT(), 1, "after it")
  end)
end)
