--- Gradients at the awkward places: zeros, NaNs, ties, empty tensors, tensors
-- that were written since, and gradients of gradients. The figures are those
-- of PyTorch 2.6, or of a closed form.
-- axes: isa

local gradients = require "spec.support.gradients"
local elements_near = require("spec.support.tensors").elements_near
local st = require "strided"

local failure, leaf = gradients.failure, gradients.leaf

local unpack = unpack or table.unpack

local huge, nan = math.huge, 0 / 0
local complex = {dtype = "complex128"}

local at_start
setup(function() at_start = gradients.live() end)
teardown(function() assert.is_true(gradients.live() <= at_start) end)

-- -- Looking -----------------------------------------------------------------

--- The same numbers, NaN for NaN.
local function check(want, got) elements_near(got, want, 1e-12) end

--- The gradient of f at x, all ones coming in; with a graph if asked.
local function slope(f, x, create_graph)
  local y = f(x)
  return st.grad(y, x, {grad_outputs = st.ones_like(y),
                        create_graph = create_graph})
end

--- The gradient of that.
local function bend(f, x)
  local g = slope(f, x, true)
  return st.grad(g, x, {grad_outputs = st.ones_like(g)})
end

-- -- Values ------------------------------------------------------------------

local FIRST = {
  {"prod, where nothing is 0", {2, 3, 4}, st.prod, {12, 8, 6}},
  {"prod with one 0", {2, 0, 4}, st.prod, {0, 8, 0}},
  {"prod with two 0", {0, 0, 4}, st.prod, {0, 0, 0}},
  {"prod of a NaN", {nan, 1, 2}, st.prod, {nan, nan, nan}},
  {"prod of an infinity", {huge, 1, 1}, st.prod, {nan, huge, huge}},
  {"cumprod", {2, 3, 4}, function(x) return x:cumprod(1) end, {16, 10, 6}},
  {"cumprod of a NaN", {nan, 1, 2}, function(x) return x:cumprod(1) end,
   {nan, nan, nan}},
  {"max, shared by ties", {1, 3, 3}, st.max, {0, 0.5, 0.5}},
  {"max of a NaN", {nan, 1, 2}, st.max, {1, 0, 0}},
  {"amax, shared by ties", {1, 3, 3}, function(x) return x:amax {1} end,
   {0, 0.5, 0.5}},
  {"amax of a NaN", {nan, 1, 2}, function(x) return x:amax {1} end,
   {nan, nan, nan}},
  {"max whose gradient is NaN", {2, 1}, function(x) return x:max() * nan end,
   {nan, 0}},
  {"a norm of order 1/2 where it is 0", {0, 0},
   function(x) return st.linalg_vector_norm(x, 0.5) end, {0, 0}},
  {"prelu with an infinite weight", {-2, 3}, function(x)
    return st.prelu(x, st.tensor({huge}, {dtype = "float64"}))
  end, {huge, 1}},
  {"prelu of infinity by its weight", {0.5}, function(w)
    return st.prelu(st.tensor({huge, -2}, {dtype = "float64"}), w)
  end, {-2}},
  {"special_xlog1py behind what was written over", {-3, 2}, function(x)
    return st.special_xlog1py(x, x):fill_(1)
  end, {0, 0}},
}

local SECOND = {
  {"cumprod", {2, 3, 4}, function(x) return x:cumprod(1) end, {8, 7, 5}},
  {"cumprod with a 0", {2, 0, 4}, function(x) return x:cumprod(1) end,
   {5, 7, 2}},
  {"prod", {2, 3, 4}, st.prod, {7, 6, 5}},
  {"prod with two 0", {0, 0, 4}, st.prod, {4, 4, 0}},
  {"logit outside of 0 to 1", {2, 0.5, -1}, st.logit, {0, 0, 0}},
  {"logit beyond eps", {0.1, 0.5, 0.9},
   function(x) return x:logit(0.25) end, {0, 0, 0}},
  {"softplus at its threshold", {0.5, 0.25},
   function(x) return st.softplus(x, 2, 1) end,
   {0, 0.470007424403189}},
  {"a norm that is 0", {0, 0}, st.linalg_vector_norm, {nan, nan}},
}

describe("The gradient of", function()
  for _, row in ipairs(FIRST) do
    local name, x, f, want = row[1], row[2], row[3], row[4]
    it(name, function() check(want, slope(f, leaf(unpack(x)))) end)
  end

  it("a real result of complex elements is real on the way", function()
    local x = st.tensor({st.complex(1, 5), st.complex(1, -2)}, complex)
      :requires_grad_()
    local y = x:softmax(1, {dtype = "float64"})
    local g = st.grad(y, x, {grad_outputs = st.tensor({4, 0},
                                                      {dtype = "float64"})})
    check({1, 0, -1, 0}, st.view_as_real(g))
  end)

  it("the first power of a complex 0 is 1", function()
    local x = st.zeros(2, complex):requires_grad_()
    check({1, 0, 1, 0}, st.view_as_real(slope(function(z)
      return z:pow(1)
    end, x)))
    check({1, 0}, st.view_as_real(st.zeros(1, complex):pow(0)))
  end)
end)

