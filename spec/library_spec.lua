--- Operators and kernels from Lua.

local st = require "strided"

describe("a library", function()
  local before
  setup(function()
    collectgarbage() collectgarbage()
    before = st.memory().tensors.count
  end)

  local lib
  before_each(function() lib = st.library "speclib" end)
  after_each(function() lib:close() end)

  it("defines operators that are called like built-in ones", function()
    lib:def "hypot2(Tensor a, Tensor b, *, float scale=1.0) -> Tensor"
    lib:impl("hypot2", "CompositeImplicitAutograd",
             function(a, b, scale) return (a * a + b * b) * scale end)
    local x, y = st.tensor {3.0, 1.0}, st.tensor {4.0, 2.0}
    local hypot2 = st.ops.speclib.hypot2
    assert.same({25, 5}, hypot2(x, y):totable())
    assert.same({50, 10}, hypot2(x, y, {scale = 2}):totable())
    assert.same({25, 5}, x:hypot2(y):totable())
    assert.same({25, 5}, st.hypot2(x, y):totable())
    assert.same({25, 5}, hypot2({a = x, b = y}):totable())
  end)

  it("shows its schemas", function()
    lib:def("f(Tensor x) -> Tensor", "Does nothing.")
    lib:def "f.two(Tensor x, int n) -> Tensor"
    local f = st.ops.speclib.f
    assert.equal("speclib::f.two(Tensor x, int n) -> Tensor", f.two:schema())
    assert.equal("speclib::f(Tensor x) -> Tensor", f.default:schema())
    assert.same({"speclib::f", "speclib::f.two"}, f:overloads())
    assert.matches("Does nothing", st.help "speclib::f")
    assert.is_nil(f.three)
  end)

  it("chooses overloads in order of definition", function()
    lib:def "g.T(Tensor x, Tensor y) -> int"
    lib:def "g.S(Tensor x, Scalar y) -> int"
    lib:def "g.L(Tensor x, int[] y) -> int"
    lib:impl("g.T", "CPU", function() return 1 end)
    lib:impl("g.S", "CPU", function() return 2 end)
    lib:impl("g.L", "CPU", function() return 3 end)
    local x, g = st.zeros(1), st.ops.speclib.g
    assert.equal(1, g(x, x))
    assert.equal(2, g(x, 1.5))
    assert.equal(2, g(x, true))
    assert.equal(3, g(x, {1, 2}))
    assert.equal(3, g(x, 1, 2))
    assert.equal(1, g.T(x, 5)) -- a number is wrapped where only T is asked
  end)

  it("hands over every kind of argument", function()
    local seen
    lib:def("h(Tensor? t, Tensor[] ts, int i, float f, bool b, str s, "
            .. "Scalar x, ScalarType d, MemoryFormat m, Device v, "
            .. "int[] ns, bool[] bs, float[] fs, Tensor?[] os, int? n=None) "
            .. "-> ()")
    lib:impl("h", "CompositeExplicitAutograd", function(...)
      seen = {n = select("#", ...), ...}
    end)
    local t = st.zeros(2)
    assert.equal(0, select("#", st.ops.speclib.h(
      st.none, {t, t}, 7, 2, true, "text", st.complex(0, 1), "int8",
      "channels_last", "cpu", {1, 2}, {true}, {0.5}, {t, st.none})))
    assert.equal(15, seen.n)
    assert.is_nil(seen[1])
    assert.equal(2, #seen[2])
    assert.is_true(seen[2][1]:is_alias_of(t))
    assert.same({7, 2, true, "text"}, {unpack(seen, 3, 6)})
    assert.equal(st.complex(0, 1), seen[7])
    assert.equal(st.int8, seen[8])
    assert.same({"channels_last", "cpu", {1, 2}, {true}, {0.5}},
                {unpack(seen, 9, 13)})
    assert.equal("none", tostring(seen[14][2]))
  end)

  -- what the caller passes, what the kernel sees, what comes back
  local positions = {
    {"Dim", 1}, {"Dim", 3}, {"Dim", -1}, {"Index", 5}, {"Index", -2},
    {"End", 4}, {"End", -1}, {"End", -3}, {"End", 0},
  }
  for _, row in ipairs(positions) do
    it(("keeps positions: %s %d"):format(row[1], row[2]), function()
      local seen
      lib:def(("p(%s x) -> %s"):format(row[1], row[1]))
      lib:impl("p", "CompositeImplicitAutograd", function(x)
        seen = x
        return x
      end)
      assert.equal(row[2], st.ops.speclib.p(row[2]))
      assert.equal(row[2], seen)
    end)
  end

  it("returns several results and lists", function()
    lib:def "r(Tensor x) -> (Tensor, int, bool, float, str, Tensor[], int[])"
    lib:impl("r", "CompositeImplicitAutograd", function(x)
      return x + 1, 3, true, 0.5, "s", {x, x}, {4, 5}
    end)
    local t, i, b, f, s, list, ints = st.ops.speclib.r(st.zeros(1))
    assert.same({1}, t:totable())
    assert.same({3, true, 0.5, "s", {4, 5}}, {i, b, f, s, ints})
    assert.equal(2, #list)
  end)

  it("keeps the identity of what is written in place", function()
    lib:def "inc_(Tensor(a!) self) -> Tensor(a!)"
    lib:impl("inc_", "CPU", function(self) return self:add_(1) end)
    local x = st.zeros(1)
    assert.equal(x, st.ops.speclib.inc_(x))
    assert.same({1}, x:totable())
  end)

  describe("whose kernel fails", function()
    it("passes the error on as it is", function()
      lib:def "bad(Tensor x) -> Tensor"
      lib:impl("bad", "CPU", function() error {code = 7} end)
      local ok, e = pcall(st.ops.speclib.bad, st.zeros(1))
      assert.is_false(ok)
      assert.equal(7, e.code)
      lib:impl("bad", "CPU", function() error("plain", 0) end)
      ok, e = pcall(st.ops.speclib.bad, st.zeros(1))
      assert.is_false(ok)
      assert.equal("plain", e)
    end)

    it("through several calls, and can be caught on the way", function()
      lib:def "inner(Tensor x) -> Tensor"
      lib:def "outer(Tensor x) -> Tensor"
      lib:impl("inner", "CPU", function() error("deep", 0) end)
      lib:impl("outer", "CPU", function(x)
        local ok, e = pcall(st.ops.speclib.inner, x)
        assert(not ok and e == "deep")
        return st.ops.speclib.inner(x)
      end)
      local ok, e = pcall(st.ops.speclib.outer, st.zeros(1))
      assert.is_false(ok)
      assert.equal("deep", e)
    end)

    -- schema, what the kernel returns, pattern
    local rows = {
      {"() -> Tensor", nil, "result 1 .* Tensor, got nil"},
      {"() -> Tensor", 3, "Tensor, got integral number"},
      {"() -> int", 1.5, "int, got number with a fraction"},
      {"() -> Tensor[]", {1}, "Tensor%[%]"},
      {"() -> bool", "yes", "bool, got string"},
    }
    for i, row in ipairs(rows) do
      it("by its result: row " .. i, function()
        lib:def("q" .. row[1])
        lib:impl("q", "CompositeImplicitAutograd",
                 function() return row[2] end)
        local ok, e = pcall(st.ops.speclib.q)
        assert.is_false(ok)
        assert.matches(row[3], e)
        assert.matches("speclib::q", e)
      end)
    end

    it("because it never ends", function()
      lib:def "loop(Tensor x) -> Tensor"
      lib:impl("loop", "CPU", function(x) return (st.ops.speclib.loop(x)) end)
      assert.is_false(pcall(st.ops.speclib.loop, st.zeros(1)))
    end)
  end)

  it("may free what it was given", function()
    local x = st.ones(2)
    lib:def "eat(Tensor a) -> Tensor"
    lib:impl("eat", "CPU", function(a)
      local y = a + 1
      x:free()
      a:free()
      collectgarbage()
      return y
    end)
    assert.same({2, 2}, st.ops.speclib.eat(x):totable())
    assert.is_false(pcall(function() return x.shape end))
  end)

  it("runs its kernels on the coroutine of the call", function()
    lib:def "who(Tensor x) -> int"
    local running
    lib:impl("who", "CPU", function()
      running = coroutine.running()
      return 1
    end)
    local co = coroutine.create(function() st.ops.speclib.who(st.zeros(1)) end)
    assert.is_true(coroutine.resume(co))
    assert.equal(co, running)
  end)

  it("overrides built-in operators until it is closed", function()
    local x = st.tensor {1.0, -2.0}
    lib:impl("aten::abs", "CPU", function(a) return a * 10 end)
    assert.same({10, -20}, x:abs():totable())
    lib:close()
    assert.same({1, 2}, x:abs():totable())
    lib = st.library "speclib"
  end)

  it("takes everything back when it is closed", function()
    lib:def "gone(Tensor x) -> Tensor"
    lib:impl("gone", "CPU", function(x) return x end)
    local gone = st.ops.speclib.gone
    gone(st.zeros(1))
    lib:close()
    local ok, e = pcall(gone, st.zeros(1))
    assert.is_false(ok)
    assert.matches("gone", e)
    assert.is_nil(st.gone)
    assert.has_error(function() lib:def "again() -> int" end)
    lib = st.library "speclib"
  end)

  it("takes everything back when it is collected", function()
    do
      local other = st.library "speclib2"
      other:def "temporary() -> int"
      other:impl("temporary", "CompositeImplicitAutograd",
                 function() return 5 end)
      assert.equal(5, st.ops.speclib2.temporary())
    end
    collectgarbage() collectgarbage()
    assert.is_false(pcall(function() return st.ops.speclib2.temporary() end))
  end)

  it("replaces its own definitions, as when a script runs again", function()
    lib:def "again(Tensor x) -> int"
    lib:impl("again", "CPU", function() return 1 end)
    assert.equal(1, st.ops.speclib.again(st.zeros(1)))
    lib:def "again(Tensor x, int n=5) -> int"
    lib:impl("again", "CPU", function(_, n) return n end)
    assert.equal(5, st.ops.speclib.again(st.zeros(1)))
  end)

  it("refuses what is malformed, saying where", function()
    for _, bad in ipairs {"f(", "f(Tensr x) -> int", "", "f(Tensor) -> int"} do
      local ok, e = pcall(function() lib:def(bad) end)
      assert.is_false(ok)
      assert.matches("library_spec.lua:", e)
    end
    assert.has_error(function() lib:impl("f", "NoSuchKey", print) end)
    assert.has_error(function() lib:impl("f", "CPU", 7) end)
    assert.has_error(function() st.library "a b" end)
  end)

  it("shows up in traces", function()
    lib:def "twice(Tensor x) -> Tensor"
    lib:impl("twice", "CompositeImplicitAutograd",
             function(x) return x + x end)
    local events, y = st.dispatch_trace(st.ops.speclib.twice, st.ones(1))
    assert.same({2}, y:totable())
    assert.equal("speclib::twice", events[1].op)
    assert.equal("aten::add.Tensor", events[2].op)
    assert.equal("CPU", events[2].key)
    assert.is_true(events[2].depth > events[1].depth)
    assert.has_error(function() st.dispatch_trace(error, "x") end)
    assert.equal(0, #st.dispatch_trace(function() end))
  end)

  it("leaves no tensor behind", function()
    collectgarbage() collectgarbage()
    assert.equal(before, st.memory().tensors.count)
  end)
end)
