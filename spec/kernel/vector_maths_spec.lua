--- Mathematical functions: the same bits with every instruction set. Those of
-- core/kernel/math/functions.def err by at most one unit in the last place.
-- bench/accuracy/functions.c tries all floats.
-- axes: isa

local build = require "spec.support.build"
local functions = require "spec.kernel.vector_maths.functions"
local st = require "strided"

local HERE = build.root .. "/spec/kernel"
local SEED = 20261123
local MINUS_ZERO = -1 / math.huge -- Lua 5.1 takes a literal -0 for 0

local function sinh(x) return (math.exp(x) - math.exp(-x)) / 2 end
local function cosh(x) return (math.exp(x) + math.exp(-x)) / 2 end
local function sigmoid(x) return 1 / (1 + math.exp(-x)) end
local function mish(x)
  local e = math.exp(x)
  return x * e * (e + 2) / (e * (e + 2) + 2)
end
local function gelu_tanh(x)
  return x * sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x ^ 3))
end

-- The C library's in double, exact enough for float32, on [from, to].
local LIBRARY = {
  exp = {math.exp, -100, 88}, log = {math.log, 1e-30, 1e30},
  log10 = {math.log10 or function(x) return math.log(x, 10) end, 1.5, 1e30},
  sin = {math.sin, -100, 100}, cos = {math.cos, -100, 100},
  tan = {math.tan, -100, 100}, asin = {math.asin, -1, 1},
  acos = {math.acos, -1, 1}, atan = {math.atan, -1e5, 1e5},
  exp2 = {function(x) return 2 ^ x end, -125, 127},
  sinh = {sinh, 1, 80}, cosh = {cosh, -80, 80},
  tanh = {function(x) return sinh(x) / cosh(x) end, 1, 20},
  sigmoid = {sigmoid, -104, 30},
  cbrt = {function(x) return x ^ (1 / 3) end, 1e-45, 1e30},
  rsqrt = {function(x) return 1 / math.sqrt(x) end, 1e-44, 1e-30},
  silu = {function(x) return x * sigmoid(x) end, -108, 30},
  softplus = {function(x) return math.log(1 + math.exp(x)) end, -12, 40},
  mish = {mish, -107, 30}, gelu_tanh = {gelu_tanh, -10.5, 20},
}

-- Of float64, from an evaluation with 60 digits (mpmath).
local EXACT = {
  {"exp", 0.7, 2.0137527074704764322}, {"exp", -30.25, 7.2877240958196924e-14},
  {"exp2", 0.3, 1.231144413344916275}, {"expm1", 0.3, 0.349858807576003089},
  {"log", 1.3, 0.2623642644674910862}, {"log1p", 0.25, 0.22314355131420975577},
  {"log2", 10, 3.3219280948873623479}, {"log10", 7, 0.84509804001425683071},
  {"erf", 0.5, 0.52049987781304653768}, {"erf", 1.5, 0.96610514647531072707},
  {"tanh", 0.75, 0.63514895238728731921}, {"sinh", 2, 3.6268604078470187677},
  {"cosh", 1.5, 2.3524096152432473258}, {"asinh", 3, 1.8184464592320668235},
  {"acosh", 3, 1.7627471740390860505}, {"atanh", 0.8, 1.0986122886681098148},
  {"sin", 1e6, -0.34999350217129295212}, {"cos", 3, -0.98999249660044545727},
  {"tan", 100, -0.58721391515692907668}, {"atan", 5, 1.3734007669450158609},
  {"erfc", 0.5, 0.47950012218695346232}, {"erfc", 5, 1.5374597944280348502e-12},
  {"erfc", 24.565400641689923, 1.913674274979004681e-264},
  {"erfc", -1.5, 1.9661051464753107271}, {"erfc", 27, 5.2370489237892557e-319},
  {"sin", 1e22, -0.8522008497671888018},
  {"cos", 1e300, -0.57538611195754904669},
  {"asin", 0.3, 0.30469265401539749633}, {"acos", -0.7, 2.3461938234056496208},
  {"sigmoid", -740.3, 3.1030948248358890548e-322},
  {"sigmoid", 0.3, 0.57444251681165898444},
  {"silu", -2.7, -0.17002806135389050457},
  {"rsqrt", 1.7, 0.76696498884737041024},
  {"cbrt", -1.7, -1.1934831919273369327},
  {"cbrt", 5e-324, 1.7031839360032602880e-108},
  {"rsqrt", 5e-324, 4.4989137945431963828e+161},
  {"softplus", -0.4375, 0.49813454751437535872},
  {"softplus", -36.5, 1.4068617124461466696e-16},
  {"silu", -745.5, -1.2761783977429615339e-321},
  {"gelu", 1.3, 1.1741593700387066169},
  {"gelu", -3.7, -0.00039885901386633658663},
  {"gelu", -12.5, -4.6657053735971417215e-35},
  {"gelu", -38.25, -7.9547863022184754749e-319},
  {"gelu_tanh", 0.8, 0.63043169143644813908},
  {"gelu_tanh", -5.25, -3.9584638214958291984e-8},
  {"gelu_tanh", -21.4, -6.2604105341173423222e-318},
  {"mish", 2.7, 2.6786701114408405692},
  {"mish", -0.3, -0.15113317713833456755},
  {"mish", -36.7, -4.2272562839589274341e-15},
  {"mish", -745.1, -1.9028129449300703413e-321},
}

