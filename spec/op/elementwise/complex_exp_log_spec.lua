--- exp2, expm1, log1p, logaddexp, logsumexp, logcumsumexp, nan_to_num and
-- logspace of complex numbers. Expected values are PyTorch 2.15's.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local nan, inf = 0 / 0, math.huge

local live, near = tensors.live, tensors.elements_near

--- Complex numbers of real and imaginary parts in turn.
local function c128(parts)
  return st.view_as_complex(st.tensor(parts, {dtype = "float64"})
                            :reshape(-1, 2))
end

local function has(want, t, tolerance)
  near(st.view_as_real(st.resolve_conj(t)), want, tolerance or 4e-15, 1)
end

local Z = {0.3, 0.4, -1.25, 2, 1e-9, -2e-9, 3, -1, -0.5, 0}
local W = {1, 1, 0.25, -0.5, -2, 3, 0.5, 0, -0.5, 0.1}

-- a function, its values at Z, the gradients of the real part of
-- (1 + 2i) times their sum
local UNARY = {
  {"exp2",
   {1.184126211560744, 0.33698914167254423, 0.077134156207466831,
    0.41331225150338696, 1.0000000006931471, -1.3862943620807966e-09,
    6.1539112109117751, -5.1116902105090771, 0.70710678118654757, 0},
   {0.35360759811117903, -1.8751305633705582, -0.51950712074083527,
    -0.39341686762060779, 0.69314718296221034, -1.3862943611198904,
    11.351873519880215, -4.987978753209231, 0.49012907173427361,
    -0.98025814346854723}},
  {"expm1",
   {0.2433022950695026, 0.52565977919697882, -1.1192280648689497,
    0.26051807455818549, 9.9999999850000005e-10, -2.0000000020000004e-09,
    9.8522619141979586, -16.901396535150095, -0.39346934028736658, 0},
   {0.19198273667554488, -3.0122643693359841, -0.64026421398532063,
    -0.022061944820286172, 1.0000000050000002, -2, 44.65505498449815,
    -4.8031272932458222, 0.60653065971263342, -1.2130613194252668}},
  {"log1p",
   {0.30759281954511664, 0.29849893158617929, 0.70089927382792783,
    1.695151321341658, 1.0000000015000001e-09, -1.9999999979999998e-09,
    1.4166066720281081, -0.24497866312686414, -0.69314718055994529, 0},
   {1.1351351351351351, -1.189189189189189, 0.92307692307692313,
    0.61538461538461542, 0.99999999499999992, -2, 0.11764705882352941,
    -0.52941176470588236, 2, -4}},
  {"logcumsumexp",
   {0.29999999999999999, 0.40000000000000002, 0.31606615343558769,
    0.61032336772116413, 0.81753011506375817, 0.35449188213970312,
    3.0296615562237976, -0.89287905598833905, 3.0481313141560098,
    -0.87046226563457274},
   {2.7034318657278744, -5.134777945352206, -0.67562365014744352,
    -0.34196788828035712, 0.63362651760707744, -0.87058547653423513,
    2.364027811166487, -3.593570204922568, -0.025462544353994365,
    -0.059098484910633464}, 1},
  {"logsumexp",
   {3.04813131415601, -0.8704622656345726},
   {-0.10341329883034647, -0.099076024466888651, -0.020378810881734898,
    0.022553931614137886, -0.041980638329682726, -0.097436929319710153,
    1.1912352923957585, -1.7669424929169053, -0.025462544353994358,
    -0.059098484910633464}, 1},
}

local function backward(t)
  st.real((t * st.complex(1, 2)):sum()):backward()
end

