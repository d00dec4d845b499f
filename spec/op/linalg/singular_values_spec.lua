--- Singular values and vectors of matrices of every dtype, shape and layout:
-- the ratios of LAPACK's own tests, values beside those of one-sided Jacobi
-- rotations in a plain loop, norms at both ends of the exponents, what is not
-- finite; the same bits for every layout, number of threads and instruction
-- set.
-- axes: isa threads
-- sampled: 3

local build = require "spec.support.build"
local interrupt = require "spec.support.interrupt"
local matrices = require "spec.support.matrices"
local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, max, min, pairs = ipairs, math.max, math.min, pairs
local abs, huge, sqrt = math.abs, math.huge, math.sqrt
local linalg = st.linalg

local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23,
             complex128 = 2 ^ -52}
local DTYPES = {"float32", "float64", "complex64", "complex128"}

local function is_complex(dtype) return dtype:find "complex" ~= nil end

-- -- Matrices ----------------------------------------------------------------

local function random(dtype, m, n) return st.randn({m, n}, {dtype = dtype}) end

local KINDS = {
  random = random,
  ["of rank three"] = function(dtype, m, n)
    return random(dtype, m, 3):matmul(random(dtype, 3, n))
  end,
  Hilbert = function(dtype, m, n)
    local i = st.arange(1, m + 1, {dtype = "float64"})
    local k = st.arange(0, n, {dtype = "float64"})
    return (i:unsqueeze(-1) + k):reciprocal():to(dtype)
  end,
  graded = function(dtype, m, n)
    local k = st.arange(0, n, {dtype = "float64"})
    return random(dtype, m, n) * (k * (-20 / n)):exp2():to(dtype)
  end,
  zeros = function(dtype, m, n) return st.zeros({m, n}, {dtype = dtype}) end,
  identity = function(dtype, m, n) return st.eye(m, n, {dtype = dtype}) end,
  ones = function(dtype, m, n) return st.ones({m, n}, {dtype = dtype}) end,
  bidiagonal = function(dtype, m, n)
    local a = st.eye(m, n, {dtype = dtype})
    a:slice(2, 2):diagonal():fill_(0.5)
    return a
  end,
}

-- -- Jacobi's rotations ------------------------------------------------------

--- The columns of a as lists of numbers. A complex matrix of m rows is a real
-- one of twice the sizes, each of whose values is there twice.
local function columns_of(a)
  a = a:resolve_conj()
  if is_complex(a.dtype) then
    local re, im = st.real(a):clone(), st.imag(a):clone()
    a = st.cat({st.cat({re, -im}, 2), st.cat({im, re}, 2)}, 1)
  end
  return a:to "float64":mT():totable()
end

--- Makes two columns orthogonal; false if they are.
local function rotate(x, y)
  local p, q, dot = 0, 0, 0
  for i = 1, #x do
    p, q, dot = p + x[i] * x[i], q + y[i] * y[i], dot + x[i] * y[i]
  end
  if abs(dot) <= 2 ^ -53 * sqrt(p) * sqrt(q) then return false end
  local zeta = (q - p) / (2 * dot)
  local t = (zeta < 0 and -1 or 1) / (abs(zeta) + sqrt(1 + zeta * zeta))
  local c = 1 / sqrt(1 + t * t)
  local s = c * t
  for i = 1, #x do x[i], y[i] = c * x[i] - s * y[i], s * x[i] + c * y[i] end
  return true
end

--- The singular values of a, m x n with m >= n, from the greatest on.
local function jacobi(a)
  local columns, values = columns_of(a), {}
  for _ = 1, 60 do
    local is_done = true
    for k = 2, #columns do
      for i = 1, k - 1 do
        if rotate(columns[i], columns[k]) then is_done = false end
      end
    end
    if is_done then break end
  end
  for k, column in ipairs(columns) do
    local sum = 0
    for _, x in ipairs(column) do sum = sum + x * x end
    values[k] = sqrt(sum)
  end
  table.sort(values, function(x, y) return x > y end)
  local out, step = {}, is_complex(a.dtype) and 2 or 1
  for k = 1, #values, step do out[#out + 1] = values[k] end
  return out
end

-- -- Checks ------------------------------------------------------------------

local function norm(t)
  return t:numel() == 0 and 0 or t:abs():sum(-2):max():item()
end

