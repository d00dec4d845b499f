--- Seeds give the numbers of PyTorch 2.15 (float32 normal ones: those of its
-- kernels without AVX2, which are the C library's).
-- axes: isa

local st = require "strided"

local has_ffi, ffi = pcall(require, "ffi")
-- the functions of other C libraries may be less exact
local glibc = has_ffi and ffi.os == "Linux"

local function from(seed) return {generator = st.Generator(seed)} end

--- t has these numbers, but for the last bits of another C library's.
local function gives(want, t)
  local got = t:to "float64":contiguous():totable()
  local single = t.dtype ~= "float64"
  local bound = glibc and 0 or single and 1e-6 or 1e-15
  assert.equal(#want, #got)
  for i, x in ipairs(want) do
    local y = got[i]
    assert.is_true(math.abs(x - y) <= bound * math.abs(x),
                   ("number %d is %.17g, not %.17g"):format(i, y, x))
  end
end

local function draw(dtype, n, seed, name, a, b)
  local t = st.empty({n}, {dtype = dtype})
  return t[name](t, a, b, from(seed))
end

describe("a seed gives PyTorch's", function()
  it("normal numbers with a mean", function()
    gives({-4.0760295005854399, 0.76687284685558921, -0.95204169636571567,
           4.19877338695294, -0.51006251145816317, -1.4888673255370133,
           0.14193855033480235, -0.46610400478144315, -1.5390678508194644,
           5.5090790577658755, 2.5091514162459347, 6.744315078715271,
           4.5393558500533766, -1.3672033475027079, 1.8784711780127923,
           2.5450435076268443}, draw("float64", 16, 0, "normal_", 1.7, 2.5))
    gives({-1.1145994663238525, -1.1809004545211792, 1.0735535621643066,
           0.6153029203414917, 3.8217759132385254, 3.430023193359375,
           0.90996813774108887, -3.5880489349365234, 2.5056872367858887,
           -1.4583368301391602, 2.5749580860137939, 2.4703347682952881,
           1.9996038675308228, 4.7941446304321289, 4.4919428825378418,
           1.081805944442749}, draw("float32", 16, 0, "normal_", 1.7, 2.5))
    gives({5.5524902706101082, 0.96642773559763406, -3.7469734551863936,
           3.1210781932016696, -1.0113058560600523},
          draw("float64", 5, 0, "normal_", 1.7, 2.5))
  end)

  it("Cauchy and log-normal numbers", function()
    gives({8.718410528677607, 1.8353370817241299, 1.2101904605417781,
           4.0531513176962548, 1.6429922370227048, 2.2091858318010811},
          draw("float64", 6, 0, "cauchy_", 1.3, 0.7))
    gives({4.6311114190167606, 1.067433186487341, 0.23621059842766151,
           2.1270690980072247, 0.56687419740393186, 0.44092683854159564},
          draw("float64", 6, 0, "log_normal_", 0.3, 0.8))
  end)

  it("normal numbers of half types, and leaves its state", function()
    for dtype, rows in pairs {
      float16 = {{1.5087890625, 2.599609375, -0.255126953125, 1.87890625},
                 {2.2109375, 3.134765625, 2.740234375},
                 {1.859375, 3.34765625, 3.748046875},
                 {4.31640625, 0.509765625}},
      bfloat16 = {{1.5078125, 2.59375, -0.255859375, 1.875},
                  {2.203125, 3.140625, 2.734375}, {1.859375, 3.34375, 3.75},
                  {4.3125, 0.51171875}},
    } do
      for n, row in pairs {[16] = {rows[2], 0.17560523748397827},
                           [37] = {rows[3], 0.43014723062515259}} do
        local g = from(3)
        local t = st.empty({n}, {dtype = dtype}):normal_(1.7, 2.5, g)
        gives(rows[1], t:narrow(1, 1, 4))
        gives(row[1], t:narrow(1, n - 2, 3))
        if n == 37 then gives(rows[4], t:narrow(1, 21, 2)) end
        gives({row[2]}, st.rand({1}, g))
      end
    end
  end)

  it("uniform numbers of half types", function()
    gives({0.830078125, 0.1260986328125, 0.9072265625, 0.81982421875,
           0.919921875}, draw("float16", 5, 5, "uniform_"))
    gives({2.28125, 1.7880859375, 2.3359375, 2.2734375, 2.34375, 1.78125,
           1.8154296875, 2.216796875},
          draw("float16", 8, 5, "uniform_", 1.7, 2.4))
    gives({2.28125, 1.7890625, 2.328125, 2.28125, 2.34375, 1.78125, 1.8125,
           2.21875}, draw("bfloat16", 8, 5, "uniform_", 1.7, 2.4))
  end)

  it("uniform numbers that would be rounded to the end of the range",
     function()
    for dtype, zeros in pairs {float16 = {1291, 1500},
                               bfloat16 = {1291, 1500, 1853}} do
      local u = draw("float32", 1900, 5, "uniform_")
      local half = draw(dtype, 1900, 5, "uniform_")
      for _, i in ipairs(zeros) do
        assert.equal(1, u:narrow(1, i + 1, 1):to(dtype):item())
        assert.equal(0, half:narrow(1, i + 1, 1):item())
      end
    end
    gives({3, 1, 0, 3, 0, 0, 1, 3, 0, 0, 2, 2},
          (draw("float32", 12, 5, "uniform_", 1, 1.0000005) - 1) * 2 ^ 23)
  end)

  it("integers of ranges from 2^28 on, of 64 bits", function()
    for range, want in pairs {
      [2 ^ 28 - 1] = {180483115, 256344314, 140980119, 247206998},
      [2 ^ 28] = {256344299, 247206984, 13419401, 264314501},
      [2 ^ 28 + 1] = {52969206, 139009074, 5559191, 157708819},
    } do
      gives(want, st.randint(0, range, {4}, from(1)))
    end
    gives({1422616883, 1602909023, 551272834},
          draw("int32", 3, 1, "random_", -5, 2 ^ 31 - 6))
  end)

  it("binomial numbers in float32, of counts that have no next one",
     function()
    local t = st.binomial(st.full({300}, 24415501, {dtype = "float32"}),
                          st.full({300}, 0.0627100875931635), st.Generator(0))
    gives({1531599, 1529853, 1531374, 1530939, 1530598, 1531037},
          t:narrow(1, 1, 6))
    assert.equal(459323072, t:to "float64":sum():item())
  end)

  it("normal numbers after gamma ones in float32", function()
    for _, row in ipairs {
      {24, 1, 4.0280652046203613, 0.89883181090217368, -0.34861857177414535},
      {24, 40, 2.1456987857818604, 2.9677870031179707, 0.73240528659771231},
      {7, 40, 5.2228093147277832, -0.5220170318510472, 0.12796185187331921},
      {9, 40, 0.46819093823432922, 0.16524351949521224, -0.50435307397634332},
    } do
      local g = st.Generator(row[1])
      gives({row[3]}, st._standard_gamma(st.full({row[2]}, 2.5), g):narrow(
        1, row[2], 1))
      gives({row[4], row[5]},
            st.empty({2}, {dtype = "float64"}):normal_(0, 1, {generator = g}))
    end
  end)
end)
