--- Decompositions of matrices that are computed in blocks: every edge of a
-- block and of a chunk, both triangles, errors behind the first block; the
-- same bits for every number of threads and place in a batch.
-- axes: isa threads
-- sampled: 3

local interrupt = require "spec.support.interrupt"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, pairs = ipairs, pairs
local linalg = st.linalg

local SIZES = {65, 193}
local DTYPES = {"float32", "float64", "complex64", "complex128"}
-- What LAPACK's tests allow: ratios of errors to n, norms and the epsilon.
local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23,
             complex128 = 2 ^ -52}

local function norm(t) return t:abs():sum(-2):max():item() end

local function check(expected, got, dtype, what)
  local n = expected:size(-1)
  local ratio = norm(expected - got) / (n * norm(expected) * EPS[dtype])
  assert(ratio < LIMIT, ("%s, %s, %d: error ratio %g"):format(what, dtype, n,
                                                              ratio))
end

local function random(dtype, m, n) return st.randn({m, n}, {dtype = dtype}) end

local function positive(dtype, n)
  local a = random(dtype, n, n)
  return a:matmul(a:mH()) / n + st.eye(n, {dtype = dtype})
end

--- fn's results with 1, 2 and 3 threads have the same bits.
local function expect_same_bits(fn)
  local before = st.get_num_threads()
  st.set_num_threads(1)
  local one = fn()
  for threads = 2, 3 do
    st.set_num_threads(threads)
    assert.is_true(st.equal(one, fn()))
  end
  st.set_num_threads(before)
end

