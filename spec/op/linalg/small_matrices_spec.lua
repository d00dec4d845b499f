--- Matrices of up to 8 rows, for which there are kernels: the place of a matrix
-- in a batch does not matter, nor does the layout, and the results are those of
-- LAPACK for the same matrices inside of larger ones.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

local TOLERANCE = {float32 = 2e-4, float64 = 1e-11}

--- The operators, with the number of their results. `turns`: they work on the
-- transposed matrix where that is contiguous, which has other last bits.
local OPERATORS = {
  {st.linalg.inv, 1}, {st.linalg.det, 1}, {st.linalg.slogdet, 2, turns = true},
  {st.linalg.qr, 2}, {st.linalg.lu_factor_ex, 3},
  {function(a) return st.linalg.cholesky_ex(a + 8 * st.eye(a:size(-1))) end, 2},
  {function(a) return st.linalg.solve(a, a:cos():narrow(-1, 1, 1)) end, 1},
  {function(a) return st.linalg.solve(a, a:cos(), {left = false}) end, 1},
  {function(a) return st.linalg.eigh(a + a:mT()) end, 2},
  {function(a) return st.linalg.eigvalsh(a, "U") end, 1},
  {st.linalg.svd, 3}, {st.linalg.svdvals, 1},
  {function(a) return st.linalg.svd(a:narrow(-1, 1, 1), false) end, 3},
  {function(a) return st.linalg.svd(a:narrow(-2, 1, 1)) end, 3},
}

local function random(dtype, n, count)
  st.manual_seed(n)
  return st.randn({count, n, n}, {dtype = dtype})
end

--- a inside of an identity matrix of 12 rows.
local function enlarged(a)
  local n = a:size(-1)
  local out = st.eye(12, {dtype = a.dtype}):expand({a:size(1), 12, 12}):clone()
  out:narrow(2, 1, n):narrow(3, 1, n):copy_(a)
  return out
end

