--- Gradients of one's own: functions, derivatives of operators, and where what
-- fails was computed.
-- axes: lua

local gradients = require "spec.support.gradients"
local st = require "strided"
local core = require "strided.core"
local nests_too_deep = require("spec.support.tensors").nests_too_deep

local Function = core.autograd_function

local failure, leaf, live, raises = gradients.failure, gradients.leaf,
  gradients.live, gradients.raises

describe("Gradients of one's own:", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  -- -- Functions -------------------------------------------------------------

  describe("a function of one's own", function()
    local square = Function {
      name = "Square",
      forward = function(ctx, x)
        ctx:save(x)
        return x * x
      end,
      backward = function(ctx, g)
        local x = ctx:saved()
        return g * x * 2
      end,
    }

    it("has the gradient that it says", function()
      local x = leaf(3)
      local y = square(x)
      assert.equal("Square", y.grad_fn.name)
      y:sum():backward()
      assert.same({6}, x.grad:totable())
    end)

    it("records nothing in forward, and nothing when nobody asks", function()
      local seen
      local f = Function {
        forward = function(ctx, x, n)
          seen = {st.is_grad_enabled(), ctx.needs_grad[1], ctx.needs_grad[2]}
          return x * n
        end,
        backward = function(_, g) return g end,
      }
      assert.is_false(f(st.ones(1), 2).requires_grad)
      assert.same({false, false, false}, seen)
      assert.is_true(f(leaf(1), 2).requires_grad)
      assert.same({false, true, false}, seen)
      assert.is_false(st.no_grad(f, leaf(1), 2).requires_grad)
      assert.same({false, false, false}, seen)
    end)

    it("can be differentiated again", function()
      local x = leaf(3)
      local g = st.grad(square(x):sum(), x, {create_graph = true})
      assert.same({6}, g:totable())
      assert.same({2}, st.grad(g:sum(), x):totable())
    end)

    it("takes and gives what is no tensor, and keeps fields", function()
      local f = Function {
        forward = function(ctx, x, n, how)
          ctx.n = n
          return x * n, how, x + n
        end,
        backward = function(ctx, g1, how, g2)
          assert.is_nil(how)
          assert.equal(0, select("#", ctx:saved()))
          return g1 * ctx.n + g2
        end,
      }
      local x = leaf(5)
      local y, how, z = f(x, 3, "so")
      assert.equal("so", how)
      assert.same({8}, z:totable())
      st.backward((y + z):sum())
      assert.same({4}, x.grad:totable())
    end)

    it("gets zeros for a result that was not used", function()
      local f = Function {
        forward = function(_, x) return x * 2, x:sum() end,
        backward = function(_, g1, g2)
          assert.same({0, 0}, g1:totable())
          assert.equal("float64", tostring(g1.dtype))
          return g1 + g2
        end,
      }
      local x = leaf(1, 2)
      local _, b = f(x)
      b:backward()
      assert.same({1, 1}, x.grad:totable())
    end)

    it("saves results, and notices when what it saved changes", function()
      local exp = Function {
        forward = function(ctx, x)
          local y = x:exp()
          ctx:save(y, nil, x)
          return y
        end,
        backward = function(ctx, g)
          local y, none, x = ctx:saved()
          assert.is_nil(none)
          assert.is_true(x.is_leaf)
          return g * y
        end,
      }
      local x = leaf(0, 1)
      local y = exp(x)
      y:sum():backward()
      assert.is_true(x.grad:allclose(x:detach():exp()))
      y = exp(x)
      y:add_(1)
      raises("backward: Function: 'saved tensor 1' (float64 [2]), saved " ..
             "for the gradient, was written in place since",
             st.backward, y:sum())
    end)

    it("writes in place what it marks dirty", function()
      local double = Function {
        forward = function(ctx, x)
          x:mul_(2)
          ctx:mark_dirty(x)
          return x
        end,
        backward = function(_, g) return g * 2 end,
      }
      local x = leaf(1, 2)
      local y = x * 3
      assert.equal(y, double(y))
      assert.same({6, 12}, y:totable())
      y:sum():backward()
      assert.same({6, 6}, x.grad:totable())
      raises("leaf", double, leaf(1))
    end)

    it("may mark results that have no gradient", function()
      local f = Function {
        forward = function(ctx, x)
          local sign = x:sign()
          ctx:mark_non_differentiable(sign)
          return x:abs(), sign
        end,
        backward = function(_, g) return g end,
      }
      local y, sign = f(leaf(-1))
      assert.is_true(y.requires_grad)
      assert.is_false(sign.requires_grad)
    end)

    it("may return its argument, which is another tensor then", function()
      local id = Function {
        forward = function(_, x) return x end,
        backward = function(_, g) return g * 7 end,
      }
      local x = leaf(1)
      local y = id(x)
      assert.is_true(x.is_leaf)
      assert.are_not.equal(x, y)
      y:sum():backward()
      assert.same({7}, x.grad:totable())
    end)

    it("says what backward returned too much, or too little", function()
      local function with(backward)
        local f = Function {
          name = "Odd", forward = function(_, a, b) return a + b end,
          backward = backward,
        }
        local y = f(leaf(1), leaf(2))
        return failure(st.backward, y:sum())
      end
      assert.truthy(with(function(_, g) return g, g, g end):find(
        "Odd: backward returned 3 gradients, but forward has 2 arguments", 1,
        true))
      assert.truthy(with(function(_, g) return g end):find(
        "Odd: backward returned 1 gradient, but argument 2 requires one", 1,
        true))
      assert.truthy(with(function(_, g) return g, 3 end):find(
        "Odd: backward must return a Tensor or nil for argument 2",
        1, true))
      local e = with(function() error "so it is" end)
      assert.truthy(e:find "autograd_function_spec.lua:%d+: so it is", e)
    end)

    it("may not call itself without end, nor may a hook", function()
      local f
      f = Function {
        forward = function(_, x) return f(x) end,
        backward = function(_, g) return g end,
      }
      nests_too_deep("Function: too deep: functions call each other", f,
                     leaf(1))
      local x = leaf(1)
      local function go() st.enable_grad(function() (x * 2):backward() end) end
      x:register_hook(go)
      nests_too_deep("too deep: functions call each other", go)
    end)

    it("is made of two functions", function()
      raises("Function: 'backward' must be a function, got nil", Function,
             {forward = print})
      raises("Function: expected a table", Function)
      raises("Function: 'name' must be a string, got table", Function,
             {forward = print, backward = print, name = {}})
    end)

    it("has a context that is for its functions", function()
      local ctx
      local f = Function {
        forward = function(c, x)
          ctx = c
          return x * 1
        end,
        backward = function(_, g) return g end,
      }
      f(leaf(1))
      raises("save: only the forward function of its context", ctx.save, ctx)
      raises("saved: saved tensors are available", ctx.saved, ctx)
    end)
  end)

  -- -- Operators of one's own ------------------------------------------------

  describe("an operator of one's own", function()
    local lib
    before_each(function()
      lib = st.library "specgrad"
      lib:def "scale(Tensor self, float factor=2.0) -> Tensor"
      lib:impl("scale", "CPU", function(x, factor)
        return st.below_autograd(st.mul, x, factor)
      end)
    end)
    after_each(function() lib:close() end)

    it("has a derivative of formulas", function()
      assert.equal(lib, lib:derivative("scale", {"self: grad * factor"}))
      local x = leaf(1, 2)
      st.ops.specgrad.scale(x, 3):sum():backward()
      assert.same({3, 3}, x.grad:totable())
    end)

    it("or of a function", function()
      lib:derivative("scale", function(ctx, grad)
        assert.same({1, 2}, ctx.args[1]:totable())
        assert.equal(3, ctx.args[2])
        assert.same({3, 6}, ctx.results[1]:totable())
        assert.equal(st.ops.specgrad.scale.default, ctx.op)
        return grad * ctx.args[2]
      end)
      local x = leaf(1, 2)
      local y = st.ops.specgrad.scale(x, 3)
      assert.truthy(y.grad_fn.name:find "Backward")
      y:sum():backward()
      assert.same({3, 3}, x.grad:totable())
    end)

    it("which is collected with its library", function()
      lib:derivative("scale", function(_, grad) return grad end)
      local y = st.ops.specgrad.scale(leaf(1), 3):sum()
      lib:close()
      lib = nil
      require "spec.support.collect" ()
      raises("was collected with its library", y.backward, y)
      lib = st.library "specgrad"
    end)

    it("refuses what is no derivative", function()
      raises("derivative: the derivative of 'scale' must be a function or a " ..
             "list of formulas, got nil", lib.derivative, lib, "scale")
      raises("in the derivative 'self: grad *'", lib.derivative, lib, "scale",
             {"self: grad *"})
      lib:derivative("scale", function(_, g) return g, g end)
      raises("must return nil for argument 2", st.backward,
             st.ops.specgrad.scale(leaf(1), 3):sum())
    end)
  end)

  -- -- Anomalies -------------------------------------------------------------

  describe("detect_anomaly", function()
    it("has errors name the line of the forward call", function()
      local line
      core.detect_anomaly(function()
        local x = leaf(0)
        line = debug.getinfo(1, "l").currentline + 1
        local y = x:sqrt()
        assert.truthy(y.grad_fn.where:find(":" .. line, 1, true))
        raises("autograd_function_spec.lua:" .. line, st.backward,
               (y * 0):sum())
      end)
      assert.equal("", (leaf(1) * 2).grad_fn.where)
    end)
  end)
end)