local function near(want, got, scale, what)
  local ratio = norm(want - got) /
                (max(want:size(-1), want:size(-2)) * max(scale, 1e-290) *
                 EPS[want.dtype])
  assert(ratio < LIMIT, ("%s: the ratio is %g"):format(what, ratio))
end

--- By is a power of two near `far`, without which products are finite.
local function check(a, by, what)
  local m, n = a:size(1), a:size(2)
  local k = min(m, n)
  what = ("%s, %s, %dx%d"):format(what, a.dtype, m, n)
  local values = linalg.svdvals(a * by) / by
  for _, full in ipairs {false, true} do
    local U, S, Vh = linalg.svd(a * by, full)
    assert.same({full and m or k, full and n or k}, {U:size(2), Vh:size(1)})
    S = S / by
    local product = (U:narrow(2, 1, k) * S):matmul(Vh:narrow(1, 1, k))
    near(a, product, norm(a), what)
    near(st.eye(U:size(2), {dtype = a.dtype}), U:mH():matmul(U), 1,
         what .. ", U")
    near(st.eye(Vh:size(1), {dtype = a.dtype}), Vh:matmul(Vh:mH()), 1,
         what .. ", V")
    for _, s in ipairs {S, values} do
      assert(s:ge(0):all():item() and s:diff():le(0):all():item(), what)
    end
    near(S:unsqueeze(-1), values:unsqueeze(-1), norm(a), what .. ", values")
  end
  return values
end

local function check_values(a, what)
  local want = jacobi(a:size(1) < a:size(2) and a:mH() or a)
  local values = check(a, 1, what):totable()
  local unit = LIMIT * max(a:size(1), a:size(2)) * EPS[a.dtype] * want[1]
  for i, x in ipairs(want) do
    assert(abs(x - values[i]) <= unit, ("%s: value %d of %dx%d is %g, not %g")
           :format(what, i, a:size(1), a:size(2), values[i], x))
  end
end

local function same_tensors(want, got)
  for i, t in ipairs(got) do assert.is_true(st.equal(want[i], t)) end
end

--- What svd and its kin say of a.
local function results(a)
  local U, S, Vh = linalg.svd(a)
  local x, _, _, values = linalg.lstsq(a, a, {driver = "gelsd"})
  return {U, S, Vh, linalg.svdvals(a), x, values}
end

--- Prints numbers for the bits of values and vectors.
local DIGEST = [[
local cases = require "spec.op.reduce.reproducible.cases"
local st = require "strided"
for _, dtype in ipairs {"float32", "float64", "complex64", "complex128"} do
  for _, shape in ipairs {{20, 20}, {90, 60}, {30, 140}, {140, 140}} do
    st.manual_seed(5)
    local a = st.randn(shape, {dtype = dtype})
    local U, S, Vh = st.linalg.svd(a)
    for _, t in ipairs {U, S, Vh, st.linalg.svdvals(a)} do
      t = t:contiguous()
      if t.dtype:find "complex" then t = st.view_as_real(t) end
      print(cases.digest(t):item())
    end
  end
end
print(st.config().isa)
]]

