--- Scalar arguments at the edge of a dtype: clamp, hardtanh, threshold, pow,
-- logspace, ldexp, frexp; division of narrow integers. Expected values are
-- PyTorch 2.15's.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local nan, inf = 0 / 0, math.huge

local live, near, raises = tensors.live, tensors.elements_near, tensors.raises

local of = tensors.of

--- The dtype and the elements of a result.
local function is(dtype, want, t)
  assert.equal(dtype, tostring(t.dtype))
  near(t, want, 0)
end

describe("clamp", function()
  local before = live()

  it("is NaN where a bound is NaN", function()
    for _, dtype in ipairs {"float16", "bfloat16", "float32", "float64"} do
      local x = of(dtype, {1, -2, nan, inf, 0, -0.0, 3, 4, 5})
      local all = {nan, nan, nan, nan, nan, nan, nan, nan, nan}
      is(dtype, all, x:clamp {min = nan})
      is(dtype, all, x:clamp {max = nan})
      is(dtype, all, st.clamp_min(x, nan))
      is(dtype, all, st.clamp_max(x, nan))
      is(dtype, all, x:clamp(nan, 1))
      is(dtype, all, st.hardtanh(x, -1, nan))
    end
    is("float32", {nan, nan}, of("int8", {1, 2}):clamp {min = nan})
  end)

  it("keeps a NaN of the tensor", function()
    is("float32", {nan, 1, 2}, of("float32", {nan, 0, 2}):clamp {min = 1})
    is("float32", {nan, 0, 1}, of("float32", {nan, 0, 2}):clamp {max = 1})
  end)

  it("of integers takes bounds outside the dtype", function()
    local x, u = of("int8", {1, -100, 100}), of("uint8", {0, 5, 255})
    is("int8", {1, -100, 100}, x:clamp(-1000, 1000))
    is("int8", {1, -100, 100}, st.clamp_max(x, 1000))
    is("int8", {1, -100, 100}, st.clamp_min(x, -1000))
    is("uint8", {0, 5, 255}, u:clamp(-1, 300))
    is("uint8", {0, 5, 255}, st.clamp_min(u, -1))
    is("int16", {5}, of("int16", {5}):clamp(-100000, 100000))
    is("uint8", {0, 5, 255}, st.hardtanh(u, -1, 300))
    is("int8", {1, -100, 50}, st.hardtanh(x, -1000, 50))
    is("int8", {1, 0, 1}, st.hardtanh(x, 0.5, 1.5))
    is("int8", {1, -100, 100}, x:clone():clamp_(-1000, 1000))
  end)

  it("refuses a bound that no value satisfies", function()
    local x, u = of("int8", {1}), of("uint8", {1})
    raises("clamp: min is 300, above every int8", st.clamp, x, 300, 1000)
    raises("clamp_max: max is -129, below every int8", st.clamp_max, x, -129)
    raises("clamp: max is -1, below every uint8", st.clamp, u, -5, -1)
    raises("clamp_min: min is 256, above every uint8", st.clamp_min, u, 256)
    raises("hardtanh: min_val is 300, above every int8", st.hardtanh, x, 300,
           400)
    raises({"hardtanh: ", "does not fit in int64"}, st.hardtanh, x, nan, 3)
    raises("clamp: value 1e+39 does not fit in float32", st.clamp,
           of("float32", {1}), 1e39)
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

describe("scalar arguments of integer kernels", function()
  it("are refused if they do not fit", function()
    local x = of("int8", {3, 2})
    raises("threshold: argument 'threshold': value 300 does not fit in int8",
           st.threshold, x, 300, 5)
    raises("threshold: argument 'value': value 300 does not fit in int8",
           st.threshold, x, 0, 300)
    raises("addcmul: argument 'value': value 300 does not fit in int8",
           st.addcmul, x, x, x, {value = 300})
    raises("pow: argument 'exponent': value 1000 does not fit in int8",
           st.pow, x, 1000)
    is("int8", {9, 4}, x ^ 2)
    is("int8", {5, 5}, st.threshold(x, 100, 5))
  end)
end)

-- Narrow integers are divided as floats, int64 is not.
describe("the division of narrow integers", function()
  local function agrees(dtype, a, b)
    a, b = a:view(-1, 1), b:view(1, -1)
    for _, name in ipairs {"remainder", "fmod", "floor_divide"} do
      local wide = st[name](a:to "int64", b:to "int64"):to(dtype)
      assert.is_true(st.equal(wide, st[name](a, b)), dtype .. " " .. name)
    end
  end

  it("is that of int64, for all of 8 bits", function()
    agrees("uint8", st.arange(0, 256):to "uint8", st.arange(1, 256):to "uint8")
    local all = st.arange(-128, 128):to "int8"
    agrees("int8", all, st.cat {all:narrow(1, 1, 128), all:narrow(1, 130, 127)})
  end)

  it("is that of int64, at the ends of a dtype", function()
    for dtype, last in pairs {int16 = 32767, int32 = 2147483647} do
      local ends = st.tensor({-last - 1, -last, 1 - last, -46341, -3, -2, -1, 1,
                              2, 3, 181, 46341 % last, last - 1, last},
                             {dtype = "int64"})
      ends = ends:clamp(-last - 1, last):to(dtype)
      agrees(dtype, ends, ends)
    end
  end)
end)

describe("a divisor of zero", function()
  --- The places among n divisors where a zero is found.
  local function places_found(dtype, n, view)
    local x, y = of(dtype, {7}), st.ones({n, 2}, {dtype = dtype})
    local found = {}
    y = view(y)
    assert.is_true(pcall(st.remainder, x, y))
    for _, i in ipairs {1, 2, 255, 256, 257, 511, n - 1, n} do
      y:narrow(1, i, 1):fill_(0)
      found[#found + 1] = not pcall(st.remainder, x, y) and i or nil
      y:fill_(1)
    end
    return found
  end

  it("is found at any place", function()
    local want = {1, 2, 255, 256, 257, 511, 699, 700}
    for _, dtype in ipairs {"uint8", "int8", "int16", "int32", "int64"} do
      for _, view in ipairs {
        function(y) return y:reshape(-1):narrow(1, 1, 700) end,
        function(y) return y:select(2, 1) end,
        function(y) return y end} do
        assert.same(want, places_found(dtype, 700, view))
      end
    end
  end)

  it("is found in what is broadcast", function()
    local x = st.ones({700, 300}, {dtype = "int16"})
    local row, column = st.ones({300}, {dtype = "int16"}),
                        st.ones({700, 1}, {dtype = "int16"})
    assert.is_true(pcall(st.fmod, x, row) and pcall(st.fmod, x, column))
    row:narrow(1, 300, 1):fill_(0)
    column:narrow(1, 700, 1):fill_(0)
    raises("fmod: division of int16 by zero", st.fmod, x, row)
    raises("fmod: division of int16 by zero", st.fmod, x, column)
  end)
end)

describe("pow", function()
  it("with exponent 1 is the same numbers", function()
    for _, dtype in ipairs {"float64", "float32", "float16", "int64", "int8"} do
      local x = of(dtype, {0, 1, -3, 100, -7, 5}):view(2, 3)
      for _, t in ipairs {x, x:t(), x:select(1, 2)} do
        assert.is_true(st.pow(t, 1):equal(t))
        assert.is_true(st.pow(t, 1.0):equal(t))
        local out = st.empty(t:size(), {dtype = "float64"})
        assert.is_true(st.pow(t, 1, {out = out}):equal(t:to "float64"))
      end
      assert.is_true(x:clone():t():pow_(1):equal(x:t()))
    end
    is("float32", {nan, inf, -inf}, st.pow(of("float32", {nan, inf, -inf}), 1))
    assert.equal(-inf, 1 / st.pow(of("float64", {-1 / inf}), 1):item())
  end)
end)

describe("pow of bool", function()
  local x = st.tensor {true, false}

  it("by a boolean is bool", function()
    is("bool", {1, 0}, st.pow(x, true))
    is("bool", {1, 1}, st.pow(x, false))
    is("bool", {1, 1}, st.pow(st.tensor {true, false}, false))
    is("bool", {1, 0}, x:clone():pow_(true))
  end)

  it("by a number is not", function()
    is("int64", {1, 0}, st.pow(x, 1))
    is("float32", {1, 0}, st.pow(x, st.float(2)))
  end)
end)

describe("logspace", function()
  local f64 = {dtype = "float64"}

  it("is a number to the powers of linspace, bit for bit", function()
    for _, base in ipairs {10, 0.3, 1, -2} do
      local got = st.logspace(-3, 0.7, 2051, base, f64)
      local want = st.pow(base, st.linspace(-3, 0.7, 2051, f64))
      assert.is_true(st.equal(got:view "int64", want:view "int64"))
    end
  end)

  it("has exact ends, and exact whole powers between", function()
    is("float64", {1, 1e5, 1e10, 1e15, 1e20}, st.logspace(0, 20, 5, 10, f64))
    is("int64", {1, 7, 49, 343, 2401},
       st.logspace(0, 4, 5, 7, {dtype = "int64"}))
    is("float64", {8}, st.logspace(3, 9, 1, 2, f64))
  end)
end)

describe("ldexp", function()
  local before = live()
  local function i64(list) return of("int64", list) end

  it("of floats by integers has the dtype of the floats", function()
    local x = st.tensor(3, {dtype = "float64"})
    is("float64", {6, 12}, st.ldexp(x, i64 {1, 2}))
    is("float64", {12}, st.ldexp(x, st.tensor(2, {dtype = "int64"})):reshape(1))
    is("float16", {6, 12}, st.ldexp(x:to "float16", i64 {1, 2}))
    is("float32", {12, 16}, st.ldexp(of("float32", {3, 4}),
                                     st.tensor(2, {dtype = "int64"})))
    is("float32", {6, 16}, st.ldexp(i64 {3, 4}, i64 {1, 2}))
    near(st.view_as_real(st.ldexp(st.tensor {st.complex(1, 2)}, i64 {2})),
         {4, 8}, 0)
  end)

  it("rounds once", function()
    is("float64", {3 * 2 ^ 200, 8}, st.ldexp(of("float64", {3, 4}),
                                             i64 {200, 1}))
    near(st.ldexp(of("float32", {1e-30, 1, 3, 0.7}),
                  i64 {200, -149, -150, -130}),
         {1.6069380493547143e+30, 1.401298464324817e-45,
          2.802596928649634e-45, 5.142793390041365e-40}, 0)
    is("float64", {3 * 2 ^ -1073, 0, inf, 0},
       st.ldexp(of("float64", {3, 1, 1, 0}),
                i64 {-1073, -2 ^ 40, 2 ^ 40, 2 ^ 40}))
    is("float32", {inf, 4}, of("float32", {1, 2}):ldexp_(i64 {200, 1}))
  end)

  it("rounds once at every exponent", function()
    for _, x in ipairs {1 / 3, 2 ^ -60 / 3, 2 ^ 60 / 3, 2 ^ -1070 * 3, -7} do
      local exponents, want = {}, {}
      for e = -1074, 1023 do -- a product by an exact power is rounded once
        exponents[#exponents + 1] = e
        want[#want + 1] = x * 2 ^ e
      end
      assert.is_true(st.equal(st.ldexp(of("float64", {x}), i64(exponents)),
                              of("float64", want)))
    end
  end)

  it("has the gradient that scales as it does", function()
    local x = of("float64", {1, 2}):requires_grad_()
    st.ldexp(x, i64 {3, -1}):sum():backward()
    near(x.grad, {8, 0.5}, 0)
  end)

  it("refuses to write floats to integers", function()
    raises({"ldexp_: ", "ldexp"}, st.ldexp_, i64 {1}, i64 {1})
  end)

  it("leaves nothing behind", function()
    assert.is_true(live() <= before)
  end)
end)

describe("frexp", function()
  it("splits zeros, subnormals, the largest numbers, infinities", function()
    local ends = {float16 = {-24, 16}, bfloat16 = {-133, 128},
                  float32 = {-149, 128}, float64 = {-1074, 1024}}
    for dtype, powers in pairs(ends) do
      local least, most = powers[1], powers[2]
      local list = {0, -0.0, 2 ^ least, -3 * 2 ^ least, 2 ^ (most - 1), 1, -6,
                    0.75, inf, -inf}
      local x = of(dtype, list)
      local mantissa, exponent = st.frexp(x)
      near(mantissa, {0, -0.0, 0.5, -0.75, 0.5, 0.5, -0.75, 0.75, inf, -inf}, 0)
      near(exponent, {0, 0, least + 1, least + 2, most, 1, 3, 0, 0, 0}, 0)
      local every = st.stack({x, x}, 2):select(2, 2)
      assert.is_true(st.frexp(every):equal(mantissa))
      mantissa, exponent = st.frexp(of(dtype, {nan}))
      assert.is_true(mantissa:isnan():all():item())
      assert.same(0, exponent:item())
    end
  end)
end)
