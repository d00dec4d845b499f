--- Operands of another dtype are converted inside the loop, block by block:
-- no whole temporaries, and the same elements as if there had been one.
-- axes: isa threads

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

local unpack = unpack or table.unpack

--- How many blocks of memory fn asks for, once the operator has its table.
local function allocations(fn)
  local many = 1000000
  fn()
  st.memory_fail_at(many)
  fn()
  return many - st.memory_fail_at(0)
end

--- How many bytes of elements there were while fn ran, more than before. The
-- count is exact to a part of a megabyte.
local function growth(fn)
  fn()
  collectgarbage()
  collectgarbage()
  local data = st.memory().data
  local ballast = st.empty(math.max(0, data.peak - data.bytes),
                           {dtype = "uint8"})
  local before = st.memory().data
  fn()
  local grown = st.memory().data.peak - before.bytes
  ballast:free()
  return grown
end

local function filled(shape, dtype) return tensors.filled(shape, dtype, 23) end

local SHAPE = {40, 50}

-- Tensors of SHAPE; the first four can be written to.
local LAYOUTS = {
  {"dense", function(d) return filled(SHAPE, d) end},
  {"transposed", function(d) return filled({50, 40}, d):t() end},
  {"a slice", function(d) return filled({40, 90}, d):narrow(2, 7, 50) end},
  {"with steps", function(d) return filled({40, 50, 3}, d):select(3, 2) end},
  {"expanded rows", function(d) return filled({50}, d):expand(SHAPE) end},
  {"expanded columns", function(d) return filled({40, 1}, d):expand(SHAPE) end},
}

describe("An operand of another dtype", function()
  -- what, call of (a, b, out), the dtypes of these
  local CALLS = {
    {"a wider input", function(a, b) return a + b end,
     {"float32", "float64"}},
    {"an integer input", function(a, b) return a * b end,
     {"float32", "int16"}},
    {"two inputs", function(a, b) return a:div(b) end, {"int8", "int64"}},
    {"three inputs", function(a, b) return st.addcmul(a, b, b) end,
     {"float32", "float16"}},
    {"a choice", function(a, b) return st.where(a:lt(3), a, b) end,
     {"float32", "float16"}},
    {"a bound of another kind", function(a) return a:clamp(-2.5) end,
     {"int16"}},
    {"a power of another kind", function(a) return a:pow(1.5) end, {"int8"}},
    {"other in place", function(a, b) return a:add_(b) end,
     {"float32", "int32"}},
    {"self and other in place", function(a, b) return a:add_(b) end,
     {"float32", "float64"}, true},
    {"an output", function(a, b, out) return st.add(a, b, {out = out}) end,
     {"float32", "float32", "float64"}},
    {"an output and an input",
     function(a, b, out) return st.lt(a, b, {out = out}) end,
     {"float32", "int16", "float64"}},
    {"every operand",
     function(a, b, out) return st.atan2(a, b, {out = out}) end,
     {"int16", "float64", "float32"}},
  }

  local function operands(dtypes, at, layout)
    local t = {}
    for k = 1, 3 do
      local make = LAYOUTS[k == at and layout or 1][2]
      t[k] = make(dtypes[k] or dtypes[1])
    end
    return unpack(t)
  end

  for _, row in ipairs(CALLS) do
    local what, call, dtypes = row[1], row[2], row[3]
    for at = 1, 3 do
      -- a is written to where the call is in place, and out always is.
      local writes = at == 3 or at == 1 and what:find "in place"
      for l = 1, at == 3 and not dtypes[3] and 0 or writes and 4 or #LAYOUTS do
        it(("costs no memory: %s, operand %d %s"):format(
          what, at, LAYOUTS[l][1]), function()
          local a, b, out = operands(dtypes, at, l)
          local p, q, r = operands({"float32", "float32", "float32"}, at, l)
          -- A given dtype needs as many blocks as its neighbours.
          assert.equal(allocations(function() call(p, q, r) end),
                       allocations(function() call(a, b, out) end))
        end)
      end
    end
  end

  it("costs no bytes", function()
    local a = filled({1000, 1000}, "float32")
    local b = filled({1000, 1000}, "float64"):t()
    assert.is_true(growth(function() a:add_(b) end) < 2000000)
    assert.is_true(growth(function() (a + b):free() end) > 7000000)
  end)

  it("costs none for an output that is resized", function()
    local a, b = filled(SHAPE, "float32"), filled(SHAPE, "float32")
    local function resized(dtype)
      return allocations(function()
        local out = st.empty(0, {dtype = dtype})
        assert.same(SHAPE, st.add(a, b, {out = out}).shape)
        out:free()
      end)
    end
    assert.equal(resized "float32", resized "float64")
  end)
end)

