--- Conjugates, negatives and zeros that are not computed: views keep them
-- lazy, every operator sees through them, writing through them arrives.
-- axes: isa lua

local core = require "strided.core"
local st = require "strided"
local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local complex = st.complex
local aten = st.ops.aten

--- "C" for a conjugate, "N" for a negative, "Z" for zeros.
local function kind(t)
  return (t:_is_zerotensor() and "Z" or "") .. (t:is_conj() and "C" or "") ..
         (t:is_neg() and "N" or "")
end

--- Elements as nested tables, complex ones as pairs.
local function elements(t)
  t = t:clone()
  return (tostring(t.dtype):find "^complex" and t:view_as_real() or t)
         :totable()
end

local function c64() return st.tensor {complex(1, 2), complex(3, -4)} end
local function f32() return st.tensor({1, -2}, {dtype = "float32"}) end
local function zeros(...)
  return st._efficientzerotensor({2, 3}, ...)
end
local function ramp()
  return st.arange(6):to "float32":view {2, 3}
end

-- sentence, call, kind, elements
local RESULTS = {
  {"conj is a view", function() return c64():conj() end, "C",
   {{1, -2}, {3, 4}}},
  {"conj of a conjugate is none", function() return c64():conj():conj() end,
   "", {{1, 2}, {3, -4}}},
  {"conj of a real tensor is that", function() return f32():conj() end, "",
   {1, -2}},
  {"a negative view", function() return f32():_neg_view() end, "N", {-1, 2}},
  {"of complex numbers, too", function() return c64():_neg_view() end, "N",
   {{-1, -2}, {-3, 4}}},
  {"both at once", function() return c64():conj():_neg_view() end, "CN",
   {{-1, 2}, {-3, -4}}},
  {"imag of a conjugate is a negative", function()
    return c64():conj():imag()
  end, "N", {-2, 4}},
  {"real of a conjugate is plain", function() return c64():conj():real() end,
   "", {1, 3}},
  {"imag of a negative stays one", function()
    return c64():_neg_view():imag()
  end, "N", {-2, 4}},
  {"imag of both is plain", function()
    return c64():conj():_neg_view():imag()
  end, "", {2, -4}},
  {"pairs of negatives are negatives", function()
    return c64():_neg_view():view_as_real()
  end, "N", {{-1, -2}, {-3, 4}}},
  {"and the numbers that they make", function()
    return st.ones(1, 2):_neg_view():view_as_complex()
  end, "N", {{-1, -1}}},
  {"views keep the bit", function()
    return c64():conj():unsqueeze(1):expand {2, 2}:t()[{{2}, {}}]
  end, "C", {{{3, 4}, {3, 4}}}},
  {"lists of views keep it", function() return c64():conj():split(1)[2] end,
   "C", {{3, 4}}},
  {"contiguous and to have nothing to do", function()
    return c64():conj():contiguous():to "complex64"
  end, "C", {{1, -2}, {3, 4}}},
  {"another layout is a copy", function()
    return st.stack {c64(), c64()}:t():conj():contiguous()
  end, "", {{{1, -2}, {1, -2}}, {{3, 4}, {3, 4}}}},
  {"reshape makes what copy it must", function()
    return st.stack {c64(), c64()}:t():conj():reshape {4}
  end, "", {{1, -2}, {1, -2}, {3, 4}, {3, 4}}},
  {"resolve_conj copies", function() return c64():conj():resolve_conj() end,
   "", {{1, -2}, {3, 4}}},
  {"resolve_neg copies", function() return f32():_neg_view():resolve_neg() end,
   "", {-1, 2}},
  {"conj_physical computes", function()
    return c64():conj():conj_physical()
  end, "", {{1, 2}, {3, -4}}},
  {"mH", function() return st.stack {c64(), c64()}:mH() end, "C",
   {{{1, -2}, {1, -2}}, {{3, 4}, {3, 4}}}},
  {"adjoint of a number", function()
    return st.tensor(complex(0, 1)):adjoint():view {1}
  end, "C", {{0, -1}}},
  {"matrix_H of real numbers is t", function()
    return st.ones(2, 1):matrix_H()
  end, "", {{1, 1}}},
  {"an integer is negated before it becomes a float", function()
    return st.tensor({5, 0}, {dtype = "uint8"}):_neg_view():to "float32"
  end, "", {251, 0}},
  {"also by copy_", function()
    return st.zeros(2):copy_(st.tensor({-128, 5}, {dtype = "int8"})
                             :_neg_view())
  end, "", {-128, -5}},
  {"a bool from a negative", function()
    return st.tensor {1, 0}:_neg_view():to "bool"
  end, "", {true, false}},
  {"real parts from a conjugate, imaginary ones from its imag", function()
    return st.stack {st.zeros(2):copy_(c64():conj():real()),
                     st.zeros(2):copy_(c64():conj():imag())}
  end, "", {{1, 3}, {-2, 4}}},
  {"in place through a conjugate", function()
    local x = c64()
    assert.equal("C", kind(x:conj():mul_(complex(0, 1))))
    return x
  end, "", {{2, -1}, {-4, -3}}},
  {"in place with another view of the same memory", function()
    local x = c64()
    x:conj():mul_(x)
    return x
  end, "", {{5, 0}, {25, 0}}},
  {"copy_ of its own conjugate", function()
    local x = c64()
    return x:copy_(x:conj())
  end, "", {{1, -2}, {3, 4}}},
  {"copy_ into a conjugate of another dtype", function()
    local x = st.zeros(2, {dtype = "complex128"})
    x:conj():copy_(c64())
    return x
  end, "", {{1, -2}, {3, 4}}},
  {"out= through a negative", function()
    local x = st.zeros(2)
    st.add(f32(), f32(), {out = x:_neg_view()})
    return x
  end, "", {-2, 4}},
  {"out= grows", function()
    local x = st.zeros(0):_neg_view()
    return st.add(f32(), 1, {out = x})
  end, "N", {2, -1}},
  {"one element by subscript", function()
    local x = f32()
    x:_neg_view()[2] = 7
    return x
  end, "", {1, -7}},
  {"several by positions", function()
    local x = c64()
    x:conj()[st.tensor {2, 1}] = st.tensor {complex(7, 8), complex(5, 6)}
    return x
  end, "", {{5, -6}, {7, -8}}},
  {"resize_ keeps what is there", function()
    return c64():conj():resize_ {1}
  end, "C", {{1, -2}}},

  {"zeros without memory", zeros, "Z", {{0, 0, 0}, {0, 0, 0}}},
  {"views of zeros", function() return zeros():t()[1] end, "Z", {0, 0}},
  {"clone makes them", function() return zeros():clone() end, "",
   {{0, 0, 0}, {0, 0, 0}}},
  {"what is like them is plain", function() return st.ones_like(zeros()) end,
   "", {{1, 1, 1}, {1, 1, 1}}},
  {"zero times anything", function()
    return st.tensor {{1 / 0, 0 / 0, 1}} * zeros()
  end, "Z", {{0, 0, 0}, {0, 0, 0}}},
  {"zero times a number", function() return zeros() * 2 end, "Z",
   {{0, 0, 0}, {0, 0, 0}}},
  {"zero by anything", function() return zeros() / 0 end, "Z",
   {{0, 0, 0}, {0, 0, 0}}},
  {"anything by zero is computed", function()
    return st.tensor({1, -1, 1}, {dtype = "float32"}) / zeros()[1]
  end, "", {1 / 0, -1 / 0, 1 / 0}},
  {"zero and zero", function() return zeros() - zeros() end, "Z",
   {{0, 0, 0}, {0, 0, 0}}},
  {"zero and a term", function() return zeros() + ramp()[2] end, "",
   {{3, 4, 5}, {3, 4, 5}}},
  {"a term less zero", function() return ramp() - zeros() end, "",
   {{0, 1, 2}, {3, 4, 5}}},
  {"zero less terms, scaled", function()
    return st.sub(zeros(), ramp(), {alpha = 2})
  end, "", {{0, -2, -4}, {-6, -8, -10}}},
  {"sums of zeros with numbers", function() return zeros() + 1 end, "",
   {{1, 1, 1}, {1, 1, 1}}},
  {"dot", function() return zeros()[1]:dot(ramp()[1]):view {1} end, "Z", {0}},
  {"zeros into a copy", function() return ramp():copy_(zeros()) end, "",
   {{0, 0, 0}, {0, 0, 0}}},
  {"others see zeros", function() return zeros():exp() end, "",
   {{1, 1, 1}, {1, 1, 1}}},
  {"in lists, too", function() return st.cat {zeros()[{{1}}], ramp()} end, "",
   {{0, 0, 0}, {0, 1, 2}, {3, 4, 5}}},
  {"a scaled term of bools stays one", function()
    return st.add(zeros {dtype = "bool"}[1], st.tensor {true, false, true},
                  {alpha = 2})
  end, "", {true, false, true}},
  {"where to cut, negated", function()
    local at = st.tensor({-1, -3}, {dtype = "int64"}):_neg_view()
    return st.arange(6):tensor_split(at)[2]
  end, "", {1, 2}},
  {"zeros for where to cut", function()
    local at = st._efficientzerotensor({1}, {dtype = "int64"})
    return ramp()[1]:tensor_split(at)[2]
  end, "", {0, 1, 2}},
  {"conjugates of zeros", function()
    return zeros {dtype = "complex64"}[1]:conj()
  end, "ZC", {{0, 0}, {0, 0}, {0, 0}}},
}

