--- Bessel functions and the Airy function.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local nan, inf = 0 / 0, math.huge
local f64, live = tensors.f64, tensors.live
local near = tensors.elements_near

-- name, arguments, values (mpmath)
local VALUES = {
  {"special_bessel_j0",
   {0.5, -3, 7.75, 8.25, 100, 1000000.0, 0, inf},
   {0.93846980724081286, -0.26005195490193345, 0.22523406912010668,
    0.10920747150610137, 0.019985850304223122, 0.00033104301373987376, 1, nan}},
  {"special_bessel_j1",
   {1e-20, 0.5, -3, 7.75, 8.25, -100, 1000000.0, 0, nan},
   {4.9999999999999997e-21, 0.2422684576748739, -0.33905895852593648,
    0.19160259218911779, 0.26220355199274381, 0.077145352014112156,
    -0.00072596835681376301, 0, nan}},
  {"special_bessel_y0",
   {1e-20, 0.5, 3, 7.75, 8.25, 100, 0, -1},
   {-29.391228250285796, -0.44451873350670656, 0.37685001001279039,
    0.17676987751364717, 0.25514960509864493, -0.077244313365083153, -inf,
    nan}},
  {"special_bessel_y1",
   {1e-20, 0.5, 3, 7.75, 8.25, 100, 0, -1},
   {-6.3661977236758135e+19, -1.4714723926702431, 0.32467442479179998,
    -0.21433222865940804, -0.093994487064634494, -0.020372312002759792, -inf,
    nan}},
  {"special_modified_bessel_i0",
   {0.5, -3, 0},
   {1.0634833707413236, 4.8807925858650245, 1}},
  {"special_modified_bessel_i1",
   {0.5, -3, 0},
   {0.25789430539089631, -3.9533702174026093, 0}},
  {"special_modified_bessel_k0",
   {1e-20, 0.5, 2, 2.25, 30, 700, 0, -1, inf},
   {46.167633375539324, 0.92441907122766587, 0.11389387274953344,
    0.084043111974658108, 2.1324774964630563e-14, 4.6697764316853771e-306,
    inf, nan, 0}},
  {"special_modified_bessel_k1",
   {1e-20, 0.5, 2, 2.25, 30, 700, 0, -1, inf},
   {1e+20, 1.6564411200033009, 0.13986588181652243, 0.10121630256832526,
    2.1677320018915495e-14, 4.6731107967079664e-306, inf, nan, 0}},
  {"special_scaled_modified_bessel_k0",
   {0.5, 2, 2.25, 1000, inf, nan},
   {1.5241093857739094, 0.8415682150707714, 0.79737884528105607,
    0.039628321600754218, 0, nan}},
  {"special_scaled_modified_bessel_k1",
   {0.5, 2, 2.25, 1000, inf, -1},
   {2.7310097082117859, 1.0334768470686886, 0.96031354110120704,
    0.03964813081296021, 0, nan}},
  {"special_spherical_bessel_j0",
   {1e-05, -2, 100, 0, -inf, nan},
   {0.99999999998333333, 0.45464871341284085, -0.005063656411097588, 1, 0,
    nan}},
  {"special_airy_ai",
   {-1000, -50, -4.25, -3.75, -1, 0, 1, 1.75, 2.25, 30, 100, 200, -inf, nan},
   {0.05597189577301992, -0.16188142361232091, 0.12778292722826728,
    -0.25161270301422273, 0.53556088329235207, 0.35502805388781722,
    0.13529241631288141, 0.050569880805794873, 0.023654658557747447,
    3.2082175915504954e-49, 2.6344821520881846e-291, 0, nan, nan}},
}

-- name, where it has a derivative
local SMOOTH = {
  {"bessel_j0", {-9, 0, 1, 9}}, {"bessel_j1", {-9, 0, 1, 9}},
  {"bessel_y0", {1, 9}}, {"bessel_y1", {1, 9}},
  {"modified_bessel_i0", {-2, 0, 3}}, {"modified_bessel_i1", {-2, 0, 3}},
  {"modified_bessel_k0", {1, 4}}, {"modified_bessel_k1", {1, 4}},
}

--- By a difference of fourth order.
local function slope(f, x)
  local h = 1e-3
  local d = f(f64 {x + h, x - h, x + 2 * h, x - 2 * h})
  return (8 * (d[1] - d[2]) - (d[3] - d[4])) / (12 * h)
end

describe("a Bessel function", function()
  local before = live()

  for _, row in ipairs(VALUES) do
    it("is right: " .. row[1], function()
      near(st[row[1]](f64(row[2])), row[3], 1e-14)
      local single = st[row[1]](f64 {row[2][1]}:to "float32")
      local as_double = st[row[1]](f64 {row[2][1]}:to("float32"):to "float64")
      assert.is_true(single:equal(as_double:to "float32"))
      local out = f64 {0}
      assert.equal(out, st[row[1]](f64 {row[2][1]}, {out = out}))
      near(out, {row[3][1]}, 1e-14)
    end)
  end

  it("of the first and the second kind have their Wronskian", function()
    local x = st.linspace(0.25, 60, 999, {dtype = "float64"})
    local j0, j1 = st.special_bessel_j0(x), st.special_bessel_j1(x)
    local y0, y1 = st.special_bessel_y0(x), st.special_bessel_y1(x)
    local w = (j1 * y0 - j0 * y1) * x * (math.pi / 2) - 1
    assert.is_true(w:abs():max():item() < 1e-14)
    local k0, k1 = st.special_modified_bessel_k0(x),
      st.special_modified_bessel_k1(x)
    local i0, i1 = st.special_modified_bessel_i0(x),
      st.special_modified_bessel_i1(x)
    w = (i0 * k1 + i1 * k0) * x - 1
    assert.is_true(w:abs():max():item() < 1e-13)
  end)

  it("is odd or even", function()
    local x = st.linspace(0, 40, 99, {dtype = "float64"})
    assert.is_true(st.special_bessel_j0(-x):equal(st.special_bessel_j0(x)))
    assert.is_true(st.special_bessel_j1(-x):equal(-st.special_bessel_j1(x)))
    assert.equal(-inf, 1 / st.special_bessel_j1(f64 {0}:neg()):item())
  end)

  it("turns integers into floats", function()
    local t = st.tensor({1, 2}, {dtype = "int64"})
    for _, row in ipairs(VALUES) do
      local f = st[row[1]]
      assert.equal("float32", tostring(f(t).dtype))
      assert.error_matches(function() f(t:to "complex64") end,
                           row[1] .. ": not implemented for dtype complex64")
    end
  end)

  for _, row in ipairs(SMOOTH) do
    it("has its slope as gradient: " .. row[1], function()
      local f = st["special_" .. row[1]]
      for _, x in ipairs(row[2]) do
        local t = f64 {x}:requires_grad_()
        f(t):sum():backward()
        near(t.grad, {slope(f, x)}, 1e-8, 1)
      end
    end)
  end

  it("has no gradient where ATen has none", function()
    local x = f64 {1.5}:requires_grad_()
    for _, name in ipairs {"scaled_modified_bessel_k0", "airy_ai",
                           "scaled_modified_bessel_k1",
                           "spherical_bessel_j0"} do
      assert.is_false(st["special_" .. name](x).requires_grad)
    end
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
