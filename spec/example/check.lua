--- What spec/project/example_rock_spec.lua runs in a process of its own: the
-- example rock from a script's side. Prints a line per topic.

local st = require "strided"

local unpack = unpack or table.unpack
assert(require "strided_example" == true)

local ex = st.ops.example
local DEVICE = {device = "example"}
st.warnings(false) -- an out= tensor of another shape is on purpose here
local MOST = 200 -- allocations a call may take before this looks endless

local topics = require "spec.example.topics"

local fails, same, same_values, topic =
  topics.fails, topics.same, topics.same_values, topics.topic

local function same_strides(a, b, t)
  local strides = t:stride()
  same(a .. ", " .. b, strides[1] .. ", " .. strides[2])
end

local function floats(values) return st.tensor(values, {dtype = "float32"}) end

local live = topics.live

local X = st.arange(6):to("float32"):view(2, 3)
local BY = floats {10, 100}
local SCALED = floats {{0, 10, 20}, {300, 400, 500}}

local before = live()

-- -- The namespace -----------------------------------------------------------

topic("a boxed kernel", function()
  same(3, ex.count_above(st.arange(10), 6))
  same(2, ex.count_above(floats {{1, 9}, {8, 2}}:t(), 5))
end)

topic("a typed kernel", function()
  same_values(floats {12, 24}, ex.axpy(floats {1, 2}, floats {2, 4}, 10))
  same_values(floats {2.5, 5}, ex.axpy(floats {1, 2}, floats {0, 0}, 2.5))
  fails("example::axpy: y must be a contiguous vector", ex.axpy, st.ones(2),
        st.ones(2, {dtype = "int64"}), 1)
  fails("x has 2 elements, y 3", ex.axpy, st.ones(2), st.ones(3), 1)
end)

topic("an operator made of operators", function()
  local x = floats {3, 4}
  same_values(floats {6, 8}, ex.normalized(x):mul(10):round())
  same_values(floats {3, 4}, ex.normalized(x, {eps = 5}):mul(10):round())
  same("meta", ex.normalized(x:to {device = "meta"}).device)
end)

-- -- Structured --------------------------------------------------------------

topic("a structured operator imposes strides on what it makes", function()
  local y = ex.scale_rows(X, BY)
  same_values(SCALED, y)
  same_strides(1, 2, y)
end)

topic("out= keeps odd strides, and is written through others", function()
  for _, out in ipairs {st.full({2, 3}, 9), st.full({3, 2}, 9):t(),
                        st.full({4, 6}, 9)["2:3"][{{}, {1, -1, 2}}]} do
    out = out:to "float32"
    local strides = out:stride()
    assert(ex.scale_rows(X, BY, {out = out}):is_alias_of(out))
    same_values(SCALED, out)
    same_strides(strides[1], strides[2], out)
  end
  local base = st.full({4, 6}, 9, {dtype = "float32"})
  local view = base["2:3"][{{}, {1, -1, 2}}]
  ex.scale_rows(X, BY, {out = view})
  same_values(SCALED, view)
  same_strides(6, 2, view)
  same(24 * 9 - 6 * 9 + SCALED:sum():item(), base:sum():item())
end)

topic("out= of another shape gets that and the strides", function()
  local out = st.zeros(7)
  ex.scale_rows(X, BY, {out = out})
  same_values(SCALED, out)
  same_strides(1, 2, out)
end)

topic("in place, whatever the strides of self are", function()
  local rows, columns = X:clone(), X:t():contiguous():t()
  assert(ex.scale_rows_(rows, BY):is_alias_of(rows))
  same_values(SCALED, rows)
  same_strides(3, 1, rows)
  ex.scale_rows_(columns, BY)
  same_values(SCALED, columns)
  same_strides(1, 2, columns)
  local base = st.full({4, 6}, 9, {dtype = "float32"})
  local view = base["2:3"][{{}, {1, -1, 2}}]:copy_(X)
  ex.scale_rows_(view, BY)
  same_values(SCALED, view)
  same(24 * 9 - 6 * 9 + SCALED:sum():item(), base:sum():item())
end)

topic("what the variants refuse, and leave alone", function()
  local out = st.zeros(2, 3, {dtype = "float64"})
  fails("out has dtype float64, but the result is float32", ex.scale_rows, X,
        BY, {out = out})
  fails("out is on device 'cpu', but the result is on 'meta'", ex.scale_rows,
        X:to {device = "meta"}, BY, {out = st.zeros(2, 3)})
  fails("must be a matrix", ex.scale_rows_, st.ones(2), BY)
  local wide = st.zeros(1):expand(2, 3)
  fails("in one place", ex.scale_rows, X, BY, {out = wide})
  fails("in one place", ex.scale_rows_, wide, BY)
end)

