--- Numerical work: slopes, covariances, products of vectors, combinations,
-- searching, different slices.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local nan, inf = 0 / 0, math.huge

local f64, i64 = tensors.f64, tensors.i64
local lists, live, near = tensors.lists, tensors.live, tensors.near
local raises = tensors.raises

local SQUARES = {{1, 4, 9, 16}, {0, 2, 4, 6}}

-- sentence, call, what it gives
local RESULTS = {
  -- gradient
  {"gradient is central inside and one-sided at the ends",
   function() return st.gradient(f64 {1, 4, 9, 16}) end, {{3, 4, 6, 7}}},
  {"gradient is quadratic at the ends, too, if it is told",
   function() return st.gradient(f64 {1, 4, 9, 16}, {edge_order = 2}) end,
   {{2, 4, 6, 8}}},
  {"gradient goes along all dimensions",
   function() return st.gradient(f64(SQUARES)) end,
   {{{-1, -2, -5, -10}, {-1, -2, -5, -10}}, {{3, 4, 6, 7}, {2, 2, 2, 2}}}},
  {"gradient divides by the spacing, along one dimension",
   function() return st.gradient(f64(SQUARES), {spacing = 2, dim = 2}) end,
   {{{1.5, 2, 3, 3.5}, {1, 1, 1, 1}}}},
  {"gradient takes a spacing for each dimension, in the order listed",
   function()
     return st.gradient(f64(SQUARES), {spacing = {2, 10}, dim = {2, 1}})
   end, {{{1.5, 2, 3, 3.5}, {1, 1, 1, 1}},
         {{-0.1, -0.2, -0.5, -1}, {-0.1, -0.2, -0.5, -1}}}},
  {"gradient takes coordinates, and is exact for squares of them",
   function()
     return st.gradient(f64 {0, 1, 9, 16, 36}, {
       spacing = {f64 {0, 1, 3, 4, 6}}, edge_order = 2})
   end, {{0, 2, 6, 8, 12}}},
  {"gradient with coordinates is one-sided at the ends",
   function()
     return st.gradient(f64 {0, 1, 9}, {spacing = {f64 {0, 1, 3}}})
   end, {{1, 2, 4}}},
  {"gradient of integers is a float",
   function() return st.gradient(i64 {1, 2, 4}) end, {{1, 1.5, 2}}},
  {"trapz is trapezoid",
   function() return st.trapz(f64 {1, 2, 4}) end, 4.5},
  {"trapz takes points",
   function() return st.trapz(f64 {1, 2, 4}, f64 {0, 2, 3}) end, 6},

  -- cov, corrcoef
  {"cov is that of rows",
   function() return st.cov(f64({{1, 2, 3}, {6, 4, 2}})) end,
   {{1, -2}, {-2, 4}}},
  {"cov without correction divides by the count",
   function() return st.cov(f64 {1, 3}, {correction = 0}) end, 1},
  {"cov repeats observations as fweights says",
   function()
     return st.cov(f64({{1, 2}, {3, 5}}), {fweights = i64 {1, 2}})
   end, lists(st.cov(f64({{1, 2, 2}, {3, 5, 5}})))},
  {"cov weighs observations by aweights",
   function()
     return st.cov(f64 {1, 2, 4}, {aweights = f64 {1, 1, 2}})
   end, 2.7},
  {"cov of one observation is NaN",
   function() return st.cov(f64({{1}, {2}})) end,
   {{"nan", "nan"}, {"nan", "nan"}}},
  {"corrcoef is 1 or -1 for lines",
   function() return st.corrcoef(f64({{1, 2, 3}, {6, 4, 2}})) end,
   {{1, -1}, {-1, 1}}},
  {"corrcoef of one row is 1",
   function() return st.corrcoef(f64 {1, 2, 5}) end, 1},

  -- vectors
  {"cross is perpendicular",
   function() return st.cross(f64 {1, 2, 3}, f64 {4, 5, 6}) end,
   {-3, 6, -3}},
  {"cross looks for a dimension of size 3",
   function()
     return st.cross(f64({{1, 0}, {0, 1}, {0, 0}}),
                     f64({{0, 0}, {1, 0}, {0, 1}}))
   end, {{0, 1}, {0, 0}, {1, 0}}},
  {"linalg_cross takes the last one, and broadcasts",
   function()
     return st.linalg_cross(f64({{1, 0, 0}, {0, 1, 0}}), f64({{0, 0, 1}}))
   end, {{0, -1, 0}, {1, 0, 0}}},
  {"renorm cuts what is too long",
   function() return st.renorm(f64({{3, 4}, {0.3, 0.4}}), 1, 1, 7) end,
   {{3, 4}, {0.3, 0.4}}},
  {"renorm of zeros is zeros",
   function() return st.renorm(f64({{0, 0}, {0, 0}}), 2, 1, 0) end,
   {{0, 0}, {0, 0}}},

  -- combinations
  {"combinations go in order",
   function() return st.combinations(i64 {5, 6, 7, 8}, 3) end,
   {{5, 6, 7}, {5, 6, 8}, {5, 7, 8}, {6, 7, 8}}},
  {"combinations repeat elements if they are told",
   function() return st.combinations(i64 {5, 6}, 3, true) end,
   {{5, 5, 5}, {5, 5, 6}, {5, 6, 6}, {6, 6, 6}}},
  {"combinations of all is one",
   function() return st.combinations(i64 {5, 6}, 2) end, {{5, 6}}},
  {"combinations of more than there are is none",
   function() return st.combinations(i64 {5, 6}, 3).shape end, {0, 3}},
  {"combinations of none are nothing",
   function() return st.combinations(i64 {5, 6}, 0) end, {}},
  {"cartesian_prod has the last one run fastest",
   function() return st.cartesian_prod {i64 {1, 2}, i64 {5, 6, 7}} end,
   {{1, 5}, {1, 6}, {1, 7}, {2, 5}, {2, 6}, {2, 7}}},
  {"cartesian_prod of one vector is it",
   function() return st.cartesian_prod {i64 {1, 2}} end, {1, 2}},
  {"cartesian_prod with an empty vector is empty",
   function() return st.cartesian_prod({i64 {1, 2}, i64 {}}).shape end,
   {0, 2}},
  {"block_diag surrounds by zeros",
   function()
     return st.block_diag {i64({{1, 2}, {3, 4}}), i64 {5, 6}, i64(7)}
   end, {{1, 2, 0, 0, 0}, {3, 4, 0, 0, 0}, {0, 0, 5, 6, 0},
         {0, 0, 0, 0, 7}}},
  {"block_diag promotes",
   function() return st.block_diag {i64 {1}, f64 {0.5}} end,
   {{1, 0}, {0, 0.5}}},

  -- searching
  {"searchsorted counts from 1, before what is equal",
   function()
     return st.searchsorted(i64 {1, 3, 3, 5}, i64 {0, 1, 3, 4, 9})
   end, {1, 1, 2, 4, 5}},
  {"searchsorted goes behind what is equal if it is told",
   function()
     return st.searchsorted(i64 {1, 3, 3, 5}, i64 {1, 3, 9}, {right = true})
   end, {2, 4, 5}},
  {"searchsorted knows sides",
   function()
     return st.searchsorted(i64 {1, 3, 3, 5}, i64 {3}, {side = "right"})
   end, {4}},
  {"searchsorted takes a number",
   function() return st.searchsorted(f64 {1, 3}, 2) end, 2},
  {"searchsorted searches each line",
   function()
     return st.searchsorted(i64({{1, 3}, {5, 7}}), i64({{2, 9}, {2, 9}}))
   end, {{2, 3}, {1, 3}}},
  {"searchsorted follows a sorter",
   function()
     local t = f64 {5, 1, 3}
     return st.searchsorted(t, f64 {4}, {sorter = t:argsort()})
   end, {3}},
  {"searchsorted finds NaN behind all numbers, and numbers before it",
   function()
     return st.searchsorted(f64 {1, nan}, f64 {nan, 2, inf}, {right = true})
   end, {3, 2, 2}},
  {"searchsorted reads strided tensors",
   function()
     return st.searchsorted(f64({{1, 9}, {3, 9}}):select(2, 1),
                            f64({{0, 2}, {4, 3}}):t())
   end, {{1, 3}, {2, 2}}},
  {"bucketize tells between which boundaries",
   function() return f64 {0, 1, 2, 9}:bucketize(f64 {1, 3}) end,
   {1, 1, 2, 3}},
  {"bucketize takes a number",
   function() return st.bucketize(1, i64 {1, 3}, {right = true}) end, 2},

  -- unique_dim
  {"unique_dim sorts slices, and tells where each went and how often",
   function()
     return {st.unique_dim(i64({{2, 1}, {1, 9}, {2, 0}, {1, 9}}), 1, true,
                           true, true)}
   end, {{{1, 9}, {2, 0}, {2, 1}}, {3, 1, 2, 1}, {2, 1, 1}}},
  {"unique_dim goes along any dimension",
   function() return (st.unique_dim(i64({{2, 1, 2}, {0, 5, 0}}), 2)) end,
   {{1, 2}, {5, 0}}},
  {"unique_dim compares floats as numbers",
   function()
     return (st.unique_dim(f64({{-0.0, 1}, {0, 1}, {-1.5, 2}}), 1))
   end, {{-1.5, 2}, {0, 1}}},
  {"unique_dim takes every slice with NaN for another",
   function()
     return {st.unique_dim(f64({{nan}, {nan}}), 1):size(1)}
   end, {2}},
  {"unique_dim of nothing is nothing",
   function() return (st.unique_dim(st.zeros(0, 3), 1)).shape end, {0, 3}},
}

