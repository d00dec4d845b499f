--- Shapes: lists of sizes that compare with each other.
-- axes: lua lua5.2

local st = require "strided"
local raises = require("spec.support.tensors").raises

local has_integers = rawget(math, "type") ~= nil -- Lua 5.3 and later

describe("A shape", function()
  local x, y = st.zeros(2, 3), st.ones(2, 3)

  it("equals another of the same sizes", function()
    assert.is_true(x.shape == y.shape)
    assert.is_true(x.shape == y:size())
    assert.is_true(x:stride() == y:stride())
    assert.is_false(x.shape ~= y.shape)
    assert.is_false(x.shape == x:t().shape)
    assert.is_false(x.shape == x:view(2, 3, 1).shape)
    assert.is_false(x:stride() == x:t():stride())
    assert.is_true(st.tensor(1).shape == st.tensor(2).shape)
  end)

  it("has a number of elements, if that has 64 bits", function()
    assert.equal(6, x.shape:numel())
    assert.equal(1, st.Size({}):numel())
    assert.equal(0, st.Size({0, 2}):numel())
    raises("numel: the shape is too large", function()
      return st.Size({2^62, 4}):numel()
    end)
  end)

  it("equals what st.Size makes of a list or of numbers", function()
    assert.is_true(x.shape == st.Size {2, 3})
    assert.is_true(x.shape == st.Size(2, 3))
    assert.is_false(x.shape == st.Size {3, 2})
    assert.is_true(x.shape == st.Size(x.shape))
    assert.is_true(st.Size() == st.tensor(1).shape)
    raises({"Size: size 2 must be an integer, got number with a fraction"},
           st.Size, {2, 1.5})
    raises({"Size: ", "other keys"}, st.Size, {2, x = 3})
  end)

  it("equals a plain list where Lua compares two tables by one", function()
    assert.equal(has_integers, x.shape == {2, 3})
    assert.is_false(x.shape == {3, 2})
  end)

  it("is a list: has a length, elements and a text", function()
    assert.equal(2, #x.shape)
    assert.equal(3, x.shape[2])
    assert.same({2, 3}, {(table.unpack or unpack)(x.shape)})
    local seen = {}
    for i, n in ipairs(x.shape) do seen[i] = n end
    assert.same({2, 3}, seen)
    assert.equal("{2, 3}", tostring(x.shape))
    assert.equal("{}", tostring(st.tensor(1).shape))
    assert.equal("2x3", table.concat(x.shape, "x"))
    assert.is_true(st.zeros(x.shape).shape == x.shape)
  end)

  it("shares a metatable that scripts cannot reach", function()
    assert.equal("shape", getmetatable(x.shape))
    raises("protected metatable", setmetatable, x.shape, {})
  end)

  it("is what a kernel in Lua gets for a list of integers", function()
    local lib, same = st.library "shapes", nil
    lib:def "f(Tensor t, int[] size) -> int[]"
    lib:impl("f", "CPU", function(t, size)
      same = t.shape == size
      return size
    end)
    local size = st.ops.shapes.f(x, {2, 3})
    lib:close()
    assert.is_true(same)
    assert.is_true(size == x.shape)
  end)
end)
