--- The dtypes complex32 and bcomplex32, complex numbers of two halves: what
-- gives them, conversions, arithmetic in complex64 that is rounded, what is
-- refused.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

local function of(dtype) return st.tensor({1, 2}, {dtype = dtype}) end

local i = st.complex(0, 1)

-- A half dtype, what it and complex numbers give, and the step at 1.
local ROWS = {{"float16", "complex32", 2 ^ -10},
              {"bfloat16", "bcomplex32", 2 ^ -7}}

--- The elements of a complex tensor, real and imaginary parts in turn.
local function parts(t)
  return st.view_as_real(t:to "complex128"):flatten():totable()
end

--- Complex numbers of `dtype` from pairs.
local function numbers(dtype, ...)
  return st.view_as_complex(st.tensor({...}, {dtype = "float64"})):to(dtype)
end

for _, row in ipairs(ROWS) do
  local half, dtype, step = row[1], row[2], row[3]

  describe("A tensor of " .. dtype, function()
    local t = numbers(dtype, {1, 2}, {-3, 0.5}, {0, 0}, {4, -8})

    it("is one of complex numbers of two halves", function()
      assert.equal(dtype, t.dtype)
      assert.equal(4, t:element_size())
      assert.is_true(t:is_complex())
      assert.equal(half, st.view_as_real(t).dtype)
      assert.equal(half, st.real(t).dtype)
      assert.same({2, 0.5, 0, -8}, st.imag(t):double():totable())
      assert.equal(16, st.finfo(dtype).bits)
      assert.equal(st.complex(-3, 0.5), t[2])
      assert.equal("tensor([ 1.+2.0000j, -3.+0.5000j,  0.+0.0000j,  4.-8.0000j]"
                   .. ", dtype=" .. dtype .. ")", tostring(t))
    end)

    it("rounds what is converted, and comes back", function()
      local a = numbers(dtype, {1 + step / 2, 1 + 1.5 * step},
                        {1 + step * 0.51, -1 / 3})
      local want = st.tensor({1 + step / 2, 1 + 1.5 * step, 1 + step * 0.51,
                              -1 / 3}):to(half)
      assert.same(want:double():totable(), parts(a))
      for _, other in ipairs {"complex64", "complex128", "complex32",
                              "bcomplex32"} do
        local b = numbers(dtype, {1, 2}, {-3, 0.5}, {0.25, 96})
        assert.same(parts(b), parts(b:to(other):to(dtype)))
      end
    end)

    it("is the real part for other dtypes, which become complex", function()
      local u = numbers(dtype, {1, 2}, {3, 0.5}, {0, 7})
      for _, other in ipairs {"uint8", "int8", "int16", "int32", "int64",
                              "uint16", "uint32", "uint64", "float16",
                              "bfloat16", "float32", "float64",
                              "float8_e4m3fn"} do
        local real = u:to(other)
        assert.equal(other, real.dtype)
        assert.same({1, 3, 0}, real:double():totable(), other)
        assert.same({1, 0, 3, 0, 0, 0}, parts(real:to(dtype)), other)
      end
      assert.same({true, true, true}, u:bool():totable())
      assert.same({1, 0, 0, 0}, parts(st.tensor({true, false}):to(dtype)))
    end)

    it("comes from a lazy conjugate or negative", function()
      local c = t:to "complex64"
      assert.same({1, -2, -3, -0.5, 0, 0, 4, 8}, parts(c:conj():to(dtype)))
      local out = st.zeros_like(t)
      out:copy_(c:conj())
      assert.same({1, -2, -3, -0.5, 0, 0, 4, 8}, parts(out))
      assert.same({-2, -0.5, 0, 8, 0}, st.cat {c:conj():imag(),
                  st.zeros(1)}:to(dtype):real():double():totable())
    end)

    it("is moved in any layout", function()
      local m = t:reshape(2, 2)
      assert.same(parts(m:to "complex64":t():contiguous()),
                  parts(m:t():contiguous()))
      local long = st.arange(3000):to(dtype):reshape(60, 50)
      assert.is_true(long:t():to "complex64"
                     :equal(long:to "complex64":t()))
      assert.is_true(long:t():contiguous():to "complex64"
                     :equal(long:to "complex64":t()))
      assert.equal(dtype, st.cat({t, t}).dtype)
      assert.same(parts(t), parts(st.where(t:ne(i), t, st.zeros_like(t))))
      assert.same({4, -8, 1, 2}, parts(t[{st.tensor {4, 1}}]))
      assert.same({2, -1, 2, -1},
                  parts(st.full({2}, st.complex(2, -1), {dtype = dtype})))
    end)

    it("is compared and asked what it is", function()
      assert.same({true, false, false, false},
                  t:eq(st.complex(1, 2)):totable())
      assert.same({false, true, true, true}, t:ne(st.complex(1, 2)):totable())
      assert.same({false, false}, of(half):eq(i):totable())
      assert.same({true, false}, of(half):eq(st.complex(1, 0)):totable())
      local strange = numbers(dtype, {1 / 0, 1}, {0, 0 / 0}, {2, 3})
      assert.same({false, true, false}, strange:isnan():totable())
      assert.same({true, false, false}, strange:isinf():totable())
      assert.same({false, false, true}, strange:isfinite():totable())
      assert.is_true(t:any():item())
      assert.is_false(t:all():item())
      assert.same({{1}, {2}, {4}}, st.nonzero(t):totable())
      assert.equal(3, st.count_nonzero(t):item())
    end)

    it("appears in promotion", function()
      assert.equal(dtype, st.result_type(of(half), i))
      assert.equal(dtype, st.result_type(of(half), st.tensor(i)))
      assert.equal(dtype, st.promote_types(dtype, half))
      assert.equal(dtype, st.promote_types(dtype, "int64"))
      for _, wider in ipairs {"float32", "complex64", "complex32",
                              "bcomplex32"} do
        if wider ~= dtype then
          assert.equal("complex64", st.promote_types(dtype, wider))
        end
      end
      assert.equal("complex128", st.promote_types(dtype, "float64"))
    end)

    it("is saved in .pt files", function()
      local path = os.tmpname()
      st.save(path .. ".pt", {a = t})
      local back = st.load(path .. ".pt").a
      os.remove(path .. ".pt")
      assert.equal(dtype, back.dtype)
      assert.same(parts(t), parts(back))
      raises({dtype .. " has no equivalent in .npy"}, st.save, path .. ".npy",
             t)
      os.remove(path .. ".npy")
      os.remove(path)
    end)

    it("has no sums, order and products of matrices", function()
      for _, f in ipairs {st.sum, st.prod, st.mean, st.sort, st.amax} do
        raises({"dtype"}, f, t)
      end
      raises({dtype}, st.mm, t:reshape(2, 2), t:reshape(2, 2))
      raises({dtype}, st.lt, t, t)
    end)
  end)
