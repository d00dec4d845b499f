--- The floats of eight bits: all codes, conversions with their rounding,
-- copies, comparison, sorting, files. The numbers of the codes are
-- (-1)^s 2^(e - bias) (1 + m / 2^n), by a plain loop.
-- axes: isa

local build = require "spec.support.build"
local st = require "strided"
local raises = require "spec.support.tensors".raises

local INF, NAN = 1 / 0, 0 / 0

-- The first `finite` codes are numbers from 0 on, those from 128 on negative.
-- nan: the code of NaN; beyond: that of what is too large. unsigned: powers of
-- two. signed_zero: the code 128 is -0.
local FORMATS = {
  float8_e4m3fn = {bits = 3, bias = 7, finite = 127, nan = 127, beyond = 126,
                   signed_zero = true},
  float8_e5m2 = {bits = 2, bias = 15, finite = 124, nan = 127, beyond = 124,
                 signed_zero = true},
  float8_e4m3fnuz = {bits = 3, bias = 8, finite = 128, nan = 128, beyond = 128},
  float8_e5m2fnuz = {bits = 2, bias = 16, finite = 128, nan = 128,
                     beyond = 128},
  float8_e8m0fnu = {bits = 0, bias = 127, finite = 255, nan = 255, beyond = 255,
                    unsigned = true},
}
local NAMES = {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
               "float8_e5m2fnuz", "float8_e8m0fnu"}

--- The number of a code.
local function number_of(format, code)
  if format.unsigned then return code == 255 and NAN or 2 ^ (code - 127) end
  local n, m = 2 ^ format.bits, code % 128
  local sign = code < 128 and 1 or -1
  if code == format.nan then return NAN end
  if m == format.beyond and m == format.finite then return sign * INF end
  if m >= format.finite then return NAN end
  local e, fraction = math.floor(m / n), m % n / n
  if e == 0 then return sign * fraction * 2 ^ (1 - format.bias) end
  return sign * (1 + fraction) * 2 ^ (e - format.bias)
end

