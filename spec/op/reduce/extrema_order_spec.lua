--- amax and amin of dimensions that are not in memory order: the values, and
-- the bits of zeros and NaNs, as of contiguous elements.
-- axes: isa threads

local st = require "strided"

local INTEGERS = {float32 = "int32", float64 = "int64", float16 = "int16",
                  bfloat16 = "int16"}
local LAYOUTS = {
  transposed = function(a) return a:permute(3, 1, 2) end,
  reversed = function(a) return a:flip(1):transpose(1, 3) end,
  expanded = function(a)
    return a:narrow(2, 1, 1):expand(a:size(1), 5, a:size(3))
  end,
  stepped = function(a) return a:slice(1, 1, -1, 3):transpose(1, 2) end,
}
local DIMS = {{1}, {2}, {1, 2}, {1, 3}, {2, 3}, {1, 2, 3}}

local function bits(t, dtype)
  return t:reshape(-1):view(INTEGERS[dtype])
end

-- What shows the order: zeros of both signs, NaNs of both signs. b has both.
local CONTENTS = {
  numbers = function(a) return a end,
  ["zeros above"] = function(a, b) return st.where(a:lt(0), a, b * 0) end,
  ["zeros below"] = function(a, b) return st.where(a:gt(0), a, b * 0) end,
  NaNs = function(a, b)
    local nan = a * (0 / 0)
    return st.where(a:gt(2), st.where(b:gt(0), nan, nan:neg()), a)
  end,
}

-- The last ones have rows of several blocks of lanes, and a rest.
local SHAPES = {{19, 7, 37}, {3, 5, 100}, {2, 3, 600}}

--- Compares amax and amin of x with those of its elements in order.
local function check(x, dtype, what)
  local dense = x:clone {memory_format = "contiguous_format"}
  for _, dims in ipairs(DIMS) do
    for _, name in ipairs {"amax", "amin"} do
      local got, want = st[name](x, dims), st[name](dense, dims)
      assert.is_true(bits(got, dtype):equal(bits(want, dtype)),
                     name .. " " .. what)
    end
  end
end

describe("An extremum in another order than memory's", function()
  for dtype in pairs(INTEGERS) do
    it("has the bits of one in order: " .. dtype, function()
      st.manual_seed(5)
      for content, fill in pairs(CONTENTS) do
        for _, shape in ipairs(SHAPES) do
          local a = fill(st.randn(shape):to(dtype), st.randn(shape):to(dtype))
          for layout, of in pairs(LAYOUTS) do
            check(of(a), dtype, content .. " " .. layout)
          end
        end
      end
    end)
  end

  it("is the largest or the least element", function()
    local a = st.randn({300, 41})
    local list = a:reshape(-1):totable()
    local least, most = list[1], list[1]
    for _, value in ipairs(list) do
      least, most = math.min(least, value), math.max(most, value)
    end
    assert.equal(least, a:t():amin({1, 2}):item())
    assert.equal(most, a:t():amax({1, 2}):item())
    assert.equal(list[1], a[1]:narrow(1, 1, 1):expand(500):amin({1}):item())
  end)

  it("may be written over its input", function()
    local a = st.randn({8, 8})
    local want = a:t():contiguous():amax({1, 2})
    local out = a:narrow(1, 3, 1):narrow(2, 4, 1):reshape({})
    st.amax(a:t(), {1, 2}, {out = out})
    assert.equal(want:item(), out:item())
  end)
end)
