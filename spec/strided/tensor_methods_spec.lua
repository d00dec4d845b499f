--- Methods of tensors that PyTorch and NumPy have and that are no operators of
-- arithmetic. The values are those of PyTorch 2.15.
-- axes: lua lua5.2

local st = require "strided"
local tensors = require "spec.support.tensors"

local lists, raises = tensors.lists, tensors.raises

local x = st.tensor {{1, 2, 3}, {4, 5, 6}}

describe("A property of a tensor", function()
  it("is its size in bytes, its layout, its version", function()
    assert.equal(8, x.itemsize)
    assert.equal(48, x.nbytes)
    assert.equal(0, st.ones(0, 3).nbytes)
    assert.equal("strided", x.layout)
    local y = x:clone()
    y:add_(1)
    assert.equal(1, y._version)
  end)
end)

describe("A view by a capital letter", function()
  it("is the transpose, and the conjugate one", function()
    assert.same({{1, 4}, {2, 5}, {3, 6}}, lists(x:T()))
    assert.is_true(x:T():is_alias_of(x))
    local c = st.tensor {{st.complex(1, 2), st.complex(3, 4)}}
    assert.is_true(c:H():equal(c:mT():conj()))
  end)
end)

describe("A conversion", function()
  it("by type and cpu converts and copies only where it must", function()
    assert.equal("int64", x:type())
    assert.equal("float32", x:type "float32".dtype)
    assert.is_true(x:cpu():is_set_to(x))
    assert.is_true(x:to_device "cpu":is_set_to(x))
    raises({"cpu: write t:cpu(...) with a colon"}, x.cpu)
  end)

  it("by new_tensor has self's dtype", function()
    local half = st.ones({2}, {dtype = "float16"})
    assert.equal("float16", half:new_tensor({1, 2}).dtype)
    assert.equal("float16", half:new_tensor(x).dtype)
    assert.equal("bool", half:new_tensor({1, 0}, {dtype = "bool"}).dtype)
    assert.is_false(x:new_tensor(x):is_alias_of(x))
    assert.is_true(half:new_tensor({1}, {requires_grad = true}).requires_grad)
  end)
end)

describe("dim_order", function()
  it("lists dimensions by their strides", function()
    local image = st.ones(2, 3, 4, 5)
    assert.same({1, 2, 3, 4}, image:dim_order())
    assert.same({1, 3, 4, 2},
                image:contiguous {memory_format = "channels_last"}:dim_order())
    assert.same({2, 1}, x:mT():dim_order())
  end)
end)

describe("A function of elements", function()
  it("writes what it returns", function()
    local y = x:clone()
    assert.is_true(rawequal(y, y:apply_(function(a) return 10 * a end)))
    assert.same({{10, 20, 30}, {40, 50, 60}}, lists(y))
    y:mT():map_(st.tensor {1, 2}, function(a, b) return a + b end)
    assert.same({{11, 21, 31}, {42, 52, 62}}, lists(y))
    y:map2_(y, x, function(a, b, c) return a - b + c end)
    assert.same(lists(x), lists(y))
    assert.same({}, lists(st.ones(0):apply_(error)))
    assert.same({true, false}, lists(st.tensor {false, true}:apply_(
      function(a) return not a end)))
    assert.same(7, lists(st.tensor(3):apply_(function(a) return a + 4 end)))
  end)

  it("fails without a change", function()
    local y = x:clone()
    raises({"stop"}, y.apply_, y, function(a)
      if a == 4 then error "stop" end
      return 0
    end)
    raises({"apply_: the function returned nothing"}, y.apply_, y,
           function() end)
    raises({"apply_: the function must return an element, got table"}, y.apply_,
           y, function() return {1, 2} end)
    raises({"map_: the function must return an element, got a Tensor"}, y.map_,
           y, y, function() return y end)
    raises({"apply_: argument 1 must be a function, got number"}, y.apply_, y,
           1)
    raises({"map_: argument 1 must be a Tensor, got number"}, y.map_, y, 1,
           math.max)
    raises({"expand"}, y.map_, y, st.ones(4), math.max)
    raises({"apply_: it has no derivative; write t:detach():apply_(...)"},
           y.apply_, st.ones(2):requires_grad_(), math.abs)
    assert.same(lists(x), lists(y))
  end)
end)

describe("fill_diagonal_", function()
  it("fills the diagonal, and that of what is below", function()
    local y = st.zeros(7, 3)
    assert.is_true(rawequal(y, y:fill_diagonal_(5)))
    assert.same({5, 5, 5}, lists(y:diagonal()))
    assert.equal(15, y:sum():item())
    y:fill_diagonal_(5, true)
    assert.equal(30, y:sum():item())
    assert.same({{5, 0, 0}, {0, 5, 0}, {0, 0, 5}}, lists(y["5:7"]))
    assert.same({0, 0, 0}, lists(y[{4}]))
    assert.equal(3, st.zeros(3, 7):mT():fill_diagonal_(1):sum():item())
    assert.equal(4, st.zeros(4, 4, 4):fill_diagonal_(1):sum():item())
    assert.equal(0, st.zeros(5, 0):fill_diagonal_(1, true):numel())
  end)

  it("stays in a view", function()
    local y = st.zeros(7, 5)
    y:narrow(2, 2, 2):fill_diagonal_(1, true)
    assert.same({0, 3, 2, 0, 0}, lists(y:sum(1)))
    assert.same({{1, 0}, {0, 1}, {0, 0}, {1, 0}, {0, 1}, {0, 0}, {1, 0}},
                lists(st.zeros(2, 7):mT():fill_diagonal_(1, true)))
  end)

  it("has a derivative of zero there", function()
    local w = st.ones(2, 2):requires_grad_()
    local y = w * 3
    y:fill_diagonal_(7):sum():backward()
    assert.same({{0, 3}, {3, 0}}, lists(w.grad))
  end)

  it("refuses vectors and boxes of several sizes", function()
    raises({"fill_diagonal_: self must have at least 2 dimensions, has 1"},
           st.fill_diagonal_, st.zeros(3), 1)
    raises({"fill_diagonal_: all dimensions of self must have one size"},
           st.fill_diagonal_, st.zeros(3, 3, 2), 1)
  end)
end)

describe("is_set_to", function()
  it("is true of the same elements in the same order", function()
    assert.is_true(x:is_set_to(x:view(2, 3)))
    assert.is_false(x:is_set_to(x:clone()))
    assert.is_false(x:is_set_to(x:mT()))
    assert.is_false(x:is_set_to(x["1:1"]))
    assert.is_false(x:is_set_to(x["2:2"]))
  end)
end)

describe("conj_physical_", function()
  it("conjugates in place, and leaves a real tensor", function()
    local c = st.tensor {st.complex(1, 2)}
    local y = c:clone()
    assert.is_true(rawequal(y, y:conj_physical_()))
    assert.is_true(y:equal(c:conj()))
    assert.same(lists(x), lists(x:clone():conj_physical_()))
    local out = c:clone()
    st.conj_physical(c, {out = out})
    assert.is_true(out:equal(y))
  end)
end)
