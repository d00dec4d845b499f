--- Factors, equations, inverses and determinants, against products of what they
-- give.
-- axes: isa threads

local gradients = require "spec.support.gradients"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, next, pairs, pcall, tostring, type = ipairs, next, pairs, pcall,
  tostring, type

local any, f64, kinds, near = tensors.any, tensors.f64, tensors.kinds,
  tensors.near
local raises = tensors.raises

local DTYPES, definite, random, same = matrices.DTYPES, matrices.definite,
  matrices.random, matrices.same
local has_columns, layouts = matrices.has_columns, matrices.layouts

-- -- Making ------------------------------------------------------------------

local function unpack_lu(LU, pivots)
  local m, n = LU.shape[1], LU.shape[2]
  local k = math.min(m, n)
  local L = LU:tril(-1):narrow(2, 1, k) + st.eye(m, k, {dtype = LU.dtype})
  local U = LU:triu():narrow(1, 1, k)
  local rows = {}
  for i = 1, m do rows[i] = i end
  for i, p in ipairs(pivots:totable()) do
    p = tonumber(tostring(p))
    rows[i], rows[p] = rows[p], rows[i]
  end
  local A = st.empty({m, n}, {dtype = LU.dtype})
  local product = L:matmul(U)
  for i = 1, m do A[rows[i]] = product[i] end
  return A
end

-- -- Values ------------------------------------------------------------------

