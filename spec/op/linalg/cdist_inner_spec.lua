--- Distances between vectors, and products made of other products, each
-- against its formula, number by number.
-- axes: isa

local gradients = require "spec.support.gradients"
local st = require "strided"
local tensors = require "spec.support.tensors"

local abs, max, sqrt = math.abs, math.max, math.sqrt
local ipairs = ipairs

local inf = math.huge

local any, f64 = tensors.any, tensors.f64
local live, near = tensors.live, tensors.near

-- -- Distances ---------------------------------------------------------------

--- The norm of order p of a - b.
local function distance(a, b, p)
  local total, most = 0, 0
  for i = 1, #a do
    local d = abs(a[i] - b[i])
    most = max(most, d)
    if p == 0 then total = total + (d ~= 0 and 1 or 0)
    else total = total + d ^ p end
  end
  if p == inf then return most end
  return p == 0 and total or total ^ (1 / p)
end

local ORDERS = {0, 1, 2, 3, 0.5, inf}

describe("Distances", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(4)
  end)

  it("of all rows from all", function()
    local a, b = any(4, 3), any(5, 3)
    local as, bs = a:totable(), b:totable()
    for _, p in ipairs(ORDERS) do
      local want = {}
      for i, x in ipairs(as) do
        want[i] = {}
        for j, y in ipairs(bs) do want[i][j] = distance(x, y, p) end
      end
      near(want, st.cdist(a, b, p):totable())
      near(want, st.cdist(a:t():contiguous():t(), b, p):totable())
      near(want, st._cdist_forward(a, b, p, nil):totable())
      near(want, st.cdist(a:to "float32", b:to "float32", p):totable(), 1e-5)
    end
  end)

  it("of batches that broadcast", function()
    local a, b = any(2, 1, 4, 3), any(3, 5, 3)
    local all = st.cdist(a, b)
    assert.same({2, 3, 4, 5}, all:size())
    near(st.cdist(a[2][1], b[3]):totable(), all[2][3]:totable())
  end)

  it("of a tensor's rows from each other, each pair once", function()
    local t = any(4, 3)
    local rows = t:totable()
    for _, p in ipairs(ORDERS) do
      local want = {}
      for i = 1, 4 do
        for j = i + 1, 4 do
          want[#want + 1] = distance(rows[i], rows[j], p)
        end
      end
      near(want, st.pdist(t, p):totable())
      near(want, st._pdist_forward(t, p):totable())
    end
    assert.same({0}, st.pdist(any(1, 3)):size())
    assert.same({0}, st.pdist(any(0, 3)):size())
  end)

  it("of pairs of vectors", function()
    local a, b = any(4, 3), any(4, 3)
    local as, bs = a:totable(), b:totable()
    for _, p in ipairs {1, 2, 3} do
      local want = {}
      for i = 1, 4 do want[i] = distance(as[i], bs[i], p) end
      near(want, st.pairwise_distance(a, b, p, 0):totable())
    end
    near(1e-6 * sqrt(3), st.pairwise_distance(a[1], a[1]):item())
    assert.same({4, 1}, st.pairwise_distance(a, b, {keepdim = true}):size())
  end)

  it("of whole tensors", function()
    local a, b = any(4, 3), any(4, 3)
    local x, y = a:view(-1):totable(), b:view(-1):totable()
    for _, p in ipairs(ORDERS) do
      near(distance(x, y, p), st.dist(a, b, p):item())
    end
    near(st.dist(a, b[1]:expand(4, 3)):item(), st.dist(a, b[1]):item())
  end)

  it("by angles", function()
    local a, b = f64({{1, 0}, {3, 4}, {0, 0}}), f64({{2, 0}, {4, -3}, {1, 1}})
    near({1, 0, 0}, st.cosine_similarity(a, b):totable())
    near({1, 0, 0}, st.cosine_similarity(a:t(), b:t(), 1):totable())
    near({1, 0.6, 0}, st.cosine_similarity(a, b[1]:view(1, 2)):totable())
    near(0.5, st.cosine_similarity(f64 {1, 0}, f64 {1, sqrt(3)}, 1):item())
    near(1e-3, st.cosine_similarity(f64 {1e-3}, f64 {5}, 1, 1):item())
  end)

  it("of vectors without elements are zero", function()
    assert.same({{0, 0}}, st.cdist(any(1, 0), any(2, 0)):totable())
    assert.same({0, 2}, st.cdist(any(0, 3), any(2, 3)):size())
  end)

  it("have shapes without elements", function()
    local m = st.empty({4, 3}, {device = "meta"})
    assert.same({4, 4}, st.cdist(m, m):size())
    assert.same({6}, st.pdist(m):size())
    assert.same({4}, st.cosine_similarity(m, m):size())
  end)

  it("drop their temporaries", function() assert.is_true(live() <= before) end)
end)

