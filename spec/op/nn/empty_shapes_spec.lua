--- Shapes without elements in constant_pad_nd and batch_norm, and the counts of
-- repeat_interleave and dtypes of linalg_vecdot. Expected values are PyTorch
-- 2.15's.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local lists, raises = tensors.lists, tensors.raises

describe("constant_pad_nd", function()
  it("may leave a dimension empty", function()
    local x = st.ones(2, 3)
    assert.same({2, 0}, st.constant_pad_nd(x, {-1, -2}):size())
    assert.same({2, 0}, st.constant_pad_nd(x, {-3, 0}):size())
    assert.same({0, 5}, st.constant_pad_nd(x, {1, 1, -1, -1}):size())
    assert.same({{0, 0}, {0, 0}}, lists(st.constant_pad_nd(x, {-3, 2})))
  end)

  it("has a gradient then", function()
    local x = st.ones(2, 3):requires_grad_()
    st.constant_pad_nd(x, {-3, 2}):sum():backward()
    assert.same({{0, 0, 0}, {0, 0, 0}}, lists(x.grad))
  end)

  it("cannot crop more than there is", function()
    raises("constant_pad_nd: dimension 2 of size 3 cannot be padded by -4 and "
           .. "1", st.constant_pad_nd, st.ones(2, 3), {-4, 1})
    raises("constant_pad_nd: dimension 1 of size 2 cannot be padded by -1 and "
           .. "-2", st.constant_pad_nd, st.ones(2, 3), {1, 1, -1, -2})
  end)
end)

describe("batch_norm", function()
  local function norm(x, ...)
    return st.batch_norm(x, nil, nil, nil, nil, true, 0.1, 1e-5, false, ...)
  end

  it("of an empty vector is empty", function()
    assert.same({0}, norm(st.zeros(0)):size())
    local x = st.zeros(0):requires_grad_()
    local y = st.batch_norm(x, nil, nil, st.zeros(0), st.ones(0), false, 0.1,
                            1e-5, false)
    assert.is_true(y.requires_grad)
    y:sum():backward()
    assert.same({0}, x.grad:size())
  end)

  it("of a vector with elements is refused", function()
    raises("batch_norm: input needs 2 dimensions, its shape is [3]", norm,
           st.ones(3))
  end)
end)

describe("repeat_interleave", function()
  it("takes counts of any integer dtype", function()
    for _, dtype in ipairs {"uint8", "int8", "int16", "int32", "int64"} do
      assert.same({1, 2, 2}, lists(st.repeat_interleave(
        st.tensor {1, 2, 3}, st.tensor({1, 2, 0}, {dtype = dtype}))))
    end
  end)

  it("refuses others", function()
    raises("repeats must be a vector of integers with data, not bool of shape "
           .. "[2]", st.repeat_interleave, st.tensor {1, 2},
           st.tensor {true, false})
    raises({"repeat_interleave: ", "not float32 of shape [2]"},
           st.repeat_interleave, st.tensor {1, 2},
           st.tensor {1.5, 2})
  end)
end)

describe("linalg_vecdot", function()
  it("refuses integers and mixed dtypes", function()
    local ints, floats = st.tensor {1, 2}, st.tensor {1.5, 2}
    raises("linalg_vecdot: x must be floating point or complex, not int64",
           st.linalg_vecdot, ints, ints)
    raises("linalg_vecdot: x and y must have the same dtype, not float32 and "
           .. "int64", st.linalg_vecdot, floats, ints)
    assert.equal(6.25, st.linalg_vecdot(floats, floats):item())
  end)
end)
