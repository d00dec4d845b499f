--- What spec/project/example_rock_spec.lua runs in a process of its own: calls
-- on the device "example" give, refuse and leave what they do on the CPU.
-- Prints a line per topic.

local st = require "strided"
require "strided_example"

local topics = require "spec.example.topics"

local fails, live, same, same_values, topic =
  topics.fails, topics.live, topics.same, topics.same_values, topics.topic

local aten = st.ops.aten
local DEVICE = {device = "example"}
st.warnings(false) -- an out= tensor of another shape is on purpose here
local MOST = 200 -- allocations a call may take before this looks endless

local function floats(values) return st.tensor(values, {dtype = "float32"}) end
local X = st.arange(6):to("float32"):view(2, 3)

local before = live()

--- Calls fn(here) for the CPU and for the device, where here(t) is t or t on
-- the device: both give the same tensor, or fail for the same reason.
local function same_on_both(fn)
  local ok, a = pcall(fn, function(t) return t end)
  local works, b = pcall(fn, function(t) return t:to(DEVICE) end)
  if not ok then a = tostring(a):gsub("^.-:%d+: ", "") end
  if not works then b = tostring(b):gsub("^.-:%d+: ", "") end
  if not (ok and works) then return same(a, b) end
  same("example", b.device)
  same_values(a, b)
end

topic("arguments that share memory", function()
  -- what the CPU computes has elements that are seen through two arguments
  local function numbers() return st.arange(6):float():view(2, 3):clone() end
  local first = st.tensor {1, 2}
  local cases = {
    function(here)
      local x, g = here(numbers()), here(numbers())
      aten._fused_sgd_({x, x[1]}, {g, g[1]:clone()}, {}, {
        weight_decay = 0, momentum = 0, lr = 0.5, dampening = 0,
        nesterov = false, maximize = false, is_first_step = true})
      return x
    end,
    function(here)
      local x, m = here(numbers()), here(st.zeros(3))
      st.aminmax(x, {dim = 2, min = m["1:2"], max = m["2:3"]})
      return m
    end,
    function(here)
      local x = here(numbers())
      st.cumsum(x[1], 1, {out = x[2]})
      st.cumsum(x["1:2, 1:2"], 2, {out = x["1:2, 2:3"]})
      return x
    end,
    function(here)
      local x = here(numbers())
      return x["1:2, 1:2"]:addmm_(x["1:2, 2:3"], x["1:2, 1:2"]:t())
    end,
    function(here)
      local x = here(numbers())
      return x:index_put_({here(first)}, x:flip {1})
    end,
    function(here)
      local x = here(numbers())
      return x:put_(here(first), x[2]["1:2"])
    end,
    function(here)
      local x = here(st.zeros {3})
      return x:expand(2, 3):index_add_(1, here(first), here(numbers()))
    end,
    function(here) return here(numbers()):t():cumsum_(1) end,
    function(here) -- outputs that would overlap once they are larger
      local x, m = here(numbers()), here(st.zeros(8))
      st.aminmax(x, {dim = 1, min = m["1:1"], max = m["2:2"]})
      return m
    end,
  }
  for _, fn in ipairs(cases) do same_on_both(fn) end
end)

topic("strides and numbers are as on the CPU", function()
  local x = st.arange(24):float():view(2, 3, 4):permute(3, 1, 2)
  local image = st.rand(2, 3, 4, 4):to {memory_format = "channels_last"}
  local cases = {
    function(o, here) return st.cumsum(here(x), 1, {out = o}) end,
    function(o, here) return st.softmax(here(x), 1, {out = o}) end,
    function(o, here) return st.cat({here(image), here(image)}, 1, {out = o})
    end,
    function(o, here) return st.flip(here(image), {1}, {out = o}) end,
    function(o, here)
      return (st.sort(here(x), 1, false, {
        values = o, indices = here(st.zeros({0}, {dtype = "int64"}))}))
    end,
    function(o) return st.add(1, 2, {out = o}) end,
    function(o) return st.mul(2.5, 2, {out = o}) end,
    function(o) return st.exp(3, {out = o}) end,
    function(o) return st.clamp(2.5, 1, {out = o}) end,
    function(o) return st.float_power(2, 3, {out = o:double()}) end,
    function(o, here) return st.sub(1, here(x), {out = o}) end,
  }
  for i, fn in ipairs(cases) do
    same_on_both(function(here)
      local o = here(st.zeros(0))
      local y = fn(o, here)
      assert(y:is_alias_of(o) or y.dtype == "float64", i)
      return st.tensor {y:stride()}:to(y.device)
    end)
    same_on_both(function(here) return fn(here(st.zeros(0)), here) end)
  end
  same_on_both(function(here)
    return here(st.zeros(1)):expand(3):fill_(2):zero_():add(1)
  end)
  same_on_both(function(here)
    return here(st.zeros(1)):expand(3):fill_(here(st.tensor(2.5)))
  end)
end)

