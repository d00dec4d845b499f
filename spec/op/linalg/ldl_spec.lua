--- LDL factors by panels and products: pivots and factors as a plain loop takes
-- them (J. R. Bunch, L. Kaufman, Math. Comp. 31, 1977), every size around
-- those of panels and vectors, matrices of all kinds and layouts, within the
-- ratios of LAPACK's own tests (E. Anderson, J. Dongarra, S. Ostrouchov,
-- "LAPACK Working Note 41", 1992). The bits of instruction sets are a part of
-- factor_blocks_spec.
-- axes: isa threads
-- sampled: 3

local build = require "spec.support.build"
local matrices = require "spec.support.matrices"
local st = require "strided"

local abs, floor, ipairs, max, pairs = math.abs, math.floor, ipairs, math.max,
                                       pairs
local factor_ex, factor = st.linalg.ldl_factor_ex, st.linalg.ldl_factor
local solve = st.linalg.ldl_solve

local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23,
             complex128 = 2 ^ -52}
local DTYPES = {"float32", "float64", "complex64", "complex128"}

local function random(dtype, m, n) return st.randn({m, n}, {dtype = dtype}) end

local function mirrored(a, hermitian)
  return hermitian and a + a:mH() or a + a:mT()
end

local function wide(t)
  return t:to(t.dtype:find "complex" and "complex128" or "float64")
end

-- -- Products of factors -----------------------------------------------------

