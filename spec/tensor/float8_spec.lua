--- The dtypes float8_e4m3fn and float8_e5m2: all codes, conversions with their
-- rounding, copies, comparison, sorting, files. The numbers of the codes are
-- (-1)^s 2^(e - bias) (1 + m / 2^n), by a plain loop.
-- axes: isa

local st = require "strided"
local raises = require "spec.support.tensors".raises

local INF = 1 / 0

-- The codes from `special` on (without the sign) are infinite or NaN.
local FORMATS = {
  float8_e4m3fn = {bits = 3, bias = 7, special = 127, beyond = 448},
  float8_e5m2 = {bits = 2, bias = 15, special = 124, infinite = 124,
                 beyond = INF},
}
local NAMES = {"float8_e4m3fn", "float8_e5m2"}

--- The number of a code below 128.
local function number_of(format, code)
  local n = 2 ^ format.bits
  local e, m = math.floor(code / n), code % n
  if code == format.infinite then return INF end
  if code >= format.special then return 0 / 0 end
  if e == 0 then return m / n * 2 ^ (1 - format.bias) end
  return (1 + m / n) * 2 ^ (e - format.bias)
end

local function of_codes(dtype, codes)
  return st.tensor(codes, {dtype = "uint8"}):view(dtype)
end

local function codes_of(t) return t:view "uint8":totable() end

local function all_codes(dtype)
  local codes = {}
  for i = 1, 256 do codes[i] = i - 1 end
  return of_codes(dtype, codes)
end

--- The codes of numbers that are converted from a dtype.
local function convert(numbers, from, dtype)
  return codes_of(st.tensor(numbers, {dtype = from}):to(dtype))
end

