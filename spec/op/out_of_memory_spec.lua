--- Every allocation of an operator may fail: the error is the one of memory,
-- nothing leaks and no input changes.
-- axes: none
-- sampled: 3

local st = require "strided"
local lapack = require "spec.support.lapack"
local calls = require "spec.fuzz.calls"
local core = require "strided.core"
local values = require "spec.fuzz.values"

local live = require "spec.support.tensors".kinds

st.warnings(false) -- an out= tensor of another shape is on purpose here

local function inputs()
  local a = st.arange(0, 12):to("float32"):view(3, 4)
  local b = st.arange(12, 24):to("float32"):view(4, 3):t()
  return {
    a = a, b = b, small = st.arange(0, 4):to "int32", mask = a:gt(5),
    positions = st.tensor({{1, 2, 1, 3}}, {dtype = "int64"}),
    square = st.ones(3, 3), large = st.eye(90),
    double = st.zeros({3, 3}, {dtype = "float64"}),
    complex = st.ones({3}, {dtype = "complex64"}),
  }
end

-- name, call, allocates = false for one that does not
local OPERATORS = {
  {"add", function(x) return x.a:add(x.b) end},
  {"add with promotion", function(x) return x.a:add(x.small) end},
  {"add with a number", function(x) return x.a + 2 end},
  {"add_", function(x) return x.a:add_(x.b) end, allocates = false},
  {"mul to out=", function(x)
    return st.mul(x.a, x.b, {out = x.square})
  end},
  {"exp", function(x) return x.a:exp() end},
  {"clamp", function(x) return x.a:clamp(2, 5) end},
  {"where", function(x) return st.where(x.mask, x.a, x.b) end},
  {"sum", function(x) return x.a:sum() end},
  {"mean of dimensions", function(x) return x.b:mean {dim = {1}} end},
  {"argmax", function(x) return x.a:argmax {dim = 2} end},
  {"matmul", function(x) return x.a:matmul(x.b:t()) end},
  {"cat", function(x) return st.cat({x.a, x.b}, 1) end},
  {"stack", function(x) return st.stack {x.a, x.b} end},
  {"sort", function(x) return x.b:sort() end},
  {"topk", function(x) return x.a:topk(2) end},
  {"cumsum", function(x) return x.b:cumsum(1) end},
  {"gather", function(x) return x.a:gather(1, x.positions) end},
  {"masked_select", function(x) return x.a:masked_select(x.mask) end},
  {"nonzero", function(x) return x.mask:nonzero() end},
  {"isclose", function(x) return x.a:isclose(x.b, {equal_nan = true}) end},
  {"isin", function(x) return st.isin(x.a, x.b) end},
  {"float_power to out=", function(x)
    return st.float_power(x.square, 2, {out = x.double})
  end},
  {"frexp to out=", function(x)
    local exponent = st.empty({0}, {dtype = "int32"})
    return st.frexp(x.a, {out = {st.empty(0), exponent}})
  end},
  {"diff", function(x) return x.b:diff {n = 2} end},
  -- Products within decompositions in blocks allocate, too.
  {"inv", function(x) return st.linalg.inv(x.large) end},
  {"cholesky", function(x) return st.linalg.cholesky(x.large) end},
  {"qr", function(x) return (st.linalg.qr(x.large)) end},
  {"eigh", function(x) return (st.linalg.eigh(x.large)) end},
  {"lstsq", function(x) return (st.linalg.lstsq(x.large, x.large)) end},
  {"resolve_conj", function(x) return x.complex:conj():resolve_conj() end},
  {"resolve_neg", function(x) return x.complex:conj():imag():resolve_neg() end},
  {"trapezoid", function(x) return st.trapezoid(x.a, x.b) end},
  {"quantile", function(x) return x.b:quantile(0.5, {dim = 1}) end},
  {"mode", function(x) return x.b:mode(1) end},
  {"nanmedian", function(x) return x.b:nanmedian() end},
  {"histc", function(x) return x.b:histc(3) end},
  {"bincount", function(x) return x.small:bincount {base = 0} end},
  {"unique_consecutive", function(x)
    return x.small:unique_consecutive(true, true)
  end},
  {"contiguous", function(x) return x.b:contiguous() end},
  {"to", function(x) return x.b:to "int64" end},
  {"reshape", function(x) return x.b:reshape(12) end},
  {"split", function(x) return x.a:split(1, 2) end},
  {"subscript", function(x) return x.a["2:3, 1"] end},
  {"subscript by mask", function(x) return x.a[{x.mask}] end},
  {"assignment", function(x) x.a["2:3, 1"] = x.b["2:3, 2"] end},
  {"iterator", function(x)
    return st.iterator {outputs = {false}, inputs = {x.a, x.b}}
  end},
}

