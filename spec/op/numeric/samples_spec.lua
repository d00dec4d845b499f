--- Functions of samples: polynomials, convolve, correlate, unwrap, interp.
-- Values without a derivation are NumPy's.
-- axes: isa

local lapack = require "spec.support.lapack"
local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, lists, raises = tensors.f64, tensors.lists, tensors.raises

--- The largest difference to a list of numbers.
local function error_of(list, t)
  return (t - f64(list)):abs():max():item()
end

local function near(list, t)
  assert.same(f64(list).shape, t.shape)
  assert.is_true(error_of(list, t) < 1e-9)
end

describe("polyval", function()
  it("has the highest power first", function()
    assert.same({76, 7.75, 1},
                lists(st.polyval(f64 {3, 0, 1}, f64 {5, -1.5, 0})))
    assert.same({{2, 2}}, lists(st.polyval(f64 {2}, f64 {{1, 7}})))
    assert.same({0, 0}, lists(st.polyval(f64 {}, f64 {1, 7})))
  end)

  it("has the dtype of both", function()
    local y = st.polyval(st.tensor({1, 2}, {dtype = "int64"}), f64 {0.5})
    assert.same("float64", y.dtype)
    assert.same({2.5}, lists(y))
  end)

  it("needs a vector", function()
    raises("polyval: p must be a vector, its shape is [1, 2]", st.polyval,
           f64 {{1, 2}}, f64 {1})
  end)
end)

describe("polyfit", function()
  local x = f64 {-1, 0, 0.5, 2, 3}

  it("finds the polynomial that goes through the points", function()
    local p = f64 {2, -1, 0.5, 3}
    near({2, -1, 0.5, 3}, st.polyfit(x, st.polyval(p, x), 3))
  end)

  it("fits columns, with weights", function()
    local t = f64 {0, 1, 2, 3}
    local y = f64 {{0, 1}, {1, 1}, {4, 1}, {9, 1}}
    near({{1, 0}, {0, 0}, {0, 1}}, st.polyfit(t, y, 2))
    -- sum w^2 y / sum w^2
    near({2.6}, st.polyfit(f64 {5, 6}, f64 {1, 3}, 0, {w = f64 {1, 2}}))
  end)

  it("refuses what does not fit", function()
    raises("polyfit: y of shape [2] must be a vector or a matrix with a row "
           .. "for each element of x, shape [5]", st.polyfit, x, f64 {1, 2}, 1)
    raises("polyfit: deg must not be negative, it is -1", st.polyfit, x, x, -1)
    raises("polyfit: w of shape [1] must have a weight for each element of x, "
           .. "shape [5]", st.polyfit, x, x, 1, {w = f64 {1}})
  end)
end)

describe("Polynomials", function()
  local p, q = f64 {1, -2, 3}, f64 {2, 5}

  it("are added, subtracted and multiplied", function()
    assert.same({1, 0, 8}, lists(st.polyadd(p, q)))
    assert.same({-1, 4, 2}, lists(st.polysub(q, p)))
    assert.same({2, 1, -4, 15}, lists(st.polymul(p, q)))
    local none = st.zeros({0}, {dtype = "float64"})
    assert.same({2}, lists(st.polymul(f64 {0, 0, 1}, f64 {0, 2})))
    assert.same({0, 0}, lists(st.polymul(f64 {0, 0}, f64 {1, 2})))
    assert.same({0, 0, 0}, lists(st.polymul(f64 {1, 2, 3}, none)))
  end)

  it("have derivatives and integrals", function()
    assert.same({2, -2}, lists(st.polyder(p)))
    assert.same({2}, lists(st.polyder(p, 2)))
    assert.same({}, lists(st.polyder(p, 3)))
    assert.same({1, 5, 0}, lists(st.polyint(q)))
    assert.same({1, 5, 7}, lists(st.polyint(q, 1, 7)))
    assert.same({1, 1, 1, 2}, lists(st.polyint(f64 {6, 2}, 2, {1, 2})))
    raises("polyder: m must be from 0 to 1024, it is -1", st.polyder, p, -1)
    raises("polyint: k must have 1 or m = 3 constants, not 2", st.polyint, p, 3,
           {1, 2})
  end)

  local _it = lapack.it_of("roots", it, pending)
  _it("have roots, also at 0", function()
    local three = st.roots(f64 {0, 1, -6, 11, -6})
    assert.equal("complex128", three.dtype)
    near({1, 2, 3}, three:real():sort())
    near({0, 0, 0}, three:imag())
    near({-1, 0, 1}, st.roots(f64 {1, 0, 1, 0}):imag():sort())
    near({0, 0}, st.roots(f64 {5, 0, 0}):real())
    assert.same({0}, {st.roots(f64 {5}):numel()})
    assert.same({0}, {st.roots(f64 {0, 0}):numel()})
    assert.equal("complex64", st.roots(st.tensor {1, 2}).dtype)
  end)
end)

