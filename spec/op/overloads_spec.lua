--- Overloads that take tensors for numbers, lists for tensors, or a dtype to
-- compute in. Values without a derivation are PyTorch's.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, lists, raises = tensors.f64, tensors.lists, tensors.raises

local function i64(list) return st.tensor(list, {dtype = "int64"}) end

describe("atleast_1d, 2d and 3d", function()
  it("take lists of tensors", function()
    local out = st.atleast_2d {f64(1), f64 {1, 2}}
    assert.same({{{1}}, {{1, 2}}}, {lists(out[1]), lists(out[2])})
    assert.equal("{1}", tostring(st.atleast_1d({f64(1)})[1].shape))
    assert.equal("{1, 2, 1}", tostring(st.atleast_3d({f64 {1, 2}})[1].shape))
    assert.same({}, st.atleast_1d {})
  end)
end)

describe("scatter with a reduction", function()
  local t, index = f64 {{1, 2, 3}, {4, 5, 6}}, i64 {{1, 2, 1}}

  it("adds or multiplies", function()
    local src = f64 {{10, 20, 30}}
    assert.same({{11, 2, 33}, {4, 25, 6}},
                lists(st.scatter(t, 1, index, src, {reduce = "add"})))
    assert.same({{10, 2, 90}, {4, 100, 6}},
                lists(st.scatter(t, 1, index, src, {reduce = "multiply"})))
    assert.same({{2, 2, 6}, {4, 10, 6}},
                lists(st.scatter(t, 1, index, 2, {reduce = "multiply"})))
    local y = t:clone()
    assert.equal(y, y:scatter_(1, index, 2, {reduce = "add"}))
    assert.same({{3, 2, 5}, {4, 7, 6}}, lists(y))
  end)

  it("does nothing else", function()
    raises('scatter: reduce must be "add" or "multiply", not "sum"',
           st.scatter, t, 1, index, 2, {reduce = "sum"})
  end)
end)

describe("index_fill", function()
  local t = f64 {{1, 2, 3}, {4, 5, 6}}

  it("takes a 0-dim tensor", function()
    assert.same({{9, 2, 9}, {9, 5, 9}},
                lists(st.index_fill(t, 2, i64 {1, 3}, st.tensor(9))))
    assert.same({{1, 2, 3}, {0, 0, 0}},
                lists(t:clone():index_fill_(1, i64 {-1}, f64(0))))
    raises("index_fill: value must be a 0-dim tensor, its shape is [1]",
           st.index_fill, t, 1, i64 {1}, f64 {1})
    assert.equal(8, st.index_fill(f64(1), 1, i64 {1}, f64(8)):item())
    assert.equal(1, st.index_fill(f64(1), 1, i64 {}, f64(8)):item())
  end)

  it("counts an element once in the gradient of the tensor", function()
    local value = f64(9)
    value:requires_grad_()
    local upstream = f64 {1, 10, 100}
    st.index_fill(f64 {1, 2, 3}, 1, i64 {1, 1, 2}, value):backward(upstream)
    assert.equal(11, value.grad:item())
    value.grad = nil
    f64 {1, 2, 3}:index_fill_(1, i64 {-1, 3}, value):backward(upstream)
    assert.equal(100, value.grad:item())
  end)

  it("takes the numbers that it takes without a tensor", function()
    local index = i64 {1}
    for dtype, value in pairs {
      float64 = st.complex(f64(1), f64(2)), uint8 = f64(300),
      int64 = f64(math.huge),
    } do
      local ok, why = pcall(st.index_fill, t:to(dtype), 1, index, value:item())
      assert.is_false(ok)
      raises(why:match "index_fill: .*", st.index_fill, t:to(dtype), 1, index,
             value)
    end
    raises("index_fill: value is on another device than self", st.index_fill,
           t, 1, index, f64(1):to "meta")
    raises("index_fill: index must have dtype int64, not int32", st.index_fill,
           t, 1, index:to "int32", f64(1))
    raises("index_fill: index 4 is out of range for dimension 2 with size 3",
           st.index_fill, t, 2, i64 {4}, f64(1))
  end)
end)

describe("linspace and logspace", function()
  it("take 0-dim tensors for the ends", function()
    assert.same({1, 2, 3}, lists(st.linspace(f64(1), 3, 3)))
    assert.same({0, 0.5, 1}, lists(st.linspace(0, f64(1), 3)))
    assert.same({1, 10, 100}, lists(st.logspace(f64(0), f64(2), 3)))
    local out = st.empty {0}
    st.linspace(f64(0), f64(1), 3, {out = out})
    assert.same({0, 0.5, 1}, lists(out))
    raises("linspace: end must be a number or a 0-dim tensor, its shape is [1]",
           st.linspace, f64(0), f64 {1}, 3)
  end)
end)

