--- Mixed precision: what operators convert, results and gradients of PyTorch
-- 2.15 from spec/vectors/autocast.py, kept casts, and the state of a thread.
-- axes: lua

local lapack = require "spec.support.lapack"
local nn = require "strided.nn"
local reader = require "spec.conformance.reader"
local st = require "strided"
local tensors = require "spec.support.tensors"
local with_library = require "spec.support.with_library"

local dtype, live, raises_here = tensors.dtype, tensors.live,
  tensors.raises_here
local autocast = st.autocast
local ipairs, next, pairs, select, type = ipairs, next, pairs, select, type
local unpack = unpack or table.unpack

local VECTORS = "spec/data/autocast.jsonl.gz"

local before

setup(function() before = live() end)

-- -- Values ------------------------------------------------------------------

local function wave(shape, k)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return (st.arange(n, {dtype = "float64"}) * 0.7 + (k or 0)):sin():float()
    :reshape(shape)
end

local function size_of(list)
  for i, n in ipairs(list) do list[i] = reader.integer(n) end
  return list
end

--- Positions from 1.
local function positions(list)
  return st.tensor(list, {dtype = "int64"}) + 1
end

local MAKE = {
  ints = positions, labels = positions,
  numbers = function(list) return st.tensor(list, {dtype = "int64"}) end,
  int32 = function(list) return st.tensor(list, {dtype = "int32"}) end,
  bool = function(list) return st.tensor(list, {dtype = "bool"}) end,
}

local FLOATS = {
  wave = function(shape) return wave(size_of(shape)) end,
  unit = function(shape) return (wave(size_of(shape)) + 1) / 2 end,
  spd = function(n)
    n = reader.integer(n)
    local w = wave {n, n} / 10
    return w + w:t() + 3 * st.eye(n)
  end,
}

--- The argument that x stands for; floats take the next of the dtypes.
local function decode(x, dtypes)
  if x == reader.null then return st.none end
  if type(x) == "number" then return reader.integer(x) end
  if type(x) ~= "table" then return x end
  local kind, value = next(x)
  if FLOATS[kind] then
    local d = #dtypes > 1 and table.remove(dtypes, 1) or dtypes[1]
    return FLOATS[kind](value):to(d)
  end
  if MAKE[kind] then return MAKE[kind](value) end
  local list = {}
  for i, e in ipairs(x) do list[i] = decode(e, dtypes) end
  return list
end

local function dtypes_of(...)
  local list = {}
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if st.is_tensor(x) then list[#list + 1] = dtype(x) end
  end
  return list
end

-- -- Vectors -----------------------------------------------------------------

-- linalg_polar takes no half precision here, so autocast converts it; bilinear
-- is joined as by cat, and PyTorch refuses a mixture.
local DIFFERS = {
  linalg_polar = {bfloat16 = {"float32", "float32"},
                  float16 = {"float32", "float32"}},
  bilinear = {float16 = {"float32"}, mixed = {"float32"}},
}

local REGION = {float32 = {"float32"}, bfloat16 = {"bfloat16"},
                float16 = {"float16"}, mixed = {"float32", "bfloat16"}}

local function check_operator(case)
  local name, overload = case.op:match "^([^.]+)%.?(.*)$"
  local packet = st.ops.aten[name]
  local op = packet[overload == "" and "default" or overload]
  local differs = DIFFERS[case.op] or {}
  for kind, want in pairs(case.results) do
    want = differs[kind] or want
    if want ~= reader.null then
      local args = decode(case.args, {unpack(REGION[kind])})
      assert.same(want, dtypes_of(autocast(op, unpack(args))),
                  case.op .. " of " .. kind)
    end
  end
end

local NETS = {
  mlp = function()
    return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(),
                         nn.Linear(8, 3))
  end,
  cnn = function()
    return nn.Sequential(
      nn.Conv2d(1, 4, 3, {padding = 1}), nn.BatchNorm2d(4), nn.ReLU(),
      nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Flatten(),
      nn.Linear(16, 3))
  end,
  lstm = function()
    return nn.LSTM(3, 4, {num_layers = 2, bidirectional = true})
  end,
  gru = function() return nn.GRU(3, 4) end,
  rnn = function() return nn.RNN(3, 4) end,
  transformer = function()
    return nn.TransformerEncoderLayer(
      8, 2, {dim_feedforward = 16, dropout = 0, batch_first = true})
  end,
}