describe("singular values", function()
  before_each(function() st.manual_seed(29) end)

  -- The kernel of small matrices has those of up to 8 rows and columns.
  for _, dtype in ipairs(DTYPES) do
    it("are those of Jacobi's rotations, " .. dtype, function()
      local most = is_complex(dtype) and 20 or 40
      for n = 1, most do check_values(random(dtype, n, n), "random") end
      for name, make in pairs(KINDS) do
        for _, shape in ipairs {{9, 9}, {26, 26}, {30, 10}, {12, 17}} do
          check_values(make(dtype, shape[1], shape[2]), name)
        end
      end
    end)

    it("have vectors, " .. dtype, function()
      for name, make in pairs(KINDS) do
        for _, n in ipairs {25, 33, 65} do check(make(dtype, n, n), 1, name) end
      end
      for _, shape in ipairs {{127, 127}, {200, 200}, {1, 20}, {20, 1}, {9, 2},
                              {100, 90}, {90, 100}, {300, 21}, {21, 300}} do
        check(random(dtype, shape[1], shape[2]), 1, "random")
      end
    end)

    it("may be near the greatest and the least numbers, " .. dtype, function()
      local far = EPS[dtype] > 2 ^ -30 and 110 or 995
      for _, shape in ipairs {{20, 20}, {40, 12}, {50, 70}} do
        local a = random(dtype, shape[1], shape[2]) / 4
        check(a, 2 ^ far, "times 2^" .. far)
        check(a, 2 ^ -far, "times 2^-" .. far)
      end
    end)

    it("have the same bits in every layout and batch, " .. dtype, function()
      local threads = st.get_num_threads()
      for _, shape in ipairs {{150, 140}, {33, 90}} do
        local a = random(dtype, shape[1], shape[2])
        st.set_num_threads(1)
        local one = results(a)
        for n = 2, 3 do
          st.set_num_threads(n)
          same_tensors(one, results(a))
        end
        for _, b in pairs(matrices.layouts(a)) do
          same_tensors(one, {linalg.svd(b)})
          assert.is_true(st.equal(one[4], linalg.svdvals(b)))
        end
        for i, t in ipairs {linalg.svd(st.stack {a * 2, a, a, a})} do
          assert.is_true(st.equal(one[i], t[3]))
        end
        st.set_num_threads(threads)
      end
    end)

    it("are those of what is finite, " .. dtype, function()
      for _, x in ipairs {0 / 0, huge, -huge} do
        for _, shape in ipairs {{3, 3}, {20, 20}, {9, 60}, {140, 130}} do
          local a = st.eye(shape[1], shape[2], {dtype = dtype})
          a[{shape[1], 3}] = x
          for _, fn in ipairs {linalg.svd, linalg.svdvals} do
            tensors.raises("A is not finite, or the iteration for it does " ..
                           "not converge", fn, a)
          end
          assert.has_error(function()
            linalg.lstsq(a, a, {driver = "gelsd"})
          end)
        end
      end
    end)
  end

  -- Squares of which vanish, beside others on and above the diagonal.
  it("may be as small as numbers are", function()
    local function few(n, k) return st.randint(0, k, {n}):eq(0):to "float64" end
    local function numbers(n) return st.randn({n}, {dtype = "float64"}) end
    for _ = 1, 200 do
      local n = 30
      local above = (few(n - 1, 3) * st.randint(-600, -400, {n - 1})):exp2()
      local a = (numbers(n) * few(n, 2)):diag_embed() +
        (numbers(n - 1) * above):diag_embed(1)
      local _, S = linalg.svd(a)
      near(S:unsqueeze(-1), linalg.svdvals(a):unsqueeze(-1), norm(a), "tiny")
    end
    for seed = 1, 10 do
      check_values((numbers(12) * few(12, 2)):diag_embed() * 2 ^ -500 +
                   numbers(11):diag_embed(1), "part " .. seed)
    end
  end)

  it("of a diagonal are its numbers, however far apart", function()
    for dtype, least in pairs {float32 = -140, float64 = -1060,
                               complex64 = -140, complex128 = -1060} do
      local steps = st.arange(0, 40, {dtype = "float64"}):mul(least / 39):ceil()
      local want = steps:exp2()
      local values = linalg.svdvals(st.diag(want:flip(1)):to(dtype))
      assert.is_true(values:to "float64":equal(want), dtype)
    end
  end)

  it("of zero and of rank one are zero", function()
    for _, dtype in ipairs(DTYPES) do
      for _, n in ipairs {12, 60} do
        assert.are.equal(0, norm(linalg.svdvals(st.zeros({n, n},
                                                         {dtype = dtype}))
                                 :unsqueeze(-1)))
        local one = st.zeros({n, n}, {dtype = dtype})
        one[{n, 2}] = -3
        local _, S = linalg.svd(one)
        assert.are.equal(3, S[1])
        assert.are.equal(3, linalg.svdvals(one):sum():item())
      end
    end
  end)

  it("are left when a signal comes", function()
    local threads = st.get_num_threads()
    local real, complex = random("float64", 400, 400),
                          random("complex64", 300, 300)
    for n = 1, 2 do
      st.set_num_threads(n)
      for _, a in ipairs {real, complex} do
        for _, fn in ipairs {
          linalg.svd, linalg.svdvals,
          function(t) return linalg.lstsq(t, t, {driver = "gelsd"}) end,
        } do
          assert.is_false((interrupt.stopped(function() return fn(a) end,
                                             "S")))
        end
      end
    end
    st.set_num_threads(threads)
    check(real, 1, "after it")
  end)

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("have the same bits for every instruction set", function()
      build.same_by_instruction_set(("%s -e '%s'"):format(build.lua, DIGEST),
                                    "products")
    end)
  end
end)
