--- Operands of one element per row beside contiguous rows, as in an outer
-- product: the results are those of contiguous operands.
-- axes: isa
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local lists, live = tensors.lists, tensors.live

--- Operands of the row lengths n: a column, a row and a whole matrix.
local function operands(dtype, n)
  local column = st.arange(1, 4):view(3, 1):to(dtype)
  local row = st.arange(n):remainder(61):add(2):view(1, n):to(dtype)
  local whole = st.arange(3 * n):remainder(53):view(3, n):to(dtype)
  return column, row, whole
end

local function full(x, n) return x:expand {3, n}:contiguous() end

local CASES = {
  function(column, row) return column * row end,
  function(column, row) return row - column end,
  function(column, row, whole) return st.addcmul(whole, column, row) end,
  function(column, row, whole) return st.addcmul(column, whole, row) end,
  function(column, row, whole) return st.where(row:gt(9), column, whole) end,
  function(column, row) return row:lt(column) end,
  function(column, row) return column:eq(row) end,
}

describe("one element per row", function()
  local before = live()

  for _, dtype in ipairs {"uint8", "int16", "float16", "bfloat16", "float32",
                          "int64", "float64", "complex64"} do
    it("is as good as a row of copies: " .. dtype, function()
      for _, n in ipairs {63, 64, 127, 128, 129, 255, 256, 257, 300, 1100} do
        local column, row, whole = operands(dtype, n)
        for k, case in ipairs(CASES) do
          if dtype ~= "complex64" or k < 5 then
            local expected = case(full(column, n), full(row, n), whole)
            assert.same(lists(expected), lists(case(column, row, whole)))
            -- rows apart: contiguous rows with a gap
            local apart = st.cat({whole, whole}, 2):narrow(2, n, n)
            assert.same(lists(case(full(column, n), full(row, n), apart)),
                        lists(case(column, row, apart)))
          end
        end
        local x, y = whole:clone(), whole * full(column, n)
        assert.same(lists(y), lists(x:mul_(column)))
      end
    end)
  end

  it("leaves nothing behind", function()
    assert.is_true(live() <= before)
  end)
end)
