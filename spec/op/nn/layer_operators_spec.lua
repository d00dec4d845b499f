--- Layers of networks: normalisation, tables of vectors, gates, noise and
-- attention, each against its formula, number by number.
-- axes: isa

local gradient = require("spec.support.gradients").gradient
local st = require "strided"
local tensors = require "spec.support.tensors"

local exp, sqrt = math.exp, math.sqrt
local ipairs = ipairs
local unpack = unpack or table.unpack

local inf = math.huge

local any, f64, i64 = tensors.any, tensors.f64, tensors.i64
local live, near = tensors.live, tensors.near

-- -- Normalisation -----------------------------------------------------------

--- (x - mean) / sqrt(variance + eps) of a list.
local function standard(list, eps)
  local mean, var, out = 0, 0, {}
  for _, x in ipairs(list) do mean = mean + x / #list end
  for _, x in ipairs(list) do var = var + (x - mean) ^ 2 / #list end
  for i, x in ipairs(list) do out[i] = (x - mean) / sqrt(var + eps) end
  return out, mean, var
end

--- Rows of a matrix, each standardised.
local function standard_rows(t, eps)
  local out = {}
  for i, row in ipairs(t:totable()) do out[i] = standard(row, eps) end
  return f64(out)
end

describe("Normalisation", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(3)
  end)

  it("over the last dimension", function()
    local x, w, b = any(4, 5), any(5), any(5)
    local want = standard_rows(x, 1e-5)
    near(want, st.layer_norm(x, {5}))
    near(want * w, st.layer_norm(x, {5}, w))
    near(want + b, st.layer_norm(x, {5}, nil, b))
    near(want * w + b, st.layer_norm(x, {5}, w, b))
    near(standard_rows(x, 0.5), st.layer_norm(x, {5}, {eps = 0.5}))
  end)

  it("over several last dimensions", function()
    local x, w, b = any(4, 2, 3), any(2, 3), any(2, 3)
    local want = standard_rows(x:view(4, 6), 1e-5):view(4, 2, 3)
    near(want * w + b, st.layer_norm(x, {2, 3}, w, b))
  end)

  it("gives the means and what it divides by", function()
    local x = any(3, 4)
    local y, mean, rstd = st.native_layer_norm(x, {4}, nil, nil, 1e-5)
    for i, row in ipairs(x:totable()) do
      local line, m, v = standard(row, 1e-5)
      near(line, y:select(1, i):totable())
      near(m, mean:select(1, i):item())
      near(1 / sqrt(v + 1e-5), rstd:select(1, i):item())
    end
  end)

  it("by the root of the mean square", function()
    local x, w = any(3, 4), any(4)
    local root = (x * x):mean({2}, {keepdim = true}):add(0.1):sqrt()
    near(x / root * w, st.rms_norm(x, {4}, w, {eps = 0.1}))
    near(x / (x * x):mean():sqrt(), st.rms_norm(x, {3, 4}), 1e-10)
  end)

  it("over groups of channels", function()
    local x, w, b = any(2, 6, 4, 3), any(6), any(6)
    local want = standard_rows(x:view(6, 24), 1e-5):view(2, 6, 4, 3)
    near(want, st.group_norm(x, 3))
    near(want * w:view(6, 1, 1) + b:view(6, 1, 1), st.group_norm(x, 3, w, b))
    local y, mean, rstd = st.native_group_norm(x, w, b, 2, 6, 12, 3, 1e-5)
    near(st.group_norm(x, 3, w, b), y)
    assert.same({2, 3}, mean:size())
    assert.same({2, 3}, rstd:size())
    near(x:select(1, 2):slice(1, 3, 4):mean():item(), mean[2][2])
  end)

  it("per channel of a batch", function()
    local x, w, b = any(4, 3, 5), any(3), any(3)
    local rows = standard_rows(x:transpose(1, 2):reshape(3, 20), 1e-5)
    local want = rows:view(3, 4, 5):transpose(1, 2)
    near(want, st.batch_norm(x, {training = true}))
    near(want * w:view(3, 1) + b:view(3, 1),
         st.batch_norm(x, w, b, {training = true}))
  end)

  it("per channel of each of a batch", function()
    local x, w, b = any(2, 3, 5), any(3), any(3)
    local want = standard_rows(x:view(6, 5), 1e-5):view(2, 3, 5)
    near(want, st.instance_norm(x))
    near(want * w:view(3, 1) + b:view(3, 1), st.instance_norm(x, w, b))
  end)

  it("follows the batches it was trained with", function()
    local x, mean, var = any(4, 3, 5), st.zeros(3), st.ones(3)
    local options = {running_mean = mean, running_var = var, training = true,
                     momentum = 0.25}
    st.batch_norm(x, options)
    near(0.25 * x:mean({1, 3}), mean, 1e-6)
    near(0.75 + 0.25 * x:var({1, 3}), var, 1e-6)
    st.instance_norm(x, {running_mean = mean:zero_(), momentum = 1,
                         running_var = var:zero_()})
    near(x:mean({1, 3}), mean, 1e-6)
    near(x:var({3}):mean({1}), var, 1e-6)
  end)

  it("goes by what it followed", function()
    local x, w, b = any(4, 3, 5), any(3), any(3)
    local mean, var = any(3), any(3):abs()
    local want = (x - mean:view(3, 1)) / (var + 1e-5):sqrt():view(3, 1) *
                 w:view(3, 1) + b:view(3, 1)
    local kept = mean:clone()
    near(want, st.batch_norm(x, w, b, mean, var))
    near(want, st.instance_norm(x, w, b, mean, var, false))
    near(kept, mean)
  end)

  it("does not ask how the elements lie", function()
    local x = any(6, 5, 8)
    for _, view in ipairs {x:transpose(1, 3), x:slice(3, 1, -1, 2),
                           x:permute {3, 1, 2}} do
      local copy, n = view:contiguous(), view:size(3)
      near(st.layer_norm(copy, {n}), st.layer_norm(view, {n}))
      assert.is_true(st.layer_norm(view, {n}):is_contiguous())
      near(st.rms_norm(copy, {n}), st.rms_norm(view, {n}))
      near(st.group_norm(copy, 1), st.group_norm(view, 1))
      near(st.batch_norm(copy, {training = true}),
           st.batch_norm(view, {training = true}))
      near(st.instance_norm(copy), st.instance_norm(view))
    end
  end)

  it("over groups is the same when it is recorded", function()
    local x, w, b = any(2, 6, 4, 3), any(6), any(6)
    local last = x:contiguous {memory_format = "channels_last"}
    for _, groups in ipairs {1, 3, 6} do
      for _, p in ipairs {{}, {w}, {w, b}, {nil, b}} do
        local want = st.group_norm(x:clone():requires_grad_(), groups, p[1],
                                   p[2]):detach()
        local got = st.group_norm(last, groups, p[1], p[2])
        near(want, st.group_norm(x, groups, p[1], p[2]))
        near(want, got)
        assert.is_true(got:is_contiguous {memory_format = "channels_last"})
      end
    end
  end)

  it("of half precision is computed in float32", function()
    local x, w = any(4, 6, 8):add(30), any(8)
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local h, v = x:to(dtype), w:to(dtype)
      local function exact(name, first, ...)
        local got = st[name](first, ...)
        assert.equal(dtype, got.dtype)
        local more = {...}
        for i, t in ipairs(more) do
          if st.is_tensor(t) then more[i] = t:to "float32" end
        end
        local want = st[name](first:to "float32", unpack(more))
        near(want:to(dtype), got, 0)
      end
      exact("layer_norm", h, {8}, v, v)
      exact("rms_norm", h, {8}, v)
      exact("group_norm", h, 2)
      exact("batch_norm", h, {training = true})
      exact("instance_norm", h)
    end
  end)

  it("of nothing is nothing", function()
    assert.same({0, 4}, st.layer_norm(st.zeros {0, 4}, {4}):size())
    -- several values, or one of each of several samples, as in PyTorch
    assert.same({1, 4}, st.group_norm(st.ones(1, 4), 2):size())
    assert.same({2, 4}, st.group_norm(st.ones(2, 4), 4):size())
    local one = st.native_group_norm(st.ones(1, 4), nil, nil, 1, 4, 1, 4, 1e-5)
    assert.same({1, 4}, one:size())
    assert.same({0, 4, 2}, st.group_norm(st.zeros {0, 4, 2}, 2):size())
    local mean = st.zeros(4)
    local y = st.batch_norm(st.zeros {0, 4}, {
      running_mean = mean, running_var = st.ones(4), training = true})
    assert.same({0, 4}, y:size())
    assert.same({0, 0, 0, 0}, mean:totable())
  end)

  it("knows shapes without elements", function()
    local x = st.empty({2, 4, 3}, {device = "meta"})
    assert.same({2, 4, 3}, st.layer_norm(x, {3}):size())
    assert.same({2, 4, 3}, st.group_norm(x, 2):size())
    assert.same({2, 4, 3}, st.batch_norm(x, {training = true}):size())
  end)

  it("drops its temporaries", function()
    assert.is_true(live() <= before)
  end)
