--- Scripting the dispatcher: redispatch, guards, fallbacks, traces and
-- explanations (C1 to C15, R1 to R16).
-- axes: lua lua5.2

local build = require "spec.support.build"
local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, live, raises = tensors.failure, tensors.live, tensors.raises

local unpack = unpack or table.unpack

local keyset = st.keyset

describe("The dispatcher", function()
  local before, lib, x
  setup(function() before = live() end)
  before_each(function()
    lib = st.library "specdispatch"
    x = st.tensor({1, -2}, {dtype = "float32"})
  end)
  after_each(function()
    lib:close()
    x = nil
    assert.is_true(st.is_grad_enabled())
    assert.is_false(st.is_inference_mode_enabled())
    assert.equal(keyset("BackendSelect", "ADInplaceOrView"),
                 st.included_keys())
  end)

  -- -- Redispatch ------------------------------------------------------------

  describe("redispatches", function()
    it("with keys as they are (C5)", function()
      lib:def "f(Tensor x) -> str"
      lib:impl("f", "CPU", function() return "CPU" end)
      lib:impl("f", "Tracer", function() return "Tracer" end)
      lib:impl("f", "Named", "fallthrough")
      local f = st.ops.specdispatch.f
      assert.equal("CPU", f(x))
      assert.equal("Tracer", f:redispatch(keyset("Tracer", "CPU"), x))
      st.exclude_keys("Tracer", function()
        assert.equal("Tracer", f:redispatch("Tracer", x))
      end)
      assert.matches("fall", failure(f.redispatch, f, keyset("Named"), x))
    end)

    it("down from a kernel that is told its keys (C9)", function()
      local over = st.library("aten", "IMPL")
      local seen
      over:impl("abs", "Tracer", function(keys, t)
        seen = keys:highest()
        return st.ops.aten.abs:redispatch(keys * st.keyset_after "Tracer", t)
      end, {with_keys = true})
      st.include_keys("Tracer", function()
        assert.same({1, 2}, x:abs():totable())
      end)
      over:close()
      assert.equal("Tracer", seen)
    end)

    it("with every argument in order, or by name", function()
      local got
      lib:def("g(Tensor x, int? n=3, *, float s=0.5, str? t=None, "
              .. "Dim d=1, int[] l=[1]) -> Tensor",
              function(...)
                got = {select("#", ...), select(2, ...)}
                return (...)
              end)
      local g, keys = st.ops.specdispatch.g, keyset "CPU"
      assert.equal(x, g:redispatch(keys, x, nil, 2, "t", 1, {4, 5}))
      assert.same({6, nil, 2, "t", 1, {4, 5}}, got)
      g:redispatch(keys, x)
      assert.same({6, 3, 0.5, nil, 2, {1}}, got)
      g:redispatch(keys, x, 7, {s = 1, d = -1})
      assert.same({6, 7, 1, nil, -1, {1}}, got)
      assert.matches("at most 6",
                     failure(g.redispatch, g, keys, x, 1, 2, "t", 1, {}, 9))
    end)

    it("with lists as lists", function()
      local m, permute = st.ones(2, 3), st.ops.aten.permute
      assert.same({3, 2}, permute:redispatch("CPU", m, {2, 1}).shape)
      assert.matches("must be a list of dimensions, got number 2",
                     failure(permute.redispatch, permute, "CPU", m, 2, 1))
    end)

    it("not to something that is no set", function()
      local abs = st.ops.aten.abs
      assert.matches("no dispatch key", failure(abs.redispatch, abs, "X", x))
      assert.matches("set of dispatch keys", failure(abs.redispatch, abs, x))
    end)
  end)

  it("calls the kernel for a key, whatever the arguments have (C6)",
     function()
    lib:def "f(Tensor x) -> int"
    lib:impl("f", "CPU", function() return 1 end)
    lib:impl("f", "Meta", function() return 2 end)
    local f = st.ops.specdispatch.f
    assert.equal(1, f:call_for_key("CPU", x))
    assert.equal(2, f:call_for_key("Meta", x))
    assert.matches("CUDA", failure(f.call_for_key, f, "CUDA", x))
    assert.matches("alias", failure(f.call_for_key, f, "Autograd", x))
    assert.matches("NoKey", failure(f.call_for_key, f, "NoKey", x))
  end)

  it("is what a fallback of a backend calls, which has no keys below it",
     function()
    local over = st.library("_", "IMPL")
    local below
    over:fallback("PrivateUse1", function(op, keys, ...)
      below = tostring(keys)
      return op:call_for_key("CPU", ...)
    end)
    assert.same({3, 4}, st.include_keys("PrivateUse1", st.add,
                                        st.tensor {1, 2}, 2):totable())
    assert.equal("DispatchKeySet()", below)
    over:close()
    over = st.library("_", "IMPL")
    over:fallback("PrivateUse1", function(op, keys, ...)
      return op:redispatch(keys, ...)
    end)
    local why = failure(st.include_keys, "PrivateUse1", st.add, st.ones(1), 2)
    over:close()
    assert.truthy(why:find('the key set has no key to choose a kernel by; a '
      .. 'fallback of a backend calls the kernel of a key: op:call_for_key('
      .. '"CPU", ...)', 1, true), why)
    local help = st.help "library"
    for _, method in ipairs {"def", "impl", "fallback", "elementwise",
                             "reduction", "derivative", "close"} do
      assert.truthy(help:find("lib:" .. method .. "(", 1, true), method)
    end
    assert.truthy(help:find("op:call_for_key(", 1, true))
  end)

  -- -- Keys of a call -------------------------------------------------------

  describe("takes the keys of a call", function()
    local meta
    before_each(function()
      meta = st.empty({1}, {device = "meta"})
      lib:def "f(Tensor? t, Tensor?[] ts, int n) -> str"
      for _, key in ipairs {"CPU", "Meta"} do
        lib:impl("f", key, function() return key end)
      end
    end)
    after_each(function() meta = nil end)

    it("from its tensors, in lists, too, and nothing else (C1)", function()
      local f = st.ops.specdispatch.f
      assert.equal("CPU", f(x, {}, 1))
      assert.equal("Meta", f(st.none, {meta}, 1))
      assert.equal("Meta", f(x, {st.none, meta}, 1))
    end)

    it("and says what is missing (C12)", function()
      local f = st.ops.specdispatch.f
      assert.matches("there is no tensor to choose a kernel by.*CPU, Meta",
                     failure(f, st.none, {}, 1))
      lib:def "g(Tensor t) -> str"
      lib:impl("g", "CPU", function() return "CPU" end)
      assert.matches("g: no kernel for Meta, the key of argument 't'\n" ..
                     "kernels are registered for: CPU;",
                     failure(st.ops.specdispatch.g, meta))
    end)

    it("and of its thread, which begins with two (C2)", function()
      assert.equal(keyset("AutocastCPU", "AutocastXPU", "AutocastCUDA"),
                   st.excluded_keys())
      lib:def "g() -> str"
      lib:impl("g", "BackendSelect", function() return "BackendSelect" end)
      assert.equal("BackendSelect", st.ops.specdispatch.g())
    end)

    it("without what falls through, backend by backend (C4)", function()
      lib:impl("f", "AutogradCPU", "fallthrough")
      lib:impl("f", "AutogradMeta", function() return "AutogradMeta" end)
      local f = st.ops.specdispatch.f
      assert.equal("CPU", f(x:requires_grad_(), {}, 1))
      assert.equal("AutogradMeta", f(meta:requires_grad_(), {}, 1))
    end)
  end)

  -- -- Guards ----------------------------------------------------------------

  describe("has guards (C3)", function()
    --- Keys of a call with x, highest first.
    local function highest()
      local seen
      local watch = st.library("specguards", function(l)
        l:def "probe(Tensor x) -> ()"
        for _, key in ipairs {"CPU", "Tracer", "ADInplaceOrView"} do
          l:impl("probe", key, function() seen = key end)
        end
      end)
      st.ops.specguards.probe(x)
      watch:close()
      return seen
    end

    it("that include and exclude keys, nested", function()
      assert.equal("ADInplaceOrView", highest())
      local a, b, c = st.include_keys("Tracer", function(...)
        assert.equal("Tracer", highest())
        st.exclude_keys(keyset("Tracer", "ADInplaceOrView"), function()
          assert.equal("CPU", highest())
          assert.is_true(st.excluded_keys():has "Tracer")
        end)
        assert.equal("Tracer", highest())
        return ...
      end, 1, nil, "three")
      assert.same({1, nil, "three"}, {a, b, c})
      assert.equal("ADInplaceOrView", highest())
    end)

    it("that go below autograd and views", function()
      st.below_autograd(function()
        assert.is_true(st.excluded_keys():has(keyset "AutogradOther"))
        assert.equal("ADInplaceOrView", highest())
      end)
      st.below_adinplaceorview(function()
        assert.equal("CPU", highest())
      end)
    end)

    it("that switch gradients off and on", function()
      assert.equal("r", st.no_grad(function()
        assert.is_false(st.is_grad_enabled())
        st.enable_grad(function() assert.is_true(st.is_grad_enabled()) end)
        assert.is_false(st.is_grad_enabled())
        return "r"
      end))
    end)

    it("that make inference tensors", function()
      local t = st.inference_mode(function()
        assert.is_true(st.is_inference_mode_enabled())
        assert.is_false(st.is_grad_enabled())
        return st.zeros(1)
      end)
      assert.is_true(t:is_inference())
      assert.is_false(x:is_inference())
    end)

    local guards = {
      no_grad = st.no_grad, inference_mode = st.inference_mode,
      autocast = st.autocast,
      below_autograd = st.below_autograd,
      include_keys = function(...) return st.include_keys("Lua", ...) end,
      exclude_keys = function(...) return st.exclude_keys("CPU", ...) end,
    }
    for name, guard in pairs(guards) do
      it(("whose state ends with an error: %s"):format(name), function()
        local object = {}
        local included, excluded = st.included_keys(), st.excluded_keys()
        assert.equal(object, failure(guard, function() error(object) end))
        assert.equal(included, st.included_keys())
        assert.equal(excluded, st.excluded_keys())
        assert.matches("'body' must be a function", failure(guard, 7))
      end)

      it(("that no coroutine leaves: %s"):format(name), function()
        local co = coroutine.create(function()
          guard(function() coroutine.yield() end)
        end)
        local ok, e = coroutine.resume(co)
        assert.is_false(ok)
        assert.matches("yield", e)
        assert.is_true(st.is_grad_enabled())
      end)
    end
  end)

  it("needs a derivative to be asked for", function()
    assert.is_false(x.requires_grad)
    assert.equal(x, x:requires_grad_())
    assert.is_true(x.requires_grad)
    assert.is_false(x:requires_grad_(false).requires_grad)
    assert.matches("int64",
                   failure(x.requires_grad_, st.tensor {1}))
  end)

  -- -- Fallbacks -------------------------------------------------------------

  describe("has fallbacks (R11)", function()
    local fallbacks
    before_each(function() fallbacks = st.library("_", "IMPL") end)
    after_each(function() fallbacks:close() end)

    it("that serve operators of any schema", function()
      local seen = {}
      fallbacks:fallback("Tracer", function(op, keys, ...)
        assert.is_false(keys:has "Tracer")
        seen[#seen + 1] = op:name() .. "/" .. select("#", ...)
        return op:redispatch(keys, ...)
      end)
      lib:def("pair(Tensor x, int n) -> (Tensor, int)",
              function(a, n) return a, n end)
      local a, n, y = st.include_keys("Tracer", function()
        local a, n = st.ops.specdispatch.pair(x, 4)
        return a, n, x:sum {dim = 1}
      end)
      assert.equal(x, a)
      assert.same({4, -1}, {n, y:item()})
      assert.equal("specdispatch::pair/2", seen[1])
      assert.equal("aten::sum.dim_IntList/4", seen[2])
      fallbacks:close()
      st.include_keys("Tracer", function()
        assert.matches("Tracer", failure(st.ops.specdispatch.pair, x, 4))
      end)
    end)

    it("that fall through", function()
      fallbacks:fallback("Tracer", "fallthrough")
      assert.same({1, 2}, st.include_keys("Tracer", function()
        return x:abs():totable()
      end))
    end)

    it("that stand behind kernels, for an alias key, too", function()
      fallbacks:fallback("Autograd", function() return "fallback" end)
      lib:def "f(Tensor x) -> str"
      lib:def "g(Tensor x) -> str"
      lib:impl("f", "AutogradCPU", function() return "kernel" end)
      lib:impl("g", "CPU", function() return "CPU" end)
      x:requires_grad_()
      assert.equal("kernel", st.ops.specdispatch.f(x))
      assert.equal("fallback", st.ops.specdispatch.g(x))
      assert.equal("CPU", st.below_autograd(st.ops.specdispatch.g, x))
    end)
  end)

  -- -- Traces and explanations -----------------------------------------------

  describe("shows", function()
    it("a trace of what ran (C13)", function()
      lib:def("twice(Tensor x) -> Tensor", function(t) return t + t end)
      local twice = st.ops.specdispatch.twice
      local events, y, n = st.trace(function(...)
        return twice(...), 7
      end, x)
      assert.same({2, -4}, y:totable())
      assert.equal(7, n)
      assert.same({"specdispatch::twice", "aten::add.Tensor"},
                  {events[1].op, events[2].op})
      assert.same({"CPU", 0, 1}, {events[2].key, events[1].depth,
                                  events[2].depth})
      assert.matches("^spec/dispatch/scripting_spec.lua:%d+$", events[1].kernel)
      assert.equal("aten::add.Tensor", st.trace(st.add, x, x)[1].op)
    end)

    it("redispatches apart from calls (C13)", function()
      local abs, kinds = st.ops.aten.abs, {}
      for _, e in ipairs(st.trace(function()
        abs(x)
        abs:redispatch("CPU", x)
        abs:call_for_key("CPU", x)
      end)) do
        if e.op == "aten::abs" then kinds[#kinds + 1] = e.kind end
      end
      assert.equal(3, #kinds)
      assert.matches("^call", kinds[1])
      assert.matches("^redispatch", kinds[2])
      assert.equal("callBoxedForDispatchKey", kinds[3])
    end)

    if not build.is_sanitized then
      it("every call on stderr when the environment asks for it (C13)",
         function()
        local said = build.run("env STRIDED_SHOW_DISPATCH_TRACE=1 " ..
          build.lua .. " -e 'require(\"strided\").ones(2):add(1)'")
        assert.matches("\n %[call%] op=%[aten::empty.memory_format%], " ..
                       "key=%[BackendSelect%]\n  %[redispatch%]", said)
        assert.matches("\n%[callBoxed%] op=%[aten::add.Scalar%], " ..
                       "key=%[CPU%]\n", said)
      end)
    end

    it("the trace of a matrix when it is given one", function()
      local m = st.tensor {{1.0, 2.0}, {3.0, 4.0}}
      assert.equal(5, st.trace(m):item())
      assert.equal(5, m:trace():item())
      assert.equal(5, st.trace({self = m}):item())
      assert.matches("trace: needs a Tensor", failure(st.trace, 7))
      assert.matches("trace: argument 'self'", failure(st.trace))
    end)

    it("the events of a table that can be called, as of a module", function()
      local net = setmetatable({}, {__call = function(_, a) return a:neg() end})
      local events, y = st.trace(net, st.ones(1))
      assert.equal("aten::neg", events[1].op)
      assert.equal(-1, y:item())
    end)

    -- arguments of st.explain, patterns that its text must have
    local explained = {
      {{st.add, "x", "x"}, "^add%.Tensor\n", "\n  self +CPU",
       "\n  key +CPU, the highest of", "\n  kernel "},
      {{"add", "x", 2}, "^add%.Scalar\n", "not add%.Tensor: argument 'other'"},
      {{"aten::add.Tensor", "x", 2}, "^add%.Tensor, with numbers as 0%-dim"},
      {{"add.Tensor", "x", "x", {alpha = 2}}, "^add%.Tensor\n"},
      {{"zeros", {2}}, "^zeros\n", "BackendSelect"},
      {{"twice", "x"}, "^specdispatch::twice\n", "CompositeImplicit"},
    }
    for i, row in ipairs(explained) do
      it("how a call would run: row " .. i, function()
        local ran = false
        lib:def("twice(Tensor x) -> Tensor", function(t)
          ran = true
          return t
        end)
        local args = {}
        for k, v in ipairs(row[1]) do
          args[k] = k > 1 and v == "x" and x or v
        end
        local text = st.explain(unpack(args))
        for k = 2, #row do assert.matches(row[k], text) end
        assert.is_false(ran)
      end)
    end

    it("how a call of a method or an object would run", function()
      assert.equal(st.explain("add", x, x), st.explain(x.add, x, x))
      assert.equal(st.explain("add", x, x), st.explain(st.ops.aten.add, x, x))
    end)

    it("no explanation of what could not run", function()
      assert.matches("no operator 'nosuch'", failure(st.explain, "nosuch"))
      assert.matches("no operator", failure(st.explain, "add.nosuch", x))
      assert.matches("must be a Tensor", failure(st.explain, "add", "y", 2))
      for _, bad in ipairs {7, {}, print, x} do
        assert.matches("operator is needed", failure(st.explain, bad, x))
      end
      raises({"explain: ", "operator is needed"}, st.explain)
    end)

    it("what is registered (R14)", function()
      lib:def("d(Tensor x) -> Tensor", function(t) return t end)
      lib:def "d.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
      local d = st.ops.specdispatch.d
      assert.matches("^name: specdispatch::d\nschema: specdispatch::d%(",
                     d:dump())
      assert.matches("\n\nname: specdispatch::d.out\n", d:dump())
      assert.matches("\nCPU: spec/dispatch/scripting_spec.lua:%d+ " ..
                     "%[math kernel%]", d.default:table())
      assert.equal(d.default:dump(), st.dump "specdispatch::d")
      assert.equal(d.out:dump(), st.dump(d.out))
      assert.equal("Tensor -> Tensor", d.default:signature())
      assert.matches("scripting_spec", (d:kernel "CPU"))
      raises("no operator 'specdispatch::never'", st.dump,
             "specdispatch::never")
      raises({"dump: ", "must be a string, got number"}, st.dump, 7)
    end)

    it("kernels without a schema (R3)", function()
      lib:impl("orphan.x", "CPU", print)
      assert.same({"specdispatch::orphan.x"}, st.dangling_impls())
      assert.matches("schema: %(none%)", st.dump "specdispatch::orphan.x")
      assert.is_nil(st.ops.specdispatch.orphan)
      lib:close()
      assert.same({}, st.dangling_impls())
      assert.is_true(st.check_registry())
    end)
  end)

  -- -- Memory ----------------------------------------------------------------

  --- Live blocks of every kind that a failure must not leave behind.
  local function live_blocks()
    require "spec.support.collect" ()
    local counts = {}
    for _, kind in ipairs {"tensors", "storages", "data", "values",
                           "scratch"} do
      counts[kind] = st.memory()[kind].count
    end
    return counts
  end

  local steps = {
    {"a library", function()
      local l = st.library("specmemory", function(l)
        l:def("f(Tensor x) -> (Tensor, str, float[])",
              function(t) return t + 1, "text", {1, 2} end)
      end)
      local ok, e = pcall(st.ops.specmemory.f, st.ones(1))
      l:close()
      assert(ok, e)
    end},
    {"an open library", function()
      local l = st.library("specmemory")
      local ok, e = pcall(function()
        l:def "f(Tensor x) -> Tensor"
        l:impl("f", "CPU", function(t) return t end)
      end)
      l:close()
      assert(ok, e)
    end},
    {"a fallback", function()
      local l = st.library("_", "IMPL")
      local ok, e = pcall(l.fallback, l, "Tracer", print)
      l:close()
      assert(ok, e)
    end},
    {"a listener", function() st.listen(function() end):close() end},
    {"texts", function()
      local add = st.ops.aten.add
      assert(#add:dump() + #add:table() + #st.explain(add, st.ones(1), 1) > 0)
    end},
    {"a mode", function()
      st.dispatch_mode(function(op, keys, ...)
        return op:redispatch(keys, ...)
      end,
              function() return st.ones(2):max {dim = 1} end)
    end},
    {"an observer", function()
      st.observe({values = true, before = function() end,
                  after = function() end}, st.max, st.ones(2), {dim = 1})
    end},
  }
  for _, step in ipairs(steps) do
    it("leaves nothing behind when memory runs out: " .. step[1], function()
      step[2]()
      local start, k, done = live_blocks(), 0
      repeat
        k = k + 1
        st.memory_fail_at(k)
        local ok, e = pcall(step[2])
        done = st.memory_fail_at(0) > 0
        assert.is_true(ok or tostring(e):find "out of memory" ~= nil, e)
        assert.same(start, live_blocks())
        assert.is_true(st.check_registry())
      until done or k == 400
      assert.is_true(done and k > 1)
    end)
  end

  it("leaves no tensor behind", function()
    lib:close()
    x = nil
    assert.equal(before, live())
  end)
end)