describe("Small matrices", function()
  local before
  setup(function() before = live() end)

  for dtype, tolerance in pairs(TOLERANCE) do
    it("of " .. dtype .. " have the same results at every place", function()
      for n = 1, 8 do
        local a = random(dtype, n, 19) -- lanes, a rest, single ones
        for _, op in ipairs(OPERATORS) do
          local all = {op[1](a)}
          local turned = {op[1](a:mT():contiguous():mT())}
          local flipped = {op[1](a:flip({1}))}
          for k = 1, op[2] do
            assert.is_true(op.turns or all[k]:equal(turned[k]))
            assert.is_true(all[k]:equal(flipped[k]:flip({1})))
            for _, i in ipairs {1, 8, 19} do
              local one = select(k, op[1](a[i]))
              assert.is_true(all[k]:select(1, i):equal(one))
            end
          end
        end
      end
    end)

    it("of " .. dtype .. " have LAPACK's results", function()
      for n = 1, 8 do
        local a = random(dtype, n, 5)
        local b = enlarged(a)
        local function corner(t) return t:narrow(2, 1, n):narrow(3, 1, n) end
        local function close(x, y)
          local scale = math.max(1, x:abs():max():item())
          near((x / scale):totable(), (y / scale):totable(), tolerance)
        end
        close(st.linalg.inv(a), corner(st.linalg.inv(b)))
        close(st.linalg.det(a), st.linalg.det(b))
        local LU, pivots = st.linalg.lu_factor(a)
        local LU2, pivots2 = st.linalg.lu_factor(b)
        close(LU, corner(LU2))
        assert.is_true(pivots:equal(pivots2:narrow(2, 1, n)))
        local Q, R = st.linalg.qr(a)
        local Q2, R2 = st.linalg.qr(b)
        close(Q, corner(Q2))
        close(R, corner(R2))
      end
    end)

    it("of " .. dtype .. " may have any magnitude", function()
      local big = dtype == "float32" and 1e30 or 1e300
      local a = st.tensor({{big, 2 * big, 0}, {big, 0, 1 / big},
                           {0, big, 3 / big}}, {dtype = dtype})
      local Q, R = st.linalg.qr(a)
      near(st.eye(3):totable(), Q:mT():matmul(Q):totable(), tolerance)
      near((a / big):totable(), Q:matmul(R / big):totable(), tolerance)
      Q, R = st.linalg.qr(a:mT())
      near(st.eye(3):totable(), Q:mT():matmul(Q):totable(), tolerance)
      assert.is_true(R:isfinite():all():item())
    end)
  end

  for dtype, tolerance in pairs(TOLERANCE) do
    local big = dtype == "float32" and 1e30 or 1e300

    --- U diag(S) Vh is a, and U and Vh are orthogonal.
    local function decomposes(a, U, S, Vh)
      local k = S:size(-1)
      local scale = math.max(1e-30, a:abs():max():item())
      local product = (U:narrow(-1, 1, k) * (S / scale):unsqueeze(-2))
                      :matmul(Vh:narrow(-2, 1, k))
      near((a / scale):totable(), product:totable(), tolerance)
      near(st.eye(U:size(-1)):totable(), U:mT():matmul(U):totable(), tolerance)
      near(st.eye(Vh:size(-2)):totable(), Vh:matmul(Vh:mT()):totable(),
           tolerance)
    end

    it("of " .. dtype .. " have eigenvalues of any magnitude, and repeated "
       .. "ones", function()
      -- ones, and twos on the diagonal: 1, 1, 4
      local a = st.ones(3, 3, {dtype = dtype}) + st.eye(3, {dtype = dtype})
      for _, scale in ipairs {big, 1, 1 / big} do
        local values, V = st.linalg.eigh(a * scale)
        near({1, 1, 4}, (values / scale):totable(), tolerance)
        decomposes(a, V, values / scale, V:mT())
        local U, S, Vh = st.linalg.svd(a * scale)
        near({4, 1, 1}, (S / scale):totable(), tolerance)
        decomposes(a, U, S / scale, Vh)
      end
    end)

    it("of " .. dtype .. " have the eigenvalues of one triangle", function()
      local a = st.tensor({{2, 0 / 0}, {1, 2}}, {dtype = dtype})
      for uplo, t in pairs {L = a, U = a:mT()} do
        local values, V = st.linalg.eigh(t, uplo)
        near({1, 3}, values:totable(), tolerance)
        near({0.5, 0.5, 0.5, 0.5}, V:square():flatten():totable(), tolerance)
      end
    end)

    it("of " .. dtype .. " have orthogonal singular vectors of every rank",
       function()
      for _, shape in ipairs {{8, 8}, {7, 4}, {3, 8}, {1, 1}, {1, 5}} do
        local m, n = shape[1], shape[2]
        for rank = 0, math.min(m, n) do
          local a = st.zeros(m, n, {dtype = dtype})
          for i = 1, rank do -- integers, of which some are the same
            for j = 1, n do a[{(i * 3) % m + 1, j}] = (i * j) % 3 end
          end
          decomposes(a, st.linalg.svd(a))
          decomposes(a, st.linalg.svd(a, false))
        end
      end
    end)
  end

  it("name what has no result", function()
    local a = st.eye(3):expand({4, 3, 3}):clone()
    a[3]:fill_(1)
    raises("linalg_inv: A: the matrix at [3] of the batch is singular: U(2, 2) "
           .. "is zero", st.linalg.inv, a)
    raises("linalg_solve: A: the matrix at [3] of the batch is singular",
           st.linalg.solve, a, st.ones(4, 3, 1))
    local X, info = st.linalg.inv_ex(a)
    assert.same({0, 0, 2, 0}, info:totable())
    assert.is_true(X[3]:isnan():all():item())
    a[3]:copy_(st.tensor {{1, 0, 0}, {0, -1, 0}, {0, 0, 1}})
    raises("linalg_cholesky: self: the matrix at [3] of the batch is not "
           .. "positive definite: its leading minor of order 2 is not positive",
           st.linalg.cholesky, a)
    assert.same({0, 0, 2, 0},
                select(2, st.linalg.cholesky_ex(a)):totable())
  end)

  it("leave no tensor behind", function()
    assert.is_true(live() <= before)
  end)
end)