--- Each block of D with the exchange before it: {first, rows, with}.
local function blocks_of(pivots)
  local blocks, k = {}, 1
  while k <= #pivots do
    local rows = pivots[k] < 0 and 2 or 1
    blocks[#blocks + 1] = {k, rows, abs(pivots[k])}
    k = k + rows
  end
  return blocks
end

--- P L P L ... D ... L' P' L' P', a P and an L per block, from the middle
-- outwards.
local function product(LD, pivots, hermitian)
  local f = wide(LD)
  local n = f:size(1)
  local blocks = blocks_of(pivots:totable())
  local a = st.zeros_like(f)
  for i = #blocks, 1, -1 do
    local k, rows, with = blocks[i][1], blocks[i][2], blocks[i][3]
    local last, rest = k + rows - 1, n - k - rows + 1
    local D = f:narrow(1, k, rows):narrow(2, k, rows):tril()
    local below = D:tril(-1)
    D = D + (hermitian and below:mH() or below:mT())
    local L = st.eye(n, {dtype = f.dtype}):narrow(2, k, rows):clone()
    if rest > 0 then
      L:narrow(1, last + 1, rest):copy_(f:narrow(1, last + 1, rest)
                                         :narrow(2, k, rows))
    end
    a = a + L:matmul(D):matmul(hermitian and L:mH() or L:mT())
    local order = {}
    for r = 1, n do order[r] = r end
    order[last], order[with] = with, last
    order = st.tensor(order, {dtype = "int64"})
    a = a:index_select(1, order):index_select(2, order)
  end
  return a
end

local function norm(t) return t:abs():sum(-2):max():item() end

local function check(want, got, unit, dtype, what)
  local far = norm(wide(want) - wide(got))
  assert(far <= LIMIT * want:size(1) * EPS[dtype] * unit,
         ("%s, %s, %d: error ratio %g"):format(what, dtype, want:size(1),
           far / (want:size(1) * EPS[dtype] * unit)))
end

local function check_factors(a, hermitian, dtype, what)
  local LD, pivots, info = factor_ex(a, {hermitian = hermitian})
  assert.is_true(st.equal(LD, LD:tril()))
  check(a, product(LD, pivots, hermitian), norm(wide(a)), dtype, what)
  return LD, pivots, info:item()
end

local function check_equations(a, hermitian, dtype, what)
  local LD, pivots, info = check_factors(a, hermitian, dtype, what)
  if info ~= 0 then return end
  for _, columns in ipairs {1, 4, 5, 70} do
    local b = random(dtype, a:size(1), columns)
    local x = solve(LD, pivots, b, {hermitian = hermitian})
    check(b, wide(a):matmul(wide(x)), norm(wide(a)) * norm(wide(x)), dtype,
          what .. ": A X = B")
  end
end

-- -- A loop ------------------------------------------------------------------

local function size(x) return abs(x[1]) + abs(x[2]) end
local function sub(x, y) return {x[1] - y[1], x[2] - y[2]} end
local function conj(x) return {x[1], -x[2]} end
local function mul(x, y)
  return {x[1] * y[1] - x[2] * y[2], x[1] * y[2] + x[2] * y[1]}
end
local function div(x, y)
  local d = y[1] * y[1] + y[2] * y[2]
  return {(x[1] * y[1] + x[2] * y[2]) / d, (x[2] * y[1] - x[1] * y[2]) / d}
end

local function pairs_of(a)
  local rows = {}
  local re = a:is_complex() and st.real(a):totable() or a:totable()
  local im = a:is_complex() and st.imag(a):totable()
  for i = 1, a:size(1) do
    rows[i] = {}
    for k = 1, a:size(2) do rows[i][k] = {re[i][k], im and im[i][k] or 0} end
  end
  return rows
end

--- The first of the largest numbers of column k of x, from row `from` on, but
-- for row k.
local function largest(x, k, from)
  local at, most = 0, 0
  for i = from, #x do
    if i ~= k and size(x[i][k]) > most then at, most = i, size(x[i][k]) end
  end
  return at, most
end

--- How many rows the next block has, and which row comes to its last.
local function choose(x, k)
  local alpha = (1 + math.sqrt(17)) / 8
  local here = size(x[k][k])
  local at, column = largest(x, k, k)
  if here >= alpha * column then return 1, k end
  local _, row = largest(x, at, k)
  if here >= alpha * column * (column / row) then return 1, k end
  return size(x[at][at]) >= alpha * row and 1 or 2, at
end

--- Columns k and, of a block of two, k + 1 of L, as lists of one or two.
local function columns_of(x, k, rows, turned)
  local out = {}
  for i = k + rows, #x do
    local u = x[i][k]
    if rows == 1 then
      out[i] = {div(u, x[k][k])}
    else
      local v, off = x[i][k + 1], x[k + 1][k]
      local d = sub(mul(x[k][k], x[k + 1][k + 1]), mul(off, turned(off)))
      out[i] = {div(sub(mul(u, x[k + 1][k + 1]), mul(v, off)), d),
                div(sub(mul(v, x[k][k]), mul(u, turned(off))), d)}
    end
  end
  return out
end

local function loop(a, hermitian)
  local x, pivots, LD = pairs_of(a), {}, {}
  local turned = hermitian and conj or function(y) return y end
  local n, k = #x, 1
  for i = 1, n do LD[i] = {} end
  while k <= n do
    local rows, at = choose(x, k)
    local last = k + rows - 1
    x[last], x[at] = x[at], x[last]
    for i = 1, n do x[i][last], x[i][at] = x[i][at], x[i][last] end
    local L = columns_of(x, k, rows, turned)
    for c = k, last do
      for i = c, last do LD[i][c] = x[i][c] end
      for i = last + 1, n do LD[i][c] = L[i][c - k + 1] end
      pivots[c] = rows == 1 and at or -at
    end
    for i = last + 1, n do
      for j = last + 1, n do
        for c = k, last do
          x[i][j] = sub(x[i][j], mul(L[i][c - k + 1], turned(x[j][c])))
        end
      end
    end
    k = k + rows
  end
  return LD, pivots
end

--- Small whole numbers, of which many are as large as others.
local function tied(dtype, n)
  return st.randint(-1, 2, {n, n}):to(dtype)
end

-- -- Kinds -------------------------------------------------------------------

--- From 1 down to 2 ^ -20.
local function grades(n)
  return (st.arange(0, n, {dtype = "float64"}) * (-20 / n)):exp2()
end

local KINDS = {
  graded = function(dtype, n)
    local g = grades(n):to(dtype)
    return random(dtype, n, n) * g * g:unsqueeze(-1)
  end,
  Hilbert = function(dtype, n)
    local i = st.arange(1, n + 1, {dtype = "float64"})
    return (i:unsqueeze(-1) + i - 1):reciprocal():to(dtype)
  end,
  ["of rank three"] = function(dtype, n)
    local a = random(dtype, n, 3)
    return a:matmul(a:mH())
  end,
  ["of zeros"] = function(dtype, n)
    return st.zeros({n, n}, {dtype = dtype})
  end,
  ["with a diagonal of zeros"] = function(dtype, n)
    return random(dtype, n, n):tril(-1)
  end,
}

local function each_kind(dtype, run)
  run(false, "symmetric, " .. dtype)
  if dtype:find "complex" then run(true, "Hermitian, " .. dtype) end
end

describe("LDL factors", function()
  before_each(function() st.manual_seed(37) end)

  for _, dtype in ipairs(DTYPES) do
    it("are near for every size, " .. dtype, function()
      each_kind(dtype, function(hermitian, what)
        for n = 1, 70, dtype == "float64" and 1 or 9 do
          check_factors(mirrored(random(dtype, n, n), hermitian), hermitian,
                        dtype, what)
        end
        for _, n in ipairs {1, 2, 17, 64, 130, build.is_sanitized and 66 or
                            260} do
          check_equations(mirrored(random(dtype, n, n), hermitian), hermitian,
                          dtype, what)
        end
      end)
    end)

    it("are near for matrices of every kind, " .. dtype, function()
      for kind, make in pairs(KINDS) do
        each_kind(dtype, function(hermitian, what)
          for _, n in ipairs {3, 33, 90} do
            st.manual_seed(n) -- pairs has no order
            check_equations(mirrored(make(dtype, n), hermitian), hermitian,
                            dtype, kind .. ", " .. what)
          end
        end)
      end
    end)

    it("are those of a loop, " .. dtype, function()
      each_kind(dtype, function(hermitian, what)
        for _, n in ipairs {1, 2, 5, 12, build.is_sanitized and 20 or 70} do
          st.manual_seed(n) -- near ties are decided by the last bits
          for _, make in ipairs {random, n < 6 and tied or random} do
            local a = mirrored(make(dtype, n, n), hermitian)
            local LD, pivots, info = factor_ex(a, {hermitian = hermitian})
            if info:item() == 0 then
              local want, chosen = loop(a, hermitian)
              assert.are.same(chosen, pivots:totable(), what)
              local got = pairs_of(LD)
              local most = max(norm(wide(LD)), norm(wide(a)))
              for i = 1, n < 40 and n or 0 do -- conditions grow
                for k = 1, i do
                  assert(size(sub(want[i][k], got[i][k])) <=
                         1e5 * EPS[dtype] * most, what)
                end
              end
            end
          end
        end
      end)
    end)

    it("read the lower triangle of any layout, " .. dtype, function()
      each_kind(dtype, function(hermitian)
        local a = mirrored(random(dtype, 75, 75), hermitian)
        local LD, pivots = factor(a, {hermitian = hermitian})
        local other = a:tril() + random(dtype, 75, 75):triu(1)
        if hermitian and a:is_complex() then -- a diagonal is real
          st.imag(other):diagonal():fill_(3)
        end
        for _, t in pairs(matrices.layouts(other)) do
          local got, at = factor(t, {hermitian = hermitian})
          assert.is_true(st.equal(LD, got) and st.equal(pivots, at))
        end
      end)
    end)

    it("end where elements are not finite, " .. dtype, function()
      each_kind(dtype, function(hermitian)
        for _, bad in ipairs {0 / 0, 1 / 0, -1 / 0} do
          for _, n in ipairs {1, 9, 70, 130} do
            for _, at in ipairs {1, floor(n / 2) + 1, n} do
              local a = random(dtype, n, n)
              a[{n, at}] = bad
              local LD, pivots = factor_ex(a, {hermitian = hermitian})
              assert.is_false(LD:isfinite():all():item())
              assert.is_true(pivots:abs():ge(1):all():item() and
                             pivots:abs():le(n):all():item())
              solve(LD, pivots, random(dtype, n, 2), {hermitian = hermitian})
            end
          end
        end
      end)
    end)
  end

  it("of real matrices are the same for both", function()
    local a = mirrored(random("float64", 70, 70), false)
    local LD, pivots = factor(a)
    local other, at = factor(a, {hermitian = true})
    assert.is_true(st.equal(LD, other) and st.equal(pivots, at))
    assert.is_true(st.equal(solve(LD, pivots, a),
                            solve(LD, pivots, a, {hermitian = true})))
  end)

  it("of a batch are those of each matrix", function()
    for _, n in ipairs {3, 70} do
      local a = mirrored(st.randn({5, n, n}, {dtype = "float64"}), false)
      local b = st.randn({5, n, 4}, {dtype = "float64"})
      local LD, pivots = factor(a)
      local x = solve(LD, pivots, b)
      for i = 1, 5 do
        local one, at = factor(a[i])
        assert.is_true(st.equal(LD[i], one) and st.equal(pivots[i], at))
        assert.is_true(st.equal(x[i], solve(one, at, b[i])))
      end
    end
  end)

  it("are of matrices with large and small numbers", function()
    for _, scale in ipairs {2 ^ 120, 2 ^ -120} do
      for _, dtype in ipairs {"float32", "complex64"} do
        local a = st.eye(20, {dtype = dtype}):flip {1} * scale
        local LD, pivots = factor(a)
        assert.is_true(pivots:lt(0):all():item())
        check(st.eye(20, {dtype = dtype}), solve(LD, pivots, a), 1, dtype,
              "A X = A")
      end
    end
  end)

  it("say where D has a zero", function()
    for _, n in ipairs {20, 150} do
      local a = st.eye(n, {dtype = "float64"})
      a[{n - 3, n - 3}], a[{n - 1, n - 1}] = 0, 0
      local LD, _, info = factor_ex(a)
      assert.are.equal(n - 3, info:item())
      assert.is_true(st.equal(a, LD))
      assert.has_error(function() factor(a) end)
    end
  end)
end)
