--- What is made of gradients: products with Jacobians, Jacobians, Hessians,
-- finite differences, checkpoints, anomalies.
-- axes: lua

local gradients = require "spec.support.gradients"
local st = require "strided"

local unpack = unpack or table.unpack

local failure, leaf, list, matrix, raises = gradients.failure,
  gradients.leaf, gradients.list, gradients.matrix, gradients.raises

local at_start
setup(function() at_start = gradients.live() end)
teardown(function() assert.is_true(gradients.live() <= at_start) end)

-- -- Functions of functions --------------------------------------------------

describe("st.autograd", function()
  local function close(want, got)
    assert.is_true(st.allclose(got, st.tensor(want, {dtype = "float64"})),
                   tostring(got))
  end

  local function cubes(x) return x:pow(3) end
  local function mixed(x, y) return (x:square() * y):sum() end

  it("multiplies a vector and the Jacobian", function()
    local x = st.tensor({1, 2}, {dtype = "float64"})
    local y, g = st.autograd.vjp(cubes, x, st.tensor({10, 1},
                                                     {dtype = "float64"}))
    close({1, 8}, y)
    close({30, 12}, g)
    assert.is_false(y.requires_grad)
    assert.is_false(g.requires_grad)
  end)

  it("multiplies the Jacobian and a vector", function()
    local x, v = leaf(1, 2), leaf(10, 1):detach()
    local y, change = st.autograd.jvp(cubes, x, v)
    close({1, 8}, y)
    close({30, 12}, change)
    assert.is_nil(x.grad)
    local function two(a, b) return a * b, a + b end
    local results, changes = st.autograd.jvp(
      two, {leaf(2), leaf(3)}, {leaf(1):detach(), leaf(10):detach()})
    close({6}, results[1])
    close({23}, changes[1])
    close({11}, changes[2])
  end)

  it("gives Jacobians", function()
    close({{3, 0}, {0, 12}}, st.autograd.jacobian(cubes, leaf(1, 2)))
    local rows = st.autograd.jacobian(function(a, b) return a * b, a:sum() end,
                                      {leaf(1, 2), leaf(3, 4)})
    close({{3, 0}, {0, 4}}, rows[1][1])
    close({{1, 0}, {0, 2}}, rows[1][2])
    close({1, 1}, rows[2][1])
    close({0, 0}, rows[2][2])
  end)

  it("gives Hessians", function()
    close({{6, 0}, {0, 12}},
          st.autograd.hessian(function(x) return x:pow(3):sum() end,
                              leaf(1, 2)))
    local h = st.autograd.hessian(mixed, {leaf(1, 2), leaf(3, 4)})
    close({{6, 0}, {0, 8}}, h[1][1])
    close({{2, 0}, {0, 4}}, h[1][2])
    close({{2, 0}, {0, 4}}, h[2][1])
    close({{0, 0}, {0, 0}}, h[2][2])
  end)

  it("gives the products of Hessians and vectors", function()
    local y, products = st.autograd.hvp(mixed, {leaf(1, 2), leaf(3, 4)},
                                        {leaf(1, 1):detach(),
                                         leaf(1, 0):detach()})
    close(1 * 3 + 4 * 4, y)
    close({6 + 2, 8}, products[1])
    close({2, 4}, products[2])
  end)

  it("gives Jacobians and Hessians of many samples at once", function()
    local x = st.rand({5, 3}, {dtype = "float64"})
    local w = st.rand({3, 2}, {dtype = "float64"})
    local function f(a) return a:matmul(w):sin() end
    local all = st.autograd.jacobian(f, x, {batch = true})
    assert.same({5, 2, 3}, {unpack(all.shape)})
    for i = 1, 5 do
      assert.is_true(st.allclose(all[i], st.autograd.jacobian(f, x[i])))
    end
    local function g(a) return a:matmul(w):sin():sum {dim = -1} end
    all = st.autograd.hessian(g, x, {batch = true})
    assert.same({5, 3, 3}, {unpack(all.shape)})
    for i = 1, 5 do
      assert.is_true(st.allclose(all[i], st.autograd.hessian(g, x[i])))
    end
  end)

  it("goes on in the graph of its inputs where it is told to", function()
    local x = leaf(1, 2)
    local j = st.autograd.jacobian(cubes, x, {create_graph = true})
    close({6, 12}, st.grad(j:sum(), x))
    local _, change = st.autograd.jvp(cubes, x, st.ones_like(x):detach(),
                                      {create_graph = true})
    close({6, 12}, st.grad(change:sum(), x))
  end)

  -- how it is misused, the words
  local misuse = {
    {"inputs that are no tensors", function()
      st.autograd.jacobian(cubes, 3)
    end, "inputs must be a tensor"},
    {"a v of another shape", function()
      st.autograd.vjp(cubes, leaf(1, 2), st.ones(3))
    end, "shape"},
    {"no v where one is needed", function()
      st.autograd.vjp(cubes, leaf(1, 2))
    end, "one element"},
    {"too few of them", function()
      st.autograd.jvp(mixed, {leaf(1), leaf(2)}, {leaf(1)})
    end, "should have 2"},
    {"what is no function", function()
      st.autograd.hvp(3, leaf(1))
    end, "must be a function"},
    {"an option that there is not", function()
      st.autograd.hessian(mixed, {leaf(1), leaf(2)}, {batched = true})
    end, "no option 'batched'"},
    {"the Hessian of several elements", function()
      st.autograd.hessian(cubes, leaf(1, 2))
    end, "one element"},
    {"samples that are not as many", function()
      st.autograd.jacobian(function(x) return x:sum() end, leaf(1, 2),
                           {batch = true})
    end, "samples"},
    {"results that are no tensors", function()
      st.autograd.jacobian(function() return 3 end, leaf(1))
    end, "result"},
  }
  for _, row in ipairs(misuse) do
    it("refuses " .. row[1] .. ", at the caller's line", function()
      local why = failure(row[2])
      assert.matches(row[3], why)
      assert.matches("jacobian_checkpoint_spec%.lua:%d+:", why)
    end)
  end
end)

