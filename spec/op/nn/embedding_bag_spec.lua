--- Bags of rows of a table: sums, means, maxima, their gradients, and norms of
-- rows. The numbers are those of PyTorch's 2.15.
-- axes: threads

local st = require "strided"
local tensors = require "spec.support.tensors"

local i64, live, near, raises = tensors.i64, tensors.live, tensors.near,
                                tensors.raises

local function table_of(dtype)
  return st.arange(12, {dtype = dtype or "float64"}):reshape(4, 3)
end

local AT, OFFSETS = i64 {2, 3, 4, 1, 3}, i64 {1, 3, 3}

describe("embedding_bag", function()
  local before
  setup(function() before = live() end)

  local ROWS = {
    {"sum", {{9, 11, 13}, {0, 0, 0}, {15, 18, 21}},
     {{3, 4, 5}, {0, 0, 0}, {9, 11, 13}}},
    {"mean", {{4.5, 5.5, 6.5}, {0, 0, 0}, {5, 6, 7}},
     {{3, 4, 5}, {0, 0, 0}, {4.5, 5.5, 6.5}}},
    {"max", {{6, 7, 8}, {0, 0, 0}, {9, 10, 11}},
     {{3, 4, 5}, {0, 0, 0}, {9, 10, 11}}},
  }
  for k, row in ipairs(ROWS) do
    local mode, want, padded = row[1], row[2], row[3]

    it(mode .. " of rows", function()
      for _, dtype in ipairs {"float64", "float32", "bfloat16"} do
        local w = table_of(dtype)
        local y = st.embedding_bag(w, AT, OFFSETS, {mode = mode})
        near(want, y)
        assert.equal(dtype, tostring(y.dtype))
        near(padded, st.embedding_bag(w, AT, OFFSETS,
                                      {mode = mode, padding_idx = 3}))
        near(padded, st.embedding_bag(w, AT, OFFSETS,
                                      {mode = mode, padding_idx = -2}))
        near(want, st.embedding_bag(w, AT:to "int32", i64 {1, 3, 3, 6}, {
          mode = mode, include_last_offset = true}))
      end
    end)

    it(mode .. " as ATen has it, with bags, sizes and rows", function()
      local y, bags, sizes, rows = st.embedding_bag(
        table_of(), AT, OFFSETS, false, k - 1)
      near(want, y)
      near({1, 1, 3, 3, 3}, bags)
      near({2, 0, 3}, sizes)
      if mode == "max" then near({{3, 3, 3}, {1, 1, 1}, {4, 4, 4}}, rows) end
      near(padded, (st.embedding_bag(table_of(), AT, OFFSETS, false, k - 1,
                                     false, nil, false, 3)))
    end)
  end

  it("takes the rows of a matrix as bags, the mean if not told", function()
    local at = i64 {{1, 2}, {4, 4}}
    near({{1.5, 2.5, 3.5}, {9, 10, 11}}, st.embedding_bag(table_of(), at))
    near({{6, 8, 10}, {0, 0, 0}}, st.embedding_bag(
      table_of(), at, {mode = "sum", per_sample_weights = tensors.f64 {
        {0, 2}, {1, -1}}}))
    assert.same({2, 3}, st.embedding_bag(table_of(), st.empty(2, 0):to "int64")
                :size())
    assert.same({0, 3}, st.embedding_bag(table_of(), i64 {}, i64 {}):size())
  end)

  it("divides gradients by how often a row occurs", function()
    local w = table_of():requires_grad_()
    st.embedding_bag(w, AT, OFFSETS, {mode = "sum",
                                      scale_grad_by_freq = true}):sum()
      :backward()
    near(st.ones(4, 3), w.grad)
  end)

  it("leaves out what lies behind the last offset", function()
    local w = table_of():requires_grad_()
    local y = st.embedding_bag(w, AT, i64 {1, 3}, {
      mode = "sum", include_last_offset = true})
    near({{9, 11, 13}}, y)
    y:sum():backward()
    near({{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}}, w.grad)
  end)

  it("refuses bags that are none", function()
    local w, bag = table_of(), st.embedding_bag
    raises("index 4 (counted from 0) is out of range for 4 rows", bag, w,
           i64 {5}, i64 {1})
    raises("the first bag must start at the first index, not at 1", bag, w, AT,
           i64 {2})
    raises("offsets must not fall and be at most 5, but 1 follows 2", bag, w,
           AT, i64 {1, 3, 2})
    raises("indices must be a vector with offsets, or a matrix without", bag, w,
           AT)
    raises("per_sample_weights needs the mode 'sum'", bag, w, AT, OFFSETS,
           {per_sample_weights = st.ones {5}, mode = "max"})
    raises("mode must be 'sum', 'mean' or 'max', not 'min'", bag, w, AT,
           OFFSETS, {mode = "min"})
    raises("padding_idx 5 is out of range for 4 rows", bag, w, AT, OFFSETS,
           {padding_idx = 5})
    raises("not implemented for dtype int64", bag, w:to "int64", AT, OFFSETS)
  end)

  teardown(function() assert.equal(before, live()) end)
end)

describe("max_norm", function()
  local want = {{0.6, 0.8}, {0.3, 0.4}, {6, 8}}
  local function rows() return st.tensor {{3, 4}, {0.3, 0.4}, {6, 8}} end

  it("scales the rows that are looked up", function()
    local at = i64 {1, 2, 1}
    near(want, st.embedding_renorm_(rows(), at, 1, 2), 1e-6)
    near(want, st.embedding_renorm(rows(), at, 1, 2), 1e-6)
    local w = rows():requires_grad_()
    near({want[1], want[2], want[1]},
         st.embedding(w, at, {max_norm = 1}), 1e-6)
    near(want, w, 1e-6)
    w = rows()
    near({{0.5, 2 / 3}}, st.embedding_bag(w, i64 {{1, 1}}, {
      max_norm = 7 / 6, norm_type = 1}), 1e-6)
  end)

  it("refuses negative indices before a row is written", function()
    local big = st.ones({6, 2})
    local w, at = big:narrow(1, 3, 2):fill_(9), i64 {-1, 2}
    local why = "index -1 is out of range for 2 rows"
    raises(why, st.embedding_bag, w, at, i64 {1}, {max_norm = 1})
    raises(why, st.embedding, w, at, {max_norm = 1, padding_idx = 7})
    raises(why, st.embedding, w, at)
    raises(why, st.embedding_renorm_, w, at, 1, 2)
    assert.same({1, 1, 9, 9, 1, 1}, big:select(2, 1):totable())
  end)

  it("puts the rows back if the lookup fails", function()
    local w = rows()
    raises("padding_idx 7", st.embedding, w, i64 {1}, {
      max_norm = 1, padding_idx = 7})
    assert.is_true(w:equal(rows()))
    raises("weight must be a matrix", st.embedding, st.ones(2), i64 {1},
           {max_norm = 1})
    raises("indices must hold integers, not float32", st.embedding_renorm, w,
           st.ones(2), 1, 2)
  end)

  -- torch.embedding_renorm_ of float16
  it("rounds norms and factors of half precision", function()
    local w = st.tensor({{8, 5, 7}, {4, 3, 3}}, {dtype = "float16"})
    assert.same({{0.6806640625, 0.42529296875, 0.595703125},
                 {0.68603515625, 0.5146484375, 0.5146484375}},
                st.embedding_renorm_(w, i64 {1, 2}, 1, 2):totable())
  end)
end)