end)

-- -- Tables, gates, noise ----------------------------------------------------

describe("An embedding", function()
  it("has rows for positions, which count from one", function()
    local table = f64({{1, 2}, {3, 4}, {5, 6}})
    assert.same({{{5, 6}, {1, 2}}, {{3, 4}, {3, 4}}},
                st.embedding(table, i64({{3, 1}, {2, 2}})):totable())
    assert.same({3, 4}, st.embedding(table, i64(2)):totable())
    assert.same({{1, 2}}, st.embedding(table, i64 {0}, {base = 0}):totable())
    assert.same({0, 2}, st.embedding(table, st.zeros({0}, {dtype = "int64"}))
                        :size())
  end)

  it("has the same elements whatever their gradients", function()
    local table, at = any(4, 3), i64 {1, 4, 4, 2}
    local want = st.embedding(table, at)
    near(want, st.embedding(table, at, {padding_idx = 4}), 0)
    near(want, st.embedding(table, at, {scale_grad_by_freq = true}), 0)
    near(want, st.embedding(table, at, {sparse = true}), 0)
  end)
end)

describe("one_hot", function()
  it("has a one where the class says", function()
    assert.same({{0, 1, 0}, {1, 0, 0}, {0, 0, 1}},
                st.one_hot(i64 {2, 1, 3}):totable())
    assert.same({{0, 1, 0, 0}}, st.one_hot(i64 {2}, 4):totable())
    assert.same({0, 1}, st.one_hot(i64(1), 2, {base = 0}):totable())
    assert.same({2, 2, 5}, st.one_hot(i64({{1, 2}, {3, 4}}), 5):size())
    assert.equal("int64", st.one_hot(i64 {1}).dtype)
    assert.same({0, 3}, st.one_hot(i64 {}, 3):size())
  end)

  it("knows shapes without elements", function()
    local m = st.empty({2}, {device = "meta", dtype = "int64"})
    assert.same({2, 3}, st.one_hot(m, 3):size())
  end)
end)

