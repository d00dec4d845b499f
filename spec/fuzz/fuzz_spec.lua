--- Nothing a script does can crash, leak, or change the inputs of a call that
-- fails: a short run of the fuzzer, and what its long runs found.
-- axes: isa lua ffi
-- sampled: 2

local st = require "strided"
local core = require "strided.core"
local public = require "spec.fuzz.public"
local run = require "spec.fuzz.run"
local trampoline = require "spec.fuzz.trampoline"
local values = require "spec.fuzz.values"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

local unpack = unpack or table.unpack

st.warnings(false) -- an out= tensor of another shape is on purpose here

-- Each pass of the tests draws calls of its own.
local PASS = tostring(jit and "LuaJIT" or _VERSION) ..
             tostring(os.getenv "STRIDED_ISA") ..
             tostring(os.getenv "STRIDED_SANITIZED")
local SEED, ROUNDS, TIMES = 20, 5000, 4000
for i = 1, #PASS do SEED = (SEED * 31 + PASS:byte(i)) % 100000 end

describe("the fuzzer", function()
  it("breaks no promise", function()
    run.run(SEED, 0, 0) -- what is made once and kept is made here
    local broken, passed = run.run(SEED, 1, ROUNDS)
    assert.same({}, broken, "seed " .. SEED)
    assert.is_true(passed > ROUNDS / 4, "too little of it gets through")
  end)

  it("breaks none with any function or method that is no operator",
     function()
    local broken, passed, functions = {}, 0, public.functions()
    local before = run.live()
    for k, f in ipairs(functions) do
      for i = 1, 8 do
        local ok, what = run.check(public.round(
          values.case(SEED, 1000 * k + i), nil, f))
        if ok then passed = passed + 1 end
        if what then broken[#broken + 1] = f.name .. ": " .. what end
      end
    end
    assert.same({}, broken)
    assert.is_true(#functions > 130 and passed > 1.6 * #functions)
    assert.same(before, run.live())
  end)

  it("breaks none with anything for an argument", function()
    trampoline.run(SEED, 1, 0)
    local broken, passed = trampoline.run(SEED, 1, TIMES)
    assert.same({}, broken)
    assert.is_true(passed > TIMES / 8, "too little of it gets through")
  end)
end)

-- what it does, its call, what the error says
local REFUSED = {
  {"a base that positions cannot count from", function()
    return st.ones(2, 3):nonzero {base = st.int "9223372036854775806"}
  end, "'base' must be 0 or 1"},
  {"a triangle with more rows than can be counted", function()
    return st.triu_indices(st.int "9223372036854775807", 4)
  end, "row and col must be from 0"},
  {"bytes far behind a tensor", function()
    return core.get_bytes(st.ones(2), st.int "9223372036854775806", 3)
  end, "outside the 8 bytes"},
  {"masked_scatter from a tensor without data", function()
    return st.ones(2):masked_scatter(st.ones({2}, {dtype = "bool"}),
                                     st.ones({2}, {device = "meta"}))
  end, "another device"},
  {"topk into its own input", function()
    local t = st.ones(5, 2)
    return st.topk(t, 1, 1, {out = {t, st.empty({5, 2}, {dtype = "int64"})}})
  end, "is an input"},
  {"kthvalue into its own input", function()
    local t = st.ones(5, 2)
    return st.kthvalue(t, 2, 1,
                       {out = {t, st.empty({0}, {dtype = "int64"})}})
  end, "is an input"},
  {"help for what is no operator", function() return st.help(st.ones(1)) end,
   "must be its name"},
}

describe("an error, not a crash, comes of", function()
  for _, row in ipairs(REFUSED) do
    it(row[1], function()
      raises(row[3], row[2])
    end)
  end
end)

describe("A meta tensor", function()
  it("weighs nothing, however many elements it has", function()
    local garbage = setmetatable({{}}, {__mode = "v"})
    local t = st.empty({st.int "1152921504606846975"},
                       {device = "meta", dtype = "float64"})
    collectgarbage "stop" -- so that only what was allocated can start it
    t:neg()
    t:sort()
    local kept = garbage[1]
    collectgarbage "restart"
    assert.same({}, kept)
  end)
end)

describe("A kernel in Lua", function()
  local lib, before

  before_each(function()
    before = run.live()
    lib = st.library "fuzzed"
  end)

  after_each(function()
    lib:close()
    lib = nil
    assert.same(before, run.live())
  end)

  it("may close its library while it runs", function()
    lib:def "f(Tensor a, Dim d=0) -> (Tensor, int[])"
    lib:impl("f", "CPU", function(a)
      lib:close()
      return a, {1, 2}
    end)
    local f = st.ops.fuzzed.f
    local t, list = f(st.ones(2))
    assert.equal(2, t:numel())
    assert.same({1, 2}, list)
    raises("fuzzed::f: there is no such operator", f, st.ones(2))
    assert.is_nil(st.ops.fuzzed.f)
  end)

  it("may define its operator anew while it runs", function()
    lib:def "f(Tensor a) -> Tensor"
    local results = {st.ones(1)}
    lib:impl("f", "CPU", function()
      lib:def "f(Tensor a) -> (Tensor, Tensor, int, str)"
      return unpack(results)
    end)
    assert.equal(1, select("#", st.ops.fuzzed.f(st.ones(2))))
    lib:def "f(Tensor a) -> Tensor"
    results = {st.ones(1), st.ones(1), 1, "x"} -- those of the new schema
    raises({"fuzzed::f: ", "1 result, got 4"}, st.ops.fuzzed.f, st.ones(2))
  end)

  it("is forgotten with what it holds", function()
    lib:def "f(Tensor a) -> Tensor"
    local held = st.ones(3)
    lib:impl("f", "CPU", function(a)
      lib:close()
      return a + held
    end)
    assert.equal(2, st.ops.fuzzed.f(st.ones(3))[1])
  end)

  local other
  for _, row in ipairs {
    {"contiguous", function() return st.ones(2, 3):t():totable() end},
    {"to.dtype", function()
      return st.ones({2}, {dtype = "float16"}):totable()
    end},
    {"select.int", function() return st.ones(2, 3, 4)["1, 1, 1"] end},
    {"unsqueeze", function()
      return st.ones(2)[{st.newaxis, st.newaxis, true}]
    end},
    {"unsqueeze", function() return st.dstack {st.ones(2), st.ones(2)} end},
    {"empty.memory_format", function() return st.arange(0, 100) end},
    {"empty_strided", function() return st.full_like(st.ones(9), 2) end},
  } do
    it("may make nonsense of " .. row[1], function()
      other = st.ones({1}, {dtype = "int8"})
      local over = st.library("aten", "IMPL")
      over:impl(row[1], "CPU", function() return other end)
      local ok, result = pcall(row[2])
      over:close()
      if ok and st.is_tensor(result) then tostring(result) end
      other = nil
    end)
  end

  it("may call itself until that is too deep", function()
    lib:def "f(Tensor a) -> Tensor"
    lib:impl("f", "CPU", function(a) return st.ops.fuzzed.f(a) end)
    tensors.nests_too_deep("fuzzed::f: operators call each other",
                           st.ops.fuzzed.f, st.ones(2))
  end)
end)

-- A finaliser runs wherever Lua allocates, also while arguments are read.
if newproxy then -- luacheck: ignore 113
  local function finally(fn)
    local p = newproxy(true) -- luacheck: ignore 113
    getmetatable(p).__gc = fn
  end

  local CALLS = {
    function(_, list) return st.cat(list, 1) end,
    function(a) return a:totable(), tostring(a) end,
    function(a, list) return a[{1, list[2]}] end,
    function(a, list) a[{{1, 2}}] = list[2] end,
    function(_, list)
      return st.iterator {outputs = {false}, inputs = list}
    end,
    function(a, list) return st.ops.fuzzed.g(a, list) end,
    function(a) return st.ops.fuzzed.g(a, {1, 2}) end,
    function(a) return a:permute {2, 1}, a:sum {dim = {1, 2}} end,
  }

  describe("A finaliser", function()
    it("may free tensors and define operators during a call", function()
      local before, lib, n = run.live(), st.library "fuzzed", 0
      local function redefine()
        n = n + 1
        lib:close()
        lib = st.library "fuzzed"
        lib:def(n % 2 == 0 and "g(Tensor a) -> Tensor" or
                "g(Tensor a, int[] b=[]) -> (Tensor, Tensor, int)")
        lib:impl("g", "CPU", function(a) return a, a, 1 end)
        if n % 100 == 0 then
          lib:def("g.o" .. n .. "(Tensor a, Tensor[] b) -> Tensor")
        end
        pcall(st.ops.fuzzed.g, st.ones(1))
      end
      for i = 1, 2000 do
        local a, b = st.ones(3, 3), st.ones(3)
        finally(function()
          a:free()
          b:free()
          st.ones(2)
        end)
        finally(redefine)
        pcall(CALLS[i % #CALLS + 1], a, {a, b, a, b})
      end
      collectgarbage()
      collectgarbage()
      lib:close()
      assert.is_true(n > 1000)
      st.ones(1):neg() -- buries what was freed during calls
      assert.same(before, run.live())
    end)
  end)
end
