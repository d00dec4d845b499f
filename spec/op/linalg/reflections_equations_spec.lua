--- geqrf and products of its reflections, eigenvalues of any matrices, least
-- squares, LDL factors: shapes, layouts, out=, failures, gradients. Their
-- errors are in decomposition_quality_spec.lua.
-- axes: isa threads

local gradients = require "spec.support.gradients"
local lapack = require "spec.support.lapack"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, next, pairs = ipairs, next, pairs
local unpack = unpack or table.unpack

local f64, near, raises = tensors.f64, tensors.near, tensors.raises
local random, same = matrices.random, matrices.same
local has_columns, layouts = matrices.has_columns, matrices.layouts

local function any(...) return random("float64", {...}) end

local function it_of(operator) return lapack.it_of(operator, it, pending) end
local it_of_eig = it_of "linalg_eig"

local function empty(...) return st.empty({...}, {dtype = "float64"}) end

-- -- Values ------------------------------------------------------------------

describe("Of known matrices,", function()
  it_of_eig("the eigenvalues are those of the books", function()
    -- a rotation by 90 degrees has the values i and -i
    local values = st.linalg_eigvals(f64 {{0, -1}, {1, 0}})
    assert.equal("complex128", values.dtype)
    near({0, 0}, st.real(values):totable())
    near({-1, 1}, st.imag(values):sort():totable())
    local triangle = st.linalg_eigvals(f64 {{1, 5, 7}, {0, 2, 9}, {0, 0, 4}})
    near({1, 2, 4}, st.real(triangle):sort():totable())
  end)

  it("a line is fitted as Gauss does", function()
    -- NumPy's example: y = m x + c
    local A = f64 {{0, 1}, {1, 1}, {2, 1}, {3, 1}}
    local y = f64 {-1, 0.2, 0.9, 2.1}
    for _, driver in ipairs {"gelsy", "gels", "gelsd", "gelss"} do
      local x, residuals, rank, values = st.linalg_lstsq(A, y,
                                                         {driver = driver})
      near({1, -0.95}, x:totable())
      if driver ~= "gelsy" then near({0.05}, residuals:totable()) end
      if driver ~= "gels" then assert.equal(2, rank:item()) end
      assert.equal(driver:find "gels[ds]" and 2 or 0, values:numel())
    end
  end)

  it("one of deficient rank has the shortest solution, and no residuals",
     function()
    local A, b = f64 {{1, 1}, {1, 1}, {1, 1}}, f64 {{1}, {2}, {6}}
    for _, driver in ipairs {"gelsy", "gelsd", "gelss"} do
      local x, residuals, rank = st.linalg_lstsq(A, b, {driver = driver})
      near({{1.5}, {1.5}}, x:totable())
      assert.same({0}, residuals:size())
      assert.equal(1, rank:item())
    end
    local _, _, rank = st.linalg_lstsq(f64 {{1, 0}, {0, 1e-3}}, f64 {1, 1},
                                       1e-2)
    assert.equal(1, rank:item())
  end)

  it("LDL factors multiply to the matrix", function()
    -- D has a block of two rows
    local LD, pivots = st.linalg_ldl_factor(f64 {{0, 2}, {2, 0}})
    assert.same({-2, -2}, tensors.lists(pivots))
    near({{0, 0}, {2, 0}}, LD:totable())
    LD, pivots = st.linalg_ldl_factor(f64 {{4, 9}, {2, 6}})
    assert.same({1, 2}, tensors.lists(pivots))
    near({{4, 0}, {0.5, 5}}, LD:totable())
  end)
end)