-- call, what the error says
local WRONG = {
  {function() st.gradient(f64 {1}) end,
   "gradient: dimension 1 has size 1, but edge_order 1 needs more"},
  {function() st.gradient(f64 {1, 2, 3}, {edge_order = 3}) end,
   "gradient: edge_order must be 1 or 2, it is 3"},
  {function() st.gradient(f64 {1, 2}, {spacing = {1, 2}}) end,
   "gradient: spacing has 2 entries for 1 dimensions"},
  {function() st.gradient(f64 {1, 2}, {spacing = {f64 {1}}}) end,
   "gradient: spacing for dimension 1 must be a vector of 2 coordinates"},
  {function() st.gradient(st.zeros({3}, {dtype = "uint8"})) end,
   "gradient: not implemented for dtype uint8"},
  {function() st.cov(st.zeros(2, 2, 2)) end, "cov: self must be a matrix"},
  {function() st.cov(f64 {1, 2}, {fweights = i64 {1}}) end,
   "cov: fweights of shape [1] for 2 observations"},
  {function() st.cov(f64 {1, 2}, {fweights = f64 {1, 2}}) end,
   "cov: fweights must not have dtype float64"},
  {function() st.cov(f64 {1, 2}, {aweights = i64 {1, 2}}) end,
   "cov: aweights must not have dtype int64"},
  {function() st.cov(f64 {1, 2}, {aweights = f64 {1, -2}}) end,
   "cov: aweights must not be negative"},
  {function() st.cross(f64 {1, 2}, f64 {1, 2}) end,
   "cross: self of shape [2] has no dimension of size 3"},
  {function() st.linalg_cross(st.zeros(2, 3), st.zeros(3)) end,
   "linalg_cross: self and other must have the same number of dimensions"},
  {function() st.linalg_cross(st.zeros(2, 3), st.zeros(2, 2)) end,
   "linalg_cross: dimension 2 of self and other must have size 3"},
  {function() st.renorm(f64 {1}, 2, 1, 1) end,
   "renorm: self must have at least 2 dimensions"},
  {function() st.renorm(st.ones(2, 2), 0, 1, 1) end,
   "renorm: p must be a positive real number"},
  {function() st.renorm(st.ones(2, 2), 2, 1, -1) end,
   "renorm: maxnorm must be a real number, at least 0"},
  {function() st.combinations(st.ones(2, 2)) end,
   "combinations: self must be a vector"},
  {function() st.combinations(f64 {1}, -1) end,
   "combinations: r must not be negative"},
  {function() st.combinations(st.ones(400), 200) end,
   "combinations: too many combinations of 200 of 400 elements"},
  {function() st.cartesian_prod {} end,
   "cartesian_prod: tensors must be 1 to 64 vectors, not 0"},
  {function() st.cartesian_prod {st.ones(2), st.ones(2, 2)} end,
   "cartesian_prod: tensor number 2 must be a vector"},
  {function() st.meshgrid {} end,
   "meshgrid: tensors must be 1 to 64 vectors, not 0"},
  {function() st.meshgrid {st.ones(2), st.ones(2, 2)} end,
   "meshgrid: tensor number 2 must be a vector"},
  {function() st.meshgrid {st.ones(2), i64(1)} end,
   "meshgrid: all tensors must have the same dtype, not int64 and float32"},
  {function() st.block_diag {} end, "block_diag: tensors must not be empty"},
  {function() st.block_diag {st.ones(1, 1, 1)} end,
   "block_diag: tensor number 1 must have at most 2 dimensions"},
  {function() st.searchsorted(f64(1), f64 {1}) end, "searchsorted: "},
  {function() st.searchsorted(st.ones(2, 2), st.ones(3, 2)) end,
   "searchsorted: self of shape [3, 2] and sorted_sequence"},
  {function() st.searchsorted(f64 {1}, f64 {1}, {side = "up"}) end,
   'searchsorted: side must be "left" or "right", not "up"'},
  {function()
     st.searchsorted(f64 {1}, f64 {1}, {side = "left", right = true})
   end, 'searchsorted: side is "left", but right is true'},
  {function() st.searchsorted(f64 {1}, f64 {1}, {sorter = f64 {1}}) end,
   "searchsorted: sorter must have dtype int64, not float64"},
  {function() st.searchsorted(f64 {1}, f64 {1}, {sorter = i64 {1, 1}}) end,
   "searchsorted: sorter has shape [2], sorted_sequence [1]"},
  {function() st.searchsorted(f64 {1}, f64 {1}, {sorter = i64 {2}}) end,
   "searchsorted: index 2 is out of range"},
  {function() f64 {1}:bucketize(st.ones(2, 2)) end,
   "bucketize: boundaries must be a vector"},
  {function()
     local t = st.ones({1}, {dtype = "complex64"})
     st.searchsorted(t, t)
   end, "searchsorted: not implemented for dtype complex64"},
  {function() st.unique_dim(st.zeros(2, 0), 1) end,
   "unique_dim: dimensions other than 1 of self must not have size 0"},
}

