--- Gradients that the dtype holds though squares of what they are made of leave
-- its range. The figures are closed forms.
-- axes: none

local st = require "strided"

-- The sizes whose squares overflow, or underflow.
local SIZES = {
  float16 = {2 ^ 9, 2 ^ -11}, bfloat16 = {2 ^ 80, 2 ^ -80},
  float32 = {2 ^ 80, 2 ^ -80}, float64 = {2 ^ 600, 2 ^ -600},
}

-- The largest error, relative.
local BOUND = {float16 = 5e-3, bfloat16 = 4e-2, float32 = 1e-6, float64 = 1e-14}

-- A function of two numbers x and y, which are 3 s and 4 s or as given, and the
-- gradients of these times s.
local ROWS = {
  {"a quotient", function(x, y) return x / y end, 1 / 4, -3 / 16},
  {"a reciprocal", function(_, y, s) return y:reciprocal() * s end, nil,
   -1 / 16},
  {"a quotient by a norm", function(x, y)
    return x / st.cat({x, y}):norm()
  end, 16 / 125, -12 / 125},
  {"a quotient by the norm of a dimension", function(x, y)
    return x / st.linalg.vector_norm(st.cat {x, y}, 2, 1, true)
  end, 16 / 125, -12 / 125},
  {"a reciprocal of a complex number", function(x, y, s)
    if x.dtype:find "float16" then return y:reciprocal() * s end
    return (st.complex(y, y * 0):reciprocal() * s):real()
  end, nil, -1 / 16},
}

local function gradients(f, dtype, s)
  local x = st.tensor({3 * s}, {dtype = dtype}):requires_grad_()
  local y = st.tensor({4 * s}, {dtype = dtype}):requires_grad_()
  f(x, y, s):sum():backward()
  return x.grad and x.grad:to "float64":item(), y.grad:to "float64":item()
end

describe("The gradient of", function()
  for _, row in ipairs(ROWS) do
    for dtype, sizes in pairs(SIZES) do
      for i, s in ipairs(sizes) do
        it(("%s keeps its size: %s, %s"):format(row[1], dtype,
           i == 1 and "large" or "small"), function()
          local a, b = gradients(row[2], dtype, s)
          local bound = BOUND[dtype]
          if row[3] then
            assert.is_true(math.abs(a * s / row[3] - 1) < bound, a)
          end
          assert.is_true(math.abs(b * s / row[4] - 1) < bound, b)
        end)
      end
    end
  end

  it("rsqrt and softsign too", function()
    local x = st.tensor({2 ^ -12}, {dtype = "float16"}):requires_grad_()
    local y = x:rsqrt() * 2 ^ -8 -- of which the gradient is -x^-1.5 / 2^9
    y:sum():backward()
    assert.equal(-2 ^ 9, x.grad:item())
    x = st.tensor({2 ^ -18}, {dtype = "float16"}):requires_grad_()
    x:rsqrt():backward(st.tensor({2 ^ -12}, {dtype = "float16"}))
    assert.equal(-2 ^ 14, x.grad:item())
    x = st.tensor({-1023}, {dtype = "float16"}):requires_grad_()
    y = st.softsign(x) * 2 ^ 15
    y:sum():backward()
    assert.equal(2 ^ -5, x.grad:item())
  end)

  it("norms of negative orders too", function()
    -- (n^(1/p) / |x|)^(1 - p) of n ones
    for _, row in ipairs {{64, -0.5}, {3, -0.1}, {2, -2}} do
      local n, p = row[1], row[2]
      local x = st.ones(n, {dtype = "float16"}):requires_grad_()
      x:norm(p):backward()
      local want = n ^ ((1 - p) / p)
      assert.is_true(math.abs(x.grad[1] / want - 1) < 2e-2, x.grad[1])
    end
  end)
end)