describe("svd", function()
  it("has the vectors of linalg_svd, or zeros", function()
    local a = random("complex128", {2, 4, 3})
    for _, some in ipairs {true, false} do
      local U, S, V = st.svd(a, some)
      local U2, S2, Vh = st.linalg_svd(a, not some)
      same(U2, U, 0)
      same(S2, S, 0)
      same(Vh:mH():resolve_conj(), V:resolve_conj(), 0)
    end
    local U, S, V = st.svd(a, true, false)
    same(st.zeros({2, 4, 4}, {dtype = "complex128"}), U, 0)
    same(st.linalg_svdvals(a), S, 0)
    same(st.zeros({2, 3, 3}, {dtype = "complex128"}), V, 0)
  end)

  it("of low rank is found from random directions", function()
    st.manual_seed(5)
    for _, dtype in ipairs {"float64", "complex128"} do
      local a = random(dtype, {2, 20, 3}):matmul(random(dtype, {2, 3, 12}))
      for _, t in pairs(layouts(a)) do
        local U, S, V = st.svd_lowrank(t, 4)
        assert.same({2, 20, 4}, U:size())
        assert.same({2, 12, 4}, V:size())
        same(a, (U * S:to(dtype):unsqueeze(-2)):matmul(V:mH()), 1e-9)
        local M = a:mean({-2}, true)
        local _, shifted = st.svd_lowrank(t, 4, 2, M)
        near(st.linalg_svdvals(a - M):narrow(-1, 1, 4):totable(),
             shifted:totable(), 1e-9)
        local _, components = st.pca_lowrank(t, 4)
        near(shifted:totable(), components:totable(), 1e-9)
      end
    end
    local U, S, V = st.pca_lowrank(st.arange(0, 12):view(4, 3))
    assert.equal("float32", S.dtype)
    assert.same({4, 3}, U:size())
    assert.same({3, 3}, V:size())
  end)
end)

describe("In every layout", function()
  setup(function() st.manual_seed(21) end)

  it("an input gives the same", function()
    for dtype, tolerance in pairs(matrices.DTYPES) do
      local a, b = random(dtype, {2, 5, 3}), random(dtype, {2, 5, 2})
      local square = random(dtype, {2, 4, 4}, 9)
      local packed, tau = st.geqrf(a)
      has_columns(packed)
      local Q = st.linalg_householder_product(packed, tau)
      has_columns(Q)
      same(Q, st.orgqr(packed, tau), 0)
      local x = st.linalg_lstsq(a, b)
      local P, L, U = st.linalg_lu(a)
      for name, t in pairs(layouts(a)) do
        same(packed, st.geqrf(t), tolerance)
        same(x, st.linalg_lstsq(t, layouts(b)[name]), tolerance)
        same(P:matmul(L):matmul(U), t, tolerance)
      end
      for name, t in pairs(layouts(packed)) do
        same(Q, st.linalg_householder_product(t, layouts(tau)[name]),
             tolerance)
        same(Q:mH():matmul(a), st.ormqr(t, layouts(tau)[name], layouts(a)[name],
                                        true, true):narrow(-2, 1, 3),
             tolerance)
      end
      local h = square + square:mT()
      local LD, pivots = st.linalg_ldl_factor(h)
      has_columns(LD)
      for name, t in pairs(layouts(LD)) do
        local given = layouts(square)[name]
        same(given, h:matmul(st.linalg_ldl_solve(t, pivots, given)), tolerance)
      end
    end
  end)

  it_of_eig("a matrix has the same eigenvalues", function()
    for dtype, tolerance in pairs(matrices.DTYPES) do
      local square = random(dtype, {2, 4, 4}, 9)
      local values = st.linalg_eigvals(square)
      for _, t in pairs(layouts(square)) do
        same(values:sum(-1), st.linalg_eigvals(t):sum(-1), tolerance)
      end
    end
  end)

  it("batches of equations broadcast", function()
    local A, b = any(3, 1, 4, 2), any(2, 4, 1)
    local x, residuals, rank, values = st.linalg_lstsq(
      A, b:unsqueeze(1), {driver = "gelsd"})
    assert.same({3, 2, 2, 1}, x:size())
    assert.same({3, 2, 1}, residuals:size())
    assert.same({3, 2}, rank:size())
    assert.same({3, 2, 2}, values:size())
    same(st.linalg_lstsq(A[2][1], b[1]), x[2][1], 1e-9)
    local h = any(3, 1, 3, 3)
    local LD, pivots = st.linalg_ldl_factor(h + h:mT())
    local c = any(2, 3, 2)
    same(c:expand(3, 2, 3, 2),
         (h + h:mT()):matmul(st.linalg_ldl_solve(LD, pivots, c)), 1e-9)
  end)

  it("what has no elements has results without elements", function()
    local packed, tau = st.geqrf(empty(2, 3, 0))
    assert.same({2, 3, 0}, packed:size())
    assert.same({2, 0}, tau:size())
    same(st.eye(3, {dtype = "float64"}),
         st.linalg_householder_product(any(3, 3), empty(0)), 0)
    same(f64 {{1, 2}}, st.ormqr(empty(1, 0), empty(0), f64 {{1, 2}}), 0)
    assert.same({0, 2, 2}, st.ormqr(empty(0, 2, 1), empty(0, 1),
                                    empty(0, 2, 2)):size())
    local values, V = st.linalg_eig(empty(2, 0, 0))
    assert.same({2, 0}, values:size())
    assert.same({2, 0, 0}, V:size())
    assert.same({0, 3}, st.linalg_eigvals(empty(0, 3, 3)):size())
    same(st.zeros({3, 2}, {dtype = "float64"}),
         st.linalg_lstsq(empty(0, 3), empty(0, 2)), 0)
    local x, residuals, rank = st.linalg_lstsq(empty(3, 0), f64 {{1}, {2}, {4}},
                                               {driver = "gelsd"})
    assert.same({0, 1}, x:size())
    near({21}, residuals:totable())
    assert.equal(0, rank:item())
    assert.same({3, 0}, st.linalg_lstsq(any(4, 3), empty(4, 0)):size())
    local LD, pivots = st.linalg_ldl_factor(empty(2, 0, 0))
    assert.same({2, 0}, pivots:size())
    assert.same({2, 0, 4}, st.linalg_ldl_solve(LD, pivots,
                                               empty(2, 0, 4)):size())
    local function pass(op, _, ...) return op:redispatch(_, ...) end
    for _, name in ipairs {"linalg_householder_product", "orgqr"} do
      local A = st.rand(2, 3, 2):requires_grad_()
      local none = st.rand(2, 0):requires_grad_()
      local function slopes()
        return st.grad(st[name](A, none):sum(), {A, none},
                       {allow_unused = true})
      end
      for _, f in ipairs {slopes, function()
        return st.dispatch_mode(pass, slopes)
      end} do
        local of_A, of_tau = f() -- as PyTorch's
        assert.is_nil(of_A)
        assert.is_nil(of_tau)
      end
      local of_A, of_tau = st.ops.aten._householder_backward(
        st.ones(2, 3, 2), A:detach(), none:detach())
      same(st.zeros(2, 3, 2), of_A, 0)
      assert.same({2, 0}, of_tau:size())
    end
    local P, L, U = st.linalg_lu(empty(2, 3, 0))
    same(st.eye(3, {dtype = "float64"}):expand(2, 3, 3), P, 0)
    assert.same({2, 3, 0}, L:size())
    assert.same({2, 0, 0}, U:size())
  end)
end)

