--- What scripts may do to operators that are expressions, and what must not
-- come of it: names that are redefined, libraries that are closed, bodies
-- that are not as pointwise as they look.
-- axes: isa lua

local st = require "strided"
local collect = require "spec.support.collect"
local raises = require("spec.support.tensors").raises

local unpack = unpack or table.unpack -- luacheck: compat

local lib = st.library "spec_fuse_abuse"
local ops = st.ops.spec_fuse_abuse

teardown(function() lib:close() end)

--- "Tensor a1, ..., Tensor an"
local function tensors(n)
  local list = {}
  for i = 1, n do list[i] = "Tensor a" .. i end
  return table.concat(list, ", ")
end

local function leaf(n) return st.ones(n or 3):requires_grad_() end

local function leaves(n)
  local list = {}
  for i = 1, n do list[i] = leaf() end
  return list
end

local redefined = "was redefined"

describe("A fused operator that is redefined", function()
  it("refuses calls with another schema", function()
    lib:elementwise("more(Tensor x, float k=2.0) -> Tensor", "x * k")
    lib:def("more(" .. tensors(20) .. ") -> Tensor")
    raises(redefined, ops.more, unpack(leaves(20)))
    lib:elementwise("maybe(Tensor x, float k) -> Tensor", "x * k")
    lib:def("maybe(Tensor x, float? k) -> Tensor")
    raises(redefined, ops.maybe, st.ones(2), nil)
  end)

  it("refuses calls with another schema as a reduction, too", function()
    lib:reduction("folds(Tensor x) -> Tensor", {combine = "a + b"})
    lib:def("folds(" .. tensors(20) .. ") -> Tensor")
    raises(redefined, ops.folds, unpack(leaves(20)))
  end)

  it("has no derivative for another schema", function()
    for _, schema in ipairs {"old(" .. tensors(20) .. ") -> Tensor",
                             "old(Tensor a, Tensor b) -> Tensor"} do
      lib:elementwise("old(Tensor x) -> Tensor", "x * 2")
      lib:def(schema)
      lib:impl("old", "CPU", function(a) return a * 2 end)
      local list = leaves(20)
      local y = schema:find "a20" and ops.old(unpack(list))
                or ops.old(list[1], list[2])
      raises(redefined, st.grad, y:sum(), list[1])
    end
    lib:elementwise("listed(Tensor x) -> Tensor", "x * 2")
    lib:def("listed(Tensor[] x) -> Tensor")
    lib:impl("listed", "CPU", function(a) return a[1] * 2 end)
    local v = leaf()
    raises(redefined, st.grad, ops.listed {v, v}:sum(), v)
  end)

  it("has no derivative for fewer results", function()
    lib:elementwise("four(Tensor x) -> (Tensor a, Tensor b, Tensor c, " ..
                    "Tensor d)", "x, x * 2, x * 3, x * 4")
    lib:def("four(Tensor x) -> Tensor")
    lib:impl("four", "CPU", function(a) return a * 2 end)
    local v = leaf()
    raises(redefined, st.grad, ops.four(v):sum(), v)
  end)

  it("keeps the gradients that were recorded before", function()
    lib:elementwise("swapped(Tensor x, float k=2.0) -> Tensor", "x * k")
    local v = leaf()
    local y = ops.swapped(v)
    lib:elementwise("swapped(float k, Tensor x) -> Tensor", "x * k")
    assert.same({2, 2, 2}, st.grad(y:sum(), v):totable())
  end)
end)

describe("A gradient", function()
  it("outlives the library", function()
    local other = st.library "spec_fuse_abuse2"
    other:elementwise("f(Tensor x, float k=2.0) -> Tensor", "x * k")
    other:reduction("r(Tensor x, *, float k=3.0) -> Tensor",
                    {map = "x * k", combine = "a + b", init = 0})
    local v = leaf()
    local y, z = st.ops.spec_fuse_abuse2.f(v), st.ops.spec_fuse_abuse2.r(v)
    other:close()
    other = nil -- luacheck: ignore
    collect()
    assert.same({2, 2, 2}, st.grad(y:sum(), v):totable())
    assert.same({3, 3, 3}, st.grad(z, v):totable())
  end)
end)

describe("A fused program", function()
  it("is for one default dtype", function()
    lib:elementwise("half(Tensor x) -> Tensor", "x * 0.5")
    lib:reduction("halves(Tensor x) -> Tensor",
                  {map = "x * 0.5", combine = "a + b"})
    local x = st.arange(3)
    assert.equal(st.float32, ops.half(x).dtype)
    assert.equal(st.float32, ops.halves(x).dtype)
    st.set_default_dtype "float64"
    local a, b = ops.half(x).dtype, ops.halves(x).dtype
    st.set_default_dtype "float32"
    assert.equal(st.float64, a)
    assert.equal(st.float64, b)
  end)
end)

describe("Tracing refuses", function()
  local refused = {
    flatten = function(x) return x:flatten() * 2 end,
    reshape = function(x) return x:reshape(3, 2) + 1 end,
    ["reshape "] = function(x) return x:reshape {6}:reshape {2, 3} + 1 end,
    squeeze = function(x) return x:squeeze() + 1 end,
    atleast_2d = function(x) return st.atleast_2d(x) + 1 end,
    unsqueeze = function(x) return x:unsqueeze(1) + x end,
    narrow = function(x) return x:narrow(1, 1, 2) + 1 end,
    broadcast_to = function(x) return x:broadcast_to {2, 3} end,
    new_zeros = function(x) return x:new_zeros {2, 3} end,
    resize_ = function(x) return (x * 1):resize_(3, 2) end,
    normal_ = function(x) return (x * 1):normal_() end,
    uniform_ = function(x) return (x * 1):uniform_() end,
  }
  for name, body in pairs(refused) do
    it("what changes shapes or draws numbers: " .. name, function()
      raises("spec_fuse_abuse::f: '" .. name:gsub(" ", "") .. "'",
             lib.elementwise, lib, "f(Tensor x) -> Tensor", body)
    end)
  end

  it("a part whose kernel is a function", function()
    lib:def("scaled(Tensor x) -> Tensor",
            function(x) return x * x:size(1) end)
    raises({"'scaled'", "Lua function, which cannot be fused"},
           lib.elementwise, lib, "f(Tensor x) -> Tensor",
           function(x) return ops.scaled(x) + 0 end)
  end)
end)

describe("The gradient of an operator in an operator", function()
  it("is that of the function that Lua gave it", function()
    lib:elementwise("inner(Tensor x) -> Tensor", "x * 1")
    lib:derivative("inner", function(ctx, grad)
      return grad * ctx.args[1]:size(1)
    end)
    lib:elementwise("outer(Tensor x) -> Tensor",
                    function(x) return ops.inner(x) * 2 end)
    local v = leaf(5)
    assert.same({10, 10, 10, 10, 10},
                st.grad(ops.outer(v):sum(), v):totable())
  end)
end)
