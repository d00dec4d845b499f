--- Elementwise operators that are expressions: traced once, run as one loop,
-- with the bits that their parts give call by call.
-- axes: isa threads

local st = require "strided"
local core = require "strided.core"
local expressions = require "spec.fuzz.expressions"
local collect = require "spec.support.collect"
local tensors = require "spec.support.tensors"

local failure, raises = tensors.failure, tensors.raises

local lib = st.library "spec_fused"
local ops = st.ops.spec_fused

teardown(function() lib:close() end)

local function define(schema, body) return lib:elementwise(schema, body) end

local function smoothstep(x, lo, hi, k)
  local t = ((x - lo) / (hi - lo)):clamp {min = 0, max = 1}
  return t * t * (3 - 2 * t) * (k or 1)
end

define("smoothstep(Tensor x, Tensor lo, Tensor hi, *, float k=1.0) -> Tensor",
       smoothstep)

describe("An elementwise operator", function()
  local x, lo, hi

  before_each(function()
    st.manual_seed(3)
    x, lo, hi = st.randn {37, 5}, st.tensor(-1.0), st.rand {5} + 1
  end)

  it("gives the bits of its parts", function()
    assert.is_true(ops.smoothstep(x, lo, hi):equal(smoothstep(x, lo, hi)))
    assert.is_true(ops.smoothstep(x, lo, hi, {k = 0.3}):equal(
      smoothstep(x, lo, hi, 0.3)))
  end)

  it("takes plain numbers where tensors may be", function()
    local n = st.arange(5)
    assert.same({0, 0, 0.5, 1, 1}, ops.smoothstep(n, 1, 3):totable())
    assert.equal(st.float32, ops.smoothstep(n, 1, 3).dtype)
  end)

  it("writes in place and into out=", function()
    local expected = smoothstep(x, lo, hi)
    local same, out = x:clone(), st.empty(37, 5)
    assert.equal(same, ops.smoothstep_(same, lo, hi))
    assert.is_true(same:equal(expected))
    ops.smoothstep(x, lo, hi, {out = out})
    assert.is_true(out:equal(expected))
    local column = st.zeros(5, 37):t()
    ops.smoothstep(x, lo, hi, {out = column})
    assert.is_true(column:equal(expected))
  end)

  it("casts what it writes, where it may be", function()
    local wide = st.empty({37, 5}, {dtype = "float64"})
    ops.smoothstep(x, lo, hi, {out = wide})
    assert.is_true(wide:equal(smoothstep(x, lo, hi):to "float64"))
    raises({"spec_fused::smoothstep", "float32", "int64"}, ops.smoothstep, x,
           lo, hi, {out = st.empty({37, 5}, {dtype = "int64"})})
    raises("int64", ops.smoothstep_, st.arange(5), 1, 3)
  end)

  it("reads what it overwrites first", function()
    define("swap(Tensor a, Tensor b) -> (Tensor first, Tensor second)",
           function(a, b) return b * 1, a * 1 end)
    local a, b = st.arange(2000):to "float32", -st.arange(2000):to "float32"
    local was_a, was_b = a:clone(), b:clone()
    ops.swap(a, b, {out = {a, b}})
    assert.is_true(a:equal(was_b))
    assert.is_true(b:equal(was_a))
    local line = st.arange(10):to "float32"
    define("shift(Tensor a, Tensor b) -> Tensor", "a + b")
    ops.shift_(line:narrow(1, 2, 9), line:narrow(1, 1, 9))
    assert.same({0, 1, 3, 5, 7, 9, 11, 13, 15, 17}, line:totable())
  end)

  it("walks any strides, in the layout of its first operand", function()
    local wide = st.rand {2, 3, 4, 5}
    local last = wide:contiguous {memory_format = "channels_last"}
    define("mix(Tensor a, Tensor b) -> Tensor", "b * 2 + a")
    for _, pair in ipairs {{wide, last}, {last, wide}, {last, last},
                           {wide:transpose(2, 4):contiguous()
                                :transpose(2, 4), wide}} do
      local expected = pair[2] * 2 + pair[1]
      local found = ops.mix(pair[1], pair[2])
      assert.is_true(found:equal(expected))
      assert.same(expected:stride(), found:stride())
    end
    local flipped = wide:flip {4}["..., ::2"]
    assert.is_true(ops.mix(flipped, 3):equal(3 * 2 + flipped))
    assert.is_true(ops.mix(st.rand {1}:expand {2, 3}, 1):is_contiguous())
  end)

  it("broadcasts short rows, columns and single elements", function()
    local rows, row = st.randn {5000, 4}, st.randn {4}
    local column = st.randn {5000, 1}
    define("three(Tensor a, Tensor b, Tensor c) -> Tensor", "a * b + c")
    assert.is_true(ops.three(rows, row, column):equal(rows * row + column))
    assert.is_true(ops.three(column, row, 2):equal(column * row + 2))
    raises("shapes [5000, 4] and [3] do not broadcast", ops.three, rows,
           st.ones(3), 1)
  end)

  it("promotes as its parts do", function()
    define("sum3(Tensor a, Tensor b) -> Tensor", "a + b * 2")
    for _, d in ipairs {"bool", "uint8", "int32", "float16", "float64",
                        "complex64"} do
      for _, e in ipairs {"int8", "bfloat16", "float32"} do
        local a = st.arange(7):to(d)
        local b = st.arange(7):to(e)
        local expected, found = a + b * 2, ops.sum3(a, b)
        assert.equal(expected.dtype, found.dtype)
        assert.is_true(expected:equal(found))
        assert.equal((a + b[1] * 2).dtype, ops.sum3(a, b[1]).dtype)
      end
    end
  end)

  it("knows the default dtype of the call", function()
    define("half(Tensor x) -> Tensor", "x / 2")
    assert.equal(st.float32, ops.half(st.arange(3)).dtype)
    st.set_default_dtype "float64"
    local ok, dtype = pcall(function() return ops.half(st.arange(3)).dtype end)
    st.set_default_dtype "float32"
    assert.is_true(ok)
    assert.equal(st.float64, dtype)
  end)

  it("returns several tensors", function()
    define("polar(Tensor x, Tensor y) -> (Tensor r, Tensor angle)",
           function(a, b) return (a * a + b * b):sqrt(), st.atan2(b, a) end)
    local a, b = st.randn(50), st.randn(50)
    local r, angle = ops.polar(a, b)
    assert.is_true(r:equal((a * a + b * b):sqrt()))
    assert.is_true(angle:equal(st.atan2(b, a)))
    local r2, angle2 = st.empty(50), st.empty(50)
    ops.polar(a, b, {r = r2, angle = angle2})
    assert.is_true(r2:equal(r) and angle2:equal(angle))
  end)

  it("shares what is computed twice, and folds constants", function()
    define("twice(Tensor x) -> Tensor",
           "(x + 1) * (x + 1) + (x + 1) / (2 * 3 - 4)")
    local v = st.rand(100)
    assert.is_true(ops.twice(v):equal((v + 1) * (v + 1) + (v + 1) / 2))
  end)

  it("is an argument, a constant, or the same argument twice", function()
    define("id(Tensor x) -> Tensor", "x")
    define("both(Tensor x) -> (Tensor a, Tensor b)", "x, x")
    define("none(Tensor x) -> Tensor", "zeros_like(x) + 3")
    local v = st.rand(5)
    assert.is_true(ops.id(v):equal(v))
    assert.is_false(ops.id(v):is_alias_of(v))
    local a, b = ops.both(v)
    assert.is_true(a:equal(v) and b:equal(v) and not a:is_alias_of(b))
    assert.same({3, 3}, ops.none(st.ones(2)):totable())
    assert.equal(0, ops.id(st.empty(0)):numel())
    assert.equal(0, ops.id(st.tensor(2)).ndim)
  end)

  it("may be part of another one", function()
    define("nested(Tensor a, Tensor b) -> Tensor",
           function(a, b) return ops.smoothstep(a, b, b + 1, {k = 2}) * 3 end)
    assert.is_true(ops.nested(x, lo):equal(smoothstep(x, lo, lo + 1, 2) * 3))
  end)

  it("has its parts as they are at the call", function()
    define("part(Tensor x) -> Tensor", "x * 2")
    define("whole_of(Tensor x) -> Tensor", function(t)
      return ops.part(t) + 1
    end)
    assert.equal(3, ops.whole_of(st.ones(1)):item())
    define("part(Tensor x) -> Tensor", "x * 5")
    assert.equal(6, ops.whole_of(st.ones(1)):item())
    assert.equal(6, ops.whole_of(st.ones({1}, {dtype = "float64"})):item())
  end)

  it("writes its own values in place", function()
    define("steps(Tensor x) -> Tensor", function(v)
      local y = v * 2
      y:add_(1)
      local z = y * v
      y:mul_(z)
      return y
    end)
    local v = st.randn(30)
    local y = v * 2 + 1
    assert.is_true(ops.steps(v):equal(y * (y * v)))
  end)

  it("computes with numbers as Lua does", function()
    define("numbers(Tensor x, float a, int n) -> Tensor",
           function(v, a, n)
      return v * ((a + 1) / 2 - a ^ 2) + n * 2 - (-a) % 3
    end)
    local v = st.ones({1}, {dtype = "float64"})
    local a, n = 0.75, 4
    assert.near((a + 1) / 2 - a ^ 2 + n * 2 - (-a) % 3,
                ops.numbers(v, a, n):item(), 1e-12)
    define("whole(Tensor x, int n) -> Tensor", "x * n + n * n")
    assert.equal(st.int32, ops.whole(st.ones({1}, {dtype = "int32"}), 7).dtype)
    assert.equal(56, ops.whole(st.ones({1}, {dtype = "int32"}), 7):item())
    define("stand(Tensor x, float k) -> Tensor", function(t, k)
      return st.maximum(t, k) + st.leaky_relu(t, k) + k
    end)
    assert.is_true(ops.stand(v, 0.5):equal(
      st.maximum(v, 0.5) + st.leaky_relu(v, 0.5) + 0.5))
  end)

  it("keeps to the numbers of each call", function()
    define("times(Tensor x, float k) -> Tensor", "x * k")
    local v = st.ones(3)
    for i = 1, 100 do assert.equal(i / 8, ops.times(v, i / 8)[1]) end
    for i = 1, 100 do assert.equal(i / 8, ops.times(v, i / 8)[1]) end
  end)

  it("refuses integers over zero, and leaves out= alone", function()
    define("ratio(Tensor a, Tensor b) -> Tensor",
           function(a, b) return st.floor_divide(a + 1, b * 2) end)
    local a, b = st.arange(3000), st.ones({3000}, {dtype = "int64"})
    assert.is_true(ops.ratio(a, b):equal(st.floor_divide(a + 1, b * 2)))
    b[2000] = 0
    local out = st.full({3000}, 7)
    raises("integers by zero", ops.ratio, a, b, {out = out})
    assert.is_true(out:eq(7):all():item())
    assert.equal(math.huge, ops.ratio(a:to "float32", b)[2000])
  end)

  it("runs on Meta, for shapes and dtypes", function()
    local m = st.empty({4, 1}, {device = "meta"})
    local y = ops.smoothstep(m, m, st.empty({3}, {device = "meta"}))
    assert.equal("meta", y.device)
    assert.same({4, 3}, {y.shape[1], y.shape[2]})
  end)

  it("is found through the dispatcher", function()
    local seen = {}
    st.dispatch_mode(function(op, keys, ...)
      seen[#seen + 1] = op:name()
      return op:redispatch(keys, ...)
    end, function() return ops.smoothstep(x, lo, hi) end)
    assert.same({"spec_fused::smoothstep"}, seen)
    local said = st.explain(ops.smoothstep, x, lo, hi)
    assert.truthy(said:find "key +CPU")
    assert.truthy(said:find "computes +%d+ instructions over blocks", said)
    assert.truthy(said:find "r%d+:float32 = clamp r%d+:float32", said)
    local mine = st.library("spec_fused", "IMPL")
    mine:impl("times", "CPU", function(t) return t + 1 end)
    assert.equal(2, ops.times(st.ones(1), 5):item())
    mine:close()
    assert.equal(5, ops.times(st.ones(1), 5):item())
  end)

  it("goes with its library, and comes in transactions", function()
    local other = st.library("spec_fused2", function(l)
      l:elementwise("f(Tensor x) -> Tensor", "x * x")
      assert.is_nil(st.ops.spec_fused2.f)
    end)
    local v = st.full({1}, 2, {dtype = "float32"}):requires_grad_()
    local f = st.ops.spec_fused2.f
    f(v):backward()
    assert.equal(4, v.grad:item())
    other:close()
    assert.is_nil(st.ops.spec_fused2.f)
    raises("spec_fused2::f: there is no such operator", f, v)
  end)
end)

describe("The derivative of an elementwise operator", function()
  local function gradients(fn, ...)
    local own = {}
    for i = 1, select("#", ...) do
      own[i] = (select(i, ...)):detach():requires_grad_()
    end
    local n = #own
    local list = {st.grad(fn((unpack or table.unpack)(own)):sum(), own)}
    assert.equal(n, #list)
    return list
  end

  it("is that of its parts, to the bit", function()
    local args = {st.randn {40, 7}, st.randn {40, 7} - 2, st.randn {40, 7} + 3}
    local expected = gradients(smoothstep, (unpack or table.unpack)(args))
    local found = gradients(function(...) return ops.smoothstep(...) end,
                            (unpack or table.unpack)(args))
    for i = 1, 3 do assert.is_true(expected[i]:equal(found[i])) end
  end)

  it("adds up what was broadcast", function()
    local a, b = st.randn({6, 5}, {dtype = "float64"}),
                 st.randn({5}, {dtype = "float64"})
    local c = st.tensor(0.5, {dtype = "float64"})
    define("blend(Tensor a, Tensor b, Tensor c) -> Tensor",
           "exp(a * c) * b + b * c")
    local function blend(p, q, r) return (p * r):exp() * q + q * r end
    local expected = gradients(blend, a, b, c)
    local found = gradients(function(...) return ops.blend(...) end, a, b, c)
    for i = 1, 3 do
      assert.is_true(st.allclose(expected[i], found[i], {rtol = 1e-12}))
      assert.equal(#expected[i].shape, #found[i].shape)
    end
  end)

  it("passes gradcheck, and once more", function()
    local args = {}
    for i = 1, 3 do
      args[i] = (st.rand({4}, {dtype = "float64"}) + i):requires_grad_()
    end
    define("ratio3(Tensor a, Tensor b, Tensor c) -> Tensor",
           "where(a > 1.5, a / b, sin(a)) * tanh(c)")
    assert.is_true(st.gradcheck(ops.ratio3, args))
    assert.is_true(st.gradgradcheck(ops.ratio3, args))
  end)

  it("is there for what is written in place", function()
    local v = st.range(1, 3):to "float32":requires_grad_()
    local w = v * 2
    ops.shift_(w, v)
    local y = w * w
    y:sum():backward()
    assert.same({18, 36, 54}, v.grad:totable())
  end)

  it("is complex where its arguments are", function()
    define("wave(Tensor z, Tensor x) -> Tensor", "exp(z) * x + z * z")
    local z = st.randn({3}, {dtype = "complex128"}):requires_grad_()
    local v = st.randn({3}, {dtype = "float64"}):requires_grad_()
    assert.is_true(st.gradcheck(ops.wave, {z, v}))
  end)

  it("sees that its arguments were changed", function()
    local v = st.ones(3):requires_grad_()
    local w = v * 2
    local y = ops.times(w, 0.5)
    w:add_(1)
    raises({"grad: ", "was written in place"}, st.grad, y:sum(), v)
  end)

  it("is none for integers and truths", function()
    define("truth(Tensor a, Tensor b) -> Tensor", "a > b")
    local v = st.ones(3):requires_grad_()
    assert.is_false(ops.truth(v, 0).requires_grad)
  end)
end)

describe("Tracing refuses", function()
  -- what the error has to say: a pattern, a schema, a body
  local refused = {
    {"'sum' %(.*elementwise_spec.lua:%d+%) is not pointwise",
     "f(Tensor x) -> Tensor", function(v) return v - v:sum() end},
    {"'matmul' %(.*elementwise_spec.lua:%d+%): .*shapes",
     "f(Tensor x) -> Tensor",
     function(v) return v:matmul(v) end},
    {"'t'.* is not pointwise", "f(Tensor x) -> Tensor",
     function(v) return v:t() + 1 end},
    {"'bernoulli'.* is not pointwise", "f(Tensor x) -> Tensor",
     function(v) return v:bernoulli() end},
    {"elementwise_spec.lua:%d+: item: .*not known", "f(Tensor x) -> Tensor",
     function(v) return v * v:item() end},
    {"elementwise_spec.lua:%d+: .*its shape", "f(Tensor x) -> Tensor",
     function(v) return v * v.shape[1] end},
    {"its shape", "f(Tensor x) -> Tensor",
     function(v) return v * v:size(1) end},
    {"its shape", "f(Tensor x) -> Tensor",
     function(v) return v.dtype == st.float32 and v or -v end},
    {"its shape", "f(Tensor x) -> Tensor", function(v) return v[1] end},
    {"elementwise_spec.lua:%d+:", "f(Tensor x, float k) -> Tensor",
     function(v, k) return k > 0 and v or -v end},
    {"from outside the function", "f(Tensor x) -> Tensor",
     function(v) return v * st.ones(3) end},
    {"'self' is written", "f(Tensor x) -> Tensor",
     function(v) return v:add_(1) end},
    {"its body returns 0 results", "f(Tensor x) -> Tensor",
     function() end},
    {"result 1 of its body is .*number", "f(Tensor x) -> Tensor",
     function() return 3 end},
    {"does not come from its arguments", "f(Tensor x) -> Tensor",
     function() return st.ones(2) end},
    {"returns 1 results, its body 2", "f(Tensor x) -> Tensor",
     function(v) return v, v end},
    {"argument 'xs' of spec_fused::f is Tensor%[%]",
     "f(Tensor[] xs) -> Tensor", function(v) return v[1] end},
    {"argument 'dim' of spec_fused::f is Dim", "f(Tensor x, Dim dim) -> Tensor",
     function(v) return v end},
    {"result 1 of its body is symbolic number", "f(float k) -> Tensor",
     function(k) return k end},
    {"does not come from", "f(float k) -> Tensor",
     function() return st.zeros(2) end},
    {"body", "f(Tensor x) -> Tensor", 3},
    {"position", "f(Tensor x -> Tensor", function(v) return v end},
    {"my own", "f(Tensor x) -> Tensor", function() error "my own" end},
  }
  for _, row in ipairs(refused) do
    it(row[1]:gsub("%%", ""), function()
      assert.matches(row[1], failure(function()
        lib:elementwise(row[2], row[3])
      end))
    end)
  end

  it("what was a symbol, once its trace is over", function()
    local symbol, number
    define("leak(Tensor x, float k) -> Tensor", function(v, k)
      symbol, number = v, k
      return v * k
    end)
    raises("its shape", function() return symbol.shape end)
    raises({"mul: ", "got symbolic number"}, st.mul, st.ones(2), number)
    raises({"add: ", "from outside the function"}, function()
      define("other(Tensor x) -> Tensor", function(v) return v + symbol end)
    end)
    assert.is_true((tostring(number):find "symbolic number") ~= nil)
  end)

  it("nothing when a body traces another", function()
    define("outer(Tensor x) -> Tensor", function(v)
      define("inner(Tensor x) -> Tensor", "x * 2")
      return ops.inner(v) + 1
    end)
    assert.equal(7, ops.outer(st.tensor {3.0}):item())
  end)

  it("nothing within modes and guards of the body", function()
    local calls = 0
    define("moded(Tensor x) -> Tensor", function(v)
      return st.dispatch_mode(function(op, keys, ...)
        calls = calls + 1
        return op:redispatch(keys, ...)
      end, function() return st.no_grad(function() return v * 2 end) end)
    end)
    assert.equal(1, calls)
    assert.equal(6, ops.moded(st.tensor {3.0}):item())
  end)
end)

describe("A fused program", function()
  it("agrees with eager calls for random expressions", function()
    local computed, wrong = expressions.run(400, 5)
    assert.same({}, wrong)
    assert.is_true(computed > 600)
  end)

  it("is the same for any number of threads", function()
    local before = st.get_num_threads()
    local v = st.randn(300001)
    st.set_num_threads(1)
    local one = ops.smoothstep(v, -1, 1)
    for n = 2, 4 do
      st.set_num_threads(n)
      assert.is_true(ops.smoothstep(v, -1, 1):equal(one))
    end
    st.set_num_threads(before)
  end)

  it("leaves everything as it was when there is no memory", function()
    define("hungry(Tensor a, Tensor b) -> Tensor", "exp(a * 3) - b / (a + 2)")
    local a, b = st.rand(100), st.rand(100)
    local function run(k)
      core.memory_fail_at(k)
      local ok, y = pcall(ops.hungry, a, b)
      core.memory_fail_at(0)
      return ok, y
    end
    local k, ok, y = 0, false, nil
    while not ok do
      k = k + 1
      assert.is_true(k < 400)
      -- one that no program has been made for
      define("hungry(Tensor a, Tensor b) -> Tensor",
             "exp(a * 3) - b / (a + 2)")
      ok, y = run(k)
      if not ok then assert.truthy(tostring(y):find "memory", tostring(y)) end
    end
    assert.is_true(k > 5)
    assert.is_true(y:equal((a * 3):exp() - b / (a + 2)))
  end)

  it("is defined in one step, or not at all", function()
    local k, ok = 0, false
    while not ok do
      k = k + 1
      assert.is_true(k < 2000)
      core.memory_fail_at(k)
      local why
      ok, why = pcall(lib.elementwise, lib, "rare(Tensor x) -> Tensor",
                      function(v) return v * 2 + 1 end)
      core.memory_fail_at(0)
      if not ok then
        assert.truthy(tostring(why):find "memory", tostring(why))
        assert.is_nil(ops.rare)
      end
    end
    assert.equal(3, ops.rare(st.ones(1)):item())
  end)

  it("leaves nothing behind", function()
    local function round()
      local l = st.library "spec_fused3"
      l:elementwise("f(Tensor x, float k) -> Tensor", "x * k + sin(x)")
      local v = st.rand(10):requires_grad_()
      for i = 1, 40 do st.ops.spec_fused3.f(v, i):sum():backward() end
      pcall(l.elementwise, l, "g(Tensor x) -> Tensor", "sum(x)")
      l:close()
    end
    for _ = 1, 3 do round() end
    collect()
    local before = st.memory()
    for _ = 1, 5 do round() end
    collect()
    local after = st.memory()
    for _, kind in ipairs {"tensors", "data", "graph", "scratch"} do
      assert.equal(before[kind].count, after[kind].count, kind)
    end
    -- schemas and names are kept for good: those of the rounds are the same
    assert.is_true(after.registry.bytes - before.registry.bytes < 20000)
  end)
end)
