--- Pieces of tensors side by side, and elements at indices where a mask is
-- true. The tables are PyTorch 2.15's answers.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, i64, kinds = tensors.f64, tensors.i64, tensors.kinds
local raises = tensors.raises

local function lists(t) return t:to "float64":totable() end

describe("Masked indices and pieces:", function()
  local before
  setup(function() before = kinds() end)

  it("indices where the mask is false may be out of range", function()
    local x = st.arange(12):to "float64":reshape(3, 4)
    local mask = st.tensor {true, false, true}
    assert.same({3, -7, 11}, lists(st._unsafe_masked_index(
      x, mask, {i64 {1, 2, 3}, i64 {4, 99, 10}}, -7)))
    assert.same({{3, 6, 9}, {-7, -7, -7}}, lists(st._unsafe_masked_index(
      x, st.tensor {{true}, {false}}, {i64 {1, 2, 3}, i64 {4, 3, 2}}, -7)))
    assert.same({2.5, 2.5}, lists(st._unsafe_masked_index(
      x:narrow(1, 1, 0), st.tensor {false, true}, {i64 {1, 2}, i64 {4, 3}},
      2.5)))
    assert.same({{0, 1, 2, 403}, {4, 5, 6, 7}, {8, 9, 10, 11}},
                lists(st._unsafe_masked_index_put_accumulate(
                  x, mask, {i64 {1, 2, 1}, i64 {4, 201, 4}},
                  f64 {100, 200, 300})))
    raises({"_unsafe_masked_index", "int32 or int64", "bool"},
           st._unsafe_masked_index, x, mask, {mask}, 0)
    raises({"_unsafe_masked_index", "no 3 dimensions"},
           st._unsafe_masked_index, x, mask,
           {i64 {1}, i64 {1}, i64 {1}}, 0)
  end)

  it("rows of several tensors are joined", function()
    local a, b = st.arange(4):reshape(4, 1), st.arange(6):reshape(3, 2)
    assert.same({{0, 1, 0, 1, 2, 3}, {2, 3, 4, 5, 0, 0}},
                lists(st._chunk_cat({a, b}, 1, 2)))
    assert.same({{0, 1}, {2, 3}, {0, 0}},
                lists(st._chunk_cat({a:flatten()}, -1, 3)))
    assert.same({{{0, 1, 0}, {2, 3, 1}, {0, 0, 2}},
                 {{4, 5, 3}, {6, 7, 4}, {0, 0, 5}}},
                lists(st._chunk_cat({st.arange(8):reshape(2, 4),
                                     st.arange(6):reshape(2, 3)}, -1, 3)))
    local ones = {}
    for d = 1, 64 do ones[d] = 1 end
    raises({"_chunk_cat", "65 dimensions"}, st._chunk_cat, {st.ones(ones)},
           64, 1)
    raises({"_chunk_cat", "empty"}, st._chunk_cat, {}, 1, 2)
    raises({"_chunk_cat", "positive"}, st._chunk_cat, {a}, 1, 0)
    raises({"_chunk_cat", "number 2", "dtype"}, st._chunk_cat,
           {a, b:to "float64"}, 1, 2)
    raises({"_chunk_cat", "number 2", "[3, 2]"}, st._chunk_cat, {a, b}, 2, 2)
  end)

  teardown(function() assert.same(before, kinds()) end)
end)
