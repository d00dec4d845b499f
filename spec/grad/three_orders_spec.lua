--- Three orders of derivatives against mpmath (three_orders.py), at points
-- where formulas for them cancel, overflow or divide by 0.
-- axes: isa
-- sampled: 3

local st = require "strided"
local want = require "spec.grad.three_orders"

local abs, huge, max, min = math.abs, math.huge, math.max, math.min

local function with(x, value) return st.full_like(x, value) end
local function power(n)
  return function(x) return st.pow(x, with(x, n)) end
end

local FUNCTIONS = {
  logaddexp = function(x) return st.logaddexp(x, with(x, 0)) end,
  logaddexp2 = function(x) return st.logaddexp2(with(x, 0), x) end,
  pow0 = power(0), pow1 = power(1), pow2 = power(2), pow3 = power(3),
  prod = function(x) return st.cat {x, x * x, x}:prod() end,
  atan2 = function(x) return st.atan2(x, with(x, 1)) end,
  atan2_large = function(x) return st.atan2(x, with(x, 2 ^ 600)) end,
  atan2_small = function(x) return st.atan2(x, with(x, 2 ^ -600)) end,
  hypot = function(x) return st.hypot(with(x, 1), x) end,
  hypot_large = function(x) return st.hypot(x, with(x, 2 ^ 600)) end,
  logsumexp = function(x) return st.cat {x, with(x, 0)}:logsumexp(1) end,
  logcumsumexp = function(x)
    return st.cat({x, with(x, 0)}):logcumsumexp(1)["2:2"]
  end,
  cumprod = function(x) return st.cat({x, x + 1, x + 2}):cumprod(1)["3:3"] end,
}
FUNCTIONS.gelu_tanh = function(x) return st.gelu(x, {approximate = "tanh"}) end
FUNCTIONS.addcdiv = function(x)
  return st.addcdiv(with(x, 1), with(x, 2 ^ -600), x)
end
FUNCTIONS.norm_of_power_3 = function(x)
  return st.linalg.vector_norm(st.cat {x, with(x, 2 ^ 600)}, 3)
end
FUNCTIONS.norm_of_power_half = function(x)
  return st.linalg.vector_norm(st.cat {x, with(x, 2 ^ 1000)}, 0.5)
end
FUNCTIONS.norm_of_power_minus_2 = function(x)
  return st.linalg.vector_norm(st.cat {x, with(x, 2 ^ -664)}, -2)
end
FUNCTIONS.angle_of_tiny = function(x)
  return st.complex(x, with(x, 2 ^ -664)):angle()
end
FUNCTIONS.atan2_tiny = function(x) return st.atan2(x, with(x, 2 ^ -664)) end
FUNCTIONS.igamma = function(x) return st.igamma(with(x, 2.5), x) end
FUNCTIONS.igammac = function(x) return st.igammac(with(x, 2.5), x) end
for name, imaginary in pairs {abs = 2 ^ -700, sgn = 2 ^ -700, angle = 2 ^ -600,
                              sigmoid = 0.5, tanh = 0.5, asinh = 0.5} do
  FUNCTIONS["complex_" .. name] = function(x)
    return st.real(st[name](st.complex(x, with(x, imaginary))))
  end
end
for name in ([[log_ndtr erfcx i0e i1 i1e ndtri entr bessel_j0 bessel_j1
               modified_bessel_i0 modified_bessel_i1]]):gmatch "%S+" do
  FUNCTIONS[name] = st.special[name]
end
for name in ([[sinc exp2 i0 expm1 log1p softplus log_sigmoid erfinv lgamma
               digamma acosh asinh atanh asin acos logit gelu tanh sigmoid
               silu mish softsign]]):gmatch "%S+" do
  FUNCTIONS[name] = st[name]
end

--- The first three derivatives of f at x.
local function derivatives(f, x, dtype)
  local t = st.tensor({x}, {dtype = dtype}):requires_grad_()
  local y, out = f(t):sum(), {}
  for k = 1, 3 do
    local g = y.requires_grad and
              st.grad({y}, {t}, {create_graph = true, allow_unused = true})
    out[k] = st.is_tensor(g) and g:detach():to "float64"["1:1"]:sum():item()
             or 0
    y = st.is_tensor(g) and g:sum() or with(t, 0):sum()
  end
  return out
end

