--- Operators and kernels from Lua.
-- axes: lua ffi

local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, live, raises = tensors.failure, tensors.live, tensors.raises

local unpack = unpack or table.unpack

describe("a library", function()
  local before
  setup(function() before = live() end)

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

  it("defines an operator and its kernel, or neither", function()
    local name = ("n"):rep(300)
    lib:def(name .. "(Tensor x) -> Tensor", function(x) return x + 1 end)
    assert.same({2}, st.ops.speclib[name](st.ones(1)):totable())
    assert.is_nil(st.ops.speclib[name:sub(1, 255)])
    lib:def(" spaced . two (Tensor x) -> int", function() return 2 end)
    assert.equal(2, st.ops.speclib.spaced.two(st.ones(1)))
    for k = 1, 30 do
      st.memory_fail_at(k)
      local ok = pcall(lib.def, lib, "both(Tensor x) -> int",
                       function() return 7 end)
      st.memory_fail_at(0)
      local both = st.ops.speclib.both
      assert.equal(ok, both ~= nil)
      if ok then
        assert.equal(7, both(st.ones(1)))
        return
      end
    end
    assert.is_true(false, "never defined")
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

  -- the type of a result, what the kernel returns and its caller sees
  local results = {
    {"float[]", {1.5, 2}}, {"float[]", {}}, {"bool[]", {true, false}},
    {"int[2]", {7, 8}}, {"Dim[]", {1, -1}}, {"int?", nil}, {"float?", 0.5},
    {"Scalar", true}, {"ScalarType", st.int8}, {"Device", "meta"},
    {"MemoryFormat", "channels_last"}, {"str", "a\0b"},
    {"Scalar", st.complex(1, 2)},
  }
  for i, row in ipairs(results) do
    it(("gives back a %s: row %d"):format(row[1], i), function()
      lib:def("r(int n) -> " .. row[1], function() return row[2] end)
      assert.same(row[2], (st.ops.speclib.r(0)))
    end)
  end

  it("hands over the very objects of a direct call", function()
    local x, seen = st.zeros(2), {}
    lib:def("same(Tensor a, Tensor b) -> Tensor",
            function(a, b)
              seen = {a, b}
              return b
            end)
    assert.equal(x, st.ops.speclib.same(x, x))
    assert.is_true(rawequal(x, seen[1]) and rawequal(x, seen[2]))
    lib:def("around(Tensor a) -> Tensor", function(a)
      return st.ops.speclib.same(a[1], a)
    end)
    assert.equal(x, st.ops.speclib.around(x))
    assert.is_true(rawequal(x, seen[2]))
    assert.equal(0, seen[1]:dim())
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
      assert.equal(7, failure(st.ops.speclib.bad, st.zeros(1)).code)
      lib:impl("bad", "CPU", function() error(nil) end)
      assert.is_nil(failure(st.ops.speclib.bad, st.zeros(1)))
    end)

    it("adds the traceback of the kernel to a message, once", function()
      local function helper() error("plain", 0) end
      lib:def("bad(Tensor x) -> Tensor", function()
        helper()
        return nil
      end)
      lib:def("worse(Tensor x) -> Tensor", function(x)
        return (st.ops.speclib.bad(x))
      end)
      local e = failure(st.ops.speclib.worse, st.zeros(1))
      local message, trace = e:match "^(.-)\nstack traceback:\n(.*)$"
      assert.equal("plain", message)
      local _, lines = trace:gsub("[^\n]+", "")
      assert.equal(2, lines) -- helper and bad: neither worse nor the spec
      assert.matches("^\tspec/dispatch/library_spec.lua:%d+: in .-helper",
                     trace)
      assert.is_nil(trace:find("strided/", 1, true))
    end)

    it("through several calls, and can be caught on the way", function()
      lib:def "inner(Tensor x) -> Tensor"
      lib:def "outer(Tensor x) -> Tensor"
      lib:impl("inner", "CPU", function() error("deep", 0) end)
      lib:impl("outer", "CPU", function(x)
        local ok, e = pcall(st.ops.speclib.inner, x)
        assert(not ok and e:match "^deep\n")
        return st.ops.speclib.inner(x)
      end)
      assert.matches("^deep\n", failure(st.ops.speclib.outer, st.zeros(1)))
    end)

    it("because it yields", function()
      lib:def("pause() -> ()", function() coroutine.yield() end)
      local co = coroutine.create(function() st.pause() end)
      local ok, e = coroutine.resume(co)
      assert.is_false(ok)
      assert.matches("yield", e)
      assert.equal("dead", coroutine.status(co))
    end)

    -- schema, what the kernel returns, pattern
    local rows = {
      {"() -> Tensor", nil, "result 1 .* Tensor, got nil"},
      {"() -> Tensor", 3, "a Tensor, got number 3"},
      {"() -> int", 1.5, "an integer, got number 1.5"},
      {"() -> Tensor[]", {1}, "a list of Tensors, its element 1 is number 1"},
      {"() -> float[]", {1, "x"},
       "a list of numbers, its element 2 is string 'x'"},
      {"() -> bool[]", 1, "a list of booleans, got number 1"},
      {"() -> bool", "yes", "true or false, got string 'yes'"},
      {"() -> Dim", 0, "a dimension, got number 0"},
    }
    for i, row in ipairs(rows) do
      it("by its result: row " .. i, function()
        lib:def("q" .. row[1], function() return row[2] end)
        local e = failure(st.ops.speclib.q)
        assert.matches(row[3], e)
        assert.matches("speclib::q: .-function from spec/dispatch/" ..
                       "library_spec", e)
      end)
    end

    it("by a result too many", function()
      lib:def("q() -> int", function() return 1, 2 end)
      local e = failure(st.ops.speclib.q)
      assert.matches("q: the Lua function from spec/dispatch/library_spec.-"
                     .. "must return 1 result, got 2", e)
    end)

    it("by its second result, and keeps nothing of the first", function()
      lib:def("q() -> (Tensor, Tensor)", function() return st.ones(2), 1 end)
      local n = live()
      assert.matches("result 2", failure(st.ops.speclib.q))
      assert.equal(n, live())
    end)

    it("because it never ends", function()
      lib:def "loop(Tensor x) -> Tensor"
      lib:impl("loop", "CPU", function(x) return (st.ops.speclib.loop(x)) end)
      tensors.nests_too_deep("speclib::loop: operators call each other",
                             st.ops.speclib.loop, st.zeros(1))
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
    raises({"shape: ", "freed Tensor"}, function() return x.shape end)
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
    local over = st.library("aten", "IMPL")
    over:impl("abs", "CPU", function(a) return a * 10 end)
    assert.same({10, -20}, x:abs():totable())
    over:close()
    assert.same({1, 2}, x:abs():totable())
    assert.matches("belongs to the engine", failure(st.library, "aten"))
  end)

  it("uncovers what a newer one hid (R5)", function()
    lib:def("v() -> int", function() return 1 end)
    local newer = st.library("speclib", "IMPL")
    newer:impl("v", function() return 2 end)
    assert.equal(2, st.ops.speclib.v())
    local newest = st.library("speclib", "IMPL", "CompositeImplicitAutograd")
    newest:impl("v", function() return 3 end)
    assert.equal(3, st.ops.speclib.v())
    newer:close()
    assert.equal(3, st.ops.speclib.v())
    newest:close()
    assert.equal(1, st.ops.speclib.v())
  end)

  it("lets a kernel that is replaced while it runs finish", function()
    lib:def("change(Tensor x) -> int", function(x)
      lib:impl("change", function() return 2 end)
      require "spec.support.collect" ()
      return x[1] * 100 + st.ops.speclib.change(x)
    end)
    assert.equal(102, st.ops.speclib.change(st.ones(1)))
    assert.equal(2, st.ops.speclib.change(st.ones(1)))
  end)

  it("takes an operator as a kernel", function()
    lib:def "minus(Tensor x) -> Tensor"
    lib:impl("minus", st.ops.aten.neg)
    assert.same({-1}, st.ops.speclib.minus(st.ones(1)):totable())
  end)

  it("lets a kernel see the keys of its call (C9)", function()
    local keys
    lib:def "k(Tensor x, int n) -> int"
    lib:impl("k", "CPU", function(ks, _, n)
      keys = ks
      return n
    end, {with_keys = true})
    assert.equal(5, st.ops.speclib.k(st.ones(1), 5))
    assert.equal("CPU", keys:highest())
  end)

  it("lets a kernel register, call and close a library", function()
    lib:def("build(Tensor x) -> Tensor", function(x)
      local other = st.library "speclib2"
      other:def("inner(Tensor x) -> Tensor", function(y) return y * 2 end)
      local y = st.ops.speclib2.inner(x)
      other:close()
      return y + 1
    end)
    assert.same({3}, st.ops.speclib.build(st.ones(1)):totable())
    assert.is_nil(st.ops.speclib2.inner and st.ops.speclib2.inner.default)
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
    assert.is_nil(st.ops.speclib.gone)
    raises("'speclib' is closed", lib.def, lib, "again() -> int")
    lib = st.library "speclib"
  end)

  it("takes everything back when it is collected", function()
    local temporary
    do
      local other = st.library "speclib2"
      other:def "temporary() -> int"
      other:impl("temporary", "CompositeImplicitAutograd",
                 function() return 5 end)
      temporary = st.ops.speclib2.temporary
      assert.equal(5, temporary())
    end
    require "spec.support.collect" ()
    raises("speclib2::temporary: there is no such operator", temporary)
    assert.is_nil(st.ops.speclib2.temporary)
  end)

  it("replaces its own definitions, as when a script runs again", function()
    lib:def "again(Tensor x) -> int"
    lib:impl("again", "CPU", function() return 1 end)
    assert.equal(1, st.ops.speclib.again(st.zeros(1)))
    lib:def "again(Tensor x, int n=5) -> int"
    lib:impl("again", "CPU", function(_, n) return n end)
    assert.equal(5, st.ops.speclib.again(st.zeros(1)))
  end)

  it("finds overloads that came since an operator was looked up", function()
    lib:def("f.a(int x) -> int", function() return 1 end)
    local f = st.ops.speclib.f
    assert.equal(1, f(0))
    lib:close()
    lib = st.library "speclib"
    lib:def("f.b(str x) -> int", function() return 2 end)
    assert.equal(2, f "x")
    assert.same({"speclib::f.b"}, f:overloads())
  end)

  it("has documentation and tags (R15)", function()
    lib:def("f(Tensor x) -> Tensor",
            {doc = "Does nothing.", tags = {"pointwise", "view_copy"}},
            function(x) return x end)
    assert.equal("Does nothing.", st.ops.speclib.f:doc())
    assert.same({"view_copy", "pointwise"}, st.ops.speclib.f:tags())
    local e = failure(lib.def, lib, "g() -> int", {tags = {"fast"}})
    assert.matches("no tag 'fast'", e)
    assert.is_nil(st.ops.speclib.g)
    local aten = st.ops.aten
    assert.same({"nondeterministic_seeded"}, aten.randn:tags())
    assert.same({"dynamic_output_shape"}, aten.nonzero:tags())
    assert.same({"inplace_view"}, aten.squeeze_:tags())
    assert.same({}, aten.add:tags())
  end)

  it("registers all or nothing as a transaction", function()
    local e = failure(st.library, "speclib3", function(l)
      l:def("one() -> int", function() return 1 end)
      assert.is_nil(st.ops.speclib3.one) -- not yet
      l:def "two("
    end)
    assert.matches("library_spec.lua:%d+: .*two", e)
    assert.is_nil(st.ops.speclib3.one)
    local done = st.library("speclib3", "DEF", function(l)
      l:def("one() -> int", function() return 1 end)
      l:def("two() -> int", function() return 2 end)
    end)
    assert.equal(3, st.one() + st.two())
    done:def("three() -> int", function() return 3 end)
    assert.equal(3, st.three())
    done:close()
    assert.is_nil(st.ops.speclib3.one)
  end)

  it("replaces a whole library in one step", function()
    lib:def("old() -> int", function() return 1 end)
    local e = failure(st.library, "speclib", function(l)
      l:def("new() -> int", function() return 2 end)
      error("halfway", 0)
    end)
    assert.equal("halfway", e)
    assert.equal(1, st.old())
    local other = st.library("speclib", function(l)
      l:def("new() -> int", function() return 2 end)
    end)
    assert.is_nil(st.ops.speclib.old)
    assert.equal(2, st.new())
    assert.equal("library 'speclib' (closed)", tostring(lib))
    assert.matches("closed", failure(lib.def, lib, "x() -> int"))
    other:close()
  end)

  it("refuses to be a second owner when registration is strict", function()
    assert.is_false(st.strict_registration(true))
    local ok, e = pcall(function()
      local own = st.library "speclib4"
      own:def "f() -> int"
      assert.matches("defined", failure(st.library, "speclib4"))
      assert.matches("already", failure(own.def, own, "f() -> int"))
      own:close()
    end)
    assert.is_true(st.strict_registration(false))
    assert(ok, e)
  end)

  -- what the engine does not allow, and why (R2)
  local misuse = {
    {"the text ends", function(l) l:def "f(" end},
    {"Tensr", function(l) l:def "f(Tensr x) -> int" end},
    {"position", function(l) l:def "" end},
    {"position", function(l) l:def "f(Tensor) -> int" end},
    {"NoSuchKey", function(l) l:impl("f", "NoSuchKey", print) end},
    {"'f' must be a function", function(l) l:impl("f", "CPU", 7) end},
    {"must be a function", function(l) l:impl "f" end},
    {"namespace", function(l) l:impl("aten::abs", "CPU", print) end},
    {"namespace", function() st.library "a b" end},
    {"must be a name, got nil", function() st.library() end},
    {"kind must be", function() st.library("a", "PART") end},
    {"namespace '_'", function() st.library "_" end},
    {"IMPL library", function() st.library("speclib", "IMPL"):def "f()" end},
    {"fallback", function(l) l:fallback("CPU", print) end},
    {"must be a function", function(l) l:fallback("CPU", 1) end},
    {"schema must be a string", function(l) l:def(7) end},
    {"argument 2", function(l) l:def("f() -> int", 7) end},
  }
  for i, row in ipairs(misuse) do
    it("refuses misuse, saying where: row " .. i, function()
      local e = failure(row[2], lib)
      assert.matches(row[1], e)
      assert.matches("^spec/dispatch/library_spec.lua:%d+: ", e)
      assert.is_nil(st.ops.speclib.f)
    end)
  end

  it("shows up in traces", function()
    lib:def "twice(Tensor x) -> Tensor"
    lib:impl("twice", "CompositeImplicitAutograd",
             function(x) return x + x end)
    local events, y = st.trace(st.ops.speclib.twice, st.ones(1))
    assert.same({2}, y:totable())
    assert.equal("speclib::twice", events[1].op)
    assert.equal("aten::add.Tensor", events[2].op)
    assert.equal("CPU", events[2].key)
    assert.is_true(events[2].depth > events[1].depth)
    assert.equal("x", failure(st.trace, error, "x"))
    assert.equal(0, #st.trace(function() end))
  end)

  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