-- Differences relative to the largest element: two of the last bits of bfloat16
-- for a result; eight for a gradient, of which each layer rounds some.
local OUT, GRAD = 2 ^ -7, 2 ^ -5

local function check_near(want, t, tolerance, what)
  want = st.tensor(want)
  local scale = want:abs():max():item()
  local difference = (want - t:float():flatten()):abs():max():item()
  assert.is_true(difference <= tolerance * scale,
                 ("%s differs by %g of %g"):format(what, difference, scale))
end

local function check_net(case)
  st.manual_seed(case.seed)
  local net = NETS[case.net]()
  local x = wave(size_of(case.shape)):requires_grad_()
  local out, state, loss
  autocast(function()
    out, state = net(x)
    local flat = out:reshape(-1, out.shape[out.ndim])
    local target = st.arange(flat.shape[1]):remainder(flat.shape[2]) + 1
    loss = st.cross_entropy_loss(flat, target:long())
  end)
  loss:backward()
  assert.equal(case.dtype, dtype(out))
  assert.same(case.states, dtypes_of(unpack(type(state) == "table" and state or
                                            {state})))
  assert.equal(case.loss_dtype, dtype(loss))
  check_near({case.loss}, loss, OUT, "the loss")
  check_near(case.out, out, OUT, "the output")
  local list = net:parameters()
  list[#list + 1] = x
  for i, p in ipairs(list) do
    assert.equal("float32", dtype(p.grad))
    check_near(case.grads[i], p.grad, GRAD, "gradient " .. i)
  end
end

describe("Within autocast PyTorch's", function()
  for case in reader.cases(VECTORS) do
    if case.op then
      local _it = lapack.it_of(case.op, it, pending)
      _it("dtypes are those of " .. case.op, function()
        check_operator(case)
      end)
    elseif case.net then
      it("numbers are those of the network " .. case.net, function()
        check_net(case)
      end)
    end
  end
end)

-- -- What is converted -------------------------------------------------------

describe("Autocast converts", function()
  local a, b

  setup(function() a, b = wave({3, 3}), wave({3, 3}, 1) end)

  teardown(function() a, b = nil, nil end)

  it("to float16 if that is asked for", function()
    assert.equal("float16", dtype(autocast({dtype = "float16"}, st.mm, a, b)))
    assert.equal("float16", dtype(autocast({dtype = st.float16}, function()
      return autocast(st.mm, a, b)
    end)))
  end)

  it("no float64, complex or integer tensor", function()
    for _, d in ipairs {"float64", "complex64", "int64"} do
      local x = a:to(d)
      assert.equal(d, dtype(autocast(st.mm, x, x)))
    end
    raises_here({"mm", "float64", "bfloat16"}, function()
      autocast(st.mm, a:double(), b)
    end)
  end)

  it("nothing on the meta device", function()
    local x = st.empty({3, 3}, {device = "meta"})
    assert.equal("float32", dtype(autocast(st.mm, x, x)))
  end)

  it("no arguments of out= and in-place operators", function()
    local out = st.empty(3, 3)
    assert.equal(out, autocast(st.mm, a, b, {out = out}))
    assert.is_true(out:equal(a:mm(b)))
    local c = a:clone()
    autocast(c.addmm_, c, a, b)
    assert.is_true(c:equal(a:addmm(a, b)))
  end)

  it("float16 and bfloat16 to float32, to join them", function()
    assert.equal("float32", dtype(autocast(st.cat, {a:half(), b:bfloat16()})))
    assert.equal("float16", dtype(autocast({dtype = "float16"}, st.cat,
                                           {a:half(), b:half()})))
  end)

  it("the calls of a script's operators, by the key AutocastCPU", function()
    with_library("autocast_spec", "DEF", function(lib)
      lib:def "twice(Tensor x) -> Tensor"
      local twice = st.ops.autocast_spec.twice
      lib:impl("twice", "CPU", function(x) return x + x end)
      assert.equal("float32", dtype(autocast(twice, a)))
      lib:impl("twice", "AutocastCPU", function(x)
        return st.exclude_keys("AutocastCPU", twice, x:half())
      end)
      assert.equal("float32", dtype(twice(a)))
      assert.equal("float16", dtype(autocast(twice, a)))
    end)
  end)

  it("views, lazy tensors and inference tensors", function()
    local y = autocast(function() return a:t():mm(a:_neg_view()) end)
    local z = a:t():bfloat16():mm(a:neg():bfloat16())
    assert.is_true(y:equal(z))
    st.inference_mode(autocast, function()
      assert.equal("bfloat16", dtype(a:mm(b)))
      assert.equal("bfloat16", dtype((a + 1):mm(b)))
    end)
  end)

  it("calls of fused functions, which run unfused", function()
    local f = st.fuse(function(x, y) return (x:mm(y) * 2 + 1):relu() end)
    assert.equal("float32", dtype(f(a, b)))
    assert.equal("bfloat16", dtype(autocast(f, a, b)))
    assert.equal("float32", dtype(f(a, b)))
  end)

  it("the second run of a checkpoint as the first", function()
    local seen = {}
    local function f(x)
      local y = x:mm(b)
      seen[#seen + 1] = dtype(y)
      return y:float():sum()
    end
    local x = a:clone():requires_grad_()
    autocast(st.checkpoint, f, x):backward()
    assert.same({"bfloat16", "bfloat16"}, seen)
    local want = a:clone():requires_grad_()
    autocast(function() return want:mm(b):float():sum() end):backward()
    assert.is_true(want.grad:equal(x.grad))
  end)

  it("nothing in a backward pass", function()
    local x = a:clone():requires_grad_()
    local y = x:mm(b):sum()
    autocast(y.backward, y)
    assert.is_true(x.grad:equal(st.ones(3, 3):mm(b:t())))
  end)
end)

-- -- Kept casts --------------------------------------------------------------

describe("A cast of a parameter", function()
  local x, p

  local function parameter(k)
    return wave({3, 3}, k):clone():requires_grad_() -- no view
  end

  --- The number of casts in body.
  local function casts(body, options)
    local n = 0
    st.observe({before = function(op)
      if op:name() == "aten::_to_copy" then n = n + 1 end
    end}, autocast, options or {}, body)
    return n
  end

  setup(function()
    x, p = wave {3, 3}:bfloat16(), parameter(1)
  end)

  teardown(function() x, p = nil, nil end)

  local function twice() return x:mm(p), x:mm(p) end

  it("is made once in a region", function()
    assert.equal(1, casts(twice))
    assert.equal(2, casts(twice, {cache_enabled = false}))
    assert.equal(1, casts(function()
      twice()
      autocast(twice)
      autocast({enabled = false}, st.add, x, p)
      twice()
    end))
  end)

  it("is forgotten when the region ends, and on demand", function()
    local count = live()
    autocast(function() twice() end)
    assert.equal(count, live())
    pcall(autocast, function()
      twice()
      error "a failure"
    end)
    assert.equal(count, live())
    assert.equal(2, casts(function()
      x:mm(p)
      st.clear_autocast_cache()
      x:mm(p)
    end))
  end)

  it("is made again after the parameter was written", function()
    local q = parameter(2)
    autocast(function()
      local first = x:mm(q)
      st.no_grad(q.add_, q, 1)
      assert.is_true(x:mm(q):equal(x:mm(q:detach():bfloat16())))
      assert.is_false(x:mm(q):equal(first))
    end)
  end)

  it("is made again for another dtype", function()
    autocast(function()
      assert.equal("bfloat16", dtype(x:mm(p)))
      assert.equal("float16", dtype(autocast({dtype = "float16"}, st.mm, x, p)))
    end)
  end)

  it("passes gradients after one that was made without", function()
    for _, mode in ipairs {"no_grad", "inference_mode"} do
      p.grad = nil
      autocast(function()
        st[mode](twice)
        return x:mm(p)
      end):float():sum():backward()
      assert.equal("float32", dtype(p.grad))
    end
    assert.equal(1, casts(function()
      st.no_grad(twice)
      st.no_grad(twice)
    end))
    assert.equal(1, casts(function()
      twice()
      st.no_grad(twice)
      st.inference_mode(twice)
    end))
  end)

  it("serves several backward passes", function()
    p.grad = nil
    local y, z = autocast(twice)
    y:float():sum():backward()
    local one = p.grad:clone()
    z:float():sum():backward()
    assert.is_true(p.grad:equal(2 * one))
  end)

  it("is not kept of other tensors", function()
    local y = wave {3, 3}
    assert.equal(2, casts(function() return x:mm(y), x:mm(y) end))
    local z = p * 2
    assert.equal(2, casts(function() return x:mm(z), x:mm(z) end))
    local view = st.arange(9):float():view(3, 3):requires_grad_()
    assert.equal(2, casts(function() return x:mm(view), x:mm(view) end))
  end)

  it("of many parameters is found", function()
    local list = {}
    for i = 1, 100 do list[i] = parameter(i) end
    assert.equal(300, casts(function()
      for _ = 1, 2 do
        for _, q in ipairs(list) do
          local want = x:mm(q:detach():bfloat16()) -- a cast each time
          assert.is_true(x:mm(q):equal(want))
        end
      end
    end))
  end)
end)

-- -- The state ---------------------------------------------------------------

describe("The state of autocast", function()
  local function state()
    return {st.is_autocast_enabled(), st.get_autocast_dtype(),
            st.is_autocast_cache_enabled()}
  end

  local OFF = {false, "bfloat16", true}

  it("holds for a body and nests", function()
    assert.same(OFF, state())
    autocast(function()
      assert.same({true, "bfloat16", true}, state())
      autocast({enabled = false}, function()
        assert.same(OFF, state())
        assert.equal("float32", dtype(st.mm(st.eye(2), st.eye(2))))
      end)
      autocast({dtype = "float16", cache_enabled = false}, function()
        assert.same({true, "float16", false}, state())
        autocast(function() assert.same({true, "float16", false}, state()) end)
      end)
      assert.same({true, "bfloat16", true}, state())
    end)
    assert.same(OFF, state())
  end)

  it("ends with an error of the body", function()
    local ok, why = pcall(autocast, {dtype = "float16"}, error, {code = 1})
    assert.is_false(ok)
    assert.same({code = 1}, why)
    assert.same(OFF, state())
  end)

  it("passes arguments and results, also of what can be called", function()
    local function same(...) return ... end
    assert.same({1, nil, 3}, {autocast(same, 1, nil, 3)})
    local net = nn.Linear(2, 2)
    assert.equal("bfloat16", dtype(autocast(net, st.ones(1, 2))))
    assert.equal("float16", dtype(autocast({dtype = "float16"}, net,
                                           st.ones(1, 2))))
  end)

  it("cannot be left by a yield", function()
    local co = coroutine.create(function()
      autocast(coroutine.yield)
    end)
    assert.is_false((coroutine.resume(co)))
    assert.same(OFF, state())
  end)

  it("is checked", function()
    raises_here({"autocast", "'dtype'", "bfloat16", "float32"}, function()
      autocast({dtype = "float32"}, st.mm)
    end)
    raises_here({"autocast", "'enabled'", "number"}, function()
      autocast({enabled = 1}, st.mm)
    end)
    raises_here({"autocast", "'type'", "dtype"}, function()
      autocast({type = "float16"}, st.mm)
    end)
    raises_here({"autocast", "'body'", "nil"}, function() autocast() end)
    raises_here({"autocast", "'body'", "nothing"}, function() autocast {} end)
  end)
end)

it("No tensor is left", function() assert.equal(before, live()) end)
