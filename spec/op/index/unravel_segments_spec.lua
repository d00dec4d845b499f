--- unravel_index, ravel_multi_index, flatnonzero, nonzero_static,
-- empty_permuted, norm_except_dim, segment_reduce. Values without a derivation
-- are PyTorch's.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, lists, raises = tensors.f64, tensors.lists, tensors.raises

local function positions(list) return st.tensor(list, {dtype = "int64"}) end

describe("unravel_index", function()
  local function coordinates(...)
    local out = {}
    for d, t in ipairs(st.unravel_index(...)) do out[d] = lists(t) end
    return out
  end

  it("has a tensor of coordinates for each dimension", function()
    assert.same({{3, 1, 3}, {1, 2, 2}},
                coordinates(positions {5, 2, -1}, {3, 2}))
    assert.same({{{3}, {1}}}, coordinates(positions {{3}, {1}}, 4))
    assert.same({}, coordinates(positions {1, 1}, {}))
  end)

  it("is undone by ravel_multi_index", function()
    local at = st.arange(1, 25):view(4, 6)
    local back = st.ravel_multi_index(st.unravel_index(at, {2, 3, 4}),
                                      {2, 3, 4})
    assert.same(lists(at), lists(back))
  end)

  it("refuses positions that are not there", function()
    raises("unravel_index: position 7 of 6 elements; positions count from 1",
           st.unravel_index, positions {7}, {3, 2})
    raises("unravel_index: indices must have an integer dtype, not float64",
           st.unravel_index, f64 {1}, {3, 2})
    raises("unravel_index: shape must not be negative, entry 2 is -2",
           st.unravel_index, positions {1}, {3, -2})
    for _, shape in ipairs {{0, 2^62, 2^62}, {2^62, 2^62, 0}} do
      raises("unravel_index: shape is of a tensor that is too large",
             st.unravel_index, positions {}, shape)
    end
    assert.equal(2, #st.unravel_index(positions {}, {0, 2^62}))
  end)
end)

describe("ravel_multi_index", function()
  local rows, columns = positions {4, 0, 2}, positions {1, 9, 2}

  it("wraps or clips coordinates", function()
    assert.same({1, 5, 4}, lists(
      st.ravel_multi_index({rows, columns}, {3, 2}, {mode = "wrap"})))
    assert.same({5, 2, 4}, lists(
      st.ravel_multi_index({rows, columns}, {3, 2}, {mode = "clip"})))
  end)

  it("broadcasts, and refuses what does not fit", function()
    assert.same({{1, 2}, {3, 4}}, lists(st.ravel_multi_index(
      {positions {{1}, {2}}, positions {1, 2}}, {3, 2})))
    raises("ravel_multi_index: index 4 is out of range for dimension 1 with "
           .. "size 3", st.ravel_multi_index, {rows, columns}, {3, 2})
    raises("ravel_multi_index: coordinate -1 of dimension 2 is less than 1",
           st.ravel_multi_index, {positions {1}, positions {-1}}, {3, 2})
    raises("ravel_multi_index: multi_index has 1 tensors, dims has 2 entries",
           st.ravel_multi_index, {rows}, {3, 2})
    raises("ravel_multi_index: mode must be 'raise', 'wrap' or 'clip', not "
           .. "'x'", st.ravel_multi_index, {rows}, {3}, {mode = "x"})
  end)
end)

describe("Nonzero elements", function()
  local t = f64 {{0, 2}, {3, 0}}

  it("have positions in the flattened tensor", function()
    assert.same({2, 3}, lists(st.flatnonzero(t)))
    assert.same({1}, lists(st.flatnonzero(f64(7))))
  end)

  it("have a given number of rows", function()
    assert.same({{1, 2}, {2, 1}, {-1, -1}}, lists(t:nonzero_static {size = 3}))
    assert.same({{1, 2}}, lists(t:nonzero_static {size = 1, fill_value = 7}))
    assert.equal("{3, 2}",
                 tostring(t:to "meta":nonzero_static {size = 3}.shape))
    raises("nonzero_static: size must not be negative", t.nonzero_static, t,
           {size = -1})
  end)
end)

describe("empty_permuted", function()
  it("has the order of its dimensions in memory", function()
    local t = st.empty_permuted({2, 3, 4}, {1, 3, 2}, {dtype = "int8"})
    assert.equal("{12, 1, 3}", tostring(t:stride()))
    assert.equal("int8", t.dtype)
    raises("empty_permuted: physical_layout names dimension 2 twice",
           st.empty_permuted, {2, 3}, {2, -1})
    raises("empty_permuted: size has 2 entries, physical_layout has 1",
           st.empty_permuted, {2, 3}, {1})
    local many = {}
    for d = 1, 70 do many[d] = d end
    raises("empty_permuted: size has more than 64 entries", st.empty_permuted,
           many, many)
  end)
end)

describe("norm_except_dim", function()
  it("has the norm of each slice, or of all", function()
    local v = f64 {{3, 4}, {6, 8}}
    assert.same({{5}, {10}}, lists(st.norm_except_dim(v)))
    assert.same({{9, 12}}, lists(st.norm_except_dim(v, 1, 2)))
    assert.same(21, st.norm_except_dim(v, 1, -1):item())
    assert.same({3, 4}, lists(st.norm_except_dim(v[1])))
    assert.equal("float16", st.norm_except_dim(v:to "float16").dtype)
  end)
end)

describe("segment_reduce", function()
  local t = f64 {{1, 2}, {3, 4}, {5, 6}, {7, 8}}
  local inf, nan = math.huge, "nan"
  local empty = {sum = 0, mean = nan, max = -inf, min = inf, prod = 1}
  local last = {sum = {15, 18}, mean = {5, 6}, max = {7, 8}, min = {3, 4},
                prod = {105, 192}}

  it("reduces the elements of each segment, of which one is empty", function()
    for reduce, value in pairs(empty) do
      local y = st.segment_reduce(t, reduce, {lengths = positions {1, 0, 3}})
      assert.same({1, 2}, lists(y[1]))
      if value == nan then assert.is_true(y[2]:isnan():all():item())
      else assert.same({value, value}, lists(y[2])) end
      assert.same(last[reduce], lists(y[3]))
    end
  end)

  it("begins with the initial value", function()
    local at = positions {1, 2, 2, 5}
    for reduce, list in pairs {
      sum = {{4, 5}, {3, 3}, {18, 21}}, mean = {{4, 5}, {3, 3}, {6, 7}},
      max = {{3, 3}, {3, 3}, {7, 8}}, min = {{1, 2}, {3, 3}, {3, 3}},
      prod = {{3, 6}, {3, 3}, {315, 576}},
    } do
      assert.same(list, lists(st.segment_reduce(
        t, reduce, {offsets = at, initial = 3})))
    end
  end)

  it("has segments of its own for each row", function()
    local lengths = positions {{1, 1}, {2, 0}, {0, 2}, {1, 1}}
    assert.same({{1, 2}, {7, 0}, {0, 11}, {7, 8}}, lists(
      st.segment_reduce(t, "sum", {lengths = lengths, axis = 2})))
  end)

  it("leaves out what is in no segment, if unsafe", function()
    local lengths = positions {1, 0, 2}
    assert.same({{1, 2}, {0, 0}, {8, 10}}, lists(
      st.segment_reduce(t, "sum", {lengths = lengths, unsafe = true})))
    assert.same({{8, 10}, {0, 0}}, lists(st.segment_reduce(
      t, "sum", {offsets = positions {2, 4, 4}, unsafe = true})))
    raises("segment_reduce: lengths must not be negative, and their sum must "
           .. "be the size of dimension 1, 4, unless unsafe", st.segment_reduce,
           t, "sum", {lengths = lengths})
    raises("segment_reduce: offsets must ascend from 1 to 5, unless unsafe",
           st.segment_reduce, t, "sum", {offsets = positions {1, 4}})
  end)

  it("shares the gradient among the elements that are the extremum", function()
    local function gradient(list, opt)
      local x = f64(list)
      x:requires_grad_()
      st.segment_reduce(x, "max", opt):sum():backward()
      return lists(x.grad)
    end
    local lengths = positions {2, 1}
    assert.same({0, 1, 1}, gradient({2, 0 / 0, 3}, {lengths = lengths}))
    assert.same({0.5, 0.5, 1}, gradient({2, 2, 3}, {lengths = lengths}))
    assert.same({0, 0, 1}, gradient({1, 2, 3},
                                    {lengths = lengths, initial = 3}))
  end)

  it("refuses what it cannot do", function()
    local lengths = positions {4}
    raises("segment_reduce: lengths and offsets must not both be given",
           st.segment_reduce, t, "sum", {lengths = lengths, offsets = lengths})
    raises("segment_reduce: either lengths or offsets must be given",
           st.segment_reduce, t, "sum")
    raises('segment_reduce: reduce must be "sum", "mean", "max", "min" or '
           .. '"prod", not "amax"', st.segment_reduce, t, "amax",
           {lengths = lengths})
    raises("segment_reduce: data must be floating-point, not int64",
           st.segment_reduce, t:to "int64", "sum", {lengths = lengths})
    raises("segment_reduce: lengths of shape [1] must have the sizes of data, "
           .. "shape [4, 2], before dimension 2", st.segment_reduce, t, "sum",
           {lengths = lengths, axis = 2})
  end)
end)
