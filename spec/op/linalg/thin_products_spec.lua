--- Products of matrices of any layout that the engine's kernel computes in
-- tiles: few products in a sum, or integers. The elements are small integers,
-- so that every order of the sum gives the same floats.
-- axes: isa threads

local st = require "strided"

local unpack = table.unpack or unpack

--- A matrix of small integers in one of three layouts.
local LAYOUTS = {
  rows = function(m) return m end,
  columns = function(m) return m:t():contiguous():t() end,
  strided = function(m)
    local wide = st.zeros({m:size(1), 2 * m:size(2)}, {dtype = m.dtype})
    local view = wide:as_strided({m:size(1), m:size(2)},
                                 {2 * m:size(2), 2})
    return view:copy_(m)
  end,
}

local function matrix(rows, cols, dtype)
  local n = st.arange(rows * cols):mul(7):remainder(11) - 5
  return n:view(rows, cols):to(dtype)
end

--- The product as a sum of outer products.
local function expected(a, b)
  local sum = st.zeros({a:size(1), b:size(2)}, {dtype = "int64"})
  for k = 1, a:size(2) do
    sum = sum + st.outer(a:select(2, k), b:select(1, k)):to "int64"
  end
  return sum
end

-- rows, inner size, columns: full tiles and their rests, one row, one column,
-- adjacent columns by a vector, more than one block of columns
local SIZES = {{4, 1, 64}, {7, 2, 95}, {130, 16, 33}, {1, 3, 79}, {90, 9, 1},
               {7, 333, 1}, {1, 100, 5}, {5, 40, 400}}

local function check(dtype, m, k, n)
  local a, b = matrix(m, k, dtype), matrix(k, n, dtype)
  local want = expected(a, b)
  local sum = want * 3 + matrix(m, n, "int64") * 2
  for left, place in pairs(LAYOUTS) do
    for right, lay in pairs(LAYOUTS) do
      local x, y = place(a), lay(b)
      local name = dtype .. " " .. left .. " " .. right
      assert.is_true(x:mm(y):to "int64":equal(want), name)
      local out = lay(matrix(m, n, dtype))
      st.mm(x, y, {out = out})
      assert.is_true(out:to "int64":equal(want), name .. " out")
      local added = st.addmm(matrix(m, n, dtype), x, y, {beta = 2, alpha = 3})
      assert.is_true(added:to "int64":equal(sum), name .. " added")
    end
  end
end

describe("A thin product", function()
  for _, dtype in ipairs {"float32", "float64", "int32", "int64", "int16"} do
    it("of " .. dtype, function()
      for _, size in ipairs(SIZES) do check(dtype, unpack(size)) end
    end)
  end

  it("of float16 and a vector", function()
    for _, size in ipairs {{90, 9, 1}, {1, 3, 79}, {150, 40, 1}} do
      check("float16", unpack(size))
    end
  end)

  it("of float8 with one row or column", function()
    local row, column = matrix(1, 20, "float32"), matrix(20, 1, "float32")
    local a, b = row:to "float8_e5m2", column:to "float8_e5m2"
    local want = row:mm(column):to "float8_e5m2"
    assert.is_true(a:mm(b):to "float32":equal(want:to "float32"))
    local all = column:mm(row):to "float8_e5m2"
    assert.is_true(b:mm(a):to "float32":equal(all:to "float32"))
  end)

  it("of a batch of bfloat16 and vectors", function()
    local a, b = matrix(6, 40, "bfloat16"), matrix(6 * 40, 150, "bfloat16")
    local got = st.bmm(a:view(6, 1, 40), b:view(6, 40, 150))
    local want = st.bmm(a:view(6, 1, 40):to "float32",
                        b:view(6, 40, 150):to "float32")
    assert.is_true(got:equal(want:to "bfloat16"))
  end)

  it("times 0 is not read, of halves and a vector", function()
    for _, dtype in ipairs {"float16", "bfloat16", "float32"} do
      for _, place in pairs(LAYOUTS) do
        local a, x = place(matrix(300, 130, dtype)), matrix(130, 1, dtype)
        local c, y = matrix(300, 1, dtype), x:new_full({130}, 0 / 0)
        a:mv(y) -- sums that may be left where the next ones begin
        assert.is_true(st.addmm(c, a, x, {alpha = 0}):equal(c))
        assert.is_true(st.addmv(c:view(300), a, y, {alpha = 0, beta = 2})
                       :equal(c:view(300) * 2))
      end
    end
  end)

  it("of a batch", function()
    local a, b = matrix(6 * 50, 3, "float32"), matrix(3, 70, "float32")
    local got = st.matmul(a:view(6, 50, 3), b)
    assert.is_true(got:view(300, 70):to "int64":equal(expected(a, b)))
    got = st.bmm(a:view(6, 50, 3), b:expand(6, 3, 70))
    assert.is_true(got:view(300, 70):to "int64":equal(expected(a, b)))
  end)

  it("does not read the NaN of its output", function()
    for _, n in ipairs {1, 70} do
      local out = st.full({300, n}, 0 / 0)
      st.mm(st.ones {300, 20}, st.ones {20, n}, {out = out})
      assert.are.equal(300 * n * 20, out:sum():item())
      st.mm(out:fill_(0 / 0):new_ones {300, 8}, st.ones {8, n}, {out = out})
      assert.are.equal(300 * n * 8, out:sum():item())
    end
    local wide = st.full({2, 300}, 0 / 0)
    st.mv(st.ones {300, 40}, st.ones(40), {out = wide:t():select(2, 1)})
    assert.are.equal(300 * 40, wide[1]:sum():item())
    local every = wide:view(300, 2):select(2, 2):fill_(0 / 0)
    st.mv(st.ones {300, 40}, st.ones(40), {out = every})
    assert.are.equal(300 * 40, every:sum():item())
  end)
end)
