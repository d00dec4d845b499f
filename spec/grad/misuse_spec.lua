--- What scripts should not do while gradients are computed, and what happens
-- then: an error at worst.
-- axes: lua ffi

local gradients = require "spec.support.gradients"
local st = require "strided"
local collect = require "spec.support.collect"
local core = require "strided.core"

local Function = core.autograd_function
local unpack = unpack or table.unpack

local failure, leaf, live, raises = gradients.failure, gradients.leaf,
  gradients.live, gradients.raises

--- Calls f when what it returns is collected.
local function on_collection(f)
  if not newproxy then return setmetatable({}, {__gc = f}) end
  local proxy = newproxy(true)
  getmetatable(proxy).__gc = f
  return proxy
end

--- An operator of one's own, and its library.
local function scale(name)
  local lib = st.library(name)
  lib:def "scale(Tensor self, float factor=2.0) -> Tensor"
  lib:impl("scale", "CPU", function(x, factor)
    return st.below_autograd(st.mul, x, factor)
  end)
  return lib, st.ops[name].scale
end

--- body() while a kernel for `name` stands in the place of ours.
local function instead_of(name, key, kernel, body)
  local lib = st.library("aten", "IMPL")
  lib:impl(name, key, kernel)
  local ok, why = pcall(body)
  lib:close()
  if not ok then error(why, 0) end
end

