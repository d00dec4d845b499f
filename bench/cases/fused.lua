--- The functions of the families "fused" and "reduced". `eager` has the plain
-- functions, `fused` the fused operators made from them. workers/fused.py has
-- the same functions for the peers.

local st = require "strided"

local setmetatable = setmetatable

local eager, schemas, folds = {}, {}, {}

-- -- Elementwise -------------------------------------------------------------

schemas.muladd = "(Tensor a, Tensor b, Tensor c) -> Tensor"
function eager.muladd(a, b, c) return a * b + c end

schemas.square = "(Tensor a, Tensor b) -> Tensor"
function eager.square(a, b) return (a - b) ^ 2 end

schemas.saxpy = "(Tensor x, Tensor b) -> Tensor"
function eager.saxpy(x, b) return (0.75 * x + b):clamp(0, 1) end

schemas.smoothstep = "(Tensor x) -> Tensor"
function eager.smoothstep(x)
  local lo, hi = 0.25, 0.75
  local t = ((x - lo) / (hi - lo)):clamp(0, 1)
  return t * t * (3 - 2 * t)
end

schemas.length = "(Tensor x, Tensor y, Tensor z) -> Tensor"
function eager.length(x, y, z) return (x * x + y * y + z * z):sqrt() end

schemas.silu = "(Tensor x) -> Tensor"
function eager.silu(x) return x / (1 + (-x):exp()) end

schemas.gated = "(Tensor x, Tensor y) -> Tensor"
function eager.gated(x, y) return x / (1 + (-x):exp()) * y end

schemas.gelu = "(Tensor x) -> Tensor"
function eager.gelu(x)
  local inner = 0.7978845608 * (x + 0.044715 * x * x * x)
  return 0.5 * x * (1 + inner:tanh())
end

schemas.softplus = "(Tensor x) -> Tensor"
function eager.softplus(x)
  return (-x:abs()):exp():log1p() + x:clamp_min(0)
end

schemas.leaky = "(Tensor x, Tensor b, Tensor c) -> Tensor"
function eager.leaky(x, b, c)
  return st.where(x:lt(0), 0.125 * x, b * x + c)
end

-- coefficients of exp, from the highest power down
local COEFFICIENTS = {2.4801587e-5, 1.9841270e-4, 1.3888889e-3, 8.3333333e-3,
                      4.1666667e-2, 0.16666667, 0.5, 1, 1}

schemas.horner = "(Tensor x) -> Tensor"
function eager.horner(x)
  local y = COEFFICIENTS[1]
  for k = 2, #COEFFICIENTS do y = y * x + COEFFICIENTS[k] end
  return y
end

local RATE, VOLATILITY = 0.02, 0.3

local function normal(d) return 0.5 * (1 + (d * 0.70710678):erf()) end

-- The price of a call: spot, strike, years.
schemas.black_scholes = "(Tensor s, Tensor k, Tensor t) -> Tensor"
function eager.black_scholes(s, k, t)
  local spread = VOLATILITY * t:sqrt()
  local drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * t
  local d = ((s / k):log() + drift) / spread
  return s * normal(d) - k * (-RATE * t):exp() * normal(d - spread)
end

-- A step from z, and |z z + c|^2, which tells whether it has escaped.
schemas.mandelbrot =
  "(Tensor zr, Tensor zi, Tensor cr, Tensor ci) -> Tensor"
function eager.mandelbrot(zr, zi, cr, ci)
  local re = zr * zr - zi * zi + cr
  local im = 2 * zr * zi + ci
  return re * re + im * im
end

-- -- Reductions --------------------------------------------------------------

schemas.distance = "(Tensor x, Tensor y) -> Tensor"
function eager.distance(x, y) return ((x - y) ^ 2):sum() end
folds.distance = {
  map = function(x, y) return (x - y) ^ 2 end,
  combine = function(a, b) return a + b end,
  init = 0,
}

schemas.peak = "(Tensor x, Tensor w) -> Tensor"
function eager.peak(x, w) return (x:abs() * w):max() end
folds.peak = {
  map = function(x, w) return x:abs() * w end,
  combine = function(a, b) return st.maximum(a, b) end,
  init = -math.huge,
}

-- -- Fusion groups between other operators -----------------------------------

function eager.softmax(x)
  local e = (x - x:amax(2, true)):exp()
  return e / e:sum(2, true)
end

-- -- Operators ---------------------------------------------------------------

local lib

--- The operator of a name, created on first use, because each case runs in a
-- separate process. A function without a schema is not a single operator.
local function make(name)
  local body, schema, fold = eager[name], schemas[name], folds[name]
  if not schema then return st.fuse(body) end
  lib = lib or st.library "bench"
  if fold then lib:reduction(name .. schema, fold)
  else lib:elementwise(name .. schema, body) end
  return st.ops.bench[name].default
end

local fused = setmetatable({}, {
  __index = function(self, name)
    local made = make(name)
    self[name] = made
    return made
  end,
})

return {eager = eager, fused = fused}