-- -- Checking gradients ------------------------------------------------------

describe("gradcheck", function()
  local twice -- an operation whose gradient is wrong

  setup(function()
    twice = st.autograd.Function {
      name = "Twice",
      forward = function(_, x) return x * 2 end,
      backward = function(_, g) return g * 3 end,
    }
  end)

  teardown(function() twice = nil end)

  for _, fast in ipairs {false, true} do
    local options = {fast = fast}
    local how = fast and " along a direction" or ""

    it("passes right gradients" .. how, function()
      assert.is_true(st.gradcheck(st.sin, leaf(1, 2), options))
      assert.is_true(st.gradcheck(function(x, y) return x * y, {x:sum()} end,
                                  {matrix(), leaf(1, 2, 3)}, options))
      assert.is_true(st.gradgradcheck(st.sin, leaf(1, 2), options))
      local z = st.tensor({st.complex(1, 2)}, {dtype = "complex128"})
        :requires_grad_()
      assert.is_true(st.gradcheck(st.exp, z, options))
      assert.is_true(st.gradgradcheck(st.exp, z, options))
    end)

    it("sees wrong ones" .. how, function()
      local why = failure(st.gradcheck, twice, leaf(1, 2), options)
      assert.matches("the backward pass", why)
      options.raise = false
      assert.is_false((st.gradcheck(twice, leaf(1, 2), options)))
      options.raise = nil
    end)

    it("sees a gradient that is lost" .. how, function()
      assert.matches("finite differences",
                     failure(st.gradcheck, function(x) return x:detach() end,
                             leaf(1, 2), options))
    end)

    it("sees wrong second derivatives" .. how, function()
      local once = st.autograd.Function {
        name = "Once",
        forward = function(ctx, x)
          ctx:save(x)
          return x:square()
        end,
        backward = function(ctx, g) return g * 2 * ctx:saved():detach() end,
      }
      assert.is_true(st.gradcheck(once, leaf(1, 2), options))
      assert.matches("gradgradcheck",
                     failure(st.gradgradcheck, once, leaf(1, 2), options))
    end)
  end

  it("puts inputs back, also when the function fails", function()
    local x, calls = leaf(1, 2), 0
    st.gradcheck(st.exp, x)
    assert.same({1, 2}, list(x))
    raises("the third call", st.gradcheck, function(y)
      calls = calls + 1
      if calls == 3 then error "the third call" end
      return y * 2
    end, x)
    assert.same({1, 2}, list(x))
    assert.is_nil(x.grad)
  end)

  it("asks for a function, inputs and options that it can take", function()
    assert.matches("must be a function", failure(st.gradcheck, 3, leaf(1)))
    assert.matches("inputs must be", failure(st.gradcheck, st.sin, 3))
    assert.matches("options must be", failure(st.gradgradcheck, st.sin,
                                              leaf(1), 3))
    assert.matches("must be a function", failure(st.checkpoint, {}))
    assert.matches("no input requires", failure(st.gradcheck, st.sin,
                                                st.ones(2)))
    assert.matches("float32", failure(st.gradcheck, st.sin,
                                      st.ones(2):requires_grad_()))
    assert.is_true(st.gradcheck(st.sin, st.ones(2):requires_grad_(),
                                {eps = 1e-2, atol = 1e-2}))
  end)
end)

