--- Orthogonal polynomials.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local nan, inf = 0 / 0, math.huge
local f64, live = tensors.f64, tensors.live
local near = tensors.elements_near

local function polynomial(name) return st["special_" .. name] end

-- The linear polynomial, and the one of degree k + 1 from those of degrees k
-- and k - 1 (DLMF 18.9), at x.
local function chebyshev(_, x, q, p) return 2 * x * q - p end
local FAMILIES = {
  {"chebyshev_polynomial_t", function(x) return x end, chebyshev},
  {"chebyshev_polynomial_u", function(x) return 2 * x end, chebyshev},
  {"chebyshev_polynomial_v", function(x) return 2 * x - 1 end, chebyshev},
  {"chebyshev_polynomial_w", function(x) return 2 * x + 1 end, chebyshev},
  {"hermite_polynomial_h", function(x) return 2 * x end,
   function(k, x, q, p) return 2 * x * q - 2 * k * p end},
  {"hermite_polynomial_he", function(x) return x end,
   function(k, x, q, p) return x * q - k * p end},
  {"laguerre_polynomial_l", function(x) return 1 - x end,
   function(k, x, q, p) return ((2 * k + 1 - x) * q - k * p) / (k + 1) end},
  {"legendre_polynomial_p", function(x) return x end,
   function(k, x, q, p) return ((2 * k + 1) * x * q - k * p) / (k + 1) end},
}

-- name, degree, x, value (mpmath)
local VALUES = {
  {"chebyshev_polynomial_t", 9, 0.3, 0.38882764800000008},
  {"chebyshev_polynomial_t", 40, -0.9, 0.69059605757364062},
  {"chebyshev_polynomial_t", 12, 1.25, 2048.0001220703125},
  {"chebyshev_polynomial_u", 9, 0.3, 0.099088896000000121},
  {"chebyshev_polynomial_u", 40, -0.9, -0.80270907052244644},
  {"chebyshev_polynomial_u", 12, 1.25, 5461.333251953125},
  {"chebyshev_polynomial_v", 9, 0.3, 1.064884736},
  {"chebyshev_polynomial_v", 40, -0.9, -2.4619369906292099},
  {"chebyshev_polynomial_v", 12, 1.25, 2730.666748046875},
  {"chebyshev_polynomial_w", 9, 0.3, -0.86670694399999981},
  {"chebyshev_polynomial_w", 40, -0.9, 0.8565188495843169},
  {"chebyshev_polynomial_w", 12, 1.25, 8191.999755859375},
  {"hermite_polynomial_h", 20, 1.5, -2085387081039},
  {"hermite_polynomial_he", 20, 1.5, 1027290560.9529505},
  {"laguerre_polynomial_l", 25, 3.5, 0.69898932914419032},
  {"legendre_polynomial_p", 30, 0.3, 0.14665500486868718},
  {"legendre_polynomial_p", 7, -2, -2199.125},
  {"chebyshev_polynomial_u", 99, -1, -100},
  {"chebyshev_polynomial_v", 100, -1, 201},
  {"chebyshev_polynomial_w", 100, 1, 201},
  {"legendre_polynomial_p", 1e15 + 1, -1, -1},
  {"laguerre_polynomial_l", 1e15, 0, 1},
}

describe("an orthogonal polynomial", function()
  local before = live()

  for _, family in ipairs(FAMILIES) do
    local name, linear, following = family[1], family[2], family[3]

    it("follows its recurrence: " .. name, function()
      for _, x in ipairs {-3, -1, -0.75, 0, 0.3, 1, 2.5} do
        local p, q = 1, linear(x)
        near(polynomial(name)(f64 {x, x}, f64 {0, 1}), {p, q}, 0)
        for k = 1, 30 do
          p, q = q, following(k, x, q, p)
          local got = polynomial(name)(x, f64 {k + 1}):item()
          assert.is_true(math.abs(got - q) <=
                         1e-12 * math.max(1, math.abs(q), math.abs(p)),
                         ("%d at %g: %.17g, %.17g"):format(k + 1, x, got, q))
        end
      end
    end)
  end

  it("has known values", function()
    for _, row in ipairs(VALUES) do
      near(polynomial(row[1])(f64 {row[3]}, row[2]), {row[4]}, 1e-13)
    end
  end)

  it("is one of 2x - 1 if it is shifted", function()
    local x = f64 {-0.5, 0, 0.25, 0.625, 1, 1.5}
    for kind in ("tuvw"):gmatch "." do
      local plain = polynomial("chebyshev_polynomial_" .. kind)
      local shifted = polynomial("shifted_chebyshev_polynomial_" .. kind)
      for n = 0, 12 do
        assert.same(plain(x * 2 - 1, n):totable(), shifted(x, n):totable())
      end
    end
  end)

  it("truncates its degree, and is 0 if that is negative or no number",
     function()
    local n = f64 {-1, -0.5, 0, 1.9, 2, nan, inf, -inf, -1e300, 1e300}
    near(st.special_hermite_polynomial_he(3, n),
         {0, 1, 1, 3, 8, 0, 0, 0, 0, 0}, 0)
    near(st.special_chebyshev_polynomial_t(f64 {nan, nan, nan}, f64 {-1, 0, 1}),
         {0, 1, nan}, 0)
  end)

  it("is NaN where its recurrence overflows", function()
    near(st.special_chebyshev_polynomial_t(f64 {inf, 1e300}, 5), {nan, nan}, 0)
    local x = st.zeros({1})
    for _, h in ipairs {st.special_hermite_polynomial_h,
                        st.special_hermite_polynomial_he} do
      near(h(f64 {0}, 513), {nan}, 0)
      near(h(x, 129), {nan}, 0)
      near(h(x, 127), {0}, 0)
    end
  end)

  it("takes a tensor and a number, and broadcasts", function()
    local x, n = f64 {{0.5}, {2}}, f64 {2, 3, 4}
    local want = st.special_legendre_polynomial_p(x, n)
    assert.equal(2, want:size(1))
    assert.equal(3, want:size(2))
    for i = 1, 3 do
      local by_number = st.special_legendre_polynomial_p(x, n[i])
      assert.same(want:narrow(2, i, 1):totable(), by_number:totable())
    end
    assert.same(want[1]:totable(),
                st.special_legendre_polynomial_p(0.5, n):totable())
    local out = f64 {0, 0, 0}
    assert.equal(out, st.special_legendre_polynomial_p(0.5, n, {out = out}))
    assert.same(want[1]:totable(), out:totable())
  end)

  it("turns integers into floats", function()
    local t = st.tensor({1, 2}, {dtype = "int64"})
    local f = st.special_hermite_polynomial_h
    assert.equal("float32", tostring(f(t, t).dtype))
    assert.equal("float32", tostring(f(t, 2).dtype))
    assert.equal("float32", tostring(f(2, t).dtype))
    assert.same({2, 14}, f(t, t):totable())
    assert.equal("float16", tostring(f(t:to "float16", t).dtype))
    assert.error_matches(function() f(t:to "complex64", 2) end,
      "special_hermite_polynomial_h: not implemented for dtype complex64")
  end)

  it("is not differentiable, as in ATen", function()
    local x = f64 {1.5}:requires_grad_()
    assert.is_false(st.special_laguerre_polynomial_l(x, 3).requires_grad)
    assert.is_false(st.special_laguerre_polynomial_l(2, x).requires_grad)
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
