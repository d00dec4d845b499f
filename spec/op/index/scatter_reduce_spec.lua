--- What meets in one place: scatter_reduce and index_reduce.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local unpack = unpack or table.unpack
local max, min, floor = math.max, math.min, math.floor

local nan = 0 / 0

local f64, i64 = tensors.f64, tensors.i64
local lists, live, near = tensors.lists, tensors.live, tensors.near

-- -- Naively -----------------------------------------------------------------

local FOLDS = {
  sum = function(a, b) return a + b end,
  prod = function(a, b) return a * b end,
  mean = function(a, b) return a + b end,
  amax = max, amin = min,
}

--- What the numbers met[1], met[2], ... give.
local function folded(how, met, is_exact)
  local out = met[1]
  for i = 2, #met do out = FOLDS[how](out, met[i]) end
  if how ~= "mean" then return out end
  return is_exact and floor(out / #met) or out / #met
end

--- Rows of self; row index[i][j] of column j gets src[i][j].
local function reduced(self, index, src, how, includes_self, is_exact)
  local out = {}
  for i, row in ipairs(self) do
    out[i] = {}
    for j, v in ipairs(row) do
      local met = includes_self and {v} or {}
      for k, places in ipairs(index) do
        if places[j] == i then met[#met + 1] = src[k][j] end
      end
      out[i][j] = #met > 0 and folded(how, met, is_exact) or v
    end
  end
  return out
end

local DTYPES = {float64 = 1e-12, float32 = 1e-5, float16 = 2e-2,
                bfloat16 = 2e-1, int64 = 0, int32 = 0, int16 = 0, int8 = 0,
                uint8 = 0}

local SELF = {{3, 2, 5, 1}, {2, 4, 1, 3}, {1, 1, 2, 2}}
local SRC = {{2, 3, 1, 4}, {4, 1, 5, 2}, {1, 2, 3, 5}, {3, 2, 2, 1}}
local INDEX = {{1, 3, 3, 2}, {1, 3, 1, 1}, {3, 1, 3, 2}, {1, 3, 1, 2}}
local ROWS = {1, 3, 3, 1}

local function repeated(rows, n)
  local out = {}
  for i, at in ipairs(rows) do
    out[i] = {}
    for j = 1, n do out[i][j] = at end
  end
  return out
end

describe("a reduction into places", function()
  local before = live()

  for _, how in ipairs {"sum", "prod", "mean", "amax", "amin"} do
    for _, includes_self in ipairs {true, false} do
      local options = {include_self = includes_self}
      local name = how .. (includes_self and "" or ", without self")
      it("is that of all that meet: " .. name, function()
        for dtype, tolerance in pairs(DTYPES) do
          local self = st.tensor(SELF, {dtype = dtype})
          local src = st.tensor(SRC, {dtype = dtype})
          local exact = dtype:find "int" ~= nil
          near(reduced(SELF, INDEX, SRC, how, includes_self, exact),
               lists(self:scatter_reduce(1, i64(INDEX), src, how, options)),
               tolerance)
          if how ~= "sum" then
            near(reduced(SELF, repeated(ROWS, 4), SRC, how, includes_self,
                         exact),
                 lists(self:index_reduce(1, i64(ROWS), src, how, options)),
                 tolerance)
          end
        end
      end)

      it("writes in place, into out=, and along columns: " .. name, function()
        local want = f64(SELF):scatter_reduce(1, i64(INDEX), f64(SRC), how,
                                              options)
        local self = f64(SELF)
        assert.equal(self, self:scatter_reduce_(1, i64(INDEX), f64(SRC), how,
                                                options))
        assert.is_true(self:equal(want))
        local out = st.zeros({4, 3}, {dtype = "float64"}):t()
        st.scatter_reduce(f64(SELF), 1, i64(INDEX), f64(SRC), how,
                          {include_self = includes_self, out = out})
        assert.is_true(out:equal(want))
        assert.is_true(f64(SELF):t():scatter_reduce(
          2, i64(INDEX):t(), f64(SRC):t(), how, options):equal(want:t()))
      end)
    end
  end

  it("of bools is or, and", function()
    local self, src = st.tensor {true, false}, st.tensor {false, true}
    local at = i64 {1, 2}
    assert.same({true, true},
                self:scatter_reduce(1, at, src, "amax"):totable())
    assert.same({false, false},
                self:scatter_reduce(1, at, src, "prod"):totable())
  end)

  it("lets NaN win, whichever it is", function()
    for _, how in ipairs {"amax", "amin"} do
      local got = f64 {nan, 1, 5}:scatter_reduce(
        1, i64 {1, 2, 3}, f64 {1, nan, 5}, how):totable()
      assert.is_true(got[1] ~= got[1] and got[2] ~= got[2] and got[3] == 5)
    end
  end)

  it("counts further than a small dtype does", function()
    local src = st.zeros({200}, {dtype = "int8"})
    local at = st.ones({200}, {dtype = "int64"})
    src[1] = 100
    -- a count of 201 in an int8 would be -55
    assert.same({0}, st.zeros({1}, {dtype = "int8"}):scatter_reduce(
      1, at, src, "mean"):totable())
  end)

  it("takes a source that is larger than index", function()
    assert.same({6, 2}, f64 {1, 2}:scatter_reduce(1, i64 {1}, f64 {5, 7},
                                                  "sum"):totable())
  end)

  it("of nothing is self", function()
    local none = st.zeros({0}, {dtype = "int64"})
    assert.same({1, 2}, f64 {1, 2}:scatter_reduce(
      1, none, f64 {}, "prod", {include_self = false}):totable())
    assert.same({1, 2}, f64 {1, 2}:index_reduce(1, none, f64 {},
                                                "mean"):totable())
  end)

  it("knows numbers", function()
    assert.equal(6, f64(2):scatter_reduce(1, i64(1), f64(3), "prod"):item())
    assert.equal(3, f64(2):index_reduce(1, i64 {1}, f64(3), "amax"):item())
  end)

  it("reads what it writes over beforehand", function()
    local t = f64 {1, 2, 3}
    t:scatter_reduce_(1, i64 {2, 3, 1}, t, "prod")
    assert.same({3, 2, 6}, t:totable())
  end)

  it("has a shape on the meta device", function()
    local function meta(dtype, ...)
      return st.zeros({...}, {dtype = dtype, device = "meta"})
    end
    assert.same({2, 3}, meta("float32", 2, 3):scatter_reduce(
      1, meta("int64", 1, 3), meta("float32", 1, 3), "mean").shape)
    assert.same({2, 3}, meta("float32", 2, 3):index_reduce(
      1, meta("int64", 4), meta("float32", 4, 3), "mean").shape)
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

-- -- Mistakes ----------------------------------------------------------------

-- arguments behind f64 {1, 2, 3}, what scatter_reduce_ says
local WRONG = {
  {{1, {1}, {1}, "add"},
   'scatter_reduce_: reduce must be "sum", "prod", "mean", "amax" or ' ..
   '"amin", not "add"'},
  {{1, {4}, {1}, "sum"}, "scatter_reduce_: index 4 is out of range"},
  {{1, {1, 2}, {1}, "sum"},
   "scatter_reduce_: index of shape %[2%] does not fit within src"},
  {{2, {1}, {1}, "sum"}, "scatter_reduce_: dimension 2 is out of range"},
}

describe("a reduction into places refuses", function()
  for i, row in ipairs(WRONG) do
    it("what does not fit, row " .. i, function()
      local dim, index, src, how = unpack(row[1])
      local t = f64 {1, 2, 3}
      assert.error_matches(function()
        t:scatter_reduce_(dim, i64(index), f64(src), how)
      end, row[2])
      assert.same({1, 2, 3}, t:totable())
    end)
  end

  it("sums over slices, which is index_add", function()
    assert.error_matches(function()
      f64 {1}:index_reduce(1, i64 {1}, f64 {1}, "sum")
    end, 'index_reduce: reduce must be "prod", "mean", "amax" or "amin", ' ..
         'not "sum"')
  end)

  it("sources of another dtype", function()
    assert.error_matches(function()
      f64 {1}:index_reduce(1, i64 {1}, st.ones(1), "prod")
    end, "index_reduce: source has dtype float32, self float64")
  end)

  it("to order complex numbers", function()
    local t = st.ones({1}, {dtype = "complex64"})
    assert.error_matches(function()
      t:scatter_reduce(1, i64 {1}, t, "amax")
    end, "scatter_reduce: not implemented for dtype complex64")
  end)
end)

-- -- Gradients ---------------------------------------------------------------

describe("the gradient of a reduction into places", function()
  local before = live()

  -- how, self, src, those of the sum of squares of the result
  local GRADIENTS = {
    {"sum", {1, 2}, {3, 5}, {18, 4}, {18, 18}},
    {"mean", {1, 2}, {3, 5}, {2, 4}, {2, 2}},
    {"prod", {1, 2}, {3, 5}, {450, 4}, {150, 90}},
    {"prod", {2, 2}, {0, 5}, {0, 4}, {0, 0}},
    {"amax", {5, 2}, {3, 5}, {5, 4}, {0, 5}},
    {"amin", {1, 2}, {3, 5}, {2, 4}, {0, 0}},
  }
  for i, row in ipairs(GRADIENTS) do
    it(("is shared as it should be: %s, row %d"):format(row[1], i), function()
      for _, op in ipairs {"scatter_reduce", "index_reduce"} do
        if op ~= "index_reduce" or row[1] ~= "sum" then
          local self = f64(row[2]):requires_grad_()
          local src = f64(row[3]):requires_grad_()
          local out = self[op](self, 1, i64 {1, 1}, src, row[1])
          out:square():sum():backward()
          assert.same(row[4], self.grad:totable())
          assert.same(row[5], src.grad:totable())
        end
      end
    end)
  end

  it("does not reach a self that is not included", function()
    local self = f64 {1, 2}:requires_grad_()
    self:scatter_reduce(1, i64 {1}, f64 {5}, "sum", {include_self = false})
      :sum():backward()
    assert.same({0, 1}, self.grad:totable())
  end)

  it("is 0 where the source reaches beyond index", function()
    local src = f64 {5, 7}:requires_grad_()
    f64 {1, 2}:scatter_reduce(1, i64 {2}, src, "prod"):sum():backward()
    assert.same({2, 0}, src.grad:totable())
  end)

  it("goes around the only zero", function()
    local src = f64 {0, 4}:requires_grad_()
    f64 {3}:scatter_reduce(1, i64 {1, 1}, src, "prod"):sum():backward()
    assert.same({12, 0}, src.grad:totable())
  end)

  it("leaves nothing behind", function() assert.equal(before, live()) end)
end)

describe("index_add of rows", function()
  local before = live()
  local index = {2, 3, 2, -1}
  local HEIGHT, WIDTH = 3, 37

  --- Small integers, so that every dtype holds the sums exactly.
  local function made(rows, dtype)
    return tensors.filled({rows, WIDTH}, "int64", 5):add(2):to(dtype)
  end

  --- The same elements, two apart.
  local function stepped(t)
    return st.stack({t, t}, 3):select(3, 1)
  end

  local function wanted(a, s, alpha)
    local out, from = lists(a:to "int64"), lists(s:to "int64")
    for k, at in ipairs(index) do
      local row = out[at < 0 and HEIGHT + 1 + at or at]
      for i = 1, WIDTH do row[i] = row[i] + alpha * from[k][i] end
    end
    return out
  end

  for _, dtype in ipairs {"uint8", "int8", "int16", "int32", "int64", "float16",
                          "bfloat16", "float32", "float64"} do
    it(dtype .. ", adjacent, stepped and of equal elements", function()
      local a, s = made(HEIGHT, dtype), made(#index, dtype)
      local one = s:narrow(2, 2, 1):expand(#index, WIDTH)
      for _, to in ipairs {a, stepped(a)} do
        for _, from in ipairs {s, stepped(s), one} do
          local got = to:clone():index_add(1, i64(index), from, {alpha = 2})
          assert.same(wanted(to, from, 2), lists(got:to "int64"))
          got = stepped(to):index_add_(1, i64(index), from)
          assert.same(wanted(to, from, 1), lists(got:to "int64"))
        end
      end
    end)
  end

  it("leaves nothing behind", function()
    assert.is_true(live() <= before)
  end)
end)