-- -- Outputs, memory, threads ------------------------------------------------

local function qr()
  local packed, tau = st.geqrf(any(2, 4, 3))
  return packed, tau, any(2, 4, 3)
end

-- operator, arguments
local CALLS = {
  {"geqrf", function() return {any(2, 4, 3)} end},
  {"linalg_householder_product", function()
    local packed, tau = qr()
    return {packed, tau}
  end},
  {"ormqr", function() return {qr()} end},
  {"linalg_eig", function() return {any(2, 3, 3)} end},
  {"linalg_eigvals", function() return {any(2, 3, 3)} end},
  {"linalg_lu", function() return {any(2, 3, 3)} end},
  {"linalg_ldl_factor", function() return {any(2, 3, 3)} end},
  {"linalg_ldl_factor_ex", function() return {any(2, 3, 3)} end},
  {"linalg_ldl_solve", function()
    local LD, pivots = st.linalg_ldl_factor(any(2, 3, 3))
    return {LD, pivots, any(2, 3, 3)}
  end},
  {"linalg_lstsq", function()
    return {any(2, 4, 3), any(2, 4, 2), {driver = "gelsd"}}
  end},
  {"svd", function() return {any(2, 4, 3)} end},
  {"linalg_solve_ex", function() return {any(2, 9, 9), any(2, 9, 2)} end},
}