-- sentence, call, what the message says
local ERRORS = {
  {"pairs of a conjugate", function() c64():conj():view_as_real() end,
   {"view_as_real: ", "lazy conjugate"}},
  {"a conjugate as another dtype", function()
    c64():conj():view "float32"
  end, {"view: ", "lazy conjugate"}},
  {"a negative as another dtype", function() f32():_neg_view():view "int32" end,
   {"view: ", "lazy negative"}},
  {"a lazy conjugate of real numbers", function() f32():_conj() end,
   {"_conj: ", "complex"}},
  {"a negative bool", function() st.tensor {true}:_neg_view() end,
   {"_neg_view: ", "bool"}},
  {"imag of real numbers", function() f32():imag() end, {"imag: ", "complex"}},
  {"adjoint of a vector", function() f32():adjoint() end,
   {"adjoint: ", "matrix"}},
  {"matrix_H of a batch", function() st.ones(1, 1, 1):matrix_H() end,
   {"matrix_H: ", "mH"}},
  {"writing to conjugates in one place", function()
    st.ones(1, {dtype = "complex64"}):expand {3}:conj():add_(1)
  end, {"add_: ", "several elements in one place"}},
  {"bytes of a conjugate", function() c64():conj():tostring_bytes() end,
   "lazy"},
  {"writing bytes of a negative", function()
    core.set_bytes(f32():_neg_view(), 0, "abcd")
  end, "lazy"},
  {"a plan over bytes", function()
    st.iterator {outputs = {f32()}, inputs = {f32():_neg_view()}}
  end, {"iterator: ", "lazy"}},
  {"zeros in place", function() zeros():add_(1) end, {"add_: ", "immutable"}},
  {"zeros as out=", function() st.add(ramp(), 1, {out = zeros()}) end,
   {"add: ", "immutable"}},
  {"copying into zeros", function() zeros():copy_(ramp()) end,
   {"copy_: ", "immutable"}},
  {"setting an element of zeros", function() zeros()[1][1] = 1 end,
   {"fill_: ", "immutable"}},
  {"resizing zeros", function() zeros():resize_ {9} end,
   {"resize_: ", "immutable"}},
  {"copying zeros of a shape that does not fit", function()
    st.ones(2):copy_(zeros())
  end, {"copy_: ", "broadcast"}},
  {"zeros times what does not fit", function() return zeros() * st.ones(2) end,
   {"mul: ", "broadcast"}},
}

