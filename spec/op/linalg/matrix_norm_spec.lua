--- Norms of matrices, condition numbers, ranks and pseudoinverses against
-- matrices whose singular values are known: orthogonal matrices times a
-- diagonal one.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local huge, ipairs, pairs, sqrt = math.huge, ipairs, pairs, math.sqrt

local f64, live, near, raises = tensors.f64, tensors.live, tensors.near,
                                tensors.raises

--- A matrix of m x n with these singular values.
local function with_values(m, n, list)
  local q = st.linalg.qr(st.randn({m, m}, {dtype = "float64"}))
  local p = st.linalg.qr(st.randn({n, n}, {dtype = "float64"}))
  local s = st.zeros({m, n}, {dtype = "float64"})
  s:diagonal():copy_(f64(list))
  return q:matmul(s):matmul(p)
end

describe("The norm of a matrix", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(5)
  end)
  teardown(function() assert.equal(before, live()) end)

  it("is that of its singular values for 2, -2, 'nuc' and 'fro'", function()
    for _, size in ipairs {{3, 3}, {5, 3}, {3, 4}} do
      local a = with_values(size[1], size[2], {4, 2, 0.5})
      near(4, st.linalg.norm(a, 2):item())
      near(0.5, st.linalg.norm(a, -2):item())
      near(6.5, st.linalg.norm(a, "nuc"):item())
      near(sqrt(20.25), st.linalg.norm(a, "fro"):item())
      near(sqrt(20.25), st.linalg.norm(a):item())
      near(sqrt(20.25), st.linalg.matrix_norm(a):item())
      near(8, st.linalg.cond(a):item())
      near(1 / 8, st.linalg.cond(a, -2):item())
      assert.equal(3, st.linalg.matrix_rank(a):item())
    end
  end)

  it("is the extreme sum of a column or row for 1, -1, inf, -inf", function()
    local a = f64 {{1, -2, 3}, {-4, 5, 0}}
    for ord, want in pairs {[1] = 7, [-1] = 3, [huge] = 9, [-huge] = 6} do
      assert.equal(want, st.linalg.norm(a, ord):item())
      assert.equal(want, st.linalg.matrix_norm(a:t(), ord, {2, 1}):item())
    end
  end)

  it("takes any two dimensions, and keeps them if told", function()
    local a = st.randn({2, 3, 4, 2}, {dtype = "float64"})
    for _, ord in ipairs {1, -1, 2, -2, huge, "nuc", "fro"} do
      local got = st.linalg.matrix_norm(a, ord, {3, 1})
      local kept = st.linalg.matrix_norm(a, ord, {3, 1}, true)
      assert.equal(st.Size {3, 2}, got.shape)
      assert.equal(st.Size {1, 3, 1, 2}, kept.shape)
      near(got, kept:squeeze(3):squeeze(1))
      for i = 1, 3 do
        for j = 1, 2 do
          near(st.linalg.norm(a:select(4, j):select(2, i):t(), ord):item(),
               got[{i, j}]:item())
        end
      end
    end
  end)

  it("of no elements is 0, unless it is a least value", function()
    for _, shape in ipairs {{0, 2}, {2, 0}, {0, 0}, {2, 0, 3}} do
      local a = st.zeros(shape, {dtype = "float64", requires_grad = true})
      local want = #shape == 3 and {0, 0} or 0
      for _, ord in ipairs {1, 2, huge, "fro", "nuc"} do
        local got = st.linalg.matrix_norm(a, ord)
        assert.same(want, tensors.lists(got), tostring(ord))
        got:sum():backward()
        assert.same(a.shape, a.grad.shape)
        assert.same(want, tensors.lists(
          st.linalg.matrix_norm(a, ord, {keepdim = true}):squeeze()))
      end
    end
    assert.equal(0, st.linalg.matrix_norm(st.zeros(2, 0), -huge):item())
    assert.equal(0, st.linalg.matrix_norm(st.zeros(0, 2), -1):item())
    for _, row in ipairs {{-2, 2, 0}, {-1, 2, 0}, {-huge, 0, 2}} do
      raises({"linalg_matrix_norm: ", "no elements to choose from"},
             st.linalg.matrix_norm, st.zeros(row[2], row[3]), row[1])
    end
  end)

  it("converts to dtype first", function()
    local a = st.ones({2, 2}, {dtype = "float32"})
    local got = st.linalg.matrix_norm(a, 2, {dtype = "float64"})
    assert.equal("float64", tensors.dtype(got))
    assert.equal(2, st.linalg.norm(a, {dtype = "float64"}):item())
  end)

  it("of a vector is linalg_vector_norm", function()
    local v = f64 {3, -4}
    assert.equal(5, st.linalg.norm(v):item())
    assert.equal(7, st.linalg.norm(v, 1):item())
    assert.same({1, 1}, st.linalg.norm(st.eye(2), 2, 1):totable())
  end)
end)

describe("A condition number", function()
  it("is inf for a singular matrix, one for each of a batch", function()
    local a = st.stack {st.eye(2), st.ones(2, 2)}
    for _, p in ipairs {1, -1, huge, "fro", "nuc"} do
      local c = st.linalg.cond(a, p):totable()
      assert.equal(huge, c[2])
      near(p == "fro" and 2 or p == "nuc" and 4 or 1, c[1], 1e-6)
    end
  end)
end)