local function call(name, args, options)
  local all, keywords = {}, {}
  for _, x in ipairs(args) do
    if st.is_tensor(x) then all[#all + 1] = x end
    for k, v in pairs(st.is_tensor(x) and {} or x) do keywords[k] = v end
  end
  for k, v in pairs(options or {}) do keywords[k] = v end
  if next(keywords) then all[#all + 1] = keywords end
  return {st[name](unpack(all))}
end

describe("A result", function()
  setup(function() st.manual_seed(22) end)

  for _, row in ipairs(CALLS) do
    local _it = it_of(row[1])

    _it("is written to out= by " .. row[1], function()
      local args = row[2]()
      local want = call(row[1], args)
      for layout = 1, 3 do
        local out = {}
        for i, w in ipairs(want) do
          out[i] = st.empty(layout == 1 and {0} or w.shape, {dtype = w.dtype})
          if layout == 3 then
            out[i] = st.stack({out[i], out[i]}, -1):select(-1, 1)
          end
        end
        local got = call(row[1], args, {out = #out > 1 and out or out[1]})
        for i, w in ipairs(want) do
          assert.equal(out[i], got[i])
          same(w:resolve_conj(), out[i], 0)
        end
      end
    end)

    _it("fails cleanly at every allocation: " .. row[1], function()
      matrices.fails_cleanly(function(...) return call(row[1], {...}) end,
                             row[2]())
    end)

    _it("has the same bits for any number of threads: " .. row[1], function()
      local args = row[2]()
      for i, t in ipairs(args) do
        if st.is_tensor(t) then
          args[i] = t:repeat_interleave(200, 1)
        end
      end
      local before = st.get_num_threads()
      st.set_num_threads(1)
      local one = call(row[1], args)
      st.set_num_threads(3)
      local three = call(row[1], args)
      st.set_num_threads(before)
      for i, x in ipairs(one) do assert.is_true(x:equal(three[i])) end
    end)
  end

  it("has shapes without elements", function()
    local t = st.empty({2, 5, 3}, {device = "meta"})
    local packed, tau = st.geqrf(t)
    assert.same({15, 1, 5}, packed:stride())
    assert.same({3, 1}, tau:stride())
    assert.same({2, 5, 3}, st.orgqr(packed, tau):size())
    assert.same({2, 5, 3}, st.ormqr(packed, tau, t):size())
    local values, V = st.linalg_eig(t:narrow(-2, 1, 3))
    assert.equal("complex64", values.dtype)
    assert.same({9, 1, 3}, V:stride())
    local x, residuals, rank = st.linalg_lstsq(t, t, {driver = "gelss"})
    assert.same({2, 3, 3}, x:size())
    assert.same({2, 3}, residuals:size())
    assert.equal("int64", rank.dtype)
    local LD, pivots = st.linalg_ldl_factor(t:narrow(-2, 1, 3))
    assert.same({2, 3, 3}, st.linalg_ldl_solve(LD, pivots, LD):size())
  end)
end)

-- -- Gradients ---------------------------------------------------------------

describe("A gradient", function()
  for name, place in pairs {linalg_eig = 2, linalg_eigh = 2, linalg_svd = 1} do
    it_of(name)("by phases of vectors is refused, " .. name, function()
      st.manual_seed(23)
      local z = random("complex128", {3, 3})
      local leaf = (z + z:mH()):detach():requires_grad_()
      local vectors = select(place, st[name](leaf))
      local message = "the derivative of " .. name .. ": the vectors are given"
      gradients.raises(message, function()
        st.real(vectors):sum():backward()
      end)
    end)
  end

  for _, name in ipairs {"linalg_eigh", "linalg_eig"} do
    it_of(name)("by equal eigenvalues is a number, " .. name, function()
      local eye = st.eye(3, {dtype = "float64"}):requires_grad_()
      local values = st[name](eye)
      st.real(values):sum():backward()
      near({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, eye.grad:totable())
    end)
  end

  it("of an equation is the same in every layout", function()
    st.manual_seed(24)
    for _, dtype in ipairs {"float64", "complex128"} do
      local a, b = random(dtype, {12, 12}, 30), random(dtype, {12, 2})
      local function gradient(t)
        local leaf = t:detach():requires_grad_()
        return (st.grad({st.linalg_solve(leaf, b):abs():sum()}, {leaf}))
      end
      local want = gradient(a)
      for _, t in pairs(layouts(a)) do
        same(want, gradient(t):resolve_conj(), 1e-12)
      end
    end
  end)
end)

-- -- Refusals ----------------------------------------------------------------

local function f(...) return st.zeros({...}) end

local function ints(list) return st.tensor(list, {dtype = "int32"}) end

-- operator, arguments, what the message says
local REFUSALS = {
  {"linalg_householder_product", function() return f(2, 3), f(2) end,
   "input must not have more columns than rows, its shape is [2, 3]"},
  {"linalg_householder_product", function() return f(3, 2), f(3) end,
   "tau, shape [3], must not have more elements than input, shape [3, 2]"},
  {"linalg_householder_product", function() return f(2, 3, 2), f(3, 2) end,
   "tau, shape [3, 2], must have a row for each matrix of input"},
  {"ormqr", function() return f(3, 2), f(2), f(2, 3) end,
   "the rows of input3, shape [2, 3], are not as many as the rows of self"},
  {"ormqr", function() return f(3, 2), f(1), f(3, 2) end,
   "input2, shape [1], must have an element for each of the diagonal of self"},
  {"ormqr", function() return f(3, 2), f(2), f(2, 3, 3) end,
   "self, shape [3, 2], and input3, shape [2, 3, 3], must be batches of the"},
  {"linalg_eig", function() return f(2, 3) end,
   "self must be a square matrix or a batch of them, its shape is [2, 3]"},
  {"linalg_eigvals", function() return st.full({2, 2}, 0 / 0) end,
   "self is not finite"},
  {"linalg_lstsq", function() return f(3, 2), f(2) end,
   "the elements of the vectors of b, shape [2], are not as many as the rows"},
  {"linalg_lstsq", function() return f(3, 2), f(2, 3, 3, 2) end,
   "b, shape [2, 3, 3, 2], must have as many dimensions as self, shape [3, 2]"},
  {"linalg_lstsq", function() return f(2, 3, 2), f(3, 3, 2) end,
   "the batches of self, shape [2, 3, 2], and b, shape [3, 3, 2], do not"},
  {"linalg_lstsq", function() return f(3, 2), f(3), {driver = "qr"} end,
   "driver must be 'gels', 'gelsy', 'gelsd' or 'gelss', not 'qr'"},
  {"linalg_lstsq", function() return st.full({3, 2}, 1 / 0), f(3) end,
   "self is not finite"},
  {"linalg_lstsq", function() return st.ones {3, 2}, st.full({3}, 0 / 0) end,
   "b is not finite"},
  {"linalg_ldl_factor", function() return f(2, 2) end,
   "self is singular: D(1, 1) is zero"},
  {"linalg_ldl_solve", function()
    return st.eye(3), ints {1, -1, 3}, f(3, 1)
  end, "pivots must be from 1 to 3, or two from -3 to -1, one is -1"},
  {"linalg_ldl_solve", function() return st.eye(2), ints {1, 3}, f(2, 1) end,
   "pivots must be from 1 to 2, or two from -2 to -1, one is 3"},
  {"linalg_ldl_solve", function() return st.eye(2), ints {-1, -3}, f(2, 1) end,
   "pivots must be from 1 to 2, or two from -2 to -1, one is -1"},
  {"pca_lowrank", function() return f(3, 2), 3 end,
   "q must be from 0 to 2, it is 3"},
  {"svd_lowrank", function() return f(3, 2), 2, -1 end,
   "niter must be from 0 to 10000, it is -1"},
}

describe("A decomposition refuses", function()
  for _, row in ipairs(REFUSALS) do
    -- A matrix is looked at when there is a library that would take it.
    local _it = row[3]:find "finite" and it_of(row[1]) or it
    _it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end

  it("to divide by a matrix of deficient rank with gels", function()
    raises("self does not have full rank: driver 'gels' needs that",
           st.linalg_lstsq, f64 {{1, 0}, {0, 0}, {0, 0}}, f64 {1, 2, 3},
           {driver = "gels"})
  end)
end)