for _, dtype in ipairs(NAMES) do
  local format = FORMATS[dtype]

  local function finite()
    local list = {}
    for code = 0, format.special - 1 do
      list[code + 1] = number_of(format, code)
    end
    return list
  end

  describe("The codes of " .. dtype, function()
    it("are the numbers of the format", function()
      for _, wider in ipairs {"float32", "float64", "float16", "bfloat16"} do
        local t = all_codes(dtype):to(wider):double()
        for code = 0, 255 do
          local want = number_of(format, code % 128)
          if code > 127 then want = -want end
          local got = t[code + 1]
          if want ~= want then assert.is_true(got ~= got, code)
          elseif wider ~= "float16" or math.abs(want) ~= INF then
            assert.equal(want, got, code)
            assert.equal(1 / want, 1 / got)
          end
        end
      end
    end)

    it("come back from wider dtypes", function()
      for _, wider in ipairs {"float32", "float64", "float16", "bfloat16"} do
        local codes = codes_of(all_codes(dtype):to(wider):to(dtype))
        for i = 0, 255 do
          local m = i % 128
          if number_of(format, m) == number_of(format, m) then
            assert.equal(i, codes[i + 1])
          else -- a NaN keeps no payload, and in bfloat16 no sign
            local nan = wider == "bfloat16" and 127 or i - m + 127
            assert.equal(nan, codes[i + 1])
          end
        end
      end
    end)
  end)

  describe("A conversion to " .. dtype, function()
    it("rounds to the nearest, midpoints to the even code", function()
      local list, given, want = finite(), {}, {}
      for code = 0, format.special - 2 do
        local a, b = list[code + 1], list[code + 2]
        local middle = (a + b) / 2
        local even = code % 2 == 0 and code or code + 1
        for _, row in ipairs {{middle, even}, {middle * (1 - 2 ^ -23), code},
                              {middle * (1 + 2 ^ -23), code + 1}} do
          given[#given + 1], want[#want + 1] = row[1], row[2]
          given[#given + 1], want[#want + 1] = -row[1], row[2] + 128
        end
      end
      assert.same(want, convert(given, "float32", dtype))
      assert.same(want, convert(given, "float64", dtype))
    end)

    it("treats what is beyond as the format does", function()
      local top = number_of(format, format.special - 1)
      local step = top - number_of(format, format.special - 2)
      local last = format.special - 1
      local beyond = format.infinite or last
      assert.same({last, last, beyond, beyond, beyond, beyond + 128},
                  convert({top, top + step * 0.49, top + step / 2, 1e30, INF,
                           -INF}, "float32", dtype))
      assert.same({beyond, 128 + beyond},
                  convert({1e300, -1e300}, "float64", dtype))
      local nan = st.tensor({0 / 0}):to(dtype)
      assert.equal(127, codes_of(nan)[1] % 128)
      assert.same({0, 128}, convert({0, -1 / INF}, "float32", dtype))
    end)

    it("goes through float32 from every dtype", function()
      local want = st.tensor({0, 1, 3, 17, 19, 100}):to(dtype)
      for _, from in ipairs {"uint8", "int8", "int16", "int32", "int64",
                             "uint16", "uint32", "uint64", "float16",
                             "bfloat16", "float64", "complex64",
                             "complex128"} do
        local t = st.tensor({0, 1, 3, 17, 19, 100}, {dtype = from}):to(dtype)
        assert.same(codes_of(want), codes_of(t), from)
        assert.same(want:float():long():totable(),
                    want:to(from == "uint8" and "int64" or "int32"):totable())
        assert.equal(want:to(from).dtype, from)
      end
      local truths = st.tensor({true, false}):to(dtype)
      assert.same({1, 0}, truths:float():totable())
      assert.same({true, false}, truths:bool():totable())
      assert.same({true, false, true},
                  of_codes(dtype, {1, 128, 129}):bool():totable())
    end)
  end)

  describe("A tensor of " .. dtype, function()
    local t = st.tensor({{1, -2, 3}, {0.5, 0, 7}}):to(dtype)

    it("is one of floating-point numbers, of one byte each", function()
      assert.equal(dtype, t.dtype)
      assert.equal(1, t:element_size())
      assert.is_true(t:is_floating_point())
      local info = st.finfo(dtype)
      local n = 2 ^ format.bits
      assert.same({8, number_of(format, format.special - 1), 1 / n,
                   number_of(format, n), 1},
                  {info.bits, info.max, info.eps, info.tiny, info.resolution})
    end)

    it("is printed, indexed and given out as others are", function()
      assert.equal("tensor([[ 1.0000, -2.0000,  3.0000],\n"
                   .. "        [ 0.5000,  0.0000,  7.0000]], dtype="
                   .. dtype .. ")", tostring(t))
      assert.equal(-2, t[1][2])
      assert.same({{1, -2, 3}, {0.5, 0, 7}}, t:totable())
      assert.same({1, 0.5}, t:select(2, 1):totable())
      assert.same({3, 7}, t[{{}, 3}]:totable())
    end)

    it("is copied, joined and filled", function()
      assert.same({{1, 0.5}, {-2, 0}, {3, 7}}, t:t():contiguous():totable())
      assert.same({1, 3}, t[1][{{1, 3, 2}}]:contiguous():totable())
      assert.same({{7, 7, 7}, {7, 7, 7}}, t:clone():fill_(7):totable())
      assert.same({2, 2}, st.full({2}, 2, {dtype = dtype}):totable())
      assert.equal(dtype, st.cat({t, t}).dtype)
      assert.same({-2, 0.5}, t:masked_select(t:eq(-2):logical_or(t:eq(0.5)))
                              :totable())
      assert.same({{1, 0, 3}, {0.5, 0, 7}},
                  st.where(t:ge(0), t, st.zeros_like(t)):totable())
      assert.same({{0.5, 0, 7}}, t:index_select(1, st.tensor {2}):totable())
      local out = st.zeros(2, 3)
      out:copy_(t)
      assert.same(t:totable(), out:totable())
    end)

    it("is compared", function()
      local a, f = all_codes(dtype), all_codes(dtype):float()
      for _, name in ipairs {"eq", "ne", "lt", "le", "gt", "ge"} do
        local got = st[name](a:unsqueeze(1), a:unsqueeze(2))
        local want = st[name](f:unsqueeze(1), f:unsqueeze(2))
        assert.is_true(got:equal(want), name)
        assert.is_true(st[name](a, 0.5):equal(st[name](f, 0.5)), name)
      end
      for _, name in ipairs {"isnan", "isinf", "isfinite"} do
        assert.is_true(st[name](a):equal(st[name](f)), name)
      end
      assert.is_true(a:abs():float():nan_to_num()
                     :equal(f:abs():nan_to_num()))
      assert.is_true(t:any():item())
      assert.is_false(t:all():item())
    end)

    it("is sorted and searched", function()
      for _, descending in ipairs {false, true} do
        local a, f = all_codes(dtype), all_codes(dtype):float()
        local options = {descending = descending, stable = true}
        local values, places = a:sort(options)
        local want, where = f:sort(options)
        assert.is_true(places:equal(where))
        assert.is_true(values:float():nan_to_num():equal(want:nan_to_num()))
      end
      local line = of_codes(dtype, {0, 8, 16, 24, 32, 40})
      assert.same(st.searchsorted(line:float(), t:float()):totable(),
                  st.searchsorted(line, t):totable())
    end)

    it("multiplies in float32 and rounds once", function()
      local a = of_codes(dtype, {1, 17, 60, 61, 62, 100, 200})
      assert.same(codes_of((a:float() * 3):to(dtype)), codes_of(a * 3))
      assert.same(codes_of((a:float() * a:float()):to(dtype)), codes_of(a * a))
      local b = st.tensor({{1, 2}, {3, 4}}):to(dtype)
      assert.same({{7, 10}, {15, 22}}, b:float():mm(b:float()):totable())
      assert.same(codes_of(b:float():mm(b:float()):to(dtype)),
                  codes_of(b:mm(b)))
    end)

    it("promotes with no other dtype, and has no other arithmetic", function()
      for _, other in ipairs {"bool", "int64", "float32", "complex64"} do
        local y = st.ones({2, 3}, {dtype = other})
        for _, f in ipairs {st.mul, st.add, st.eq} do
          raises({dtype, "no common dtype"}, f, t, y)
          raises({dtype, "no common dtype"}, f, y, t)
        end
        raises({dtype, "no common dtype"}, st.promote_types, dtype, other)
        raises({dtype, "no common dtype"}, st.cat, {t, y})
      end
      raises({"no common dtype"}, st.mul, t, st.complex(0, 1))
      raises({"no common dtype"}, st.result_type, t, st.ones(1))
      assert.equal(dtype, st.result_type(t, 1.5))
      for _, f in ipairs {st.add, st.sub, st.div, st.maximum} do
        raises({"not implemented for dtype " .. dtype}, f, t, t)
      end
      for _, f in ipairs {st.neg, st.sqrt, st.exp, st.sum, st.amax, st.nonzero,
                          st.sign, st.floor} do
        raises({"not implemented for dtype " .. dtype}, f, t)
      end
      raises({"not implemented for dtype " .. dtype}, st.rand, 3,
             {dtype = dtype})
      raises({"full", "does not fit in " .. dtype}, st.full, {2}, 1e6,
             {dtype = dtype})
      raises({dtype}, st.set_default_dtype, dtype)
      raises({"iinfo", dtype}, st.iinfo, dtype)
    end)
  end)

  describe("Files with " .. dtype, function()
    local path = os.tmpname()
    after_each(function() os.remove(path) end)

    it(".safetensors and .pt keep every code", function()
      for _, suffix in ipairs {".safetensors", ".pt"} do
        local name = path .. suffix
        local t = all_codes(dtype)
        st.save(name, {a = t})
        local back = st.load(name).a
        os.remove(name)
        assert.equal(dtype, back.dtype)
        assert.same(codes_of(t), codes_of(back))
      end
    end)

    it("are no .npy files", function()
      raises({dtype .. " has no equivalent in .npy"}, st.save, path .. ".npy",
             all_codes(dtype))
      os.remove(path .. ".npy")
    end)

    it("and DLPack share them", function()
      local t = all_codes(dtype)
      local u = st.from_dlpack(t:to_dlpack())
      assert.equal(dtype, u.dtype)
      assert.same(codes_of(t), codes_of(u))
    end)
  end)
end

describe("Dtypes of float8", function()
  it("convert to each other", function()
    for _, row in ipairs {{"float8_e4m3fn", "float8_e5m2"},
                          {"float8_e5m2", "float8_e4m3fn"}} do
      local t = all_codes(row[1])
      assert.same(codes_of(t:float():to(row[2])), codes_of(t:to(row[2])))
      raises({"no common dtype"}, st.mul, t, t:to(row[2]))
    end
  end)
end)