describe("complex", function()
  local before = live()

  for _, row in ipairs(UNARY) do
    it(row[1] .. " has values, gradients and complex64", function()
      local x = c128(Z):requires_grad_()
      local y = st[row[1]](x, row[4])
      has(row[2], y)
      backward(y)
      has(row[3], x.grad)
      has(row[2], st[row[1]](c128(Z):to "complex64", row[4]):to "complex128",
          2e-6)
      assert.equal("complex64",
                   tostring(st[row[1]](c128(Z):to "complex64", row[4]).dtype))
    end)
  end

  it("logaddexp has values and gradients", function()
    local x, y = c128(Z):requires_grad_(), c128(W):requires_grad_()
    local sum = st.logaddexp(x, y)
    has({1.3628788254391164, 0.80368004034256069, 0.066109276055179078,
         -0.33880657923987256, -0.1436052180546486, 0.022049651465354821,
         3.0455777692776662, -0.93395734587867196, 0.19189665937912614,
         0.05}, sum)
    backward(sum)
    has({0.58908926259779459, -0.49968631251269652, -0.57209973787664226,
         0.17970959422890781, 1.2050530110548898, -2.2828426182308195,
         1.0794709686439499, -1.8436705210773137, 0.55004170837553878,
         -0.97497914581223055}, x.grad)
    has({0.41091073740220529, -1.5003136874873035, 1.5720997378766424,
         -2.1797095942289078, -0.20505301105488974, 0.28284261823081935,
         -0.079470968643949869, -0.1563294789226862, 0.44995829162446122,
         -1.0250208541877694}, y.grad)
  end)

  it("sums of exponentials have infinities and NaN", function()
    has({inf, 0, -inf, 3, 2, 1, nan, nan, nan, nan, inf, nan, 1, 1},
        st.logaddexp(c128 {inf, 0, -inf, 1, -inf, 2, nan, 1, 1, nan, inf, 1,
                           1, 1},
                     c128 {1, 1, -inf, 3, 2, 1, 1, 1, 1, 1, inf, 2, -inf, 2}))
    has({-inf, 0, 1, 1, nan, nan, nan, nan},
        st.logcumsumexp(c128 {-inf, 2, 1, 1, nan, 2, 1, 1}, 1))
    has({inf, 0}, st.logsumexp(c128 {inf, 0, 1, 1}, 1))
    has({-inf, 0}, st.logsumexp(c128 {-inf, 0, -inf, 1}, 1))
    has({-inf, 0, -inf, 0},
        st.logsumexp(st.zeros(0, 2, {dtype = "complex128"}), 1))
  end)

  it("logcumsumexp takes the turn of the later of equal real parts", function()
    has({0, -2.5, 0.10122911629896231, 99.01548245743669},
        st.logcumsumexp(c128 {0, -2.5, 0, 100}, 1), 1e-12)
  end)

  it("log1p has infinities", function()
    has({inf, math.pi / 2, inf, -math.pi / 2, inf, 0},
        st.log1p(c128 {0.3, inf, 0.3, -inf, inf, 1}))
  end)

  it("logsumexp reduces any dimensions of any layout", function()
    local x = c128 {0.3, 0.4, -1.25, 2, 1e-9, -2e-9, 3, -1}:reshape(2, 2)
    local whole = st.logsumexp(x, {1, 2})
    has({3.0296615562237976, -0.89287905598833905}, whole)
    has({3.0296615562237976, -0.89287905598833905},
        st.logsumexp(st.logsumexp(x:t(), 1), 1))
    assert.same({2, 1}, st.logsumexp(x, 2, true):size())
    assert.same({2, 1, 1}, st.logsumexp(x:unsqueeze(3), {2, 3}, true):size())
    has({3.0296615562237976, 0.89287905598833905},
        st.logsumexp(st.conj(x), {1, 2}))
  end)

  it("nan_to_num replaces parts", function()
    local most = 1.7976931348623157e308
    local x = c128 {nan, inf, -inf, -1, 2, nan}
    has({0, most, -most, -1, 2, 0}, st.nan_to_num(x))
    has({5, 6, 7, -1, 2, 5}, st.nan_to_num(x, 5, 6, 7))
    near(st.view_as_real(st.nan_to_num(x:to "complex64")),
         {0, 3.4028234663852886e38, -3.4028234663852886e38, -1, 2, 0}, 0)
    x = c128 {nan, inf, -inf, -1, 2, 3}:requires_grad_()
    st.real(st.nan_to_num(x):sum()):backward()
    has({0, 0, 0, 0, 1, 0}, x.grad)
  end)

  it("logspace has complex ends and dtypes", function()
    has({1, 0, 2.154434690031884, 0, 4.64158883361278, 0, 10, 0},
        st.logspace(0, 1, 4, {dtype = "complex128"}))
    has({0.7692389013639721, 0.6389612763136348, 1.420912952372681,
         0.7077064939431439, 2.452881572494229, 0.5770408990626545, 4, 0},
        st.logspace(st.complex(0, 1), 2, 4, 2, {dtype = "complex128"}))
    assert.equal("complex64",
                 tostring(st.logspace(st.complex(0, 1), 2, 4).dtype))
  end)

  it("leaves nothing behind", function()
    assert.is_true(live() <= before)
  end)
end)