topic("an output that overlaps an input, as if it did not", function()
  local columns = X:t():contiguous():t() -- the strides that are asked for
  local by = columns[{{}, 2}]
  ex.scale_rows_(columns, by)
  same_values(floats {{0, 1, 2}, {12, 16, 20}}, columns)
  local line = st.arange(8):to "float32"
  local x, out = line:as_strided({2, 3}, {1, 2}), line["2:7"]:view(3, 2):t()
  ex.scale_rows(x, BY, {out = out})
  same_values(floats {{0, 20, 40}, {100, 300, 500}}, out)
end)

topic("a meta tensor gets shape and strides, and no data", function()
  local x, by = X:to {device = "meta"}, BY:to {device = "meta"}
  same_strides(1, 2, ex.scale_rows(x, by))
  local out = st.zeros(7, {device = "meta"})
  same_strides(1, 2, ex.scale_rows(x, by, {out = out}))
  same_strides(3, 1, ex.scale_rows_(x, by))
  fails("must be a matrix", ex.scale_rows, by, by)
end)

topic("what fails for memory changes nothing", function()
  local calls = {
    function(t) ex.scale_rows(X, BY, {out = t}) end,
    function(t) ex.scale_rows_(t, BY) end,
  }
  for i, call in ipairs(calls) do
    call(X:clone()) -- what is made once and kept is made here
    for k = 1, MOST do
      local t = i == 1 and st.zeros(1) or X:clone()
      local was, kinds = tostring(t), live()
      st.memory_fail_at(k)
      local ok, why = pcall(call, t)
      local left = st.memory_fail_at(0)
      if ok then assert(left > 0 and k > 1) break end
      assert(tostring(why):find "out of memory", why)
      same(was, tostring(t))
      same(kinds, live())
      assert(k < MOST, "never succeeds")
    end
  end
end)

-- -- The device --------------------------------------------------------------

topic("a device by name", function()
  local t = st.ones({2, 2}, DEVICE)
  same("example", t.device)
  same(1, ex.live_blocks())
  same("tensor([[1., 1.],\n        [1., 1.]], device='example')", tostring(t))
  same("tensor([], device='example')", tostring(st.empty({0}, DEVICE)))
  fails("device", st.ones, {2}, {device = "exampel"})
end)

topic("there and back", function()
  local x = st.arange(12):view(3, 4)
  for _, t in ipairs {x, x:t(), x["2:3"], x:to "float16", x:sum()} do
    local there = t:to(DEVICE)
    same("example", there.device)
    same_values(t, there)
    local back = there:to {device = "cpu"}
    same("cpu", back.device)
    assert(back:equal(t))
  end
  local there = st.tensor({1, 2, 3}, DEVICE)
  same("int64", tostring(there.dtype))
  same_values(floats {1, 2, 3}, there:to "float32")
  assert(there:to(DEVICE):is_alias_of(there))
  same(2, there:totable()[2])
end)

topic("an addition on the device", function()
  local t = st.ones({2, 3}, DEVICE)
  local sum
  local events = st.trace(function() sum = t + st.arange(3):to(DEVICE) end)
  local first
  for _, e in ipairs(events) do
    if e.op:find "add" then first = first or e end
  end
  same("PrivateUse1", first.key)
  same("backend", first.kernel)
  same("example", sum.device)
  same("float32", tostring(sum.dtype))
  same_values(floats {{1, 2, 3}, {1, 2, 3}}, sum)
  same_values(floats {{3, 3, 3}, {3, 3, 3}}, t + 2)
  fails("dimension", function() return t + st.ones({4}, DEVICE) end)
  fails("other tensors are on", function() return t + st.ones(3) end)
end)

--- How many loops the device runs meanwhile.
local function loops(fn)
  local before_it = ex.loops()
  fn()
  return ex.loops() - before_it
end

