--- What spec/project/example_rock_spec.lua runs in a process of its own: the
-- layout of the example rock from a script's side. Prints a line per topic.

local st = require "strided"
require "strided_example"

local ex = st.ops.example
st.warnings(false)

local topics = require "spec.example.topics"

local fails, live, same, topic =
  topics.fails, topics.live, topics.same, topics.topic

local function same_values(expected, t)
  if type(expected) == "table" then
    expected = st.tensor(expected, {dtype = "float32"})
  end
  if t.layout ~= "strided" then t = ex.to_dense(t) end
  if not expected:equal(t) then
    error(("expected %s, got %s"):format(tostring(expected), tostring(t)), 2)
  end
end

local AT = st.tensor {{0, 1, 1}, {1, 0, 2}}
local function floats(list) return st.tensor(list, {dtype = "float32"}) end
local function coo() return ex.coo(AT, floats {6, 6, 7}, {2, 3}) end
local DENSE = {{0, 6, 0}, {6, 0, 7}}
local NO_STRIDES = "layout 'example_coo' has no strides and no memory"
local NO_KERNEL = "argument 'self' has layout 'example_coo', and there is no "
  .. "kernel for SparseCPU"

coo():sum() -- what is made once is made here
local before = live()

topic("a layout by name and key", function()
  local t = coo()
  same("example_coo", t.layout)
  same("strided", ex.to_dense(t).layout)
  same("{2, 3}", tostring(t.shape))
  same("cpu", t.device)
  same("float32", tostring(t.dtype))
  same(6, t:numel())
  assert(t:keys():find("SparseCPU", 1, true) and not t:keys():find(" CPU"))
  same("example_coo(3 elements of 6, float32)", tostring(t))
  fails("'layout' must be a layout, got string 'exampel'", st.empty, {2},
        {layout = "exampel"})
  fails("strided, example_coo", st.empty, {2}, {layout = "exampel"})
  fails("no kernel for SparseCPU", st.empty, {2}, {layout = "example_coo"})
  fails("no kernel for SparseCPU", st.zeros, 2, {layout = "example_coo"})
  fails("'layout' is 'example_coo', but this operator makes strided tensors",
        st.eye, 2, {layout = "example_coo"})
  fails(NO_KERNEL, t.relu, t)
end)

topic("kernels of the layout", function()
  local t = coo()
  same_values(DENSE, t)
  same(19, t:sum():item())
  same_values({{0, 12, 0}, {12, 0, 14}}, t + t)
  same_values({{0, 12, 0}, {12, 0, 14}}, t * 2)
  same_values({6, 6, 7}, ex.values(t))
  local twice = st.tensor {{0, 1, 0}, {1, 0, 1}}
  same_values({{0, 6, 0}, {3, 0, 0}}, ex.coo(twice, floats {5, 3, 1}, {2, 3}))
  fails("several elements", ex.values, t + t)
  fails("with alpha = 1", function() return t + st.ones(2, 3) end)
  fails("an example_coo", ex.values.default.call_for_key, ex.values.default,
        "SparseCPU", st.ones(2))
end)

topic("what shares the parts, and what copies them", function()
  local t = coo()
  local alias, copy = t:detach(), t:clone()
  local version = t.version
  alias:mul_(2)
  same_values({{0, 12, 0}, {12, 0, 14}}, t)
  same_values(DENSE, copy)
  assert(t.version > version)
  assert(t:is_alias_of(alias) and not t:is_alias_of(copy))
  assert(t == t and t:to "float32" == t)
  fails(NO_STRIDES, t.clone, t, {memory_format = "contiguous_format"})
end)

topic("what needs strides says so", function()
  local t = coo()
  for _, name in ipairs {"stride", "storage_offset", "data_ptr", "totable",
                         "contiguous"} do
    fails(NO_STRIDES, t[name], t)
  end
  fails(NO_STRIDES, st.share, t)
  fails(NO_STRIDES, st.to_dlpack, t)
  for _, ending in ipairs {".pt", ".npy", ".csv"} do
    fails("layout 'example_coo'", st.save, os.tmpname() .. ending, t)
  end
  fails("layout 'example_coo'", st.save, os.tmpname() .. ".safetensors",
        {t = t})
  fails(NO_KERNEL, function() return t[1] end)
  fails(NO_KERNEL, t.view, t, 6)
  fails(NO_KERNEL, t.reshape, t, 6)
  fails("layout 'example_coo'", t.to, t, "float64")
  fails("argument 'src' has layout", st.zeros(2, 3).copy_, st.zeros(2, 3), t)
  fails("of layout 'strided' is converted by operators", st.ones(2).to,
        st.ones(2), {layout = "example_coo"})
  -- kernels that are called in spite of the key
  local aten = st.ops.aten
  for _, call in ipairs {
    {aten.sum.default}, {aten.relu.default}, {aten.t.default},
    {aten.resize_.default, {3}}, {aten.as_strided.default, {0}, {1}},
    {aten.zero_.default}, {aten.copy_.default, st.ones(2, 3)},
    {aten.nonzero.default}, {aten.view.default, {6}},
  } do
    local op = table.remove(call, 1)
    fails(NO_STRIDES, op.call_for_key, op, "CPU", t, (unpack or table.unpack)(
      call))
  end
  same_values(DENSE, t)
end)