describe("glu", function()
  it("gates one half by the other", function()
    local x = any(3, 4)
    local a, b = x:slice(2, 1, 2), x:slice(2, 3, 4)
    near(a * b:sigmoid(), st.glu(x))
    near(st.glu(x:t():contiguous():t(), 2), st.glu(x, -1))
    near(x[1] * x[3]:sigmoid(), st.glu(x:slice(1, 1, 3, 2), 1):squeeze())
  end)
end)

describe("Dropout", function()
  local ones
  setup(function() ones = st.ones {200, 50} end)
  teardown(function() ones = nil end)

  --- How many elements are 0, when all others are `kept`.
  local function dropped(t, kept)
    local zeros = t:eq(0):sum():item()
    assert.equal(t:numel(), zeros + t:eq(kept):sum():item())
    return zeros / t:numel()
  end

  it("drops a share, and makes up for it", function()
    st.manual_seed(1)
    near(0.25, dropped(st.dropout(ones, 0.25), st.tensor(1 / 0.75):item()),
         0.02)
    near(0.5, dropped(st.dropout(ones), 2), 0.02)
    local t = ones:clone()
    assert.equal(t, t:dropout_(0.5))
    near(0.5, dropped(t, 2), 0.02)
  end)

  it("is the generator's", function()
    st.manual_seed(9)
    local first = st.dropout(ones)
    local second = st.dropout(ones)
    st.manual_seed(9)
    assert.is_true(first:equal(st.dropout(ones)))
    assert.is_false(first:equal(second))
  end)

  it("does nothing but in training", function()
    assert.is_true(ones:equal(st.dropout(ones, 0.5, false)))
    assert.is_true(ones:equal(st.dropout(ones, 0)))
    assert.is_true(ones:equal(st.feature_dropout(ones, 0.5, false)))
    local kept, mask = st.native_dropout(ones, 0.5, false)
    assert.is_true(ones:equal(kept))
    assert.is_true(mask:all():item())
  end)

  it("of all is zero", function()
    assert.equal(0, st.dropout(ones, 1):abs():sum():item())
    assert.equal(0, st.native_dropout(ones, 1, true):abs():sum():item())
  end)

  it("of features takes whole channels", function()
    local t = st.feature_dropout(st.ones {20, 10, 7}, 0.5)
    local each = t:mean({3})
    near(0.5, dropped(each, 2), 0.15)
  end)

  it("says what it kept", function()
    local t, mask = st.native_dropout(ones, 0.5, true)
    assert.equal("bool", mask.dtype)
    assert.is_true(t:equal(mask:to "float32" * 2))
  end)

  it("knows shapes without elements", function()
    local m = st.empty({2, 3}, {device = "meta"})
    assert.same({2, 3}, st.dropout(m):size())
  end)
end)