-- -- Checkpoints -------------------------------------------------------------

describe("checkpoint", function()
  local function f(x, w) return (x * w):sin():exp() end

  it("gives the gradients that a call gives", function()
    local x, w = leaf(1, 2), leaf(3, 4)
    local want_x, want_w = st.grad(f(x, w):sum(), {x, w})
    local y = st.checkpoint(f, x, w)
    assert.is_true(y:equal(f(x, w)))
    local a, b = st.grad(y:sum(), {x, w})
    assert.is_true(st.allclose(a, want_x))
    assert.is_true(st.allclose(b, want_w))
  end)

  it("calls the function again", function()
    local calls, x = 0, leaf(1, 2)
    local y = st.checkpoint(function(a)
      calls = calls + 1
      return a:sin():exp():cos()
    end, x)
    assert.equal(1, calls)
    y:sum():backward()
    assert.equal(2, calls)
  end)

  it("holds no more than arguments and results", function()
    local x = st.rand({1000}, {dtype = "float64"}):requires_grad_()
    local function deep(a)
      for _ = 1, 10 do a = a:sin() end
      return a
    end
    --- How many tensors of that size are alive with the result of f.
    local function held(call)
      require "spec.support.collect" ()
      local start = st.memory.stats().live
      local y = call()
      require "spec.support.collect" ()
      local n = (st.memory.stats().live - start) / (x:numel() * 8)
      return math.floor(n), y
    end
    assert.equal(10, (held(function() return deep(x) end)))
    assert.equal(1, (held(function() return st.checkpoint(deep, x) end)))
  end)

  it("finds the tensors that the function took along", function()
    local x, w, b = leaf(1, 2), leaf(3, 4), leaf(5, 6)
    local h = w * 2 -- not a leaf itself
    local function g(a) return (a * h + b):square() end
    local want = {st.grad(g(x):sum(), {x, w, b})}
    h = w * 2
    local got = {st.grad(st.checkpoint(g, x):sum(), {x, w, b})}
    for i = 1, 3 do assert.is_true(st.allclose(got[i], want[i])) end
    st.checkpoint(g, x):sum():backward()
    assert.is_true(st.allclose(b.grad, want[3]))
    assert.is_true(st.allclose(w.grad, want[2]))
  end)

  it("can be differentiated again", function()
    local x, w = leaf(1, 2), leaf(0.3, 0.4)
    local function g(a, c) return st.checkpoint(f, a, c) end
    assert.is_true(st.gradcheck(g, {x, w}))
    assert.is_true(st.gradgradcheck(g, {x, w}))
    local function captured(a) return st.checkpoint(function(c)
      return f(c, w)
    end, a) end
    local first = st.grad(captured(x):sum(), x, {create_graph = true})
    local got = st.grad(first:sum(), w)
    first = st.grad(f(x, w):sum(), x, {create_graph = true})
    assert.is_true(st.allclose(got, st.grad(first:sum(), w)))
  end)

  it("gives back what it was given, and what the function took along",
     function()
    local x, w = leaf(1, 2), leaf(3, 4)
    local a, b = st.checkpoint(function(c) return c, w end, x)
    local got_x, got_w = st.grad((a * b * 2):sum(), {x, w})
    assert.same({6, 8}, list(got_x))
    assert.same({2, 4}, list(got_w))
  end)

  it("nests", function()
    local x = leaf(1, 2)
    local y = st.checkpoint(function(a)
      return st.checkpoint(st.sin, a) * a
    end, x)
    assert.is_true(st.allclose(st.grad(y:sum(), x),
                               st.grad((x:sin() * x):sum(), x)))
  end)

  it("takes and gives other values, and tensors without gradients", function()
    local x, plain = leaf(1, 2), st.ones(2, {dtype = "float64"})
    local function g(a, n, p, options)
      return a * n, "text", p + 1, options.k, nil, a:sum()
    end
    local y, text, p, k, none, s = st.checkpoint(g, x, 3, plain, {k = 7})
    assert.same({"text", 7}, {text, k})
    assert.is_nil(none)
    assert.is_false(p.requires_grad)
    assert.same({4, 4}, list(st.grad(y:sum() + s, x)))
    assert.matches("table", failure(st.checkpoint, function(a)
      return {a * 2}
    end, x))
  end)

  it("draws the same random numbers again, and later ones after", function()
    local x = leaf(1, 2, 3, 4, 5, 6, 7, 8)
    st.manual_seed(3)
    local y = st.checkpoint(function(a)
      return a * st.rand({8}, {dtype = "float64"})
    end, x)
    local after = st.rand(1):item()
    local g = st.grad(y:sum(), x)
    assert.is_true(st.allclose(g * x, y))
    local again = st.rand(1):item()
    st.manual_seed(3)
    st.rand({8}, {dtype = "float64"})
    assert.same({after, again}, {st.rand(1):item(), st.rand(1):item()})
  end)

  it("is a call like any other without gradients", function()
    local x = leaf(1, 2)
    assert.is_false(st.no_grad(st.checkpoint, f, x, x).requires_grad)
    assert.is_false(st.checkpoint(f, x:detach(), x:detach()).requires_grad)
  end)

  it("sees that an argument was changed meanwhile", function()
    local x = leaf(1, 2)
    local h = x * 1
    local y = st.checkpoint(st.exp, h)
    st.no_grad(h.mul_, h, 2)
    assert.matches("version", failure(st.grad, y:sum(), x))
  end)
end)

-- -- Anomalies ---------------------------------------------------------------

describe("detect_anomaly", function()
  it("names the line of the forward call", function()
    local x = leaf(-1)
    local y, line
    st.detect_anomaly(function()
      y = x:sqrt() line = debug.getinfo(1, "l").currentline
    end)
    local why = failure(st.detect_anomaly, function() y:sum():backward() end)
    assert.matches("jacobian_checkpoint_spec.lua:" .. line, why, 1, true)
    assert.matches("SqrtBackward0", why, 1, true)
    assert.matches("[nN][aA][nN]", why)
  end)

  it("is over with its body", function()
    st.detect_anomaly(function() end)
    local x = leaf(-1)
    x:sqrt():sum():backward()
    local g = list(x.grad)[1]
    assert.is_true(g ~= g)
  end)
end)
