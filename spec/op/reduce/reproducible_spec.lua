--- The bits of a reduction depend on the elements and their logical order
-- alone: not on the layout, the number of threads or the instruction set.
--
-- REPRODUCIBLE=SEED asks for other elements.
-- axes: isa
-- sampled: 3

local build = require "spec.support.build"
local cases = require "spec.op.reduce.reproducible.cases"
local st = require "strided"

local SEED = tonumber(os.getenv "REPRODUCIBLE" or 1)
local HERE = build.root .. "/spec/op/reduce"

-- The walks are the same for all dtypes, and a sanitizer makes them slow.
local DTYPES = build.is_sanitized and {"float64"}
  or {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}

local function same_bits(expected, got)
  return cases.bits(expected):equal(cases.bits(got))
end

describe("The bits of a reduction, seed " .. SEED, function()
  local threads
  setup(function() threads = st.get_num_threads() end)
  teardown(function()
    st.set_num_threads(threads)
    cases.forget()
  end)

  before_each(function()
    st.manual_seed(SEED)
    st.set_num_threads(1)
  end)

  for _, dtype in ipairs(DTYPES) do
    it("do not depend on the layout: " .. dtype, function()
      cases.each(dtype, function(name, t, dims, operator)
        local expected = operator(t, dims)
        for _, layout in ipairs(cases.layouts(t)) do
          if not same_bits(expected, operator(layout[2], dims)) then
            error(name .. ", " .. layout[1])
          end
        end
      end)
    end)

    -- several lines at once, in parts if they are long; a copy if few adjoin
    it("of softmax are those of each line alone: " .. dtype, function()
      if dtype:find "complex" then return end
      for _, n in ipairs {1, 2, 31, 32, 33, 51, 513, 2048, 2049, 2090} do
        for _, width in ipairs {3, 7, 21, 67} do
          local all = (4 * st.randn(2, n, width)):to(dtype)
          all[1]:select(2, 2):fill_(-math.huge)
          all[1]:select(2, 3)[n] = 0 / 0
          local stepped = st.zeros({2, n, 3 * width + 1}, {dtype = dtype})
          stepped = stepped:slice(3, 1, 3 * width, 3)
          stepped:copy_(all)
          for _, name in ipairs {"softmax", "log_softmax"} do
            local got, other = st[name](all, 2), st[name](stepped, 2)
            assert(same_bits(got, other), name .. ", stepped, " .. n)
            for j = 1, width do
              local line = all:select(3, j):contiguous()
              if not same_bits(st[name](line, 2), got:select(3, j)) then
                error(("%s, %d of %d, %d"):format(name, j, width, n))
              end
            end
          end
        end
      end
    end)

    -- lines that adjoin are copied by tiles where the kernel wants elements to
    it("of adjoining lines are those of each line alone: " .. dtype, function()
      if dtype:find "complex" then return end
      for _, shape in ipairs {{128, 5}, {161, 33}, {257, 67}, {5000, 18}} do
        local n, width = shape[1], shape[2]
        local a = (4 * st.randn(n, width)):to(dtype)
        local b = st.randn(n, width):to(dtype)
        local as, bs = a:t():contiguous(), b:t():contiguous()
        local function check(name, fn)
          local expected = fn(as, bs, 2)
          for _, got in ipairs {fn(a:t(), b:t(), 2), fn(a, b, 1):t(),
                                fn(a:t(), bs, 2), fn(as, b:t(), 2)} do
            assert(same_bits(expected, got), name .. ", " .. n)
          end
        end
        for _, name in ipairs {"softmax", "log_softmax", "cumsum", "cumprod",
                               "cummax", "cummin", "sort"} do
          check(name, function(t, _, dim) return (st[name](t, dim)) end)
        end
        for _, name in ipairs {"cummax", "cummin", "argsort", "sort"} do
          check(name, function(t, _, dim)
            local first, second = st[name](t, dim)
            return (second or first):to(dtype)
          end)
        end
        for _, name in ipairs {"_softmax_backward_data",
                               "_log_softmax_backward_data"} do
          check(name, function(grad, y, dim)
            return st[name](grad, y, dim, dtype)
          end)
        end
      end
    end)

    -- rows of one block share a body, which reads beyond their ends
    it("are those of each row alone: " .. dtype, function()
      if dtype:find "complex" then return end
      for _, n in ipairs {5, 8, 9, 16, 17, 29, 32, 33, 71, 100, 512} do
        local all = st.randn(9, n + 1):to(dtype)
        all[2] = -0.0
        all[4]:select(1, n):fill_(math.huge)
        all[5]:select(1, n + 1):fill_(0 / 0)
        all[6]:select(1, 1):fill_(0 / 0)
        for _, t in ipairs {all, all:narrow(2, 1, n), all:flip(1)} do
          for _, name in ipairs {"sum", "nansum", "prod", "var", "norm"} do
            local got = name == "norm" and st.linalg_vector_norm(t, 1, 2)
                        or st[name](t, 2)
            for i = 1, 9 do
              local row = t:narrow(1, i, 1):clone()
              local want = name == "norm" and st.linalg_vector_norm(row, 1, 2)
                           or st[name](row, 2)
              if not same_bits(want, got:narrow(1, i, 1):clone()) then
                error(("%s, row %d of %d elements"):format(name, i, n))
              end
            end
          end
        end
      end
    end)

    -- equal outputs are reduced once
    it("of a repeated row are those of the row: " .. dtype, function()
      for _, n in ipairs {2, 9, 40, 1100} do
        local row = st.randn(1, n):to(dtype)
        for _, name in ipairs {"sum", "mean", "var", "prod"} do
          local want = st[name](row, 2)
          local got = st[name](row:expand(5, n), 2)
          assert(same_bits(want:expand(5):clone(), got), name .. ", " .. n)
        end
      end
    end)

    it("do not depend on the number of threads: " .. dtype, function()
      cases.each(dtype, function(name, t, dims, operator)
        if t:numel() < 32768 then return end
        local expected = operator(t, dims)
        for _, n in ipairs {2, 3, 4, 7} do
          st.set_num_threads(n)
          if not same_bits(expected, operator(t, dims)) then
            error(("%s, %d threads"):format(name, n))
          end
        end
        st.set_num_threads(1)
      end)
    end)
  end

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("do not depend on the instruction set", function()
      build.same_by_instruction_set(
        ("%s '%s/reproducible/digest.lua' %d %s"):format(
          build.lua, HERE, SEED, table.concat(DTYPES, " ")))
    end)
  end
end)
