--- Every allocation of a recorded operation or a backward pass may fail: the
-- error is the one of memory, nothing leaks, and the same goes through
-- afterwards with the same gradients.
-- axes: none
-- sampled: 3

local gradients = require "spec.support.gradients"
local lapack = require "spec.support.lapack"
local registry = require "spec.grad.gradcheck.registry"
local samples = require "spec.grad.gradcheck.samples"
local st = require "strided"
local tensors = require "spec.support.tensors"
local values = require "spec.grad.gradcheck.values"

local unpack = unpack or table.unpack

local leaf, list, matrix = gradients.leaf, gradients.list, gradients.matrix
local live = tensors.kinds

local MOST = 3000 -- allocations of a program before this looks endless

-- what, a program of fresh leaves: gives what is compared
local PROGRAMS = {
  {"a product", function(x, y) return st.grad((x * y):sum(), {x, y}) end},
  {"a network", function(x, y)
    local h = (x:matmul(y:unsqueeze(2)):tanh() + 1):softmax(1)
    return st.grad(h:log():sum(), {x, y})
  end},
  {"what is added to leaves", function(x, y)
    for _ = 1, 2 do (x * y):square():sum():backward() end
    return x.grad, y.grad
  end},
  {"a second derivative", function(x, y)
    local g = st.grad((x:exp() * y):sum(), x, {create_graph = true})
    return st.grad(g:square():sum(), {x, y})
  end},
  {"writing through views", function(x, y)
    local h = x * 2
    h:select(1, 1):mul_(y)
    h:t():select(1, 2):copy_(y:narrow(1, 1, 2))
    return st.grad(h:square():sum(), {x, y})
  end},
  {"lists of results and of arguments", function(x, y)
    local a, b = unpack((x * 1):unbind(1))
    return st.grad(st.cat({b, a * y, y}, 1):square():sum(), {x, y})
  end},
  {"hooks", function(x, y)
    local h = x * y
    h:register_hook(function(g) return g * 2 end)
    h.grad_fn:register_hook(function() end)
    h:retain_grad()
    x:register_post_accumulate_grad_hook(function() end)
    h:sum():backward()
    return x.grad, h.grad
  end},
  {"a function of one's own", function(x, y)
    local double = st.autograd.Function {
      name = "Double",
      forward = function(ctx, a)
        ctx:save(a)
        return a * 2
      end,
      backward = function(ctx, g) return g * 2 + ctx:saved() * 0 end,
    }
    return st.grad((double(x) * y):sum(), {x, y})
  end},
  {"a checkpoint", function(x, y)
    return st.grad(st.checkpoint(function(a) return (a * y):sin() end, x)
                     :sum(), {x, y})
  end},
  {"a Jacobian", function(x, y)
    local j = st.autograd.jacobian(function(a, b) return a * b end, {x, y})
    return j[1], j[2]
  end},
  {"mixed precision", function(x, y)
    local w = x:detach():float():requires_grad_() -- its cast is kept
    local out = st.autocast(function()
      local both = st.cat({w:matmul(y:float()), w:matmul(y:float())})
      return st.linear(w, w):sum() + both:sum()
    end)
    return st.grad(out:float(), {w, y})
  end},
  {"anomalies", function(x, y)
    return st.detect_anomaly(function()
      return st.grad((x * y):sum(), {x, y})
    end)
  end},
}
local function run(program)
  local x, y = matrix(), leaf(1, 2, 3)
  local a, b = program(x, y)
  return {list(a), list(b)}
end

--- Lets each allocation fail; returns how many there are.
local function fail_each(program, want)
  for k = 1, MOST do
    local x, y = matrix(), leaf(1, 2, 3)
    st.memory_fail_at(k)
    local ok, a, b = pcall(program, x, y)
    local left = st.memory_fail_at(0)
    if ok then
      assert.is_true(left > 0, "a failure was swallowed")
      assert.same(want, {list(a), list(b)})
      return k - 1
    end
    assert.truthy(tostring(a):find "out of memory", a)
    assert.same({{0, 1, 2, 3, 4, 5}, {1, 2, 3}}, {list(x), list(y)})
  end
  error "never succeeds"
end

-- -- In place -----------------------------------------------------------------

