--- Exponentials, square roots and polar factors of matrices; inverses by
-- factors and equations of tensors. The tables are PyTorch 2.15's answers; the
-- exponentials are mpmath's, too.
-- axes: isa threads

local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, pairs = ipairs, pairs

local any, f64, i64, kinds = tensors.any, tensors.f64, tensors.i64,
  tensors.kinds
local near, raises = tensors.near, tensors.raises

local DTYPES, definite, layouts = matrices.DTYPES, matrices.definite,
  matrices.layouts
local random, same = matrices.random, matrices.same

--- The sum of powers over factorials, up to the 200th.
local function series(t)
  local term = st.eye(t.shape[#t.shape], {dtype = t.dtype}):expand_as(t)
  local sum = term
  for k = 1, 200 do
    term = term:matmul(t) / k
    sum = sum + term
  end
  return sum
end

describe("Matrix functions:", function()
  local before
  setup(function()
    before = kinds()
    st.manual_seed(5)
  end)

  it("exponentials", function()
    local a = f64 {{1, 2, 0}, {-1, 3, 1}, {0.5, 0, -2}}
    near({{-1.8678266314196, 12.739832397589, 2.51047525473},
          {-5.7422973851119, 10.872005766169, 2.6042033166994},
          {0.046864030984682, 1.255237627365, 0.36146443740237}},
         st.matrix_exp(a):totable())
    near({{-1456.5082225996, -2070.8904027899, -192.15562136543},
          {987.40629605362, -3527.3986253896, -747.21176934682},
          {-277.52807399069, -96.077810682717, 16.504599979111}},
         st.linalg_matrix_exp(a * 4):totable(), 1e-11)
    local e = st.matrix_exp(st.complex(f64 {{1, 2}, {0, -1}},
                                       f64 {{1, 0}, {0.5, 0}}))
    near({{0.904687797616, 1.57865715096}, {-0.419210062663, 0.16445077198}},
         e:real():totable(), 1e-11)
    near({{2.79914616056, 1.67684025065}, {0.39466428774, 0.332977334425}},
         e:imag():totable(), 1e-11)
  end)

  -- A norm for each degree of the polynomial, and for squarings.
  it("exponentials of every size are the sums of powers", function()
    st.manual_seed(1) -- the sum is bad where all eigenvalues are far below 0
    for dtype, tolerance in pairs(DTYPES) do
      for _, size in ipairs {0, 1e-10, 1e-6, 1e-4, 0.01, 0.1, 0.4, 1, 4} do
        local a = random(dtype, {2, 3, 3}) * size
        local wide = a:to(dtype:find "complex" and "complex128" or "float64")
        local want = series(wide)
        local scale = want:abs():max():item()
        for _, t in pairs(layouts(a)) do
          same(want / scale, (st.matrix_exp(t) / scale):to(wide.dtype),
               tolerance)
        end
      end
    end
  end)

  it("exponentials of halves, of nothing and of what is not finite", function()
    local e = st.matrix_exp(st.eye(2, {dtype = "float16"}))
    assert.equal("float16", e.dtype)
    near({{2.71828, 0}, {0, 2.71828}}, e:totable(), 1e-3)
    assert.same({0, 3, 3}, st.matrix_exp(st.empty(0, 3, 3)):size())
    assert.same({2, 0, 0}, st.matrix_exp(st.empty(2, 0, 0)):size())
    for _, x in ipairs {math.huge, 0 / 0} do
      local t = st.matrix_exp(st.stack {f64 {{x, 0}, {0, 1}},
                                        st.zeros({2, 2}, {dtype = "float64"})})
      assert.is_true(st.isnan(t[1]):all():item())
      near({{1, 0}, {0, 1}}, t[2]:totable())
    end
    near({{0, 0}, {0, 1}}, st.matrix_exp(f64 {{-1e300, 0}, {0, 0}})
                             :totable())
    raises({"matrix_exp", "square", "[2, 3]"}, st.matrix_exp, st.ones(2, 3))
    raises({"matrix_exp", "int64"}, st.matrix_exp, i64 {{1}})
  end)

  it("square roots", function()
    near({{1.98070913164, 0.2757818853, 0.0271235612277},
          {0.2757818853, 1.67780368511, -0.330029007755},
          {0.0271235612277, -0.330029007755, 1.37489823859}},
         st.linalg_matrix_sqrth(f64 {{4, 9, 9}, {1, 3, 9}, {0, -1, 2}})
           :totable(), 1e-11)
    -- the root of a negative eigenvalue is 0
    near({{1, 0}, {0, 0}},
         st.linalg_matrix_sqrth(f64 {{1, 0}, {0, -1}}):totable())
    for dtype, tolerance in pairs(DTYPES) do
      local a = definite(dtype, {2, 4, 4})
      local root = st.linalg_matrix_sqrth(a)
      same(a, root:matmul(root), tolerance * 10)
    end
    raises({"matrix_sqrth", "square"}, st.linalg_matrix_sqrth, st.ones(2, 3))
  end)

  it("polar factors", function()
    local U, H = st.linalg_polar(f64 {{1, 2}, {3, 4}, {5, 6}})
    near({{-0.551003242989, 0.727824676381}, {0.136158518672, 0.561065228941},
          {0.823320280333, 0.394305781501}}, U:totable(), 1e-11)
    near({{3.97407371469, 4.38254927071}, {4.38254927071, 6.06574495753}},
         H:totable(), 1e-11)
    for dtype, tolerance in pairs(DTYPES) do
      local a = random(dtype, {2, 4, 3})
      local u, h = st.linalg_polar(a)
      same(a, u:matmul(h), tolerance)
      same(st.eye(3, {dtype = dtype}):expand(2, 3, 3), u:mH():matmul(u),
           tolerance)
      local to = {st.empty({0}, {dtype = dtype}), st.empty({0},
                                                           {dtype = dtype})}
      st.linalg_polar(a, {U = to[1], H = to[2]})
      same(u, to[1], 0)
      same(h, to[2], 0)
    end
    raises({"polar", "as many rows", "[2, 3]"}, st.linalg_polar, st.ones(2, 3))
    raises({"polar", "float32", "float64"}, st.linalg_polar, st.ones(2, 2),
           {U = st.empty(0), H = st.empty({0}, {dtype = "float64"})})
  end)

  it("inverses by Cholesky factors", function()
    near({{5 / 18, -1 / 18}, {-1 / 18, 1 / 9}},
         st.cholesky_inverse(f64 {{2, 9}, {1, 3}}):totable())
    near({{2.5, -0.5}, {-0.5, 1 / 9}},
         st.cholesky_inverse(f64 {{2, 9}, {1, 3}}, true):totable())
    for dtype, tolerance in pairs(DTYPES) do
      local a = definite(dtype, {2, 3, 3})
      for _, upper in ipairs {false, true} do
        local inverse = st.cholesky_inverse(a:cholesky(upper), upper)
        same(st.linalg_inv(a), inverse, tolerance)
        same(inverse, inverse:mH(), 0)
      end
    end
    raises({"cholesky_inverse", "singular"}, st.cholesky_inverse,
           f64 {{0, 9}, {1, 3}})
  end)

  it("triangular equations, in their old form", function()
    local a = f64 {{2, 9}, {1, 3}}
    local x, copy = st.triangular_solve(f64 {{1}, {1}}, a)
    near({{-1}, {1 / 3}}, x:totable())
    near(a:totable(), copy:totable())
    x = st.triangular_solve(f64 {{1}, {1}}, a, false, true)
    near({{1 / 3}, {1 / 3}}, x:totable())
    x = st.triangular_solve(f64 {{1}, {1}}, a, {unitriangular = true})
    near({{-8}, {1}}, x:totable())
    local c = st.complex(a, a)
    x = st.triangular_solve(st.ones({5, 2, 1}, {dtype = "complex128"}), c,
                            {transpose = true})
    near({{0.25}, {-7 / 12}}, x[1]:real():totable())
    near({{-0.25}, {7 / 12}}, x[1]:imag():totable())
    local _, wide = st.triangular_solve(any(5, 2, 1), a)
    assert.same({5, 2, 2}, wide:size())
  end)

  it("equations of tensors", function()
    near({0, 3, 1, 4, 2, 5}, st.linalg_tensorsolve(
      st.eye(6):reshape(2, 6, 3), f64 {{0, 1, 2}, {3, 4, 5}}:to "float32",
      {2}):totable())
    local a, b = any(2, 3, 6), any(2, 3)
    local x = st.linalg_tensorsolve(a, b)
    near(b:totable(), st.tensordot(a, x, 1):totable(), 1e-9)
    local inverse = st.linalg_tensorinv(a)
    assert.same({6, 2, 3}, inverse:size())
    near(x:totable(), st.tensordot(inverse, b, 2):totable(), 1e-9)
    assert.same({2, 0, 0}, st.linalg_tensorinv(st.empty(0, 2, 0), 1):size())
    raises({"tensorinv", "positive"}, st.linalg_tensorinv, a, 0)
    raises({"tensorinv", "no 5 dimensions"}, st.linalg_tensorinv, a, 5)
    raises({"tensorinv", "have 2 elements, the others 18"},
           st.linalg_tensorinv, a, 1)
    raises({"tensorsolve", "[2, 2]", "[2, 3, 6]"}, st.linalg_tensorsolve, a,
           st.ones({2, 2}, {dtype = "float64"}))
  end)

  it("powers of the elements of vectors", function()
    near({{1, 1, 1}, {4, 2, 1}, {9, 3, 1}},
         st.vander(f64 {1, 2, 3}):totable())
    near({{1, 1}, {1, 2}, {1, 3}}, st.vander(f64 {1, 2, 3}, 2, true)
                                     :totable())
    assert.same({3, 0}, st.vander(i64 {1, 2, 3}, 0):size())
    assert.equal("int64", st.vander(st.tensor {true, false}).dtype)
    near({{1, 2, 4, 8}, {1, 3, 9, 27}},
         st.linalg_vander(f64 {2, 3}, {N = 4}):totable())
    assert.same({2, 0, 3}, st.linalg_vander(st.empty(2, 0), {N = 3}):size())
    raises({"linalg_vander", "N", "greater than 1"}, st.linalg_vander,
           f64 {2, 3}, {N = 1})
    raises({"vander", "one dimension"}, st.vander, st.ones(2, 2))
  end)

  teardown(function() assert.same(before, kinds()) end)
end)
