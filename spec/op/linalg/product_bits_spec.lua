--- The bits of a product of floats depend on the elements, the sizes and the
-- dtype alone: not on layouts, threads or the instruction set. They are those
-- of a plain loop in the order that core/kernel/linalg/gemm.h and mv.h say.
-- axes: isa
-- sampled: 3

local build = require "spec.support.build"
local cases = require "spec.op.linalg.product_bits.cases"
local st = require "strided"

local ipairs, pairs, unpack = ipairs, pairs, table.unpack or unpack

local HERE = build.root .. "/spec/op/linalg/product_bits/digest.lua"

local function same(a, b) return cases.bits(a):equal(cases.bits(b)) end

--- All sizes, of halves those with a vector; a sanitizer makes many
-- multiplications slow.
local function for_sizes(dtype, fn)
  for _, list in ipairs {cases.fused, cases.rounded} do
    for _, size in ipairs(list) do
      local is_vector = size[1] == 1 or size[3] == 1
      if (is_vector or not dtype:find "float16") and
         (not build.is_sanitized or size[1] * size[2] * size[3] < 2e5) then
        fn(size, table.concat(size, " "))
      end
    end
  end
end

-- -- A plain loop ------------------------------------------------------------

--- The multiply-add of the kernels: rounded once if the processor can.
local function multiply_add(dtype)
  local ffi = require "ffi"
  ffi.cdef "float fmaf(float, float, float);"
  ffi.cdef "double fma(double, double, double);"
  local cell = ffi.new(dtype == "float32" and "float[1]" or "double[1]")
  local function round(x)
    cell[0] = x
    return cell[0]
  end
  local fma = dtype == "float32" and ffi.C.fmaf or ffi.C.fma
  if st.config().fma then
    return function(a, b, c) return fma(a, b, c) end, round
  end
  return function(a, b, c) return round(round(a * b) + c) end, round
end