describe("repeat_interleave of counts", function()
  it("has each position as often as its count", function()
    assert.same({1, 1, 3}, lists(st.repeat_interleave(i64 {2, 0, 1})))
    assert.same({0, 0, 2},
                lists(st.repeat_interleave(i64 {2, 0, 1}, {base = 0})))
    raises("repeat_interleave: repeats must be a vector", st.repeat_interleave,
           i64 {{1}})
  end)
end)

describe("A dtype to compute in", function()
  it("is an option of norm", function()
    local t = st.tensor({{3, 4}, {6, 8}}, {dtype = "float32"})
    local y = st.norm(t, 2, 2, {dtype = "float64"})
    assert.equal("float64", y.dtype)
    assert.same({5, 10}, lists(y))
    assert.same(21, st.norm(t, 1, {dtype = "float64"}):item())
  end)

  it("is an argument of products", function()
    local a = st.tensor({{300, 1}}, {dtype = "float16"})
    local y = st.mm(a, a:t(), "float32")
    assert.equal("float32", y.dtype)
    assert.same({{90001}}, lists(y))
    assert.same({{180003}}, lists(st.addmm(st.tensor({1}, {dtype = "float16"}),
                                          a, a:t(), "float32", {alpha = 2})))
    assert.same({{{90001}}}, lists(st.bmm(a:unsqueeze(1), a:t():unsqueeze(1),
                                          "float32")))
    raises("mm: the matrices must have one dtype, not float64 and float32",
           st.mm, f64 {{1}}, st.ones({1, 1}, {dtype = "float32"}), "float64")
    raises("addmm: self must have the dtype of the matrices, float64, or "
           .. "out_dtype, float64, not float32", st.addmm,
           st.ones({1, 1}, {dtype = "float32"}), f64 {{1}}, f64 {{1}},
           "float64")
    raises("mm: out_dtype must be the dtype of the matrices, float64, or "
           .. "float32 for float16 and bfloat16, not int8", st.mm, f64 {{1}},
           f64 {{1}}, "int8")
  end)
end)

describe("randint_like", function()
  it("takes a tensor for the upper end", function()
    local y = st.randint_like(st.zeros {100}, i64(3))
    assert.same({0, 2}, {y:min():item(), y:max():item()})
    raises("randint_like: high must have an integer dtype, not float64",
           st.randint_like, y, f64(3))
  end)
end)

describe("out=", function()
  it("takes the result of operators that make one of any kind", function()
    local t, o = f64 {1, 2, 4}, function()
      return st.zeros({0}, {dtype = "float64"})
    end
    assert.same({4, 1, 2}, lists(st.roll(t, 1, {out = o()})))
    assert.same({4, 2, 1}, lists(st.flip(t, {1}, {out = o()})))
    assert.same({1, 9, 4},
                lists(st.index_fill(t, 1, i64 {2}, 9, {out = o()})))
    assert.same({1, 2, 9}, lists(st.put(t, i64 {3}, f64 {9}, {out = o()})))
    assert.same(7, lists(st.sum(t, {out = o()})))
    assert.same(2, lists(st.median(t, {out = o()})))
    local mask = st.empty({0}, {dtype = "bool"})
    assert.same({false, true}, lists(st.isnan(f64 {1, 0 / 0}, {out = mask})))
  end)
end)

describe("Tolerances", function()
  local A = f64 {{{1, 0}, {0, 1e-3}}, {{1, 0}, {0, 1e-3}}}
  local both = f64 {1e-2, 1e-4}

  it("of ranks may differ by matrix", function()
    assert.same({1, 2}, lists(st.linalg.matrix_rank(A, both)))
    assert.same({1, 2}, lists(st.linalg.matrix_rank(A, {rtol = both})))
    assert.same({1, 2}, lists(st.linalg.matrix_rank(A, {
      atol = f64 {1e-2, 0}, hermitian = true})))
  end)

  it("of pseudoinverses may differ by matrix", function()
    local one, two = {{1, 0}, {0, 0}}, {{1, 0}, {0, 1000}}
    assert.same({one, two}, lists(st.linalg.pinv(A, {rtol = both})))
    assert.same({one, two}, lists(st.linalg.pinv(A, {atol = f64 {1e-2, 0}})))
    assert.same({one, one}, lists(st.linalg.pinv(A, f64(1e-2))))
    assert.equal("{0, 3, 2}", tostring(st.linalg.pinv(
      st.zeros(0, 2, 3), {atol = st.zeros(0)}).shape))
  end)
end)
