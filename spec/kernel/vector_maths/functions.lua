--- The functions of vector maths, and arguments for them.

local st = require "strided"

local M = {}

local function like(a) return a:flip(1) end

--- Arguments as in Note [Plain arguments] of core/kernel/math/functions.def.
function M.plain(a) return a:abs():nan_to_num(1):clamp(0.25, 60) end

--- Operators of one tensor, and of it and of itself in reverse.
M.OPERATORS = {
  exp = st.exp, exp2 = st.exp2, expm1 = st.expm1, log = st.log,
  log2 = st.log2, log10 = st.log10, log1p = st.log1p, tanh = st.tanh,
  sinh = st.sinh, cosh = st.cosh, asinh = st.asinh, acosh = st.acosh,
  atanh = st.atanh, sin = st.sin, cos = st.cos, tan = st.tan,
  asin = st.asin, acos = st.acos, atan = st.atan, erf = st.erf,
  sigmoid = st.sigmoid, silu = st.silu, mish = st.mish, gelu = st.gelu,
  softplus = st.softplus, elu = st.elu, log_sigmoid = st.log_sigmoid,
  gelu_tanh = function(a) return a:gelu {approximate = "tanh"} end,
  gelu_slope = function(a) return st.gelu_backward(st.ones_like(a), a) end,
  logit = function(a) return a:logit() end,
  pow = function(a) return a:pow(like(a)) end,
  pow_of_size = function(a) return a:abs():pow(like(a)) end,
  pow_number = function(a) return a:abs():pow(1.7) end,
  atan2 = function(a) return a:atan2(like(a)) end,
  xlogy = function(a) return a:xlogy(like(a):abs()) end,
  logaddexp = function(a) return a:logaddexp(like(a)) end,
  softmax = function(a) return a:softmax(1) end,
  erfc = st.erfc, lgamma = st.lgamma, digamma = st.digamma,
  erfinv = st.erfinv, sinc = st.sinc, i0 = st.i0, rsqrt = st.rsqrt,
  cbrt = st.cbrt,
  ndtr = st.special_ndtr, log_ndtr = st.special_log_ndtr,
  erfcx = st.special_erfcx, ndtri = st.special_ndtri, i1 = st.special_i1,
  i0e = st.special_i0e, i1e = st.special_i1e, entr = st.special_entr,
  hypot = function(a) return a:hypot(like(a)) end,
  xlog1py = function(a) return st.special_xlog1py(a, like(a):abs()) end,
  logaddexp2 = function(a) return a:logaddexp2(like(a)) end,
  exp_plain = function(a) return M.plain(a):exp() end,
  exp2_plain = function(a) return M.plain(a):exp2() end,
  sinh_plain = function(a) return M.plain(a):sinh() end,
  cosh_plain = function(a) return M.plain(a):cosh() end,
  sigmoid_plain = function(a) return (M.plain(a) / 2 - 15):sigmoid() end,
  silu_plain = function(a) return (M.plain(a) / 2 - 15):silu() end,
  log_plain = function(a) return M.plain(a):log() end,
  log2_plain = function(a) return M.plain(a):log2() end,
  log10_plain = function(a) return M.plain(a):log10() end,
  pow_plain = function(a) return M.plain(a):pow(M.plain(like(a)) / 20) end,
  pow_number_plain = function(a) return M.plain(a):pow(-1.7) end,
}

local SPECIAL = {0, -1 / math.huge, 1, -1, 0.5, -0.5, 2, -2, 3, 1 / 0, -1 / 0,
                 0 / 0, 1e-40, -1e-40, 2e-320, 1e-300, 3e38, -3e38, 1e308,
                 88.8, 709.9, -104, -745.3, 1e6, -1e10, 4194305, 16777217,
                 4503599627370497, 3.4028234663852886e38,
                 1.7976931348623157e308, -1.7976931348623157e308}

--- n numbers of each of several sizes, and special ones.
function M.arguments(n, dtype)
  local parts = {st.tensor(SPECIAL, {dtype = "float64"})}
  for i, size in ipairs {1e-30, 0.01, 1, 4, 30, 800, 1e5, 1e12, 1e30} do
    parts[i + 1] = (st.rand({n}, {dtype = "float64"}) * 2 - 1) * size
  end
  return st.cat(parts):to(dtype)
end

return M
