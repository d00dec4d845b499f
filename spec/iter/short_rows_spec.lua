--- Short rows are walked many at a time, in blocks whose operands are packed,
-- spread and replicated into buffers. The elements are those of contiguous
-- operands, whatever the rank, the dtype and the layout.
-- axes: isa threads
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack

local function filled(shape, dtype) return tensors.filled(shape, dtype, 101) end

-- The shapes of two operands: rows from 1 to 33 elements, around the sizes of
-- a block, ranks from 2 to 7.
local SHAPES = {
  {{5000, 4}, {4}},
  {{5000, 4}, {5000, 1}},
  {{5000, 1}, {1, 5}},
  {{1023, 33}, {33}},
  {{70, 90, 3}, {3}},
  {{70, 90, 3}, {90, 1}},
  {{1, 32, 32, 2}, {64, 1, 1, 2}},
  {{3000, 1, 2}, {3000, 2, 1}},
  {{3000, 2, 1}, {1, 2, 2}},
  {{90, 2, 3, 2}, {1, 3, 1}},
  {{90, 2, 3, 2}, {90, 2, 1, 1}},
  {{3, 2, 300, 2, 3}, {2, 1, 2, 1}},
  {{2, 2, 2, 2, 2, 2, 9}, {2, 1, 2, 1, 2, 1}},
  {{7, 1, 31, 1}, {1, 5, 1, 3}},
}

-- Views of t with the same shape.
local VIEWS = {
  {"dense", function(t) return t end},
  {"in reverse order", function(t)
    local order = {}
    for d = t:dim(), 1, -1 do order[#order + 1] = d end
    return t:permute(order):contiguous():permute(order)
  end},
  {"with the last two dimensions swapped", function(t)
    if t:dim() < 2 then return t end
    return t:transpose(-1, -2):contiguous():transpose(-1, -2)
  end},
  {"with gaps", function(t)
    return st.stack({t, t}, -1):select(-1, 2)
  end},
}

local DTYPES = {"uint8", "int16", "float16", "float32", "float64",
                "complex128"}

describe("Short rows", function()
  local threads
  setup(function() threads = st.get_num_threads() end)
  teardown(function() st.set_num_threads(threads) end)

  for k, shapes in ipairs(SHAPES) do
    local name = ("{%s} and {%s}"):format(table.concat(shapes[1], ", "),
                                         table.concat(shapes[2], ", "))
    for i, left in ipairs(VIEWS) do
      local right = VIEWS[(i + k) % #VIEWS + 1]
      it(("give the elements of plain operands: %s, %s and %s"):format(
        name, left[1], right[1]), function()
        for d, dtype in ipairs(DTYPES) do
          st.set_num_threads(d % 3 + 1)
          local other = DTYPES[(d + i) % #DTYPES + 1] -- often another one
          local a = left[2](filled(shapes[1], dtype))
          local b = right[2](filled(shapes[2], other))
          local x, y = unpack(st.broadcast_tensors {a, b})
          x, y = x:contiguous(), y:contiguous()
          local common = st.result_type(a, b)
          local plain = x:to(common):mul(y:to(common))
          local what = dtype .. " and " .. other
          assert.is_true(a:mul(b):equal(plain), what)
          assert.is_true(a:neg():equal(a:contiguous():neg()), what)
          -- The same through the strides of a given output.
          local out = left[2](st.zeros(plain.shape, {dtype = common}))
          local strides = out:stride()
          st.mul(a, b, {out = out})
          assert.is_true(out:equal(plain), what)
          assert.same(strides, out:stride())
        end
      end)
    end
  end

  it("leave what lies between them alone", function()
    local base = st.full({3000, 5}, 7, {dtype = "int32"})
    local out = base:narrow(2, 2, 3)
    local one = {dtype = "int16"}
    st.add(st.ones(3000, 1, one), st.ones(3, one), {out = out})
    assert.is_true(out:eq(2):all():item())
    assert.is_true(base:select(2, 1):eq(7):all():item())
    assert.is_true(base:select(2, 5):eq(7):all():item())
  end)
end)

-- Results of 32 MB and more, operands included, go past the caches.
describe("A large result", function()
  local N = 1400003

  local function check(what, out, expected, base)
    assert.is_true(out:equal(expected), what)
    if not base then return end
    assert.equal(7, base[1], what)
    assert.equal(7, base[-1], what)
  end

  it("is that of a small one, wherever it begins", function()
    local a = filled({N}, "float64")
    local b = filled({N}, "float64"):mul_(3)
    local sum = a:clone():add_(b) -- in place: not past the caches
    check("new", a + b, sum)
    for _, first in ipairs {2, 3, 5} do
      local base = st.full({N + 6}, 7, {dtype = "float64"})
      local out = base:narrow(1, first, N)
      check("out= from " .. first, st.add(a, b, {out = out}), sum, base)
    end
    check("with a number", a + 2, a:clone():add_(2))
  end)

  it("is that of a small one in rows", function()
    local a, row = filled({1201, 1203}, "float64"), filled({1203}, "float64")
    local column = filled({1201, 1}, "float64")
    check("a row", a * row, a:clone():mul_(row))
    check("a column", a * column, a:clone():mul_(column))
    local base = st.full({1201, 1205}, 7, {dtype = "float64"})
    check("gaps", st.mul(a, row, {out = base:narrow(2, 2, 1203)}), a * row,
          base:view(-1))
    assert.equal(2 * 1201 * 7, base:select(2, 1):sum():item() +
                               base:select(2, -1):sum():item())
  end)
end)

describe("A long row of halves and one number", function()
  for _, dtype in ipairs {"float16", "bfloat16"} do
    it("is multiplied by that number to its end, " .. dtype, function()
      local a = st.ones({1, 2, 3, 70000}, {dtype = dtype})
      local w = st.tensor({1, 2, 3}, {dtype = dtype}):reshape(3, 1)
      assert.is_true((a * w):eq(w):all():item())
      assert.is_true((w * a):eq(w):all():item())
    end)
  end
end)