for dtype, tolerance in pairs(DTYPES) do
  describe("Of " .. dtype .. ",", function()
    local before
    setup(function()
      before = kinds()
      st.manual_seed(9)
    end)

    it("a Cholesky factor times its adjoint is the matrix", function()
      local a = definite(dtype, {2, 3, 4, 4})
      for _, t in pairs(layouts(a)) do
        local L, info = st.linalg_cholesky_ex(t)
        same(a, L:matmul(L:mH()), tolerance)
        assert.equal(0, L:triu(1):abs():max():item())
        has_columns(L)
        assert.same({2, 3}, info:size())
        assert.equal("int32", info.dtype)
        assert.equal(0, info:abs():max():item())
        same(L, st.linalg_cholesky(t), 0)
        same(L, t:cholesky(), 0)
        local U = st.linalg_cholesky(t, {upper = true})
        same(a, U:mH():matmul(U), tolerance)
        assert.equal(0, U:tril(-1):abs():max():item())
        same(U, t:cholesky(true), 0)
      end
    end)

    it("Cholesky factors solve equations", function()
      local a, b = definite(dtype, {2, 4, 4}), random(dtype, {3, 1, 4, 2})
      for _, upper in ipairs {false, true} do
        local F = a:cholesky(upper)
        local X = st.cholesky_solve(b, F, upper)
        same(b:expand(3, 2, 4, 2), a:matmul(X), tolerance * 10)
        has_columns(X)
      end
      local LU, pivots = st.linalg_lu_factor(a)
      same(st.linalg_lu_solve(LU, pivots, b), st.lu_solve(b, LU, pivots), 0)
    end)

    it("a Cholesky factor reads one triangle", function()
      local a = definite(dtype, {4, 4})
      local nan = st.full({4, 4}, 0 / 0, {dtype = dtype})
      same(st.linalg_cholesky(a),
           st.linalg_cholesky(a:tril() + nan:triu(1):nan_to_num(7)), 0)
      same(st.linalg_cholesky(a, {upper = true}),
           st.linalg_cholesky(a:triu() + nan:tril(-1):nan_to_num(7),
                              {upper = true}), 0)
    end)

    it("LU factors multiply to the matrix", function()
      for _, shape in ipairs {{4, 4}, {5, 3}, {3, 5}, {1, 1}} do
        local a = random(dtype, {2, shape[1], shape[2]})
        for _, t in pairs(layouts(a)) do
          local LU, pivots, info = st.linalg_lu_factor_ex(t)
          has_columns(LU)
          assert.same({2, math.min(shape[1], shape[2])}, pivots:size())
          assert.same({0, 0}, tensors.lists(info))
          for i = 1, 2 do
            same(a[i], unpack_lu(LU[i], pivots[i]), tolerance)
          end
          for _, f in pairs(layouts(LU)) do
            local P, L, U = st.lu_unpack(f, pivots)
            same(a, P:matmul(L):matmul(U), tolerance)
            same(L, L:tril(), 0)
            same(U, U:triu(), 0)
          end
          local again, same_pivots = st.linalg_lu_factor(t)
          same(LU, again, 0)
          assert.same(tensors.lists(pivots), tensors.lists(same_pivots))
        end
      end
    end)

    it("LU factors are unpacked in part", function()
      local LU, pivots = st.linalg_lu_factor(random(dtype, {3, 3}))
      local P, L, U = st.lu_unpack(LU, pivots)
      local none, L2, U2 = st.lu_unpack(LU, pivots, true, false)
      assert.same({0}, none:size())
      same(L, L2, 0)
      same(U, U2, 0)
      local P2, no_L, no_U = st.lu_unpack(LU, pivots, false)
      same(P, P2, 0)
      assert.same({0}, no_L:size())
      assert.same({0}, no_U:size())
    end)

    it("factors solve equations on either side", function()
      local a = random(dtype, {3, 4, 4}, 5)
      local b, c = random(dtype, {2, 1, 4, 2}), random(dtype, {3, 2, 4})
      local LU, pivots = st.linalg_lu_factor(a)
      for _, f in pairs(layouts(LU)) do
        for _, x in pairs(layouts(b)) do
          local X = st.linalg_lu_solve(f, pivots, x)
          same(b:expand(2, 3, 4, 2), a:matmul(X), tolerance)
          has_columns(X)
          X = st.linalg_lu_solve(f, pivots, x, {adjoint = true})
          same(b:expand(2, 3, 4, 2), a:mH():matmul(X), tolerance)
        end
        for _, x in pairs(layouts(c)) do
          local X = st.linalg_lu_solve(f, pivots, x, {left = false})
          same(c, X:matmul(a), tolerance)
          assert.is_true(X:is_contiguous())
          X = st.linalg_lu_solve(f, pivots, x, {left = false, adjoint = true})
          same(c, X:matmul(a:mH()), tolerance)
        end
      end
      local X = st.linalg_lu_solve(LU[1], pivots[1], b)
      same(b, a[1]:matmul(X), tolerance)
    end)

    it("equations have solutions", function()
      local a = random(dtype, {3, 4, 4}, 5)
      local b, c = random(dtype, {2, 1, 4, 2}), random(dtype, {3, 2, 4})
      for _, t in pairs(layouts(a)) do
        for _, x in pairs(layouts(b)) do
          local X, info = st.linalg_solve_ex(t, x)
          same(b:expand(2, 3, 4, 2), a:matmul(X), tolerance)
          has_columns(X)
          assert.same({0, 0, 0}, tensors.lists(info))
          same(X, st.linalg_solve(t, x), 0)
        end
        for _, x in pairs(layouts(c)) do
          local X = st.linalg_solve(t, x, {left = false})
          same(c, X:matmul(a), tolerance)
          assert.is_true(X:is_contiguous())
        end
      end
      local m = random(dtype, {2, 3, 4, 4}, 5)
      local n = random(dtype, {2, 3, 4})
      same(n, m:matmul(st.linalg_solve(m, n):unsqueeze(-1)):squeeze(-1),
           tolerance)
      local v, w = random(dtype, {4}), random(dtype, {3, 4})
      local X = st.linalg_solve(a, v)
      same(v:expand(3, 4), a:matmul(X:unsqueeze(-1)):squeeze(-1), tolerance)
      X = st.linalg_solve(a, w)
      same(w, a:matmul(X:unsqueeze(-1)):squeeze(-1), tolerance)
      same(v, a[1]:matmul(st.linalg_solve(a[1], v)), tolerance)
      same(b, a[2]:matmul(st.linalg_solve(a[2], b)), tolerance)
    end)

    it("triangular equations have solutions", function()
      local a = random(dtype, {3, 4, 4}, 5)
      local b, c = random(dtype, {2, 1, 4, 2}), random(dtype, {3, 2, 4})
      for _, upper in ipairs {true, false} do
        for _, unit in ipairs {true, false} do
          local m = upper and a:triu(unit and 1 or 0)
                    or a:tril(unit and -1 or 0)
          if unit then m = m + st.eye(4, {dtype = dtype}) end
          for _, t in pairs(layouts(a)) do
            local options = {upper = upper, unitriangular = unit}
            local X = st.linalg_solve_triangular(t, b, options)
            same(b:expand(2, 3, 4, 2), m:matmul(X), tolerance * 1e2)
            has_columns(X)
            options.left = false
            X = st.linalg_solve_triangular(t, c, options)
            same(c, X:matmul(m), tolerance * 1e2)
            has_columns(X)
          end
        end
      end
    end)

    it("an inverse times the matrix is the identity", function()
      local a = random(dtype, {2, 3, 4, 4}, 5)
      local eye = st.eye(4, {dtype = dtype}):expand(2, 3, 4, 4)
      for _, t in pairs(layouts(a)) do
        local inverse, info = st.linalg_inv_ex(t)
        same(eye, inverse:matmul(a), tolerance)
        has_columns(inverse)
        assert.same({{0, 0, 0}, {0, 0, 0}}, tensors.lists(info))
        same(inverse, st.linalg_inv(t), 0)
        same(inverse, t:inverse(), 0)
      end
    end)

    it("determinants are those of two rows", function()
      local a = random(dtype, {5, 2, 2})
      local function at(i, k) return a:select(2, i):select(2, k) end
      local want = at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
      for _, t in pairs(layouts(a)) do
        same(want, t:det(), tolerance)
        same(want, st.linalg_det(t), tolerance)
        local sign, log = st.linalg_slogdet(t)
        same(want:abs():log(), log, tolerance)
        same(want:sgn(), sign, tolerance)
        local again, same_log = t:slogdet()
        same(sign, again, 0)
        same(log, same_log, 0)
      end
      local b = definite(dtype, {2, 3, 3})
      same(b:det():log(), st.logdet(b), tolerance)
    end)

    it("what has no elements has factors without elements", function()
      local function empty(...) return st.empty({...}, {dtype = dtype}) end
      local none, no_batch = empty(2, 0, 0), empty(0, 3, 3)
      for _, t in ipairs {none, no_batch} do
        local size = t:size()
        for _, name in ipairs {"linalg_cholesky", "cholesky", "linalg_inv",
                               "inverse"} do
          assert.same(size, st[name](t):size())
        end
        assert.same(size, st.linalg_solve(t, t):size())
        assert.same(size, st.linalg_solve_triangular(t, t, {upper = true})
                            :size())
        local LU, pivots = st.linalg_lu_factor(t)
        assert.same(size, st.linalg_lu_solve(LU, pivots, t):size())
      end
      same(st.ones({2}, {dtype = dtype}), none:det(), 0)
      assert.same({0}, no_batch:det():size())
      local sign, log = none:slogdet()
      same(st.ones({2}, {dtype = dtype}), sign, 0)
      assert.same({0, 0}, log:totable())
      assert.same({3, 0}, st.linalg_solve(random(dtype, {3, 3}),
                                          empty(3, 0)):size())
      local flat, narrow = st.linalg_lu_factor(empty(3, 0))
      assert.same({0}, narrow:size())
      local P, L, U = st.lu_unpack(flat, narrow)
      same(st.eye(3, {dtype = dtype}), P, 0)
      assert.same({3, 0}, L:size())
      assert.same({0, 0}, U:size())
    end)

    it("nothing stays behind", function() assert.same(before, kinds()) end)
  end)