-- By dtype: the largest number, the smallest one, relative errors by order.
local DTYPES = {
  float64 = {largest = 1.7976931348623157e308, least = 1e-300,
             errors = {1e-13, 1e-11, 1e-8}, unit = 2 ^ -52},
  float32 = {largest = 3.4e38, least = 1e-37, errors = {1e-5, 1e-4, 2e-2},
             unit = 2 ^ -23},
}
-- The slope of erfcx loses as many digits as it is smaller than its terms.
local CANCELS = {erfcx = {float64 = {2e-13, 1e-11, 1e-8},
                          float32 = {1e-4, 1e-4, 2e-2}}}

-- Where float32 has no number near enough, or none for a constant.
local DOUBLE = {complex_angle = true, angle_of_tiny = true, atan2_tiny = true,
                norm_of_power_half = true, norm_of_power_minus_2 = true}
local STEEP = {asin = true, acos = true, acosh = true, atanh = true,
               log1p = true}
local function is_exact(name, x, dtype)
  return dtype == "float64" or
         not (STEEP[name] and abs(abs(x) - 1) < 1e-3) and
         not DOUBLE[name]
end

local function is_in(x, d)
  return x == 0 or (abs(x) >= d.least and abs(x) <= d.largest)
end

describe("Three orders of derivatives", function()
  it("have a function for each table of references", function()
    for name in pairs(want) do assert.is_truthy(FUNCTIONS[name], name) end
  end)

  for dtype, d in pairs(DTYPES) do
    for name, rows in pairs(want) do
      it(("are those of mpmath: %s, %s"):format(name, dtype), function()
        local errors = CANCELS[name] and CANCELS[name][dtype] or d.errors
        for _, row in ipairs(rows) do
          local x, exact = row[1], {row[2], row[3], row[4]}
          local scale = max(abs(exact[1]), abs(exact[2]), abs(exact[3]))
          local can = is_in(x, d) and is_exact(name, x, dtype)
          local got = can and derivatives(FUNCTIONS[name], x, dtype)
          for k = 1, can and abs(x) < d.largest ^ 0.5 and 3
                     or 0 do
            local off = abs(got[k] - exact[k])
            local bound = max(errors[k] * abs(exact[k]),
                              8 * d.unit * min(scale, 1), d.least)
            assert.is_true(abs(exact[k]) > d.largest or off <= bound,
                           ("order %d at %g: %.9g, want %.17g"):format(
                             k, x, got[k], exact[k]))
          end
        end
      end)
    end
  end

  it("are 0 where gelu is a line, in each dtype", function()
    for _, approximate in ipairs {"none", "tanh"} do
      local function gelu(x) return st.gelu(x, {approximate = approximate}) end
      for dtype, greatest in pairs {float16 = 65504, bfloat16 = 1e18,
                                    float32 = 1e18, float64 = 1e150} do
        local first = dtype == "float16" and 20 or 100
        for _, x in ipairs {first, 120, 300, 65504, greatest} do
          assert.same({1, 0, 0}, derivatives(gelu, x, dtype), dtype)
          assert.same({0, 0, 0}, derivatives(gelu, -x, dtype), dtype)
        end
      end
    end
  end)

  it("of an angle are those at 0, too", function()
    for name, sign in pairs {angle_of_tiny = -1, atan2_tiny = 1} do
      local got = derivatives(FUNCTIONS[name], 0, "float64")
      assert.is_true(abs(sign * got[1] / 2 ^ 664 - 1) < 1e-15, name)
      assert.equal(0, got[2], name)
    end
  end)

  it("of norms of orders below 1 exist for the least numbers", function()
    for dtype, x in pairs {float16 = 2 ^ -24, float32 = 2 ^ -140,
                           float64 = 2 ^ -1060} do
      for _, p in ipairs {0.5, 0.25} do
        local t = st.tensor({x, x}, {dtype = dtype}):requires_grad_()
        local g = st.grad({st.linalg.vector_norm(t, p)}, {t})
        local slope = 2 ^ (1 / p - 1)
        for _, got in ipairs(g:to "float64":totable()) do
          assert.is_true(abs(got / slope - 1) < 2e-3, dtype .. " " .. got)
        end
      end
    end
  end)

  it("are 0 where a running sum of exponentials begins at -inf", function()
    for _, k in ipairs {1, 2} do
      local t = st.tensor({-huge, 1}, {dtype = "float64"}):requires_grad_()
      local y = t:logcumsumexp(1)[{k}]
      local g = st.grad({y}, {t}, {create_graph = true})
      assert.same({0, k == 2 and 1 or 0}, g:detach():totable())
      local h = st.grad({g:sum()}, {t}, {create_graph = true})
      assert.same({0, 0}, h:detach():totable())
    end
  end)

  it("of log_ndtr far from 0 are those of a parabola and of 0", function()
    local far = derivatives(FUNCTIONS.log_ndtr, -1e10, "float64")
    assert.is_true(abs(far[1] - 1e10) < 1e-4 and abs(far[2] + 1) < 1e-14 and
                   abs(far[3]) < 1e-20)
    for _, x in ipairs {38, 40, 1e3, 1e200} do
      for _, dtype in ipairs {"float32", "float64"} do
        for _, v in ipairs(derivatives(FUNCTIONS.log_ndtr, x, dtype)) do
          assert.is_true(abs(v) < 1e-300 or dtype == "float32" and v ~= v and
                         x > 1e38, x .. " " .. v)
        end
      end
    end
    assert.same({1, 0, 0}, derivatives(st.gelu, 1e200, "float64"))
  end)

  it("of pow at the exponent 0 are those of a product with a logarithm",
     function()
    -- d/dy of y x^(y - 1) is 1 / x
    local x = st.tensor({2}, {dtype = "float64"}):requires_grad_()
    local y = st.tensor({0}, {dtype = "float64"}):requires_grad_()
    local g = st.grad({st.pow(x, y):sum()}, {x}, {create_graph = true})
    assert.equal(0.5, (st.grad({g:sum()}, {y})):item())
  end)
end)

