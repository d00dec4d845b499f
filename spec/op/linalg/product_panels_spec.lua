--- Products so large that they are computed in panels: of rows, of columns and
-- of the inner dimension.
-- axes: threads
-- sampled: 3

local st = require "strided"

--- A matrix whose element (i, j) is i % 7 * (j % 5 + 1), counted from 0.
local function matrix(rows, cols)
  local left = st.arange(rows):remainder(7):view(rows, 1)
  return (left * (st.arange(cols):remainder(5) + 1)):to "float32"
end

--- What matrix(rows, inner) times the transpose of matrix(cols, inner) is.
local function expected(rows, cols, inner)
  local squares = 0
  for k = 0, inner - 1 do squares = squares + (k % 5 + 1) ^ 2 end
  local left, right = st.arange(rows):remainder(7), st.arange(cols):remainder(7)
  return (st.outer(left, right) * squares):to "float32"
end

-- rows, columns and inner size: more than one panel in that direction
local SIZES = {
  {"rows and columns", 1100, 1300, 7001},
  {"columns", 500, 2400, 7001},
  {"the inner dimension", 500, 510, 34011},
}

describe("A product in panels", function()
  for _, case in ipairs(SIZES) do
    local name, rows, cols, inner = case[1], case[2], case[3], case[4]

    it("of " .. name, function()
      local a, b = matrix(rows, inner), matrix(cols, inner)
      local want = expected(rows, cols, inner)
      assert.is_true(a:mm(b:t()):isclose(want):all():item())
    end)

    it("of " .. name .. " is added to a matrix", function()
      local a, b = matrix(rows, inner), matrix(cols, inner)
      local want = expected(rows, cols, inner) * 3 + 200
      local hundreds = st.full({rows, cols}, 100, {dtype = "float32"})
      local sum = st.addmm(hundreds, a, b:t(), {beta = 2, alpha = 3})
      assert.is_true(sum:isclose(want):all():item())
    end)
  end

  it("of complex numbers", function()
    local a = matrix(300, 24011):to "complex64"
    local b = matrix(301, 24011):to "complex64"
    assert.is_true(a:mm(b:t()):real():isclose(expected(300, 301, 24011)):all()
                   :item())
  end)

  it("of a matrix and a vector", function()
    local a = matrix(4500, 8003)
    local v = matrix(2, 8003)[2]
    local want = expected(4500, 2, 8003):select(2, 2)
    assert.is_true(a:mv(v):isclose(want):all():item())
    assert.is_true(a:t():contiguous():t():mv(v):isclose(want):all():item())
  end)
end)