describe("Vector maths", function()
  it("is within a unit of the last place", function()
    for name, row in pairs(LIBRARY) do
      local fn, from, to = row[1], row[2], row[3]
      local x = (st.rand({3000}, {dtype = "float64"}) * (to - from) + from)
        :to "float32"
      local got = functions.OPERATORS[name](x)
      for i = 1, x:numel() do
        local want, is = fn(x[i]), got[i]
        local _, exponent = math.frexp(want)
        local unit = 2 ^ (math.max(exponent, -125) - 24)
        if is ~= is or math.abs(is - want) > unit then
          error(("%s(%.9g) is %.9g"):format(name, x[i], is))
        end
      end
    end
  end)

  it("is as exact in float64", function()
    for _, row in ipairs(EXACT) do
      local name, x, want = row[1], row[2], row[3]
      local got = functions.OPERATORS[name](st.tensor({x}, {dtype = "float64"}))
      local _, exponent = math.frexp(want)
      local unit = 2 ^ math.max(exponent - 53, -1074)
      if got[1] ~= got[1] or math.abs(got[1] - want) > unit then
        error(("%s(%.17g) is %.17g"):format(name, x, got[1]))
      end
    end
  end)

  it("keeps zeros, infinities and NaN", function()
    local inf, nan = 1 / 0, 0 / 0
    local rows = {
      {"exp", -inf, 0}, {"exp", inf, inf}, {"exp2", -2000, 0},
      {"expm1", -inf, -1},
      {"log", 0, -inf}, {"log", -1, nan}, {"log", inf, inf},
      {"log1p", -1, -inf},
      {"log2", 8, 3}, {"log10", 1000, 3}, {"tanh", inf, 1},
      {"sinh", -inf, -inf},
      {"cosh", -inf, inf}, {"asinh", -inf, -inf}, {"acosh", 0.5, nan},
      {"atanh", 1, inf}, {"atanh", 2, nan}, {"sin", inf, nan},
      {"erf", -inf, -1}, {"erfc", -inf, 2}, {"erfc", inf, 0},
      {"sin", -inf, nan}, {"tan", inf, nan},
      {"asin", 2, nan}, {"acos", 1, 0}, {"sigmoid", -inf, 0},
      {"sigmoid", inf, 1}, {"silu", -inf, nan}, {"silu", inf, inf},
      {"rsqrt", 0, inf}, {"rsqrt", MINUS_ZERO, -inf}, {"rsqrt", inf, 0},
      {"rsqrt", -1, nan}, {"cbrt", inf, inf}, {"cbrt", -inf, -inf},
      {"cbrt", -27, -3}, {"cbrt", 2 ^ -147, 2 ^ -49},
      {"softplus", -inf, 0}, {"softplus", inf, inf}, {"log_sigmoid", inf, 0},
      {"gelu", inf, inf}, {"gelu", -inf, nan}, {"gelu_tanh", inf, inf},
      {"gelu_tanh", -inf, nan}, {"mish", inf, inf}, {"mish", -inf, nan},
    }
    for _, dtype in ipairs {"float32", "float64"} do
      for _, row in ipairs(rows) do
        local x = st.tensor({row[2], nan}, {dtype = dtype})
        local got = functions.OPERATORS[row[1]](x)
        local is, want = got[1], row[3]
        assert.is_true(is == want or (is ~= is and want ~= want),
                       ("%s(%g) is %g"):format(row[1], row[2], is))
        assert.is_true(got[2] ~= got[2], row[1])
      end
      for _, name in ipairs {"expm1", "log1p", "tanh", "sinh", "asinh", "atanh",
                             "sin", "tan", "asin", "atan", "erf", "silu",
                             "gelu", "gelu_tanh", "mish", "cbrt"} do
        local got = functions.OPERATORS[name](st.tensor({MINUS_ZERO, 0},
                                                        {dtype = dtype}))
        assert.equal(-inf, 1 / got[1], name)
        assert.equal(inf, 1 / got[2], name)
      end
    end
  end)

  it("gives NaNs without a sign", function()
    for _, dtype in ipairs {"float32", "float64"} do
      for _, row in ipairs {{"log", -1}, {"log2", -2}, {"log10", -math.huge},
                            {"gelu", -math.huge}} do
        local y = st[row[1]](st.full({40}, row[2], {dtype = dtype}))
        assert.is_true(y:isnan():all():item(), row[1])
        assert.is_false(st.signbit(y):any():item(), row[1] .. dtype)
      end
    end
  end)

  it("knows the powers of C", function()
    local inf, nan = 1 / 0, 0 / 0
    local rows = {
      {0, -3, inf}, {MINUS_ZERO, -3, -inf},
      {MINUS_ZERO, -2, inf}, {MINUS_ZERO, 3, MINUS_ZERO},
      {0, 2.5, 0},
      {-1, inf, 1}, {-1, -inf, 1}, {1, nan, 1}, {nan, 0, 1}, {0.5, -inf, inf},
      {0.5, inf, 0}, {-2, inf, inf}, {2, -inf, 0}, {-inf, -3, MINUS_ZERO},
      {-inf, 3, -inf}, {-inf, 2.5, inf}, {inf, -1, 0}, {-8, 1 / 3, nan},
      {-2, 3, -8}, {-2, 4, 16}, {-1, 8388609, -1}, {-1, 16777218, 1},
      {-1, 3.4028234663852886e38, 1}, {-1, -1.7976931348623157e308, 1},
    }
    for _, dtype in ipairs {"float32", "float64"} do
      for _, row in ipairs(rows) do
        local base = st.tensor({row[1]}, {dtype = dtype})
        local is = base:pow(st.tensor({row[2]}, {dtype = dtype}))[1]
        local want = row[3]
        assert.is_true((is == want and 1 / is == 1 / want) or
                       (is ~= is and want ~= want),
                       ("%g ^ %g is %g"):format(row[1], row[2], is))
      end
    end
  end)

  it("gives the same for an element wherever it is", function()
    for dtype, integers in pairs {float32 = "int32", float64 = "int64"} do
      local x = functions.arguments(40, dtype)
      for _, name in ipairs {"exp", "log", "sin", "erf", "tanh", "atan"} do
        local operator = functions.OPERATORS[name]
        local whole = operator(x):view(integers)
        for _, n in ipairs {1, 5, 16, 17, 33} do
          local part = operator(x:narrow(1, 100, n)):view(integers)
          assert.is_true(part:equal(whole:narrow(1, 100, n)), name)
          local apart = operator(x:slice(1, 1, nil, 7)):view(integers)
          assert.is_true(apart:equal(whole:slice(1, 1, nil, 7)), name)
        end
      end
    end
  end)

  it("gives the same beside arguments that are not plain", function()
    for dtype, integers in pairs {float32 = "int32", float64 = "int64"} do
      local x = functions.plain(functions.arguments(400, dtype))
      local mixed = st.stack({x, x:new_full(x:size(), 0 / 0)}, 2):flatten()
      for name, fn in pairs {
        exp = function(a) return (a - 30):exp() end, exp2 = st.exp2,
        sinh = st.sinh, cosh = st.cosh,
        sigmoid = function(a) return (a / 2 - 15):sigmoid() end,
        silu = function(a) return (a / 2 - 15):silu() end,
        log = st.log, log2 = st.log2, log10 = st.log10,
        pow_number = function(a) return a:pow(-1.7) end,
        pow = function(a) return a:pow(a / 20) end, sin = st.sin,
      } do
        local of_mixed = fn(mixed):slice(1, 1, nil, 2):contiguous()
        assert.is_true(fn(x):view(integers):equal(of_mixed:view(integers)),
                       name)
      end
    end
  end)

  it("computes large arguments beside a signalling NaN", function()
    for dtype, row in pairs {float32 = {"int32", 255, 23},
                             float64 = {"int64", 2047, 52}} do
      local nan = st.full({16}, row[2], {dtype = row[1]})
        :bitwise_left_shift(row[3]):add(1):view(dtype)
      local large = nan:new_full({16}, 1e10)
      for name, want in pairs {sin = math.sin(1e10), sigmoid = 1} do
        for first, parts in ipairs {{large, nan}, {nan, large}} do
          for _, n in ipairs {8, 16} do
            local x = st.cat {parts[1]:narrow(1, 1, n), parts[2]}
            local got = functions.OPERATORS[name](x)
            local at = first == 1 and 1 or n + 1
            assert.is_true(math.abs(got[at] - want) < 1e-6, name)
          end
        end
      end
    end
  end)

  -- Once is enough for all instruction sets.
  if not os.getenv "STRIDED_ISA" and not build.is_sanitized then
    it("gives the same bits with every instruction set", function()
      build.same_by_instruction_set(
        ("%s '%s/vector_maths/digest.lua' %d"):format(build.lua, HERE, SEED))
    end)
  end
end)
