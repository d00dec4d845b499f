--- Products of a vector and a matrix whose columns are contiguous: the same
-- bits as those of its rows, on every road that the kernel takes.
-- axes: isa threads

local st = require "strided"

local unpack = table.unpack or unpack

-- rows, columns: few adjacent rows, which fill no vector; up to eight; many
-- columns of few rows; partial sums in memory, of rows that fill vectors or do
-- not, and of more rows than a block has
local SIZES = {{20, 4100}, {9, 2100}, {33, 2049}, {63, 1030}, {5, 3000},
               {64, 2100}, {300, 1047}, {97, 6013}, {1024, 4100}, {8210, 260}}

local DTYPES = {"float32", "float64", "float16", "bfloat16", "complex64",
                "complex128"}

--- Columns m with room for `gap` more rows below each.
local function columns(m, gap)
  local wide = m:new_full({m:size(2), m:size(1) + gap}, 0 / 0)
  return wide:t():narrow(1, 1, m:size(1)):copy_(m)
end

local function check(a, x, rows, k)
  local want = a:mv(x)
  local name = ("%s, %d x %d"):format(tostring(a.dtype), rows, k)
  for _, gap in ipairs {0, 3} do
    local c = columns(a, gap)
    assert.is_true(c:mv(x):equal(want), name)
    local out = x:new_full({2 * rows}, 0 / 0):slice(1, 1, 2 * rows, 2)
    st.mv(c, x, {out = out})
    assert.is_true(out:equal(want), name .. ", stepped")
    local by = {alpha = 0.5, beta = 3}
    local sum = a:new_ones(rows)
    assert.is_true(sum:addmv(c, x, by):equal(sum:addmv(a, x, by)), name)
  end
end

describe("A vector and columns have the bits of rows:", function()
  for _, dtype in ipairs(DTYPES) do
    it(dtype, function()
      local g = st.Generator(7)
      for _, size in ipairs(SIZES) do
        local rows, k = unpack(size)
        local options = {dtype = dtype, generator = g}
        local a, x = st.randn({rows, k}, options), st.randn({2 * k}, options)
        x:narrow(1, k + 1, k):fill_(0 / 0) -- is not read
        x = x:narrow(1, 1, k)
        check(a, x, rows, k)
      end
    end)
  end
end)
