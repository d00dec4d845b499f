--- Subscripts: reading and writing by positions, ranges, masks and tensors.
-- axes: isa lua ffi lua5.2

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises, raises_here = tensors.live, tensors.raises,
                                  tensors.raises_here

local function grid() return st.arange(12):view(3, 4) end -- 0..3, 4..7, 8..11

local function read(key)
  return function(t) return t[key] end
end

describe("a subscript", function()
  local before
  setup(function() before = live() end)

  describe("of a vector by a number", function()
    local rows = {
      {"float32", {0.5, 1.5, 2.5}, 1, 0.5}, {"float32", {0.5, 1.5}, -1, 1.5},
      {"int64", {7, 8, 9}, 3, 9}, {"bool", {true, false}, 2, false},
      {"uint8", {255}, 1, 255}, {"int8", {-128}, -1, -128},
      {"float16", {0.5}, 1, 0.5}, {"bfloat16", {-2}, 1, -2},
    }
    for _, row in ipairs(rows) do
      it(("is a Lua value: %s at %d"):format(row[1], row[3]), function()
        local t = st.tensor(row[2], {dtype = row[1]})
        assert.equal(row[4], t[row[3]])
      end)
    end

    it("is a complex number for complex dtypes", function()
      local t = st.tensor {st.complex(1, -2)}
      assert.equal(st.complex(1, -2), t[1])
    end)

    it("is exact for int64 beyond 2^53", function()
      local t = st.tensor({st.int "9007199254740993"})
      assert.equal("9007199254740993", (tostring(t[1]):gsub("LL$", "")))
    end)
  end)

  -- key, shape, elements in order
  local views = {
    {1, {4}, {0, 1, 2, 3}}, {-1, {4}, {8, 9, 10, 11}},
    {{1}, {4}, {0, 1, 2, 3}}, {{1, 1}, {}, {0}}, {{-1, -1}, {}, {11}},
    {{{}, 2}, {3}, {1, 5, 9}}, {{{2, 3}, 1}, {2}, {4, 8}},
    {{{1, 3, 2}}, {2, 4}, {0, 1, 2, 3, 8, 9, 10, 11}},
    {{{2}}, {1, 4}, {4, 5, 6, 7}}, {{{}, {2, -2}}, {3, 2}, {1, 2, 5, 6, 9, 10}},
    {{{}, {-2, -1}}, {3, 2}, {2, 3, 6, 7, 10, 11}},
    {{{}, {3, 2}}, {3, 0}, {}}, {{{1, 0}}, {0, 4}, {}},
    {{{2, 99}, 4}, {2}, {7, 11}},
    {{}, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {{st.newaxis, 2}, {1, 4}, {4, 5, 6, 7}},
    {{2, st.newaxis}, {1, 4}, {4, 5, 6, 7}},
    {{2, {}, st.newaxis}, {4, 1}, {4, 5, 6, 7}},
    {{st.ellipsis, 1}, {3}, {0, 4, 8}}, {{1, st.ellipsis}, {4}, {0, 1, 2, 3}},
    {{1, st.ellipsis, 2}, {}, {1}}, {st.newaxis, {1, 3, 4}},
    {"1", {4}, {0, 1, 2, 3}}, {"-1, 2", {}, {9}}, {":, 2", {3}, {1, 5, 9}},
    {"2:3, 1", {2}, {4, 8}}, {"1:3:2", {2, 4}, {0, 1, 2, 3, 8, 9, 10, 11}},
    {"2:, :2", {2, 2}, {4, 5, 8, 9}}, {"..., -1", {3}, {3, 7, 11}},
    {" 1 ,\t2 ", {}, {1}}, {"newaxis, 1", {1, 4}, {0, 1, 2, 3}},
    {"None,...", {1, 3, 4}}, {":, -2:", {3, 2}, {2, 3, 6, 7, 10, 11}},
    {"::2, 1", {2}, {0, 8}}, {"3:2", {0, 4}, {}},
  }
  for i, row in ipairs(views) do
    it(("is a view: row %d"):format(i), function()
      local t = grid()
      local v = t[row[1]]
      assert.is_true(st.is_tensor(v))
      assert.same(row[2], v.shape)
      assert.is_true(v:is_alias_of(t))
      if row[3] then assert.same(row[3], v:reshape(-1):totable()) end
    end)
  end

  -- key, shape, elements in order; positions count from 1
  local longs = tensors.i64
  local copies = {
    {function() return longs {3, 1} end, {2, 4}, {8, 9, 10, 11, 0, 1, 2, 3}},
    {function() return {{}, longs {4, 4, 1}} end, {3, 3},
     {3, 3, 0, 7, 7, 4, 11, 11, 8}},
    {function() return {longs {1, 2}, longs {1, 4}} end, {2}, {0, 7}},
    {function() return {longs {1, -1}, 2} end, {2}, {1, 9}},
    {function() return {2, longs {{1, 2}, {3, 4}}} end, {2, 2}, {4, 5, 6, 7}},
    {function() return st.tensor {true, false, true} end, {2, 4},
     {0, 1, 2, 3, 8, 9, 10, 11}},
    {function(t) return t:gt(9) end, {2}, {10, 11}},
    {function() return {{}, st.tensor {false, true, false, true}} end, {3, 2},
     {1, 3, 5, 7, 9, 11}},
    {function(t) return {t:gt(100)} end, {0}, {}},
    {function() return {longs {2}, {2, 3}} end, {1, 2}, {5, 6}},
  }
  for i, row in ipairs(copies) do
    it(("by tensors is a copy: row %d"):format(i), function()
      local t = grid()
      local v = t[row[1](t)]
      assert.same(row[2], v.shape)
      assert.is_false(v:is_alias_of(t))
      assert.same(row[3], v:reshape(-1):totable())
    end)
  end

  it("counts the dimensions of a mask before what follows", function()
    local t = st.arange(8):view(2, 2, 2)
    local mask = st.tensor {{true, false}, {false, true}}
    assert.same({{0}, {6}}, t[{mask, {1}}]:totable())
  end)

  it("by a 0-dim integer tensor selects", function()
    local t = grid()
    local v = t[st.tensor(2)]
    assert.same({4, 5, 6, 7}, v:totable())
    assert.is_true(v:is_alias_of(t))
  end)

  -- key, value, all twelve elements afterwards
  local writes = {
    {1, 9, {9, 9, 9, 9, 4, 5, 6, 7, 8, 9, 10, 11}},
    {{{}, 1}, -1, {-1, 1, 2, 3, -1, 5, 6, 7, -1, 9, 10, 11}},
    {"2:3, -1", 0, {0, 1, 2, 3, 4, 5, 6, 0, 8, 9, 10, 0}},
    {{2}, {1, 2, 3, 4}, {0, 1, 2, 3, 1, 2, 3, 4, 8, 9, 10, 11}},
    {{{1, 2}, {1, 2}}, {{20, 21}, {22, 23}},
     {20, 21, 2, 3, 22, 23, 6, 7, 8, 9, 10, 11}},
    {{}, 1, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"...", true, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {{3, 4}, 2, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2}},
  }
  for i, row in ipairs(writes) do
    it(("is written in place: row %d"):format(i), function()
      local t = grid()
      t[row[1]] = row[2]
      assert.same(row[3], t:view(-1):totable())
    end)
  end

  it("is written by tensors, which broadcast", function()
    local t = grid()
    t[{{}, {1, 2}}] = st.tensor {{{-1, -2}}}
    assert.same({-1, -2, 2, 3, -1, -2, 6, 7, -1, -2, 10, 11},
                t:view(-1):totable())
  end)

  it("is written through masks and positions", function()
    local t = grid()
    t[t:lt(4)] = 0
    t[{longs {3}, longs {1, -1}}] = longs {50, 60}
    assert.same({0, 0, 0, 0, 4, 5, 6, 7, 50, 9, 10, 60},
                t:view(-1):totable())
  end)

  it("of a vector is written by position", function()
    for _, dtype in ipairs {"float32", "float64", "int64", "int32"} do
      local t = st.zeros({3}, {dtype = dtype})
      t[1], t[-1] = 4, 6
      assert.same({4, 0, 6}, t:totable())
    end
  end)

  it("that is a view is written in place by methods", function()
    local y = st.zeros(1, 5, 2, 3)
    y[{{1}, {3, 5}, {}, -1}]:add_(1)
    assert.equal(6, y:sum():item())
    assert.equal(1, y[{1, 3, 1, 3}]:item())
    assert.equal(0, y[{1, 2, 1, 3}]:item())
  end)

  -- key, a part of the message
  local function vector() return st.arange(3) end
  local failures = {
    {vector, 4, "index 4 is out of range"},
    {vector, -4, "index %-4 is out of range"},
    {vector, 0, "index 0 .* of size %d, since indices count from 1"},
    {grid, st.tensor(0), "index 0 is out of range, since indices count from 1"},
    {grid, {0}, "index 0 is out of range, since indices count from 1"},
    {grid, 5, "index 5 is out of range for dimension 1 of size 3"},
    {grid, {1, 5}, "index 5 is out of range for dimension 2 of size 4"},
    {grid, {1, {5}}, "index 5 is out of range for dimension 2 of size 4"},
    {grid, {1, 1, 1}, "3 dimensions are indexed, the tensor has 2"},
    {grid, {{1, 2, 0}}, "the step of a range is 0, but"},
    {grid, {{1, 2, -1}}, "the step of a range is %-1, but"},
    {grid, {{0, 2}}, "a range starts at 0, but indices count from 1"},
    {grid, {1.5}, "item 1 is a number with a fraction, not an index"},
    {grid, {"x"}, "item 1 is a string, not an index"},
    {grid, {st.ellipsis, st.ellipsis}, "more than one ellipsis"},
    {grid, {{1, 2, 3, 4}}, "item 1 is a table of 4 values, .* at most 3"},
    {grid, {print}, "item 1 is a function, not an index"},
    {grid, "1;2", "character 2"}, {grid, "1,", "character 3"},
    {grid, "1, x", "character 4"}, {grid, "1:2:", "character 5"},
    {grid, "", "character 1"}, {grid, "1 2", "character 3"},
    {grid, "1\0", "character 2"}, {grid, ("9"):rep(30), "smaller number"},
    {function() return st.tensor(1) end, 1,
     "1 dimensions are indexed, the tensor has 0"},
    {grid, longs {4}, "index 4 is out of range for dimension 1 with size 3"},
    {grid, st.tensor {true}, "a mask of shape %[1%] does not fit self of " ..
     "shape %[3, 4%] at dimension 1"},
  }
  for i, row in ipairs(failures) do
    it(("fails with a reason: row %d"):format(i), function()
      assert.matches(row[3], raises_here("index", read(row[2]), row[1]()))
    end)
  end

  it("of an unknown name is an error", function()
    raises("a tensor has no 'no_such_method'",
           function() return grid().no_such_method end)
  end)

  it("does not set properties", function()
    raises("property 'shape'", function() grid().shape = {1} end)
  end)

  it("checks the dimensions of a view that a Lua kernel makes", function()
    local t = grid()
    local lib = st.library("aten", "IMPL")
    lib:impl("select.int", "CPU", function(self) return self:clone() end)
    local ok, one = pcall(read(2), t)
    local _, several = pcall(read {2}, t)
    lib:close()
    assert.is_false(ok)
    assert.matches("select made a view of 2 dimensions, not 1", one, 1, true)
    assert.equal(one, several)
  end)

  it("leaves the tensor alone when writing fails", function()
    local t = grid()
    raises("3 dimensions are indexed, the tensor has 2",
           function() t[{1, {}, 1}] = 5 end)
    raises({"copy_: ", "[4] and [5]"}, function() t[1] = st.zeros(5) end)
    raises("index: cannot assign a string", function() t[1] = "x" end)
    raises({"tensor: ", "[2] has 1"}, function() t[1] = {{1, 2}, {3}} end)
    assert.same(grid():totable(), t:totable())
  end)

  it("by a tensor makes results that are collected in time", function()
    local t, rows = st.rand(512, 512), st.arange(1, 513)
    collectgarbage()
    st.memory.reset_peak()
    local start = st.memory().data.bytes
    for _ = 1, 200 do local _ = t[rows] end -- 1 MB each
    assert.is_true(st.memory().data.peak < start + 100 * 2 ^ 20)
  end)

  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
