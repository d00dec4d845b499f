--- Operands of another dtype are converted inside the loop, block by block:
-- no whole temporaries, and the same elements as if there had been one.

local st = require "strided"

--- How many blocks of memory fn asks for, once the operator has its table.
local function allocations(fn)
  local many = 1000000
  fn()
  st.memory_fail_at(many)
  fn()
  return many - st.memory_fail_at(0)
end

local function filled(shape, dtype)
  local n = 1
  for i = 1, #shape do n = n * shape[i] end
  local t = st.arange(n):remainder(23):sub(11):view(shape)
  return t:to(dtype)
end

describe("An operand of another dtype", function()
  -- what, call of (a, b, out) with one dtype, dtypes that differ
  local rows = {
    {"a wider input", function(a, b) return a + b end,
     {"float32", "float64"}},
    {"an integer input", function(a, b) return a * b end,
     {"int32", "float32"}},
    {"two inputs", function(a, b) return a:div(b) end, {"int8", "int64"}},
    {"self in place", function(a, b) return a:add_(b) end,
     {"float32", "float64"}},
    {"an output", function(a, b, out) return st.add(a, b, {out = out}) end,
     {"float32", "float32", "float64"}},
    {"an output and an input",
     function(a, b, out) return st.lt(a, b, {out = out}) end,
     {"float32", "int16", "float64"}},
  }
  for _, row in ipairs(rows) do
    local what, call, dtypes = row[1], row[2], row[3]
    it("costs no temporary: " .. what, function()
      local a = filled({40, 50}, dtypes[1])
      local b = filled({40, 50}, dtypes[2])
      local out = filled({40, 50}, dtypes[3] or dtypes[1])
      local same = {a:to "float32", b:to "float32", out:to "float32"}
      -- A given dtype needs as many blocks as its neighbours.
      assert.equal(allocations(function() call(unpack(same)) end),
                   allocations(function() call(a, b, out) end))
    end)
  end

  it("keeps the temporary where a copy would have other strides", function()
    local a, b = filled({40, 50}, "float64"), filled({40, 100}, "float32")
    local holes = b:narrow(2, 1, 50)
    local dense = holes:clone()
    assert.is_true(allocations(function() return a + holes end) >
                   allocations(function() return a + dense end))
    assert.same((a + holes:to "float64"):totable(), (a + holes):totable())
  end)
end)

describe("Mixed dtypes", function()
  local DTYPES = {"bool", "uint8", "int8", "int16", "int32", "int64",
                  "float16", "bfloat16", "float32", "float64", "complex64",
                  "complex128"}
  -- Sizes around a block of 1024 elements, and rows that fit it several times.
  local SHAPES = {{1}, {1023}, {1025}, {3, 341}, {2, 1024}, {700, 3}, {5, 7, 9}}
  local LAYOUTS = {
    function(t) return t end,
    function(t) return t:transpose(1, -1):contiguous():transpose(1, -1) end,
    function(t) return st.cat({t, t}, -1):narrow(-1, 2, t.shape[#t.shape]) end,
    function(t) return t:narrow(1, 1, 1) end, -- broadcasts
  }

  local function pair(i)
    local shape = SHAPES[i % #SHAPES + 1]
    local function one(k)
      local t = filled(shape, DTYPES[k % #DTYPES + 1])
      return LAYOUTS[(k + i) % #LAYOUTS + 1](t)
    end
    return one(i), one(math.floor(i / 12) + 3 * i)
  end

  it("give what converting first gives", function()
    for i = 1, 360 do
      local a, b = pair(i)
      local common = st.result_type(a, b)
      if tostring(common) ~= "complex32" then
        local what = ("case %d: %s %s"):format(i, tostring(a.dtype),
                                               tostring(b.dtype))
        local sum = a:mul(b)
        assert.equal(common, sum.dtype, what)
        assert.is_true(sum:equal(a:to(common):mul(b:to(common))), what)
      end
    end
  end)

  it("give the same in place", function()
    for i = 1, 120 do
      local a = filled(SHAPES[i % #SHAPES + 1], i % 2 == 0 and "float32"
                                                or "float16")
      local b = filled(SHAPES[i % #SHAPES + 1], i % 3 == 0 and "float64"
                                                or "float32")
      local expected = a:to(st.result_type(a, b)):sub(b):to(a.dtype)
      assert.is_true(a:sub_(b):equal(expected), "case " .. i)
    end
  end)

  it("read what lies under the output before it is written", function()
    local base = filled({64}, "float32")
    local a, b = base:narrow(1, 1, 62), base:narrow(1, 3, 62):clone()
    local shifted = base:narrow(1, 3, 62)
    local other = filled({62}, "float64")
    local expected = b:to "float64":add(other):to "float32"
    st.add(shifted, other, {out = a})
    assert.is_true(a:equal(expected))
  end)

  it("look for a zero divisor without writing", function()
    local a, b = filled({2, 3}, "int8"), st.zeros(2, 3, {dtype = "int32"})
    local before = a:clone()
    assert.has_error(function() a:remainder_(b) end)
    assert.is_true(a:equal(before))
  end)
end)