describe("decompositions in blocks", function()
  before_each(function() st.manual_seed(17) end)

  for _, dtype in ipairs(DTYPES) do
    it("has LU factors, " .. dtype, function()
      for _, n in ipairs(SIZES) do
        for _, shape in ipairs {{n, n}, {n, 100}, {100, n}} do
          local a = random(dtype, shape[1], shape[2])
          local P, L, U = linalg.lu(a)
          check(a, P:matmul(L):matmul(U), dtype, "P L U")
          -- Pivots are greatest by |re| + |im|.
          assert.is_true(L:abs():max():item() <= math.sqrt(2))
        end
      end
    end)

    it("solves equations, " .. dtype, function()
      for _, n in ipairs(SIZES) do
        local a = random(dtype, n, n) + 20 * st.eye(n, {dtype = dtype})
        local x = random(dtype, n, 130)
        check(x, linalg.solve(a, a:matmul(x)), dtype, "A X = B")
        check(x:mT(), linalg.solve(a, x:mT():matmul(a), {left = false}), dtype,
              "X A = B")
        local LU, pivots = linalg.lu_factor(a)
        check(x, linalg.lu_solve(LU, pivots, a:mH():matmul(x),
                                 {adjoint = true}), dtype, "A' X = B")
        check(x:mT(), linalg.lu_solve(LU, pivots, x:mT():matmul(a:mH()),
                                      {left = false, adjoint = true}), dtype,
              "X A' = B")
        check(st.eye(n, {dtype = dtype}), linalg.inv(a):matmul(a), dtype,
              "the inverse")
      end
    end)

    it("has Cholesky factors, " .. dtype, function()
      for _, n in ipairs(SIZES) do
        local a = positive(dtype, n)
        local L = linalg.cholesky(a)
        local U = linalg.cholesky(a, {upper = true})
        check(a, L:matmul(L:mH()), dtype, "L L'")
        check(a, U:mH():matmul(U), dtype, "U' U")
        assert.is_true(st.equal(L, L:tril()) and st.equal(U, U:triu()))
      end
    end)

    it("has QR factors, " .. dtype, function()
      local eye = function(n) return st.eye(n, {dtype = dtype}) end
      for _, shape in ipairs {{65, 65}, {193, 140}, {40, 150}, {150, 40}} do
        -- Squares of the last two are neither normal nor finite in float32.
        for _, scale in ipairs {1, 1e-25, 1e25} do
          local a = random(dtype, shape[1], shape[2]) * scale
          local Q, R = linalg.qr(a)
          check(a, Q:matmul(R), dtype, "Q R")
          check(eye(Q:size(2)), Q:mH():matmul(Q), dtype, "Q' Q")
          assert.is_true(st.equal(R, R:triu()))
          local all, tall = linalg.qr(a, "complete")
          check(a, all:matmul(tall), dtype, "complete Q R")
          check(eye(shape[1]), all:mH():matmul(all), dtype, "complete Q' Q")
          local _, only = linalg.qr(a, "r")
          assert.is_true(st.equal(R, only))
          local factors, tau = st.geqrf(a)
          assert.is_true(st.equal(R, factors:triu():narrow(1, 1, R:size(1))))
          if shape[1] >= shape[2] then
            check(Q, linalg.householder_product(factors, tau), dtype, "Q")
          end
        end
      end
      -- Columns of which the squares are lost.
      local steep = random(dtype, 100, 90)
      steep:select(2, 6):mul_(1e-23)
      steep:select(2, 70):mul_(EPS[dtype] < 1e-10 and 1e-162 or 1e-40)
      local S = linalg.qr(steep)
      check(eye(90), S:mH():matmul(S), dtype, "Q' Q of steep columns")
      local zero = st.zeros({100, 90}, {dtype = dtype})
      local Q, R = linalg.qr(zero)
      check(eye(90), Q:mH():matmul(Q), dtype, "Q' Q of zeros")
      assert.are.equal(0, R:abs():max():item())
      local one = random(dtype, 100, 90)
      one[{50, 60}] = 0 / 0
      local _, nan = linalg.qr(one)
      assert.is_true(nan:isnan():any():item())
    end)

    it("solves triangular equations, " .. dtype, function()
      for _, n in ipairs {65, 135} do
        local full = random(dtype, n, n) / n + 2 * st.eye(n, {dtype = dtype})
        for _, upper in ipairs {false, true} do
          for _, unit in ipairs {false, true} do
            -- The other triangle, and a diagonal of ones, are not read.
            local t = upper and full:triu() or full:tril()
            if unit then t:diagonal():fill_(1) end
            local given = full:clone()
            for _, a in ipairs {given, given:mT():contiguous():mT()} do
              local x = random(dtype, n, 131)
              local options = {upper = upper, unitriangular = unit}
              check(x, linalg.solve_triangular(a, t:matmul(x), options), dtype,
                    "op(A) X = B")
              options.left = false
              check(x:mT(), linalg.solve_triangular(a, x:mT():matmul(t),
                                                    options), dtype,
                    "X op(A) = B")
            end
          end
        end
      end
    end)

    it("has the same bits for every number of threads, " .. dtype, function()
      local n = 270
      local a = random(dtype, n, n) + 20 * st.eye(n, {dtype = dtype})
      local b = random(dtype, n, 260)
      local p = positive(dtype, n)
      expect_same_bits(function() return (linalg.lu_factor(a)) end)
      expect_same_bits(function() return linalg.solve(a, b) end)
      expect_same_bits(function() return linalg.inv(a) end)
      expect_same_bits(function() return linalg.cholesky(p) end)
      expect_same_bits(function() return (linalg.qr(a)) end)
      expect_same_bits(function()
        return linalg.solve_triangular(a, b, {upper = true})
      end)
      local many = st.stack({a, a, a, a, a})
      assert.is_true(st.equal(linalg.inv(many)[4], linalg.inv(a)))
    end)
  end

  it("takes matrices of any layout", function()
    local given = random("float64", 150, 150) +
      20 * st.eye(150, {dtype = "float64"})
    for _, a in pairs(matrices.layouts(given)) do
      check(st.eye(150, {dtype = "float64"}), linalg.inv(a):matmul(a),
            "float64", "the inverse")
    end
  end)

  it("names the first zero pivot behind a block", function()
    local a = st.eye(200, {dtype = "float64"})
    a[{151, 151}] = 0
    tensors.raises("A is singular: U(151, 151) is zero", linalg.inv, a)
    a[{171, 171}] = 0
    local _, _, info = linalg.lu_factor_ex(a)
    assert.are.equal(151, info:item())
    local p = st.eye(200, {dtype = "float64"})
    p[{151, 151}] = -1
    for _, upper in ipairs {false, true} do
      local _, at = linalg.cholesky_ex(p, {upper = upper})
      assert.are.equal(151, at:item())
    end
  end)

  it("have no Cholesky factors of NaN", function()
    for _, dtype in ipairs(DTYPES) do
      for _, n in ipairs {30, 200} do
        local p = st.eye(n, {dtype = dtype})
        p[{n - 3, n - 3}] = 0 / 0
        local _, at = linalg.cholesky_ex(p)
        assert.are.equal(n - 3, at:item())
      end
    end
  end)

  it("stop between blocks", function()
    local threads = st.get_num_threads()
    st.set_num_threads(2)
    local a = random("float64", 500, 500)
    for _, fn in ipairs {linalg.inv, linalg.qr, linalg.lu_factor} do
      for _ = 1, 3 do interrupt.stopped(function() return fn(a) end, "S") end
    end
    st.set_num_threads(threads)
    check(st.eye(500, {dtype = "float64"}),
          linalg.inv(a + 50 * st.eye(500, {dtype = "float64"})):matmul(
            a + 50 * st.eye(500, {dtype = "float64"})), "float64", "after it")
  end)
end)
