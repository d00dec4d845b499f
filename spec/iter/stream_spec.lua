--- Maps whose operands are larger than the caches write their output past
-- these, block by block: same values, wherever the output begins and ends.
-- axes: isa threads
-- sampled: 3

local st = require "strided"

local BYTES = 34e6 -- of all operands, more than any cache
local PIECE = 5000 -- elements; such maps take the usual path

--- Each case: a dtype, the bytes per element of all operands, and the map.
local CASES = {
  {"uint8", 3, function(a, b, out) return st.add(a, b, {out = out}) end},
  {"int16", 4, function(a, _, out) return st.neg(a, {out = out}) end},
  {"float32", 12, function(a, b, out) return st.sub(a, b, {out = out}) end},
  {"float32", 8, function(a, _, out) return st.mul(a, 3, {out = out}) end},
  {"float64", 24, function(a, b, out) return st.maximum(a, b, {out = out}) end},
  {"complex128", 48, function(a, b, out) return st.mul(a, b, {out = out}) end},
  {"complex64", 16, function(a, _, out) return st.neg(a, {out = out}) end},
  {"bfloat16", 6, function(a, b, out) return st.mul(a, b, {out = out}) end}
}

local function numbers(n, dtype, first)
  return (st.arange(n) * 7 + first):remainder(101):to(dtype)
end

describe("A map larger than the caches", function()
  for _, case in ipairs(CASES) do
    local dtype, bytes, map = case[1], case[2], case[3]

    it("has the values of a small one: " .. dtype .. ", " .. bytes, function()
      local n = math.floor(BYTES / bytes) + 3
      local a, b = numbers(n, dtype, 1), numbers(n, dtype, 50)
      for _, start in ipairs {1, 2, 4} do
        local memory = st.full({n + 8}, 99, {dtype = dtype})
        local out = memory:narrow(1, start + 1, n)
        map(a, b, out)
        assert.equal(99, tonumber(memory[start]) or memory[start].re)
        local last = memory[start + n + 1]
        assert.equal(99, tonumber(last) or last.re)
        for _, at in ipairs {1, 12345, n - PIECE + 1} do
          local x, y = a:narrow(1, at, PIECE), b:narrow(1, at, PIECE)
          local piece = map(x, y, st.empty({PIECE}, {dtype = dtype}))
          assert.is_true(out:narrow(1, at, PIECE):equal(piece))
        end
        -- all of it, by whole rows of a shape that does not stream
        local rows = map(a:narrow(1, 1, n - n % 1000):view(-1, 1000):t(),
                         b:narrow(1, 1, n - n % 1000):view(-1, 1000):t(),
                         st.empty({1000, (n - n % 1000) / 1000},
                                  {dtype = dtype}))
        assert.is_true(out:narrow(1, 1, n - n % 1000):view(-1, 1000):t()
                       :equal(rows))
      end
    end)
  end

  it("has the values of a small one, row by row", function()
    local m, n = 3001, 2903
    local a = numbers(m * n, "float32", 1):view(m, n)
    local wide = numbers(m * (n + 3), "float32", 5):view(m, n + 3)
    local others = {numbers(n, "float32", 9),
                    numbers(m, "float32", 9):view(m, 1),
                    wide:narrow(2, 3, n)}
    for i, b in ipairs(others) do
      local memory = st.full({m, n + 5}, 99, {dtype = "float32"})
      local expected = st.full({m, n + 5}, 99, {dtype = "float32"})
      st.sub(a, b, {out = memory:narrow(2, i + 1, n)})
      for row = 1, m, 100 do
        local count = math.min(100, m - row + 1)
        local part = b:dim() > 1 and b:narrow(1, row, count) or b
        st.sub(a:narrow(1, row, count), part,
               {out = expected:narrow(1, row, count):narrow(2, i + 1, n)})
      end
      assert.is_true(memory:equal(expected), i)
    end
  end)

  it("compares into booleans", function()
    local n = 4000001
    local a, b = numbers(n, "float32", 1), numbers(n, "float32", 50)
    local more = a:gt(b)
    assert.equal(n, more:sum():item() + a:le(b):sum():item())
    assert.is_true(more:narrow(1, 77, PIECE):equal(
      a:narrow(1, 77, PIECE):gt(b:narrow(1, 77, PIECE))))
  end)
end)
