--- The bits of a transform depend on its length, its dtype and the elements
-- alone: not on the batch, the layout, the number of threads or the instruction
-- set (Note [The order of a transform]).
-- axes: isa

local build = require "spec.support.build"
local cases = require "spec.op.fft.same_bits.cases"
local st = require "strided"

local ipairs, pairs = ipairs, pairs

local HERE = build.root .. "/spec/op/fft"
local DTYPES = build.is_sanitized and {"float64"} or {"float32", "float64"}

local function same(want, got, ...)
  if cases.bits(want):equal(cases.bits(got)) then return end
  error(table.concat({...}, ", "), 2)
end

--- The lines of t, which are rows, in other memory.
local function layouts(t)
  local lines, n = t:size(1), t:size(2)
  local spread = st.empty({lines, 2 * n}, {dtype = t.dtype})
  local padded = st.empty({lines, n + 1}, {dtype = t.dtype})
  return {
    columns = t:t():contiguous():t(),
    spread = spread:slice(2, 1, 2 * n, 2):copy_(t),
    padded = padded:narrow(2, 2, n):copy_(t),
  }
end

describe("The bits of a transform", function()
  local threads
  setup(function() threads = st.get_num_threads() end)
  teardown(function() st.set_num_threads(threads) end)
  before_each(function()
    st.manual_seed(1)
    st.set_num_threads(1)
  end)

  for _, dtype in ipairs(DTYPES) do
    it("are those of each line alone: " .. dtype, function()
      cases.each(dtype, function(name, n, t, operator)
        local all = operator(t, 2)
        for _, k in ipairs {1, 4, t:size(1)} do
          same(all[k], operator(t[k], 1), name, n, "line " .. k)
        end
        for _, few in ipairs {2, 3, 5} do
          same(all:narrow(1, 1, few), operator(t:narrow(1, 1, few), 2), name, n,
               few .. " lines")
        end
      end)
    end)

    it("do not depend on the layout: " .. dtype, function()
      cases.each(dtype, function(name, n, t, operator)
        local rows = operator(t, 2)
        for layout, other in pairs(layouts(t)) do
          same(rows, operator(other, 2), name, n, layout)
        end
        local columns = t:t():contiguous()
        same(rows, operator(columns, 1):t(), name, n, "dimension 1")
        local narrow = columns:narrow(2, 2, 3)
        same(rows:narrow(1, 2, 3), operator(narrow, 1):t(), name, n, "few")
      end)
    end)

    it("do not depend on the number of threads: " .. dtype, function()
      cases.each(dtype, function(name, n, t, operator)
        local one = operator(t, 2)
        for count = 2, 3 do
          st.set_num_threads(count)
          same(one, operator(t, 2), name, n, count .. " threads")
          same(one[1], operator(t[1], 1), name, n, count .. " threads, a line")
        end
        st.set_num_threads(1)
      end)
      st.set_num_threads(1)
      local long = st.view_as_complex(st.randn({2 ^ 17, 2}, {dtype = dtype}))
      local one = st.fft.fft(long)
      for count = 2, 3 do
        st.set_num_threads(count)
        same(one, st.fft.fft(long), "a long line", count .. " threads")
      end
    end)
  end

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("do not depend on the instruction set", function()
      build.same_by_instruction_set(
        ("%s '%s/same_bits/digest.lua' 1 %s"):format(
          build.lua, HERE, table.concat(DTYPES, " ")))
    end)
  end
end)