-- -- Squares of norms --------------------------------------------------------

local function column(x) return x:view(3, 1) end

--- Functions of three numbers that are |x|^2 near 0, and the numbers they are
-- 0 at.
local SQUARES = {
  ["norm and pow"] = function(x) return x:norm():pow(2) end,
  ["norm and a product"] = function(x)
    local n = x:norm()
    return n * n
  end,
  ["norm and square"] = function(x) return x:norm():square() end,
  ["linalg.norm"] = function(x) return st.linalg.norm(x) ^ 2 end,
  ["linalg.vector_norm"] = function(x)
    return st.linalg.vector_norm(x, 2):pow(2)
  end,
  ["norms of rows"] = function(x)
    return st.linalg.vector_norm(column(x), 2, 2):square():sum()
  end,
  ["norms that keep the dimension"] = function(x)
    return st.norm(column(x), 2, 2, true):square():sum()
  end,
  ["frobenius norm"] = function(x)
    return st.linalg.matrix_norm(column(x)):pow(2)
  end,
  dist = function(x) return st.dist(x, st.zeros_like(x)):pow(2) end,
  ["cdist to the left"] = function(x)
    return st.cdist(column(x):t(), st.zeros(1, 3, {dtype = x.dtype})):pow(2)
  end,
  ["cdist to the right"] = function(x)
    return st.cdist(st.zeros(1, 3, {dtype = x.dtype}), column(x):t()):pow(2)
  end,
  ["1 - cos, twice"] = function(x) return (1 - x:norm():cos()) * 2 end,
  ["exp of the square"] = function(x) return x:norm():pow(2):exp() end,
}

--- The rows of the matrix of second derivatives at x, and the third derivatives
-- of each row's sum.
local function bends(f, x)
  local rows, third = {}, {}
  local g = st.grad({f(x):sum()}, {x}, {create_graph = true})
  for i = 1, x:size(1) do
    local h = st.grad({g[i]}, {x}, {create_graph = true})
    rows[i] = h:detach():to "float64":totable()
    local t = h.requires_grad and st.grad({h:sum()}, {x}, {retain_graph = true,
                                                       allow_unused = true})
    third[i] = st.is_tensor(t) and t:to "float64":totable() or {0, 0, 0}
  end
  return rows, third
end