topic("gradients of a layout", function()
  local weight = floats {{1, 2, 3}, {4, 5, 6}}
  local v = floats {5, 6, 7}:requires_grad_()
  ex.to_dense(ex.coo(AT, v, {2, 3}) * 2):mul(weight):sum():backward()
  same_values({4, 8, 12}, v.grad)
  v.grad = nil
  local x = ex.coo(AT, v, {2, 3});
  (x + x):sum():backward()
  same_values({2, 2, 2}, v.grad)
  v.grad = nil
  ex.values(ex.coo(AT, v, {2, 3})):mul(floats {1, 2, 3}):sum():backward()
  same_values({1, 2, 3}, v.grad) -- through a sparse gradient
  local leaf = coo():requires_grad_()
  ex.values(leaf):pow(2):sum():backward()
  same("example_coo", leaf.grad.layout)
  same_values({{0, 12, 0}, {12, 0, 14}}, leaf.grad)
  ex.values(leaf):sum():backward() -- added by the layout's kernel
  same_values({{0, 13, 0}, {13, 0, 15}}, leaf.grad)
  local t = coo()
  local y = (t * st.tensor(2, {dtype = "float32", requires_grad = true})):sum()
  t:mul_(3) -- what the product saved
  fails("was written in place", y.backward, y)
end)

topic("a kernel in Lua", function()
  local t, result = coo(), nil
  local lib = st.library("aten", "IMPL", "SparseCPU")
  lib:impl("neg", function(x) return result or x * -1 end)
  same_values({{0, -6, 0}, {-6, 0, -7}}, -t)
  same_values({{0, -6, 0}, {-6, 0, -7}}, t:negative())
  fails("softmax", t.softmin, t, 2) -- the engine calls neg, then softmax
  result = floats(DENSE)
  same_values(st.softmax(result, 2), t:softmin(2))
  result = st.ones(2, 2)
  fails("its shape must be [2, 3], got [2, 2]", t.softmin, t, 2)
  lib:close()
  lib = st.library("aten", "IMPL", "CPU")
  lib:impl("neg", function() return t end)
  fails("it must be strided, got layout 'example_coo'",
        st.softmin, floats(DENSE), 2)
  lib:close()
end)

topic("factories of the layout", function()
  local o = {layout = "example_coo"}
  local lib, wrong = st.library("aten", "IMPL", "SparseCPU"), nil
  lib:impl("empty.memory_format", function(size, dtype)
    return wrong or ex.coo(st.zeros({2, 0}, {dtype = "int64"}),
                           st.zeros({0}, {dtype = dtype}), size)
  end)
  fails("SparseCPU", st.zeros, {2, 3}, o)
  lib:impl("zero_", function(t) return t end)
  local t = st.zeros({2, 3}, o)
  same("example_coo", t.layout)
  same("float32", t.dtype)
  same_values(st.zeros(2, 3), t)
  same("example_coo", st.ones(2):new_zeros({2, 3}, o).layout)
  same("example_coo", st.empty({2, 3}, o).layout)
  fails("SparseCPU", st.ones, {2, 3}, o) -- there is no fill_
  fails("SparseCPU", st.full, {2, 3}, 2.5, o)
  wrong = st.zeros(2, 3)
  fails("layout", st.zeros, {2, 3}, o)
  wrong = coo()
  fails("shape must be [3, 3]", st.zeros, {3, 3}, o)
  wrong = nil
  lib:close()
end)

topic("a fallback of the key", function()
  local t = coo()
  local lib = st.library("_", "IMPL", "SparseCPU")
  lib:fallback("SparseCPU", function(op, _, ...)
    local args = {...}
    for i = 1, select("#", ...) do
      if st.is_tensor(args[i]) and args[i].layout ~= "strided" then
        args[i] = ex.to_dense(args[i])
      end
    end
    return op((unpack or table.unpack)(args, 1, select("#", ...)))
  end)
  same_values({{0, 36, 0}, {36, 0, 49}}, t:square())
  same(19, t:sum():item()) -- the kernel goes first
  lib:close()
  fails(NO_KERNEL, t.square, t)
end)

topic("fused functions run what has a layout unrecorded", function()
  local f = st.fuse(function(x) return x * 2 end)
  same_values({{0, 12, 0}, {12, 0, 14}}, f(coo()))
  f = st.fuse(function(v) return ex.to_dense(ex.coo(AT, v, {2, 3})) + 1 end)
  same_values({{1, 7, 1}, {7, 1, 8}}, f(floats {6, 6, 7}))
  f = st.fuse(function(x) return x:relu() end)
  fails(NO_KERNEL, f, coo())
end)

topic("what fails for memory leaves nothing", function()
  local t = coo()
  for _, call in ipairs {coo, function() return t:clone() end,
                         function() return t + t end,
                         function() return t:detach() end,
                         function() return tostring(t) end} do
    call()
    for k = 1, 200 do
      local kinds = live()
      st.memory_fail_at(k)
      local ok, why = pcall(call)
      local left = st.memory_fail_at(0)
      if ok then assert(left > 0 and k > 1) break end
      assert(tostring(why):find "out of memory", why)
      same(kinds, live())
      assert(k < 200, "never succeeds")
    end
  end
end)

topic("no tensor of a layout left", function() same(before, live()) end)
