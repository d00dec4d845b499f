--- out= of factories and of matmul: the dtype is out's, the shape the
-- result's, and a failure leaves out as it was.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises = tensors.kinds, tensors.raises
local unpack = unpack or table.unpack

st.warnings(false) -- an out= tensor of another shape is on purpose here

local MOST = 200 -- allocations a call may take before this looks endless

local function state(t)
  return {t.shape, t:stride(), t.dtype, t:totable()}
end

local function same_state(was, t) assert.same(was, state(t)) end

--- Six elements with strides that no new tensor would have.
local function apart(dtype)
  return st.full({3, 4}, 9, {dtype = dtype}):t()["1:2"]
end

-- name, arguments, result
local EXACT = {
  {"zeros", {{2, 3}}, {{0, 0, 0}, {0, 0, 0}}},
  {"ones", {{2, 3}}, {{1, 1, 1}, {1, 1, 1}}},
  {"ones", {{}}, 1},
  {"zeros", {{0}}, {}},
  {"full", {{2, 2}, 7}, {{7, 7}, {7, 7}}},
  {"eye", {2}, {{1, 0}, {0, 1}}},
  {"eye", {2, 3}, {{1, 0, 0}, {0, 1, 0}}},
  {"arange", {4}, {0, 1, 2, 3}},
  {"arange", {1, 4}, {1, 2, 3}},
  {"arange", {5, 0, -2}, {5, 3, 1}},
  {"range", {1, 4}, {1, 2, 3, 4}},
  {"range", {5, 1, -2}, {5, 3, 1}},
  {"linspace", {1, 9, 3}, {1, 5, 9}},
  {"logspace", {0, 3, 4, 2}, {1, 2, 4, 8}},
  {"randint", {1, {2}}, {0, 0}},
  {"randint", {3, 4, {2}}, {3, 3}},
  {"randperm", {1}, {1}},
  {"randperm", {1, base = 0}, {0}},
}

