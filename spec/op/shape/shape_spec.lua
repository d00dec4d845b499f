--- Operators that move, pick and make elements: what they give.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, i64, lists = tensors.f64, tensors.i64, tensors.lists
local live, raises = tensors.live, tensors.raises

local function cube() return st.arange(16):view(2, 2, 4) end
local function wide() return i64({{1, 2, 3}, {4, 5, 6}}) end

-- sentence, call, what it gives; positions count from 1
local RESULTS = {
  {"index_copy puts slices where the positions say",
   function()
     return st.zeros(5, 2):index_copy(
       1, i64 {1, 5, 3}, st.tensor({{1, 2}, {3, 4}, {5, 6}},
                                   {dtype = "float32"}))
   end, {{1, 2}, {0, 0}, {5, 6}, {0, 0}, {3, 4}}},
  {"index_copy goes along any dimension, and takes negative positions",
   function()
     return wide():index_copy(2, i64 {3, -3}, i64({{10, 20}, {30, 40}}))
   end, {{20, 2, 10}, {40, 5, 30}}},
  {"index_copy leaves self alone",
   function()
     local t = i64 {1, 2}
     t:index_copy(1, i64 {1}, i64 {9})
     return t
   end, {1, 2}},
  {"fliplr reverses the columns", function() return wide():fliplr() end,
   {{3, 2, 1}, {6, 5, 4}}},
  {"fliplr keeps what lies in a column",
   function() return i64({{{1, 2}, {3, 4}}}):fliplr() end,
   {{{3, 4}, {1, 2}}}},
  {"flipud reverses the rows", function() return wide():flipud() end,
   {{4, 5, 6}, {1, 2, 3}}},
  {"flipud reverses a vector", function() return i64 {1, 2, 3}:flipud() end,
   {3, 2, 1}},
  {"moveaxis moves a dimension past the others",
   function() return st.arange(6):view(1, 2, 3):moveaxis(1, 3) end,
   {{{0}, {1}, {2}}, {{3}, {4}, {5}}}},
  {"moveaxis moves a dimension to the front",
   function() return st.arange(6):view(1, 2, 3):moveaxis(-1, 1) end,
   {{{0, 3}}, {{1, 4}}, {{2, 5}}}},
  {"moveaxis moves several dimensions, the rest keep their order",
   function() return cube():moveaxis({3, 1}, {1, 2}):select(1, 2) end,
   {{1, 5}, {9, 13}}},
  {"ravel lists the elements row by row",
   function() return wide():ravel() end, {1, 2, 3, 4, 5, 6}},
  {"ravel goes by indices, not by memory",
   function() return wide():t():ravel() end, {1, 4, 2, 5, 3, 6}},
  {"ravel makes a vector of a number",
   function() return i64(7):ravel() end, {7}},
  {"reshape_as takes the shape of another tensor",
   function() return wide():reshape_as(st.zeros(3, 2)) end,
   {{1, 2}, {3, 4}, {5, 6}}},
  {"reshape_as reads row by row",
   function() return wide():t():reshape_as(st.zeros(2, 3)) end,
   {{1, 4, 2}, {5, 3, 6}}},
  {"dsplit cuts dimension 3 into equal parts",
   function() return cube():dsplit(2) end,
   {{{{0, 1}, {4, 5}}, {{8, 9}, {12, 13}}},
    {{{2, 3}, {6, 7}}, {{10, 11}, {14, 15}}}}},
  {"dsplit cuts behind as many elements as it is told, past the end, too",
   function() return cube():dsplit {3, 6} end,
   {{{{0, 1, 2}, {4, 5, 6}}, {{8, 9, 10}, {12, 13, 14}}},
    {{{3}, {7}}, {{11}, {15}}}, {{{}, {}}, {{}, {}}}}},
  {"diagflat puts a vector on the diagonal of zeros",
   function() return i64 {1, 2, 3}:diagflat() end,
   {{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}},
  {"diagflat puts it above the diagonal",
   function() return i64 {1, 2}:diagflat(1) end,
   {{0, 1, 0}, {0, 0, 2}, {0, 0, 0}}},
  {"diagflat flattens a matrix, and puts it below the diagonal",
   function() return i64({{1, 2}, {3, 4}}):diagflat(-1) end,
   {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {0, 2, 0, 0, 0}, {0, 0, 3, 0, 0},
    {0, 0, 0, 4, 0}}},
  {"argwhere finds what is not zero in a vector",
   function() return i64 {1, 0, -1}:argwhere() end, {{1}, {3}}},
  {"argwhere finds it in a matrix, row by row",
   function() return f64({{0.5, 0, 1}, {0, 0 / 0, 1}}):argwhere() end,
   {{1, 1}, {1, 3}, {2, 2}, {2, 3}}},
  {"argwhere of a number has a row without indices",
   function() return i64(7):argwhere().shape end, {1, 0}},
  {"argwhere of zero has no row",
   function() return i64(0):argwhere().shape end, {0, 0}},
  {"type_as converts",
   function() return f64 {1.7, -1.7, 0}:type_as(i64 {}) end, {1, -1, 0}},
  {"type_as makes truth of numbers",
   function() return f64 {0.5, 0, -1}:type_as(st.tensor {true}) end,
   {true, false, true}},
  {"new_full is filled with the number",
   function() return i64 {1}:new_full({2, 3}, 7) end,
   {{7, 7, 7}, {7, 7, 7}}},
  {"new_full of no dimension is a number",
   function() return f64 {1}:new_full({}, 0.25) end, 0.25},
  {"new_ones is filled with one",
   function() return i64 {5}:new_ones(2, 2) end, {{1, 1}, {1, 1}}},
  {"swapaxes exchanges two dimensions",
   function() return st.arange(6):view(1, 2, 3):swapaxes(1, 3) end,
   {{{0}, {3}}, {{1}, {4}}, {{2}, {5}}}},
  {"swapaxes_ exchanges them in self",
   function() return wide():swapaxes_(-1, 1) end, {{1, 4}, {2, 5}, {3, 6}}},
  {"swapdims exchanges two dimensions",
   function() return cube():swapdims(2, 3):select(1, 2) end,
   {{8, 12}, {9, 13}, {10, 14}, {11, 15}}},
  {"swapdims_ exchanges them in self",
   function()
     local t = wide()
     t:swapdims_(1, 2)
     return t
   end, {{1, 4}, {2, 5}, {3, 6}}},
  {"atleast_1d makes a vector of a number",
   function() return i64(7):atleast_1d() end, {7}},
  {"atleast_1d leaves a matrix as it is",
   function() return wide():atleast_1d() end, {{1, 2, 3}, {4, 5, 6}}},
  {"concat joins along the first dimension",
   function() return st.concat {wide(), i64({{7, 8, 9}})} end,
   {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}},
  {"concat joins along another dimension",
   function() return st.concat({wide(), i64({{7}, {8}})}, 2) end,
   {{1, 2, 3, 7}, {4, 5, 6, 8}}},
  {"concatenate joins along the first and the last dimension",
   function()
     local t = st.concatenate {wide(), i64({{7, 8, 9}})}
     return st.concatenate({t, i64({{0}, {0}, {1}})}, -1)
   end, {{1, 2, 3, 0}, {4, 5, 6, 0}, {7, 8, 9, 1}}},
  {"row_stack puts vectors and matrices below each other",
   function() return st.row_stack {i64 {7, 8, 9}, wide()} end,
   {{7, 8, 9}, {1, 2, 3}, {4, 5, 6}}},
  {"range includes its end",
   function() return st.range(1, 4) end, {1, 2, 3, 4}},
  {"range goes by a step, also of a fraction",
   function() return st.range(-0.5, 0.5, 0.25) end,
   {-0.5, -0.25, 0, 0.25, 0.5}},
  {"range goes down, and not past its end",
   function() return st.range(5, 2, -2) end, {5, 3}},
  {"resize_as_ takes the shape of another tensor, and keeps elements",
   function() return wide():resize_as_(st.zeros(2, 2)) end, {{1, 2}, {3, 4}}},
  {"is_same_size compares shapes, not dtypes",
   function()
     return {wide():is_same_size(st.zeros(2, 3)),
             wide():is_same_size(st.zeros(3, 2)),
             wide():is_same_size(st.zeros(2, 3, 1)),
             i64(1):is_same_size(st.zeros {})}
   end, {true, false, false, true}},
  {"view_as_complex pairs the last dimension: real parts",
   function() return st.view_as_complex(f64({{1, 2}, {3, -4}})):real() end,
   {1, 3}},
  {"view_as_complex pairs the last dimension: imaginary parts",
   function() return st.view_as_complex(f64({{1, 2}, {3, -4}})):imag() end,
   {2, -4}},
  {"new_empty has a shape",
   function() return i64 {1}:new_empty(2, 3).shape end, {2, 3}},
  {"new_empty_strided has strides",
   function()
     local t = i64 {1}:new_empty_strided({2, 3}, {1, 2})
     return {t.shape, t:stride()}
   end, {{2, 3}, {1, 2}}},
}

-- sentence, call, the dtype of what it gives
local DTYPES = {
  {"type_as", function() return f64 {1}:type_as(st.zeros(1)) end, "float32"},
  {"index_copy", function()
    return f64 {1}:index_copy(1, i64 {1}, f64 {2})
  end, "float64"},
  {"new_full", function() return f64 {1}:new_full({1}, 3) end, "float64"},
  {"new_full with dtype=", function()
    return f64 {1}:new_full({1}, 3, {dtype = "int8"})
  end, "int8"},
  {"new_ones", function() return i64 {1}:new_ones {1} end, "int64"},
  {"new_ones with dtype=", function()
    return i64 {1}:new_ones({1}, {dtype = "float16"})
  end, "float16"},
  {"diagflat", function() return i64 {1}:diagflat() end, "int64"},
  {"new_empty", function() return f64 {1}:new_empty(1) end, "float64"},
  {"new_empty with dtype=", function()
    return f64 {1}:new_empty({1}, {dtype = "int8"})
  end, "int8"},
  {"new_empty_strided", function()
    return i64 {1}:new_empty_strided({1}, {1})
  end, "int64"},
  {"concat of integers and floats", function()
    return st.concat {i64 {1}, st.zeros(1)}
  end, "float32"},
  {"range of integers", function() return st.range(1, 3) end, "int64"},
  {"range of a fraction", function() return st.range(1, 3, 0.5) end,
   "float32"},
  {"view_as_complex", function()
    return st.view_as_complex(st.zeros(2))
  end, "complex64"},
  {"argwhere", function() return f64 {1}:argwhere() end, "int64"},
}

-- call, texts of the message
local WRONG = {
  {function() wide():index_copy(1, i64 {1}, i64({{1, 2, 3}, {4, 5, 6}})) end,
   {"index_copy: ", "[2, 3]", "1 slices"}},
  {function() wide():index_copy(1, i64 {3}, i64({{1, 2, 3}})) end,
   {"index_copy: ", "index 3", "dimension 1", "size 2"}},
  {function() i64 {1}:fliplr() end, {"fliplr: ", "2 dimensions", "[1]"}},
  {function() i64(1):flipud() end, {"flipud: ", "1 dimension", "[]"}},
  {function() cube():moveaxis({1}, {1, 2}) end, {"moveaxis: ", "1 dim", "2"}},
  {function() wide():reshape_as(st.zeros(4)) end,
   {"reshape_as: ", "[4]", "6 elements"}},
  {function() cube():dsplit(3) end, {"dsplit: ", "[2, 2, 4]", "3 equal"}},
  {function() wide():dsplit(1) end, {"dsplit: ", "3 dimensions", "[2, 3]"}},
  {function() st.zeros(1, {dtype = "uint8"}):new_full({1}, 1000) end,
   {"new_full: ", "1000", "uint8"}},
  {function() st.view_as_complex(st.zeros(3)) end,
   {"view_as_complex: ", "[3]"}},
  {function() st.view_as_complex(i64 {1, 2}) end,
   {"view_as_complex: ", "int64"}},
  {function() st.range(1, 4, 0) end, {"range: ", "step"}},
  {function() st.range(4, 1) end, {"range: ", "4", "1", "step"}},
  {function() wide():swapaxes(1, 3) end,
   {"swapaxes: ", "dimension 3", "2 dimensions"}},
  {function() st.row_stack {i64 {1, 2}, i64 {1, 2, 3}} end,
   {"row_stack: ", "[1, 3]"}},
}

describe("What moves, picks and makes elements:", function()
  local before
  setup(function() before = live() end)

  for _, row in ipairs(RESULTS) do
    it(row[1], function() assert.same(row[3], lists(row[2]())) end)
  end

  for _, row in ipairs(DTYPES) do
    it(("the dtype of %s is %s"):format(row[1], row[3]), function()
      assert.equal(row[3], tostring(row[2]().dtype))
    end)
  end

  it("ravel and reshape_as copy only what is not in order", function()
    local t = wide()
    assert.is_true(t:ravel():is_alias_of(t))
    assert.is_true(t:reshape_as(st.zeros(6)):is_alias_of(t))
    assert.is_false(t:t():ravel():is_alias_of(t))
  end)

  it("swapaxes, swapdims, atleast_1d and view_as_complex give views",
     function()
    local t = st.zeros(2, 2)
    t:swapaxes(1, 2)[{1, 2}] = 1
    t:swapdims(1, 2)[{2, 2}] = 2
    t:atleast_1d()[{1, 1}] = 3
    assert.same({{3, 0}, {1, 2}}, lists(t))
    st.view_as_complex(t):mul_(2)
    assert.same({{6, 0}, {2, 4}}, lists(t))
  end)

  it("moveaxis and dsplit give views", function()
    local t = cube()
    t:moveaxis(1, 3):fill_(1)
    t:dsplit(2)[2]:fill_(5)
    assert.same({{{1, 1, 5, 5}, {1, 1, 5, 5}}, {{1, 1, 5, 5}, {1, 1, 5, 5}}},
                lists(t))
  end)

  it("fliplr, flipud and new_ones give tensors of their own", function()
    local t = wide()
    for _, name in ipairs {"fliplr", "flipud"} do
      assert.is_false(t[name](t):is_alias_of(t))
    end
    assert.is_false(t:new_ones(1):is_alias_of(t))
  end)

  it("index_copy_ writes into self", function()
    local t = wide()
    assert.equal(t, t:index_copy_(1, i64 {2}, i64({{7, 8, 9}})))
    assert.same({{1, 2, 3}, {7, 8, 9}}, lists(t))
  end)

  for i, row in ipairs(WRONG) do
    it("what does not fit is refused, row " .. i, function()
      raises(row[2], row[1])
    end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