describe("The square of a norm that is 0 has the derivatives of a square,",
         function()
  for name, f in pairs(SQUARES) do
    it(name, function()
      for _, dtype in ipairs {"float64", "float32"} do
        local x = st.zeros(3, {dtype = dtype}):requires_grad_()
        local rows, third = bends(f, x)
        assert.same({{2, 0, 0}, {0, 2, 0}, {0, 0, 2}}, rows)
        assert.same({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, third)
      end
    end)
  end

  it("beside norms that are not", function()
    local x = st.tensor({0, 2, 0}, {dtype = "float64"}):requires_grad_()
    assert.same({{2, 0, 0}, {0, 2, 0}, {0, 0, 2}},
                (bends(SQUARES["norms of rows"], x)))
    local function product(v)
      local n = st.norm(column(v), 2, 2)
      return n:square():sum() * n:sum():pow(0)
    end
    assert.same({{2, 0, 0}, {0, 2, 0}, {0, 0, 2}}, (bends(product, x)))
  end)

  it("std", function()
    local x = st.ones(3, {dtype = "float64"}):requires_grad_()
    local rows = bends(function(v) return v:std() ^ 2 end, x)
    for i = 1, 3 do
      for k = 1, 3 do
        assert.is_true(abs(rows[i][k] - (i == k and 2 / 3 or -1 / 3)) < 1e-15)
      end
    end
  end)

  it("whatever hooks do, which are called as often as without", function()
    local x = st.zeros(2, {dtype = "float64"}):requires_grad_()
    local n, calls = x:norm(), 0
    n:register_hook(function(g)
      calls = calls + 1
      return g / 2
    end)
    local g = st.grad({n:square()}, {x}, {create_graph = true})
    assert.equal(1, calls)
    assert.same({1, 0}, st.grad({g[1]}, {x}, {retain_graph = true}):totable())
  end)

  it("and none where the function has none", function()
    local x = st.zeros(3, {dtype = "float64"}):requires_grad_()
    for _, exponent in ipairs {1, 1.5} do
      local rows = bends(function(v) return v:norm():pow(exponent) end, x)
      assert.is_true(rows[1][1] ~= rows[1][1])
    end
    local rows = bends(function(v) return v:norm() * 0 end, x)
    assert.same({0, 0, 0}, rows[2])
  end)

  it("and NaN where it depends on other norms that are 0", function()
    local x = st.zeros(2, {dtype = "float64"}):requires_grad_()
    local function norms(v) return st.norm(v:view(2, 1), 2, 2) end
    for _, f in ipairs {
      function(v) return v:norm() * v:norm() end,
      function(v) return v:norm() * v:sum() end,
      function(v) return norms(v):prod() end,
      function(v) return norms(v):sum():square() end,
    } do
      local rows = bends(f, x)
      assert.is_true(rows[1][1] ~= rows[1][1])
    end
  end)

  -- Passes within passes took a hundred times as long with each further norm.
  it("also behind many norms that are 0", function()
    local x = st.zeros(4, 3)
    x["2:"] = st.tensor {1, 2, 4.}
    x:requires_grad_()
    local function normalized(times)
      local y = x
      for _ = 1, times do y = y / (y:std(2, {keepdim = true}) + 1e-5) end
      local loss, calls = y:square():sum(), 0
      st.dispatch_mode(function(op, keys, ...)
        calls = calls + 1
        return op:redispatch(keys, ...)
      end, function() st.grad({loss}, {x}, {create_graph = true}) end)
      return calls
    end
    assert.is_true(normalized(24) < 6 * normalized(12))
  end)

  it("without what has no second derivative", function()
    local x = st.zeros(3):requires_grad_()
    local n = x:norm()
    local g = st.grad({st._standard_gamma(n * n + 1)}, {x},
                      {create_graph = true})
    assert.same({0, 0, 0}, g:totable())
    local m = x:norm()
    g = st.grad({(m * m):exp()}, {x}, {create_graph = true,
                                       retain_graph = false})
    assert.same({0, 0, 0}, g:totable())
  end)
end)

describe("The gradient of atan2 can be recorded", function()
  it("where an argument is an integer", function()
    for _, dtype in ipairs {"int64", "uint8", "bool"} do
      local x = st.tensor({2}, {dtype = "float32"}):requires_grad_()
      local y = st.tensor({1}):to(dtype)
      local a = st.grad({st.atan2(y, x)}, {x}, {create_graph = true})
      local b = st.grad({st.atan2(x, y)}, {x}, {create_graph = true})
      assert.is_true(abs(a:item() + 0.2) < 1e-6)
      assert.is_true(abs(b:item() - 0.2) < 1e-6)
    end
  end)
end)