describe("The gradient of the gradient of", function()
  for _, row in ipairs(SECOND) do
    local name, x, f, want = row[1], row[2], row[3], row[4]
    it(name, function() check(want, bend(f, leaf(unpack(x)))) end)
  end
end)

-- -- Whose gradient can be derived once more ---------------------------------

local function classes(x) return st.nll_loss(x, st.tensor {1, 2}) end
local function empty(...) return st.zeros({...}, {dtype = "float64"}) end
local function two_by_two() return leaf(1, 2, 3, 4):detach():view(2, 2) end

local ATTACHED = {
  {"nll_loss", two_by_two(), classes, true},
  {"prelu with a plain weight", two_by_two(), function(x)
    return st.prelu(x, st.tensor({0.5}, {dtype = "float64"}))
  end, true},
  {"prod of no elements", empty(0), st.prod, true},
  {"prod of none along a dimension", empty(3, 0),
   function(x) return x:prod(2) end, true},
  {"cdist to no points", empty(2, 2),
   function(x) return st.cdist(x, empty(0, 2)) end, true},
  {"cdist of order 0", two_by_two(),
   function(x) return st.cdist(x, two_by_two(), 0) end, true},
  {"grid_sampler that takes the nearest", empty(1, 1, 2, 2), function(x)
    return st.grid_sampler(x, empty(1, 2, 2, 2), 1, 0, false)
  end, true},
  {"an adaptive mean of everything", empty(1, 2, 4),
   function(x) return st.adaptive_avg_pool1d(x, {1}) end, false},
  {"an adaptive mean of shares", empty(1, 2, 4),
   function(x) return st.adaptive_avg_pool1d(x, {2}) end, true},
  {"cumprod over one element", empty(3, 1),
   function(x) return x:cumprod(2) end, false},
}

describe("The gradient of the gradient by empty tensors", function()
  for name, f in pairs {
    linalg_slogdet = function(x) return (select(2, st.linalg_slogdet(x))) end,
    logdet = st.logdet, linalg_det = st.linalg_det,
    ["repeat"] = function(x)
      return st["repeat"](x, x:dim() == 3 and {2, 1, 0} or {0, 2})
    end,
  } do
    it("is that of " .. name, function()
      for _, shape in ipairs {{0, 0}, {2, 0, 0}, {0, 3, 3}} do
        for _, dtype in ipairs {"float64", "complex128"} do
          local x = st.ones(shape, {dtype = dtype}):requires_grad_()
          local u = st.ones_like(f(x)):requires_grad_()
          local dx = st.grad(f(x), x, {grad_outputs = u, create_graph = true})
          assert.same(shape, {unpack(dx.shape)})
          local two = st.grad(dx, u, {grad_outputs = st.ones_like(dx)})
          assert.is_true(two:equal(st.zeros_like(u)))
        end
      end
    end)
  end
end)

describe("The gradient with a graph", function()
  for _, row in ipairs(ATTACHED) do
    local name, x, f, want = row[1], row[2], row[3], row[4]
    it(("of %s %s one itself"):format(name, want and "requires" or "does not "
       .. "require"), function()
      local g = slope(f, x:clone():requires_grad_(), true)
      assert.equal(want, g.requires_grad)
    end)
  end

  it("of the bias of batch_norm depends on the weight", function()
    local w, b = leaf(1, 2), leaf(0, 0)
    local y = st.batch_norm(st.randn({3, 2}, {dtype = "float64"}), w, b, nil,
                            nil, true, 0.1, 1e-5)
    local g = st.grad(y, b, {grad_outputs = st.ones_like(y),
                             create_graph = true})
    assert.is_true(g.requires_grad)
    check({0, 0}, (st.grad(g, w, {grad_outputs = st.ones_like(g)})))
  end)
end)

-- -- What was written --------------------------------------------------------

local I = st.tensor {1, 2}

