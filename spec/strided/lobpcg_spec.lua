--- st.lobpcg: compared with all the eigenvalues, by linalg_eigh.
-- axes: none

local st = require "strided"
local raises = require "spec.support.tensors".raises

local F64 = {dtype = "float64"}

--- A positive definite matrix of n rows.
local function positive(n)
  local A = st.randn({n, n}, F64)
  return A:matmul(A:mT()) / n + st.eye(n, F64)
end

local function largest_of(t) return t:abs():max():item() end

describe("lobpcg", function()
  local A, B

  setup(function()
    st.manual_seed(3)
    A, B = positive(40), positive(40)
  end)

  for _, method in ipairs {"ortho", "basic"} do
    it("finds the ends of the spectrum: " .. method, function()
      local all = st.linalg.eigvalsh(A)
      for _, largest in ipairs {true, false} do
        local E, X = st.lobpcg(A, 3, {largest = largest, method = method})
        local wanted = largest and all:flip {1} or all
        assert.is_true(largest_of(E - wanted:narrow(1, 1, 3)) < 1e-9)
        assert.is_true(largest_of(A:matmul(X) - X * E) < 1e-5)
        assert.is_true(largest_of(X:mT():matmul(X) - st.eye(3, F64)) < 1e-10)
      end
    end)

    it("solves A x = e B x: " .. method, function()
      local E, X = st.lobpcg(A, 2, {B = B, method = method, largest = false})
      assert.is_true(largest_of(A:matmul(X) - B:matmul(X) * E) < 1e-5)
      assert.is_true(largest_of(X:mT():matmul(B):matmul(X) - st.eye(2, F64))
                     < 1e-10)
      local L = st.linalg.inv(st.linalg.cholesky(B))
      local all = st.linalg.eigvalsh(L:matmul(A):matmul(L:mT()))
      assert.is_true(largest_of(E - all:narrow(1, 1, 2)) < 1e-9)
    end)
  end

  it("begins with X, by a preconditioner, and stops when it should", function()
    local d = st.arange(1, 31, F64)
    local X = st.randn({30, 2}, F64)
    local options = {X = X, largest = false, iK = (1 / d):diag()}
    local E = st.lobpcg(d:diag(), 1, options)
    assert.equal("{1}", tostring(E.shape))
    assert.is_true(math.abs(E:item() - 1) < 1e-9)
    options.niter = 0
    local first = st.lobpcg(d:diag(), options)
    assert.equal("{2}", tostring(first.shape))
    assert.is_true(first[1] > 1.5)
    E = st.lobpcg(st.zeros({6, 6}, F64), 2)
    assert.same({0, 0}, E:totable())
  end)

  it("goes through batches", function()
    local both = st.stack {A, B}
    local E, X = st.lobpcg(both, 2)
    assert.equal("{2, 2}", tostring(E.shape))
    assert.is_true(largest_of(both:matmul(X) - X * E:unsqueeze(2)) < 1e-5)
    E, X = st.lobpcg(st.zeros({0, 6, 6}, F64), 2)
    assert.equal("{0, 2} {0, 6, 2}",
                 tostring(E.shape) .. " " .. tostring(X.shape))
  end)

  it("has the derivatives of eigenvalues and vectors", function()
    local a, b = positive(6):requires_grad_(), positive(6):requires_grad_()
    local X = st.randn({6, 2}, F64)
    assert.is_true(st.gradcheck(function(s, t)
      local E, V = st.lobpcg((s + s:mT()) / 2, 2,
                             {B = (t + t:mT()) / 2, X = X, tol = 1e-13})
      return E, V * V
    end, {a, b}))
  end)

  it("refuses what it cannot do, in its own name", function()
    raises("lobpcg: A must be a square matrix or a batch of them, its shape is "
           .. "{2, 3}", st.lobpcg, st.ones(2, 3))
    raises("lobpcg: A must be float32 or float64, not int64", st.lobpcg,
           st.tensor {{1}})
    raises("lobpcg: 2 eigenvalues by 2 vectors of 4 rows: there must be a "
           .. "vector for each, and 3 rows for each vector", st.lobpcg,
           st.ones(4, 4), 2)
    raises("lobpcg: argument 'B' of shape {4, 4} and dtype float64 does not "
           .. "fit A of shape {6, 6} and dtype float32", st.lobpcg,
           st.ones(6, 6), 1, {B = st.ones({4, 4}, F64)})
    raises("lobpcg: there is no option 'b'", st.lobpcg, A, 1, {b = B})
    raises('lobpcg: method must be "ortho" or "basic", got 3', st.lobpcg, A, 1,
           {method = 3})
    raises("lobpcg: argument 'n' must be an integer of at least 1, got 0.5",
           st.lobpcg, A, 1, {n = 0.5})
    raises("lobpcg: argument 'k' must be an integer of at least 1, got x",
           st.lobpcg, A, "x")
    raises("lobpcg: argument 'k' is given twice", st.lobpcg, A, 1, {k = 2})
    raises("lobpcg: argument 'n' must be the 1 columns of X, got 2", st.lobpcg,
           A, 1, {n = 2, X = A:narrow(2, 1, 1)})
    raises("lobpcg: argument 'tol' must be a positive number, got 0",
           st.lobpcg, A, 1, {tol = 0})
    raises("lobpcg: argument 'largest' must be a boolean, got 1", st.lobpcg, A,
           1, {largest = 1})
    raises("lobpcg: the columns of X depend on each other", st.lobpcg, A, nil,
           {X = st.zeros({A.shape[1], 1}, F64)})
    raises("lobpcg: A is not finite", st.lobpcg, A / 0, 1)
    raises("lobpcg: the columns of X depend on each other, or B is not "
           .. "positive definite", st.lobpcg, st.eye(6, F64), 1,
           {B = -st.eye(6, F64)})
  end)

  it("scales what has squares beyond the largest float", function()
    local E = st.lobpcg((A * 1e30):float(), 2)
    local F = st.lobpcg(A, 2)
    assert.is_true(largest_of((E:double() * 1e-30 - F) / F) < 1e-4)
  end)
end)
