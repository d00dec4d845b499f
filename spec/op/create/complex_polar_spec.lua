--- Complex numbers made of two real tensors: complex and polar.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, i64, lists = tensors.f64, tensors.i64, tensors.lists
local live, raises = tensors.live, tensors.raises

describe("Complex numbers of two tensors", function()
  local before
  setup(function() before = live() end)

  it("have these parts", function()
    local z = st.complex(f64 {{1}, {2}}, f64 {3, 4, 5})
    assert.equal("complex128", tostring(z.dtype))
    assert.same({2, 3}, z:size())
    assert.same({{1, 1, 1}, {2, 2, 2}}, lists(z:real()))
    assert.same({{3, 4, 5}, {3, 4, 5}}, lists(z:imag()))
    assert.equal("complex64", tostring(st.zeros(2):complex(st.ones(2)).dtype))
    assert.equal(2, st.complex(1, 2).im)
  end)

  it("may be written over their parts", function()
    local z = st.complex(f64 {1, 2}, f64 {3, 4})
    st.complex(z:imag(), z:real(), {out = z})
    assert.same({3, 4}, lists(z:real()))
    assert.same({1, 2}, lists(z:imag()))
  end)

  it("have these absolute values and angles", function()
    local abs, angle = f64 {1, 2, 0.5}, f64 {0, 3, -1}
    local z = st.polar(abs, angle)
    assert.is_true(st.allclose(z:abs(), abs))
    assert.is_true(st.allclose(z:angle(), angle))
  end)

  it("are refused of other dtypes and shapes", function()
    raises("real and imag must both be float16, float32 or float64, not " ..
           "float64 and float32",
           function() return st.complex(f64 {1}, st.ones(1)) end)
    raises("abs and angle must both be float16, float32 or float64, not " ..
           "int64 and int64", function() return st.polar(i64 {1}, i64 {1}) end)
    raises("[2]", function() return st.complex(f64 {1, 2}, f64 {1, 2, 3}) end)
    raises("re and im must be numbers", function() return st.complex "x" end)
  end)

  it("leave nothing behind", function() assert.is_true(live() <= before) end)
end)
