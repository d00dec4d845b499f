--- Numbers of Lua: one kind up to Lua 5.2 and in LuaJIT, integers and floats
-- from Lua 5.3 on; and the operators and variables that came later.
-- axes: isa lua ffi lua5.2

local build = require "spec.support.build"
local st = require "strided"
local tensors = require "spec.support.tensors"

local compile = loadstring or load
local raises = tensors.raises
local has_integers = rawget(math, "type") ~= nil
local kind_of = has_integers and math.type
  or function(x) return type(x) == "number" and "number" or nil end

--- The value of an expression, or nil where this Lua cannot say it.
local function value(text, ...)
  local chunk = compile("local st, a, b = ... return " .. text)
  if chunk then return chunk(st, ...) end
end

local dtype = tensors.dtype

describe("A number without a fraction", function()
  -- expression, dtype beside integers, the same in every Lua
  local rows = {
    {"3", "int64"}, {"3.0", "int64"}, {"6 / 2", "int64"}, {"-0.0", "int64"},
    {"1e3", "int64"}, {"7 // 2", "int64"}, {"2^53 | 0", "int64"},
    {"2^62", "int64"}, {"-2^63", "int64"}, {"2^63", "float32"},
    {"math.huge", "float32"}, {"2^64", "float32"}, {"0 / 0", "float32"},
    {"st.float(3)", "float32"}, {"st.int(3)", "int64"}, {"2.5", "float32"},
  }
  for _, row in ipairs(rows) do
    local x = value(row[1])
    local want = row[2]
    if x ~= nil then
      it(("is an integer in every Lua: %s"):format(row[1]), function()
        assert.equal(want, dtype(st.tensor {x}))
        assert.equal(want, dtype(st.full({2}, x)))
        assert.equal(want, dtype(st.tensor {1, 2} + x))
        if type(x) ~= "cdata" then -- LuaJIT asks its type alone
          assert.equal(want, dtype(x + st.tensor {1, 2}))
        end
        assert.equal(want, tostring(st.result_type(st.tensor {1}, x)))
      end)
    end
  end

  -- expression, dtype: every way in which numbers enter
  for _, row in ipairs {
    {"st.tensor {1.0, 2.0}", "int64"}, {"st.tensor {{1.0}, {2}}", "int64"},
    {"st.tensor {1.0, 2.5}", "float32"}, {"st.tensor(1.0)", "int64"},
    {"st.full({2}, 1.0)", "int64"}, {"st.full({2}, 1.5)", "float32"},
    {"st.full_like(b, 1.0)", "int64"}, {"b:new_full({2}, 1.0)", "int64"},
    {"st.scalar_tensor(1.0)", "float32"}, {"st.arange(3.0)", "int64"},
    {"st.arange(0, 1.0, 0.5)", "float32"}, {"st.range(1.0, 3.0)", "int64"},
    {"st.linspace(0, 2.0, 3)", "float32"}, {"b + 1.0", "int64"},
    {"2.0 * b", "int64"}, {"b / 2.0", "float32"}, {"b ^ 2.0", "int64"},
    {"b - 0.5", "float32"}, {"b:clamp(1.0, 2.0)", "int64"},
    {"st.where(b:gt(1), 1.0, 0.0)", "int64"}, {"st.pow(2.0, b)", "int64"},
    {"b:masked_fill(b:gt(1), 9.0)", "int64"},
    {"st.tensor({1, 2}, {dtype = 'float32'})", "float32"},
    {"st.tensor {1.0, 2.0, dtype = 'float64'}", "float64"},
    {"st.tensor {st.float(1), 2}", "float32"},
  } do
    it("gives one dtype in every Lua: " .. row[1], function()
      assert.equal(row[2], dtype(value(row[1], nil, st.tensor {1, 2})))
    end)
  end

  it("keeps its value, sign of zero included, in a float tensor", function()
    local t = st.zeros(3)
    t[1], t[2], t[3] = 3.0, -0.0, 2 ^ 24 + 1
    assert.equal(3, t[1])
    assert.equal(-math.huge, 1 / t[2])
    assert.equal(2 ^ 24, t[3])
    assert.equal(-math.huge, 1 / st.tensor({-0.0}, {dtype = "float32"})[1])
    assert.equal(-math.huge, 1 / st.tensor({-0.0, 0.5})[1])
  end)

  it("is taken where an integer is asked for, however it is written",
     function()
    local two, three = 4 / 2, 3.0
    local t = st.arange(6):view(two, three)
    assert.equal("{2, 3}", tostring(t.shape))
    assert.equal(5, t[{two, three}]:item())
    assert.equal(15, t:sum {dim = {1.0, two}}:item())
    assert.same({5, 7}, t:sum(three - two)[{{two, three}}]:totable())
    assert.equal(3, st.arange(6)[two + two])
    assert.equal(4, #st.zeros(two + two))
  end)

  it("is told from one with a fraction in messages", function()
    for text, want in pairs {["3"] = "number 3",
                             ["3.0"] = "number 3",
                             ["3.5"] = "number 3.5"} do
      raises("got " .. want, st.sum, st.ones(2), 1, {keepdim = value(text)})
    end
    raises({"zeros: argument 'size'", "a list of integers, got number 2.5"},
           st.zeros, 2.5)
  end)
end)

describe("An integer of 64 bits", function()
  it("is all of its text", function()
    for _, text in ipairs {"", "x", "12x", "12\0", "1.5", "0x10",
                           "18446744073709551616",
                           "-9223372036854775809"} do
      raises("is not a 64-bit integer", st.int, text)
    end
  end)

  it("wraps around when the least is negated", function()
    local least = st.int "-9223372036854775808"
    assert.equal(least, -least)
    assert.equal("-9223372036854775808", tostring(-least):match "^-?%d+")
  end)

  for _, text in ipairs {"9223372036854775807", "-9223372036854775808",
                         "9007199254740993", "-9007199254740993"} do
    local n = st.int(text)

    it("goes in and comes out as it is: " .. text, function()
      local t = st.tensor {n, n}
      assert.equal("int64", dtype(t))
      assert.equal(n, t[1])
      assert.equal(n, t:totable()[2])
      assert.equal(n, t:max():item())
      local u = st.zeros({2}, {dtype = "int64"})
      u[1] = n
      u["2"] = n
      assert.is_true(u:equal(t))
      assert.is_true(st.full({2}, n):equal(t))
      assert.is_true((u * 0 + n):equal(t))
    end)

    it("passes through a kernel in Lua as it is: " .. text, function()
      local lib = st.library "numbers"
      lib:def "same(int n, int[] m) -> (int, int[])"
      lib:impl("same", "CompositeExplicitAutograd",
               function(a, b) return a, b end)
      local a, b = st.ops.numbers.same(n, {1, n})
      lib:close()
      assert.equal(n, a)
      assert.equal(n, b[2])
    end)

    if has_integers then
      it("is a number of Lua: " .. text, function()
        assert.equal("integer", math.type(n))
        assert.equal(math.tointeger(text), n)
        assert.equal(text, tostring(n))
      end)
    end
  end
end)

describe("What the library counts", function()
  local t = st.arange(12):view(3, 4)
  -- what, its value
  local rows = {
    {"an element", t[{2, 3}]:item()}, {"a list", t:totable()[1][2]},
    {"a size", t.shape[1]}, {"size()", t:size(2)}, {"a stride", t:stride()[1]},
    {"stride()", t:stride(1)}, {"ndim", t.ndim}, {"dim()", t:dim()},
    {"numel", t:numel()}, {"length", #t}, {"bytes", t:element_size()},
    {"the offset", t[2]:storage_offset()}, {"an address", t:data_ptr()},
    {"a storage", (t:storage())}, {"its size", (select(2, t:storage()))},
    {"a position", t:argmax():item()},
    {"an itemsize", st.dtype_info(t.dtype).itemsize},
    {"threads", st.get_num_threads()},
    {"a seed", st.Generator(5):initial_seed()},
  }
  for _, row in ipairs(rows) do
    it("is a whole number: " .. row[1], function()
      assert.equal(has_integers and "integer" or "number", kind_of(row[2]))
    end)
  end

  it("is no integer where the dtype is none", function()
    local want = has_integers and "float" or "number"
    assert.equal(want, kind_of(st.ones(1):item()))
    assert.equal(want, kind_of(st.ones(1):totable()[1]))
    assert.equal("number", type(st.ones(1):sum():item()))
  end)
end)

describe("An operator that Lua has", function()
  local function a() return st.tensor {12, -7} end
  local function b() return st.tensor {5, 3} end
  local f = st.bitwise_and
  -- expression, the same as a call
  local rows = {
    {"a // b", st.floor_divide}, {"a & b", f}, {"a | b", st.bitwise_or},
    {"a ~ b", st.bitwise_xor}, {"a << b", st.bitwise_left_shift},
    {"a >> b", st.bitwise_right_shift}, {"a % b", st.remainder},
    {"a ^ b", st.pow}, {"a / b", st.div}, {"a - b", st.sub},
    {"~a", st.bitwise_not, true}, {"-a", st.neg, true},
  }
  for _, row in ipairs(rows) do
    local text, call, is_unary = row[1], row[2], row[3]
    if compile("local a, b; return " .. text) then
      it("is that operator: " .. text, function()
        local want = is_unary and call(a()) or call(a(), b())
        assert.is_true(value(text, a(), b()):equal(want))
        if is_unary then return end
        assert.is_true(value(text, a(), 2):equal(call(a(), 2)))
        if call ~= st.pow then
          assert.is_true(value(text, 9, b()):equal(call(9, b())))
        end
      end)
    end
  end

  if has_integers then
    it("refuses floats where bits are meant", function()
      raises({"bitwise_and: ", "float32"}, value, "a & b", st.ones(2), a())
      raises({"bitwise_and: ", "float32"}, value, "a & 1.5", a())
    end)
  end
end)

-- A chunk of Lua 5.4, for busted reads this file in every Lua.
local CLOSED = compile [[
  local st, make, fails = ...
  local kept
  local ok = pcall(function()
    local t <close> = make()
    kept = t
    if fails then error "on purpose" end
  end)
  return kept, ok
]]

if CLOSED then
  describe("A variable that is closed", function()
    local function live() return st.memory().tensors.count end

    for _, fails in ipairs {false, true} do
      it("frees its tensor, whether the block fails: " .. tostring(fails),
         function()
        collectgarbage()
        local before = live()
        local t, ok = CLOSED(st, function() return st.ones(3) end, fails)
        assert.equal(not fails, ok)
        assert.equal("tensor(freed)", tostring(t))
        assert.equal(before, live())
      end)
    end

    it("may have been freed", function()
      local t = CLOSED(st, function()
        local u = st.ones(3)
        u:free()
        return u
      end)
      assert.equal("tensor(freed)", tostring(t))
    end)

    it("closes a library", function()
      CLOSED(st, function()
        local lib = st.library "closed"
        lib:def "f(Tensor a) -> Tensor"
        lib:impl("f", "CPU", function(x) return x end)
        assert.truthy(st.ops.closed.f(st.ones(1)))
        return lib
      end)
      assert.is_nil(st.ops.closed.f)
    end)

    it("closes a listener", function()
      local heard = 0
      CLOSED(st, function()
        return st.listen(function() heard = heard + 1 end)
      end)
      heard = 0
      local lib = st.library "unheard"
      lib:def "f() -> ()"
      lib:close()
      assert.equal(0, heard)
    end)
  end)
end

describe("The binding", function()
  it("is not loaded by a Lua that it is not for", function()
    for _, lua in ipairs {"lua5.2", "lua5.3", "lua5.4"} do
      if lua ~= build.lua and build.headers() then
        local text = build.output(([[%s -e 'print(pcall(package.loadlib(
          "%s", "luaopen_strided_core")))']]):format(lua, build.core))
        assert.is_nil(text:find "^true", text)
      end
    end
  end)
end)