topic("tensors of the CPU beside those of the device", function()
  local t, m = X:to(DEVICE), st.ones(3, 2)
  local WHY = "expected all tensors to be on the same device"
  fails(WHY, st.matmul, t, m)
  fails(WHY, st.cat, {t, X})
  fails(WHY, st.add, X, t)
  fails(WHY, st.dot, t[1], X[1])
  fails(WHY, st.where, t:gt(1), t, X)
  fails(WHY, st.gather, t, 1, st.tensor {{1, 2, 1}})
  fails(WHY, st.sum, t, {out = st.zeros {}})
  fails(WHY, st.matmul, t, m:to(DEVICE), {out = st.zeros(2, 2)})
  fails(WHY, t.mul_, t, X)
  fails(WHY, t.index_put_, t, {st.tensor({1}, DEVICE)}, st.ones(1, 3))
  fails(WHY, X.index_select, X, 1, st.tensor({1}, DEVICE))
  fails(WHY, st.matmul, t, st.ones({3, 2}, {device = "meta"}))
  fails("argument 'mat2' is on device 'cpu', other tensors are on 'example'",
        st.mm, t, m)
  -- numbers, and positions
  same_values(X + 2, t + st.tensor(2))
  same_values(X * 2, st.mul(st.tensor(2), t))
  same_values(X:clamp(1), t:clamp(st.tensor(1)))
  same_values(X:masked_fill(X:gt(1), 9), t:masked_fill(t:gt(1), st.tensor(9)))
  same_values(X:index {st.tensor {2}}, t:index {st.tensor {2}})
  same_values(X[{X:gt(1)}], t[{X:gt(1)}])
  same_values(X:index_put({st.tensor {2}}, floats(7)),
              t:index_put({st.tensor {2}}, floats(7)))
  assert(t:copy_(X + 1):to("cpu"):equal(X + 1))
end)

topic("a failed call leaves what it was given", function()
  local calls = {
    function(a, b, t) st.aminmax(t, {dim = 2, min = a, max = b}) end,
    function(a, _, t) st.cumsum(t:t(), 1, {out = a}) end,
    function(a, _, t) st.square(t:t(), {out = a}) end,
    function(a, _, t) st.flip(t, {1}, {out = a}) end,
    function(a, _, t) st.kron(t, t, {out = a}) end,
    function(a, b, t)
      aten._fused_sgd_({a, b}, {t[1]["1:1"], t[1]["1:2"]}, {}, {
        weight_decay = 0, momentum = 0, lr = 0.5, dampening = 0,
        nesterov = false, maximize = false, is_first_step = true})
    end,
  }
  local function run(i)
    local a, b = st.ones({1}, DEVICE), st.ones({2}, DEVICE)
    local t = X:to(DEVICE)
    return pcall(calls[i], a, b, t), a, b, t
  end
  for i in ipairs(calls) do
    assert(run(i), i) -- what is made once and kept is made here
    local a, b, t
    local kinds = live()
    for k = 1, MOST do
      a, b, t = st.ones({1}, DEVICE), st.ones({2}, DEVICE), X:to(DEVICE)
      st.memory_fail_at(k)
      local ok, why = pcall(calls[i], a, b, t)
      local left = st.memory_fail_at(0)
      if ok then assert(left > 0 and k > 1) break end
      assert(tostring(why):find "out of memory", why)
      same_values(st.ones(1), a)
      same_values(st.ones(2), b)
      same_values(X, t)
      a, b, t = nil, nil, nil -- luacheck: ignore
      same(kinds, live())
      assert(k < MOST, "never succeeds")
    end
  end
  -- rows that max_norm has scaled before a later failure
  local weight = X:to(DEVICE)
  fails("the first bag", st.embedding_bag, weight, st.tensor({1, 2}, DEVICE),
        st.tensor({7}, DEVICE), {max_norm = 1})
  same_values(X, weight)
  st.embedding_bag(weight, st.tensor({1, 2}, DEVICE), st.tensor({1}, DEVICE),
                   {max_norm = 1})
  assert(weight[2]:norm():item() < 1.001)
end)

topic("a kernel that comes after a function was fused", function()
  local f = st.fuse(function(a) return (a * 2 + 1):exp() end)
  local t = X:to(DEVICE) / 10
  local want = (X / 10 * 2 + 1):exp()
  for _ = 1, 2 do assert(f(t):to("cpu"):allclose(want)) end
  local called = 0
  local lib = st.library("aten", "IMPL", "PrivateUse1")
  lib:impl("exp", function(x)
    called = called + 1
    return x + 100
  end)
  for k = 1, 2 do
    same_values(X / 10 * 2 + 1 + 100, f(t))
    same(k, called)
  end
  lib:close()
  assert(f(t):to("cpu"):allclose(want))
  same(2, called)
end)

topic("nothing left", function() same(before, live()) end)
