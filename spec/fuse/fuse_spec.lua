--- Fused functions: what was recorded gives what the function gives.
-- axes: isa lua threads lua5.2

local st = require "strided"

local unpack = unpack or table.unpack
local functions = require "spec.support.fused_functions"
local tensors = require "spec.support.tensors"
local collect = require "spec.support.collect"

local failure, live, raises = tensors.failure, tensors.kinds, tensors.raises
local ipairs, tostring = ipairs, tostring

st.manual_seed(7)
local X, Y = st.randn(6, 8), st.randn(6, 8)
local W, BIAS = st.randn(8, 8), st.randn(8)
local POSITIONS = st.tensor({3, 1, 2}, {dtype = "int64"})

local function same(want, got)
  if type(want) == "table" then
    assert.equal(#want, #got)
    for i = 1, #want do same(want[i], got[i]) end
  elseif st.is_tensor(want) then
    assert.equal(want.dtype, got.dtype)
    assert.equal(want.device, got.device)
    assert.equal(tostring(want.shape), tostring(got.shape))
    assert.same(tensors.lists(want:stride()), tensors.lists(got:stride()))
    assert.is_true(want:isclose(got, {equal_nan = true, rtol = 0, atol = 0})
                   :all():item())
  else
    assert.equal(want, got)
  end
end

local softmax, norm = functions.softmax, functions.normalisation(BIAS)

-- What it is, the function, what f:explain says of it.
local FUSED = {
  {"a chain", function(x, y) return (x * y + 1):tanh() - y end,
   "^fusion group of 4: mul add tanh sub\n"},
  {"a softmax", softmax,
   "^call amax.-\nfusion group of 2: sub exp.-\ncall sum"},
  {"a normalisation", norm,
   "call mean.-\nfusion group of 2: sub mul\n.-call mean"},
  {"a perceptron", function(x)
    local h = x:matmul(W) + BIAS
    return (h * h:sigmoid()):matmul(W)
  end, "call mm.-fusion group of 3: add sigmoid mul.-call mm"},
  {"two kinds of results", function(x, y) return x * 2 + 1, x + y:sum() end},
  {"an argument among the results", function(x) return x * 2 + 1, x end},
  {"casts", function(x) return (x * 3):to "int32" * 2 + 1 end},
  {"comparisons", function(x, y)
    return st.where(x:gt(y), x * 2, y - 1)
  end, "^fusion group of 4"},
  {"views", function(x) return (x:t() * 2 + 1):contiguous():view(-1) + 1 end},
  {"lists of tensors", function(x)
    local a, b = unpack(x:chunk(2, 2))
    return a * b + a
  end, "call split.-fusion group of 2"},
  {"joining", function(x, y) return st.cat({x * 2 + 1, y}, 1):relu() end,
   "fusion group of 2.-call cat"},
  {"positions", function(x) return x[{POSITIONS}] * 2 + 1 end, "call index"},
  {"subscripts", function(x) return x["2:3, :"] * 2 + 1 end, "call slice"},
  {"sizes", function(x) return x / x.shape[1] + x:numel() end,
   "^fusion group of 2"},
  {"factories", function(x)
    return st.zeros({6, 8}, {device = x.device}) + st.full({8}, 3) * x
  end},
  {"tensors made of tables", function(x)
    return st.tensor {1, 2, 3, 4, 5, 6, 7, 8} * x + 1
  end},
  {"writing what it has made", function(x)
    local y = x * 2
    y:add_(1)
    y:relu_()
    return y
  end, "^fusion group of 3: mul add relu\n"},
  {"writing through another name", function(x)
    local y = x * 2
    local z = y:contiguous()
    y:add_(1)
    z:mul_(3)
    return y + z
  end},
  {"many inputs", function(x)
    local sum = x
    for i = 1, 30 do sum = sum + BIAS:roll(i, 1) end
    return sum
  end, "fusion group of %d+"},
  {"many results", function(x)
    local out = {}
    for i = 1, 9 do out[i] = x * i + 1 end
    return unpack(out)
  end, "fusion group of %d+"},
}

-- The same for what is called as it is: why that is so.
local CALLED = {
  {"writes an argument", function(x) x:add_(0) return x * 2 + 1 end,
   "it writes a tensor that it has not created"},
  {"writes a view", function(x)
    local y = x * 2
    y[1] = 5
    return y + 1
  end, "it writes a tensor that it has not created"},
  {"writes to out=", function(x)
    local y = st.empty(6, 8)
    st.mul(x, x, {out = y})
    return y
  end, "it writes with out="},
  {"returns a table", function(x) return x:unbind(1) end,
   "a result is not a tensor, number, string, boolean or nil"},
  {"returns what it has met", function() return W end,
   "it returns a captured tensor"},
  {"selects by elements", function(x) return x[x:gt(0)] end,
   "depends on its values"},
  {"looks for elements", function(x) return (x * 2):gt(1):nonzero() end,
   "depends on values"},
  {"records no gradients", function(x)
    return st.no_grad(function() return x * 2 + 1 end)
  end, "the thread's state"},
  {"asks for memory", function(x) return x * x:storage_offset() + 1 end,
   "where a tensor is in memory"},
  {"looks at what it has met", function(x) return x * BIAS[1] + 1 end,
   "it reads the elements of a tensor: index, at "},
  {"takes a table", function(x) return x * 2 + 1 end,
   "its arguments have no cache key", {}},
}

describe("A fused function", function()
  local before

  setup(function() before = live() end)

  for _, row in ipairs(FUSED) do
    it("does the same with " .. row[1], function()
      local f = st.fuse(row[2])
      for _ = 1, 3 do
        same({row[2](X, Y)}, {f(X, Y)})
        -- of other elements and another layout
        local x = Y:t():contiguous():t()
        same({row[2](x, X)}, {f(x, X)})
      end
      local text = f:explain(X, Y)
      assert.is_nil(text:find "the function is called", text)
      if row[3] then assert.truthy(text:find(row[3]), text) end
    end)
  end

  for _, row in ipairs(CALLED) do
    it("is called when it " .. row[1], function()
      local f = st.fuse(row[2])
      for _ = 1, 3 do same({row[2](X, row[4])}, {f(X, row[4])}) end
      local text = f:explain(X, row[4])
      assert.truthy(text:find("the function is called: ", 1, true), text)
      assert.truthy(text:find(row[3], 1, true), text)
    end)
  end

  it("does the same with every dtype", function()
    local function body(x, y) return x * 2 + y - x:abs() end
    local f = st.fuse(body)
    for _, a in ipairs {"uint8", "int32", "int64", "float16", "bfloat16",
                        "float32", "float64"} do
      for _, b in ipairs {"int16", "float32", "float64"} do
        local x, y = (X * 9):abs():to(a), (Y * 9):to(b)
        same(body(x, y), f(x, y))
        same(body(x, y:sum()), f(x, y:sum()))
      end
    end
  end)

  it("returns constants as they are", function()
    local f = st.fuse(function(x) return 1, x * 2 + 1, nil, "a", true, nil end)
    for _ = 1, 2 do
      assert.equal(6, select("#", f(X)))
      local one, y, none, a, yes = f(X)
      assert.equal(1, one)
      assert.is_true(y:equal(X * 2 + 1))
      assert.is_nil(none)
      assert.equal("a", a)
      assert.is_true(yes)
    end
    local nothing = st.fuse(function(x) return (x * 2):dim() end)
    assert.equal(2, nothing(X))
    assert.equal(2, nothing(X))
    assert.equal(0, select("#", st.fuse(function() end)(X)))
  end)

  it("gives an argument back as the same tensor", function()
    local x, y = st.fuse(function(x) return x, x:t() end)(X)
    assert.is_true(rawequal(x, X))
    assert.is_true(y:is_alias_of(X))
  end)

  it("draws random numbers anew, in the same order", function()
    local function body(x)
      return (st.rand_like(x) + 1) * 2, st.randn(3), st.rand(2)
    end
    local f = st.fuse(body)
    f(X)
    st.manual_seed(11)
    local want = {body(X)}
    st.manual_seed(11)
    same(want, {f(X)})
    assert.is_false((f(X)):equal(want[1]))
    local fresh = st.fuse(body)
    st.manual_seed(11)
    same(want, {fresh(X)}) -- recording draws none
  end)

  it("says errors as the function does", function()
    local f = st.fuse(function(x, y) return x:matmul(y) * 2 + 1 end)
    raises({"fuse_spec.lua:", "matmul: "}, f, X, Y)
    local g = st.fuse(function(x) if x:dim() == 2 then error "mine" end end)
    assert.matches("fuse_spec.lua:%d+: mine", failure(g, X))
    local h = st.fuse(function(x, y) return x:floor_divide(y) + 1 end)
    local ints = st.ones({3}, {dtype = "int64"})
    h(ints, ints)
    raises({"fuse_spec.lua:", "floor_divide: division of int64 by zero"},
           h, ints, ints - 1)
  end)

  teardown(function()
    collect()
    assert.same(before, live())
  end)
end)

-- -- What calls have in common -----------------------------------------------

describe("Recording", function()
  local count

  --- How often a function is called for these lists of arguments.
  local function calls(body, ...)
    count = 0
    local f = st.fuse(function(...)
      count = count + 1
      return body(...)
    end)
    for _, args in ipairs {...} do f(unpack(args)) end
    return count
  end

  local function chain(x) return x * 2 + 1 end

  it("takes place once for arguments of a kind", function()
    assert.equal(1, calls(softmax, {X}, {Y}, {X * 2}))
    local x, y = X:to "float64", Y:to "float64"
    assert.equal(2, calls(softmax, {X}, {x}, {X}, {y}))
    assert.equal(2, calls(softmax, {X}, {X:t():contiguous()}, {X}))
    assert.equal(2, calls(softmax, {X}, {X:t():contiguous():t()}, {X}))
  end)

  it("takes place once for all shapes of one piece", function()
    assert.equal(1, calls(chain, {X}, {BIAS}, {st.ones(2, 3, 4)},
                          {st.ones(0)}))
    assert.equal(2, calls(chain, {X}, {X:sum()}))
    assert.equal(2, calls(chain, {X}, {X:t()}))
    assert.equal(2, calls(function(x) return x * x.shape[1] + 1 end,
                          {X}, {BIAS}))
    local function sum(a, b) return a * 2 + b end
    local f = st.fuse(sum)
    for _, pair in ipairs {{X, Y}, {X, BIAS}, {BIAS, X}, {X, X:sum()}} do
      same(sum(unpack(pair)), f(unpack(pair)))
    end
    local function both(a, b) return a * 2, a * 2 + b end
    f = st.fuse(both)
    same({both(BIAS, BIAS)}, {f(BIAS, BIAS)})
    same({both(BIAS, X)}, {f(BIAS, X)})
  end)

  it("takes place once for a number, a string, a boolean", function()
    local function power(x, k, how)
      return how == "minus" and -x ^ k or x ^ k + 1
    end
    assert.equal(1, calls(power, {X, 2}, {Y, 2}))
    assert.equal(3, calls(power, {X, 2}, {X, 3}, {X, 2, "minus"}, {X, 3}))
    assert.equal(4, calls(power, {X, 2}, {X, 2, true}, {X, 2, false},
                          {X, 2, nil}, {X, 2, "true"}))
  end)

  it("tells one tensor twice from two", function()
    local function body(x, y) return rawequal(x, y) and x * 2 + 1 or x - y + 1
    end
    local f = st.fuse(body)
    for _ = 1, 2 do
      same(body(X, X), f(X, X))
      same(body(X, Y), f(X, Y))
    end
  end)

  it("depends on the default dtype", function()
    local function body(x) return st.ones(8) * x + 1 end
    local f = st.fuse(body)
    local x = st.ones({8}, {dtype = "int64"})
    same(body(x), f(x))
    st.set_default_dtype "float64"
    same(body(x), f(x))
    st.set_default_dtype "float32"
    same(body(x), f(x))
  end)

  it("takes place again when it is cleared", function()
    local n = 0
    local f = st.fuse(function(x) n = n + 1 return x * 2 + 1 end)
    f(X)
    f:clear()
    f(X)
    f(X)
    assert.equal(2, n)
  end)

  it("takes place again for a shape that was long ago", function()
    local n = 0
    local f = st.fuse(function(x) n = n + 1 return x:sum() + 1 end)
    for i = 1, 70 do f(st.ones(i)) end
    f(st.ones(70))
    assert.equal(70, n)
    assert.equal(2, f(st.ones(1)):item())
    assert.equal(71, n)
  end)

  it("keeps what the function has met, whose elements it reads", function()
    local weight = st.ones(8)
    local f = st.fuse(function(x) return x * weight + 1 end)
    same(X + 1, f(X))
    weight:mul_(3)
    same(X * 3 + 1, f(X))
    weight:resize_(6, 8):fill_(2)
    same(X * 2 + 1, f(X))
  end)

  it("does not take place when something is in force", function()
    local f = st.fuse(chain)
    f(X)
    local seen = {}
    local y = st.dispatch_mode(function(op, keys, ...)
      seen[#seen + 1] = op:name()
      return op:redispatch(keys, ...)
    end, function() return f(X) end)
    same(chain(X), y)
    assert.same({"aten::mul.Scalar", "aten::add.Scalar"}, seen)
    same(chain(X), st.inference_mode(function() return f(X) end))
    local g = st.fuse(function(x) return f(x) * 3 end)
    same(chain(X) * 3, g(X))
    assert.truthy(g:explain(X):find "^fusion group of 3: mul add mul")
  end)

  it("leaves operators of Lua alone", function()
    local lib = st.library("fused", function(lib)
      lib:def "twice(Tensor x) -> Tensor"
      lib:impl("twice", "CPU", function(x) return x * 2 end)
    end)
    local f = st.fuse(function(x) return st.ops.fused.twice(x) + 1 end)
    same(chain(X), f(X))
    assert.truthy(f:explain(X):find "an operator of a library")
    lib:close()
  end)

  it("takes elementwise operators of libraries in", function()
    local lib = st.library "fused"
    lib:elementwise("halve(Tensor x) -> Tensor",
                    function(x) return x / 2 end)
    local f = st.fuse(function(x) return st.ops.fused.halve(x) + 1 end)
    same(X / 2 + 1, f(X))
    assert.truthy(f:explain(X):find "^fusion group of 2")
    lib:close()
  end)
end)

-- -- Misuse ------------------------------------------------------------------

describe("st.fuse", function()
  it("takes a function, and options", function()
    assert.error_matches(function() st.fuse(3) end,
                         "fuse: the first argument must be a function")
    assert.error_matches(function() st.fuse(softmax, {nam = "x"}) end,
                         "fuse: there is no option 'nam'")
    assert.error_matches(function() st.fuse(softmax, {name = 3}) end,
                         "fuse: 'name' must be a string, got number")
    assert.equal("fused function (mine)",
                 tostring(st.fuse(softmax, {name = "mine"})))
    assert.matches("fuse_spec.lua:%d+",
                   tostring(st.fuse(function(x) return x end)))
  end)

  it("takes what can be called", function()
    local object = setmetatable({}, {__call = function(_, x)
      return x * 2 + 1
    end})
    same(X * 2 + 1, st.fuse(object)(X))
    same(X:exp(), st.fuse(st.exp)(X))
    local f = st.fuse(softmax)
    same(softmax(X), st.fuse(f)(X))
  end)

  it("does not outlive the tensors of a scope or freed ones", function()
    local f = st.fuse(function(x) return x * 2 + 1 end)
    local y = st.scope(function() return f(X) end)
    same(X * 2 + 1, y)
    local x = X:clone()
    x:free()
    raises({"mul: ", "freed Tensor"}, f, x)
  end)

  it("survives a function that calls itself", function()
    local f
    f = st.fuse(function(x, n)
      if n == 0 then return x end
      return f(x, n - 1) * 2
    end)
    same(X * 8, f(X, 3))
    same(X * 8, f(X, 3))
  end)

  it("leaves doubles without elements behind", function()
    local kept
    local f = st.fuse(function(x) kept = x return x * 2 + 1 end)
    f(X)
    assert.equal("meta", kept.device)
    assert.equal("meta", f(kept).device)
  end)

  it("gives the same on one thread and on several", function()
    local f = st.fuse(function(x) return (x * 2 + 1):tanh() end)
    local big = st.randn(300000)
    local n = st.get_num_threads()
    local many = f(big)
    st.set_num_threads(1)
    local one = f(big)
    st.set_num_threads(n)
    same((big * 2 + 1):tanh(), one)
    same(one, many)
  end)
end)
