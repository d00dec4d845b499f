--- Statistics, differences, equal elements: what PyTorch's vectors leave out.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack

local nan, inf = 0 / 0, math.huge

local f64, i64 = tensors.f64, tensors.i64
local live, raises = tensors.live, tensors.raises

--- Results as nested lists; NaN as the word.
local function lists(...) return tensors.lists {...} end

--- Complex numbers of their parts.
local function c128(list) return st.view_as_complex(f64(list)) end

-- sentence, call, what it gives
local RESULTS = {
  {"mode takes the least of the most frequent, and its last position",
   function() return i64 {3, 1, 3, 1, 2}:mode() end, {1, 4}},
  {"mode counts every NaN apart",
   function() return f64 {nan, nan, 7}:mode() end, {7, 3}},
  {"mode goes along any dimension",
   function() return i64({{1, 2}, {1, 3}, {4, 3}}):mode(1) end,
   {{1, 3}, {2, 3}}},
  {"nanmedian passes over NaN",
   function() return f64 {nan, 5, 1, nan, 3}:nanmedian() end, {3}},
  {"nanmedian of NaN alone is NaN, at the first position",
   function() return f64({{nan, nan}, {nan, 2}}):nanmedian(2) end,
   {{"nan", 2}, {1, 2}}},
  {"nanmean passes over NaN",
   function() return f64({{1, nan}, {nan, nan}}):nanmean(2) end,
   {{1, "nan"}}},
  {"quantile interpolates",
   function() return f64 {1, 2, 4}:quantile(0.75) end, {3}},
  {"quantile of a line with NaN is NaN",
   function() return f64({{1, nan}, {1, 3}}):quantile(0.5, 2) end,
   {{"nan", 2}}},
  {"nanquantile passes over NaN",
   function() return f64({{1, nan, 3}}):nanquantile(f64 {0, 0.5}, 2) end,
   {{{1}, {2}}}},
  {"nanquantile of NaN alone is NaN",
   function() return f64 {nan, nan}:nanquantile(0.5) end, {"nan"}},
  {"unique_consecutive tells runs, where each is and how long",
   function() return i64 {5, 5, 2, 5}:unique_consecutive(true, true) end,
   {{5, 2, 5}, {1, 1, 2, 3}, {2, 1, 1}}},
  {"unique_consecutive compares slices along a dimension",
   function()
     return i64({{1, 1, 2}, {3, 3, 3}}):unique_consecutive {
       return_counts = true, dim = 2}
   end, {{{1, 2}, {3, 3}}, {1, 1, 2}, {2, 1}}},
  {"unique_consecutive of nothing is nothing",
   function() return i64 {}:unique_consecutive(true, true) end, {{}, {}, {}}},
  {"unique_consecutive keeps two that differ",
   function() return i64 {5, 2}:unique_consecutive(true, true) end,
   {{5, 2}, {1, 2}, {1, 1}}},
  {"_unique2 sorts",
   function() return i64 {3, 1, 3}:_unique2(true, true, true) end,
   {{1, 3}, {2, 1, 2}, {1, 2}}},
  {"unique gives what is asked for, of elements or slices",
   function() return i64 {3, 1, 3}:unique() end, {{1, 3}, {}, {}}},
  {"unique along a dimension",
   function()
     return i64 {{2, 5}, {1, 1}, {2, 5}}:unique {
       return_inverse = true, return_counts = true, dim = 1}
   end, {{{1, 1}, {2, 5}}, {2, 1, 2}, {1, 2}}},
  {"unique_all has the first position of each element, of NaN, too",
   function() return f64 {nan, 3, 1, 3, nan, 1}:unique_all() end,
   {{1, 3, "nan", "nan"}, {3, 2, 1, 5}, {3, 2, 1, 2, 4, 1}, {2, 2, 1, 1}}},
  {"unique_counts, unique_inverse and unique_values are parts of that",
   function()
     local t = i64 {{7, 5}, {7, 7}}
     local values, counts = t:unique_counts()
     local same, inverse = t:unique_inverse()
     return values, counts, same, inverse, t:unique_values()
   end, {{5, 7}, {1, 3}, {5, 7}, {{2, 1}, {2, 2}}, {5, 7}}},
  {"unique_all of complex numbers orders real, then imaginary parts",
   function()
     local z = c128 {{2, 0}, {1, 5}, {2, -1}, {1, 5}, {nan, 0}, {nan, 0}}
     local values, first, inverse, counts = z:view(2, 3):unique_all()
     return st.view_as_real(values), first, inverse, counts
   end, {{{1, 5}, {2, -1}, {2, 0}, {"nan", 0}, {"nan", 0}}, {2, 3, 1, 5, 6},
         {{3, 1, 2}, {1, 4, 5}}, {2, 1, 1, 1, 1}}},
  {"unique_counts, unique_inverse and unique_values take them, too",
   function()
     local z = c128 {{0, 0}, {-0.0, -0.0}, {-1, 0}}:conj()
     local values, counts = z:unique_counts()
     local same, inverse = z[{1}]:unique_inverse()
     return st.view_as_real(values):abs(), counts, st.view_as_real(same):abs(),
            inverse, z:narrow(1, 1, 0):unique_values():isnan()
   end, {{{1, 0}, {0, 0}}, {1, 2}, {{0, 0}}, 1, {}}},
  {"unique_all of nothing is nothing",
   function() return i64 {}:unique_all() end, {{}, {}, {}, {}}},
  {"bincount counts, and adds up weights",
   function()
     return i64 {1, 3, 1}:bincount(),
            i64 {1, 3, 1}:bincount(f64 {0.5, 2, 0.25}, 5)
   end, {{2, 0, 1}, {0.75, 0, 2, 0, 0}}},
  {"bincount counts from 0 with base = 0",
   function()
     return i64 {1, 3, 1}:bincount {base = 0},
            i64 {1, 0, 1}:bincount(f64 {0.5, 2, 0.25}, 4, {base = 0})
   end, {{0, 2, 0, 1}, {2, 0.75, 0, 0}}},
  {"bincount of nothing has minlength bins",
   function() return i64 {}:bincount {minlength = 2} end, {{0, 0}}},
  {"histc leaves out what is out of range, and NaN",
   function() return f64 {-1, 0, 1, 2, 3, nan, inf}:histc(2, 0, 2) end,
   {{1, 2}}},
  {"histc takes the range of its elements, widened if it is a point",
   function() return f64 {1, 2, 3, 5}:histc(2), f64 {4, 4}:histc(2) end,
   {{2, 2}, {0, 2}}},
  {"diff puts tensors around",
   function()
     return i64 {4, 9}:diff {prepend = i64 {1}, append = i64 {9, 7}}
   end, {{3, 5, 0, -2}}},
  {"diff more often than there are neighbours is empty",
   function() return i64 {4, 9}:diff(5) end, {{}}},
  {"diff of bool tells changes",
   function() return st.tensor {true, false, false}:diff() end,
   {{true, false}}},
  {"trapezoid integrates over points",
   function() return st.trapezoid(f64 {1, 3, 3}, f64 {0, 1, 3}) end, {8}},
  {"trapezoid of no samples is 0",
   function() return st.trapezoid(f64 {}) end, {0}},
  {"cumulative_trapezoid integrates up to each point",
   function() return st.cumulative_trapezoid(f64 {1, 3, 3}, f64 {0, 1, 3}) end,
   {{2, 8}}},
  {"isin finds no NaN",
   function() return st.isin(f64 {1, nan}, f64 {nan, 1}) end,
   {{true, false}}},
  {"isin with many test elements finds the same",
   function()
     local test = st.arange(0, 60, 3):to "float64"
     return st.isin(f64({{3, 4}, {nan, 57}}), test),
            st.isin(f64 {3, 4}, test, {invert = true})
   end, {{{true, false}, {false, true}}, {false, true}}},
  {"isin takes a number on either side",
   function() return st.isin(i64 {1, 2}, 2), st.isin(2, i64 {1, 2}) end,
   {{false, true}, true}},
  {"isclose measures by other; infinity is not close to a number",
   function()
     return st.isclose(f64 {1, 100, -100, 1}, f64 {1.5, 101, -101, inf},
                       0.01, 0.25),
            st.isclose(i64 {1, 1}, i64 {2, 3}, 0, 1)
   end, {{false, true, true, false}, {true, false}}},
  {"isclose takes equal infinities, NaN only if asked",
   function()
     local a = f64 {inf, nan, 1}
     return st.isclose(a, f64 {inf, nan, 1.1}),
            st.isclose(a, a, {equal_nan = true}),
            st.allclose(a, a)
   end, {{true, false, false}, {true, true, true}, false}},
  {"float_power of integers is float64",
   function() return i64 {2, 3}:float_power(2), st.float_power(2, i64 {-1}) end,
   {{4, 9}, {0.5}}},
  {"logit keeps eps away from 0 and 1",
   function()
     return f64 {0, 1}:logit(), f64 {0, 1}:logit(0.5),
            i64 {2}:logit(0), i64 {2}:logit()
   end, {{-inf, inf}, {0, 0}, {inf}, {"nan"}}},
  {"special functions know their poles and ends",
   function()
     return f64 {1, -1, 2}:erfinv(), f64 {-3, inf}:digamma(),
            f64 {-inf, 0}:i0(), f64 {0, 1e3}:sinc():abs():lt(1)
   end, {{inf, -inf, "nan"}, {"nan", inf}, {inf, 1}, {false, true}}},
}

