--- Wrong calls: what is said, where, and that nothing else happens.
-- axes: lua ffi lua5.2

local st = require "strided"
local all_methods = require("strided.name.method_names").all
local tensors = require "spec.support.tensors"

local failure, live, raises = tensors.failure, tensors.live, tensors.raises

local function line() return debug.getinfo(2, "l").currentline end

describe("an error", function()
  local before, x, ints
  setup(function() before = live() end)
  before_each(function()
    x, ints = st.zeros(2, 3), st.zeros({2}, {dtype = "int64"})
  end)
  after_each(function() x, ints = nil, nil end)

  describe("points at the caller's line", function()
    local rows = {
      {"function", function() local y = st.add(1, 2) return y end},
      {"method", function() local y = x:sum("one") return y end},
      {"metamethod", function() local y = x + "one" return y end},
      {"shape mismatch", function() local y = x + st.zeros(4) return y end},
      {"index", function() local y = x[7] return y end},
      {"assignment", function() x[7] = 0 end},
      {"operator object", function() local y = st.ops.aten.add() return y end},
      {"conversion", function() local y = st.tensor {1, {}} return y end},
      {"dtype", function() st.set_default_dtype "int64" end},
    }
    for _, row in ipairs(rows) do
      it("of a " .. row[1], function()
        local where = debug.getinfo(row[2], "S").linedefined
        raises({"call_errors_spec.lua:" .. where .. ": "}, row[2])
      end)
    end

    it("through our own Lua files", function()
      local at
      local message = raises({"iterator: ", "call_errors_spec.lua:"}, function()
        at = line() + 1
        local plan = st.iterator {outputs = {x}, inputs = {ints}}
        return plan
      end)
      assert.matches(":" .. at .. ": ", message)
    end)

    it("inside a coroutine", function()
      local co = coroutine.create(function()
        local y = x + st.zeros(4)
        return y
      end)
      local ok, message = coroutine.resume(co)
      assert.is_false(ok)
      assert.matches("call_errors_spec.lua:", message)
    end)
  end)

  describe("names operator, argument, type and what was given:", function()
    -- call, patterns
    local rows = {
      {function() return x:add "one" end,
       {": add: ", "'other'", "string 'one'"}},
      {function() return x:add() end, {": add: ", "'other'", "missing"}},
      {function() return st.add(1, 2) end, {": add: ", "needs a Tensor"}},
      {function() return x:permute {1, "b"} end,
       {": permute: ", "'dims'", "element 2 is string"}},
      {function() return x:permute {0, 1} end, {"'dims'", "count from 1"}},
      {function() return x:sum {dim = 0} end, {"'dim'", "count from 1"}},
      {function() return x:transpose(1.5, 2) end,
       {"'dim0'", "a dimension, got number 1.5", "x:transpose(1, 2)"}},
      {function() return x:sum {dimm = 1} end, {": sum: ", "'dimm'"}},
      {function() return x:abs(1) end, {": abs: ", "at most 0", "got 1"}},
      {function() return x:transpose(1, 2, {dim0 = 1}) end,
       {"'dim0'", "twice"}},
      {function() return x:clone {memory_format = "diagonal"} end,
       {"'memory_format'", "diagonal"}},
      {function() return x:to "int9" end, {": to: ", "int9"}},
      {function() return st.cat {x, 1} end,
       {": cat: ", "'tensors'", "element 2 is number 1"}},
      {function() return x:view {out = x} end, {": view: "}},
      {function() return st.zeros("a") end, {": zeros: ", "'size'"}},
      {function() return x:equal(3) end, {"equal: "}},
      {function() return x:add(x, {out = 3}) end, {": add: ", "out"}},
    }
    for i, row in ipairs(rows) do
      it("row " .. i, function() raises(row[2], row[1]) end)
    end

    it("and lists calls that fit, a few of them", function()
      local message = raises({"x:to(\"float32\")", "x:to(\"cpu\", "},
                             function() return x:to("one") end)
      local _, lines = message:gsub("\n", "")
      assert.is_true(lines >= 2 and lines <= 8)
    end)
  end)

  describe("of the engine says the shapes:", function()
    it("broadcasting", function()
      raises({": add: ", "3", "4"}, function() return x + st.zeros(4) end)
    end)
    it("views", function()
      raises({": view: ", "[4]", "6 elements"},
             function() return x:view(4) end)
    end)
    it("dimensions", function()
      raises({": sum: ", "dimension 3"}, function() return x:sum(3) end)
    end)
    it("casts", function()
      raises({": add_: ", "float32", "int64"},
             function() return ints:add_(1.5) end)
    end)
  end)

  describe("of misuse does not crash:", function()
    it("a freed tensor", function()
      local t = st.zeros(3)
      t:free()
      t:free()
      raises({"add: ", "freed Tensor"}, function() return t + 1 end)
      raises({"shape: ", "freed Tensor"}, function() return t.shape end)
      raises("freed Tensor", function() return t[1] end)
      raises("freed Tensor", function() t[1] = 2 end)
      raises({"add: ", "freed Tensor"}, function() return x:add(t) end)
      raises({"cat: ", "element 1 is freed Tensor"},
             function() return st.cat {t} end)
      assert.equal("tensor(freed)", tostring(t))
    end)

    it("methods of something else", function()
      -- An empty list of tensors has an empty list of results.
      local empty, of_lists = {}, {
        atleast_1d = true, atleast_2d = true, atleast_3d = true,
      }
      for name, method in pairs(all_methods(getmetatable(x))) do
        local function check(...)
          local why = failure(method, ...)
          assert.truthy(why:find(name .. ": ", 1, true) or
                        why:find("argument 'self'", 1, true), why)
        end
        for _, self in ipairs {1, "x", empty, io.stdout, print} do
          if self ~= empty or not of_lists[name] then check(self) end
        end
        check()
      end
    end)

    it("numbers that are no sizes", function()
      for _, n in ipairs {-1, 2 ^ 62} do
        raises({": empty: ", " shape "}, function()
          return st.empty(n, n)
        end)
      end
      for _, n in ipairs {2 ^ 63, 1 / 0, 0 / 0, 1.5} do
        raises({": empty: ", "'size' must be a list of integers"}, function()
          return st.empty(n, n)
        end)
      end
    end)

    it("memory that nobody has", function()
      raises(": empty: out of memory", function()
        return st.empty(2 ^ 45)
      end)
    end)

    it("metatables are not handed out", function()
      assert.is_nil(getmetatable(x).__gc)
      assert.equal("protected", getmetatable(st.newaxis))
    end)

    it("metadata questions to the meta device", function()
      local m = st.empty({2, 2}, {device = "meta"})
      assert.same({2, 2}, m.shape)
      assert.equal("meta", m.device)
      raises("totable: a tensor on the meta device has no data",
             function() return m:totable() end)
      raises("item: self must have exactly one element, its shape is",
             function() return m:item() end)
      raises("item: self is on the meta device", function()
        return st.empty({1}, {device = "meta"}):item()
      end)
      raises("has no data", function() return m[1][1] end)
    end)
  end)

  describe("is not raised for", function()
    it("nil where an argument has a default", function()
      assert.same({0, 0, 0}, x:sum({1}, nil, nil):totable())
      assert.same({}, x:sum(nil).shape)
    end)

    it("single numbers where a list must be", function()
      assert.same({3, 2}, x:view(3, 2).shape)
      assert.same({6}, x:view(6).shape)
      assert.same({3, 2}, x:permute(2, 1).shape)
      assert.same({3}, x:sum(1).shape)
      assert.same({1, 3}, x:sum(1, true).shape)
      assert.same({}, x:sum(1, 2).shape)
      assert.same({1, 1}, x:sum(1, 2, true).shape)
      assert.same({4}, st.zeros(4).shape)
      assert.same({2, 2}, st.full({2, 2}, 7).shape)
    end)

    it("a table of keywords, alone or last", function()
      assert.same({1, 3}, x:sum({dim = 1, keepdim = true}).shape)
      assert.same({1, 3}, x:sum({1}, {keepdim = true}).shape)
      assert.same({3}, st.sum({self = x, dim = {1}}).shape)
      assert.equal("float64", tostring(x:sum {dtype = "float64"}.dtype))
    end)

    it("st.none where nothing is meant", function()
      assert.same({}, x:sum(st.none).shape)
    end)
  end)

  describe("leaves alone what identity promises:", function()
    it("in-place methods return their tensor", function()
      assert.equal(x, x:add_(1))
      assert.equal(x, x:zero_())
    end)

    it("out= returns the tensor given", function()
      local out = st.empty(2, 3)
      assert.equal(out, st.add(x, 1, {out = out}))
      assert.equal(out, x:add(x, {out = out, alpha = 2}))
    end)

    it("out= takes several", function()
      local values, indices = st.empty(0), st.empty({0}, {dtype = "int64"})
      local t = st.tensor {3, 1, 2}
      values = values:to "int64"
      local a, b = t:sort {out = {values, indices}}
      assert.equal(values, a)
      assert.equal(indices, b)
      assert.same({1, 2, 3}, values:totable())
      assert.same({2, 3, 1}, indices:totable())
    end)

    it("== is identity", function()
      assert.is_false(st.zeros(1) == st.zeros(1))
      assert.is_true(st.zeros(1):equal(st.zeros(1)))
    end)
  end)

  it("leaves no tensor behind", function()
    x, ints = nil, nil
    assert.equal(before, live())
  end)
end)