describe("Abuse of gradients:", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  -- -- Hooks -----------------------------------------------------------------

  describe("a hook before a node", function()
    --- The hook of the accumulator of x.
    local function hooked(x, fn)
      local y = (x * 1):sum()
      local n = y.grad_fn.next[1][1].next[1][1]
      assert.equal("AccumulateGrad", n.name)
      n:register_prehook(fn)
      return y
    end

    it("may take the gradient away, which ends there", function()
      local x = leaf(1, 2)
      hooked(x, function() return {} end):backward()
      assert.is_nil(x.grad)
    end)

    it("ends it for a node that was written through a view, too", function()
      local x = leaf(1, 2, 3)
      local y = x * 2
      y:narrow(1, 1, 2):mul_(3)
      y.grad_fn:register_prehook(function() return {false} end)
      y:sum():backward()
      assert.is_nil(x.grad)
    end)

    for what, other in pairs {
      ["shape"] = {{7, 5}, {dtype = "float64"}},
      ["dtype"] = {{2}, {dtype = "float32"}},
      ["device"] = {{2}, {dtype = "float64", device = "meta"}},
    } do
      it("gives no gradient of another " .. what, function()
        local x = leaf(1, 2)
        local function make() return st.ones(unpack(other)) end
        raises("backward: a hook must not change the dtype", st.backward,
              hooked(x, function() return {make()} end))
        assert.is_nil(x.grad)
        raises("backward: a hook must not change the dtype", function()
          local y = x * 1
          y:register_hook(make)
          y:sum():backward()
        end)
      end)
    end

    it("makes none up that does not fit the result", function()
      local x = leaf(1, 2, 3, 4)
      local function pass(other)
        local parts = x:split(2)
        parts[1].grad_fn:register_prehook(function(g)
          return {g[1], other}
        end)
        parts[1]:sum():backward()
      end
      raises("backward: a hook returned a gradient", pass,
             st.ones(3, {dtype = "float64"}))
      pass(st.ones(2, {dtype = "float64"}) * 5)
      assert.same({1, 1, 5, 5}, x.grad:totable())
    end)
  end)

  it("a tensor that is freed while it gets a hook is an error at worst",
     function()
    local freed, others = 0, {}
    local pause = collectgarbage("setpause", 1)
    local speed = collectgarbage("setstepmul", 5000)
    for i = 1, 200 do
      local x, is_free, calls = leaf(1), false, 0
      on_collection(function() x:free(); is_free = true end)
      repeat
        calls = calls + 1
        local ok, why = pcall(x.register_hook, x, function() return i end)
        if not ok and not why:find "freed Tensor" then others[why] = true end
      until is_free or calls == 2000
      if is_free then freed = freed + 1 end
    end
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", speed)
    assert.same({}, others)
    assert.is_true(freed > 0)
  end)

  -- -- Depth -----------------------------------------------------------------

  it("gradients of gradients go without recursion", function()
    local one, two = st.ones(1), leaf(1) * 1
    for _ = 1, 100000 do
      local next_one = st.ones(1)
      next_one.grad = one
      one = next_one
    end
    for _ = 1, 20000 do
      local next_two = leaf(1) * 1
      next_two:retain_grad()
      next_two.grad = two
      two = next_two
    end
    one, two = nil, nil -- luacheck: no unused
    collect()
  end)

  -- -- Formulas --------------------------------------------------------------

  describe("a formula", function()
    local lib
    before_each(function() lib = scale "specabuse" end)
    after_each(function() lib:close() end)

    for what, row in pairs {
      ["that never ends"] = {
        "in the derivative", "self: grad" .. ("+grad"):rep(1e5)},
      ["that is too deep"] = {
        "in the derivative", "self: " .. ("("):rep(1e5)},
      ["that calls what only our own may"] = {
        "there is no such operator", "self: inverted([9, 9, 9])"},
      ["with a helper of ours that takes no tensor"] = {
        "there is no such operator", "self: spread(1, 2, 3, 4)"},
      ["that writes what it is given"] = {
        "writes its arguments", "self: mul_(grad, 0)"},
    } do
      it(what .. " is refused", function()
        raises(row[1], lib.derivative, lib, "scale", {row[2]})
      end)
    end

    it("may ask for what there is to see of anything", function()
      for _, name in ipairs {"shape", "numel", "ndim", "dtype", "is_complex",
                             "has", "conj"} do
        for _, of in ipairs {"self", "grad", "factor", "none", "[1, 2]",
                             "'text'", "grads", "result"} do
          lib:derivative("scale", {("self: %s(%s) == none ? grad : grad")
                                   :format(name, of)})
          local y = st.ops.specabuse.scale(leaf(1, 2)):sum()
          pcall(y.backward, y)
        end
      end
    end)
  end)

  it("an operator that its derivative defines anew gets what it had",
     function()
    local lib, f = scale "specabuse"
    local anew
    lib:derivative("scale", function(_, g)
      local names, out = {}, {}
      for i = 1, 40 do names[i], out[i] = "Tensor a" .. i, g * 1 end
      anew = st.library("specabuse", "FRAGMENT")
      anew:def("scale(" .. table.concat(names, ", ") .. ") -> Tensor")
      return unpack(out, 1, 40)
    end)
    raises("returned 40 gradients", st.backward, f(leaf(1, 2)):sum())
    anew:close()
    lib:close()
  end)

  -- -- Tensors ---------------------------------------------------------------

  it("a result whose shape changed where nobody recorded has no gradient",
     function()
    local x = leaf(1, 2)
    for _, names in ipairs {{"unsqueeze_", "unsqueeze_", "unsqueeze_"}} do
      local y = st.cat({x, x}, -1)
      st.no_grad(function()
        for _, name in ipairs(names) do y[name](y, 1) end
      end)
      raises({"backward: ", "the gradient has 4 dimensions"},
             st.backward, (y * 2):sum())
    end
  end)

  it("a gradient may go while it is asked for", function()
    for _ = 1, 500 do
      local x = st.ones(2)
      x.grad = st.ones(2)
      on_collection(function() x.grad = nil end)
      collectgarbage "step"
      local g = x.grad
      assert.same({2, 2}, g and (g + 1):totable() or {2, 2})
    end
    collect()
  end)

  -- -- Kernels in the place of ours ------------------------------------------

  it("a view operator that loses the gradient is noticed", function()
    local x = leaf(1, 2, 3, 4)
    local y = x * 2
    local v = y:narrow(1, 1, 2)
    y:mul_(3)
    instead_of("as_strided", "Autograd", function()
      return st.ones(2, {dtype = "float64"})
    end, function()
      assert.truthy(failure(function() return v.grad_fn end)
                    :find "did not record a gradient")
      raises({"backward: ", "did not record a gradient"}, st.backward, {v},
            {grad_outputs = {v.data}})
    end)
    v:sum():backward()
    assert.same({6, 6, 0, 0}, x.grad:totable())
  end)

  it("the operators of gradients, called with other shapes, say so",
     function()
    local m, v = st.ones(3, 3), st.ones(3)
    raises("_householder_backward: self must have matrices and tau vectors, "
           .. "not shapes [3] and [1]", function()
      st._householder_backward(v, v, st.ones(1))
    end)
    raises("not shapes [3, 3] and []", function()
      st._householder_backward(m, m, st.tensor(1))
    end)
    raises("_scatter_reduce_backward: src and index must have as many "
           .. "dimensions as each other, not shapes [2] and [2, 2]", function()
      st._scatter_reduce_backward(m, m, 1, st.ones(2, 2):long(), st.ones(2),
                                  "sum", true, m)
    end)
  end)

  it("an argument of a function may be freed before it is recorded",
     function()
    local x
    local twice = Function {
      forward = function(_, a) return a, a end,
      backward = function(_, g, h) return g + h end,
    }
    instead_of("alias", "CPU", function(t)
      x:free()
      collect()
      return t:clone()
    end, function()
      for _ = 1, 10 do
        x = leaf(1, 2)
        local y = twice(x)
        assert.same({1, 2}, y:totable())
        assert.is_false(y.requires_grad)
      end
    end)
  end)
end)
