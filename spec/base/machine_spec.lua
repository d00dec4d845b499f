--- The choices that the engine makes by the machine.
-- axes: isa threads

local st = require "strided"

local SIZES = {3, 64, 511, 512, 513, 1023, 1024, 1025, 1448, 2047, 2048}

describe("The machine's choices", function()
  it("are positive numbers that config lists", function()
    local n = 0
    for name, value in pairs(st.config().machine) do
      assert.is_true(value > 0 and value % 1 == 0, name)
      n = n + 1
    end
    assert.is_true(n >= 10)
  end)

  it("are consistent with each other", function()
    local m = st.config().machine
    assert.equal(m.l1_bytes, m.l1_span * m.l1_ways)
    assert.is_true(m.l1_bytes < m.l2_bytes)
    assert.is_true(m.l2_bytes <= m.cache_bytes)
    assert.is_true(m.tiles_streamed <= m.copy_streamed)
  end)

  it("do not change what a copy writes", function()
    for _, n in ipairs(SIZES) do
      local a = st.arange(n * 65):view(n, 65)
      local t = a:t():contiguous()
      for _, k in ipairs {1, 33, 65} do
        assert.is_true(st.equal(t[k], a:select(2, k)), n .. " " .. k)
      end
    end
    for _, n in ipairs {1023, 1024, 1025, 2047, 2048} do
      local a = st.arange(n * n, {dtype = "int32"}):view(n, n)
      local t = a:t():contiguous()
      assert.is_true(st.equal(t, a:t()), n)
      assert.is_true(st.equal(t:t():contiguous(), a), n)
    end
  end)
end)