-- -- Products ----------------------------------------------------------------

describe("Products", function()
  it("along the last dimensions", function()
    local a, b = any(2, 3, 4), any(5, 4)
    local want = a:matmul(b:t())
    near(want:totable(), st.inner(a, b):totable())
    near(want:totable(), st.inner(a:mT():contiguous():mT(), b):totable())
    assert.same({2, 3, 5}, st.inner(a, b):size())
    near(a:mul(3):totable(), st.inner(a, f64(3)):totable())
    near((a[1][1] * b[1]):sum():item(), st.inner(a[1][1], b[1]):item())
    local out = st.empty({0}, {dtype = "float64"})
    assert.equal(out, st.inner(a, b, {out = out}))
    near(want:totable(), out:totable())
  end)

  it("of pairs of vectors, the first conjugated", function()
    local a, b = any(4, 3), any(4, 3)
    near((a * b):sum({2}):totable(), st.linalg_vecdot(a, b):totable())
    near((a * b):sum({1}):totable(),
         st.linalg_vecdot(a, b, {dim = 1}):totable())
    local z = st.view_as_complex(st.stack({a, b}, 3))
    near((a * a + b * b):sum({2}):totable(),
         st.real(st.linalg_vecdot(z, z)):totable())
  end)

  it("of vectors with vectors, added", function()
    local t, a, b = any(3, 4), any(3), any(4)
    local product = a:view(3, 1) * b
    near((t + product):totable(), st.addr(t, a, b):totable())
    local options = {beta = 0.5, alpha = -2}
    near((t * 0.5 - product * 2):totable(),
         st.addr(t, a, b, options):totable())
    near((t[1] + product):totable(), st.addr(t[1], a, b):totable())
    local nan = st.full({3, 4}, 0 / 0, {dtype = "float64"})
    near(product:totable(), st.addr(nan, a, b, {beta = 0}):totable())
    local kept = t:clone()
    assert.equal(t, t:addr_(a, b, options))
    near((kept * 0.5 - product * 2):totable(), t:totable())
  end)

  it("of truth values are truth values", function()
    local yes, no = st.tensor {true, false}, st.tensor {false, true}
    local t = st.tensor {{true, false}, {false, false}}
    assert.same({{true, true}, {false, false}}, st.addr(t, yes, no):totable())
    assert.same({{false, true}, {false, false}},
                st.addr(t, yes, no, {beta = 0, alpha = 2}):totable())
  end)

  it("of batches, summed and added", function()
    local t, a, b = any(3, 4), any(5, 3, 2), any(5, 2, 4)
    local product = a:bmm(b):sum({1})
    near((t + product):totable(), st.addbmm(t, a, b):totable())
    local options = {beta = 0.5, alpha = -2}
    local want = t * 0.5 - product * 2
    near(want:totable(), st.addbmm(t, a:mT():contiguous():mT(), b,
                                   options):totable())
    local out = st.empty({3, 4}, {dtype = "float64"})
    st.addbmm(t, a, b, {beta = 0.5, alpha = -2, out = out})
    near(want:totable(), out:totable())
    assert.equal(t, t:addbmm_(a, b, options))
    near(want:totable(), t:totable())
  end)

  it("have shapes without elements", function()
    local m = st.empty({2, 3}, {device = "meta"})
    assert.same({2, 2}, st.inner(m, m):size())
    assert.same({2, 3}, st.addr(m, m:select(2, 1), m:select(1, 1)):size())
  end)
end)