-- -- Attention ---------------------------------------------------------------

--- The rows of value, weighed by how query and key agree; may(i, j) says
-- whether query i may look at key j, bias(i, j) is added.
local function attention(q, k, v, scale, may, bias)
  local out = {}
  for i, query in ipairs(q) do
    local weights, total, row = {}, 0, {}
    for j, key in ipairs(k) do
      local score = bias and bias(i, j) or 0
      for d = 1, #query do score = score + query[d] * key[d] * scale end
      weights[j] = (not may or may(i, j)) and exp(score) or 0
      total = total + weights[j]
    end
    for d = 1, #v[1] do
      row[d] = 0
      for j = 1, #k do
        row[d] = row[d] + (total > 0 and weights[j] / total * v[j][d] or 0)
      end
    end
    out[i] = row
  end
  return out
end

describe("Attention", function()
  local q, k, v, qs, ks, vs
  setup(function()
    st.manual_seed(2)
    q, k, v = any(4, 3), any(5, 3), any(5, 2)
    qs, ks, vs = q:totable(), k:totable(), v:totable()
  end)
  teardown(function() q, k, v = nil, nil, nil end)

  local attend = st.scaled_dot_product_attention

  it("weighs values by how queries and keys agree", function()
    near(attention(qs, ks, vs, 3 ^ -0.5), attend(q, k, v):totable())
    near(attention(qs, ks, vs, 2), attend(q, k, v, {scale = 2}):totable())
  end)

  it("may look back only", function()
    near(attention(qs, ks, vs, 3 ^ -0.5, function(i, j) return j <= i end),
         attend(q, k, v, {is_causal = true}):totable())
  end)

  it("looks where a mask is true, and nowhere for nothing", function()
    local mask = st.tensor {{true, false, true, true, false},
                            {false, false, false, false, false},
                            {true, true, true, true, true},
                            {false, true, false, false, false}}
    local may = mask:totable()
    near(attention(qs, ks, vs, 3 ^ -0.5, function(i, j)
      return may[i][j]
    end), attend(q, k, v, mask):totable())
  end)

  it("adds a mask of numbers", function()
    local mask = any(4, 5)
    mask[2][3] = -inf
    mask[4] = -inf
    local add = mask:totable()
    near(attention(qs, ks, vs, 3 ^ -0.5, nil, function(i, j)
      return add[i][j]
    end), attend(q, k, v, mask):totable())
  end)

  it("goes over batches and heads", function()
    local a, b, c = any(2, 3, 4, 3), any(2, 3, 5, 3), any(2, 3, 5, 2)
    local all = attend(a, b, c)
    assert.same({2, 3, 4, 2}, all:size())
    near(attend(a[2][3], b[2][3], c[2][3]), all[2][3])
    near(all, attend(a:mT():contiguous():mT(), b, c:mT():contiguous():mT()))
  end)

  it("shares heads of keys among those of queries", function()
    local a, b, c = any(4, 4, 3), any(2, 5, 3), any(2, 5, 2)
    local all = attend(a, b, c, {enable_gqa = true})
    for head = 1, 4 do
      local shared = head <= 2 and 1 or 2
      near(attend(a[head], b[shared], c[shared]), all[head])
    end
  end)

  it("drops weights", function()
    local one = attend(q, k, v, {dropout_p = 1})
    assert.equal(0, one:abs():sum():item())
  end)

  it("knows shapes without elements", function()
    local m = st.empty({2, 4, 3}, {device = "meta"})
    assert.same({2, 4, 3}, attend(m, m, m, {is_causal = true}):size())
  end)
end)

