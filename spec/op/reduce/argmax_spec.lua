--- The first of several greatest and least elements, in rows of any length.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local inf, nan = math.huge, 0 / 0

local DTYPES = {"uint8", "int8", "int16", "int32", "int64", "float16",
                "bfloat16", "float32", "float64"}

--- The position of the first NaN, or else of the first element that `beats`
-- all others.
local function first(row, beats)
  local at = 1
  for i, x in ipairs(row) do
    if x ~= x then return i end
    if beats(x, row[at]) then at = i end
  end
  return at
end

local function greater(a, b) return a > b end
local function less(a, b) return a < b end

local function firsts(rows, beats)
  local out = {}
  for i, row in ipairs(rows) do out[i] = first(row, beats) end
  return out
end

local function check(t, rows)
  assert.same(firsts(rows, greater), tensors.lists(t:argmax(2)))
  assert.same(firsts(rows, less), tensors.lists(t:argmin(2)))
end

describe("argmax and argmin", function()
  local before = tensors.live()

  for _, dtype in ipairs(DTYPES) do
    it("of short rows, " .. dtype, function()
      st.manual_seed(1)
      for _, width in ipairs {5, 8, 15, 16, 17, 33, 70, 300} do
        local t = st.randint(0, 100, {21, width}):to(dtype)
        local rows = tensors.lists(t:to "float64")
        check(t, rows)
        check(st.stack({t, t}, 2):select(2, 1), rows)
      end
    end)

    it("of short columns, " .. dtype, function()
      st.manual_seed(3)
      for _, width in ipairs {7, 31, 32, 33, 70} do
        local t = st.randint(0, 100, {width, 60}):to(dtype)
        check(t:t():contiguous():t(), tensors.lists(t:to "float64"))
      end
    end)

    it("of all elements, " .. dtype, function()
      st.manual_seed(2)
      for _ = 1, 5 do
        local t = st.randint(0, 120, {33, 294}):to(dtype)
        local all = t:to "float64":view(-1):totable()
        assert.equal(first(all, greater), tonumber(tostring(
          t:argmax():to "float64":item())))
        assert.equal(first(all, less), tonumber(tostring(
          t:argmin():to "float64":item())))
      end
    end)
  end

  it("find the only extremum in any row", function()
    local t, want, found = st.zeros {33, 294}, {}, {}
    for i = 1, 33 do
      want[i] = (i - 1) * 294 + 8 * i
      t:select(1, i):narrow(1, 8 * i, 3):fill_(i)
      found[i] = tonumber(tostring(t:argmax():item()))
    end
    assert.same(want, found)
  end)

  it("know zeros of both signs, infinities and NaN", function()
    for _, dtype in ipairs {"float16", "bfloat16", "float32", "float64"} do
      local rows = {
        {-1, -0.0, 0, 5, 5, -1}, {-0.0, 0, 0, 0, -0.0, 0},
        {0, -0.0, -1, 0, 0, -1}, {-inf, inf, 3, inf, -inf, 0},
        {1, 2, nan, 3, nan, inf}, {nan, nan, 0, 0, 0, 0},
        {inf, -inf, 0, 0, 0, nan}, {-inf, -inf, -inf, -inf, -inf, -inf}}
      check(tensors.of(dtype, rows), rows)
    end
  end)

  it("know the least integers", function()
    local rows = {{0, -2 ^ 31, 0, -2 ^ 31, 1}, {-2 ^ 31, 0, 0, 0, 0},
                  {-1, -1, -2, -3, -3}}
    check(tensors.of("int32", rows), rows)
    check(tensors.of("int64", rows), rows)
  end)

  it("leave nothing behind", function()
    assert.is_true(tensors.live() <= before)
  end)
end)