-- Operators of one or two vectors of four complex numbers.
local OPERATORS = {
  neg = function(x) return x:neg() end,
  exp = function(x) return x:exp() end,
  abs = function(x) return x:abs() end,
  sum = function(x) return x:sum():view {1} end,
  cumsum = function(x) return x:cumsum(1) end,
  flip = function(x) return x:flip {1} end,
  conj_physical = function(x) return x:conj_physical() end,
  index_select = function(x) return x:index_select(1, st.tensor {4, 1}) end,
  outer = function(x, y) return x:outer(y) end,
  add = function(x, y) return st.add(x, y, {alpha = 2}) end,
  mul = function(x, y) return x * y end,
  eq = function(x, y) return x:eq(y) end,
  where = function(x, y) return st.where(x:abs():lt(2), x, y) end,
  cat = function(x, y) return st.cat {x, y} end,
  dot = function(x, y) return x:dot(y):view {1} end,
  matmul = function(x, y) return x:view {2, 2}:matmul(y:view {2, 2}:mT()) end,
  item = function(x, y) return st.tensor {x[1], y:select(1, 2):item()} end,
  ["in place"] = function(x, y)
    local bytes = x:clone()
    x:add_(y)
    local result = x:clone()
    return st.cat {result, x:copy_(bytes)}
  end,
  copy_ = function(x, y)
    local bytes = x:clone()
    x:copy_(y)
    local result = x:clone()
    return st.cat {result, x:copy_(bytes)}
  end,
  ["out="] = function(x, y)
    return st.mul(x, y, {out = st.empty_like(x):conj()})
  end,
}

