--- Operands that disagree about the fastest dimension are walked in tiles,
-- when a row of one would drive the columns of another out of the cache. The
-- elements are those of contiguous operands, whatever the walk.
-- axes: isa threads
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local function filled(...) return tensors.filled({...}, "float32", 1013) end

-- what, a view, an operand of its shape
local ROWS = {
  {"a transposed matrix", filled(1600, 40):t(), filled(40, 1600)},
  {"a small one", filled(70, 66):t(), filled(66, 70)},
  {"sizes that no tile divides", filled(1601, 67):t(), filled(67, 1601)},
  {"strides of whole pages", filled(256, 1024):t(), filled(1024, 256)},
  {"columns far apart", filled(261, 520):t(), filled(520, 261)},
  {"bytes far apart", filled(293, 2200):to "uint8":narrow(2, 1, 300):t(),
   filled(300, 293):to "uint8"},
  {"the second dimension of three", filled(9, 1600, 16):transpose(2, 3),
   filled(9, 16, 1600)},
  {"a dimension further out", filled(1600, 3, 16):permute(3, 2, 1),
   filled(16, 3, 1600)},
  {"four dimensions", filled(1600, 2, 3, 8):permute(4, 3, 2, 1),
   filled(8, 3, 2, 1600)},
  {"five dimensions", filled(9, 2, 3, 2, 90):permute(5, 4, 3, 2, 1),
   filled(90, 2, 3, 2, 9)},
  {"channels in front and behind", filled(2, 24, 9, 11):permute(1, 4, 2, 3),
   filled(2, 11, 24, 9)},
  {"a broadcast operand", filled(1600, 40):t(), filled(1600)},
  {"a broadcast column", filled(1600, 40):t(), filled(40, 1)},
  {"gaps between the columns", filled(200, 90):narrow(2, 7, 50):t(),
   filled(50, 200)},
  {"a step along the columns", filled(200, 50, 2):select(3, 2):t(),
   filled(50, 200)},
  {"another dtype", filled(1600, 40):to "float64":t(), filled(40, 1600)},
  {"a narrower one", filled(1600, 40):to "float16":t(), filled(40, 1600)},
  {"both transposed, one of another dtype", filled(1600, 40):to "int16":t(),
   filled(1600, 40):t()},
}
for _, dtype in ipairs {"int8", "int16", "int32", "int64", "complex128"} do
  ROWS[#ROWS + 1] = {dtype, filled(600, 70):to(dtype):t(),
                     filled(70, 600):to(dtype)}
  ROWS[#ROWS + 1] = {dtype .. " with float32", filled(600, 70):to(dtype):t(),
                     filled(70, 600)}
end

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
      local expected = a:contiguous():mul(b)
      local into = st.empty_like(a)
      into:copy_(a)
      into:mul_(b:to(a.dtype))
      assert.is_true(into:equal(a:contiguous():mul_(b:to(a.dtype))))
      -- A given output of either layout, of the result's dtype and another.
      for _, dtype in ipairs {tostring(expected.dtype), "complex128"} do
        for _, like in ipairs {a, expected} do
          local out = st.empty_like(like, {dtype = dtype})
          local strides = out:stride()
          st.mul(a, b, {out = out})
          assert.is_true(out:equal(expected:to(dtype)))
          assert.same(strides, out:stride())
        end
      end
    end)
  end
end)
