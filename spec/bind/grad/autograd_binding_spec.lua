--- Gradients as Lua sees them: properties, backward and grad, hooks, nodes.
-- axes: lua

local gradients = require "spec.support.gradients"
local st = require "strided"

local failure, leaf, live, raises = gradients.failure, gradients.leaf,
  gradients.live, gradients.raises

describe("Gradients in Lua:", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  -- -- Properties ------------------------------------------------------------

  describe("a tensor", function()
    it("says whether it requires one, and whether it is a leaf", function()
      local x = st.ones(2)
      assert.is_false(x.requires_grad)
      assert.is_true(x.is_leaf)
      assert.equal(x, x:requires_grad_())
      assert.is_true(x.requires_grad)
      local y = x * 2
      assert.is_true(y.requires_grad)
      assert.is_false(y.is_leaf)
      assert.is_nil(x.grad_fn)
      assert.equal("MulBackward0", y.grad_fn.name)
      x.requires_grad = false
      assert.is_false(x.requires_grad)
      raises("requires_grad must be true or false, got string",
             function() x.requires_grad = "yes" end)
    end)

    it("can be made that way", function()
      local options = {requires_grad = true}
      assert.is_true(st.tensor({1.5, 2}, options).requires_grad)
      assert.is_true(st.zeros(2, 3, options).requires_grad)
      assert.is_true(st.ones({2, 3}, options).requires_grad)
      local x = st.ones_like(st.zeros(2), {requires_grad = true,
                                           dtype = "float64"})
      assert.is_true(x.requires_grad and x.is_leaf)
      assert.equal("float64", tostring(x.dtype))
      assert.is_false(st.zeros(2, {requires_grad = false}).requires_grad)
      raises("add: has no argument 'requires_grad'", st.add, x, x, options)
      raises("zeros: has no argument 'requires_grad'", st.zeros, 2,
             {requires_grad = 1})
      raises("int64", st.zeros, 2, {requires_grad = true, dtype = "int64"})
    end)

    it("of integers cannot require one", function()
      raises("requires_grad: only", function()
        st.tensor({1, 2}, {dtype = "int64"}):requires_grad_()
      end)
    end)

    it("counts how often it was written", function()
      local x = st.zeros(3)
      local y = x:detach()
      assert.equal(0, x.version)
      x:add_(1)
      x[1] = 7
      y[{{}}] = 2
      assert.equal(3, x.version)
      assert.equal(3, y.version)
      x.data:add_(1)
      assert.equal(3, x.version)
      assert.same({3, 3, 3}, x:totable())
      raises("version: an inference tensor has no version", function()
        return st.inference_mode(st.zeros, 2).version
      end)
    end)

    it("knows what it is a view of, as the very object", function()
      local x = st.zeros(2, 3)
      local v = x[1]
      assert.is_nil(x.base)
      assert.equal(x, v.base)
      assert.equal(x, v[{{1, 2}}].base)
    end)

    it("has a gradient that can be set and taken away", function()
      local x = leaf(1, 2)
      assert.is_nil(x.grad)
      x.grad = st.tensor({3, 4}, {dtype = "float64"})
      assert.same({3, 4}, x.grad:totable())
      x.grad = nil
      assert.is_nil(x.grad)
      raises("argument 'grad' must be a Tensor, got number",
             function() x.grad = 1 end)
      raises("a gradient of shape [3]",
             function() x.grad = st.zeros(3, {dtype = "float64"}) end)
      raises("a tensor cannot be its own gradient",
             function() x.grad = x end)
      raises("a view of a tensor cannot be its gradient",
             function() x.grad = x:view(x.shape) end)
      raises("no property 'shade' that can be set",
             function() x.shade = 1 end)
    end)

    it("that is no leaf keeps its gradient when asked to", function()
      local x = leaf(1, 2)
      local y = x * 3
      assert.is_false(y.retains_grad)
      assert.equal(y, y:retain_grad())
      assert.is_true(y.retains_grad)
      y:sum():backward()
      assert.same({1, 1}, y.grad:totable())
      assert.same({3, 3}, x.grad:totable())
    end)

    it("loses its history in place", function()
      local y = leaf(1, 2) * 3
      assert.equal(y, y:detach_())
      assert.is_nil(y.grad_fn)
      assert.is_false(y.requires_grad)
    end)
  end)

  -- -- Elements --------------------------------------------------------------

  describe("an assignment to an element", function()
    it("is recorded", function()
      local x, y = leaf(1, 2, 3), leaf(5)
      local z = x * 2
      z[2] = 7
      z[3] = y[{1}]
      z[{{1}}] = y * y
      z:sum():backward()
      assert.same({0, 0, 0}, x.grad:totable())
      assert.same({11}, y.grad:totable())
    end)

    it("of what records is a call", function()
      local z, seen = leaf(1, 2) * 2, {}
      st.dispatch_mode(function(op, keys, ...)
        seen[#seen + 1] = op:name()
        return op:redispatch(keys, ...)
      end, function() z[1] = 3 end)
      assert.same({"aten::select.int", "aten::fill_.Scalar"}, seen)
    end)

    it("counts as a change of what was saved", function()
      local x = leaf(1, 2)
      local w = st.tensor({3, 4}, {dtype = "float64"})
      local y = (x * w):sum()
      w[1] = 9
      raises("backward: MulBackward0: 'other' (float64 [2]), saved for " ..
             "the gradient, was written in place since", y.backward, y)
    end)

    it("is refused for a leaf, unless nobody records", function()
      local x = leaf(1, 2)
      raises("fill_: a view of a leaf that requires a gradient",
             function() x[1] = 3 end)
      assert.same({1, 2}, x:totable())
      st.no_grad(function() x[1] = 3 end)
      assert.same({3, 2}, x:totable())
    end)

    it("of what records makes a plain tensor part of the graph", function()
      local out, x = st.zeros(2, 2, {dtype = "float64"}), leaf(3, 4)
      out[2] = x * x
      assert.is_true(out.requires_grad)
      out:sum():backward()
      assert.same({6, 8}, x.grad:totable())
    end)
  end)

  -- -- Passes ----------------------------------------------------------------

  describe("backward", function()
    it("adds to the gradients of the leaves", function()
      local x = leaf(1, 2, 3)
      local y = (x * x):sum()
      y:backward {retain_graph = true}
      assert.same({2, 4, 6}, x.grad:totable())
      y:backward()
      assert.same({4, 8, 12}, x.grad:totable())
      raises({"backward: MulBackward0: ", "saved tensors were freed",
              "retain_graph"}, y.backward, y)
    end)

    it("takes the gradient of what is no scalar", function()
      local x = leaf(1, 2)
      local y, g = x * 3, st.tensor({10, 100}, {dtype = "float64"})
      raises("backward: output 1 has shape [2]", y.backward, y)
      y:backward(g)
      assert.same({30, 300}, x.grad:totable())
      x.grad = nil
      y = x * 3
      y:backward {gradient = g}
      assert.same({30, 300}, x.grad:totable())
      x.grad = nil
      y = x * 3
      y:backward(g, {retain_graph = true})
      y:backward(g)
      assert.same({60, 600}, x.grad:totable())
      raises("backward: argument 'gradient' must be a Tensor, got number",
             y.backward, y, 1)
    end)

    it("goes from several outputs to the inputs that are wanted", function()
      local x, w = leaf(1, 2), leaf(3, 4)
      local a, b = x * w, x + w
      st.backward({a, b}, {grad_outputs = {a:detach() * 0 + 1,
                                           b:detach() * 0 + 10},
                           inputs = x})
      assert.same({13, 14}, x.grad:totable())
      assert.is_nil(w.grad)
    end)

    it("needs a graph and options that there are", function()
      local x = st.ones(1)
      raises("backward: output 1 does not require a gradient", st.backward, x)
      raises("backward: there is no option 'retain'",
             st.backward, leaf(1):sum(), {retain = true})
      raises("backward: outputs must be a Tensor or a list of Tensors, got " ..
             "string", st.backward, "x")
      raises("backward: grad_outputs has 2 tensors, but there are 1 outputs",
             st.backward, leaf(1):sum(), {grad_outputs = {x, x}})
    end)

    it("has the memory of garbage", function()
      collectgarbage()
      local x = st.ones(1000, {requires_grad = true})
      collectgarbage "stop"
      for _ = 1, 100 do st.empty(1000):fill_(0) end
      local y = (x * x):sum()
      local limit = st.memory.set_limit(st.memory.stats().live + 1000)
      local ok, e = pcall(y.backward, y)
      st.memory.set_limit(limit)
      collectgarbage "restart"
      assert.is_true(ok, e)
      assert.equal(2, x.grad[1])
    end)

    it("names the caller's line", function()
      local y = leaf(1):exp()
      y:backward()
      local line = debug.getinfo(1, "l").currentline + 1
      local e = failure(function() y:backward() end)
      assert.truthy(e:find("autograd_binding_spec.lua:" .. line, 1, true), e)
    end)
  end)

  describe("grad", function()
    it("gives the gradient of each input and leaves theirs alone", function()
      local x, w = leaf(2), leaf(5)
      local y = (x * x * w):sum()
      local gx, gw = st.grad(y, {x, w})
      assert.same({20}, gx:totable())
      assert.same({4}, gw:totable())
      assert.is_nil(x.grad)
      assert.is_false(gx.requires_grad)
    end)

    it("of a tensor in between", function()
      local x = leaf(2)
      local y = x * x
      assert.same({3}, st.grad((y * 3):sum(), y):totable())
    end)

    it("can be taken again", function()
      local x = leaf(2)
      local g = st.grad((x * x * x):sum(), x, {create_graph = true})
      assert.same({12}, g:totable())
      local gg = st.grad(g:sum(), x, {create_graph = true})
      assert.same({12}, gg:totable())
      assert.same({6}, st.grad(gg:sum(), x):totable())
    end)

    it("is nil for what was not used, if that may be", function()
      local x, w = leaf(2), leaf(3)
      raises({"grad: the outputs do not depend on input 2", "allow_unused"},
             st.grad, (x * x):sum(), {x, w})
      local gx, gw = st.grad((x * x):sum(), {x, w}, {allow_unused = true})
      assert.same({4}, gx:totable())
      assert.is_nil(gw)
    end)

    it("takes a gradient for some of the outputs", function()
      local x = leaf(2)
      local g = st.grad({(x * x):sum(), x * 3}, x,
                        {grad_outputs = {false, x:detach()}})
      assert.same({10}, g:totable())
    end)

    it("needs inputs", function()
      raises("grad: inputs is empty", st.grad, leaf(1):sum(), {})
      raises("grad: inputs must be a Tensor or a list of Tensors, got nil",
             st.grad, leaf(1):sum())
    end)
  end)

  -- -- Hooks -----------------------------------------------------------------

  describe("a hook", function()
    it("sees the gradient of a tensor, and may change it", function()
      local x, seen = leaf(1, 2), {}
      local y = x * 2
      y:register_hook(function(g) seen[#seen + 1] = g:totable() end)
      y:register_hook(function(g) return g * 10 end)
      x:register_hook(function(g) seen[#seen + 1] = g:totable() end)
      y:sum():backward()
      assert.same({{1, 1}, {20, 20}}, seen)
      assert.same({20, 20}, x.grad:totable())
    end)

    it("runs no more once it was removed, once", function()
      local x, n = leaf(1), 0
      local hook = x:register_hook(function() n = n + 1 end)
      x:sum():backward()
      assert.is_true(hook:remove())
      x:sum():backward()
      assert.equal(1, n)
      assert.is_false(hook:remove())
    end)

    it("may remove itself and others while it runs", function()
      local x, n, second = leaf(1), 0, nil
      local first
      first = x:register_hook(function()
        n = n + 1
        first:remove()
        second:remove()
      end)
      second = x:register_hook(function() n = n + 100 end)
      for _ = 1, 3 do x:sum():backward() end
      assert.equal(1, n)
    end)

    it("runs after a gradient was added to, with the leaf", function()
      local x, seen = leaf(1), {}
      x:register_post_accumulate_grad_hook(function(t)
        seen[#seen + 1] = {t, t.grad:item()}
      end)
      x:sum():backward()
      x:sum():backward()
      assert.same({{x, 1}, {x, 2}}, seen)
    end)

    it("is called for a gradient of a gradient, with its history", function()
      local x = leaf(3)
      local histories = {}
      x:register_hook(function(g)
        histories[#histories + 1] = g.requires_grad
      end)
      local g = st.grad((x * x * x):sum(), x, {create_graph = true})
      g:sum():backward()
      assert.same({true, false}, histories)
    end)

    it("that fails fails the pass with its own error", function()
      local x, e = leaf(1), {}
      x:register_hook(function() error(e) end)
      assert.equal(e, failure(st.backward, x:sum()))
      x = leaf(1)
      x:register_hook(function() return 3 end)
      raises("must return a Tensor or nothing, got number",
             st.backward, x:sum())
      raises("register_hook: argument 'fn' must be a function, got nil",
             x.register_hook, x)
    end)

    it("may run a pass of its own", function()
      local x, w = leaf(2), leaf(3)
      x:register_hook(function(g)
        st.enable_grad(function() (w * w):sum():backward() end)
        return g * w.grad
      end)
      x:sum():backward()
      assert.same({6}, x.grad:totable())
    end)

    it("may free what it is called for", function()
      local x = leaf(1, 2)
      local y = x * 2
      y:register_hook(function(g)
        g:free()
        x:free()
      end)
      y:sum():backward()
      raises("grad: argument 'self' must be a Tensor, got freed Tensor",
             function() return x.grad end)
    end)
  end)

  -- -- Nodes -----------------------------------------------------------------

  describe("a node", function()
    it("knows the nodes of its inputs, and a leaf's its leaf", function()
      local x = leaf(1)
      local y = x * 2
      local node = (y + 1).grad_fn
      assert.equal("AddBackward0", node.name)
      assert.equal("<AddBackward0>", tostring(node))
      assert.is_true(node.sequence > y.grad_fn.sequence)
      assert.equal(y.grad_fn, node.next[1][1])
      assert.equal(1, node.next[1][2])
      assert.equal(x, node.next[1][1].next[1][1].leaf)
      assert.is_nil(node.leaf)
      assert.is_nil(node.nothing)
      assert.equal("", node.where)
      assert.is_false((x * st.ones(1)).grad_fn.next[2])
    end)

    it("has hooks before and after it", function()
      local x, seen = leaf(2), {}
      local y = x * 3
      y.grad_fn:register_prehook(function(outputs)
        seen[#seen + 1] = outputs[1]:item()
        return {outputs[1] * 10}
      end)
      local hook = y.grad_fn:register_hook(function(inputs, outputs)
        seen[#seen + 1] = inputs[1]:item()
        seen[#seen + 1] = outputs[1]:item()
        return {inputs[1] + 1}
      end)
      y:sum():backward {retain_graph = true}
      assert.same({1, 30, 10}, seen)
      assert.same({31}, x.grad:totable())
      hook:remove()
      x.grad = nil
      y:sum():backward()
      assert.same({30}, x.grad:totable())
    end)

    it("refuses what a hook must not return", function()
      local y = leaf(2) * 3
      y.grad_fn:register_hook(function() return {1} end)
      raises("element 1 is number", st.backward, y:sum())
    end)
  end)

  it("operators say what their derivatives are", function()
    assert.truthy(st.ops.aten.exp:derivative():find("grad", 1, true))
    assert.is_nil(st.ops.aten.empty:derivative())
  end)

  it("modes that change the recording end with their body", function()
    assert.is_false(st.set_grad_enabled(false, st.is_grad_enabled))
    assert.is_true(st.no_grad(st.set_grad_enabled, true, st.is_grad_enabled))
    assert.is_true(st.is_grad_enabled())
  end)
end)
