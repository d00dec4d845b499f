--- The backward pass: where it begins and goes, what it adds up, and what
-- becomes of the graph (A9, A10).
-- axes: none

local gradients = require "spec.support.gradients"
local st = require "strided"

local live = gradients.live

local failure, leaf, list, matrix = gradients.failure, gradients.leaf,
  gradients.list, gradients.matrix

local at_start
setup(function() at_start = gradients.live() end)
teardown(function() assert.is_true(gradients.live() <= at_start) end)

-- -- The backward pass -------------------------------------------------------

describe("The backward pass", function()
  -- what is refused, how, the words
  local refused = {
    {"from more than one element without a gradient (A9)", function()
      (leaf(1, 2) * 2):backward()
    end, "one element"},
    {"from what has no gradient (A9)", function() st.ones(1):backward() end,
     "does not require a gradient"},
    {"with a gradient of another shape (A9)", function()
      (leaf(1, 2) * 2):backward(st.ones(3, {dtype = "float64"}))
    end, "shape"},
    {"to an input that was not used (A10)", function()
      st.grad(leaf(1):sum(), leaf(2))
    end, "allow_unused"},
    {"to what wants no gradient (A10)", function()
      st.grad(leaf(1):sum(), st.ones(1))
    end, "gradient"},
  }
  for _, row in ipairs(refused) do
    it(row[1] .. " is refused", function()
      assert.matches(row[3], failure(row[2]))
    end)
  end

  it("sums what was broadcast (A10)", function()
    local x, y, z = matrix(), leaf(1, 2, 3), leaf(5):sum():detach()
    z:requires_grad_()
    local a, b, c = st.grad((x * y * z):sum(), {x, y, z})
    assert.same({5, 10, 15, 5, 10, 15}, list(a))
    assert.same({15, 25, 35}, list(b))
    assert.same({x:mul(y):sum():item()}, list(c))
  end)

  it("adds to gradients that are there (A10)", function()
    local x = leaf(1, 2)
    for i = 1, 3 do
      (x * 2):sum():backward()
      assert.same({2 * i, 2 * i}, list(x.grad))
    end
    x.grad = nil
    assert.is_nil(x.grad)
    local y, z = (x * 2):sum(), (x * 2):sum()
    y:backward()
    local kept = x.grad
    z:backward()
    assert.same({4, 4}, list(kept)) -- in place
  end)

  it("gives gradients of results when it is told to", function()
    local x = leaf(1, 2)
    local h = x * 3
    h:square():sum():backward {retain_graph = true}
    assert.is_nil(h.grad)
    h:retain_grad()
    assert.is_true(h.retains_grad)
    h:square():sum():backward()
    assert.same({6, 12}, list(h.grad))
    local y = x * 2
    assert.same({4, 8}, list(st.grad(y:square():sum(), y)))
  end)

  it("goes where it is asked to alone", function()
    local x, y = leaf(1, 2), leaf(3, 4)
    local z = (x * y):sum()
    assert.same({3, 4}, list(st.grad(z, x, {retain_graph = true})))
    assert.is_nil(x.grad)
    z:backward {inputs = {y}}
    assert.is_nil(x.grad)
    assert.same({1, 2}, list(y.grad))
  end)

  it("begins at several results", function()
    local x = leaf(1, 2)
    local a, b = x * 2, x:square()
    local got = st.grad({a, b}, x, {
      grad_outputs = {st.ones_like(a), st.tensor({10, 1}, {dtype = "float64"})},
    })
    assert.same({22, 6}, list(got))
    st.backward({(x * 2):sum(), x:square():sum()})
    assert.same({4, 6}, list(x.grad))
  end)

  it("gives nothing for what was not used, if that is allowed", function()
    local x, y = leaf(1), leaf(2)
    local a, b = st.grad(x:sum(), {y, x}, {allow_unused = true})
    assert.is_nil(a)
    assert.same({1}, list(b))
  end)

  it("can be differentiated (A10)", function()
    local x = leaf(1, 2)
    local first = st.grad(x:pow(4):sum(), x, {create_graph = true})
    local second = st.grad(first:sum(), x, {create_graph = true})
    local third = st.grad(second:sum(), x)
    assert.same({4, 32}, list(first))
    assert.same({12, 48}, list(second))
    assert.same({24, 48}, list(third))
    assert.is_false(third.requires_grad)
  end)

  it("leaves the graph usable when it fails", function()
    local x = leaf(1, 2)
    local h = x * 1
    local y = h:square():sum()
    local fails = true
    local handle = h:register_hook(function()
      if fails then error "no" end
    end)
    assert.matches("no", failure(st.grad, y, x, {retain_graph = true}))
    fails = false
    assert.same({2, 4}, list(st.grad(y, x)))
    handle:remove()
  end)

  it("takes newer nodes first (A10)", function()
    local x, order = leaf(1), {}
    local function seen(t, name)
      t.grad_fn:register_hook(function() order[#order + 1] = name end)
      return t
    end
    local a = seen(x * 1, "a")
    local b = seen(x * 2, "b")
    local c = seen(a * 3, "c")
    local d = seen(b * 4, "d")
    seen((c + d):sum(), "e"):backward()
    assert.same({"e", "d", "c", "b", "a"}, order)
  end)

  describe("with hooks of leaves", function()
    --- Two passes through layers; what was called in the second.
    local function calls(weights, last)
      local seen = {}
      for i, w in ipairs(weights) do
        w:register_post_accumulate_grad_hook(function()
          seen[#seen + 1] = "w" .. i
        end)
      end
      for _ = 1, 2 do
        seen = {}
        local x = leaf(1)
        for i = 1, 3 do
          x = x * weights[i] -- a graph that is not collected yet leads to it
          x:register_hook(function() seen[#seen + 1] = "x" .. i end)
        end
        if last then x = last(x) end
        x:sum():backward()
      end
      return seen
    end

    it("calls them before it goes on to older nodes", function()
      assert.same({"x3", "w3", "x2", "w2", "x1", "w1"},
                  calls {leaf(2), leaf(3), leaf(4)})
    end)

    it("calls one once, after the oldest use of its leaf", function()
      local w, n = leaf(3), 0
      w:register_post_accumulate_grad_hook(function() n = n + 1 end)
      assert.same({"x3", "x2", "w2", "x1", "w1", "w3"},
                  calls {w, leaf(2), w})
      assert.equal(2, n)
      assert.same({2 * 2 * 3 * 2}, list(w.grad))
    end)

    it("calls one although part of the gradient never comes", function()
      local w, all = leaf(2), {}
      local half = st.autograd.Function {
        forward = function(_, a, b) return a + b end,
        backward = function(_, g) return g, nil end,
      }
      assert.same({"x3", "w3", "x2", "w2", "x1", "w1"},
                  calls({leaf(2), leaf(3), leaf(4)}, function(x)
                    return half(x, w * 5)
                  end))
      w:register_post_accumulate_grad_hook(function(t)
        all[#all + 1] = t.grad:item()
      end)
      half(w * 7, (w * 5):exp()):sum():backward()
      assert.same({7}, all)
      half((w * 5):exp(), w * 7):sum():backward {inputs = {w}}
      assert.equal(2, #all)
    end)

    it("calls those of a leaf that is the output", function()
      local w, n = leaf(2), 0
      w:register_post_accumulate_grad_hook(function() n = n + 1 end)
      st.backward {w, (w * 3):sum(), w}
      assert.equal(1, n)
      assert.same({5}, list(w.grad))
    end)
  end)

  it("converts gradients to the dtype of what they are of", function()
    local x = st.ones(2):requires_grad_()
    local y = leaf(1, 2)
    local z = st.tensor({1, 2}, {dtype = "complex128"}):requires_grad_()
    local a, b, c = st.grad((x * y * z):real():sum(), {x, y, z})
    assert.equal("float32", tostring(a.dtype))
    assert.equal("float64", tostring(b.dtype))
    assert.equal("complex128", tostring(c.dtype))
    assert.same({1, 4}, list(a))
  end)

  it("gives PyTorch's gradient of complex tensors", function()
    local z = st.tensor({st.complex(3, 4)}):requires_grad_()
    z:abs():sum():backward() -- the direction of steepest ascent
    local g = st.view_as_real(z.grad):totable()[1]
    assert.near(0.6, g[1], 1e-6)
    assert.near(0.8, g[2], 1e-6)
  end)
end)

-- -- Long and wide graphs ----------------------------------------------------

describe("A graph", function()
  it("of many nodes runs and goes without a deep stack", function()
    local n = 20000
    local x = leaf(1)
    local y = x
    for _ = 1, n do y = y + 1 end
    y:sum():backward()
    assert.same({1}, list(x.grad))
    y = nil -- luacheck: ignore
    require "spec.support.collect" ()
    assert.is_true(st.memory().graph.count < n)
  end)

  it("keeps no memory that is through", function()
    local x = st.ones(1000, {dtype = "float64"}):requires_grad_()
    local function step()
      x:sin():exp():mul(x):sum():backward()
      x.grad = nil
    end
    step()
    local before = live()
    for _ = 1, 5 do step() end
    assert.equal(before, live())
  end)
end)
