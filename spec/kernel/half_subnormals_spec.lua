--- Results of half dtypes that are subnormal: scans, softmax, reductions and
-- elementwise loops convert rows of them, by instructions or by code of each
-- instruction set.
-- axes: isa

local st = require "strided"

local STEP = 2 ^ -24 -- the smallest float16 above 0; 2^-14 is the first normal

-- What a line of 16 such elements gives, exactly, in multiples of STEP.
local UNIT = 16

local function filled(value, ...)
  return st.full({...}, value, {dtype = "float16"})
end

--- The elements of a float16 tensor as multiples of STEP.
local function steps(t)
  return t:to("float64"):mul(1 / STEP):reshape(-1):totable()
end

local function every(n, f)
  local list = {}
  for i = 1, n do list[i] = f(i) end
  return list
end

describe("Subnormal results of float16", function()
  it("of cumsum are exact, along and across lines", function()
    local along = filled(UNIT * STEP, 4, 16):cumsum(2)
    assert.same(every(64, function(i) return UNIT * ((i - 1) % 16 + 1) end),
                steps(along))
    local across = filled(UNIT * STEP, 16, 4):cumsum(1)
    assert.same(every(64, function(i)
      return UNIT * (math.floor((i - 1) / 4) + 1)
    end), steps(across))
  end)

  it("of cumprod are exact, along and across lines", function()
    local rows = filled(0.5, 4, 10)
    rows:select(2, 1):fill_(2 ^ -14)
    local want = every(40, function(i) return 2 ^ (10 - (i - 1) % 10) end)
    assert.same(want, steps(rows:cumprod(2)))
    assert.same(want, steps(rows:t():contiguous():cumprod(1):t()))
  end)

  it("of softmax are those of float64", function()
    local row = st.arange(0, -16, -1):to("float16")
    local x = row:expand(8, 16):contiguous()
    for _, dim in ipairs {1, 2} do
      local t = dim == 2 and x or x:t():contiguous()
      local want = steps(t:to("float64"):softmax(dim))
      for i, got in ipairs(steps(t:softmax(dim))) do
        -- half a step for the result's rounding, and a bit for the sum's
        local room = math.max(0.51, want[i] * 2 ^ -10)
        assert.is_true(math.abs(got - want[i]) <= room,
                       ("element %d is %g steps, not %g"):format(i, got,
                                                                 want[i]))
      end
    end
    assert.is_true(steps(x:softmax(2))[16] > 0)
  end)

  it("of every subnormal are that number, in copies and loops", function()
    local all = st.arange(1, 1024):mul(STEP):to("float16")
    local want = every(1023, function(i) return i end)
    assert.same(want, steps(all))
    assert.same(want, steps(all:add(0)))
    assert.same(want, steps(all:mul(1)))
    local apart = st.zeros(1023, 3, {dtype = "float16"})
    apart:select(2, 2):copy_(all)
    assert.same(want, steps(apart:select(2, 2):neg():neg()))
    assert.same(want, steps(apart:sum(2)))
    assert.same(want, steps(apart:amax(2)))
  end)

  it("of bfloat16 are exact as well", function()
    local tiny = st.full({4, 16}, 2 ^ -133, {dtype = "bfloat16"})
    local sums = tiny:cumsum(2):to("float64"):mul(2 ^ 133)
    assert.same(every(16, function(i) return i end),
                sums:select(1, 1):totable())
  end)
end)

describe("An elementwise loop of half types", function()
  local CALLS = {
    function(x, y) return x + y end,
    function(x) return 1.5 * x end,
    function(x, y) return st.addcmul(y, x, y, {value = 0.5}) end,
    function(x) return st.hardswish(x) end,
    function(x) return -x end,
  }

  -- Contiguous halves are converted in registers, others in blocks.
  it("gives every half the same result, contiguous or not", function()
    for _, dtype in ipairs {"float16", "bfloat16"} do
      local x = st.arange(-32768, 32767):to("int16"):view(dtype)
      local y = st.arange(65535):remainder(7):sub(3):to(dtype)
      local gaps = st.stack({x, x}, 2):select(2, 1)
      for i, f in ipairs(CALLS) do
        local a, b = f(x, y):view("int16"), f(gaps, y):view("int16")
        assert.is_true(a:equal(b), dtype .. ", row " .. i)
      end
    end
  end)
end)
