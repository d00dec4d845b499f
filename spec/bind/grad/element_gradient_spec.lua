--- Elements of a vector whose gradients are recorded are tensors, on which
-- gradients flow back: v[i], v:iter(), and unpack and pairs where Lua has their
-- metamethods. The gradients follow from calculus.
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = table.unpack
local live = tensors.live

local function vector()
  return st.tensor({1.5, 2, 3}, {requires_grad = true})
end

-- The value of x[1] * sum(x) is 9.75; its gradient is sum + x1, x1, x1.
local PRODUCT = {8, 1.5, 1.5}

local WAYS = {
  {"v[i]", function(x) return x[1] * x:sum() end, PRODUCT},
  {"v[-i]", function(x) return x[-3] * x:sum() end, PRODUCT},
  {"v[st.int(i)]", function(x) return x[st.int "1"] * x:sum() end, PRODUCT},
  {"v:iter()", function(x)
    local total = 0
    for v, i in x:iter() do total = total + v * v * i end
    return total
  end, {3, 8, 18}},
  {"a vector with a history", function(x)
    local y = x * 2
    return y[1] * y[3]
  end, {12, 0, 6}},
  {"a row of a matrix", function(x)
    local m = x:view(1, 3)
    return m[1][2] * m[1][3]
  end, {0, 3, 2}},
  {"v[i] within st.fuse", st.fuse(function(x) return x[1] * x:sum() end),
   PRODUCT},
}
if unpack and pcall(unpack, vector()) then
  WAYS[#WAYS + 1] = {"unpack", function(x)
    local a, b, c = unpack(x)
    return a * b * c
  end, {6, 4.5, 3}}
end
if pcall(pairs, vector()) then
  WAYS[#WAYS + 1] = {"pairs", function(x)
    local total = 0
    for i, v in pairs(x) do total = total + v * i end
    return total
  end, {1, 2, 3}}
end

describe("An element of a vector that requires a gradient", function()
  local before
  setup(function() before = live() end)
  teardown(function()
    WAYS = nil
    collectgarbage()
    assert.equal(before, live())
  end)

  for _, row in ipairs(WAYS) do
    it("has a gradient: " .. row[1], function()
      local x = vector()
      row[2](x):backward()
      assert.same(row[3], x.grad:totable())
    end)
  end

  it("has a second gradient", function()
    local x = vector()
    local g = st.grad(x[1] ^ 3 * x[2], x, {create_graph = true})
    assert.same({13.5, 3.375, 0}, g:totable())
    -- 3 x1^2 x2 by x1 and by x2
    assert.same({18, 6.75, 0}, st.grad(g[1], x):totable())
  end)

  it("is a view without dimensions, and no other place is one", function()
    local x = vector()
    local e = x[2]
    assert.same({}, {unpack and unpack(e.shape) or nil})
    assert.equal(0, e.ndim)
    assert.equal(2, e:item())
    assert.is_true(e.requires_grad)
    assert.is_true(e:is_alias_of(x))
    assert.equal("number", type(x:detach()[2]))
    assert.equal("number", type(st.tensor {1, 2}[2]))
    assert.equal("number", type(x:gt(1):long()[2]))
    assert.equal(true, x:gt(1)[2])
  end)

  it("is a number where nothing is recorded", function()
    local x = vector()
    assert.equal(1.5, st.no_grad(function() return x[1] end))
    assert.equal(1.5, st.inference_mode(function() return x[1] end))
    st.no_grad(function()
      for v in x:iter() do assert.equal("number", type(v)) end
    end)
    local seen
    x:register_hook(function(g) seen = g[1] end)
    x:sum():backward()
    assert.equal(1, seen)
    assert.equal(1, x.grad[1])
  end)

  it("is a number in a kernel below Autograd", function()
    local lib = st.library "element"
    local seen
    lib:def "twice(Tensor x) -> Tensor"
    lib:impl("twice", "CPU", function(x)
      seen = x[1]
      return x * 2
    end)
    lib:derivative("twice", {"x: grad * 2"})
    st.ops.element.twice(vector()):sum():backward()
    lib:close()
    assert.equal(1.5, seen)
  end)

  it("is out of range as a number is", function()
    local x = vector()
    for _, i in ipairs {4, -4, 0} do
      local ok, why = pcall(function() return x[i] end)
      assert.is_false(ok)
      assert.truthy(why:find("index", 1, true), why)
      assert.truthy(why:find("out of range", 1, true), why)
    end
  end)
end)
