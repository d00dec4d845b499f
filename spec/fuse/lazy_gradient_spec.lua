--- Fused code and lazy tensors: conjugates, negatives and zeros among the
-- gradients, the arguments and the results of st.fuse, lib:elementwise and
-- lib:reduction.
-- axes: isa

local st = require "strided"

local tensors = require "spec.support.tensors"

local ipairs = ipairs
local unpack = unpack or table.unpack
local live, near = tensors.live, tensors.near

local OPTIONS = {dtype = "float64"}

local function complex(re, im)
  return st.complex(st.tensor(re, OPTIONS), st.tensor(im, OPTIONS))
end

--- The same elements, whose memory holds the conjugates or the negatives.
local function conjugated(t) return t:conj():resolve_conj():conj() end
local function negated(t) return t:neg():_neg_view() end

-- -- What is fused -----------------------------------------------------------

local function product(a, b) return a * b + a * a end

local lib, ops

--- The ways to compute product(a, b), or its sum, by what they are called.
local function ways()
  return {
    {"st.fuse", st.fuse(product), product},
    {"lib:elementwise", function(a, b) return ops.product(a, b) end, product},
    {"lib:reduction", function(a, b) return ops.total(a, b) end,
     function(a, b) return product(a, b):sum() end},
    {"a reduction without a builtin operator",
     function(a, b) return ops.folded(a, b) end,
     function(a, b) return (product(a, b) + 1):prod() - 1 end},
  }
end

local function each_way(check)
  for _, way in ipairs(ways()) do check(unpack(way)) end
end

