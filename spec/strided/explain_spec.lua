--- The plans of any call, without its taking place: what st.explain says.
-- axes: lua

local st = require "strided"

local plans_of = require "strided.iterator".plans_of
local tensors = require "spec.support.tensors"

local lists, live = tensors.lists, tensors.live

local unpack = unpack or table.unpack

describe("the plan of a call", function()
  local before
  setup(function()
    require "spec.support.collect" ()
    before = st.memory()
  end)

  -- arguments of st.explain, and what it says of the plan
  local function rows()
    local x, long = st.ones(3, 4), st.ones(300, 400)
    return {
      {{"add", x, x}, "plan +elementwise of 12 .*float32\n.*fast set%-up"},
      {{"add", x, 1}, "input 2 +float32 +byte strides {0}, in a temporary"},
      {{"div", x:to "int32", 2}, "computed in float32"},
      {{"lt", x, x}, "output 1 +bool"},
      {{"mul_", x, x:t():contiguous():t()}, "read and written"},
      {{"mul_", x, st.ones(2, 1, 1)}, "plan +none: the output has shape"},
      {{"exp", x, {out = st.empty(2)}}, "output 1 +float32 +byte"},
      {{"sum", x, {dim = 1}}, "reduces +to 4 elements, along 1 dim"},
      {{"sum", x}, "reduces +to 1 element, along 1 dim"},
      {{"copy_", x, st.ones(4, 3):t()}, "byte strides {4, 16}"},
      {{"contiguous", x}, "plan +none: it is contiguous"},
      {{"clone", x:t()}, "dense, with equal strides"},
      {{"clamp", x, {min = 0}}, "plan +elementwise of 12 elements"},
      {{"where", x:gt(0), x, 0.5}, "input 3 +float32 +byte strides {0}"},
      {{"masked_fill", x, x:gt(0), 0}, "input 1 +bool"},
      {{"masked_fill_", x, x:gt(0), 0}, "output 1 +float32 .*read and written"},
      {{"pow", x, 2.5}, "plan +elementwise"},
      {{"pow_", x, 2}, "read and written"},
      {{"abs", x:to "complex64"}, "output 1 +float32"},
      {{"lerp", x, x, 0.5}, "input 2"},
      {{"to", x, "float64"}, "plan +copy of 12 .*output 1 +float64"},
      {{"to", x, "float32"}, "plan +none: it is the tensor itself"},
      {{"copy_", long, st.ones(400, 300):t()}, "inner loop +tile by tile"},
      {{"add", long, st.ones(400, 300):t()}, "; tile by tile"},
      {{"add", x, x:to "int16"},
       "int16 .*read as float32.*converted block by block"},
      {{"add", st.ones({3}, {dtype = "float16"}), x[{1, {1, 3}}],
        {out = st.empty({3}, {dtype = "float64"})}},
       "output 1 +float64 .*written as float32"},
      {{"exp", long}, "chunks +%d+ of %d+ elements"},
      {{"mean", x, {dim = 2}}, "plan +reduction of 12 .*folded in tiles"},
      {{"var", x}, "reduces +to 1 element"},
      {{"max", x, 1}, "reduces +to 4 elements"},
      {{"repeat", x, {2, 2}}, "plan +copy of 48"},
      {{"isclose", x, x}, "output 1 +bool.*plan +elementwise.*and %d+ more"},
      {{"allclose", x, x}, "plan +elementwise"},
    }, x
  end

  local names = {}
  for i, row in ipairs((rows())) do names[i] = row[1][1] end
  require "spec.support.collect" ()

  for i, name in ipairs(names) do
    it("is a part of st.explain: " .. name .. ", row " .. i, function()
      local list, x = rows()
      local args, want = unpack(list[i])
      local text = st.explain(unpack(args))
      assert.matches(want, text)
      assert.equal(12, x:sum():item())
      assert.same({3, 4}, lists(x.shape))
      local given = args[3]
      if type(given) == "table" and given.out then
        assert.equal(1, given.out.ndim)
      end
    end)
  end

  it("is absent where nothing is iterated", function()
    local x = st.ones(3, 4)
    assert.is_nil(st.explain("view", x, {12}):find("  plan ", 1, true))
    assert.is_nil(st.explain("mm", x, x:t()):find("  plan ", 1, true))
  end)

  it("sees the same as the call itself", function()
    local a, b = st.rand(6, 5, 4):permute(2, 3, 1), st.rand(4, 1)
    local plans, n = plans_of("mul", a, b)
    local own = st.iterator {preset = "binary", outputs = {false},
                             inputs = {a, b}}
    assert.same({1, 1}, {n, #plans})
    for _, name in ipairs {"shape", "perm", "common_shape", "fast", "inner",
                           "numel", "is_coalesced"} do
      assert.same(own[name], plans[1][name])
    end
    for k = 1, 3 do assert.same(own.strides[k], plans[1].strides[k]) end
  end)

  it("is the recording of a fused function", function()
    local x = st.ones(3, 4)
    local f = st.fuse(function(a) return (a * 2 + 1):exp() end)
    assert.equal(f:explain(x), st.explain(f, x))
    assert.matches("^fusion group of 3: mul add exp\n", st.explain(f, x))
  end)

  it("says what a Lua function would run if it were fused", function()
    local x = st.ones(3, 4)
    local text = st.explain(function(a) return (a * 2 + 1):mm(x:t()) end, x)
    assert.matches("^with st.fuse it would run\n  fusion group of 2: mul add\n"
                   .. ".*\n  call mm at .*explain_spec.lua:%d+\n$", text)
    text = st.explain(function(a) return a:sum():item() end, x)
    assert.matches("^st.fuse would call it as it is:\n  it reads the elements "
                   .. "of a tensor: item, at .*explain_spec.lua:%d+\n$", text)
    text = st.explain(function(a) return a:mul(2):nosuch() end, x)
    assert.matches("a tensor has no 'nosuch'.*, at .*explain_spec.lua:%d+\n$",
                   text)
  end)

  it("fails without a trace when memory runs out", function()
    local a, b = st.ones(2, 3), st.ones({3}, {dtype = "int32"})
    st.explain("add", a, b)
    local count = live()
    local scratch = st.memory().scratch.count
    local k, left = 0, 0
    while left == 0 and k < 200 do
      k = k + 1
      st.memory_fail_at(k)
      local ok, why = pcall(st.explain, "add", a, b)
      left = st.memory_fail_at(0)
      if not ok then assert.matches("memory", why) end
      assert.equal(count, live())
      assert.equal(scratch, st.memory().scratch.count)
    end
    assert.is_true(k > 3 and k < 200)
  end)

  it("knows which tensors share memory", function()
    local t = st.zeros(4, 4)
    local plans = plans_of("add_", t, t:t())
    assert.same({"copy", "elementwise"}, {plans[1].kind, plans[2].kind})
    assert.is_true(plans[2].operands[3].is_temporary)
    plans = plans_of("add_", t, t)
    assert.is_true(plans[1].operands[1].is_read_write)
  end)

  it("changes nothing and warns of nothing", function()
    local t, out = st.tensor {1, 2, 3}, st.empty(2)
    for _, event in ipairs(st.trace(function()
      st.explain("exp_", t)
      st.explain("exp", t, {out = out})
      st.explain("copy_", t, st.zeros(3))
      st.explain("pow_", t, 2)
    end)) do
      for _, what in ipairs {"exp", "copy", "pow"} do
        assert.is_nil(event.op:find(what))
      end
    end
    assert.same({1, 2, 3}, t:totable())
    assert.same({2}, lists(out.shape))
  end)

  -- The numbers of multiply-adds are half of NumPy's operations.
  it("has the order of einsum's products", function()
    local a, b, c = st.ones(3, 4), st.ones(4, 50), st.ones(50, 2)
    local text = st.explain("einsum", "ij,jk,kl->il", {a, b, c})
    for _, line in ipairs {
      "path           {2, 3, 2, 1}: 424 multiply-adds, from left to right 900",
      "jk,kl -> lj of [2, 4]: 400 multiply-adds, bmm of [1, 4, 50] and "
      .. "[1, 50, 2]",
      "lj,ij -> il of [3, 2]: 24 multiply-adds, bmm of [1, 2, 4] and [1, 4, 3]",
    } do
      assert.truthy(text:find(line, 1, true), text)
    end
    text = st.explain(st.einsum, "ij,jk,kl->il", {a, b, c},
                      {path = {1, 2, 1, 2}})
    assert.matches("path +{1, 2, 1, 2}: 900 multiply%-adds, from left to right "
                   .. "900\n", text)
    text = st.explain("einsum", "b...i,b...j", {st.ones(2, 7, 1, 3),
                                               st.ones(2, 1, 6, 4)})
    assert.matches("b%.%.%.i,b%.%.%.j %-> %.%.%.ij of %[7, 6, 3, 4%]: 1008 "
                   .. "multiply%-adds, bmm of %[1, 21, 2%] and %[1, 2, 24%]",
                   text)
    assert.matches("i,j %-> ij of %[3, 4%]: 12 multiply%-adds, mul",
                   st.explain("einsum", "i,j", {st.ones(3), st.ones(4)}))
  end)

  it("has no order of products that there are not", function()
    for _, call in ipairs {{"ii->i", {st.ones(2, 2)}}, {"ij", {st.ones(2)}},
                           {"ij,jk", {st.ones(2, 3), st.ones(4, 2)}}} do
      assert.is_nil(st.explain("einsum", unpack(call)):find("  path", 1, true))
    end
  end)

  it("is not to be had of what scripts bring", function()
    local lib, called = st.library("aten", "IMPL"), false
    lib:impl("cos", "CPU", function(t) called = true; return t end)
    local text = st.explain("cos", st.ones(3))
    lib:close()
    assert.is_false(called)
    assert.is_nil(text:find("  plan ", 1, true))
  end)

  it("refuses a function without arguments", function()
    local raises_here = require("spec.support.tensors").raises_here
    raises_here("explain: write the arguments of the function: st.explain(fn, "
                .. "x)", function() st.explain(function() end) end)
  end)

  it("leaves nothing behind", function()
    require "spec.support.collect" ()
    local after = st.memory()
    assert.equal(before.tensors.count, after.tensors.count)
    assert.equal(before.data.count, after.data.count)
    assert.equal(before.scratch.count, after.scratch.count)
  end)
end)
