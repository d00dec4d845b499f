--- Least squares by QR factors, with pivots ('gelsy') and without ('gels'), and
-- by singular values ('gelsd' and 'gelss'): shapes around those of blocks,
-- ranks, graded columns, numbers at both ends of the exponents, within the
-- ratios of LAPACK's own tests (dqrt17, dqrt12); the same bits for every number
-- of threads and instruction set with fused multiply-adds.
-- axes: isa threads
-- sampled: 3

local build = require "spec.support.build"
local st = require "strided"

local ipairs, pairs, max, min = ipairs, pairs, math.max, math.min
local linalg = st.linalg

local LIMIT = 30
local EPS = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23,
             complex128 = 2 ^ -52}
local DTYPES = {"float32", "float64", "complex64", "complex128"}
local DRIVERS = {"gels", "gelsy", "gelsd", "gelss"}
local SHAPES = {{1, 1}, {1, 5}, {5, 1}, {9, 9}, {20, 45}, {45, 20}, {64, 64},
                {33, 65}, {65, 33}, {150, 70}, {70, 150}}

local function random(dtype, m, n) return st.randn({m, n}, {dtype = dtype}) end

local function wide(t)
  return t:to(t.dtype:find "complex" and "complex128" or "float64")
end

local function norm(t) return t:abs():sum(-2):max():item() end

--- X is a solution: what is left of B has no part in the columns of A, and X
-- none outside of its rows.
local function check(a, b, x, dtype, what)
  local m, n = a:size(1), a:size(2)
  a, b, x = wide(a), wide(b), wide(x)
  local r = b - a:matmul(x)
  local unit = max(m, n) * EPS[dtype]
  local far = norm(a:mH():matmul(r)) /
    (norm(a:mH()) * (norm(a) * norm(x) + norm(b)))
  what = ("%s, %s, %dx%d"):format(what, dtype, m, n)
  assert(far <= LIMIT * unit, what .. ": residual ratio " .. far / unit)
  -- A' Y = X has a solution.
  local values = linalg.svdvals(a)
  local rank = values:gt(values:max() * unit):sum():item()
  local _, _, Vh = linalg.svd(a, false)
  local rows = Vh:narrow(1, 1, max(rank, 1))
  local outside = x - rows:mH():matmul(rows:matmul(x))
  local condition = values[1] / values[max(rank, 1)]
  assert(norm(outside) <= LIMIT * unit * condition * norm(x),
         what .. ": not the least")
end

local function of_rank(dtype, m, n, rank)
  return random(dtype, m, rank):matmul(random(dtype, rank, n))
end

local DIGEST = [[
local cases = require "spec.op.reduce.reproducible.cases"
local st = require "strided"
for _, dtype in ipairs {"float32", "float64", "complex64", "complex128"} do
  for _, shape in ipairs {{60, 40}, {40, 60}, {150, 90}} do
    st.manual_seed(3)
    local a = st.randn(shape, {dtype = dtype})
    local b = st.randn({shape[1], 3}, {dtype = dtype})
    for _, driver in ipairs {"gels", "gelsy", "gelsd", "gelss"} do
      local x = st.linalg.lstsq(a, b, {driver = driver})
      if dtype:find "complex" then x = st.view_as_real(x:contiguous()) end
      print(cases.digest(x:contiguous()):item())
    end
  end
end
print(st.config().isa)
]]

