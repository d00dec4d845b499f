--- QR, eigenvalues and singular values, against products of what they give.
-- axes: isa threads

local gradients = require "spec.support.gradients"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, min, pairs, tostring = ipairs, math.min, pairs, tostring

local f64, kinds, near = tensors.f64, tensors.kinds, tensors.near
local definite, random, same = matrices.definite, matrices.random,
  matrices.same
local has_columns, layouts = matrices.has_columns, matrices.layouts

local SHAPES = {{4, 4}, {5, 3}, {3, 5}, {1, 4}, {4, 1}}

--- The columns are orthonormal.
local function is_unitary(q, tolerance)
  local n = q.shape[#q.shape]
  local product = q:mH():matmul(q)
  same(st.eye(n, {dtype = q.dtype}):expand(product.shape), product, tolerance)
end

--- Matrices with t on their diagonals.
local function diagonal(t, dtype) return t:to(dtype):diag_embed() end

-- -- Values ------------------------------------------------------------------

for dtype, tolerance in pairs(matrices.DTYPES) do
  describe("Of " .. dtype .. ",", function()
    local before
    setup(function()
      before = kinds()
      st.manual_seed(10)
    end)

    it("QR factors multiply to the matrix", function()
      for _, shape in ipairs(SHAPES) do
        local m, n = shape[1], shape[2]
        local a = random(dtype, {2, m, n})
        for _, t in pairs(layouts(a)) do
          local Q, R = st.linalg_qr(t)
          local k = min(m, n)
          assert.same({2, m, k}, Q:size())
          assert.same({2, k, n}, R:size())
          same(a, Q:matmul(R), tolerance)
          is_unitary(Q, tolerance)
          same(R, R:triu(), 0)
          has_columns(Q)
          has_columns(R)
          local none, R2 = st.linalg_qr(t, "r")
          assert.same({0}, none:size())
          same(R, R2, 0)
          Q, R = st.linalg_qr(t, "complete")
          assert.same({2, m, m}, Q:size())
          assert.same({2, m, n}, R:size())
          same(a, Q:matmul(R), tolerance)
          is_unitary(Q, tolerance)
          same(R, R:triu(), 0)
        end
      end
    end)

    it("eigenvectors make the matrix", function()
      local a = definite(dtype, {2, 3, 4, 4})
      local wrong = st.full({4, 4}, 9, {dtype = dtype})
      for _, t in pairs(layouts(a)) do
        local values, vectors = st.linalg_eigh(t)
        assert.same({2, 3, 4}, values:size())
        has_columns(vectors)
        is_unitary(vectors, tolerance)
        same(a, vectors:matmul(diagonal(values, dtype)):matmul(vectors:mH()),
             tolerance * 10)
        assert.is_true(values:diff():ge(0):all():item())
        local again = st.linalg_eigh(t:tril() + wrong:triu(1))
        same(values, again, tolerance)
        for _, uplo in ipairs {"U", "u"} do
          same(values, st.linalg_eigh(t:triu() + wrong:tril(-1), uplo),
               tolerance)
          same(values, st.linalg_eigvalsh(t:triu() + wrong:tril(-1), uplo),
               tolerance)
        end
        same(values, st.linalg_eigvalsh(t), tolerance)
      end
    end)

    it("singular vectors make the matrix", function()
      for _, shape in ipairs(SHAPES) do
        local m, n = shape[1], shape[2]
        local k = min(m, n)
        local a = random(dtype, {2, m, n})
        for _, t in pairs(layouts(a)) do
          local U, S, Vh = st.linalg_svd(t, false)
          assert.same({2, m, k}, U:size())
          assert.same({2, k, n}, Vh:size())
          same(a, U:matmul(diagonal(S, dtype)):matmul(Vh), tolerance)
          is_unitary(U, tolerance)
          is_unitary(Vh:mH(), tolerance)
          has_columns(U)
          has_columns(Vh)
          assert.is_true(S:ge(0):all():item())
          assert.is_true(S:diff():le(0):all():item())
          same(S, st.linalg_svdvals(t), tolerance)
          local all, S2, all_Vh = st.linalg_svd(t)
          assert.same({2, m, m}, all:size())
          assert.same({2, n, n}, all_Vh:size())
          is_unitary(all, tolerance)
          is_unitary(all_Vh, tolerance)
          same(S, S2, tolerance)
          same(a, all:narrow(-1, 1, k):matmul(diagonal(S, dtype))
                     :matmul(all_Vh:narrow(-2, 1, k)), tolerance)
        end
      end
    end)

    it("what has no elements has factors without elements", function()
      local function empty(...) return st.empty({...}, {dtype = dtype}) end
      local eye = st.eye(3, {dtype = dtype}):expand(2, 3, 3)
      local Q, R = st.linalg_qr(empty(2, 3, 0))
      assert.same({2, 3, 0}, Q:size())
      assert.same({2, 0, 0}, R:size())
      same(eye, st.linalg_qr(empty(2, 3, 0), "complete"), 0)
      assert.same({0, 2, 2}, st.linalg_qr(empty(0, 2, 3)):size())
      local U, S, Vh = st.linalg_svd(empty(2, 3, 0))
      same(eye, U, 0)
      assert.same({2, 0}, S:size())
      assert.same({2, 0, 0}, Vh:size())
      assert.same({2, 0}, st.linalg_svdvals(empty(2, 0, 3)):size())
      assert.same({0, 3}, st.linalg_svdvals(empty(0, 3, 3)):size())
      local values, vectors = st.linalg_eigh(empty(2, 0, 0))
      assert.same({2, 0}, values:size())
      assert.same({2, 0, 0}, vectors:size())
      assert.same({0, 3}, st.linalg_eigvalsh(empty(0, 3, 3)):size())
    end)

    it("nothing stays behind", function() assert.same(before, kinds()) end)
  end)
end

describe("Of known matrices,", function()
  it("the factors are those of the books", function()
    near({1, 3}, st.linalg_eigvalsh(f64 {{2, 1}, {1, 2}}):totable())
    near({5, 3}, st.linalg_svdvals(f64 {{3, 2, 2}, {2, 3, -2}}):totable())
    local _, R = st.linalg_qr(f64 {{3, 1}, {4, 2}})
    near({{5, 2.2}, {0, 0.4}}, R:abs():totable())
  end)
end)

-- -- Outputs -----------------------------------------------------------------

-- name, further arguments, how many results
local CALLS = {
  {"linalg_qr", {}, 2}, {"linalg_qr", {"complete"}, 2},
  {"linalg_eigh", {}, 2}, {"linalg_eigvalsh", {}, 1},
  {"linalg_svd", {}, 3}, {"linalg_svd", {false}, 3},
  {"linalg_svdvals", {}, 1},
}

describe("A decomposition", function()
  setup(function() st.manual_seed(12) end)

  for _, row in ipairs(CALLS) do
    local function call(t, options)
      if row[2][1] ~= nil then
        return {st[row[1]](t, row[2][1], options)}
      end
      return {st[row[1]](t, options)}
    end

    it("is written to out=, which may be the input, by " .. row[1], function()
      local t = definite("float64", {2, 3, 3})
      local want = call(t)
      for layout = 1, 3 do
        local out = {}
        for i, w in ipairs(want) do
          out[i] = st.empty(layout == 1 and {0} or w.shape,
                            {dtype = "float64"})
          if layout == 3 then
            out[i] = st.stack({out[i], out[i]}, -1):select(-1, 1)
          end
        end
        local got = call(t, {out = #out > 1 and out or out[1]})
        for i, w in ipairs(want) do
          assert.equal(out[i], got[i])
          same(w, out[i], 0)
        end
      end
      for i, w in ipairs(want) do
        if tostring(w.shape) == tostring(t.shape) then
          local input, out = t:clone(), {}
          for k, v in ipairs(want) do out[k] = k == i and input or v:clone() end
          call(input, {out = out})
          same(w, input, 0)
        end
      end
    end)

    it("fails cleanly at every allocation: " .. row[1], function()
      matrices.fails_cleanly(call, {definite("float64", {2, 3, 3})})
    end)

    it("has the same bits for any number of threads: " .. row[1], function()
      local t = definite("float64", {200, 8, 8})
      local before = st.get_num_threads()
      st.set_num_threads(1)
      local one = call(t)
      st.set_num_threads(3)
      local three = call(t)
      st.set_num_threads(before)
      for i, x in ipairs(one) do assert.is_true(x:equal(three[i])) end
    end)
  end

  it("has shapes without elements", function()
    local t = st.empty({2, 5, 3}, {device = "meta"})
    local Q, R = st.linalg_qr(t)
    assert.same({15, 1, 5}, Q:stride())
    assert.same({9, 1, 3}, R:stride())
    local U, S, Vh = st.linalg_svd(t)
    assert.same({2, 5, 5}, U:size())
    assert.same({2, 3}, S:size())
    assert.same({9, 1, 3}, Vh:stride())
    assert.same({2, 3}, st.linalg_eigvalsh(R):size())
  end)

  it("of what is not finite fails, and keeps out=", function()
    local t = st.full({2, 3, 3}, 0 / 0, {dtype = "float64"})
    t[1] = st.eye(3, {dtype = "float64"})
    local out = st.full({2, 3}, 7, {dtype = "float64"})
    tensors.raises("A: the matrix at [2] of the batch is not finite",
                   st.linalg_svdvals, t, {out = out})
    assert.is_true(out:eq(7):all():item())
    for _, bad in ipairs {0 / 0, math.huge} do
      for _, n in ipairs {1, 2, 7, 40} do
        local x = st.full({n, n}, bad, {dtype = "float64"})
        tensors.raises("self is not finite", st.linalg_eigh, x)
        tensors.raises("A is not finite", st.linalg_svd, x)
        assert.same({n, n}, st.linalg_qr(x):size())
      end
    end
  end)
end)

-- -- Gradients ---------------------------------------------------------------

describe("The gradient through complex vectors", function()
  local a

  setup(function()
    st.manual_seed(13)
    a = random("complex128", {3, 2})
  end)

  it("is right where their phases cancel", function()
    st.gradcheck(function(t)
      local U, S, Vh = st.linalg_svd(t, false)
      return (U * S:pow(3):unsqueeze(-2)):matmul(Vh)
    end, {a:clone():requires_grad_()})
    st.gradcheck(function(t)
      local U, _, Vh = st.linalg_svd(t, false)
      return st.real(U):square() + st.imag(U):square(),
             st.real(Vh):square() + st.imag(Vh):square()
    end, {a:clone():requires_grad_()})
    st.gradcheck(function(t)
      local values, V = st.linalg_eigh(t:matmul(t:mH()))
      return (V * values:sin():unsqueeze(-2)):matmul(V:mH())
    end, {a:mH():clone():requires_grad_()})
  end)
end)

describe("The derivative of QR", function()
  it("needs Q, and no more of its columns than A has", function()
    local t = random("float64", {3, 2}):requires_grad_()
    local _, R = st.linalg_qr(t, "r")
    gradients.raises("the derivative of linalg_qr needs Q", function()
      R:sum():backward()
    end)
    local Q = st.linalg_qr(t, "complete")
    gradients.raises("linalg_qr has no derivative in mode 'complete'",
                     function() Q:sum():backward() end)
  end)
end)

-- -- Refusals ----------------------------------------------------------------

local function f(...) return st.zeros({...}) end

-- operator, arguments, what the message says
local REFUSALS = {
  {"linalg_qr", function() return f(3) end,
   "A must have at least 2 dimensions, its shape is [3]"},
  {"linalg_qr", function() return f(3, 3), "full" end,
   "mode must be 'reduced', 'complete' or 'r', not 'full'"},
  {"linalg_eigh", function() return f(3, 2) end,
   "self must be a square matrix or a batch of them, its shape is [3, 2]"},
  {"linalg_eigh", function() return f(2, 2), "X" end,
   "UPLO must be 'L' or 'U', not 'X'"},
  {"linalg_svd", function() return f(2, 2), true, {driver = "gesvd"} end,
   "driver must be none on the CPU, not 'gesvd'"},
  {"linalg_svdvals", function() return st.ones({2, 2}, {dtype = "int64"}) end,
   "A must be float32, float64, complex64 or complex128, not int64"},
}

describe("A decomposition refuses", function()
  for _, row in ipairs(REFUSALS) do
    it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end
end)