describe("A rank", function()
  it("counts singular values above the tolerance", function()
    local a = with_values(4, 3, {5, 1e-3, 1e-14})
    assert.equal(2, st.linalg.matrix_rank(a, {rtol = 1e-10}):item())
    assert.equal(1, st.linalg.matrix_rank(a, {atol = 0.1}):item())
    assert.equal(1, st.linalg.matrix_rank(a, 0.1):item())
    assert.equal(1, st.linalg.matrix_rank(a, {rtol = 1e-3}):item())
    assert.equal(0, st.linalg.matrix_rank(st.zeros(3, 3)):item())
    assert.same({0, 0}, st.linalg.matrix_rank(st.zeros(2, 0, 3)):totable())
  end)

  it("of a Hermitian matrix counts eigenvalues by their size", function()
    local q = st.linalg.qr(st.randn({3, 3}, {dtype = "float64"}))
    local a = (q * f64 {-2, 1e-13, 3}):matmul(q:t())
    assert.equal(2, st.linalg.matrix_rank(a, {hermitian = true, rtol = 1e-10})
                    :item())
  end)
end)

--- The four conditions of Penrose.
local function check_inverse(a, p)
  near(a, a:matmul(p):matmul(a), 1e-10)
  near(p, p:matmul(a):matmul(p), 1e-10)
  near(a:matmul(p):mH(), a:matmul(p), 1e-10)
  near(p:matmul(a):mH(), p:matmul(a), 1e-10)
end

describe("A pseudoinverse", function()
  it("is contiguous whatever the layout, also when it is empty", function()
    local layouts = {
      st.randn(4, 3), st.randn(4, 3):t(), st.randn(2, 3, 4):mT(),
      st.randn(3, 2, 4, 3):transpose(1, 2), st.randn(4, 3, 2):permute(3, 1, 2),
      st.randn(4):expand(3, 4), st.zeros(0, 3), st.zeros(3, 0),
      st.zeros(2, 0, 3), st.zeros(0, 3, 4),
    }
    for _, a in ipairs(layouts) do
      local want = a:mT():clone {memory_format = "contiguous_format"}:stride()
      for _, p in ipairs {
        st.linalg.pinv(a), a:pinverse(), st.linalg.pinv(a, 1e-5),
        st.linalg.pinv(a, {atol = st.tensor(0.1)}),
        st.linalg.pinv(a:to "complex64"),
        st.linalg.pinv(a:clone():requires_grad_()):detach(),
      } do
        assert.same(want, p:stride())
      end
      local square = a:matmul(a:mT())
      assert.same(square:stride(),
                  st.linalg.pinv(square, {hermitian = true}):stride())
    end
  end)

  it("fulfils Penrose's conditions", function()
    for _, size in ipairs {{3, 3}, {5, 3}, {3, 4}} do
      local full = with_values(size[1], size[2], {4, 2, 0.5})
      check_inverse(full, st.linalg.pinv(full))
      local low = with_values(size[1], size[2], {4, 2, 0})
      check_inverse(low, st.linalg.pinv(low, {rtol = 1e-10}))
      check_inverse(low, st.linalg.pinv(low, 1e-10))
      check_inverse(low, low:pinverse(1e-10))
    end
    local a = with_values(3, 3, {4, 2, 0})
    a = a:matmul(a:t())
    check_inverse(a, st.linalg.pinv(a, {hermitian = true, rtol = 1e-10}))
    local batch = st.randn({2, 3, 2}, {dtype = "float64"})
    local all = st.linalg.pinv(batch)
    for i = 1, 2 do check_inverse(batch[i], all[i]) end
    assert.equal(st.Size {3, 0}, st.linalg.pinv(st.zeros(0, 3)).shape)
  end)

  it("of a complex matrix is that of its adjoint, adjoint", function()
    local z = st.complex(st.randn({3, 2}, {dtype = "float64"}),
                         st.randn({3, 2}, {dtype = "float64"}))
    local p, q = st.linalg.pinv(z), st.linalg.pinv(z:mH()):mH()
    assert.is_true((p - q):abs():max():item() < 1e-12)
    local one = p:matmul(z) - st.eye(2)
    assert.is_true(one:abs():max():item() < 1e-12)
  end)

  it("has a gradient where the rank is low", function()
    local a = f64 {{1, 2}, {2, 4}, {0, 0}}:requires_grad_()
    st.linalg.pinv(a):sum():backward()
    assert.is_true(a.grad:isfinite():all():item())
  end)
end)

for i, row in ipairs {
  {function() st.linalg.norm(st.ones(2, 2), 3) end,
   {"linalg_norm: ", "ord of a matrix must be 1, -1, 2", "not 3"}},
  {function() st.linalg.norm(st.ones(2, 2), "max") end,
   {"linalg_norm: ", "ord must be 'fro' or 'nuc', not 'max'"}},
  {function() st.linalg.norm(st.ones(2, 2, 2), 2) end,
   {"linalg_norm: ", "without dim, self must have 1 or 2 dimensions"}},
  {function() st.linalg.matrix_norm(st.ones(2)) end,
   {"linalg_matrix_norm: ", "at least 2 dimensions", "[2]"}},
  {function() st.linalg.matrix_norm(st.ones(2, 2), 1, {1}) end,
   {"linalg_matrix_norm: ", "dim must list 2 dimensions, not 1"}},
  {function() st.linalg.matrix_norm(st.ones(2, 2), 1, {1, 1}) end,
   {"linalg_matrix_norm: ", "dimension 1 appears more than once"}},
  {function() st.linalg.matrix_norm(tensors.i64 {{1}}) end,
   {"linalg_matrix_norm: ", "int64"}},
  {function() st.linalg.cond(st.ones(2, 3), 1) end,
   {"linalg_cond: ", "square"}},
  {function() st.linalg.pinv(tensors.i64 {{1}}) end,
   {"linalg_pinv: ", "int64"}},
} do
  describe("A norm refuses", function()
    it("what it cannot measure: row " .. i, function()
      raises(row[2], row[1])
    end)
  end)
end
