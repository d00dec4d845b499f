--- Norms of elements whose powers leave the range of doubles: the norm itself
-- is a number.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local inf, nan = math.huge, 0 / 0

local f64, live, near = tensors.f64, tensors.live, tensors.elements_near

--- elements, power, norm
local ROWS = {
  {{3e160, 4e160}, 2, 5e160}, {{3e-170, 4e-170}, 2, 5e-170},
  {{3e-320, 4e-320}, 2, 5e-320}, {{1e160, 0, 1e-160}, 2, 1e160},
  {{2e150, 2e150}, 3, 2 ^ (1 / 3) * 2e150}, {{1e-200, 0}, 2.5, 1e-200},
  {{1e160, 1e160}, -2, 1e160 / 2 ^ 0.5}, {{3e-160}, -4, 3e-160},
  {{0, 1e-160}, -2, 0}, {{0, 0}, 2, 0}, {{inf, 1}, 2, inf}, {{-inf}, -2, inf},
  {{1e308, 1e308, 1e308, 1e308}, 2, inf}, {{1e200, nan}, 2, nan},
}

describe("A norm", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  it("is right where the sum of powers over- or underflows", function()
    for _, row in ipairs(ROWS) do
      local x, p, want = f64(row[1]), row[2], {row[3]}
      near(st.linalg.vector_norm(x, p, {1}, true), want, 1e-15)
      near(st.norm(-x, p), want, 1e-15)
      near(st.norm(x:to "complex128", p), want, 1e-15)
    end
    near(st.linalg.matrix_norm(f64 {{1e160, 1e160}, {1e160, 1e160}}), {2e160},
         1e-15)
  end)

  it("of floats is so for any power", function()
    for _, x in ipairs {1e38, 1e-38} do
      local t = st.tensor {x, x}
      near(st.norm(t, 10), {2 ^ 0.1 * x}, 1e-6)
    end
  end)

  it("keeps its bits beside such norms", function()
    st.manual_seed(3)
    local x = st.randn({5, 40}, {dtype = "float64"})
    for _, p in ipairs {2, 3.5, -1.5} do
      local want = st.linalg.vector_norm(x, p, 2)
      local y = st.cat {x, f64 {{1e200}, {0}, {1e-200}}:expand(3, 40)}
      local got = st.linalg.vector_norm(y, p, 2)
      assert.is_true(got:narrow(1, 1, 5):equal(want))
      near(got:narrow(1, 6, 3), {1e200 * 40 ^ (1 / p), 0,
                                 1e-200 * 40 ^ (1 / p)}, 1e-11)
      local out = st.zeros({16}, {dtype = "float64"}):as_strided({8}, {2})
      st.linalg.vector_norm(y, p, {2}, {out = out})
      assert.is_true(out:equal(got))
    end
  end)
end)