-- -- Gradients ---------------------------------------------------------------

describe("The gradient of a layer", function()
  local before
  setup(function() before = live() end)

  --- The gradient of the sum of f(leaf) at x.

  it("goes to the rows that were looked up, as often as they were", function()
    local table, at = any(4, 2), i64 {2, 4, 2, 1}
    local function of(options)
      return gradient(table, function(leaf)
        return st.embedding(leaf, at, options)
      end):totable()
    end
    near({{1, 1}, {2, 2}, {0, 0}, {1, 1}}, of {sparse = true})
    near({{1, 1}, {0, 0}, {0, 0}, {1, 1}}, of {padding_idx = 2})
    near({{1, 1}, {1, 1}, {0, 0}, {1, 1}}, of {scale_grad_by_freq = true})
    near({{1, 1}, {1, 1}, {0, 0}, {0, 0}},
         of {scale_grad_by_freq = true, padding_idx = 4})
  end)

  it("does not follow what batch_norm follows", function()
    local x = any(4, 3):requires_grad_()
    local mean, var = st.zeros(3), st.ones(3)
    st.batch_norm(x, {running_mean = mean, running_var = var,
                      training = true}):sum():backward()
    assert.is_false(mean.requires_grad)
    assert.is_false(var.requires_grad)
    near({0, 0, 0}, x.grad:sum({1}):totable(), 1e-9)
  end)

  it("is no more than layer_norm's first result has", function()
    local x = any(4, 3):requires_grad_()
    local y, mean, rstd = st.native_layer_norm(x, {3}, nil, nil, 1e-5)
    assert.is_true(y.requires_grad)
    assert.is_false(mean.requires_grad)
    assert.is_false(rstd.requires_grad)
  end)

  it("is as precise in half precision as float32 is", function()
    local x, w, g = any(6, 8), any(8), any(6, 8)
    local function of(dtype, inner)
      return gradient(x:to(dtype):to(inner), function(leaf)
        return st.layer_norm(leaf, {8}, w:to(dtype):to(inner)) *
               g:to(dtype):to(inner)
      end)
    end
    near(of("bfloat16", "float32"), of("bfloat16", "bfloat16"), 2e-2)
  end)

  it("has derivatives of its own: layer_norm", function()
    local x, w, b = any(3, 4), any(4), any(4)
    for _, t in ipairs {x, w, b} do t:requires_grad_() end
    local function norm(...) return st.layer_norm(..., {4}) end
    assert.is_true(st.gradcheck(norm, {x}))
    local function weighed(t, u, v)
      return st.layer_norm(t, {4}, u, v):pow(3)
    end
    assert.is_true(st.gradgradcheck(weighed, {x, w, b}))
    local function once(t)
      local y = st.layer_norm(t, {4}):pow(2):sum()
      return st.autograd.grad(y, {t}, {create_graph = true})[1]
    end
    assert.is_true(st.gradgradcheck(once, {x}))
  end)

  it("is zero of what attention hides", function()
    local q, k = any(2, 3), any(4, 3)
    local mask = st.tensor {{true, false, true, false},
                            {false, false, false, false}}
    local got = gradient(k, function(leaf)
      return st.scaled_dot_product_attention(q, leaf, leaf:detach(), mask)
    end)
    near({0, 0, 0}, got[2]:totable())
    near({0, 0, 0}, got[4]:totable())
    local none = gradient(q, function(leaf)
      return st.scaled_dot_product_attention(leaf, k, k, mask)
    end)
    near({0, 0, 0}, none[2]:totable())
  end)

  it("leaves nothing behind", function() assert.is_true(live() <= before) end)
end)

-- -- Refusals ----------------------------------------------------------------

local function f(...) return st.zeros({...}) end

local ATTENTION = "scaled_dot_product_attention"