--- The code of the negative number, which an unsigned format does not have.
local function negative(format, code)
  if format.unsigned or code > 127 or
     (code == 0 and not format.signed_zero) then
    return code
  end
  return code + 128
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

  describe("The codes of " .. dtype, function()
    it("are the numbers of the format", function()
      for _, wider in ipairs {"float32", "float64", "float16", "bfloat16"} do
        local t = all_codes(dtype):to(wider):double()
        for code = 0, 255 do
          local want = number_of(format, code)
          local got, size = t[code + 1], math.abs(want)
          local is_wide = wider ~= "float16" or
                          (size <= 65504 and size >= 2 ^ -24) or size == 0
          if want ~= want then
            assert.is_true(got ~= got, code)
          elseif is_wide then
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
          local number = number_of(format, i)
          local is_small = number ~= 0 and number ~= INF and
                           math.abs(number) < 2 ^ -24 or number > 65504
          if number ~= number then -- keeps no payload, in bfloat16 no sign
            local code, nan = codes[i + 1], format.nan
            assert.is_true(code == nan or (code == negative(format, nan) and
                                           wider ~= "bfloat16"), i)
          elseif wider ~= "float16" or not is_small or number == INF then
            assert.equal(i, codes[i + 1])
          end
        end
      end
    end)
  end)

  describe("A conversion to " .. dtype, function()
    it("rounds to the nearest, midpoints to the even code", function()
      local given, want = {}, {}
      local function add(number, code)
        given[#given + 1], want[#want + 1] = number, code
        given[#given + 1], want[#want + 1] = -number, negative(format, code)
      end
      for code = 0, format.finite - 2 do
        local low, high = number_of(format, code), number_of(format, code + 1)
        local middle = (low + high) / 2
        local even = code % 2 == 0 and code or code + 1
        if format.unsigned then even = code + 1 end -- to the greater one
        add(low, code)
        add(middle, even)
        add(middle * (1 + 2 ^ -22), code + 1)
        if format.unsigned and code == 0 then -- all of them to the greater one
          add(low * (1 + 2 ^ -20), 1)
        else
          add(middle * (1 - 2 ^ -22), code)
        end
      end
      assert.same(want, convert(given, "float32", dtype))
      assert.same(want, convert(given, "float64", dtype))
    end)

    it("treats what is beyond as the format does", function()
      local last = format.finite - 1
      local top = number_of(format, last)
      local step = top - number_of(format, last - 1)
      if format.unsigned then step = top end
      local beyond, below = format.beyond, negative(format, format.beyond)
      assert.same({last, last, beyond, beyond, beyond, below},
                  convert({top, top + step * 0.49, top + step / 2, 3e38, INF,
                           -INF}, "float32", dtype))
      assert.same({beyond, below}, convert({1e300, -1e300}, "float64", dtype))
      local nan = codes_of(st.tensor({NAN}):to(dtype))[1]
      assert.is_true(nan == format.nan or nan == negative(format, format.nan))
      assert.same({0, negative(format, 0), 0, negative(format, 0)},
                  convert({0, -1 / INF, 1e-45, -1e-45}, "float32", dtype))
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
      assert.same({1, number_of(format, 0)}, truths:float():totable())
      for code = 0, 255 do
        local is_true = number_of(format, code) ~= 0
        assert.equal(is_true, of_codes(dtype, {code}):bool():item())
      end
    end)
  end)

  describe("A tensor of " .. dtype, function()
    local v = format.unsigned and {{1, 2, 4}, {0.5, 0.25, 8}} or
              {{1, -2, 3}, {0.5, 0, 7}}
    local t = st.tensor(v):to(dtype)

    it("is one of floating-point numbers, of one byte each", function()
      assert.equal(dtype, t.dtype)
      assert.equal(1, t:element_size())
      assert.is_true(t:is_floating_point())
      local info = st.finfo(dtype)
      local n = 2 ^ format.bits
      local least, top = number_of(format, 0), number_of(format,
                                                         format.finite - 1)
      assert.same({8, format.unsigned and least or -top, top, 1 / n,
                   format.unsigned and least or number_of(format, n), 1},
                  {info.bits, info.min, info.max, info.eps, info.tiny,
                   info.resolution})
    end)

    it("is printed, indexed and given out as others are", function()
      assert.equal((format.unsigned and
                    "tensor([[1.0000, 2.0000, 4.0000],\n"
                    .. "        [0.5000, 0.2500, 8.0000]], dtype=" or
                    "tensor([[ 1.0000, -2.0000,  3.0000],\n"
                    .. "        [ 0.5000,  0.0000,  7.0000]], dtype=")
                   .. dtype .. ")", tostring(t))
      assert.equal(v[1][2], t[1][2])
      assert.same(v, t:totable())
      assert.same({1, 0.5}, t:select(2, 1):totable())
      assert.same({v[1][3], v[2][3]}, t[{{}, 3}]:totable())
    end)

    it("is copied, joined and filled", function()
      assert.same({{1, 0.5}, {v[1][2], v[2][2]}, {v[1][3], v[2][3]}},
                  t:t():contiguous():totable())
      assert.same({1, v[1][3]}, t[1][{{1, 3, 2}}]:contiguous():totable())
      assert.same({{4, 4, 4}, {4, 4, 4}}, t:clone():fill_(4):totable())
      assert.same({2, 2}, st.full({2}, 2, {dtype = dtype}):totable())
      assert.equal(dtype, st.cat({t, t}).dtype)
      assert.same({v[1][2], 0.5}, t:masked_select(
        t:eq(v[1][2]):logical_or(t:eq(0.5))):totable())
      assert.same({{1, 1, v[1][3]}, {0.5, v[2][2], v[2][3]}},
                  st.where(t:ne(v[1][2]), t, st.ones_like(t)):totable())
      assert.same({v[2]}, t:index_select(1, st.tensor {2}):totable())
      local out = st.zeros(2, 3)
      out:copy_(t)
      assert.same(t:totable(), out:totable())
    end)

    it("is added to at indices, and rounded each time", function()
      local places, values = {2, 1, 2, 2, 1}, {3, 1, 0.75, 4, 16}
      local to, want = st.ones({2}, {dtype = dtype}), {1, 1}
      for i, place in ipairs(places) do
        values[i] = st.tensor({values[i]}):to(dtype):item()
        want[place] = st.tensor({want[place] + values[i]}):to(dtype):item()
      end
      to:index_put_({st.tensor(places)}, st.tensor(values):to(dtype), true)
      assert.same(want, to:totable())
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
      raises({"full", "does not fit in " .. dtype}, st.full, {2}, 1e39,
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
    for _, from in ipairs(NAMES) do
      for _, to in ipairs(NAMES) do
        local t = all_codes(from)
        if from ~= to then
          assert.same(codes_of(t:float():to(to)), codes_of(t:to(to)))
          raises({"no common dtype"}, st.mul, t, t:to(to))
        end
      end
    end
  end)
end)

-- -- Every float in a byte ---------------------------------------------------

--- True for what has a row above, or another spec here that names it.
local function has_spec(dtype)
  if FORMATS[dtype] then return true end
  for _, name in ipairs(build.files("spec/tensor", "_spec%.lua$")) do
    if build.read(name):find('"' .. dtype .. '"', 1, true) then return true end
  end
  return false
end

local found = 0
for id in build.read "core/abi/dtypes.h":gmatch "X%(a, ([%w_]+), +FLOAT8," do
  local dtype = id:lower()
  found = found + 1

  describe("A float in a byte, " .. dtype .. ",", function()
    it("has a spec", function()
      assert.is_true(has_spec(dtype), "no spec in spec/tensor names it")
    end)

    it("is true as its kernels of any and all say", function()
      for code = 0, 255 do
        local one = of_codes(dtype, {code})
        local why = ("code %d: ST_TYPE_ of kernel/dtype_tables.h, " ..
                     "kernel/reduce/nonzero_reductions.h"):format(code)
        local is_true = one:float():item() ~= 0
        assert.equal(is_true, one:any():item(), why)
        assert.equal(is_true, one:all():item(), why)
      end
    end)
  end)
end
assert(found >= #NAMES)