end

-- -- Outputs -----------------------------------------------------------------

-- name, arguments
local CALLS = {
  {"linalg_cholesky_ex", function() return {definite("float64", {2, 3, 3})} end,
   {"float64", "int32"}},
  {"linalg_cholesky", function() return {definite("float64", {2, 3, 3})} end},
  {"linalg_lu_factor_ex", function() return {any(2, 3, 3)} end,
   {"float64", "int32", "int32"}},
  {"linalg_lu_factor", function() return {any(2, 3, 3)} end,
   {"float64", "int32"}},
  {"linalg_solve_triangular", function()
    return {any(2, 3, 3), any(2, 3, 3), {upper = true}}
  end},
  {"linalg_lu_solve", function()
    local LU, pivots = st.linalg_lu_factor(any(2, 3, 3))
    return {LU, pivots, any(2, 3, 3)}
  end},
  {"lu_unpack", function() return {st.linalg_lu_factor(any(2, 3, 3))} end,
   {"float64", "float64", "float64"}},
  {"linalg_solve_ex", function() return {any(2, 3, 3), any(2, 3, 3)} end,
   {"float64", "int32"}},
  {"linalg_solve", function() return {any(2, 3, 3), any(2, 3, 3)} end},
  {"linalg_inv_ex", function() return {any(2, 3, 3)} end,
   {"float64", "int32"}},
  {"linalg_inv", function() return {any(2, 3, 3)} end},
  {"inverse", function() return {any(2, 3, 3)} end},
  {"linalg_det", function() return {any(2, 3, 3)} end},
  {"linalg_slogdet", function() return {any(2, 3, 3)} end,
   {"float64", "float64"}},
}

