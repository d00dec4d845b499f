--- Attention by blocks of queries and keys against its formula of operators: in
-- every layout, with every mask, of many sizes, with its gradients; and the
-- memory it takes.
-- axes: isa threads
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

local inf, ipairs, sqrt = math.huge, ipairs, math.sqrt
local unpack = unpack or table.unpack

local attend = st.scaled_dot_product_attention

local before

setup(function()
  before = live()
  st.manual_seed(11)
end)

teardown(function() assert.equal(before, live()) end)

-- -- Cases -------------------------------------------------------------------

local F64 = {dtype = "float64"}

--- softmax(q k^T scale + bias) v, with rows of zeros where a mask hides all.
local function formula(q, k, v, bias, scale)
  local w = (q * scale):matmul(k:mT())
  if bias then
    local none = bias:isneginf():all(-1, true)
    w = (w + bias:masked_fill(none, 0)):softmax(-1):masked_fill(none, 0)
  else
    w = w:softmax(-1)
  end
  return w:matmul(v)
end

local function repeated(t, times)
  return times == 1 and t or t:repeat_interleave(times, -3)
end

--- What the arguments of attend are, and the bias of the formula.
local MASKS = {
  none = function() return {}, nil end,
  causal = function(l, s)
    return {{is_causal = true}},
           st.full({l, s}, -inf, F64):triu(1)
  end,
  bool = function(l, s)
    local mask = st.rand({l, s}):gt(0.4)
    mask[1] = false
    return {mask}, st.zeros({l, s}, F64):masked_fill(mask:logical_not(), -inf)
  end,
  keys = function(_, s, n, heads)
    local mask = heads and st.rand({n, 1, 1, s}):gt(0.4) or
                 st.rand({1, s}):gt(0.4)
    return {mask}, st.zeros(mask.shape, F64)
      :masked_fill(mask:logical_not(), -inf)
  end,
  float = function(l, s, _, _, dtype)
    local mask = st.randn({l, s}, {dtype = dtype})
    mask[l] = -inf
    mask[1][s] = -inf
    return {mask}, mask:to "float64"
  end,
  turned = function(l, s, _, _, dtype)
    local mask = st.randn({s, l}, {dtype = dtype}):t()
    return {mask}, mask:to "float64"
  end,
}

local LAYOUTS = {
  contiguous = function(...) return st.randn {...} end,
  -- as a projection of all three gives it
  packed = function(n, heads, l, e)
    return st.randn({n, l, 3, heads, e}):permute(3, 1, 4, 2, 5)[2]
  end,
  turned = function(n, heads, l, e)
    return st.randn({n, heads, e, l}):mT()
  end,
}

--- N, heads, heads of key, L, S, E, width of value, mask, layout
local CASES = {
  {1, 1, 1, 1, 1, 1, 1, "none", "contiguous"},
  {2, 2, 2, 3, 300, 9, 9, "bool", "packed"}, -- by operators
  {2, 3, 3, 5, 7, 4, 3, "none", "packed"},
  {2, 3, 3, 33, 40, 8, 8, "bool", "contiguous"},
  {2, 2, 2, 64, 64, 16, 16, "causal", "packed"},
  {1, 2, 2, 100, 100, 20, 33, "causal", "contiguous"},
  {1, 2, 2, 70, 45, 8, 8, "causal", "contiguous"},
  {1, 2, 2, 40, 90, 8, 5, "causal", "turned"},
  {1, 2, 2, 40, 90, 8, 8, "causal", "contiguous"},
  {2, 4, 2, 37, 41, 8, 8, "none", "packed"},
  {2, 6, 2, 37, 41, 8, 8, "float", "contiguous"},
  {2, 2, 1, 65, 65, 8, 8, "causal", "packed"},
  {2, 2, 2, 31, 50, 64, 40, "keys", "packed"},
  {1, 1, 1, 50, 30, 300, 270, "turned", "contiguous"},
  {1, 1, 1, 40, 2000, 8, 8, "none", "packed"},
  {1, 1, 1, 35, 2000, 8, 8, "float", "contiguous"},
  {1, 1, 1, 1100, 1100, 4, 4, "causal", "contiguous"},
}

--- Fills memory that new tensors of these shapes may get with NaN.
local function spoil(...)
  local made = {}
  for i, t in ipairs {...} do made[i] = st.full_like(t, 0 / 0) end
  for _, t in ipairs(made) do t:free() end
end

--- The result and the gradients of q, k and v.
local function all_of(f, q, k, v, g)
  local leaves = {q:detach():requires_grad_(), k:detach():requires_grad_(),
                  v:detach():requires_grad_()}
  spoil(g)
  local y = f(unpack(leaves))
  spoil(q, k, v, q, k, v)
  local dq, dk, dv = st.autograd.grad(y, leaves, {grad_outputs = {g}})
  return {y:detach(), dq, dk, dv}
end

