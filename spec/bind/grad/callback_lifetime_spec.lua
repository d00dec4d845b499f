--- Lua functions that gradients call: they live as long as something can call
-- them, and no longer, whatever refers to whatever.
-- axes: lua ffi lua5.2

local st = require "strided"
local core = require "strided.core"
local collect = require "spec.support.collect"
local gradients = require "spec.support.gradients"

local Function = core.autograd_function
local leaf, raises = gradients.leaf, gradients.raises

local function counts()
  collect()
  local memory = st.memory()
  return {memory.tensors.count, memory.graph.count, memory.graph.bytes}
end

--- A function that doubles, by a closure that refers to `what`.
local function double(what)
  return Function {
    name = "Double",
    forward = function(ctx, x)
      ctx.what = what
      return x * 2
    end,
    backward = function(ctx, g) return g * 2, ctx.what and nil end,
  }
end

--- What Lua can no longer reach it forgets: body() makes circles and returns
-- a value in one of them; nothing of it is left.
local function vanishes(body)
  local before = counts()
  local weak = setmetatable({}, {__mode = "v"})
  ;(function() weak[1] = body() end)()
  local after = counts()
  assert.is_nil(weak[1])
  assert.same(before, after)
end

-- -- What can go goes --------------------------------------------------------

describe("What no script can reach goes:", function()
  it("a hook that refers to its own tensor", function()
    vanishes(function()
      local x = leaf(1, 2)
      local f = function(g) return g * x:detach() end
      x:register_hook(f)
      x:sum():backward()
      return f
    end)
  end)

  it("a hook that refers to what was computed from its tensor", function()
    vanishes(function()
      local x = leaf(1, 2)
      local y = x * 2
      local z
      local f = function() return z and nil end
      y:register_hook(f)
      z = (y * y):sum()
      z:backward {retain_graph = true}
      return f
    end)
  end)

  it("a hook of a leaf that refers to everything", function()
    vanishes(function()
      local all = {leaf(1), leaf(2)}
      local f = function() return #all > 99 and all[1] or nil end
      all[1]:register_hook(f)
      all[2]:register_post_accumulate_grad_hook(f)
      for i = 3, 20 do all[i] = all[i - 1] * all[i - 2] end
      all[20]:backward {create_graph = false}
      return f
    end)
  end)

  it("a hook of a node, and one that came late", function()
    vanishes(function()
      local x = leaf(1)
      local y = x * 2
      local z = (y * 3):exp()
      local f = function() return z.version < 0 and z or nil end
      y.grad_fn:register_hook(f)
      y.grad_fn:register_prehook(f)
      y:register_hook(f)
      z:backward()
      return f
    end)
  end)

  it("a context that holds the result of its call", function()
    vanishes(function()
      local held = {}
      local f = Function {
        forward = function(ctx, x)
          held[1] = ctx
          ctx:save(x)
          return x * 2
        end,
        backward = function(ctx, g)
          assert(ctx.y)
          return g * 2
        end,
      }
      local x = leaf(1)
      local y = f(x)
      held[1].y = y
      y:backward {retain_graph = true}
      return table.remove(held)
    end)
  end)

  it("a function whose backward refers to a table of its results", function()
    vanishes(function()
      local all = {}
      local f = double(all)
      all[1] = f(leaf(1))
      for i = 2, 10 do all[i] = f(all[i - 1]) + all[i - 1] end
      all[10]:backward()
      return all
    end)
  end)

  it("a checkpoint whose function refers to a table of its results",
     function()
    vanishes(function()
      local all = {}
      local f = function(t) return #all > 99 and all[1] or t:exp() end
      all[1] = st.checkpoint(f, leaf(1, 2))
      all[2] = st.checkpoint(f, all[1])
      all[2]:sum():backward()
      return f
    end)
  end)

  it("a hook that refers to a gradient with a history", function()
    vanishes(function()
      local x, g = leaf(3)
      local f = function() return g and nil end
      x:register_hook(f)
      g = st.grad((x * x * x):sum(), x, {create_graph = true})
      return f
    end)
  end)

  it("a hook that refers to what its tensor was written into", function()
    vanishes(function()
      local x, out = leaf(1), st.zeros(3, {dtype = "float64"})
      local y = x * 2
      local f = function() return out.version < 0 and out or nil end
      y:register_hook(f)
      out[2] = y[1]
      out[{{1}}] = y
      out[{{3}}]:copy_(y)
      out:sum():backward()
      return f
    end)
  end)

  it("the function of a hook that was removed, at once", function()
    local x = leaf(1)
    local weak = setmetatable({}, {__mode = "v"})
    local hook
    ;(function()
      local f = function() return nil, x end
      weak[1] = f
      hook = x:register_hook(f)
    end)()
    collect()
    assert.truthy(weak[1])
    hook:remove()
    collect()
    assert.is_nil(weak[1])
  end)

  it("a derivative that refers to its library", function()
    vanishes(function()
      local lib = st.library "speccircle"
      local f = function(_, grad) return grad, lib and nil end
      lib:def("same(Tensor self) -> Tensor", function(x) return x * 1 end)
      lib:derivative("same", f)
      st.ops.speccircle.same(leaf(1)):backward()
      return f
    end)
  end)

  it("hundreds of circles, one after the other", function()
    local before = counts()
    for _ = 1, 300 do
      local x = leaf(1, 2)
      local f = double(x)
      local y = f(x)
      y:register_hook(function() return y and nil end)
      y:sum():backward()
    end
    assert.same(before, counts())
  end)
end)