-- operator, arguments, what the message says
local REFUSALS = {
  {"layer_norm", function() return f(2, 3), {2} end,
   "input of shape [2, 3] does not end with normalized_shape [2]"},
  {"layer_norm", function() return f(2, 3), {2, 2, 3} end,
   "input of shape [2, 3] does not end with normalized_shape [2, 2, 3]"},
  {"layer_norm", function() return f(2, 3), {} end,
   "normalized_shape must not be empty"},
  {"layer_norm", function() return f(2, 3), {3}, f(2) end,
   "weight must have shape [3], not [2]"},
  {"layer_norm", function() return f(2, 3), {3}, nil, f(1, 3) end,
   "bias must have shape [3], not [1, 3]"},
  {"rms_norm", function() return f(2, 3), {3}, f(2) end,
   "weight must have shape [3], not [2]"},
  {"group_norm", function() return f(2, 3), 2 end,
   "3 channels cannot be divided into 2 groups"},
  {"group_norm", function() return f(2, 4), 0 end,
   "4 channels cannot be divided into 0 groups"},
  {"group_norm", function() return f(4), 2 end,
   "input needs two dimensions, its shape is [4]"},
  {"group_norm", function() return f(1, 4), 4 end,
   "input of shape [1, 4] has one value per group, which has no variance"},
  {"group_norm", function() return f(1, 2, 1, 1), 2 end,
   "input of shape [1, 2, 1, 1] has one value per group"},
  {"native_group_norm",
   function() return f(2, 4), nil, nil, 2, 4, 2, 2, 0 end,
   "input of shape [2, 4] does not have 2 x 4 x 2 elements"},
  {"batch_norm", function() return f(2, 4), f(3), {training = true} end,
   "weight must have shape [4], not [3]"},
  {"batch_norm", function() return f(2, 4) end,
   "running_mean and running_var are required when not training"},
  {"batch_norm", function() return f(1, 4), {training = true} end,
   "input of shape [1, 4] has one value per channel, which has no variance"},
  {"batch_norm", function() return f(4), {training = true} end,
   "input needs 2 dimensions, its shape is [4]"},
  {"instance_norm", function() return f(2, 4) end,
   "input needs 3 dimensions, its shape is [2, 4]"},
  {"embedding", function() return f(4), i64 {1} end,
   "weight must be a matrix, its shape is [4]"},
  {"embedding", function() return f(4, 2), f(2) end,
   "indices must hold integers, not float32"},
  {"embedding", function() return f(4, 2), i64 {5} end,
   "index 5 is out of range"},
  {"embedding", function() return f(4, 2), i64 {1}, {padding_idx = 5} end,
   "padding_idx 5 is out of range for 4 rows"},
  {"one_hot", function() return f(2) end,
   "self must hold integers, not float32"},
  {"one_hot", function() return i64 {1, 4}, 3 end,
   "class 4 is out of range for 3 classes"},
  {"one_hot", function() return i64 {0, 1} end,
   "class 0 is out of range for 1 classes"},
  {"one_hot", function() return i64 {} end,
   "num_classes is required: self has no elements to infer it from"},
  {"one_hot", function() return i64 {1}, 0 end, "num_classes must be positive"},
  {"glu", function() return f(2, 3) end,
   "dimension 2 of self must have an even size, not 3"},
  {"glu", function() return st.tensor(1) end, "self must have a dimension"},
  {"dropout", function() return f(2), 1.5 end, "p must be in the range from 0"},
  {"feature_dropout", function() return f(2), 0.5 end,
   "input needs two dimensions, its shape is [2]"},
  {ATTENTION, function() return f(2), f(2), f(2) end,
   "query needs two dimensions, its shape is [2]"},
  {ATTENTION, function() return f(2, 2), f(2, 2), i64({{1, 2}}) end,
   "value must have a floating point dtype, not int64"},
  {ATTENTION, function()
     return f(2, 2), f(2, 2), f(2, 2), f(2, 2), {is_causal = true}
   end, "attn_mask and is_causal cannot be used together"},
  {ATTENTION, function()
     return f(3, 2, 2), f(2, 2, 2), f(2, 2, 2), {enable_gqa = true}
   end, "the heads of query, of shape [3, 2, 2], must be a multiple of"},
}

describe("A layer refuses", function()
  for _, row in ipairs(REFUSALS) do
    it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end

  it("training that cannot be followed, before it follows", function()
    local mean = st.zeros(4)
    -- running_var, what is wrong with it
    for _, row in ipairs {
      {st.zeros(3), "must have shape [4], not [3]"},
      {st.zeros(4):requires_grad_(), "must not require a gradient"},
      {st.zeros(4):to "int64", "not int64"},
    } do
      tensors.raises({"batch_norm: running_var", row[2]}, st.batch_norm,
                     any(2, 4), {running_mean = mean, running_var = row[1],
                                 training = true})
      assert.same({0, 0, 0, 0}, mean:totable())
    end
  end)
end)