-- what, a tensor to write and one that requires a gradient
local WRITTEN = {
  {"a tensor", function() return st.ones(3), leaf(1, 2, 3) end},
  {"a view", function() return st.ones(2, 3)[2], leaf(1, 2, 3) end},
  {"a result", function() return leaf(1, 1, 1) * 1, leaf(1, 2, 3) end},
  {"a view of a result", function()
    return (leaf(1, 1, 1, 1) * 1):narrow(1, 2, 3), leaf(1, 2, 3)
  end},
  {"a result whose gradient is kept", function()
    local h = leaf(1, 1, 1) * 1
    h:retain_grad()
    return h, leaf(1, 2, 3)
  end},
}
local WRITERS = {
  mul_ = function(h, y) return h:mul_(y) end,
  copy_ = function(h, y) return h:copy_(y) end,
  exp_ = function(h) return h:exp_() end,
  lerp_ = function(h, y) return h:lerp_(y, 0.5) end,
}

--- Lets each allocation of a write in place fail.
local function fail_write(make, write)
  write(make())
  for k = 1, MOST do
    local h, y = make()
    st.memory_fail_at(k)
    local ok, why = pcall(write, h, y)
    st.memory_fail_at(0)
    if ok then return k - 1 end
    assert.truthy(tostring(why):find "out of memory", why)
    assert.same({1, 1, 1}, list(h))
  end
  error "never succeeds"
end

-- -- Every operator ----------------------------------------------------------

local function wanting(found, ...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if st.is_tensor(x) then
      if x.requires_grad then found[#found + 1] = x end
    elseif type(x) == "table" then
      wanting(found, unpack(x))
    end
  end
  return found
end

--- The gradients of an operator at a sample, recorded themselves.
local function differentiate(operator, call, args, leaves)
  local given = values.prepared(call, args)
  if call.seeded then st.manual_seed(1) end
  local after = call.after or function(...) return ... end
  local results, ones = wanting({}, after(operator(unpack(given)))), {}
  for i, y in ipairs(results) do ones[i] = st.ones_like(y) end
  if #results == 0 then return end
  st.grad(results, leaves, {grad_outputs = ones, allow_unused = true,
                            create_graph = true})
end

--- Lets each allocation fail: nil or what is wrong, and how many there were.
local function starve(entry)
  local call = samples[entry.name][1]
  local args, leaves = values.make(call, "dense")
  differentiate(entry.call, call, args, leaves)
  for k = 1, MOST do
    st.memory_fail_at(k)
    local ok, why = pcall(differentiate, entry.call, call, args, leaves)
    local left = st.memory_fail_at(0)
    if ok then return left == 0 and "a failure was swallowed" or nil, k - 1 end
    if not tostring(why):find "out of memory" then return why, k end
  end
  return "never succeeds", MOST
end

describe("When memory runs out", function()
  local before

  setup(function() before = live() end)

  for _, row in ipairs(PROGRAMS) do
    it("the gradient of " .. row[1] .. " fails cleanly at every allocation",
       function()
      local want = run(row[2]) -- what is made once is made here
      local kinds = live()
      assert.is_true(fail_each(row[2], want) > 10)
      assert.same(kinds, live())
    end)
  end

  for name, write in pairs(WRITERS) do
    for _, row in ipairs(WRITTEN) do
      it(("%s leaves %s as it was"):format(name, row[1]), function()
        assert.is_true(fail_write(row[2], write) > 0 or name == "exp_")
      end)
    end
  end

  it("a graph stays usable", function()
    local x, y = matrix(), leaf(1, 2, 3)
    local s = (x:sin() * y):sum()
    local want = list(st.grad(s, x, {retain_graph = true}))
    for k = 1, MOST do
      st.memory_fail_at(k)
      local ok, g = pcall(st.grad, s, x, {retain_graph = true})
      st.memory_fail_at(0)
      if ok then break end
      assert.truthy(tostring(g):find "out of memory", g)
    end
    assert.same(want, list(st.grad(s, x)))
  end)

  -- The sanitizers take their time: every so many operators will do there.
  local step = os.getenv "STRIDED_SANITIZED" and 4 or 1

  it("the gradient of any operator fails cleanly", function()
    local failures, all = 0, registry.differentiable()
    for i = 1, #all, step do
      if not lapack.is_missing(all[i].name) then
        local what, k = starve(all[i])
        assert.is_nil(what, all[i].name)
        failures = failures + k
      end
    end
    assert.is_true(failures > 10 * #all / step)
  end)

  lapack.note("the gradient of eigenvalues fails cleanly", pending)

  it("nothing stays behind", function() assert.same(before, live()) end)
end)