-- -- What can be called stays ------------------------------------------------

describe("A function stays while gradients can call it:", function()
  local n, hook, before
  setup(function() before = counts() end)
  teardown(function()
    hook = nil
    assert.same(before, counts())
  end)
  before_each(function()
    n = 0
    hook = function(g)
      n = n + 1
      return g * 10
    end
  end)

  --- A copy of the hook that nobody else has.
  local function fresh() return function(g) return hook(g) end end

  --- What was computed from a tensor with a hook is all that is left.
  local function survives(compute)
    local x = leaf(1, 2)
    local y = (function()
      local t = x * 1
      t:register_hook(fresh())
      return compute(t)
    end)()
    collect()
    st.backward(y:sum())
    assert.equal(1, n)
    assert.is_true(x.grad:sum():item() >= 10)
  end

  local ROWS = {
    ["a result"] = function(t) return t * 2 end,
    ["a result of results"] = function(t) return ((t * 2) + t):exp() end,
    ["a view"] = function(t) return t:view(2, 1) end,
    ["a part"] = function(t) return t[{{2}}] end,
    ["a row"] = function(t) return t:view(2, 1)[2] end,
    ["one of a list"] = function(t) return t:view(2, 1):unbind(1)[2] end,
    ["what was made of a list"] = function(t)
      return st.cat {st.zeros(1, {dtype = "float64"}), t}
    end,
    ["one of several results"] = function(t) return (t:view(1, 2):max(2)) end,
    ["the same tensor"] = function(t) return t:contiguous() end,
    ["what it was written into"] = function(t)
      local out = st.zeros(2, {dtype = "float64"})
      out:add_(t)
      return out
    end,
    ["what it was assigned to"] = function(t)
      local out = st.zeros(3, 2, {dtype = "float64"})
      out[2] = t
      return out
    end,
    ["what it was put into"] = function(t)
      local out = st.zeros(3, 2, {dtype = "float64"})
      out[{st.tensor({3}, {dtype = "int64"})}] = t
      return out
    end,
    ["what a view of which it was written into"] = function(t)
      local out = st.zeros(3, 2, {dtype = "float64"})
      out[3]:copy_(t)
      return out
    end,
    ["another view of what it was written into"] = function(t)
      local out = st.zeros(3, 2, {dtype = "float64"})
      local rows = out[{{2, 3}}]
      out[3]:copy_(t)
      return rows * 1
    end,
    ["the base, by way of a view"] = function(t)
      local v = t[{{1}}]
      t = nil -- luacheck: ignore
      return v.base
    end,
    ["the result of a function of one's own"] = function(t)
      return double()(t)
    end,
    ["the result of a checkpoint"] = function(t)
      return st.checkpoint(function(u) return u * 2 end, t)
    end,
    ["what a scope gives back"] = function(t)
      return st.scope(function() return (t * 2) + 1 end)
    end,
    ["what a coroutine computed"] = function(t)
      return coroutine.wrap(function() return t * 2 end)()
    end,
  }
  for name, compute in pairs(ROWS) do
    it(name, function() survives(compute) end)
  end

  it("what a hook that came late can be called by", function()
    local x = leaf(1, 2)
    local y = (function()
      local t = x * 1
      local z = (t * 2):exp() + 1
      t:register_hook(fresh())
      return z
    end)()
    collect()
    y:sum():backward()
    assert.equal(1, n)
  end)

  it("what was computed from a leaf that got its hook late", function()
    local y = (function()
      local x = leaf(1, 2)
      local z = x * 2
      x:register_hook(fresh())
      x:register_post_accumulate_grad_hook(function() n = n + 100 end)
      return z
    end)()
    collect()
    y:sum():backward()
    assert.equal(101, n)
  end)

  it("nodes", function()
    local x = leaf(1, 2)
    local node, y = (function()
      local t = x * 1
      local z = t * 2
      t.grad_fn:register_hook(function() n = n + 1 end)
      t:register_hook(fresh())
      return z.grad_fn, z
    end)()
    collect()
    y:sum():backward()
    assert.equal(2, n)
    assert.equal("MulBackward0", node.next[1][1].name)
  end)

  it("a node that was there before it", function()
    local node = (function()
      local t = leaf(1, 2)
      local fn = (t * 2).grad_fn
      t:register_hook(fresh())
      return fn
    end)()
    collect()
    node.next[1][1].leaf:sum():backward()
    assert.equal(1, n)
  end)

  it("another object for the same leaf", function()
    local x = leaf(1, 2)
    x.grad = x:detach() * 2
    local g = (function()
      local one, other = x.grad, x.grad
      one:requires_grad_()
      assert.is_true((other * 1).requires_grad)
      one:register_hook(fresh())
      return other
    end)()
    collect()
    g:sum():backward()
    assert.equal(1, n)
  end)

  it("a base that got a history from what came from its view", function()
    local out = (function()
      local base = st.zeros(2, 2, {dtype = "float64"}) + leaf(1, 2)
      local v = base[1]
      v:register_hook(fresh())
      v:add_(v * 2)
      return base
    end)()
    collect()
    out:sum():backward()
    assert.is_true(n > 0)
  end)

  it("a tensor whose gradient was written", function()
    local x = leaf(1, 2)
    x.grad = x:detach() * 2
    ;(function()
      local t = leaf(1, 2) * 1
      t:register_hook(fresh())
      x.grad:add_(t)
    end)()
    collect()
    x.grad:sum():backward()
    assert.equal(1, n)
    x.grad = nil
  end)

  it("gradients with a history, of inputs and of leaves", function()
    local x = leaf(3)
    local g = (function()
      local t = x * x
      t:register_hook(fresh())
      return st.grad((t * x):sum(), x, {create_graph = true})
    end)()
    collect()
    assert.equal(1, n)
    g:sum():backward()
    assert.is_true(n > 1)
    x = leaf(3)
    n = 0
    ;(function()
      local t = x * x
      t:register_hook(fresh())
      st.backward((t * x):sum(), {create_graph = true})
    end)()
    collect()
    assert.equal(1, n)
    st.grad(x.grad:sum(), x)
    assert.is_true(n > 1)
    x.grad = nil
  end)

  it("what a Lua kernel computed from a tensor of its own", function()
    local lib = st.library "speckept"
    local w
    lib:def("weigh(Tensor self) -> Tensor", function(t) return t * w end)
    local y = (function()
      w = leaf(2) * 1
      w:register_hook(fresh())
      local z = st.ops.speckept.weigh(st.ones(1, {dtype = "float64"}))
      w = nil
      return z
    end)()
    lib:close()
    collect()
    y:sum():backward()
    assert.equal(1, n)
  end)

  it("what a mode saw in the middle of a call", function()
    local x, seen = leaf(1, 2), nil
    ;(function()
      local t = x * 1
      t:register_hook(fresh())
      st.dispatch_mode(function(op, keys, ...)
        if op:name():find "sum" then seen = (...) end
        return op:redispatch(keys, ...)
      end, function() return (t * 2):sum() end)
    end)()
    collect()
    seen:sum():backward()
    assert.equal(1, n)
  end)

  it("what a kernel saw of an operator that is made of others", function()
    local lib = st.library("aten", "IMPL")
    local x, seen = leaf(1, 2), nil
    lib:impl("sub.Tensor", "CPU", function(a, b)
      seen = a
      return st.below_autograd(st.add, a, b)
    end)
    ;(function()
      local t = x * 1
      t:register_hook(fresh())
      st.diff(t * 2)
    end)()
    lib:close()
    collect()
    seen:sum():backward()
    assert.equal(1, n)
  end)

  it("the derivative of a library that is open", function()
    local lib = st.library "speckept"
    lib:def "same(Tensor self) -> Tensor"
    lib:impl("same", "CPU", function(t)
      return st.below_autograd(st.mul, t, 1)
    end)
    lib:derivative("same", fresh())
    collect()
    assert.equal(lib, lib:derivative("same", (function()
      local factor = 100
      return function(_, g) return g * factor end
    end)()))
    collect()
    local x = leaf(1)
    st.ops.speckept.same(x):backward()
    assert.same({100}, x.grad:totable())
    lib:close()
  end)

  it("what a hook saw", function()
    local x, seen = leaf(3), nil
    ;(function()
      local t = x * x
      t:register_hook(fresh())
      t:register_hook(function(g) seen = g end)
      st.grad((t * t):sum(), x, {create_graph = true})
    end)()
    collect()
    local m = n
    st.backward(seen:sum())
    assert.is_true(n > m)
    x.grad = nil
  end)
end)

-- -- Functions that were collected -------------------------------------------

describe("A function that was collected", function()
  it("is an error, and the graph stays usable", function()
    local x = leaf(1, 2)
    local y = (function()
      local t = x * 1
      t:register_hook(function(g) return g * 10 end)
      local z = t * 2
      if debug.setuservalue then debug.setuservalue(z, {}, 1)
      else debug.setfenv(z, {}) end
      return z
    end)()
    collect()
    raises({"the hook from ", "was collected"}, st.backward, y:sum())
  end)
end)
