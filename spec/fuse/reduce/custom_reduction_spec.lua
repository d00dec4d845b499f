--- Reductions whose map, combine and final are functions or expressions.
-- axes: isa lua ffi threads
-- sampled: 3

local build = require "spec.support.build"
local library = require "spec.fuse.reduce.custom_reduction.library"
local st = require "strided"

local tensors = require "spec.support.tensors"

local failure, live = tensors.failure, tensors.kinds

local unpack = unpack or table.unpack
local HERE = build.root .. "/spec/fuse/reduce"
local MOST = 3000 -- allocations of a call before this looks endless

describe("A custom reduction", function()
  local before, lib, ops, threads
  setup(function()
    before = tensors.live()
    threads = st.get_num_threads()
    lib = st.library "spec_custom"
    ops = library.define(lib)
  end)
  teardown(function()
    st.set_num_threads(threads)
    lib:close()
  end)
  before_each(function() st.manual_seed(1) end)

  local function near(want, got, tolerance)
    tensors.near(want, got, tolerance or 1e-5)
  end

  -- -- Values ----------------------------------------------------------------

  it("adds, multiplies and finds extrema, exactly for integers", function()
    local t = st.arange(1, 61):remainder(4):add(1):view(3, 4, 5)
    for _, dims in ipairs {{1}, {2}, {3}, {1, 3}, {2, 3}, {1, 2, 3}} do
      assert.is_true(st.equal(t:sum(dims), ops.total(t, {dim = dims})))
      assert.is_true(st.equal(t:amax(dims), ops.peak(t, dims)))
    end
    assert.is_true(st.equal(t:prod(2), ops.product(t, {dim = {2}})))
    assert.equal(t:sum():item(), ops.total(t):item())
  end)

  it("takes every number of elements there is", function()
    for n = 1, 140 do
      local t = st.arange(1, n + 1)
      assert.equal(n * (n + 1) / 2, ops.total(t):item())
      assert.equal(1, ops.first(t):item())
      assert.equal(n, ops.last(t):item())
    end
  end)

  it("is fused with its map, whose arguments broadcast", function()
    local x, y = st.randn(40, 50), st.randn(50)
    near((x - y):square():sum(1), ops.distance(x, y, {dim = {1}}))
    near((x - y):square():sum(), ops.distance(x, y))
    near((x - 2):square():sum(2), ops.distance(x, 2, {dim = {2}}))
  end)

  it("hands the number of elements and those of the schema to final",
     function()
    local x, w = st.randn(6, 7), st.rand(7)
    near(((x * x * w):mean(2) + 0.5):sqrt(),
         ops.rms(x, w, {dim = {2}, eps = 0.5}))
    near((x * x * w):mean():sqrt(), ops.rms(x, w))
  end)

  it("keeps the dimensions if asked", function()
    local x = st.ones(2, 3, 4)
    assert.same({2, 1, 1}, {unpack(ops.total(x, {dim = {2, 3}, keepdim = true})
                                     .shape)})
    assert.same({1, 1, 1}, {unpack(ops.peak(x, {keepdim = true}).shape)})
    assert.same({3}, {unpack(ops.total(x, {dim = {-1, 1}}).shape)})
  end)

  it("finds the place of an extremum with two accumulators", function()
    local x = st.randn(30, 400)
    local value, at = ops.position(x, st.arange(1, 401), {dim = {2}})
    assert.is_true(st.equal(x:amax {dim = {2}}, value))
    assert.is_true(st.equal(x:argmax {dim = 2}, at:to "int64"))
  end)

  it("prefers the first of equals, since a is to the left of b", function()
    local _, at = ops.position(st.zeros(5000), st.arange(1, 5001))
    assert.equal(1, at:item())
  end)

  it("computes moments with three accumulators", function()
    local x = st.randn(700, 9) + 100
    for d = 1, 2 do
      local mean, var = ops.moments(x, {dim = {d}})
      near(x:mean {dim = {d}}, mean)
      near(x:var {dim = {d}}, var, 1e-3)
    end
  end)

  it("computes sums of exponentials that would overflow", function()
    local x = st.randn(20, 300) * 200
    near(x:logsumexp(2), ops.logsumexp(x, {dim = {2}}))
  end)

  it("keeps the order of a combine that does not commute", function()
    local a = st.rand(2000) * 0.2 + 0.9
    local b = st.randn(2000)
    local expected = 0
    local as, bs = a:totable(), b:totable()
    for i = 1, 2000 do expected = expected * as[i] + bs[i] end
    local _, got = ops.chain(a:to "float64", b:to "float64")
    assert.near(expected, got:item(), 1e-3 * math.max(1, math.abs(expected)))
  end)

  -- -- Dtypes ----------------------------------------------------------------

  it("accumulates in the dtype of map's results", function()
    assert.equal(st.int32, ops.total(st.ones(3, {dtype = "int32"})).dtype)
    assert.equal(st.float64, ops.total(st.ones(3, {dtype = "float64"})).dtype)
    assert.equal(st.float32, ops.rms(st.ones(3, {dtype = "int32"}), 1.0).dtype)
    local z = st.randn({3}, {dtype = "complex64"})
    assert.equal(st.complex64, ops.total(z).dtype)
    assert.is_true(st.allclose(z:sum(), ops.total(z)))
  end)

  it("raises that to hold init and what combine gives", function()
    lib:reduction("half(Tensor x) -> Tensor", {combine = "a + b", init = 0.5})
    local got = ops.half(st.ones(3, {dtype = "int64"}))
    assert.equal(st.float32, got.dtype)
    assert.equal(3.5, got:item())
    lib:reduction("mean2(Tensor x) -> Tensor", {combine = "(a + b) / 2"})
    assert.equal(1.5, ops.mean2(st.tensor({1, 2}, {dtype = "int32"})):item())
  end)

  -- -- Nothing ---------------------------------------------------------------

  it("of nothing is init", function()
    assert.equal(0, ops.total(st.zeros(0)):item())
    assert.same({1, 1}, ops.product(st.zeros(2, 0), {dim = {2}}):totable())
    assert.same({0}, {unpack(ops.total(st.zeros(0, 2), {dim = {2}}).shape)})
    assert.same({0}, {unpack(ops.peak(st.zeros(0, 2), {dim = {2}}).shape)})
  end)

  it("of nothing without init is an error", function()
    assert.matches("dimension 2 .*no elements",
                   failure(ops.peak, st.zeros(2, 0), {dim = {2}}))
  end)

  it("of one element with no dimension is that one", function()
    assert.equal(5, ops.total(st.tensor(5)):item())
    assert.equal(5, ops.peak(st.tensor(5)):item())
  end)

  -- -- out= and Meta ---------------------------------------------------------

  it("writes to out=, also where it reads", function()
    local x, out = st.randn(4, 5), st.empty(4)
    assert.equal(out, ops.total(x, {dim = {2}, out = out}))
    near(x:sum(2), out)
    local square = st.randn(6, 6)
    local expected = square:sum(2)
    ops.total(square, {dim = {2}, out = square:select(1, 1)})
    near(expected, square:select(1, 1))
    local doubled = st.zeros(8, {dtype = "float64"})
    ops.total(x, {dim = {2}, out = doubled:slice(1, 1, 8, 2)})
    near(x:sum(2), doubled:slice(1, 1, 8, 2))
    assert.equal(0, doubled:slice(1, 2, 8, 2):abs():sum():item())
  end)

  it("knows shapes and dtypes on Meta", function()
    local x = st.empty({3, 4}, {device = "meta"})
    local mean, var = ops.moments(x, {dim = {1}})
    assert.same({4}, {unpack(mean.shape)})
    assert.equal(st.float32, var.dtype)
  end)

  it("shows its schema and documentation", function()
    assert.equal("spec_custom::total(Tensor x, *, Dim[1]? dim=None, " ..
                 "bool keepdim=False) -> Tensor", ops.total.default:schema())
    assert.matches("root of the mean square", st.help "spec_custom::rms")
  end)

  -- -- Bits ------------------------------------------------------------------

  -- also of what is no number
  local function bits(t) return t:contiguous():view "int32" end

  local function layouts(t)
    local n = t:dim()
    local sizes = {}
    for i = 1, n do sizes[i] = t.shape[i] * 2 end
    local stepped = st.zeros(sizes)
    for i = 1, n do stepped = stepped:slice(i, 2, sizes[i], 2) end
    stepped:copy_(t)
    return {t:transpose(1, n):contiguous():transpose(1, n), stepped,
            t:flip {1}:contiguous():flip {1}}
  end

  it("has the same bits for every layout and number of threads", function()
    for _, shape in ipairs(library.SHAPES) do
      local t = st.randn(shape)
      local others = layouts(t)
      for _, name in ipairs(library.NAMES) do
        local call = library.CALLS[name]
        for d = 0, #shape do
          local options = d > 0 and {dim = {d}} or {keepdim = true}
          st.set_num_threads(1)
          local expected = bits(call(ops, t, options))
          for n = 1, 4 do
            st.set_num_threads(n)
            if not expected:equal(bits(call(ops, t, options))) or
               not expected:equal(bits(call(ops, others[n] or t, options)))
            then
              error(("%s of %s over %d, %d"):format(
                name, table.concat(shape, "x"), d, n))
            end
          end
        end
      end
    end
    st.set_num_threads(threads)
  end)

  it("has the same bits for expanded arguments", function()
    local t = st.randn(1, 700):expand(50, 700)
    for d = 1, 2 do
      assert.is_true(st.equal(ops.total(t:contiguous(), {dim = {d}}),
                              ops.total(t, {dim = {d}})))
    end
  end)

  if not build.is_sanitized and not os.getenv "STRIDED_ISA" then
    it("has the same bits for every instruction set", function()
      local function digest(isa)
        return build.on_instruction_set(isa,
          ("%s '%s/custom_reduction/digest.lua'"):format(build.lua, HERE))
      end
      local expected = digest "base"
      assert.matches("moments\t40000x2\t2", expected)
      assert.equal(expected, digest "avx2")
    end)
  end

  -- -- Gradients -------------------------------------------------------------

  local function leaf(...)
    return st.randn({...}, {dtype = "float64", requires_grad = true})
  end

  for name, body in pairs {
    ["a sum of a map"] = function(x, w)
      return ops.rms(x, w:exp(), {dim = {1}, eps = 0.1})
    end,
    ["a sum of everything"] = function(x, w) return ops.distance(x, w) end,
    ["a product"] = function(x)
      return ops.product(x, {dim = {2}, keepdim = true})
    end,
    ["an extremum"] = function(x) return ops.peak(x, {2}) end,
    ["two accumulators"] = function(x)
      return ops.logsumexp(x, {dim = {2}})
    end,
    ["three accumulators"] = function(x) return ops.moments(x) end,
    ["an order"] = function(x, w) return ops.chain(x, w, {dim = {2}}) end,
  } do
    it("has a derivative, and that of it: " .. name, function()
      local x, w = leaf(3, 5), leaf(5)
      assert.is_true(st.autograd.gradcheck(body, {x, w}))
      assert.is_true(st.autograd.gradgradcheck(body, {x, w}))
    end)
  end

  it("has the gradient of the same calls one after the other", function()
    local x, y = st.randn({40, 30}, {requires_grad = true}), st.randn(30)
    y:requires_grad_()
    local g = {st.grad(ops.distance(x, y), {x, y})}
    local expected = {st.grad((x - y):square():sum(), {x, y})}
    near(expected[1], g[1])
    near(expected[2], g[2])
  end)

  -- -- Memory ----------------------------------------------------------------

  local function fail_each(call)
    for k = 1, MOST do
      st.memory_fail_at(k)
      local ok, message = pcall(call)
      local left = st.memory_fail_at(0)
      if ok then
        assert.is_true(left > 0, "a failure was swallowed")
        return k - 1
      end
      assert.truthy(tostring(message):find "out of memory", message)
    end
    error "never succeeds"
  end

  it("fails cleanly at every allocation", function()
    local x = st.randn({40, 70}, {requires_grad = true})
    local out = st.full({40}, 7)
    local n = 0
    local calls = {
      function() return ops.moments(x:detach(), {dim = {2}}) end,
      function() return ops.total(x:detach()) end,
      -- another number for a program that is not there yet
      function()
        n = n + 1
        return ops.rms(x:detach(), 1.0, {eps = n})
      end,
      function() return st.grad(ops.logsumexp(x), x) end,
      function() return st.grad(ops.distance(x, 1.0), x) end,
    }
    for _, call in ipairs(calls) do
      call()
      require "spec.support.collect" ()
      local kinds = live()
      kinds.registry = nil -- programs that are kept
      assert.is_true(fail_each(call) > 0)
      require "spec.support.collect" ()
      local now = live()
      now.registry = nil
      assert.same(kinds, now)
    end
    assert.is_true(out:eq(7):all():item())
  end)

  it("is defined completely, or not at all", function()
    local function define()
      lib:reduction("starved(Tensor x) -> (Tensor a, Tensor b)", {
        map = "x, -x", combine = "a1 + b1, maximum(a2, b2)", init = {0, 0},
      })
    end
    assert.is_true(fail_each(define) > 0)
    local a, b = ops.starved(st.tensor {1, 2})
    assert.same({3, 0}, {a:item(), b:item()})
  end)

  -- -- Misuse ----------------------------------------------------------------

  for what, row in pairs {
    ["no table"] = {"f(Tensor x) -> Tensor", 1, "the options must be a table"},
    ["no combine"] = {"f(Tensor x) -> Tensor", {}, "option 'combine'"},
    ["an unknown option"] = {"f(Tensor x) -> Tensor",
                             {combine = "a + b", fold = 1},
                             "no option 'fold'"},
    ["a missing map"] = {"f(Tensor x, Tensor y) -> Tensor",
                         {combine = "a + b"}, "2 tensors.*option 'map'"},
    ["a wrong init"] = {"f(Tensor x) -> Tensor",
                        {combine = "a + b", init = "0"},
                        "init must be a number or a list of numbers"},
    ["too many inits"] = {"f(Tensor x) -> Tensor",
                          {combine = "a + b", init = {0, 1}},
                          "init of .* has 2 numbers"},
    ["a combine of fewer"] = {"f(Tensor x) -> Tensor",
                              {map = "x, x", combine = "a1 + b1"},
                              "combine of .* returns 1 results, its map 2"},
    ["a result too many"] = {"f(Tensor x) -> (Tensor, Tensor)",
                             {combine = "a + b"}, "returns 2 results"},
    ["a combine that reduces"] = {"f(Tensor x) -> Tensor", {
      combine = function(a, b) return (a + b):sum() end,
    }, "'sum' .* is not pointwise"},
    ["another dim"] = {"f(Tensor x, int dim=1) -> Tensor",
                       {combine = "a + b"}, "must be Dim%[1%]%?, not int"},
    ["a text"] = {"f(Tensor x, str s) -> Tensor", {combine = "a + b"},
                  "argument 's' .* is str"},
  } do
    it("refuses " .. what, function()
      local said = failure(function() lib:reduction(row[1], row[2]) end)
      assert.matches(row[3], said)
      assert.matches("custom_reduction_spec", said)
      assert.is_nil(ops.f)
    end)
  end

  it("refuses arguments that do not fit", function()
    assert.matches("rms.*do not broadcast",
                   failure(ops.rms, st.zeros(3), st.zeros(4)))
    assert.matches("total.*dimension 3 is out of range",
                   failure(ops.total, st.zeros(3), {dim = {3}}))
    assert.matches("more than once",
                   failure(ops.total, st.zeros(3, 2), {dim = {1, -2}}))
  end)

  it("refuses integers divided by zero before it writes", function()
    lib:reduction("quotients(Tensor x, Tensor y) -> Tensor", {
      map = "x // y", combine = "a + b", init = 0,
    })
    local one = st.ones(3, {dtype = "int64"})
    local out = st.full({}, 9, {dtype = "int64"})
    assert.equal(3, ops.quotients(one, one):item())
    assert.matches("division of integers by zero",
                   failure(ops.quotients, one, one - 1, {out = out}))
    assert.equal(9, out:item())
  end)

  it("leaves nothing behind", function()
    assert.equal(before, tensors.live())
  end)
end)