describe("correlate", function()
  local a, v = f64 {1, 2, 3, 4}, f64 {1, 0, 2}

  it("has the modes of NumPy, and either vector may be longer", function()
    assert.same({7, 10}, lists(st.correlate(a, v)))
    assert.same({4, 7, 10, 3}, lists(st.correlate(a, v, "same")))
    assert.same({2, 4, 7, 10, 3, 4}, lists(st.correlate(a, v, "full")))
    assert.same({3, 10, 7, 4}, lists(st.correlate(v, a, "same")))
  end)

  it("conjugates the second vector", function()
    local i = st.tensor {st.complex(0, 1)}
    local y = st.correlate(st.tensor {st.complex(1, 2), 3}, i)
    assert.same({{2, 0}, {-1, -3}}, {lists(y:real()), lists(y:imag())})
  end)
end)

describe("convolve", function()
  local a, v = f64 {1, 2, 3, 4, 5.5}, f64 {0.5, 1, -2}

  it("has the modes of NumPy, and either vector may be longer", function()
    for mode, list in pairs {full = {0.5, 2, 1.5, 1, 0.75, -2.5, -11},
                             same = {2, 1.5, 1, 0.75, -2.5},
                             valid = {1.5, 1, 0.75}} do
      assert.same(list, lists(st.convolve(a, v, mode)))
      assert.same(list, lists(st.convolve(v, a, mode)))
    end
    assert.same({4, 10, 20, 30.5, 35},
                lists(st.convolve(a, f64 {1, 2, 3, 4}, "same")))
  end)

  it("multiplies polynomials of integers", function()
    local p = st.tensor({1, 2, 3}, {dtype = "int64"})
    local y = st.convolve(p, st.tensor({0, 1, 5}, {dtype = "int64"}))
    assert.same("int64", y.dtype)
    assert.same({0, 1, 7, 13, 15}, lists(y))
  end)

  it("refuses other modes and shapes", function()
    raises("convolve: mode must be 'full', 'same' or 'valid', not 'all'",
           st.convolve, a, v, "all")
    raises("convolve: v must be a vector that is not empty, its shape is [0]",
           st.convolve, a, f64 {})
  end)
end)

describe("unwrap", function()
  it("removes jumps of more than half a period", function()
    local steps = f64 {0, 2, 4, 6, 8, 10, 12}
    local angles = st.remainder(steps + math.pi, 2 * math.pi) - math.pi
    near({0, 2, 4, 6, 8, 10, 12}, st.unwrap(angles))
    local t = f64 {{1, 2, 3, 4, 1, 2, 3}, {0, 3, 0, 3, 0, 3, 0}}
    local out = {{1, 2, 3, 4, 5, 6, 7}, {0, -1, 0, -1, 0, -1, 0}}
    assert.same(out, lists(st.unwrap(t, {period = 4})))
    assert.same(out, lists(st.unwrap(t:t(), {period = 4, dim = 1}):t()))
  end)

  it("keeps jumps below discont, and single elements", function()
    near({0, 4, 8, 7.28318530718}, st.unwrap(f64 {0, 4, 8, 1}, 5))
    assert.same({7}, lists(st.unwrap(f64 {7})))
    assert.same(7, st.unwrap(f64(7)):item())
    -- a step of half a period keeps its sign
    assert.same({0, 2, 0}, lists(st.unwrap(f64 {0, 2, 0}, {period = 4})))
  end)

  it("refuses a period that is none", function()
    raises("unwrap: period must be positive and finite, it is 0", st.unwrap,
           f64 {1, 2}, {period = 0})
  end)
end)

describe("interp", function()
  local xp, fp = f64 {1, 2, 4, 7}, f64 {3, 2, 0, 1.1}

  it("is linear between points and exact at them", function()
    near({3, 3, 2.5, 2, 0.7, 0, 1.06333333333, 1.1, 1.1},
         st.interp(f64 {0, 1, 1.5, 2, 3.3, 4, 6.9, 7, 8}, xp, fp))
    assert.same({3, 2, 0, 1.1}, lists(st.interp(xp, xp, fp)))
    assert.is_true(st.interp(f64 {0 / 0}, xp, fp):isnan():item())
  end)

  it("has left and right of the points what is given", function()
    near({{-1, 2.5}, {1.1, -2}},
         st.interp(f64 {{0, 1.5}, {7, 9}}, xp, fp, {left = -1, right = -2}))
    assert.same({5, 5, 5}, lists(st.interp(f64 {0, 1, 2}, f64 {1}, f64 {5})))
  end)

  it("needs a value for each point", function()
    raises("interp: fp of shape [1] must have a value for each element of xp, "
           .. "shape [4]", st.interp, xp, xp, f64 {1})
  end)
end)