local function call(row, args, options)
  local all, keywords = {}, {}
  for _, x in ipairs(args) do
    if type(x) ~= "table" then all[#all + 1] = x end
    for k, v in pairs(type(x) == "table" and x or {}) do keywords[k] = v end
  end
  for k, v in pairs(options or {}) do keywords[k] = v end
  if next(keywords) then all[#all + 1] = keywords end
  return {st[row[1]]((unpack or table.unpack)(all))}
end

describe("A factor is written to out=", function()
  setup(function() st.manual_seed(11) end)

  for _, row in ipairs(CALLS) do
    it("by " .. row[1], function()
      local args = row[2]()
      local want = call(row, args)
      local dtypes = row[3] or {"float64"}
      for layout = 1, 3 do
        local out = {}
        for i, w in ipairs(want) do
          out[i] = st.empty(layout == 1 and {0} or w.shape,
                            {dtype = dtypes[i]})
          if layout == 3 then
            out[i] = st.stack({out[i], out[i]}, -1):select(-1, 1)
          end
        end
        local got = call(row, args, {out = #out > 1 and out or out[1]})
        for i, w in ipairs(want) do
          assert.equal(out[i], got[i])
          same(w, out[i], 0)
        end
      end
    end)

    it("that is the input, by " .. row[1], function()
      local args = row[2]()
      local want = call(row, args)
      if #want > 1 or want[1]:dim() < 3 then return end
      for _, t in ipairs(args) do
        if st.is_tensor(t) and t.dtype == "float64" then
          local kept = t:clone()
          call(row, args, {out = t})
          same(want[1], t, 0)
          t:copy_(kept)
        end
      end
    end)
  end

  it("that stays as it was where the call fails", function()
    local out = st.full({2, 2}, 7, {dtype = "float64"})
    local info = st.full({}, 7, {dtype = "int32"})
    local singular = f64 {{1, 2}, {2, 4}}
    for _, name in ipairs {"linalg_inv_ex", "linalg_cholesky_ex"} do
      assert.is_false(pcall(st[name], -singular, {
        check_errors = true, out = {out, info}}))
    end
    assert.is_false(pcall(st.linalg_solve_ex, singular, out:clone(),
                          {check_errors = true, out = {out, info}}))
    assert.is_false(pcall(st.linalg_inv, singular, {out = out}))
    assert.same({{7, 7}, {7, 7}}, out:totable())
    assert.equal(7, tonumber(tostring(info:item())))
  end)
end)

describe("Factors without elements in memory", function()
  it("have shapes", function()
    local a = st.empty({2, 3, 3}, {device = "meta"})
    local b = st.empty({2, 3, 4}, {device = "meta"})
    local L, info = st.linalg_cholesky_ex(a, {check_errors = true})
    assert.same({2, 3, 3}, L:size())
    assert.same({9, 1, 3}, L:stride())
    assert.same({2}, info:size())
    assert.same({2, 3, 4}, st.linalg_solve(a, b):size())
    assert.same({2}, a:det():size())
    assert.same({2, 3, 3}, a:inverse():size())
    local LU, pivots = st.linalg_lu_factor(b)
    assert.same({12, 1, 3}, LU:stride())
    assert.same({2, 3}, pivots:size())
  end)
end)

-- -- Singular matrices -------------------------------------------------------

describe("A singular matrix", function()
  local singular = f64 {{1, 2, 3}, {4, 5, 6}, {5, 7, 9}}
  local zero = st.zeros({3, 3}, {dtype = "float64"})
  local eye = st.eye(3, {dtype = "float64"})

  it("is named", function()
    raises("linalg_inv: A is singular: U(1, 1) is zero", st.linalg_inv, zero)
    raises("A is singular: U(1, 1) is zero", st.linalg_solve, zero, eye)
    raises("A is singular: U(1, 1) is zero", st.linalg_lu_factor, zero)
    local batch = st.stack({eye, eye, eye, zero}, 1):view(2, 2, 3, 3)
    raises("A: the matrix at [2, 2] of the batch is singular: U(1, 1) is zero",
           st.linalg_inv, batch)
    raises("self is not positive definite: its leading minor of order 2 is " ..
           "not positive", st.linalg_cholesky, f64 {{1, 2}, {2, 1}})
    raises("self: the matrix at [2] of the batch is not positive definite",
           st.linalg_cholesky, st.stack({eye, -eye}, 1))
  end)

  it("has an info", function()
    local inverse, info = st.linalg_inv_ex(st.stack({eye, zero}, 1))
    assert.same({0, 1}, tensors.lists(info))
    assert.is_true(inverse[1]:equal(eye))
    assert.is_true(inverse[2]:isnan():all():item())
    local _, _, at = st.linalg_lu_factor_ex(f64 {{1, 1}, {1, 1}})
    assert.equal(2, tensors.lists(at))
    local _, order = st.linalg_cholesky_ex(f64 {{1, 2}, {2, 1}})
    assert.equal(2, tensors.lists(order))
  end)

  it("has a determinant of zero and its gradient", function()
    assert.equal(0, zero:det():item())
    local sign, log = zero:slogdet()
    assert.equal(0, sign:item())
    assert.equal(-math.huge, log:item())
    -- the adjugate, transposed
    near({{3, -6, 3}, {3, -6, 3}, {-3, 6, -3}},
         gradients.gradient(singular, st.det):totable(), 1e-9)
    near({{4, -2}, {-2, 1}},
         gradients.gradient(f64 {{1, 2}, {2, 4}}, st.det):totable(), 1e-9)
    near({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
         gradients.gradient(zero, st.det):totable())
    assert.same({{1}}, gradients.gradient(f64 {{0}}, st.det):totable())
  end)

  it("has a second derivative of its determinant", function()
    local a = f64 {{1, 2}, {2, 4}}:requires_grad_()
    local first = st.grad({st.det(a)}, {a}, {create_graph = true})
    local weights = f64 {{1, 10}, {100, 1000}}
    -- the gradient is {{d, -c}, {-b, a}}
    near({{1000, -100}, {-10, 1}},
         st.grad({(first * weights):sum()}, {a}):totable(), 1e-9)
  end)

  it("with a negative determinant has no logarithm of it", function()
    local log = st.logdet(f64 {{0, 1}, {1, 0}}):item()
    assert.is_true(log ~= log)
  end)
end)

-- -- Threads and memory ------------------------------------------------------

describe("Factors of many matrices", function()
  it("have the same bits for any number of threads", function()
    st.manual_seed(3)
    local a = any(500, 12, 12) + st.eye(12, {dtype = "float64"}) * 9
    local b = any(500, 12, 3)
    local before = st.get_num_threads()
    local function all()
      return {a:inverse(), a:det(), st.linalg_solve(a, b),
              st.linalg_cholesky(a:matmul(a:mT())),
              st.linalg_solve_triangular(a, b, {upper = true})}
    end
    st.set_num_threads(1)
    local one = all()
    st.set_num_threads(3)
    local three = all()
    st.set_num_threads(before)
    for i, t in ipairs(one) do assert.is_true(t:equal(three[i])) end
  end)

  it("fail cleanly at every allocation", function()
    for _, row in ipairs(CALLS) do
      matrices.fails_cleanly(st[row[1]], row[2]())
    end
  end)
end)

-- -- Refusals ----------------------------------------------------------------

local function f(...) return st.zeros({...}) end

-- operator, arguments, what the message says
local REFUSALS = {
  {"linalg_cholesky_ex", function() return f(3) end,
   "self must have at least 2 dimensions, its shape is [3]"},
  {"linalg_cholesky_ex", function() return f(2, 3) end,
   "self must be a square matrix or a batch of them, its shape is [2, 3]"},
  {"cholesky_solve", function() return f(3, 2), f(3, 2) end,
   "input2 must be a square matrix or a batch of them, its shape is [3, 2]"},
  {"linalg_inv_ex", function() return st.ones({2, 2}, {dtype = "int64"}) end,
   "A must be float32, float64, complex64 or complex128, not int64"},
  {"linalg_det", function() return st.ones({2, 2}, {dtype = "float16"}) end,
   "A must be float32, float64, complex64 or complex128, not float16"},
  {"linalg_slogdet", function() return f(2, 3) end,
   "A must be a square matrix or a batch of them, its shape is [2, 3]"},
  {"linalg_lu_factor", function() return f(3, 3), {pivot = false} end,
   "pivot must be true"},
  {"linalg_solve_ex", function() return f(3, 3), f(2, 2) end,
   "the rows of B, shape [2, 2], are not as many as those of A, shape [3, 3]"},
  {"linalg_solve_ex", function() return f(3, 3), f(2, 2), {left = false} end,
   "the columns of B, shape [2, 2], are not as many as those of A"},
  {"linalg_solve_ex", function() return f(3, 3), f(3), {left = false} end,
   "B of shape [3] holds vectors"},
  {"linalg_solve_ex", function() return f(2, 3, 3), f(4, 3, 1) end,
   "the batches of A, shape [2, 3, 3], and B, shape [4, 3, 1], do not"},
  {"linalg_solve_ex", function()
    return f(3, 3), st.zeros({3, 1}, {dtype = "float64"})
  end, "A is float32, but B is float64: convert one of them"},
  {"linalg_solve_triangular", function()
    return f(3, 3), f(3), {upper = true}
  end, "B must have at least 2 dimensions, its shape is [3]"},
  {"linalg_lu_solve", function()
    return f(2, 2), st.zeros({2}, {dtype = "int32"}), f(2, 1)
  end, "pivots must be from 1 to 2, one is 0"},
  {"linalg_lu_solve", function()
    return f(2, 2), st.full({2}, 3, {dtype = "int32"}), f(2, 1)
  end, "pivots must be from 1 to 2, one is 3"},
  {"linalg_lu_solve", function() return f(2, 2), f(2), f(2, 1) end,
   "pivots must be int32, not float32"},
  {"linalg_lu_solve", function()
    return f(2, 2), st.ones({3}, {dtype = "int32"}), f(2, 1)
  end, "pivots must have a number for each element of the diagonal of LU,"},
  {"lu_unpack", function()
    return f(3, 2), st.full({2}, 4, {dtype = "int32"})
  end, "pivots must be from 1 to 3, one is 4"},
  {"lu_unpack", function() return f(3, 2), f(2) end,
   "LU_pivots must be int32, not float32"},
}

describe("A factor or solution refuses", function()
  for _, row in ipairs(REFUSALS) do
    it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end

  it("out= of another dtype", function()
    raises("out has dtype float64, but the result is float32", st.linalg_det,
           f(2, 2), {out = st.zeros({}, {dtype = "float64"})})
  end)
end)