describe("Fused code", function()
  local before, z, w

  setup(function()
    before = live()
    lib = st.library "spec_lazy"
    ops = st.ops.spec_lazy
    lib:elementwise("product(Tensor a, Tensor b) -> Tensor", product)
    lib:reduction("total(Tensor a, Tensor b) -> Tensor",
                  {map = product, combine = "a + b"})
    lib:reduction("folded(Tensor a, Tensor b) -> Tensor",
                  {map = product, combine = function(a, b)
                    return a * b + a + b
                  end})
    z = complex({1, -2, 0.5}, {0.5, 1, -1})
    w = complex({0.25, 1, 2}, {-1, 0.5, 3})
  end)

  teardown(function()
    z, w, ops = nil, nil, nil
    lib:close()
    assert.is_true(live() <= before)
  end)

  -- gradients ----------------------------------------------------------------

  local function gradients(f, post, ...)
    local leaves = {}
    for i, t in ipairs {...} do
      leaves[i] = t:detach():clone():requires_grad_()
    end
    return {st.grad(post(f(unpack(leaves))), leaves)}
  end

  local POSTS = {
    {"the imaginary part", function(y) return y:imag():sum() end},
    {"the real part", function(y) return y:real():sum() end},
    {"the imaginary part of the conjugate", function(y)
      return y:conj():resolve_conj():imag():sum() end},
    {"the conjugate, negated", function(y)
      return y:conj():_neg_view():resolve_conj():resolve_neg():real():sum()
    end},
  }

  for _, post in ipairs(POSTS) do
    it("passes on the gradient of " .. post[1], function()
      each_way(function(name, fused, plain)
        local want = gradients(plain, post[2], z, w)
        local got = gradients(fused, post[2], z, w)
        for i = 1, 2 do
          assert.is_true(st.allclose(want[i], got[i]), name .. ", " .. i)
        end
      end)
    end)
  end

  it("has the gradient of mathematics", function()
    -- of L = Im(h): Im(h') + i Re(h'); h = a a b, so h' is 2 a b = 40 - 10i by
    -- a, and a a = -3 + 4i by b
    local f = st.fuse(function(a, b) return a * a * b end)
    local a = complex({1}, {2}):requires_grad_()
    local b = complex({2}, {-9}):requires_grad_()
    f(a, b):imag():sum():backward()
    near({-10}, a.grad:real():totable())
    near({40}, a.grad:imag():totable())
    near({4}, b.grad:real():totable())
    near({-3}, b.grad:imag():totable())
  end)

  it("takes lazy gradients", function()
    local function check(fused, plain, inputs, u, lazy, name)
      local function by(f, g)
        local leaves = {}
        for i, t in ipairs(inputs) do
          leaves[i] = t:detach():clone():requires_grad_()
        end
        local y = f(unpack(leaves))
        return {st.grad(y, leaves, {grad_outputs = g:expand(y.shape)})}
      end
      local want, got = by(plain, u), by(fused, lazy)
      for i = 1, #inputs do
        assert.is_true(st.allclose(want[i], got[i]), name .. ", " .. i)
      end
    end
    local x, y = st.tensor({1, -2, 3}, OPTIONS), st.tensor({2, 1, 4}, OPTIONS)
    local u, v = st.tensor({2.5}, OPTIONS), complex({1.5}, {-2})
    each_way(function(name, fused, plain)
      local u0, v0 = u, v
      if name:find "reduction" then u0, v0 = u[{1}], v[{1}] end
      check(fused, plain, {x, y}, u0, negated(u0), name)
      check(fused, plain, {z, w}, v0, conjugated(v0), name)
      check(fused, plain, {z, w}, v0, negated(conjugated(v0)), name)
      check(fused, plain, {x, y}, u0 * 0,
            st._efficientzerotensor(u0.shape, OPTIONS), name)
    end)
  end)

  it("may run out of memory where it resolves them", function()
    each_way(function(name, fused)
      local u = name:find "reduction" and z["1"] or z
      local a = z:clone():requires_grad_()
      local function by(g)
        return st.grad(fused(a, w), a, {grad_outputs = g})
      end
      local want, lazy, done = by(u), negated(conjugated(u)), false
      local y = fused(a, w)
      for k = 1, 1000 do
        st.memory_fail_at(k)
        local ok, got = pcall(st.grad, y, a, {grad_outputs = lazy,
                                              retain_graph = true})
        local left = st.memory_fail_at(0)
        if ok then assert.is_true(st.allclose(want, got)) end
        done = ok and left > 0
        if done then break end
      end
      assert.is_true(done, name)
    end)
  end)

  -- arguments ----------------------------------------------------------------

  it("saves lazy arguments for the gradient", function()
    each_way(function(name, fused, plain)
      local function by(f)
        local a = z:clone():requires_grad_()
        local b = w:clone():requires_grad_()
        return {st.grad(f(a:conj(), b:conj():_neg_view()):imag():sum(),
                        {a, b})}
      end
      local want, got = by(plain), by(fused)
      for i = 1, 2 do
        assert.is_true(st.allclose(want[i], got[i]), name .. ", " .. i)
      end
    end)
  end)

  -- inside of an expression --------------------------------------------------

  local BODIES = {
    {"a conjugate", function(a, b) return a * b:conj() end},
    {"a conjugate as its result", function(a, b) return (a * b):conj() end},
    {"a negative view", function(a, b) return (a + b:_neg_view()) * a end},
    {"a negative view as its result", function(a, b)
      return (a * b):_neg_view() end},
    {"a resolved conjugate", function(a, b)
      return a:conj():resolve_conj() * b end},
    {"a clone of a conjugate", function(a, b) return a:conj():clone() + b end},
  }

  for i, body in ipairs(BODIES) do
    it("computes " .. body[1], function()
      local name = "body" .. i
      lib:elementwise(name .. "(Tensor a, Tensor b) -> Tensor", body[2])
      lib:reduction(name .. "_sum(Tensor a, Tensor b) -> Tensor",
                    {map = body[2], combine = "a + b"})
      for _, way in ipairs {
        {st.fuse(body[2]), body[2]}, {ops[name], body[2]},
        {ops[name .. "_sum"], function(a, b) return body[2](a, b):sum() end},
      } do
        local fused, plain = unpack(way)
        assert.is_true(st.allclose(plain(z, w), fused(z, w)))
        for _, post in ipairs(POSTS) do
          local want = gradients(plain, post[2], z, w)
          local got = gradients(fused, post[2], z, w)
          for k = 1, 2 do assert.is_true(st.allclose(want[k], got[k])) end
        end
      end
    end)
  end

  -- products -----------------------------------------------------------------

  local function matrix(m, n, shift)
    local re = st.linspace(-1, 1.5 + shift, m * n, OPTIONS):view(m, n)
    return st.complex(re, re:square():sub(0.7))
  end

  for _, row in ipairs {
    {"dot", function(a, b) return st.dot(a["1, :"], b["2, :"]) end},
    {"mm", function(a, b) return st.mm(a, b) end},
    {"bmm", function(a, b) return st.bmm(a:unsqueeze(1), b:unsqueeze(1)) end},
    {"matmul", function(a, b) return a:matmul(b["1, :"]) end},
    {"linear", function(a, b) return st.linear(a, b) end},
    {"addmm", function(a, b) return st.addmm(a, a, b) end},
    {"outer", function(a, b) return st.outer(a["1, :"], b["2, :"]) end},
    {"kron", function(a, b) return st.kron(a, b) end},
    {"einsum", function(a, b) return st.einsum("ij,kj->ik", {a, b}) end},
    {"tensordot", function(a, b) return st.tensordot(a, b, {1}, {2}) end},
  } do
    it("has the second derivatives of a complex product: " .. row[1],
       function()
      local function body(a, b) return row[2](a * 2, b * a) * 3 end
      local function second(f)
        local a = matrix(3, 3, 0):requires_grad_()
        local b = matrix(3, 3, 1):requires_grad_()
        local y = f(a, b)
        local da, db = st.grad(y:imag():sum() + y:abs():sum(), {a, b},
                               {create_graph = true})
        return {st.grad((da * db):imag():sum(), {a, b})}
      end
      local want, got = second(body), second(st.fuse(body))
      for i = 1, 2 do assert.is_true(st.allclose(want[i], got[i])) end
    end)
  end
end)
