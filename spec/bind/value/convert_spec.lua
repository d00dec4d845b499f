--- Values across the border: tables, numbers, dtypes.
-- axes: lua ffi lua5.2

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises, raises_here = tensors.live, tensors.raises,
                                  tensors.raises_here

local unpack = unpack or table.unpack

local function text(int64) return (tostring(int64):gsub("LL$", "")) end

describe("conversion", function()
  local before
  setup(function() before = live() end)

  -- value, dtype, shape
  local inferred = {
    {3, "int64", {}}, {2.5, "float32", {}}, {true, "bool", {}},
    {{}, "float32", {0}}, {{{}, {}}, "float32", {2, 0}},
    {{1, 2, 3}, "int64", {3}}, {{1, 2.5}, "float32", {2}},
    {{true, false}, "bool", {2}}, {{true, 2}, "int64", {2}},
    {{{1, 2}, {3, 4}, {5, 6}}, "int64", {3, 2}},
    {{1 / 0}, "float32", {1}}, {{-1e300}, "float32", {1}},
    {st.complex(1, 2), "complex64", {}}, {{1, st.complex(0, 1)}, "complex64",
    {2}}, {st.float(2), "float32", {}}, {st.int(7), "int64", {}},
  }
  for i, row in ipairs(inferred) do
    it(("infers dtype and shape: row %d"):format(i), function()
      local t = st.tensor(row[1])
      assert.equal(row[2], tostring(t.dtype))
      assert.same(row[3], t.shape)
    end)
  end

  it("infers float64 when that is the default", function()
    st.set_default_dtype "float64"
    local ok, dtype = pcall(function() return st.tensor({0.5}).dtype end)
    st.set_default_dtype "float32"
    assert.is_true(ok)
    assert.equal(st.float64, dtype)
  end)

  -- dtype, in, out
  local trips = {
    {"bool", {0, 1, 2}, {false, true, true}},
    {"uint8", {0, 255}, {0, 255}}, {"int8", {-128, 127}, {-128, 127}},
    {"int16", {-32768, 32767}, {-32768, 32767}},
    {"int32", {-2147483648, 2147483647}, {-2147483648, 2147483647}},
    {"int64", {-2 ^ 53, 2 ^ 53}, {-2 ^ 53, 2 ^ 53}},
    {"uint16", {0, 65535}, {0, 65535}},
    {"uint32", {0, 4294967295}, {0, 4294967295}},
    {"uint64", {0, 2 ^ 53}, {0, 2 ^ 53}},
    {"int64", {1.9, -1.9}, {1, -1}}, -- truncation
    {"float16", {0.5, 65504}, {0.5, 65504}},
    {"bfloat16", {1, 256, 257}, {1, 256, 256}}, -- 8 bits of mantissa
    {"float32", {0.1}, {0.100000001490116119384765625}},
    {"float64", {0.1}, {0.1}}, {"float32", {16777217}, {16777216}},
  }
  for i, row in ipairs(trips) do
    it(("goes there and back: row %d, %s"):format(i, row[1]), function()
      local t = st.tensor(row[2], {dtype = row[1]})
      assert.equal(row[1], tostring(t.dtype))
      assert.same(row[3], t:totable())
    end)
  end

  it("keeps complex numbers", function()
    local t = st.tensor({st.complex(1, -2), 3}, {dtype = st.complex128})
    local z = t:totable()
    assert.same({1, -2, 3, 0}, {z[1].re, z[1].im, z[2].re, z[2].im})
  end)

  it("gives views as they look", function()
    local t = st.arange(6):view(2, 3):t()
    assert.same({{0, 3}, {1, 4}, {2, 5}}, t:totable())
    assert.same(5, st.tensor(5):totable())
    assert.same({{}, {}}, st.zeros(2, 0):totable())
  end)

  -- value, a part of the message
  local ragged = {
    {{{1, 2}, {3}}, "%[2%] has 1 elements where others have 2"},
    {{1, {2}}, "%[2%] is a table where"}, {{{1}, 2}, "%[2%] is a number"},
    {{{{1}, {2}}, {{3}, {4, 5}}}, "%[2%]%[2%] has 2"},
    {{1, "x"}, "%[2%] is a string"}, {{1, print}, "%[2%] is a function"},
    {"text", "string"}, {nil, "nil"}, {{{}, {1}}, "%[2%] has 1"},
  }
  for i = 1, 9 do
    it(("refuses what is no block of numbers: row %d"):format(i), function()
      local message = raises_here("tensor: ", function()
        local t = st.tensor(ragged[i][1])
        return t
      end)
      assert.matches(ragged[i][2], message)
    end)
  end

  it("copies a tensor without its history, as PyTorch does", function()
    local x = st.tensor({{1, 2}, {3, 4.5}}, {requires_grad = true})
    local y = st.tensor(x)
    assert.is_true(y:equal(x))
    assert.is_false(y:is_alias_of(x))
    assert.is_false(y.requires_grad)
    assert.same({1, 2}, {unpack(st.tensor(x:t()):stride())})
    assert.same({{1, 2}, {3, 4}}, st.tensor(x, {dtype = "int64"}):totable())
    assert.equal("meta", st.tensor(x, {device = "meta"}).device)
    assert.equal("meta", st.tensor(st.ones(2, {device = "meta"})).device)
    local z = st.tensor(x * 2, {requires_grad = true})
    assert.is_true(z.is_leaf and z.requires_grad)
    raises_here("tensor: has no argument 'foo'", st.tensor, x, {foo = 1})
    assert.is_true(x.requires_grad and x.is_leaf)
  end)

  it("refuses a table that contains itself", function()
    local t = {}
    t[1] = t
    raises("tensor: tables are nested deeper than 64", st.tensor, t)
  end)

  it("refuses options that it does not know", function()
    raises("tensor: has no argument 'dtyp'", st.tensor, {1}, {dtyp = "int8"})
    raises({"tensor: ", "'dtype'", "'int9'"}, st.tensor, {1}, {dtype = "int9"})
    raises("tensor: options must be a table", st.tensor, {1}, "int8")
  end)

  describe("of int64", function()
    local big = {"9007199254740993", "-9007199254740993",
                 "9223372036854775807", "-9223372036854775808"}
    for _, digits in ipairs(big) do
      it("is exact: " .. digits, function()
        local t = st.full({1}, 0, {dtype = "int64"})
        t:fill_(st.int(digits))
        assert.equal(digits, text(t:item()))
        assert.equal(digits, text(t:totable()[1]))
        assert.equal(digits, text(t[1]))
        assert.equal(digits, text(st.tensor(st.int(digits)):item()))
      end)
    end

    it("gives plain numbers up to 2^53", function()
      assert.equal(2 ^ 53, st.tensor(2 ^ 53):item())
      assert.equal(-2 ^ 53, st.tensor(-2 ^ 53):item())
    end)

    it("refuses what is no integer", function()
      for _, x in ipairs {"", "1x", "18446744073709551616", "0x1",
                          "-9223372036854775809"} do
        raises(("'%s' is not a 64-bit integer"):format(x), st.int, x)
      end
      raises({"integer", "number with a fraction"}, st.int, 1.5)
      raises({"integer", "got table"}, st.int, {})
    end)

    if rawget(_G, "jit") then
      it("takes and gives int64_t", function()
        local ffi = require "ffi"
        local x = ffi.new("int64_t", -3)
        assert.equal(-3, st.tensor({x})[1])
        assert.same({-2, -1}, (st.tensor {1, 2} + x):totable())
        local y = st.tensor(st.int "4611686018427387905"):item()
        assert.is_true(ffi.istype("int64_t", y))
      end)
    end
  end)

  describe("of complex numbers", function()
    local z, w = st.complex(1, 2), st.complex(3, -1)

    it("calculates", function()
      assert.equal(st.complex(4, 1), z + w)
      assert.equal(st.complex(-2, 3), z - w)
      assert.equal(st.complex(5, 5), z * w)
      assert.equal(st.complex(2, 0.5), st.complex(4, 1) / 2)
      assert.equal(st.complex(0, 1), st.complex(1, 1) / st.complex(1, -1))
      assert.equal(st.complex(-1, -2), -z)
      assert.equal(st.complex(2, 2), 1 + z)
      assert.not_equal(z, w)
    end)

    it("prints", function()
      assert.equal("1+2i", tostring(z))
      assert.equal("3-1i", tostring(w))
    end)

    it("meets tensors", function()
      local t = st.tensor {1, 2}
      assert.equal("complex64", tostring((t * z).dtype))
      assert.equal(st.complex(2, 4), (t * z):totable()[2])
      assert.equal(st.complex(2, 4), (z * t):totable()[2])
      assert.equal(st.complex(1, 2), st.tensor(z):item())
    end)
  end)

  describe("of minus zero", function()
    local minus = -1 / math.huge -- Lua 5.1 mixes up the literals 0 and -0.0
    local function signs(t) return t:signbit():totable() end

    it("keeps the sign in an element of a floating dtype", function()
      assert.same({false, true}, signs(st.tensor {0.5, minus}))
      for _, d in ipairs {"float16", "bfloat16", "float32", "float64"} do
        assert.same({true, false}, signs(st.tensor({minus, 0}, {dtype = d})))
        local t = st.zeros(4, {dtype = d})
        t[1], t["2"], t[{{4}}] = minus, minus, minus
        assert.same({true, true, false, true}, signs(t))
        t[t:eq(0)] = minus
        assert.same({true, true, true, true}, signs(t))
      end
      assert.same({0, 1}, st.tensor({minus, 1}, {dtype = "int8"}):totable())
    end)

    it("keeps the sign where a float is asked for", function()
      assert.same({true}, signs(st.full({1}, st.float(minus))))
      assert.same({-2, -2}, st.full({2}, 2):copysign(st.float(minus)):totable())
      assert.equal(-math.huge, 1 / st.complex(1, minus).im)
      assert.equal(-math.huge, 1 / st.complex(minus).re)
    end)

    it("is a number like any other without a fraction otherwise", function()
      local dtype = tostring(st.tensor({1 / 1}).dtype)
      assert.equal(dtype, tostring(st.tensor({minus}).dtype))
      assert.equal(dtype, tostring((st.tensor {1} + minus).dtype))
      assert.same({1}, st.ones({1}, {dtype = dtype}):add_(minus):totable())
    end)
  end)

  describe("of a number beside a tensor", function()
    -- tensor's dtype, number, dtype of the sum
    local rows = {
      {"int32", 2, "int32"}, {"int32", 2.5, "float32"},
      {"float64", 2.5, "float64"}, {"float16", 2, "float16"},
      {"bool", 2, "int64"}, {"uint8", true, "uint8"},
      {"int32", st.float(2), "float32"}, {"int8", st.int(1), "int8"},
      {"float64", st.complex(0, 1), "complex128"},
    }
    for i, row in ipairs(rows) do
      it(("promotes: row %d"):format(i), function()
        local t = st.zeros({2}, {dtype = row[1]})
        assert.equal(row[3], tostring((t + row[2]).dtype))
        assert.equal(row[3], tostring(t:add(row[2]).dtype))
      end)
    end

    it("works on either side", function()
      local t = st.tensor {2.0, 4.0, 0.5}
      assert.same({0, -2, 1.5}, (2 - t):totable())
      assert.same({0, 2, -1.5}, (t - 2):totable())
      assert.same({1, 0.5, 4}, (2 / t):totable())
      assert.same({4, 16, 0.25}, (t ^ 2):totable())
      assert.same({4, 16, 1.41421356}, (function()
        local r = (2 ^ t):to("float64"):totable()
        r[3] = math.floor(r[3] * 1e8) / 1e8
        return {r[1], r[2], r[3] > 1.4142 and r[3] < 1.41422 and 1.41421356}
      end)())
      assert.same({-2, -4, -0.5}, (-t):totable())
      assert.same({2, 1, 0.5}, (t % 3):totable())
    end)
  end)

  describe("of dtypes", function()
    it("names them, and compares them with a name", function()
      local t = st.zeros({1}, {dtype = st.int16})
      assert.is_true(t.dtype == "int16")
      assert.is_true(t.dtype == st.int16)
      assert.is_false(t.dtype == "int32")
      assert.is_true(st.promote_types("int8", "uint8") == "int16")
      assert.is_true(st.get_default_dtype() == "float32")
      assert.equal("a int16", "a " .. t.dtype)
    end)

    -- dtype, itemsize, bits, is_floating_point, is_complex, is_signed
    for _, row in ipairs {
      {"bool", 1, 8, false, false, false},
      {"uint8", 1, 8, false, false, false},
      {"int16", 2, 16, false, false, true},
      {"int64", 8, 64, false, false, true},
      {"uint16", 2, 16, false, false, false},
      {"uint64", 8, 64, false, false, false},
      {"bfloat16", 2, 16, true, false, true},
      {"float64", 8, 64, true, false, true},
      {"complex64", 8, 32, false, true, true},
    } do
      it("describes " .. row[1], function()
        local info = st.dtype_info(row[1])
        assert.same(row, {info.dtype, info.itemsize, info.bits,
                          info.is_floating_point, info.is_complex,
                          info.is_signed})
      end)
    end

    -- The limits that torch.finfo and torch.iinfo have: min, max, eps, tiny.
    for _, row in ipairs {
      {"int8", -128, 127}, {"uint8", 0, 255}, {"int32", -2^31, 2^31 - 1},
      {"uint16", 0, 65535}, {"uint32", 0, 2^32 - 1},
      {"float16", -65504, 65504, 2^-10, 2^-14},
      {"bfloat16", -(2 - 2^-7) * 2^127, (2 - 2^-7) * 2^127, 2^-7, 2^-126},
      {"float32", -(2 - 2^-23) * 2^127, (2 - 2^-23) * 2^127, 2^-23, 2^-126},
      {"float64", -(2 - 2^-52) * 2^1023, (2 - 2^-52) * 2^1023, 2^-52,
       2^-1022},
      {"complex128", -(2 - 2^-52) * 2^1023, (2 - 2^-52) * 2^1023, 2^-52,
       2^-1022},
    } do
      it("knows the limits of " .. row[1], function()
        local info = st.dtype_info(row[1])
        for i, name in ipairs {"min", "max", "eps", "tiny"} do
          assert.is_true(info[name] == row[i + 1], name)
        end
      end)
    end

    it("are asked of tensors, too", function()
      local c = st.zeros({1}, {dtype = "complex64"})
      assert.is_true(c:is_complex())
      assert.is_false(c:is_floating_point())
      assert.is_true(st.is_floating_point(st.zeros(1)))
      assert.is_false(st.is_signed(st.zeros({1}, {dtype = "uint8"})))
    end)

    it("knows the limits of int64 exactly", function()
      local info = st.dtype_info "int64"
      assert.equal(st.int "-9223372036854775808", info.min)
      assert.equal(st.int "9223372036854775807", info.max)
      assert.is_nil(st.dtype_info "bool".max)
      assert.equal(2^-23, st.finfo "float32".eps)
      raises({"dtype_info: ", "there is no dtype 'float3'"},
             st.dtype_info, "float3")
    end)

    it("truncates, wraps, and takes all but zero for true (Y6)", function()
      local function to(dtype, list)
        return st.tensor(list):to(dtype):totable()
      end
      assert.same({1, -1, 3}, to("int32", {1.9, -1.9, 3.5}))
      assert.same({255, 44, 0}, to("uint8", {-1, 300, 256}))
      assert.same({true, true, false}, to("bool", {0.5, -2, 0}))
    end)

    it("gives results the one of their operator (P5)", function()
      local function ones(dtype) return st.ones({2}, {dtype = dtype}) end
      assert.equal(st.int64, ones "int8":sum().dtype)
      assert.equal(st.int64, ones "bool":prod().dtype)
      assert.equal(st.int32, st.sum(ones "float32", {dtype = "int32"}).dtype)
      assert.equal(st.bool, ones "float32":lt(3).dtype)
      assert.equal(st.float32, ones "complex64":abs().dtype)
      local out = st.empty({2}, {dtype = "float64"})
      st.le(ones "int8", ones "int8", {out = out})
      assert.same({1, 1}, out:totable())
      for _, row in ipairs {{"mean", "int64"}, {"neg", "bool"}} do
        raises({row[1] .. ": ", row[2]}, st[row[1]], ones(row[2]))
      end
      raises("sub: bool", function() return ones "bool" - ones "bool" end)
    end)

    it("promotes them", function()
      assert.equal(st.float32, st.promote_types("int64", "float32"))
      assert.equal(st.int16, st.promote_types(st.uint8, st.int8))
      assert.is_false(st.can_cast("float32", "int64"))
      assert.equal(st.float32, st.result_type(st.tensor {1}, 2.5))
      assert.equal(st.int64, st.result_type(1, true))
    end)
  end)

  describe("of raw bytes", function()
    local core = require "strided.core"

    it("reads and writes elements", function()
      local t = st.zeros({2}, {dtype = "int16"})
      core.set_bytes(t, 2, "\1\1")
      assert.same({0, 257}, t:totable())
      assert.equal("\0\0\1\1", core.get_bytes(t, 0, 4))
      assert.equal("\0\0\1\1", t:tostring_bytes())
      assert.equal("", core.get_bytes(t, 4, 0))
    end)

    for _, row in ipairs {{0, 5}, {-1, 1}, {4, 1}, {5, 0}, {0, -1},
                          {2 ^ 62, 1}} do
      it(("stays inside: %g, %g"):format(row[1], row[2]), function()
        local t = st.zeros({2}, {dtype = "int16"})
        raises("outside the 4 bytes", core.get_bytes, t, row[1], row[2])
        if row[2] > 0 then
          raises("outside the 4 bytes", core.set_bytes, t, row[1],
                 ("x"):rep(row[2]))
        end
        assert.same({0, 0}, t:totable())
      end)
    end

    it("stays inside a view", function()
      local t = st.zeros({4}, {dtype = "uint8"})
      local v = t[{{2, 3}}]
      core.set_bytes(v, 0, "\7\8")
      raises("outside the 2 bytes", core.set_bytes, v, 0, "\1\2\3")
      assert.same({0, 7, 8, 0}, t:totable())
    end)
  end)

  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
