--- any and all over several dimensions, fractional corrections of std and var.
-- Expected values are PyTorch 2.15's.
-- axes: isa lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, live, near, raises = tensors.f64, tensors.live,
                                tensors.elements_near, tensors.raises

describe("any and all", function()
  local eye = st.eye(3)
  local before = live()

  it("reduce several dimensions", function()
    local t = st.tensor {{{true, false}, {true, true}},
                         {{false, false}, {false, true}}}
    assert.same({true, true}, st.any(t, {1, 2}):totable())
    assert.same({false, false}, st.all(t, {1, 2}):totable())
    assert.same({true, true}, st.any(t, {2, 3}):totable())
    assert.same({1, 2, 1}, st.any(t, {1, -1}, true):size())
    assert.is_true(eye:any({1, 2}):item())
    assert.is_false(eye:all({1, 2}):item())
    assert.same({1, 1}, st.all(eye, {keepdim = true}):size())
    assert.is_true(st.any(st.tensor(3), {1}):item())
  end)

  it("find the one element that decides, wherever it is", function()
    for _, dtype in ipairs {"bool", "int16", "float16", "float64"} do
      local ones, zeros = st.ones({2, 70000}, {dtype = dtype}),
                          st.zeros({2, 70000}, {dtype = dtype})
      assert.same({true, true}, ones:all(2):totable())
      assert.same({false, false}, zeros:any(2):totable())
      assert.is_false(zeros:all():item())
      assert.is_true(ones:any():item())
      for _, at in ipairs {1, 1024, 1025, 5000, 69999, 70000} do
        ones[2][at], zeros[2][at] = 0, 1
        assert.same({true, false}, ones:all(2):totable())
        assert.same({false, true}, zeros:any(2):totable())
        assert.is_false(ones:all():item())
        assert.is_true(zeros:any():item())
        ones[2][at], zeros[2][at] = 1, 0
      end
    end
  end)

  it("reduce nothing over no dimension", function()
    local want = {{true, false, false}, {false, true, false},
                  {false, false, true}}
    assert.same(want, st.any(eye, {dim = {}}):totable())
    assert.same(want, st.all(eye, {dim = {}, keepdim = true}):totable())
  end)

  it("have the dtypes of one dimension", function()
    local bytes = eye:to "uint8"
    assert.equal("uint8", tostring(st.all(bytes, {1, 2}).dtype))
    assert.equal("bool", tostring(st.all(eye, {1, 2}).dtype))
  end)

  it("name a bad dimension", function()
    raises("any: dimension 3 is out of range", st.any, eye, {1, 3})
    raises("any: dimension 1", st.any, eye, {1, 1})
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

describe("std and var with a fractional correction", function()
  it("divide by the count less it", function()
    local x = f64 {1, 2, 4}
    near(st.std(x, {dim = 1, correction = 0.5}):reshape(1),
         {1.3662601021279464}, 1e-15)
    near(st.var(x, {correction = 0.5}):reshape(1), {1.8666666666666665},
         1e-15)
    for _, name in ipairs {"std_mean", "var_mean"} do
      local spread, mean = st[name](x, {dim = 1, correction = 0.5})
      near(mean:reshape(1), {7 / 3}, 1e-15)
      near(spread:reshape(1), {st[name:sub(1, 3)](
        x, {dim = 1, correction = 0.5}):item()}, 0)
    end
    near(st.var(x, {correction = -1.5}):reshape(1), {4.666666666666667 / 4.5},
         1e-15)
    near(st.var(x, {correction = true}):reshape(1), {7 / 3}, 1e-15)
    near(st.var(x, {correction = 2}):reshape(1), {14 / 3}, 1e-15)
  end)

  it("are infinite without freedom", function()
    local x = f64 {1, 2, 4}
    for _, c in ipairs {3, 3.5, 0 / 0} do
      near(st.var(x, {correction = c}):reshape(1), {math.huge}, 0)
    end
  end)

  it("have gradients", function()
    local x = f64 {1, 2, 4}:requires_grad_()
    st.std(x, {dim = 1, correction = 0.5}):backward()
    near(x.grad, {-0.39036002917941331, -0.09759000729485337,
                  0.4879500364742666}, 1e-14)
    x.grad = nil
    st.var(x, {dim = 1, correction = 0.5}):backward()
    near(x.grad, {-1.0666666666666669, -0.26666666666666677,
                  1.3333333333333333}, 1e-14)
  end)

  it("refuse a complex correction", function()
    raises("std: correction must be real, not complex", st.std, f64 {1, 2},
           {correction = st.complex(0, 1)})
  end)
end)
