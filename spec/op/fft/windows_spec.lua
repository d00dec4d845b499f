--- Windows and frequencies, against their formulas.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local abs, cos, exp, ipairs, pi, sin, sqrt = math.abs, math.cos, math.exp,
  ipairs, math.pi, math.sin, math.sqrt

local near, raises = tensors.near, tensors.raises
local windows = st.signal.windows

local F64 = {dtype = "float64"}

-- -- Formulas ----------------------------------------------------------------

-- i counts from 0 to n - 1; one period has m steps.

local function cosines(...)
  local terms = {...}
  return function(i, _, m)
    local sum = 0
    for k, a in ipairs(terms) do
      sum = sum + (k % 2 == 1 and a or -a) * cos(2 * pi * (k - 1) * i / m)
    end
    return sum
  end
end

local function bartlett(i, _, m) return 1 - abs(2 * i / m - 1) end

--- The Bessel function by its series.
local function i0(x)
  local term, sum, k = 1, 1, 0
  repeat
    k = k + 1
    term = term * (x / (2 * k)) ^ 2
    sum = sum + term
  until term < 1e-18 * sum
  return sum
end

local function kaiser(beta)
  return function(i, _, m)
    local x = 2 * i / m - 1
    return i0(beta * sqrt(math.max(0, 1 - x * x))) / i0(beta)
  end
end

local hann, hamming = cosines(0.5, 0.5), cosines(0.54, 0.46)
local blackman = cosines(0.42, 0.5, 0.08)

local function elements(f, n, periodic)
  local list, m = {}, periodic and n or n - 1
  for i = 0, n - 1 do list[i + 1] = n == 1 and 1 or f(i, n, m) end
  return list
end

-- -- Values ------------------------------------------------------------------

local LENGTHS = {0, 1, 2, 3, 8, 33}

local NAMED = {
  {"hann_window", hann}, {"hamming_window", hamming},
  {"blackman_window", blackman}, {"bartlett_window", bartlett},
  {"kaiser_window", kaiser(12)}, {"kaiser_window", kaiser(2.5), 2.5},
  {"hamming_window", cosines(0.3, 0.46), 0.3},
  {"hamming_window", cosines(0.3, 0.9), 0.3, 0.9},
}

local SIGNAL = {
  {"hann", hann}, {"hamming", hamming}, {"blackman", blackman},
  {"bartlett", bartlett}, {"kaiser", kaiser(12)},
  {"kaiser", kaiser(0), {beta = 0}}, {"kaiser", kaiser(7), {beta = 7}},
  {"nuttall", cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)},
  {"general_hamming", cosines(0.7, 0.3), {alpha = 0.7}},
  {"general_cosine", cosines(0.4, 0.2, 0.1, 3), {a = {0.4, 0.2, 0.1, 3}}},
  {"cosine", function(i, _, m) return sin(pi * (i + 0.5) / (m + 1)) end},
  {"exponential", function(i, _, m) return exp(-abs(i - m / 2)) end},
  {"exponential", function(i, _, m) return exp(-abs(i - m / 2) / 3) end,
   {tau = 3}},
  {"gaussian", function(i, _, m) return exp(-(i - m / 2) ^ 2 / 2) end},
  {"gaussian", function(i, _, m)
    return exp(-((i - m / 2) / 0.7) ^ 2 / 2)
  end, {std = 0.7}},
}

local function with(o, more)
  local out = {}
  for k, v in pairs(o or {}) do out[k] = v end
  for k, v in pairs(more) do out[k] = v end
  return out
end

describe("A window", function()
  for _, row in ipairs(NAMED) do
    local name, f, a, b = row[1], row[2], row[3], row[4]
    it("has the elements of its formula: " .. name .. (a and ", " .. a or ""),
       function()
      for _, n in ipairs(LENGTHS) do
        for _, periodic in ipairs {true, false} do
          local args = {n, periodic, a, b}
          args[#args + 1] = F64
          near(elements(f, n, periodic),
               st[name]((unpack or table.unpack)(args)):totable(), 1e-14)
        end
        if not a then
          near(elements(f, n, true), st[name](n, F64):totable(), 1e-14)
          assert.equal("float32", st[name](n).dtype)
        end
      end
    end)
  end

  for i, row in ipairs(SIGNAL) do
    local name, f, o = row[1], row[2], row[3]
    it(("has the elements of its formula: %d, %s"):format(i, name), function()
      for _, n in ipairs(LENGTHS) do
        for _, sym in ipairs {true, false} do
          near(elements(f, n, not sym),
               windows[name](n, with(o, {sym = sym, dtype = "float64"}))
                 :totable(), 1e-14)
        end
        if n > 2 then -- the same bits from both ends
          local t = windows[name](n, o or {dtype = "float32"})
          assert.is_true(t:equal(t:flip {1}))
        end
      end
    end)
  end

  it("of exponentials may have its center anywhere", function()
    near({exp(-1), 1, exp(-1), exp(-2)},
         windows.exponential(4, {center = 1, sym = false, dtype = "float64"})
           :totable())
  end)

  it("has a dtype, a device, and an out=", function()
    assert.equal("float16", st.hann_window(4, {dtype = "float16"}).dtype)
    assert.equal("meta", windows.kaiser(4, {device = "meta"}).device)
    local out = st.empty({0}, F64)
    st.hann_window(4, {out = out})
    near({0, 0.5, 1, 0.5}, out:totable())
  end)

  it("is refused where there is none", function()
    raises("must not be negative, it is -9223372036854775808",
           st.hann_window, -2 ^ 63, false)
    raises("hann_window: the number of elements must not be negative, it is -1",
           st.hann_window, -1)
    raises("dtype must be floating, not int64", st.hann_window, 3,
           {dtype = "int64"})
    raises("std must be positive, not -1", windows.gaussian, 3, {std = -1})
    raises("tau must be positive, not 0", windows.exponential, 3, {tau = 0})
    raises("beta must not be negative, it is -1", windows.kaiser, 3,
           {beta = -1})
    raises("a is empty", windows.general_cosine, 3, {a = {}})
    raises("center must be nil, or sym false", windows.exponential, 3,
           {center = 1})
    raises("st.signal.windows has no", function() return windows.nosuch end)
  end)
end)

-- -- Frequencies -------------------------------------------------------------

describe("Frequencies", function()
  it("are positive, then negative", function()
    near({0, 0.2, 0.4, -0.4, -0.2}, st.fft.fftfreq(5, F64):totable())
    near({0, 0.5, -1, -0.5}, st.fft.fftfreq(4, 0.5, F64):totable())
    near({0, 0.1, 0.2}, st.fft.rfftfreq(5, 2, F64):totable())
    near({0, 0.25, 0.5}, st.fft.rfftfreq(4, F64):totable())
    assert.equal("float32", st.fft.fftfreq(3).dtype)
    assert.same({0}, st.fft.fftfreq(0):size())
    raises("must not be negative", st.fft.fftfreq, -1)
    raises("dtype must be floating", st.fft.rfftfreq, 3, {dtype = "int32"})
  end)

  it("are where a transform has the peak of a wave", function()
    local t = st.arange(40, F64):mul(2 * pi * 0.125):cos()
    local at = st.fft.rfft(t):abs():argmax()
    near(0.125, st.fft.rfftfreq(40, F64)[at:item()])
  end)
end)