describe("numerical work:", function()
  local before = live()

  for _, row in ipairs(RESULTS) do
    it(row[1], function() near(row[3], lists(row[2]()), 1e-13) end)
  end

  it("cov and corrcoef of complex numbers are hermitian", function()
    local z = st.tensor({{st.complex(1, 2), st.complex(3, 1), 0},
                         {st.complex(0, 1), 2, st.complex(1, 1)}},
                        {dtype = "complex128"})
    for _, name in ipairs {"cov", "corrcoef"} do
      local c = st[name](z)
      assert.is_true(c:allclose(c:adjoint()))
      assert.equal(0, c:select(1, 1):select(1, 1):item().im)
    end
  end)

  it("renorm is within the norm, for all kinds of floats", function()
    for _, dtype in ipairs {"float64", "float32", "float16", "complex64"} do
      local t = st.ones({3, 4}, {dtype = dtype}) * 5
      local got = t:renorm(2, 1, 1)
      assert.equal(dtype, tostring(got.dtype))
      assert.is_true(math.abs(got:abs():to "float64":square():sum():item() -
                              3) < 1e-2)
      assert.equal(t, t:renorm_(2, 1, 1))
      assert.is_true(t:equal(got))
    end
  end)

  it("searchsorted finds in every dtype what a loop finds", function()
    st.manual_seed(3)
    for _, dtype in ipairs {"uint8", "int8", "int16", "int32", "int64",
                            "float16", "bfloat16", "float32", "float64"} do
      local line = (st.rand(50) * 40):floor():to(dtype):msort()
      local t = (st.rand(60) * 45):floor():to(dtype)
      for _, right in ipairs {false, true} do
        local got = lists(st.searchsorted(line, t, {right = right}))
        local sorted, numbers = lists(line), lists(t)
        for i, v in ipairs(numbers) do
          local n = 1
          for _, w in ipairs(sorted) do
            if w < v or right and w == v then n = n + 1 end
          end
          assert.equal(n, got[i])
        end
      end
    end
  end)

  it("searchsorted gives int32 if it is told, and into out=", function()
    local t = st.searchsorted(f64 {1, 2}, f64 {2}, {out_int32 = true})
    assert.equal("int32", tostring(t.dtype))
    local out = i64 {0, 0}
    st.searchsorted(out, out, {out = out})
    assert.same({1, 1}, out:totable())
  end)

  it("shapes are known on the meta device", function()
    local m = st.zeros({3, 4}, {device = "meta"})
    assert.same({3, 3}, st.cov(m).shape)
    assert.same({3, 4}, st.gradient(m)[2].shape)
    assert.same({3, 4}, m:renorm(2, 1, 1).shape)
    assert.same({3, 2}, st.combinations(m:select(2, 1)).shape)
    assert.same({6, 8}, st.block_diag({m, m}).shape)
    assert.same({3, 4}, m:bucketize(m:select(1, 1)).shape)
  end)

  for i, row in ipairs(WRONG) do
    it("what does not fit is refused, row " .. i, function()
      raises(row[2], row[1])
    end)
  end

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)
