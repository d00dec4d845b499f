--- Vectors as sets, digitize, lexsort. Values without a derivation are NumPy's.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, lists, raises = tensors.f64, tensors.lists, tensors.raises

describe("Sets", function()
  local a, b = f64 {3, -4, 0, 3, 1}, f64 {{1, 5}, {3, 3}}
  local none = st.zeros({0}, {dtype = "float64"})

  it("have sorted results without repetitions", function()
    assert.same({-4, 0, 1, 3, 5}, lists(st.union1d(a, b)))
    assert.same({1, 3}, lists((st.intersect1d(a, b))))
    assert.same({-4, 0}, lists(st.setdiff1d(a, b)))
    assert.same({5}, lists(st.setdiff1d(b, a)))
    assert.same({-4, 0, 5}, lists(st.setxor1d(a, b)))
  end)

  it("may be empty", function()
    assert.same({-4, 0, 1, 3}, lists(st.union1d(a, none)))
    assert.same({-4, 0, 1, 3}, lists(st.setxor1d(none, a)))
    assert.same({7}, lists(st.setxor1d(none, f64 {7})))
    assert.same({}, lists((st.intersect1d(none, none))))
    assert.same({}, lists(st.setdiff1d(none, a)))
  end)

  it("tell where the common elements are first", function()
    local values, i, j = st.intersect1d(a, b, {return_indices = true})
    assert.same({1, 3}, lists(values))
    assert.same({{5, 1}, {1, 3}}, {lists(i), lists(j)})
    values, i, j = st.intersect1d(f64 {3, 1}, f64 {1, 2, 3}, true, true)
    assert.same({{1, 3}, {2, 1}, {1, 3}}, {lists(values), lists(i), lists(j)})
  end)

  it("have at most one NaN, which is not that of the other", function()
    local nan = 0 / 0
    local x, y = f64 {nan, 1, nan}, f64 {nan, 2}
    local function text(t) return (tostring(t:nan_to_num(9)):gsub("%s", "")) end
    assert.equal(text(f64 {1, 2, 9}), text(st.union1d(x, y)))
    assert.equal(text(f64 {1, 9}), text(st.setdiff1d(x, y)))
    assert.equal(text(f64 {1, 2, 9, 9}), text(st.setxor1d(x, y)))
    assert.equal(0, (st.intersect1d(x, y)):numel())
  end)

  it("may be of booleans", function()
    local x = st.tensor {true, false, true}
    assert.same({false}, lists(st.setdiff1d(x, st.tensor {true})))
  end)

  it("have the dtype of both", function()
    assert.equal("float64", st.union1d(st.tensor {1}, a).dtype)
  end)
end)

describe("digitize", function()
  local x = f64 {0.5, 1, 2, 4}

  it("counts bins from 1, with the lower or the upper edge", function()
    assert.same({1, 2, 3, 4}, lists(st.digitize(x, f64 {1, 2, 3})))
    assert.same({1, 1, 2, 4}, lists(st.digitize(x, f64 {1, 2, 3}, true)))
  end)

  it("takes edges that descend", function()
    assert.same({4, 3, 2, 1}, lists(st.digitize(x, f64 {3, 2, 1})))
    assert.same({4, 4, 3, 1}, lists(st.digitize(x, f64 {3, 2, 1}, true)))
  end)

  it("takes NaN behind all other edges", function()
    local nan = 0 / 0
    assert.same({2, 3, 4}, lists(st.digitize(f64 {1, 5, nan}, f64 {1, 2, nan})))
  end)

  it("refuses edges that do neither", function()
    raises("digitize: bins must ascend or descend", st.digitize, x,
           f64 {1, 3, 2})
    raises("digitize: bins must be a vector, its shape is [1, 1]", st.digitize,
           x, f64 {{1}})
  end)
end)

describe("lexsort", function()
  local names, ages = f64 {2, 1, 2, 1}, f64 {30, 40, 20, 40}

  it("sorts by the last key first, and is stable", function()
    assert.same({2, 4, 3, 1}, lists(st.lexsort {ages, names}))
    assert.same({3, 1, 2, 4}, lists(st.lexsort {names, ages}))
    assert.same({2, 4, 3, 1}, lists(st.lexsort(st.stack {ages, names})))
  end)

  it("sorts along a dimension", function()
    local keys = {f64 {{2, 1}, {1, 1}}, f64 {{5, 6}, {5, 5}}}
    assert.same({{2, 2}, {1, 1}}, lists(st.lexsort(keys, 1)))
  end)

  it("needs keys of one shape", function()
    raises("lexsort: keys must not be empty", st.lexsort, {})
    raises("lexsort: keys must have at least 1 dimension", st.lexsort,
           st.tensor(1))
    raises("lexsort: keys must have at least 1 dimension", st.lexsort,
           {st.tensor(1)})
    raises("lexsort: keys must have the same shape, not [4] and [2]",
           st.lexsort, {ages, f64 {1, 2}})
  end)
end)