local LAZY = {
  plain = function(t) return t end,
  conjugate = function(t) return t:conj() end,
  negative = function(t) return t:_neg_view() end,
  both = function(t) return t:conj():_neg_view() end,
}

--- Four complex numbers in a row, or with gaps.
local function numbers(seed, has_gaps)
  local list = {}
  for i = 1, 8 do
    list[i] = complex((seed * i) % 5 - 2, (seed + 3 * i) % 7 - 3)
  end
  local t = st.tensor(list)
  return has_gaps and t:view {4, 2}:select(2, 1) or t[{{1, 4}}]
end

local function each_pair(f)
  for name, lazy in pairs(LAZY) do
    for other, lazily in pairs(LAZY) do
      for gaps = 0, 1 do
        f(name .. ", " .. other, lazy(numbers(3, gaps == 1)),
          lazily(numbers(4, gaps == 0)))
      end
    end
  end
end

-- What goes round the keys, for whatever reason, must not crash.
local DETOURS = {
  function(z) return aten.exp:call_for_key("CPU", z) end,
  function(z) return aten.fill_.Scalar:call_for_key("CPU", z, 1) end,
  function(z) return z:sum() end,
  function(z) return st.cat {z, z} end,
  function(z) return z:copy_(z:detach()) end,
  function(z) return z:copy_(st.ones(2, 3)) end,
  function(z) return z:resize_ {100} end,
  function(z) return z:sort() end,
  function(z) return z:mm(z:t()) end,
  function(z) return z:uniform_() end,
  function(z) return st.eye(3, {out = z}) end,
}