-- -- Gradients ---------------------------------------------------------------

describe("The gradient of a distance", function()
  local before
  setup(function() before = live() end)

  local function gradient(x, f)
    return gradients.gradient(x, f):totable()
  end

  it("that is zero is zero", function()
    local a = f64({{1, 2}, {1, 2}})
    for _, p in ipairs {0, 1, 2, 3, inf} do
      near({{0, 0}, {0, 0}}, gradient(a, function(leaf)
        return st.cdist(leaf, leaf:detach(), p)
      end))
      if p > 0 then
        near({{0, 0}, {0, 0}}, gradient(a, function(leaf)
          return st.pdist(leaf, p)
        end))
      end
    end
    near({{0, 0}, {0, 0}}, gradient(a, function(leaf)
      return st.dist(leaf, a)
    end))
  end)

  it("does not ask how it is computed", function()
    local a, b, g = any(40, 3):add(1e3), any(30, 3):add(1e3), any(40, 30)
    for _, p in ipairs {1, 2, 3} do
      local want = gradient(a, function(leaf)
        local d = leaf:unsqueeze(2) - b
        return d:abs():pow(p):sum({3}):pow(1 / p) * g
      end)
      for mode = 0, 2 do
        near(want, gradient(a, function(leaf)
          return st.cdist(leaf, b, p, mode) * g
        end), 1e-9)
      end
    end
  end)

  it("is that of many rows, some at a time", function()
    local a, b = any(1100, 20), any(60, 20)
    local want = (a:unsqueeze(2) - b):sign():sum({2}):totable()
    near(want, gradient(a, function(leaf) return st.cdist(leaf, b, 1) end))
    near((a:unsqueeze(2) - b):abs():sum({3}):totable(),
         st.cdist(a, b, 1):totable())
  end)

  it("leaves nothing behind", function() assert.is_true(live() <= before) end)
end)

-- -- Refusals ----------------------------------------------------------------

local function f(...) return st.zeros({...}) end

-- operator, arguments, what the message says
local REFUSALS = {
  {"cdist", function() return f(2, 3), f(2, 4) end,
   "x1 and x2 must have rows of the same size, their shapes are [2, 3] and"},
  {"cdist", function() return f(3), f(2, 3) end,
   "x1 and x2 must have at least two dimensions, their shapes are [3] and"},
  {"cdist", function() return f(2, 3), f(2, 3), -1 end,
   "p must not be negative, it is -1"},
  {"pdist", function() return f(3) end,
   "self must be a matrix, its shape is [3]"},
  {"inner", function() return f(2, 3), f(2) end,
   "the last dimensions of shapes [2, 3] and [2] have different sizes"},
  {"addbmm", function() return f(2, 2), f(2, 2), f(3, 2, 2) end,
   "batch1 and batch2 must have three dimensions, their shapes are [2, 2]"},
  {"addbmm", function() return f(2, 2), f(2, 2, 2), f(3, 2, 2) end,
   "batches of shapes [2, 2, 2] and [3, 2, 2] cannot be multiplied"},
  {"addr_", function() return f(2), f(3), f(2) end,
   "self has shape [2], but the result has shape [3, 2]"},
  {"pairwise_distance", function() return f(2, 3), f(2, 4) end,
   "shapes [2, 3] and [2, 4] do not broadcast"},
  {"cosine_similarity", function() return f(2, 3), f(2, 4) end,
   "shapes [2, 3] and [2, 4] do not broadcast"},
  {"linalg_vecdot", function() return f(2, 3), f(2, 4) end,
   "shapes [2, 3] and [2, 4] do not broadcast"},
  {"dist", function() return f(2, 3), f(2, 4) end,
   "shapes [2, 3] and [2, 4] do not broadcast"},
}

describe("A distance or product refuses", function()
  for _, row in ipairs(REFUSALS) do
    it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end
end)
