--- Fused functions: their gradients, and the memory that they take.
-- axes: isa

local st = require "strided"

local unpack = unpack or table.unpack
local collect = require "spec.support.collect"
local functions = require "spec.support.fused_functions"
local tensors = require "spec.support.tensors"

local ipairs, pcall, tostring = ipairs, pcall, tostring

st.manual_seed(7)
local X, Y = st.randn(6, 8), st.randn(6, 8)
local W, BIAS = st.randn(8, 8), st.randn(8)

local softmax, norm = functions.softmax, functions.normalisation(BIAS)

-- -- Gradients ---------------------------------------------------------------

local function leaf(t) return t:detach():clone():requires_grad_() end

--- The gradients of what a function of tensors gives.
local function gradients(f, inputs, weights)
  local out = f(unpack(inputs))
  local all = {}
  for _, t in ipairs(inputs) do all[#all + 1] = t end
  for _, t in ipairs(weights or {}) do all[#all + 1] = t end
  return st.grad(out:sum(), all)
end

describe("The gradient of a fused function", function()
  local function near(want, got)
    assert.equal(#want, #got)
    for i = 1, #want do
      assert.is_true(want[i]:allclose(got[i], {rtol = 1e-4, atol = 1e-6}))
    end
  end

  for _, row in ipairs {
    {"a chain", function(x, y) return (x * y + 1):tanh() - y * y end},
    {"a softmax", function(x, y) return softmax(x) * y end},
    {"a normalisation", function(x, y) return norm(x) * y end},
    {"broadcasting", function(x, y) return x * y:sum(1) + y["1, :"] end},
    {"a product", function(x, y) return (x:matmul(W) * 2 + y):relu() end},
  } do
    it("is that of the function: " .. row[1], function()
      local f = st.fuse(row[2])
      for _ = 1, 2 do
        local inputs = {leaf(X), leaf(Y)}
        near({gradients(row[2], inputs)}, {gradients(f, inputs)})
      end
    end)
  end

  it("reaches what the function has met", function()
    local w, b = leaf(W), leaf(BIAS)
    local function body(x) return (x:matmul(w) + b):sigmoid() * 2 end
    local f = st.fuse(body)
    f(X)
    near({gradients(body, {leaf(X)}, {w, b})},
         {gradients(f, {leaf(X)}, {w, b})})
    f(X):sum():backward()
    assert.is_not_nil(w.grad)
    assert.is_not_nil(b.grad)
  end)

  it("can be differentiated", function()
    local function body(x) return (x * x + 1):log() * x end
    local f = st.fuse(body)
    local function second(g)
      local x = leaf(X)
      local dx = st.grad(g(x):sum(), x, {create_graph = true})
      return st.grad((dx * dx):sum(), x)
    end
    near({second(body)}, {second(f)})
    local x = st.rand({3, 2}, {dtype = "float64"}):requires_grad_()
    assert.is_true(st.gradcheck(f, x))
    assert.is_true(st.gradgradcheck(f, x))
  end)

  it("is recorded when it is wanted", function()
    local f = st.fuse(function(x, y)
      return x * 2 + 1, y * 3 + 1, (x:gt(0)):to "float32" + 1
    end)
    local x = leaf(X)
    for _ = 1, 2 do
      local a, b, c = f(x, Y)
      assert.is_true(a.requires_grad)
      assert.is_false(b.requires_grad)
      assert.is_false(c.requires_grad)
      assert.is_false((st.no_grad(f, x, Y)).requires_grad)
    end
    assert.is_false((f(X, Y)).requires_grad)
  end)

  it("stops where the function stops it", function()
    local function body(x) return x:detach() * x * 2 end
    local f = st.fuse(body)
    local x = leaf(X)
    near({gradients(body, {x})}, {gradients(f, {x})})
  end)

  it("calls hooks of what the function has met", function()
    local seen = 0
    local w = leaf(BIAS)
    local f = st.fuse(function(x) return x * w + 1 end)
    f(X)
    w:register_hook(function() seen = seen + 1 end)
    local y = f(X)
    collect()
    y:sum():backward()
    assert.equal(1, seen)
  end)

  it("cannot be found when what was read has changed", function()
    local x = leaf(X)
    local z = x * 1
    local y = st.fuse(function(t) return t * t + 1 end)(z)
    z:add_(1)
    tensors.raises({"backward: ", "written in place"},
                   function() y:sum():backward() end)
  end)
end)

-- -- Memory ------------------------------------------------------------------

describe("The memory of a fused function", function()
  it("goes with it, also through its own upvalue", function()
    local function registered()
      collect()
      collect()
      return st.memory().registry.count
    end
    local function round()
      local f
      local w = st.ones(8)
      f = st.fuse(function(x) return f and (x * w + 1):sum() * 2 end)
      local empty = registered()
      f(X)
      f(X:to "float64")
      assert.is_true(registered() > empty)
      return f(X):item()
    end
    round() -- operators have their tables from here on
    local before = registered()
    round()
    assert.equal(before, registered())
  end)

  it("may run out at every allocation", function()
    local function body(x, y) return softmax(x * y + 1), "constant" end
    body(X, Y)
    local x = leaf(X)
    for _, args in ipairs {{X, Y}, {x, Y}} do
      for k = 1, 2000 do
        local f = st.fuse(body)
        st.memory_fail_at(k)
        local ok, why = pcall(f, unpack(args))
        local left = st.memory_fail_at(0)
        if ok and left > 0 then
          assert.is_true(k > 20)
          break
        end
        if not ok then assert.truthy(tostring(why):find "out of memory") end
        local y, constant = f(unpack(args))
        assert.is_true(y:equal((body(unpack(args)))))
        assert.equal("constant", constant)
        assert.truthy(f:explain(unpack(args)):find "mul add\n.-sub exp\n")
      end
    end
  end)

  it("may run out when it is known what to do", function()
    local f = st.fuse(softmax)
    f(X)
    for k = 1, 100 do
      st.memory_fail_at(k)
      local ok, why = pcall(f, X)
      if st.memory_fail_at(0) > 0 then break end
      if not ok then assert.truthy(tostring(why):find "out of memory") end
    end
    assert.is_true(softmax(X):equal(f(X)))
  end)
end)