--- The arguments of a row with options behind them.
local function arguments(row, out)
  local list, options = {unpack(row[2])}, {out = out, base = row[2].base}
  list[#list + 1] = options
  return unpack(list)
end

describe("A factory with out=", function()
  local before
  setup(function() before = live() end)

  for _, row in ipairs(EXACT) do
    local name = row[1]
    for _, dtype in ipairs {"float32", "int64", "uint8", "float16"} do
      it(("%s resizes and fills %s"):format(name, dtype), function()
        local out = st.full({2, 1, 5}, 9, {dtype = dtype})
        local got = st[name](arguments(row, out))
        assert.same(row[3], out:totable())
        assert.equal(dtype, tostring(out.dtype))
        assert.is_true(out:is_contiguous())
        out:fill_(5)
        assert.same(out:totable(), got:totable())
      end)
    end
  end

  it("keeps strides when the shape fits", function()
    for _, row in ipairs {{"zeros", {{2, 3}}}, {"full", {{2, 3}, 4}},
                          {"eye", {2, 3}}, {"rand", {{2, 3}}},
                          {"randint", {2, 5, {2, 3}}}} do
      local out = apart "float32"
      local strides = out:stride()
      st[row[1]](arguments(row, out))
      assert.same(strides, out:stride())
      assert.is_false(out:is_contiguous())
      assert.is_true(out:lt(9):all():item())
    end
    local line = st.full({4, 2}, 9):t()[1]
    st.arange(4, {out = line})
    assert.same({0, 1, 2, 3}, line:totable())
    assert.same({2}, line:stride())
  end)

  -- as PyTorch: what counts is the number of elements
  for _, row in ipairs {{"arange", {6}}, {"arange", {1, 7}},
                        {"range", {1, 6}}, {"linspace", {0, 5, 6}},
                        {"logspace", {0, 5, 6, 2}}} do
    it(row[1] .. " fills an out of as many elements in its shape", function()
      local want = st[row[1]](unpack(row[2]))
      local out = apart "float32"
      local strides, shape = out:stride(), out.shape
      st[row[1]](arguments(row, out))
      assert.same(shape, out.shape)
      assert.same(strides, out:stride())
      assert.same(want:totable(), out:flatten():totable())
      out = st.empty(1, 1, 6)
      st[row[1]](arguments(row, out))
      assert.same({1, 1, 6}, out.shape)
    end)
  end

  it("randperm has one dimension, whatever the shape of out", function()
    local out = st.empty(1, 6, {dtype = "int64"})
    st.randperm(6, {out = out})
    assert.same({6}, out.shape)
  end)

  it("writes between the neighbours of a view only", function()
    local base = st.full({3, 3}, 9)
    st.zeros({3}, {out = base[{{}, 2}]})
    st.arange(3, {out = base["3"]})
    assert.same({{9, 0, 9}, {9, 0, 9}, {0, 1, 2}}, base:totable())
  end)

  it("draws what the functional variant draws", function()
    for _, row in ipairs {{"rand", {{20}}}, {"randn", {{20}}},
                          {"randn", {{4, 5}}}} do
      for _, size in ipairs {{1}, row[2][1]} do
        local out = st.zeros(size)
        st.manual_seed(3)
        local expected = st[row[1]](row[2][1])
        st.manual_seed(3)
        st[row[1]](arguments(row, out))
        assert.is_true(out:equal(expected))
        st[row[1]](row[2][1], {out = out, generator = st.Generator(3)})
        assert.is_true(out:equal(expected))
      end
    end
  end)

  it("draws integers from a generator", function()
    local out = st.zeros(1, {dtype = "int64"})
    local function g() return st.Generator(3) end
    st.randint(9, {8}, {out = out, generator = g()})
    assert.is_true(out:equal(st.randint(9, {8}, {generator = g()})))
    st.randint(5, 9, {8}, {out = out, generator = g()})
    assert.is_true(out:equal(st.randint(5, 9, {8}, {generator = g()})))
    st.randperm(8, {out = out, generator = g()})
    assert.is_true(out:equal(st.randperm(8, {generator = g()})))
    assert.same({1, 2, 3, 4, 5, 6, 7, 8}, (out:sort()):totable())
  end)

  it("empty resizes, and leaves alone what fits", function()
    local out = apart "float32"
    local was = state(out)
    st.empty({2, 3}, {out = out})
    same_state(was, out)
    st.empty({4, 5}, {out = out})
    assert.same({4, 5}, {unpack(out.shape)})
  end)

  it("works on the meta device", function()
    local out = st.zeros(1, {device = "meta"})
    st.arange(5, {out = out})
    assert.same({5}, {unpack(out.shape)})
    st.rand({2, 3}, {out = out})
    assert.same({2, 3}, {unpack(out.shape)})
  end)

  it("fails without touching out", function()
    -- name, arguments, dtype of out, a part of the message
    local calls = {
      {"arange", {5}, "bool", "dtype bool"},
      {"arange", {5, 0}, "float32", "from 5 to 0"},
      {"arange", {1e300}, "float32", "too many elements"},
      {"range", {1, 2, 0}, "float32", "step"},
      {"linspace", {0, 1, -1}, "float32", "steps"},
      {"eye", {-1}, "float32", "-1 and -1"},
      {"zeros", {{-1}}, "float32", "size -1"},
      {"zeros", {{2 ^ 40, 2 ^ 40}}, "uint8", "more elements than 64 bits"},
      {"empty", {{2 ^ 40, 2 ^ 40}}, "uint8", "more elements than 64 bits"},
      {"full", {{2}, 1000}, "uint8", "1000 does not fit in uint8"},
      {"full", {{2, 3}, 1000}, "uint8", "1000 does not fit in uint8"},
      {"rand", {{2}}, "int64", "dtype int64"},
      {"randn", {{2, 3}}, "int64", "dtype int64"},
      {"randint", {0, {2}}, "float32", "no integers in [0, 0)"},
      {"randint", {1000, {2}}, "uint8", "999"},
      {"randperm", {-1}, "int64", "n must not be negative"},
      {"randperm", {300}, "uint8", "uint8 cannot represent 300"},
    }
    for _, call in ipairs(calls) do
      local out = apart(call[3])
      local was = state(out)
      raises({call[1] .. ": ", call[4]}, st[call[1]], arguments(call, out))
      same_state(was, out)
    end
  end)

  it("refuses an out that overlaps itself", function()
    local out = st.zeros(1):expand(4)
    raises({"arange: ", "in one place"}, st.arange, 4, {out = out})
    raises({"rand: ", "in one place"}, st.rand, {4}, {out = out})
    assert.same({0, 0, 0, 0}, out:totable())
  end)

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)

-- shapes of the factors, which are all ones, and of the product
local PRODUCTS = {
  {{3}, {3}, {}}, {{2, 3}, {3}, {2}}, {{3}, {3, 4}, {4}},
  {{2, 3}, {3, 4}, {2, 4}}, {{5, 2, 3}, {3, 4}, {5, 2, 4}},
  {{5, 2, 3}, {3}, {5, 2}}, {{3}, {5, 3, 4}, {5, 4}},
  {{2, 3}, {5, 3, 4}, {5, 2, 4}}, {{5, 2, 3}, {5, 3, 4}, {5, 2, 4}},
  {{1, 2, 3}, {5, 3, 4}, {5, 2, 4}}, {{5, 2, 0}, {0, 4}, {5, 2, 4}},
}

describe("matmul with out=", function()
  local before
  setup(function() before = live() end)

  for i, row in ipairs(PRODUCTS) do
    it("resizes, fills or refuses: product " .. i, function()
      local a, b = st.ones(row[1]), st.ones(row[2])
      local expected = st.full(row[3], row[1][#row[1]], {dtype = "float32"})
      for _, out in ipairs {st.zeros(7), st.zeros(row[3])} do
        local got = st.matmul(a, b, {out = out})
        assert.is_true(out:equal(expected))
        assert.is_true(got:fill_(1):equal(out))
      end
      for why, options in pairs {["out has dtype int64"] = {dtype = "int64"},
                                 ["another device"] = {device = "meta"}} do
        local out = st.zeros(7, options)
        raises({"matmul: ", why}, st.matmul, a, b, {out = out})
        assert.same({7}, {unpack(out.shape)})
      end
    end)
  end

  it("keeps strides when the shape fits", function()
    local out = st.zeros(4, 2, 5):permute(3, 2, 1)
    local strides = out:stride()
    st.arange(30):to "float32":view(5, 2, 3):matmul(st.ones(3, 4),
                                                    {out = out})
    assert.same(strides, out:stride())
    assert.same({{3, 3, 3, 3}, {12, 12, 12, 12}}, out[1]:totable())
  end)

  it("reads factors that share its memory first", function()
    local a, line = st.ones(2, 2, 2), st.ones(2)
    for _, b in ipairs {a, st.ones(2, 2), line} do
      local x = a:clone()
      local y = b == a and x or b
      local want = st.matmul(a, b)
      st.matmul(x, y, {out = x})
      assert.is_true(x:equal(want))
    end
    local x = a:clone()
    st.matmul(x[1], x[2], {out = x[1]})
    assert.same({{{2, 2}, {2, 2}}, {{1, 1}, {1, 1}}}, x:totable())
  end)

  it("refuses shapes and dtypes", function()
    local a, out = st.ones(2, 2, 2), st.zeros(7)
    local was = state(out)
    -- the other factor, a part of the message
    for _, row in ipairs {
      {st.ones(3, 2), "[2, 2, 2] and [3, 2]"},
      {st.ones {}, "[2, 2, 2] and []"},
      {st.ones(3, 2, 2), "[2] and [3]"},
      {st.ones(2, 2, {dtype = "float64"}), "mat2 is float64"},
    } do
      raises({"matmul: ", row[2]}, st.matmul, a, row[1], {out = out})
    end
    same_state(was, out)
  end)

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)

-- what runs out of memory
local CALLS = {
  zeros = function(o) return st.zeros({9, 9}, {out = o}) end,
  rand = function(o) return st.rand({9, 9}, {out = o}) end,
  randint = function(o) return st.randint(5, {9, 9}, {out = o}) end,
  randperm = function(o) return st.randperm(90, {out = o}) end,
  eye = function(o) return st.eye(9, {out = o}) end,
  arange = function(o) return st.arange(90, {out = o}) end,
  linspace = function(o) return st.linspace(0, 1, 90, {out = o}) end,
  empty = function(o) return st.empty({9, 9}, {out = o}) end,
  ["rand in its strides"] = function(o) return st.rand({2, 3}, {out = o}) end,
  ["eye in its strides"] = function(o) return st.eye(2, 3, {out = o}) end,
  ["mm"] = function(o)
    return st.ones(9, 9):matmul(st.ones(9, 9), {out = o})
  end,
  ["batch"] = function(o)
    return st.ones(3, 9, 9):matmul(st.ones(9, 9), {out = o})
  end,
  ["six dimensions"] = function(o)
    return st.ones(1, 1, 1, 3, 9, 9):matmul(st.ones(9, 9), {out = o})
  end,
}

describe("out= when memory runs out", function()
  local before
  setup(function() before = live() end)

  for name, call in pairs(CALLS) do
    it(name .. " leaves out alone", function()
      call(apart "float32") -- what is made once and kept is made here
      for k = 1, MOST do
        local out = apart "float32"
        local was = state(out)
        st.memory_fail_at(k)
        local ok, message = pcall(call, out)
        st.memory_fail_at(0)
        if ok then return end
        assert.truthy(tostring(message):find "out of memory", message)
        same_state(was, out)
      end
      error "never succeeds"
    end)
  end

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)

describe("out= of many dimensions", function()
  local before
  setup(function() before = live() end)

  it("has its shape after a failure, though memory runs out", function()
    local self = st.ones(1, 1, 1, 1, 1, 1, 2)
    for k = 1, MOST do
      local out = st.zeros(1, 2, 1, 3, 1, 1)
      local was = state(out)
      st.memory_fail_at(k)
      -- resized by the time that there turns out to be no kernel
      local ok, why = pcall(st.bitwise_not, self, {out = out})
      local left = st.memory_fail_at(0)
      assert.is_false(ok)
      same_state(was, out)
      if left > 0 then
        assert.truthy(tostring(why):find("dtype float32", 1, true), why)
        return
      end
    end
    error "never asks for less"
  end)

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)