end

describe("Arithmetic of complex32", function()
  local a = numbers("complex32", {1, 2}, {-3, 0.5}, {0.1, 7}, {1000, -0.3})
  local b = numbers("complex32", {0.7, -2}, {5, 1 / 3}, {3, 0}, {60, 3})

  it("is computed in complex64 and rounded", function()
    local x, y = a:to "complex64", b:to "complex64"
    local calls = {
      function(p, q) return p + q end, function(p, q) return p - q end,
      function(p, q) return p * q end, function(p, q) return p / q end,
      function(p) return -p end, function(p) return st.conj(p) end,
      function(p, q) return st.addcmul(p, p, q, {value = 0.5}) end,
      function(p, q) return st.add(p, q, {alpha = 2}) end,
      function(p) return p:sqrt() end, function(p) return p:reciprocal() end,
      function(p) return p:sgn() end, function(_, q) return q:exp() end,
    }
    for k, f in ipairs(calls) do
      local got = f(a, b)
      assert.equal("complex32", got.dtype)
      assert.same(parts(f(x, y):to "complex32"), parts(got), k)
    end
    assert.equal("float16", st.abs(a).dtype)
    assert.same(st.abs(x):to "float16":double():totable(),
                st.abs(a):double():totable())
    local strided = st.stack({a, b}, 2):t()
    assert.same(parts(a * b), parts(strided[1] * strided[2]))
  end)

  it("is what float16 and complex numbers give", function()
    local h = of "float16"
    assert.same({1, 1, 2, 1}, parts(h + i))
    assert.same({0, 1, 0, 2}, parts(i * h))
    assert.same({0, 1, 0, 2}, parts(h * st.tensor(i)))
    assert.equal("complex32", (h / i).dtype)
    assert.equal("complex64", (h + st.tensor {i, i}).dtype)
    for _, wider in ipairs {"complex64", "complex128"} do
      local out = st.zeros({2}, {dtype = wider})
      st.mul(h, i, {out = out})
      assert.same({0, 1, 0, 2}, parts(out))
    end
    for _, other in ipairs {"float16", "float32"} do
      raises({"add: ", "complex32"}, st.add, h, i,
             {out = st.zeros({2}, {dtype = other})})
    end
    raises({"add_: ", "complex32"}, h.add_, h:clone(), i)
  end)

  it("adds at indices", function()
    local to = st.zeros({2}, {dtype = "complex32"})
    to:index_put_({st.tensor {2, 1, 2}}, numbers("complex32", {1, 2}, {3, 4},
                                                 {0.5, -1}), true)
    assert.same({3, 4, 1.5, 1}, parts(to))
  end)

  it("is the complex dtype where float16 is the default", function()
    st.set_default_dtype "float16"
    local dtype = st.tensor({i}).dtype
    st.set_default_dtype "float32"
    assert.equal("complex32", dtype)
    assert.equal("complex32", st.ones(1):chalf().dtype)
  end)

  it("has tensors from two of float16", function()
    local re, im = of "float16", st.tensor({-1, 0.5}, {dtype = "float16"})
    assert.equal("complex32", st.complex(re, im).dtype)
    assert.same({1, -1, 2, 0.5}, parts(st.complex(re, im)))
    assert.equal("complex32", st.polar(re, im).dtype)
    local shared = st.from_dlpack(a:to_dlpack())
    assert.equal("complex32", shared.dtype)
    assert.same(parts(a), parts(shared))
  end)
end)

describe("bcomplex32", function()
  local b = numbers("bcomplex32", {1, 2}, {3, 4})

  it("has no arithmetic", function()
    for _, f in ipairs {st.add, st.sub, st.mul, st.div} do
      raises({"not implemented for dtype bcomplex32"}, f, b, b)
    end
    raises({"not implemented for dtype bcomplex32"}, st.addcmul, b, b, b)
    for _, f in ipairs {st.neg, st.abs, st.exp, st.square, st.reciprocal} do
      raises({"not implemented for dtype bcomplex32"}, f, b)
    end
    raises({"mul: ", "bcomplex32"}, st.mul, of "bfloat16", i)
    raises({"pow: ", "bcomplex32"}, st.pow, of "bfloat16", i)
    raises({"add_: ", "bcomplex32"}, b.add_, of "bfloat16", i)
  end)

  it("is in no DLPack", function()
    raises({"DLPack has no dtype bcomplex32"}, b.to_dlpack, b)
  end)
end)