local path = os.tmpname()

-- The same for what is no operator.
local FUNCTIONS = {
  {"a tensor from a table", function()
    return st.tensor({{1, 2}, {3, 4}}, {dtype = "int16"})
  end},
  {"a tensor from bytes", function()
    return st.frombuffer(("x"):rep(64), {dtype = "float32", shape = {4, 4}})
  end},
  {"a generator", function() return st.Generator(3) end},
  {"printing", function(x) return tostring(x.a), tostring(x.b) end},
  {"a trace", function(x) return st.trace(st.matmul, x.a, x.b:t()) end},
  {"a dump of an operator", function() return st.dump "aten::add.Tensor" end},
  {"a mode", function(x)
    return st.dispatch_mode(function(op, keys, ...)
      return op:redispatch(keys, ...)
    end, function() return x.a:mul(x.b) end)
  end},
  {"a library", function(x)
    local lib = st.library("starving", function(lib)
      lib:def "f(Tensor a, int[] n=[1, 2]) -> (Tensor, Tensor)"
      lib:impl("f", "CPU", function(a) return a, a end)
    end)
    local ok, why = pcall(st.ops.starving.f, x.a)
    lib:close()
    if not ok then error(why, 0) end
  end},
  {"sharing", function(x)
    local token = st.share(x.a)
    local ok, t = pcall(st.attach, token)
    st.unshare(token)
    if not ok then error(t, 0) end
    return t
  end},
  {"DLPack there and back", function(x)
    return st.from_dlpack(x.b:to_dlpack())
  end},
  {"saving and loading", function(x)
    st.save(path, x.b)
    return st.load(path)
  end},
  {"a mapped file", function(x)
    st.save(path, x.a)
    return st.load(path, {mmap = "r"})
  end},
}
for _, row in ipairs(FUNCTIONS) do OPERATORS[#OPERATORS + 1] = row end

local MOST = 1000 -- allocations a call may take before this looks endless

--- What inputs hold, as bytes.
local function bytes_of(x)
  local out = {}
  for name, t in pairs(x) do
    local c = t:contiguous()
    out[name] = core.get_bytes(c, 0, c:numel() * c:element_size())
  end
  return out
end

--- Lets each allocation of a call fail; returns how many there are.
local function fail_each(call)
  for k = 1, MOST do
    local x = inputs()
    local holding = bytes_of(x)
    st.memory_fail_at(k)
    local ok, message = pcall(call, x)
    local left = st.memory_fail_at(0)
    if ok then
      -- it went through: this call makes fewer than k allocations
      assert.is_true(left > 0, "a failure was swallowed")
      return k - 1
    end
    assert.truthy(tostring(message):find "out of memory", message)
    assert.same(holding, bytes_of(x))
  end
  error "never succeeds"
end

describe("When memory runs out", function()
  local before

  setup(function() before = live() end)
  teardown(function() os.remove(path) end)

  for _, row in ipairs(OPERATORS) do
    it(row[1] .. " fails cleanly at every allocation", function()
      row[2](inputs()) -- what is made once and kept is made here
      local kinds = live()
      local failures = fail_each(row[2])
      assert.equal(row.allocates ~= false, failures > 0)
      assert.same(kinds, live())
    end)
  end

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)

-- -- Every overload ----------------------------------------------------------

-- The sanitizers take their time: every so many overloads will do there.
local STEP = os.getenv "STRIDED_SANITIZED" and 4 or 1
local GROUP = 80 -- overloads between two looks at what is alive

-- Overloads that no generated call reaches, with the reason. The list does
-- not grow: an operator whose arguments need care gets a hint in values.lua.
local OUT_OF_REACH = {}

-- What works in place or gives no tensor needs no memory of its own; besides,
-- by name and with the reason:
local WITHOUT_MEMORY = {
  ["aten::frexp.Tensor_out"] = true, -- hardly a case fits it: above instead
  ["aten::resolve_conj"] = true, -- no case is conjugated: above instead
  ["aten::resolve_neg"] = true,  -- nor negative
  ["aten::positive"] = true,     -- gives its argument
}

--- What is wrong about the k-th allocation's failing, as a text, or nil, and
-- true when the call makes fewer of them.
local function fail_one(call, k)
  local round = call.make()
  local holding = values.all_contents(round.tensors)
  st.memory_fail_at(k)
  local ok, message = pcall(round.run)
  local left = st.memory_fail_at(0)
  if ok then return left == 0 and "swallowed" or nil, true end
  if not tostring(message):find "out of memory" then
    return "says " .. tostring(message)
  end
  for i, t in ipairs(round.tensors) do
    if values.contents(t) ~= holding[i] then
      return "changes input " .. i
    end
  end
end

--- Lets each allocation of a call fail; says in broken what is wrong.
local function fail_all(call, broken)
  for k = 1, MOST do
    local what, done = fail_one(call, k)
    if what then
      broken[#broken + 1] = ("%s without allocation %d: %s"):format(
        call.name, k, what)
    end
    if done then return k - 1 end
  end
  broken[#broken + 1] = call.name .. " never succeeds"
end

--- The names of the calls that leave something behind.
local function leaking(group)
  local out = {}
  for _, call in ipairs(group) do
    local kinds = live()
    fail_all(call, {})
    if not pcall(assert.same, kinds, live()) then out[#out + 1] = call.name end
  end
  return out
end

describe("Every overload of the registry", function()
  local all, before

  setup(function()
    before = live()
    all = calls.all()
  end)

  teardown(function() all = nil end)

  it("has a call that goes through", function()
    assert.is_true(#all > 800)
    local missed = {}
    for _, call in ipairs(all) do
      if not call.make and not lapack.is_missing(call.name) then
        missed[call.name] = call.why
      end
    end
    for name in pairs(OUT_OF_REACH) do
      assert.truthy(missed[name], name .. " is in reach now")
      missed[name] = nil
    end
    assert.same({}, missed)
  end)

  lapack.it_of("linalg_eig", it, pending)("of LAPACK, too", function()
    local found
    for _, call in ipairs(all) do
      found = found or (call.name == "aten::linalg_eig" and call.make)
    end
    assert.truthy(found)
  end)

  it("allocates, unless it works in place or gives no tensor", function()
    local without = {}
    for _, call in ipairs(all) do
      if call.allocations == 0 and not call.name:find "_%f[.%z]" and
         call.schema:find "%->.*Tensor" then
        without[call.name] = true
      end
    end
    assert.same(WITHOUT_MEMORY, without)
  end)

  it("fails cleanly at every allocation", function()
    local broken, group, failures = {}, {}, 0
    local kinds = live()
    for k = 1, #all, STEP do
      local call = all[k]
      if call.make then
        failures = failures + (fail_all(call, broken) or 0)
        group[#group + 1] = call
      end
      if #group == GROUP or k + STEP > #all then
        if not pcall(assert.same, kinds, live()) then
          broken[#broken + 1] = "left behind by " ..
                                table.concat(leaking(group), ", ")
          kinds = live()
        end
        group = {}
      end
    end
    assert.same({}, broken)
    assert.is_true(failures > 1200 / STEP)
  end)

  it("leaves nothing behind", function()
    all = nil
    assert.same(before, live())
  end)
end)
