--- Long calls: the count hook of a Lua state stops them between blocks.
-- axes: lua threads
-- sampled: 3

local st = require "strided"
local collect = require "spec.support.collect"
local tensors = require "spec.support.tensors"

local HUGE = 2 ^ 38 -- a sum of so many elements takes minutes

local function expanded(...) return st.ones({1}):expand(...) end

--- Calls fn with a hook that raises `failure` when it runs for the third time
-- from now on: the results of pcall, and the hook afterwards.
local function stopped(fn, failure)
  local runs = 0
  debug.sethook(function()
    runs = runs + 1
    if runs > 2 then error(failure, 0) end
  end, "", 1000000)
  local ok, message = pcall(fn)
  local after = debug.gethook()
  debug.sethook()
  return ok, message, after
end

-- Each takes longer than a second by itself.
local CALLS = {
  {"a sum", function() return expanded(HUGE):sum() end},
  {"a mean over rows", function() return expanded(4, HUGE / 4):mean(2) end},
  {"a mean over columns", function() return expanded(HUGE / 4, 4):mean(1) end},
  {"argmax", function() return expanded(HUGE):argmax() end},
  {"a deviation", function() return expanded(HUGE):std() end},
  {"any", function() return st.zeros({1}):expand(HUGE):any() end},
  {"nonzero", function() return st.zeros({1}):expand(HUGE):nonzero() end},
  {"a sum of integers", function()
    return st.ones({1}, {dtype = "int8"}):expand(HUGE):sum()
  end},
  {"elements with a cast", function()
    return st.zeros(1):expand(2 ^ 26):lgamma():to("float64"):lgamma()
  end},
  {"elements in place", function()
    local t = st.ones(2 ^ 16)
    for _ = 1, 1000 do t:lgamma_() end
  end},
  {"a product of integers", function()
    local t = expanded(4096, 4096):to "int64"
    return t:mm(t)
  end},
  {"a product", function()
    local t = st.ones(4096, 4096)
    return t:mm(t):mm(t):mm(t)
  end},
  {"a batch of products", function()
    local t = expanded(2048, 512, 512)
    return t:bmm(t)
  end},
  {"singular values", function()
    return st.linalg_svdvals(st.rand(48, 48):expand(2 ^ 14, 48, 48))
  end},
  {"a sort of rows", function() return expanded(2 ^ 20, 64):sort() end},
  {"random numbers", function() return st.rand(2 ^ 26):normal_() end},
  {"a permutation", function() return st.randperm(2 ^ 26) end},
  {"combinations", function() return st.combinations(st.arange(700), 3) end},
  {"a search", function()
    return st.searchsorted(st.arange(1000), expanded(2 ^ 27))
  end},
  {"bincount", function()
    return st.zeros({1}, {dtype = "int64"}):expand(2 ^ 26)
      :bincount {base = 0}
  end},
  {"an accumulating scatter", function()
    local at = st.ones({1}, {dtype = "int64"}):expand(2 ^ 26)
    return st.zeros(8):index_add(1, at, expanded(2 ^ 26))
  end},
}

describe("A call that takes long", function()
  local before
  before_each(function()
    collect()
    before = tensors.live()
  end)
  after_each(function()
    debug.sethook()
    collect()
    assert.equal(before, tensors.live())
  end)

  for _, case in ipairs(CALLS) do
    it("stops at an error of the count hook: " .. case[1], function()
      local failure = {} -- any value
      local ok, message, hook = stopped(case[2], failure)
      assert.is_false(ok)
      assert.equal(failure, message)
      assert.is_function(hook)
    end)
  end

  it("stops inside of a kernel in Lua, and of a gradient", function()
    local lib = st.library "spec_long"
    lib:def "f(Tensor x) -> Tensor"
    lib:impl("f", "CompositeExplicitAutograd", function(x) return x:sum() end)
    local failure = {}
    local ok, message = stopped(function()
      return st.ops.spec_long.f(expanded(HUGE))
    end, failure)
    assert.is_false(ok)
    assert.equal(failure, message)
    ok, message = stopped(function()
      local x = st.ones({1}, {requires_grad = true})
      x:expand(2 ^ 31):sum():backward()
    end, failure)
    assert.is_false(ok)
    assert.equal(failure, message)
    lib:close()
  end)

  it("leaves out= with its shape", function()
    local out = st.empty(0)
    assert.is_false((stopped(function()
      return st.sum(expanded(4, HUGE / 4), {2}, {out = out})
    end, "stop")))
    assert.same({0}, {out.shape[1]})
  end)

  it("does not let the hook call operators", function()
    local why, seed
    debug.sethook(function()
      why = select(2, pcall(st.ones, 3))
      seed = pcall(st.manual_seed, 3)
      error("enough", 0)
    end, "", 1000000)
    local ok, message = pcall(function() return expanded(HUGE):sum() end)
    debug.sethook()
    assert.is_false(ok)
    assert.equal("enough", message)
    assert.truthy(why:find("ones: a hook that runs inside of a long call "
                           .. "cannot use strided", 1, true), why)
    assert.is_true(seed)
    assert.equal(3, st.ones(3):sum():item())
  end)

  it("lets the hook seed the generator that it draws from", function()
    debug.sethook(function() st.manual_seed(5) end, "", 1000000)
    local t = st.rand(2 ^ 22):normal_()
    debug.sethook()
    assert.equal(2 ^ 22, t:numel())
  end)

  it("goes on where a hook wants to yield", function()
    local thread = coroutine.create(function()
      debug.sethook(coroutine.yield, "", 1000000)
      local sum = expanded(2 ^ 28):sum():item()
      debug.sethook()
      return sum
    end)
    local ok, sum
    repeat
      ok, sum = coroutine.resume(thread)
      assert.is_true(ok, sum)
    until coroutine.status(thread) == "dead"
    assert.equal(2 ^ 28, sum)
  end)

  it("calls no hook of lines, calls and returns", function()
    local events = {}
    debug.sethook(function(event) events[event] = true end, "crl")
    expanded(2 ^ 26):sum()
    debug.sethook()
    assert.is_nil(events.count)
  end)

  it("leaves a hook that unsets itself unset", function()
    debug.sethook(function()
      debug.sethook()
      error("once", 0)
    end, "", 1000000)
    local ok, message = pcall(function() return expanded(HUGE):sum() end)
    assert.is_false(ok)
    assert.equal("once", message)
    assert.is_nil((debug.gethook()))
  end)
end)