describe("least squares", function()
  before_each(function() st.manual_seed(47) end)

  for _, dtype in ipairs(DTYPES) do
    it("have solutions, " .. dtype, function()
      for _, shape in ipairs(SHAPES) do
        local m, n = shape[1], shape[2]
        local a = random(dtype, m, n)
        local b = random(dtype, m, 3)
        for _, driver in ipairs(DRIVERS) do
          local x, residuals, rank, values =
            linalg.lstsq(a, b, {driver = driver})
          check(a, b, x, dtype, driver)
          if driver ~= "gels" then
            assert.are.equal(min(m, n), rank:item())
          end
          if values:numel() > 0 then
            local want = linalg.svdvals(a)
            assert((values - want):abs():max():item() <=
                   LIMIT * max(m, n) * EPS[dtype] * want:max():item())
          end
          if driver ~= "gelsy" and m > n then
            local want = (wide(b) - wide(a):matmul(wide(x))):abs():square()
              :sum(1)
            assert((residuals - want):abs():max():item() <=
                   LIMIT * m * EPS[dtype] * norm(b) ^ 2)
          end
          local one = linalg.lstsq(a, b:select(2, 2):unsqueeze(-1),
                                   {driver = driver})
          check(a, b:narrow(2, 2, 1), one, dtype, driver .. ", one column")
        end
      end
    end)

    it("have the least solutions of any rank, " .. dtype, function()
      for _, shape in ipairs {{9, 9}, {20, 45}, {45, 20}, {70, 70}} do
        local m, n = shape[1], shape[2]
        for _, r in ipairs {0, 1, 5, min(m, n) - 1} do
          local a = r == 0 and st.zeros({m, n}, {dtype = dtype})
            or of_rank(dtype, m, n, r)
          local b = random(dtype, m, 2)
          for _, driver in ipairs {"gelsy", "gelsd", "gelss"} do
            local x, _, rank = linalg.lstsq(a, b, {driver = driver})
            assert.are.equal(r, rank:item())
            if r > 0 then check(a, b, x, dtype, driver .. ", rank " .. r) end
            if r == 0 then assert.are.equal(0, norm(x)) end
          end
        end
        -- Columns and rows from 1 down to eps: rcond says which count.
        local k = min(m, n)
        local g = (st.arange(0, n, {dtype = "float64"}) * (-20 / n)):exp2()
        local graded = random(dtype, m, n) * g:to(dtype)
        for _, driver in ipairs {"gelsy", "gelsd", "gelss"} do
          local _, _, all = linalg.lstsq(graded, random(dtype, m, 1),
                                         {rcond = 1e-30, driver = driver})
          assert.are.equal(k, all:item())
          local _, _, few, values =
            linalg.lstsq(graded, random(dtype, m, 1),
                         {rcond = 0.05, driver = driver})
          assert.is_true(few:item() < k and few:item() > 0)
          if values:numel() > 0 then
            assert.are.equal(few:item(), (values:gt(values[1] * 0.05)):sum()
                             :item())
          end
        end
      end
    end)
  end

  it("take numbers at both ends of the exponents", function()
    local far = {float32 = 100, complex64 = 100, float64 = 1000,
                 complex128 = 1000}
    for _, dtype in ipairs(DTYPES) do
      local a, b = random(dtype, 30, 20), random(dtype, 30, 2)
      for _, driver in ipairs(DRIVERS) do
        local want = linalg.lstsq(a, b, {driver = driver})
        for _, e in ipairs {far[dtype], -far[dtype]} do
          local by = st.full({}, 2, {dtype = "float64"}):pow(e)
          local x = linalg.lstsq((wide(a) * by):to(dtype), b,
                                 {driver = driver})
          assert((wide(x) * by - wide(want)):abs():max():item() <=
                 1e3 * EPS[dtype] * norm(want))
          x = linalg.lstsq(a, (wide(b) * by):to(dtype), {driver = driver})
          assert((wide(x) / by - wide(want)):abs():max():item() <=
                 1e3 * EPS[dtype] * norm(want))
        end
      end
    end
  end)

  it("count values by the rounding unit where rcond says nothing", function()
    for _, dtype in ipairs(DTYPES) do
      local a = st.diag(st.tensor {1, 2 ^ -60}):to(dtype)
      for rcond, want in pairs {[-1] = 1, [0] = 1, [1] = 1, [2 ^ -61] = 2} do
        local _, _, rank = linalg.lstsq(a, random(dtype, 2, 1),
                                        {rcond = rcond, driver = "gelsd"})
        assert.are.equal(want, rank:item(), dtype .. ", " .. rcond)
      end
    end
  end)

  it("count the values of matrices of denormal numbers", function()
    for dtype, least in pairs {float32 = 2 ^ -140, float64 = 2 ^ -1060,
                               complex64 = 2 ^ -140, complex128 = 2 ^ -1060} do
      local a = (st.eye(30, {dtype = "float64"}) * least):to(dtype)
      for _, driver in ipairs {"gelsd", "gelss"} do
        local x, _, rank = linalg.lstsq(a, a, {driver = driver})
        assert.are.equal(30, rank:item(), dtype .. ", " .. driver)
        assert.is_true(x:equal(st.eye(30, {dtype = dtype})))
      end
    end
  end)

  it("say that the rank is less", function()
    local a = random("float64", 20, 12)
    a:select(2, 7):zero_()
    local ok, message = pcall(linalg.lstsq, a, random("float64", 20, 2),
                              {driver = "gels"})
    assert.is_false(ok)
    assert.is_truthy(tostring(message):find("full rank", 1, true))
    ok = pcall(linalg.lstsq, a:mT(), random("float64", 12, 2),
               {driver = "gels"})
    assert.is_false(ok)
    local x = linalg.lstsq(a * 0, random("float64", 20, 2), {driver = "gels"})
    assert.are.equal(0, norm(x))
  end)

  it("have the same bits for every number of threads", function()
    local before = st.get_num_threads()
    local a, b = random("float64", 300, 200), random("float64", 300, 80)
    for _, driver in ipairs(DRIVERS) do
      st.set_num_threads(1)
      local one = linalg.lstsq(a, b, {driver = driver})
      st.set_num_threads(3)
      assert.is_true(st.equal(one, (linalg.lstsq(a, b, {driver = driver}))))
    end
    st.set_num_threads(before)
  end)

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("have the same bits for every instruction set", function()
      build.same_by_instruction_set(("%s -e '%s'"):format(build.lua, DIGEST),
                                    "products")
    end)
  end
end)
