--- Reductions and cumulative sums that pass over NaN. The expected values are
-- NumPy's.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local nan, inf = 0 / 0, math.huge

local f64, i64, live = tensors.f64, tensors.i64, tensors.live
local near, raises = tensors.near, tensors.raises

local ROWS = {{1, nan, 3, 8}, {nan, nan, nan, nan}, {4, 5, 7, nan}}

local function lists(...) return tensors.lists {...} end

-- sentence, call, what it gives
local RESULTS = {
  {"nanvar divides by one less than the count",
   function() return f64({{1, nan, 3}, {nan, nan, nan}}):nanvar(2) end,
   {{2, "nan"}}},
  {"nanvar divides by the count without correction",
   function() return f64(ROWS):nanvar(1, {correction = 0}) end,
   {{2.25, 0, 4, 0}}},
  {"nanvar of infinite numbers is NaN",
   function() return f64({{1 / 0, 1 / 0}, {1, 1 / 0}, {2, 4}}):nanvar(2) end,
   {{"nan", "nan", 2}}},
  {"nanvar of one number is NaN",
   function() return f64 {nan, 3}:nanvar() end, {"nan"}},
  {"nanvar of complex numbers is real",
   function()
     local z = st.complex(f64 {1, nan, 3}, f64 {2, 0, -1})
     return z:nanvar()
   end, {6.5}},
  {"nanvar keeps dimensions",
   function() return f64(ROWS):nanvar({1, 2}, {keepdim = true}).shape end,
   {{1, 1}}},
  {"nanstd is its square root",
   function() return f64({{1, nan, 5}}):nanstd(2, {correction = 0}) end,
   {{2}}},
  {"nanmax passes over NaN",
   function() return f64(ROWS):nanmax(2) end, {{8, "nan", 7}}},
  {"nanmin passes over NaN",
   function() return f64(ROWS):nanmin {1, 2} end, {1}},
  {"nanmax goes over all dimensions",
   function() return f64(ROWS):nanmax() end, {8}},
  {"nanmin of infinity and NaN is infinity",
   function() return f64 {nan, inf}:nanmin() end, {inf}},
  {"nanmax of integers is amax",
   function() return i64({{1, 5}, {3, 2}}):nanmax(1, true) end, {{{3, 5}}}},
  {"nanprod counts NaN as 1",
   function() return f64(ROWS):nanprod(2) end, {{24, 1, 140}}},
  {"nanprod of all keeps dimensions if it is told",
   function() return f64 {2, nan, 3}:nanprod {keepdim = true} end, {{6}}},
  {"nanprod takes a dtype",
   function() return i64 {2, 3}:nanprod({dtype = "float32"}).dtype end,
   {"float32"}},
  {"nanargmax counts from 1, over all elements",
   function() return f64(ROWS):nanargmax() end, {4}},
  {"nanargmin goes along a dimension",
   function() return f64({{nan, 2, 1}, {3, nan, 3}}):nanargmin(2) end,
   {{3, 1}}},
  {"nanargmax keeps dimensions",
   function() return f64({{nan, 2, 1}}):nanargmax(2, true) end, {{{2}}}},
  {"nanargmax finds an infinity behind NaN",
   function() return f64 {nan, -inf}:nanargmax() end, {2}},
  {"nanargmax of integers is argmax",
   function() return i64 {3, 9, 9}:nanargmax() end, {2}},
  {"nancumsum counts NaN as 0",
   function() return f64({{1, nan, 3}, {nan, 2, 2}}):nancumsum(2) end,
   {{{1, 1, 4}, {0, 2, 4}}}},
  {"nancumprod counts NaN as 1",
   function() return f64({{2, nan, 3}, {nan, 2, 2}}):nancumprod(2) end,
   {{{2, 2, 6}, {1, 2, 4}}}},
  {"nancumsum of integers is cumsum",
   function() return i64 {1, 2, 3}:nancumsum(1) end, {{1, 3, 6}}},
  {"percentile counts to 100",
   function() return f64 {1, 2, 4, 10}:percentile(37, {
     interpolation = "nearest"}) end, {2}},
  {"percentile takes several",
   function() return f64 {1, 2, 4, 10}:percentile(f64 {0, 50, 100}) end,
   {{1, 3, 10}}},
  {"nanpercentile passes over NaN",
   function() return f64(ROWS):nanpercentile(f64 {25, 50}, 2) end,
   {{{2, "nan", 4.5}, {3, "nan", 5}}}},
}

describe("Without NaN", function()
  local before

  setup(function() before = live() end)

  for _, row in ipairs(RESULTS) do
    it(row[1], function() assert.same(row[3], lists(row[2]())) end)
  end

  it("elements that are NaN get no gradient", function()
    local x = f64 {1, nan, 3, 8}:requires_grad_()
    x:nanvar():backward()
    near({-3, 0, -1, 4}, x.grad:totable())
    x.grad = nil
    x:nanmax():backward()
    assert.same({0, 0, 0, 1}, x.grad:totable())
  end)

  it("float16 sums what would overflow", function()
    local x = st.tensor({300, 300, nan, -300}, {dtype = "float16"})
    assert.same({100, "float16"}, {x:nanmean():item(), x:nanmean().dtype})
    -- the square root of (200^2 + 200^2 + 400^2) / 2, rounded
    near(346.5, x:nanstd():item())
    assert.same("float16", x:nanstd().dtype)
    x = st.full({1000}, 100, {dtype = "float16"})
    assert.same({100, 0}, {x:nanmean():item(), x:nanvar():item()})
  end)

  it("a percentile that is an element is found by float32", function()
    local x = st.arange(0, 101, {dtype = "float32"})
    assert.is_true(st.percentile(x, x):equal(x))
    assert.is_true(st.nanpercentile(x, x):equal(x))
  end)

  it("out= takes the results", function()
    local out = f64 {0}:sum()
    st.nanstd(f64 {1, nan, 3}, {out = out})
    near(math.sqrt(2), out:item())
    st.percentile(f64 {1, 2}, 50, {out = out})
    assert.equal(1.5, out:item())
  end)

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)

-- sentence, call, a part of the message
local MISUSE = {
  {"nanvar of integers", function() i64 {1}:nanvar() end,
   "nanvar: self must have a floating point dtype, not int64"},
  {"nanmax of nothing", function() f64 {}:nanmax(1) end,
   {"nanmax: ", "no elements"}},
  {"nanargmin of NaN alone", function() f64(ROWS):nanargmin(2) end,
   "nanargmin: a slice of self has only NaN"},
  {"nanargmax of nothing", function() f64 {}:nanargmax() end,
   {"nanargmax: ", "no elements"}},
  {"percentile beyond 100", function() f64 {1}:percentile(101) end,
   "percentile: q must be in the range from 0 to 100"},
  {"percentile by a tensor below 0",
   function() f64 {1}:nanpercentile(f64 {-1}) end,
   "nanpercentile: q must be in the range from 0 to 100"},
}

describe("Functions without NaN refuse", function()
  for _, row in ipairs(MISUSE) do
    it(row[1], function() raises(row[3], row[2]) end)
  end
end)