--- Element (i, j) of a b, as gemm.h says.
local function in_blocks(a, b, i, j, dtype)
  local add, round = multiply_add(dtype)
  local c
  for from = 1, #b, 256 do
    local sum = 0
    for k = from, math.min(from + 255, #b) do
      sum = add(a[i][k], b[k][j], sum)
    end
    c = c and round(c + sum) or sum
  end
  return c
end

--- Element i of a x, as mv.h says.
local function by_lanes(a, x, i, dtype)
  local _, round = multiply_add(dtype)
  local lanes, sums = dtype == "float32" and 16 or 8, {}
  for l = 0, lanes - 1 do sums[l] = 0 end
  for k = 1, #x do
    local l = (k - 1) % lanes
    sums[l] = round(sums[l] + round(a[i][k] * x[k][1]))
  end
  while lanes > 1 do
    lanes = lanes / 2
    for l = 0, lanes - 1 do sums[l] = round(sums[l] + sums[l + lanes]) end
  end
  return sums[0]
end

-- -- Specs -------------------------------------------------------------------

describe("The bits of a product", function()
  local threads
  setup(function() threads = st.get_num_threads() end)
  teardown(function() st.set_num_threads(threads) end)
  before_each(function() st.manual_seed(3) end)

  for _, dtype in ipairs {"float16", "bfloat16", unpack(cases.dtypes)} do
    it("of " .. dtype .. " do not depend on the layouts", function()
      for_sizes(dtype, function(size, name)
        local a, b = cases.factors(size, dtype)
        local want = st.matmul(a, b)
        for left, place in pairs(cases.layouts) do
          for right, lay in pairs(cases.layouts) do
            local x, y, out = place(a), lay(b), lay(place(st.zeros_like(want)))
            local words = name .. ", " .. left .. ", " .. right
            assert.is_true(same(want, st.matmul(x, y)), words)
            assert.is_true(same(want, st.matmul(x, y, {out = out})), words)
          end
        end
      end)
    end)

    it("of " .. dtype .. " do not depend on the threads", function()
      for_sizes(dtype, function(size, name)
        local a, b = cases.factors(size, dtype)
        st.set_num_threads(1)
        local want = st.matmul(a, b)
        for n = 2, 3 do
          st.set_num_threads(n)
          assert.is_true(same(want, st.matmul(a, b)), name)
        end
      end)
    end)
  end

  for _, dtype in ipairs(cases.dtypes) do
    -- Copies of the factors have the order of a product without them.
    it("of " .. dtype .. " do not depend on copies", function()
      local m, _, n = unpack(cases.large[dtype])
      local a, b = cases.factors(cases.large[dtype], dtype)
      st.set_num_threads(1) -- in one part
      local want = st.matmul(a, b)
      local columns = cases.layouts.columns
      assert.is_true(same(want, st.matmul(columns(a), columns(b))))
      st.set_num_threads(2)
      assert.is_true(same(want, st.matmul(a, columns(b))))
      st.set_num_threads(threads)
      for i = 1, m, 100 do
        local rows = math.min(100, m - i + 1)
        assert.is_true(same(want:narrow(1, i, rows),
                            st.matmul(a:narrow(1, i, rows), b)))
      end
      local part = st.matmul(a, b:narrow(2, n - 69, 70))
      assert.is_true(same(want:narrow(2, n - 69, 70), part))
    end)
  end

  if jit then
    for _, dtype in ipairs {"float32", "float64"} do
      it("of " .. dtype .. " are those of a loop in blocks", function()
        for _, size in ipairs(cases.fused) do
          local m, k, n, batch = unpack(size)
          if not batch and k < 600 then
            local a, b = cases.factors(size, dtype)
            local got, x, y = st.matmul(a, b), a:tolist(), b:tolist()
            for _, at in ipairs {{1, 1}, {m, n}, {(m + 1) / 2, (n + 1) / 2}} do
              local i, j = math.floor(at[1]), math.floor(at[2])
              assert.equal(in_blocks(x, y, i, j, dtype), got[i][j],
                           ("%d %d %d"):format(m, k, n))
            end
          end
        end
      end)

      it("of " .. dtype .. " and a vector are those of lanes", function()
        for _, size in ipairs {{77, 300, 1}, {300, 701, 1}, {9, 4000, 1},
                            {100, 5, 1}, {70, 31, 1}} do
          local a, b = cases.factors(size, dtype)
          local got, x, y = st.matmul(a, b), a:tolist(), b:tolist()
          for i = 1, size[1], 8 do
            assert.equal(by_lanes(x, y, i, dtype), got[i][1])
          end
        end
      end)
    end
  end

  it("of a batch and a matrix do not depend on the layouts", function()
    local all, row = st.randn(4, 3, 600), st.randn(600)
    local b = st.randn(600, 600)
    for _, rows in ipairs {1, 3} do
      local a = all:narrow(2, 1, rows)
      for _, y in ipairs {b, cases.layouts.columns(b)} do
        local want = st.matmul(a:contiguous(), b)
        assert.is_true(same(want, st.matmul(a, y)))
        local recorded = y:clone():requires_grad_(true)
        assert.is_true(same(want, st.matmul(a, recorded):detach()))
        want = st.linear(a:contiguous(), b:t(), row)
        assert.is_true(same(want, st.linear(a, y:t(), row)))
      end
    end
  end)

  it("read no addend whose factor rounds to zero", function()
    local like = {dtype = "float32"}
    for _, size in ipairs {{300, 300, 1}, {1, 300, 77}, {1, 300, 1},
                           {50, 300, 77}, {5, 7, 9}, {60, 9, 90}} do
      local m, k, n = unpack(size)
      local sum = st.addmm(st.full({m, n}, 0 / 0, like), st.ones({m, k}, like),
                           st.ones({k, n}, like), {beta = 1e-60})
      assert.is_true(sum:equal(st.full({m, n}, k, like)), m .. " " .. n)
    end
  end)

  it("are those of blocks with a factor, and with an addend", function()
    local a, b = cases.factors({30, 300, 40}, "float64")
    local first, second = a:narrow(2, 1, 256):mm(b:narrow(1, 1, 256)),
                          a:narrow(2, 257, 44):mm(b:narrow(1, 257, 44))
    local add = st.randn({30, 40}, {dtype = "float64"})
    local row = add[1]
    local options = {alpha = 0.3, beta = 1.7}
    assert.is_true(same((first * 0.3 + add * 1.7) + second * 0.3,
                        st.addmm(add, a, b, options)))
    assert.is_true(same((first * 0.3 + row * 1.7) + second * 0.3,
                        st.addmm(row, a, b, options)))
  end)

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    for _, kind in ipairs {"rounded", "fused"} do
      it("do not depend on the instruction set: " .. kind, function()
        build.same_by_instruction_set(
          ("%s '%s' %s"):format(build.lua, HERE, kind),
          kind == "fused" and "products" or nil)
      end)
    end
  end
end)