describe("Mixed dtypes", function()
  local DTYPES = {"bool", "uint8", "int8", "int16", "int32", "int64",
                  "float16", "bfloat16", "float32", "float64", "complex64",
                  "complex128", "uint16", "uint32", "uint64"}
  -- Sizes around a block of 1024 elements, and rows that fit it several times.
  local SIZES = {{1}, {1023}, {1025}, {3, 341}, {2, 1024}, {700, 3}, {5, 7, 9}}
  local VIEWS = {
    function(t) return t end,
    function(t) return t:transpose(1, -1):contiguous():transpose(1, -1) end,
    function(t) return st.cat({t, t}, -1):narrow(-1, 2, t.shape[#t.shape]) end,
    function(t) return t:narrow(1, 1, 1) end, -- broadcasts
  }

  local function pair(i)
    local shape = SIZES[i % #SIZES + 1]
    local function one(k)
      local dtype = DTYPES[k % #DTYPES + 1]
      local t = filled(shape, dtype)
      -- -1 would be infinity in float16
      if dtype:find "^uint" then t = t:bitwise_and(15) end
      return VIEWS[(k + i) % #VIEWS + 1](t)
    end
    return one(i), one(math.floor(i / #DTYPES) + 3 * i)
  end

  it("give what converting first gives", function()
    for i = 1, 360 do
      local a, b = pair(i)
      local common = st.result_type(a, b)
      if common ~= "complex32" and common ~= "int128" then
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
      local a = filled(SIZES[i % #SIZES + 1], i % 2 == 0 and "float32"
                                                or "float16")
      local b = filled(SIZES[i % #SIZES + 1], i % 3 == 0 and "float64"
                                                or "float32")
      local expected = a:to(st.result_type(a, b)):sub(b):to(a.dtype)
      assert.is_true(a:sub_(b):equal(expected), "case " .. i)
    end
  end)

  -- how an input lies to the output, both in 9000 elements
  local OVERLAPS = {
    {"behind it", function(t) return t:narrow(1, 1, 8000),
                                     t:narrow(1, 901, 8000) end},
    {"before it", function(t) return t:narrow(1, 901, 8000),
                                     t:narrow(1, 1, 8000) end},
    {"the other way round", function(t)
      return t:narrow(1, 1, 8100):view(90, 90),
             t:narrow(1, 1, 8100):view(90, 90):t()
    end},
    {"in short rows", function(t) return t:view(3000, 3):narrow(2, 1, 2),
                                         t:view(3000, 3):narrow(2, 2, 2) end},
    {"repeated", function(t) return t:view(3000, 3),
                                    t:view(3000, 3):narrow(1, 1500, 1) end},
  }
  for _, row in ipairs(OVERLAPS) do
    it("read an input before its memory is written: " .. row[1], function()
      local out, input = row[2](filled({9000}, "float32"))
      local other = filled(out.shape, "float64")
      local expected = input:to "float64":add(other):to "float32"
      st.add(input, other, {out = out})
      assert.is_true(out:equal(expected))
    end)
  end

  it("look for a zero divisor without writing", function()
    local a, b = filled({2, 3}, "int8"), st.zeros(2, 3, {dtype = "int32"})
    local before = a:clone()
    raises({"remainder_: ", "by zero"}, a.remainder_, a, b)
    assert.is_true(a:equal(before))
  end)

  it("truncate float64 as the instruction does, in vectors and alone",
  function()
    local least = -2147483648
    -- what is converted, as int32, int16, int8
    local rows = {
      {0 / 0, least, 0, 0}, {math.huge, least, 0, 0},
      {-math.huge, least, 0, 0}, {2147483648, least, 0, 0},
      {2147483647.9, 2147483647, -1, -1}, {-2147483648.9, least, 0, 0},
      {-2147483649, least, 0, 0}, {1e300, least, 0, 0}, {-0.9, 0, 0, 0},
      {-1.5, -1, -1, -1}, {300.7, 300, 300, 44},
      {-70000.2, -70000, -4464, -112},
      {127.99, 127, 127, 127},
    }
    local list = {}
    for i = 1, 300 do list[i] = rows[1 + i % #rows] end
    for k, dtype in ipairs {"int32", "int16", "int8"} do
      local values, want = {}, {}
      for i, row in ipairs(list) do values[i], want[i] = row[1], row[1 + k] end
      local x = st.tensor(values, {dtype = "float64"})
      assert.same(want, x:to(dtype):totable())
      assert.same(want, st.stack({x, x}, 2):select(2, 1):to(dtype):totable())
      for i = 1, #rows do
        assert.equal(want[i], x:narrow(1, i, 1):to(dtype):item())
      end
    end
  end)
end)