topic("expressions on the device", function()
  local x = floats {{-1.5, 0, 2}, {3, 0.25, -7}}
  local t, double = x:to(DEVICE), x:to("float64")
  for _, name in ipairs {"exp", "tanh", "relu", "floor", "sigmoid", "erf",
                         "gelu", "isnan", "sign", "log1p"} do
    local got
    same(1, loops(function() got = st[name](t) end))
    assert(got:to("cpu"):equal(st[name](x)) or name == "log1p")
    same(1, loops(function()
      got = st[name](double:to(DEVICE):t())
    end))
    same("example", got.device)
  end
  -- in place, out=, broadcasting, numbers, mixed dtypes, comparisons
  same(1, loops(function() t:mul_(2) end))
  same_values(x * 2, t)
  local out = st.zeros({0}, DEVICE)
  same(1, loops(function() st.add(t, t[1], {out = out, alpha = 3}) end))
  same_values(st.add(x * 2, x[1] * 2, {alpha = 3}), out)
  same(1, loops(function() out = t + double:to(DEVICE) end))
  same("float64", out.dtype)
  same_values(x * 2 + double, out)
  same(1, loops(function() out = t:gt(1) end))
  same_values((x * 2):gt(1), out)
  same(1, loops(function() t:clamp_(-1, 1) end))
  same_values((x * 2):clamp(-1, 1), t)
  -- integers have no expression: the CPU computes, and fails as it does
  local n = st.tensor({7, -7}, DEVICE)
  same(0, loops(function() out = n:fmod(4) end))
  same_values(st.tensor {3, -3}, out)
  fails("division of int64 by zero", function() return n:fmod(0) end)
  fails("in one place", st.mul_, st.zeros({1}, DEVICE):expand(3), 2)
  t[1]["2:3"]:add_(t[1]["1:2"])
  x = (x * 2):clamp(-1, 1)
  x[1]["2:3"]:add_(x[1]["1:2"])
  same_values(x, t)
end)

topic("fused expressions are one loop", function()
  local f = st.fuse(function(a, b) return (a * b + 1):exp() * a - b end)
  local a, b = X / 10, floats {1, 2, 3}
  local got
  for _ = 1, 2 do
    same(1, loops(function() got = f(a:to(DEVICE), b:to(DEVICE)) end))
    same("example", got.device)
    assert(got:to("cpu"):equal(f(a, b)))
  end
  same("example", st.fuse(function(t) return st.zeros_like(t) + 1 end)(
    a:to(DEVICE)).device)
  fails("on device", f, a:to(DEVICE), b)
  local g = a:to(DEVICE):requires_grad_()
  f(g, b:to(DEVICE)):sum():backward()
  local h = a:clone():requires_grad_()
  f(h, b):sum():backward()
  assert(g.grad:to("cpu"):allclose(h.grad))
end)

topic("gradients on the device", function()
  local here, t = X:clone():requires_grad_(), X:to(DEVICE):requires_grad_();
  (here * here + here:sin()):sum():backward();
  (t * t + t:sin()):sum():backward()
  same("example", t.grad.device)
  same_values(here.grad, t.grad)
  -- across devices
  local x, scale = X:clone():requires_grad_(), st.tensor(2.5):requires_grad_();
  (x:to(DEVICE) * scale):sum():backward()
  same("cpu", x.grad.device)
  same_values(st.full({2, 3}, 2.5), x.grad)
  same("cpu", scale.grad.device)
  same(15, scale.grad:item())
  local z = st.zeros({2, 3}, DEVICE)
  z:copy_(x)
  x.grad = nil
  z:sum():backward()
  same_values(st.ones(2, 3), x.grad)
end)

topic("what a review found", function()
  -- a resized out= that overlaps an input
  local here, t = st.arange(8):float(), st.arange(8):float():to(DEVICE)
  for _, b in ipairs {here, t} do
    st.add(b["1:5"], b["2:6"], {out = b["3:4"]})
  end
  same_values(here, t)
  -- elements that are checked and filled by composite operators
  local lp = st.randn(3, 2, 4):log_softmax(3)
  local targets = st.tensor {{1, 2}, {3, 2}}
  local loss = st.ctc_loss(lp, targets, {3, 3}, {2, 2})
  assert(loss:allclose(st.ctc_loss(lp:to(DEVICE), targets:to(DEVICE), {3, 3},
                                   {2, 2}):to "cpu"))
  fails("out of range", st.embedding, st.ones({3, 2}, DEVICE),
        st.tensor({-2}, DEVICE))
  fails("range from 0 to 1", st.binary_cross_entropy,
        st.tensor({2.5}, DEVICE), st.tensor({1}, DEVICE):float())
  -- one tensor for several arguments
  local m, o = st.zeros({2}, DEVICE), st.ones({2, 3}, DEVICE)
  fails("shares memory", st.aminmax, o, {dim = 2, min = m, max = m})
  fails("out is an input", st.sum, o, 1, {out = o})
  -- fused functions that convert, and operators with kernels of their own
  local f = st.fuse(function(a) return a:to "float64" * 2 + a:dot(a) end)
  local a = floats {1, 2}
  for _ = 1, 2 do same_values(f(a), f(a:to(DEVICE))) end
  same("example:1", st.nn.Linear(2, 2):to("example:1").weight.device)
end)