local function compare(c, dtype, tolerance)
  local n, heads, fewer, l, s, e, depth, mask, layout = unpack(c)
  local make = LAYOUTS[layout]
  local q, k = make(n, heads, l, e):to(dtype), make(n, fewer, s, e):to(dtype)
  local v = make(n, fewer, s, depth):to(dtype)
  local args, bias = MASKS[mask](l, s, n, heads, dtype)
  if heads ~= fewer then
    local options = args[#args] and not st.is_tensor(args[#args]) and
                    args[#args] or {}
    options.enable_gqa = true
    args[st.is_tensor(args[1]) and 2 or 1] = options
  end
  local g = st.randn({n, heads, l, depth}):to(dtype)
  local got = all_of(function(...)
    local a = {...}
    for i, arg in ipairs(args) do a[3 + i] = arg end
    return attend(unpack(a))
  end, q, k, v, g)
  local want = all_of(function(a, b, d)
    local times = heads / fewer
    return formula(a, repeated(b, times), repeated(d, times), bias,
                   1 / sqrt(e))
  end, q:to "float64", k:to "float64", v:to "float64", g:to "float64")
  for i = 1, 4 do
    assert.equal(dtype, tensors.dtype(got[i]):match "[%w]+$")
    near(want[i], got[i]:to "float64", tolerance)
  end
end

describe("Attention by blocks", function()
  for _, c in ipairs(CASES) do
    it(("is its formula: %d, %d of %d heads, %d x %d, %d to %d, %s, %s")
         :format(unpack(c)), function()
      compare(c, "float64", 1e-11)
      compare(c, "float32", 3e-5)
    end)
  end

  it("takes three dimensions and two", function()
    local q, k, v = st.randn({2, 40, 4}, F64), st.randn({2, 50, 4}, F64),
                    st.randn({2, 50, 3}, F64)
    local got = attend(q, k, v)
    near(formula(q, k, v, nil, 0.5), got)
    near(got[2], attend(q[2], k[2], v[2]))
    near(got[1], attend(q, k, v, st.ones({1, 1, 50}):eq(1))[1])
  end)

  it("scales scores that exp alone would not bear", function()
    local q = st.full({1, 2}, 300, F64)
    local k = st.tensor({{300, 300}, {299, 300}}, F64)
    local v = st.tensor({{1}, {2}}, F64)
    near({{1}}, attend(q, k, v, {scale = 1}):totable())
    near({{2}}, attend(q, k, v, {scale = -1}):totable())
  end)

  it("keeps the order of heads and rows in memory", function()
    local x = st.randn {2, 40, 3, 4, 8}
    local q, k, v = unpack(x:permute(3, 1, 4, 2, 5):unbind(1))
    local y = attend(q, k, v)
    assert.same({2, 4, 40, 8}, y:size())
    assert.is_true(y:transpose(2, 3):is_contiguous())
    assert.is_true(attend(q:contiguous(), k, v):is_contiguous())
  end)

  it("gives no gradient of NaN to queries that see no key", function()
    local q = st.randn({40, 4}, F64):requires_grad_()
    local k = st.randn({30, 4}, F64):requires_grad_()
    local y = attend(q, k, k, st.zeros({40, 30}):eq(1))
    assert.equal(0, y:abs():sum():item())
    y:sum():backward()
    assert.equal(0, q.grad:abs():sum():item())
    assert.equal(0, k.grad:abs():sum():item())
  end)

  it("takes a mask with a gradient by operators", function()
    local q, k = st.randn({3, 4}, F64), st.randn({5, 4}, F64)
    local mask = st.randn({3, 5}, F64):requires_grad_()
    assert.is_true(st.gradcheck(function(m) return attend(q, k, k, m) end,
                                {mask}))
  end)

  it("gives the same bits with any number of threads", function()
    local q, k, v = st.randn {2, 3, 100, 24}, st.randn {2, 3, 600, 24},
                    st.randn {2, 3, 600, 24}
    local g, threads = st.randn {2, 3, 100, 24}, st.get_num_threads()
    local function run(n)
      st.set_num_threads(n)
      return all_of(attend, q, k, v, g)
    end
    local one, three = run(1), run(3)
    st.set_num_threads(threads)
    for i = 1, 4 do assert.is_true(st.equal(one[i], three[i])) end
  end)

  it("takes less memory than the scores would, with its gradients", function()
    local threads = st.get_num_threads()
    st.set_num_threads(1)
    local q, k, v = st.randn {1, 4, 512, 16}, st.randn {1, 4, 512, 16},
                    st.randn {1, 4, 512, 16}
    for _, t in ipairs {q, k, v} do t:requires_grad_() end
    attend(q, k, v):sum():backward()
    for _, t in ipairs {q, k, v} do t.grad = nil end
    collectgarbage()
    st.memory.reset_peak()
    local bytes = st.memory.stats().peak
    attend(q, k, v):sum():backward()
    bytes = st.memory.stats().peak - bytes
    st.set_num_threads(threads)
    -- out, its gradient, those of q, k, v, each 4 512 16 floats, and a copy of
    -- each; two blocks of 512 x 32 scores; 32 KB of all else. The scores are 4
    -- 512 512.
    assert.is_true(bytes < 4 * (10 * 4 * 512 * 16 + 2 * 512 * 32) + 2 ^ 15,
                   bytes)
  end)

  it("refuses gradients that do not fit", function()
    local q, y = st.zeros {2, 3}, st.zeros {2, 3}
    local function back(grad, out, lse)
      return st._scaled_dot_product_attention_backward(
        grad, q, q, q, out, lse, nil, false, 1, false)
    end
    raises({"_scaled_dot_product_attention_backward: grad_out, a float32 of " ..
            "shape [3], does not suit query of shape [2, 3]"},
           back, st.zeros(3), y, st.zeros(2))
    raises({"logsumexp, a float64 of shape [2]"}, back, y, y,
           st.zeros({2}, F64))
  end)
end)
