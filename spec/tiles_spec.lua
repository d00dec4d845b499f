--- Operands that disagree about the fastest dimension are walked in tiles,
-- when a row of one would drive the columns of another out of the cache. The
-- elements are those of contiguous operands, whatever the walk.

local st = require "strided"

local function filled(...)
  local n = 1
  for i = 1, select("#", ...) do n = n * select(i, ...) end
  return st.arange(n):remainder(1013):to "float32":view {...}
end

-- what, a view, an operand of its shape
local ROWS = {
  {"a transposed matrix", filled(1600, 40):t(), filled(40, 1600)},
  {"sizes that no tile divides", filled(1601, 67):t(), filled(67, 1601)},
  {"strides of whole pages", filled(256, 1024):t(), filled(1024, 256)},
  {"the second dimension of three", filled(9, 1600, 16):transpose(2, 3),
   filled(9, 16, 1600)},
  {"a dimension further out", filled(1600, 3, 16):permute(3, 2, 1),
   filled(16, 3, 1600)},
  {"four dimensions", filled(1600, 2, 3, 8):permute(4, 3, 2, 1),
   filled(8, 3, 2, 1600)},
  {"a broadcast operand", filled(1600, 40):t(), filled(1600)},
  {"another dtype", filled(1600, 40):to "float64":t(), filled(40, 1600)},
  {"one byte per element", filled(1600, 40):to "int8":t(),
   filled(40, 1600):to "int8"},
  {"sixteen bytes per element", filled(1600, 40):to "complex128":t(),
   filled(40, 1600):to "complex128"},
}

describe("A walk in tiles", function()
  local threads
  setup(function() threads = st.get_num_threads() end)
  teardown(function() st.set_num_threads(threads) end)

  for _, row in ipairs(ROWS) do
    local what, a, b = row[1], row[2], row[3]
    for n = 1, 3 do
      it(("gives the elements of plain operands: %s, %d threads"):format(
        what, n), function()
        st.set_num_threads(n)
        local plain = a:contiguous()
        assert.is_true((a * b):equal(plain * b))
        assert.is_true((b - a):equal(b - plain))
        assert.is_true(a:neg():equal(plain:neg()))
      end)
    end

    it("writes through strides: " .. what, function()
      local expected = a:contiguous():mul(b):to(a.dtype)
      local into = st.empty_like(a)
      assert.same(a:stride(), into:stride())
      into:copy_(a)
      into:mul_(b:to(a.dtype))
      assert.is_true(into:equal(expected))
    end)
  end
end)