--- f(a, b), of clones of leaves; which of {a, b, result} is written then, and
-- whether the backward pass refuses.
local WRITTEN = {
  {"sgn", function(a) return st.sgn(a) end, "a", true},
  {"sgn", function(a) return st.sgn(a) end, "result", true},
  {"take", function(a) return st.take(a, I) end, "a", true},
  {"gather", function(a) return a:gather(1, I) end, "a", true},
  {"cummax", function(a) return (a:cummax(1)) end, "a", true},
  {"masked_select", function(a) return a:masked_select(a:gt(0)) end, "a",
   true},
  {"index_add", function(a, b) return st.index_add(a, 1, I, b) end, "b", true},
  {"index_add", function(a, b) return st.index_add(a, 1, I, b) end, "a",
   false},
  {"a rounded division", function(a, b)
    return st.div(a, b, {rounding_mode = "floor"})
  end, "b", true},
  {"a power of plain exponents", function(a, b)
    return a:pow(b:detach():clone())
  end, "result", true},
  {"a quotient added to what requires a gradient alone", function(a)
    local plain = st.ones(2, {dtype = "float64"})
    return st.addcdiv(a, plain, plain), plain
  end, "other", true},
  {"mse_loss", function(a, b) return st.mse_loss(a, b) end, "b", true},
  {"add", function(a, b) return a + b end, "a", false},
  {"index_select", function(a) return a:index_select(1, I) end, "a", false},
}

describe("A backward pass", function()
  for _, row in ipairs(WRITTEN) do
    local name, f, which, refuses = row[1], row[2], row[3], row[4]
    local text = "%s where %s of %s was written"
    it(text:format(refuses and "refuses" or "goes on", which, name), function()
      local x, y = leaf(2, 3), leaf(4, 5)
      local a, b = x:clone(), y:clone()
      local result, other = f(a, b)
      local target = result + 0
      local written = ({a = a, b = b, result = result, other = other})[which]
      written:add_(1)
      local function run()
        return st.grad(target, {x, y}, {
          grad_outputs = st.ones_like(target), allow_unused = true,
        })
      end
      if refuses then
        assert.truthy(failure(run):find("was written in place", 1, true))
      else
        run()
      end
    end)
  end

  it("passes a view that requires nothing and was scaled by what does",
     function()
    local x = leaf(3)
    local base = st.tensor({1, 2}, {dtype = "float64"})
    local view = base:view(2)
    view:mul_(x)
    check({3}, (st.grad(base:sum(), x)))
  end)

  it("runs once through a view that was written", function()
    local x = leaf(1, 2)
    local base = x:clone()
    base:select(1, 1):mul_(2)
    local sum = base:sum()
    sum:backward()
    check({2, 1}, x.grad)
    assert.truthy(failure(sum.backward, sum):find("retain_graph", 1, true))
  end)

  it("gives a view made within no_grad no gradient", function()
    local x = leaf(1, 2)
    local view = st.no_grad(x.view, x, 2, 1)
    local y = view * 2 + x:view(2, 1)
    assert.is_nil((st.grad(y:sum(), view, {allow_unused = true})))
    assert.truthy(failure(st.grad, (view * 2 + x:view(2, 1)):sum(), view)
                  :find("do not depend on input 1", 1, true))
  end)

  it("takes such a view for what requires a gradient when saved", function()
    local x, y = leaf(1, 2), leaf(3, 4)
    local view = st.no_grad(y.view, y, 2)
    local g = st.grad((x * view):sum(), x, {create_graph = true})
    check({3, 4}, g)
    assert.is_true(g.requires_grad)
    assert.is_nil((st.grad(g:sum(), y, {allow_unused = true})))
  end)

  it("lays gradients out like their leaves", function()
    local x = st.empty_strided({2, 3}, {1, 2}):fill_(1):requires_grad_()
    local y = (x * 2):sum()
    y:backward()
    assert.same({1, 2}, {unpack(x.grad:stride())})
    local holes = st.zeros(2, 6):slice(2, 1, 7, 2):detach():requires_grad_()
    y = (holes * 2):sum()
    y:backward()
    assert.same({3, 1}, {unpack(holes.grad:stride())})
  end)

  it("divides by how often a row was taken, in full precision", function()
    local rows = leaf(1, 2):view(2, 1):detach():requires_grad_()
    st.embedding(rows, st.tensor {1, 1, 1}, nil, true):sum():backward()
    check({1, 0}, rows.grad)
    rows.grad = nil
    local taken = st.embedding(rows, st.tensor {1, 1, 1}, nil, true)
    taken:backward(st.tensor({{1}, {0}, {0}}, {dtype = "float64"}))
    check({1 / 3, 0}, rows.grad)
  end)

  it("gives what addr takes zero times a gradient of zeros", function()
    local x, a, b = st.full({1, 2}, nan, {dtype = "float64"})
      :requires_grad_(), leaf(3), leaf(1, 2)
    local y = st.addr(x, a, b, {beta = 0})
    check({3, 6}, y)
    local sum = y:sum()
    sum:backward()
    check({0, 0}, x.grad)
    check({3}, a.grad)
  end)

  it("needs nothing for a view made within no_grad", function()
    local x, y = leaf(5, 7), leaf(2, 4)
    local a, b = x:clone(), y:clone()
    local view = st.no_grad(b.view, b, 2)
    local z = st.fmod(a, view)
    a:add_(1) -- would be read for the gradient of the view
    check({1, 1}, (st.grad(z, x, {grad_outputs = st.ones_like(z)})))
  end)
end)