describe("Lazy tensors:", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.equal(before, live()) end)

  for _, row in ipairs(RESULTS) do
    it(row[1], function()
      local t = row[2]()
      assert.equal(row[3], kind(t))
      assert.same(row[4], elements(t))
    end)
  end

  for _, row in ipairs(ERRORS) do
    it("fails: " .. row[1], function()
      raises(row[3], row[2])
    end)
  end

  for name, f in pairs(OPERATORS) do
    it(name .. " gives what it gives on copies", function()
      each_pair(function(what, x, y)
        local want = elements(f(x:clone(), y:clone()))
        assert.same(want, elements(f(x, y)), what)
      end)
    end)
  end

  it("prints, lists and saves what it means", function()
    local x = f32():_neg_view()
    assert.equal("tensor([-1.,  2.])", tostring(x))
    assert.same({-1, 2}, x:totable())
    local path = os.tmpname()
    st.save(path, x)
    assert.same({-1, 2}, st.load(path):totable())
    os.remove(path)
    assert.equal("tensor([0., 0., 0.])", tostring(zeros()[1]))
    assert.same({0, 0, 0}, zeros()[1]:totable())
  end)

  it("takes no memory for zeros, whatever the size", function()
    local z = st._efficientzerotensor {1000000, 1000000} * 2
    assert.equal(0, z[7][-1])
    assert.matches("0., 0., 0.", tostring(z))
  end)

  it("counts as no memory for the collector", function()
    local dead = setmetatable({}, {__mode = "v"})
    collectgarbage()
    dead[1] = {}
    for _ = 1, 3 do st._efficientzerotensor {2^60} end
    assert.is_table(dead[1])
    collectgarbage()
    assert.is_nil(dead[1])
  end)

  it("lives on the meta device", function()
    local x = st.ones(2, {dtype = "complex64", device = "meta"}):conj()
    assert.equal("C", kind(x))
    assert.equal("", kind(x:exp()))
    assert.equal("Z", kind(zeros {device = "meta"} * 2))
    local z = zeros {device = "meta"}
    raises({"add_", "immutable"}, z.add_, z, 1)
  end)

  it("survives detours round its keys", function()
    for _, f in ipairs(DETOURS) do
      local z = zeros()
      raises("no memory", st.exclude_keys, "ZeroTensor", f, z)
      assert.equal("Z", kind(z))
    end
  end)

  it("makes way for the fallback of a script", function()
    local x = c64():conj()
    local lib = st.library("_", "IMPL")
    lib:fallback("Conjugate", function() error "not here" end)
    local ok, why = pcall(x.exp, x)
    lib:close()
    assert.is_false(ok)
    assert.matches("not here", tostring(why))
    assert.same(elements(x:clone():exp()), elements(x:exp()))
  end)

  it("changes nothing when memory runs out", function()
    local x = c64()
    local view, k = x:conj(), 0
    local ok
    repeat
      local why
      k = k + 1
      st.memory_fail_at(k)
      ok, why = pcall(view.mul_, view, complex(0, 1))
      st.memory_fail_at(0)
      if not ok then
        assert.matches("memory", tostring(why))
        assert.same({{1, 2}, {3, -4}}, elements(x))
      end
      assert.is_true(k < 50)
    until ok
    assert.is_true(k > 2)
    assert.same({{2, -1}, {-4, -3}}, elements(x))
  end)
end)

describe("frexp", function()
  for _, dtype in ipairs {"float16", "bfloat16", "float32", "float64"} do
    it("takes apart " .. dtype, function()
      local x = st.tensor({8, -0.375, 0, 1 / 0}, {dtype = dtype})
      local m, e = st.frexp(x)
      assert.equal(dtype, tostring(m.dtype))
      assert.equal("int32", tostring(e.dtype))
      assert.same({0.5, -0.75, 0, 1 / 0}, m:totable())
      assert.same({4, -1, 0}, e[{{1, 3}}]:totable())
    end)
  end

  it("writes to two outputs, of which one may be lazy or its input", function()
    local x, m = f32(), st.zeros(2)
    local e = st.zeros(2, {dtype = "int32"})
    st.frexp(x, {mantissa = m:_neg_view(), exponent = e:_neg_view()})
    assert.same({-0.5, 0.5}, m:totable())
    assert.same({-1, -2}, e:totable())
    st.frexp(x, {mantissa = x, exponent = e})
    assert.same({0.5, -0.5}, x:totable())
  end)

  it("is for floats", function()
    raises({"frexp", "complex64"}, st.frexp, c64())
    raises({"frexp", "int64"}, st.frexp, st.arange(3))
  end)
end)
