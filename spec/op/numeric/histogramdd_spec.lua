--- histogram and histogramdd: bins, their edges, weights and densities.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, lists = tensors.f64, tensors.lists
local live, raises = tensors.live, tensors.raises

local POINTS = {{0, 0}, {1, 3}, {2, 4}, {0.5, 4}, {0 / 0, 1}}

describe("histogram", function()
  local before
  setup(function() before = live() end)

  it("has equal bins over all elements, the last edge in the last", function()
    local hist, edges = st.histogram(f64 {0, 1, 2, 3, 4, 4}, 4)
    assert.same({1, 1, 1, 3}, lists(hist))
    assert.same({0, 1, 2, 3, 4}, lists(edges))
  end)

  it("leaves out what is outside of a range, and NaN", function()
    local x = f64 {-1, 0, 0.5, 2, 2.01, 0 / 0}
    local hist, edges = x:histogram(2, {range = {0, 2}})
    assert.same({2, 1}, lists(hist))
    assert.same({0, 1, 2}, lists(edges))
  end)

  it("adds weights, between any edges", function()
    local hist, edges = st.histogram(f64 {{0, 1}, {2, 9}}, f64 {0, 0.5, 9},
                                     {weight = f64 {{1, 2}, {3, 4}}})
    assert.same({1, 9}, lists(hist))
    assert.same({0, 0.5, 9}, lists(edges))
  end)

  it("has a density whose integral is 1", function()
    local hist = st.histogram(f64 {0, 1, 2, 8}, f64 {0, 2, 8},
                              {density = true})
    assert.same({2 / 4 / 2, 2 / 4 / 6}, lists(hist))
  end)

  it("has a range of its own without elements, or with one", function()
    assert.same({0, 0.5, 1}, lists((select(2, f64 {}:histogram(2)))))
    local hist, edges = f64 {3, 3}:histogram(2)
    assert.same({0, 2}, lists(hist))
    assert.same({2.5, 3, 3.5}, lists(edges))
  end)

  it("leaves nothing behind", function() assert.is_true(live() <= before) end)
end)

describe("histogramdd", function()
  it("counts points by all their coordinates", function()
    local x = f64(POINTS):narrow(1, 1, 4)
    local hist, edges = st.histogramdd(x, {2, 4})
    assert.same({{1, 0, 0, 1}, {0, 0, 0, 2}}, lists(hist))
    assert.same({0, 1, 2}, lists(edges[1]))
    assert.same({0, 1, 2, 3, 4}, lists(edges[2]))
    assert.is_true(hist.equal((st.histogramdd(x, 2)),
                              (st.histogramdd(x, {2, 2}))))
  end)

  it("leaves out a point with one coordinate outside", function()
    local hist = st.histogramdd(f64(POINTS), {1, 2},
                                {range = {0, 3, 0.5, 4.5}})
    assert.same({{0, 3}}, lists(hist))
    hist = st.histogramdd(f64(POINTS), {f64 {0, 1}, f64 {3, 4}})
    assert.same({{2}}, lists(hist))
  end)

  it("has weights and a density", function()
    local edges = {f64 {0, 1, 3}, f64 {0, 2}}
    local hist = st.histogramdd(f64 {{0, 0}, {3, 1}}, edges,
                                {weight = f64 {1, 3}, density = true})
    assert.same({{0.25 / 2}, {0.75 / 4}}, lists(hist))
  end)

  it("refuses what does not match", function()
    local x = f64(POINTS):narrow(1, 1, 4)
    raises("bins has 3 entries for points of 2 coordinates",
           function() st.histogramdd(x, {1, 2, 3}) end)
    raises("bins must be positive, got 0",
           function() st.histogramdd(x, {1, 0}) end)
    raises("range must have 4 entries, two for each coordinate, not 2",
           function() st.histogramdd(x, {1, 1}, {range = {0, 1}}) end)
    raises("the range from 1 to 0 goes backwards",
           function() st.histogram(x, 2, {range = {1, 0}}) end)
    raises("is not finite", function() st.histogram(f64(POINTS), 2) end)
    raises("weight has shape [2], which does not match self of shape [4, 2]",
           function() st.histogramdd(x, {1, 1}, {weight = f64 {1, 2}}) end)
    raises("bins must have self's dtype float64, not float32",
           function() st.histogram(x, st.ones(2)) end)
    raises("self must hold points of 1 to 64 coordinates",
           function() st.histogramdd(f64 {1, 2}, {1}) end)
    raises("there are too many bins",
           function() st.histogramdd(st.zeros(1, 4), 65536) end)
  end)
end)