topic("two devices of one backend", function()
  same("cpu meta example example:1", table.concat(st.devices(), " "))
  local x, t = st.ones({2}, DEVICE), st.ones({2}, {device = "example:1"})
  same("example:1", t.device)
  same("example:1", (t * 2 + 1).device)
  same("example:1", t:sum().device)
  same("example:1", st.rand_like(t).device)
  same("example", t:to("example").device)
  same("example", t:to("example:0").device)
  same("example:1", x:to("example:1").device)
  same_values(st.ones(2), x:to("example:1"))
  fails("argument 'other' is on device 'example', other tensors are on "
        .. "'example:1'", st.add, t, x)
  fails("other tensors are on", st.cat, {t, x})
  fails("example:2", st.ones, {2}, {device = "example:2"})
  same("memory of the host", st.device_properties("example:1").name)
  same(64, st.device_properties("example").alignment)
  st.synchronize("example:1")
  st.synchronize()
  local words = require "strided.session.complete_in".words
  same("example example:1", table.concat(words("exam", "x:to("), " "))
  same("example:1", words("example:", "st.ones(2, {device = ")[1])
  same("cpu example example:1", table.concat(
    st.__array_namespace_info__():devices(), " "))
  local types = require "strided.types".files()["strided/values.lua"]
  assert(types:find('alias strided.device\n---| "cpu"\n---| "meta"\n'
                    .. '---| "example"\n---| "example:1"\n', 1, true))
  fails("must be a device", st.synchronize, "exampel")
end)

topic("a kernel that inherits a meta function", function()
  local a, b = floats {1, 2, 3}:to(DEVICE), floats {4, 5, 6}:to(DEVICE)
  local events = st.trace(function() same(32, a:dot(b):item()) end)
  local kernel
  for _, e in ipairs(events) do
    if e.op:find "dot" and e.key == "PrivateUse1" then kernel = e.kernel end
  end
  same("strided_example", kernel)
  local out = st.zeros({}, DEVICE)
  assert(st.dot(a, b, {out = out}):is_alias_of(out))
  same(32, out:item())
  fails("cannot be multiplied", st.dot, a, b["1:2"])
  same(32, st.dot(a:to "int64", b:to "int64"):item()) -- by the CPU
end)

topic("the rest through the CPU and back", function()
  local x = st.arange(6):to("float32"):view(2, 3)
  local t = x:to(DEVICE)
  same_values(x * 2 - 1, t * 2 - 1)
  same("example", (t * t).device)
  same(15, t:sum():item())
  same_values(x:matmul(x:t()), t:matmul(t:t()))
  same_values(st.cat({x, x}, 1), st.cat({t, t}, 1))
  local values, places = t:sort {descending = true}
  same_values(floats {{2, 1, 0}, {5, 4, 3}}, values)
  same("example", places.device)
  assert(t:equal(t:clone()))
  same_values(x:clone():mul_(3), t:clone():mul_(3))
  local out = st.zeros({7}, DEVICE)
  assert(st.mul(t, 2, {out = out}):is_alias_of(out))
  same_values(x * 2, out)
  same("example", st.rand({3}, DEVICE).device)
  same_values(ex.normalized(x), ex.normalized(t))
  local counts = st.tensor({2, 0}, DEVICE)
  same_values(floats {{0, 1, 2}, {0, 1, 2}}, t:repeat_interleave(counts, 1))
  local parts = st.arange(4):tensor_split(st.tensor({3}, DEVICE))
  same_values(st.tensor {3}, parts[2])
  fails("not implemented for dtype float32", st.bitwise_not, t)
end)