describe("Statistics:", function()
  local before

  setup(function() before = live() end)

  for _, row in ipairs(RESULTS) do
    it(row[1], function() assert.same(row[3], lists(row[2]())) end)
  end

  it("the special functions invert and recur", function()
    local x = st.linspace(-0.999999, 0.999999, 1001):to "float64"
    local back = x:erfinv():erf():sub(x):abs():max():item()
    assert.is_true(back < 1e-15, back)
    local y = st.linspace(0.1, 30, 500):to "float64"
    local step = (y + 1):digamma() - y:digamma() - y:reciprocal()
    assert.is_true(step:abs():max():item() < 1e-13)
    -- both series of i0 meet at 20
    local sides = f64 {20, 20.000000001}:i0():log():diff():item()
    assert.is_true(math.abs(sides - 1e-9) < 1e-10, sides)
  end)

  it("out= gets the result, in its own dtype or not at all", function()
    local out = st.empty(0):to "float64"
    assert.is_true(rawequal(out, st.float_power(i64 {3}, 2, {out = out})) or
                   out:item() == 9)
    assert.same({9}, out:totable())
    local kept = f64 {5}
    raises("isin: out has dtype float64, but the result is bool",
           st.isin, f64 {1}, f64 {1}, {out = kept})
    assert.same({5}, kept:totable())
    local x = f64 {1, 3, 6}
    st.diff(x, {out = x})
    assert.same({2, 3}, x:totable())
  end)

  it("out= of what a product casts to is cast", function()
    local out = st.zeros(2)
    st.ldexp(f64 {3, 5}, i64 {1, 2}, {out = out})
    assert.same({6, 20}, out:totable())
    local half = st.ones(2):to "float16"
    assert.is_true(rawequal(half, half:ldexp_(i64 {1, 2})))
    assert.same({2, 4}, half:totable())
    assert.equal("float16", tostring(half.dtype))
    local ints = i64 {7, 7}
    for _, fn in ipairs {
      function() ints:ldexp_(i64 {1, 2}) end,
      function() st.ldexp(f64 {3, 5}, i64 {1, 2}, {out = ints}) end,
    } do
      raises({"ldexp", "the result has dtype float",
              "output 1 of dtype int64 cannot hold"}, fn)
    end
    assert.same({7, 7}, ints:totable())
  end)

  it("max and min are maximum and minimum of two tensors, too", function()
    local a, b = f64 {1, 5, nan}, i64 {3, 2, 0}
    for short, long in pairs {max = "maximum", min = "minimum"} do
      local want = lists(st[long](a, b))
      assert.same(want, lists(st[short](a, b)))
      assert.same(want, lists(a[short](a, b)))
      local out = st.empty(0, {dtype = "float64"})
      st[short](a, b, {out = out})
      assert.same(want, lists(out))
      assert.equal(2, select("#", st[short](a, 1)))
    end
    local out = st.empty(0, {dtype = "float64"})
    st.max(f64 {1, 5, 2}, {out = out})
    assert.equal(5, out:item())
    st.min(f64 {1, 5, 2}, {out = out})
    assert.equal(1, out:item())
  end)

  -- name, arguments
  for _, row in ipairs {
    {"concat", {f64 {1, 2}, f64 {3, 4}}}, {"hstack", {f64 {1}, f64 {3}}},
    {"concatenate", {f64 {1}, f64 {3}}}, {"vstack", {f64 {1}, f64 {3}}},
    {"row_stack", {f64 {1}, f64 {3}}}, {"dstack", {f64 {1}, f64 {3}}},
    {"column_stack", {f64 {1}, f64 {3}}}, {"outer", f64 {1, 2}, f64 {3, 4}},
    {"diff", f64 {1, 3, 6}},
  } do
    it(row[1] .. " casts into out=", function()
      local want = st[row[1]](unpack(row, 2))
      local function into(out)
        local args = {unpack(row, 2)}
        args[#args + 1] = {out = out}
        return st[row[1]](unpack(args))
      end
      local out, ints = st.empty(0), i64 {7}
      local got = into(out)
      assert.equal(out:data_ptr(), got:data_ptr())
      assert.same(want:totable(), out:totable())
      assert.equal("float32", tostring(out.dtype))
      raises(row[1] .. ": the result has dtype float64, which cannot be " ..
             "cast to out's dtype int64", into, ints)
      assert.same({7}, ints:totable())
    end)
  end

  it("take_along_dim has an out=", function()
    local out = st.empty(0, {dtype = "float64"})
    st.take_along_dim(f64 {5, 6}, i64 {2, 1, 2}, 1, {out = out})
    assert.same({6, 5, 6}, out:totable())
    st.take_along_dim(f64 {5, 6}, i64 {1}, {out = out})
    assert.same({5}, out:totable())
    raises("take_along_dim: out has dtype float32, but the result is float64",
           st.take_along_dim, f64 {5, 6}, i64 {1}, {out = st.ones(1)})
  end)

  it("diag has an out=", function()
    local out = st.empty(0, {dtype = "int64"})
    st.diag(i64 {1, 2}, -1, {out = out})
    assert.same({{0, 0, 0}, {1, 0, 0}, {0, 2, 0}}, out:totable())
    st.diag(out:clone(), -1, {out = out})
    assert.same({1, 2}, out:totable())
    raises("diag: out has dtype float32, but the result is int64",
           st.diag, i64 {1, 2}, {out = st.ones(1)})
  end)

  it("isin of many elements compares, looks up or searches", function()
    for _, d in ipairs {"uint8", "int8", "int16", "int64", "float16",
                        "float64"} do
      local x = st.arange(2400, {dtype = "int64"}):mul(37):remainder(101)
      if d ~= "uint8" then x = x:sub(50) end
      x = x:to(d):view(60, 40):t()
      for _, n in ipairs {1, 4, 10, 11, 60} do
        local test = x:narrow(2, 3, 20):flatten():narrow(1, 1, n)
        if d:find "float" then test = st.cat {test, test:mul(0):div(0)} end
        local expected = x:unsqueeze(-1):eq(test):any(-1)
        local found = st.isin(x, test)
        local what = ("%s in %d"):format(d, n)
        assert.is_true(found:equal(expected), what)
        assert.same({60, 1}, found:stride(), what)
      end
    end
  end)

  it("of meta tensors have the shape where it is known", function()
    local m = st.empty({3, 15}, {device = "meta"})
    assert.same({3, 14}, m:diff():size())
    assert.same({3}, (m:mode()):size())
    assert.same({2, 3}, m:nanquantile(st.empty({2}, {device = "meta"}),
                                      2):size())
    assert.same({3, 15}, st.isin(m, m):size())
    raises("unique_consecutive: the shape of the result depends on values, " ..
           "which a meta tensor does not have", m.unique_consecutive, m)
  end)

  it("leave nothing behind", function() assert.same(before, live()) end)
end)

-- -- Misuse ------------------------------------------------------------------

local MISUSE = {
  {"mode of nothing", function() i64 {}:mode() end, {"mode: ", "no elements"}},
  {"nanmean of integers", function() i64 {1}:nanmean() end,
   {"nanmean: ", "floating point"}},
  {"quantile outside [0, 1]", function() f64 {1}:quantile(1.5) end,
   {"quantile: ", "range from 0 to 1"}},
  {"quantile at NaN", function() f64 {1}:quantile(nan) end,
   {"quantile: ", "range from 0 to 1"}},
  {"quantile of nothing", function() f64 {}:quantile(0.5) end,
   {"quantile: ", "no elements"}},
  {"quantile of integers", function() i64 {1}:quantile(0.5) end,
   "quantile: self must be float32 or float64, not int64: convert it, as " ..
   "self:to(\"float64\") does"},
  {"quantile by a made-up rule", function()
    f64 {1}:quantile(0.5, {interpolation = "cubic"})
  end, {"quantile: ", "not \"cubic\""}},
  {"bincount of a negative element", function() i64 {1, -1}:bincount() end,
   "bincount: element 2 of self is -1"},
  {"bincount of a value below the base", function()
    i64 {1, 0}:bincount()
  end, {"bincount: element 2 of self is 0", "{base = 0}"}},
  {"bincount of a negative element, from 0", function()
    i64 {1, -1}:bincount {base = 0}
  end, "bincount: element 2 of self is -1, which is not the index of a bin"},
  {"bincount of floats", function() f64 {1}:bincount() end,
   "bincount: not implemented"},
  {"bincount with weights for others", function()
    i64 {1}:bincount(f64 {1, 2})
  end, "bincount: weights of shape [2] for 1 elements"},
  {"bincount of a matrix", function() i64({{1}}):bincount() end,
   {"bincount: ", "vector"}},
  {"bincount of a huge element", function()
    i64 {1}:add(st.int "9223372036854775806"):bincount {base = 0}
  end, {"bincount: ", "not the index of a bin"}},
  {"histc without bins", function() f64 {1}:histc(0) end,
   {"histc: ", "positive"}},
  {"histc upside down", function() f64 {1}:histc(2, 3, 1) end,
   {"histc: ", "larger"}},
  {"histc up to infinity", function() f64 {1, inf}:histc(2) end,
   {"histc: ", "not finite"}},
  {"diff of a number", function() f64 {1}:sum():diff() end,
   {"diff: ", "at least one dimension"}},
  {"diff less than no times", function() f64 {1}:diff(-1) end,
   {"diff: ", "negative"}},
  {"trapezoid of bool", function()
    st.trapezoid(st.tensor {true, false})
  end, {"trapezoid: ", "bool"}},
  {"trapezoid with too few points", function()
    st.trapezoid(f64 {1, 2, 3}, f64 {1, 2})
  end, {"trapezoid: ", "2 points for 3 samples"}},
  {"isclose of two dtypes", function() st.isclose(f64 {1}, i64 {1}) end,
   {"isclose: ", "must have the same dtype"}},
  {"isclose with a negative tolerance", function()
    st.isclose(f64 {1}, f64 {1}, -1)
  end, "isclose: rtol must not be negative"},
  {"isin of complex", function()
    local c = f64 {1}:to "complex128"
    st.isin(c, c)
  end, "isin: not implemented"},
  {"unique_consecutive of slices of nothing", function()
    st.empty {2, 0}:unique_consecutive {dim = 1}
  end, {"unique_consecutive: ", "must not have size 0"}},
  {"celu with alpha 0", function() f64 {1}:celu(0) end,
   {"celu: ", "must not be 0"}},
  {"prelu with weights for others", function()
    st.zeros(2, 3):prelu(st.zeros(2))
  end, {"prelu: ", "2 elements for 3 channels"}},
  {"float_power_ of integers", function() i64 {2}:float_power_(2) end,
   "float_power_: self has dtype int64, but the result is float64"},
}

describe("Statistics refuse", function()
  for _, row in ipairs(MISUSE) do
    it(row[1], function() raises(row[3], row[2]) end)
  end
end)