--- Methods and their arguments, which go to the device with self.
local function touching()
  local first, mask = st.tensor {1}, X:gt(1)
  return {
    {"repeat", 2, 2}, {"flip", {1}}, {"diag_embed"}, {"zero_"}, {"zero"},
    {"fill_", 3}, {"fill_", floats(3)}, {"fill", 3}, {"roll", 1, 1},
    {"index_fill", 1, first, 5}, {"index_fill_", 1, first, 5},
    {"put", first, floats {7}}, {"put_", first, floats {7}},
    {"index_put", {first}, floats {7, 8, 9}},
    {"index_put_", {first}, floats {7, 8, 9}},
    {"masked_scatter", mask, X + 1}, {"masked_scatter_", mask, X + 1},
    {"uniform_"}, {"normal_"}, {"exponential_"}, {"random_"}, {"random_", 9},
    {"random_", 2, 9}, {"bernoulli_", 0.5}, {"bernoulli_", mask:to(X)},
    {"tril"}, {"cumsum", 1}, {"gather", 1, st.tensor {{1, 2, 1}}},
    {"topk", 1},
  }
end

local function there(v)
  if st.is_tensor(v) then return v:to(DEVICE) end
  if type(v) ~= "table" then return v end
  local list = {}
  for i, x in ipairs(v) do list[i] = there(x) end
  return list
end

topic("what touches elements does it on the CPU", function()
  for _, row in ipairs(touching()) do
    local here, device = X:clone(), X:to(DEVICE)
    st.manual_seed(1)
    local expected = st[row[1]](here, unpack(row, 2))
    st.manual_seed(1)
    local got = st[row[1]](device, unpack(there(row), 2))
    same("example", got.device)
    same_values(expected, got)
  end
end)

topic("views and subscripts", function()
  local t = st.zeros({2, 3}, DEVICE)
  assert(t:t():is_alias_of(t))
  t[1] = 7
  t["2, 2:3"] = st.tensor {1, 2}
  t[2][1] = 5
  same_values(floats {{7, 7, 7}, {5, 1, 2}}, t)
  same(1, t[2][2])
  same_values(floats {7, 7, 7, 5}, t[{t:gt(2)}])
  t:resize_(3, 3)
  same_values(floats {{7, 7, 7}, {5, 1, 2}}, t["1:2"])
end)

topic("lazy negatives and conjugates, of which the device knows nothing",
      function()
  local t = floats {1, -2}:to(DEVICE)
  local negative = t:_neg_view()
  same(true, negative:is_neg())
  same_values(floats {-1, 2}, negative)
  same_values(floats {-1, 2}, negative:clone())
  same_values(floats {0, 3}, negative + 1)
  same(2, negative[2])
  assert(tostring(negative):find("[-1.,  2.]", 1, true))
  negative:copy_(floats {5, 6})
  same_values(floats {-5, -6}, t)
  negative:add_(t:clone():_neg_view())
  same_values(floats {-10, -12}, t)
  t[1] = 3
  same_values(floats {-3, 12}, negative)
  local c = st.tensor {st.complex(1, 2)}:to(DEVICE):conj()
  same_values(st.tensor {st.complex(1, -2)}, c)
  c:copy_(st.tensor {st.complex(0, 1)})
  same_values(st.tensor {st.complex(0, -1)}, c:conj())
end)

topic("nothing reads the device's memory as the CPU's", function()
  local t = st.ones({2}, DEVICE)
  local path = os.tmpname()
  fails("is on device 'example'", st.ops.aten.sum.default.redispatch,
        st.ops.aten.sum.default, "CPU", t)
  fails("is on device 'example'", st.ops.aten.zero_.default.redispatch,
        st.ops.aten.zero_.default, "Meta", t)
  fails("on device 'example'", t.tostring_bytes, t)
  st.save(path, t)
  assert(st.load(path):equal(st.ones(2)))
  os.remove(path)
  same_values(st.ones(2), t)
end)

topic("no memory for the device", function()
  local x = st.ones(2, 3)
  local t = x:to(DEVICE)
  local calls = {
    function() return x:to(DEVICE) end, function() return t + t end,
    function() return t * t end, function() return t:t():mul_(1) end,
    function() return tostring(t) end, function() return t[1][1] end,
  }
  for i, call in ipairs(calls) do
    call() -- what is made once and kept is made here
    local kinds = live()
    for k = 1, MOST do
      st.memory_fail_at(k)
      local ok, why = pcall(function() call() end) -- no result is kept
      local left = st.memory_fail_at(0)
      if ok then assert(left > 0, "a failure was swallowed: " .. i) end
      assert(ok or tostring(why):find "out of memory", why)
      same(kinds, live())
      same_values(x, t)
      if ok then break end
      assert(k < MOST, "never succeeds")
    end
  end
end)

topic("nothing left", function() same(before, live()) end)

-- The state is closed with this one alive, and after the module.
LEFT_OVER = st.ones({3}, DEVICE) -- luacheck: ignore
