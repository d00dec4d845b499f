--- Calls that write and are interrupted: what was saved for the backward pass
-- counts as written.
-- axes: lua

local interrupt = require "spec.support.interrupt"
local raises = require("spec.support.tensors").raises
local st = require "strided"

local N = 2 ^ 22 -- each call takes many milliseconds

local ones, twos, at, columns, random, places

local function copy(v) v:view(2 ^ 11, 2 ^ 11):copy_(columns) end

-- the name, and the call that writes v
local CALLS = {
  {"unary", function(v) v:lgamma_() end},
  {"binary", function(v) st.hypot(v, ones, {out = v}):atan2_(twos) end},
  {"index_put_", function(v) st.index_put_(v, {at}, ones) end},
  {"copy_", copy},
  {"sort with out=", function(v)
    st.sort(random, {out = {v, places}})
  end},
  {"lgamma with out=", function(v) st.lgamma(random, {out = v}) end},
  {"random numbers", function(v) v:normal_() end},
  {"a composite operator", function(v) v:cumprod_(1) end},
  {"an assignment", function(v) v[{at}] = 3 end},
}

describe("An interrupted call that writes", function()
  setup(function()
    ones, twos = st.ones(N), st.full({N}, 2)
    random, at = st.rand(N), st.randperm(N)
    columns = st.ones({2 ^ 11, 2 ^ 11}, {dtype = "float64"}):t()
    places = st.empty({N}, {dtype = "int64"})
  end)
  teardown(function()
    ones, twos, at = nil, nil, nil
    columns, random, places = nil, nil, nil
  end)
  after_each(function() debug.sethook() end)

  for _, case in ipairs(CALLS) do
    it("counts as a write: " .. case[1], function()
      local leaf = st.ones({N}, {requires_grad = true})
      local v = st.full({N}, 0.5)
      local sum = (leaf * v):sum()
      local version = v.version
      local ok, message = interrupt.stopped(function() case[2](v) end,
                                            "enough")
      assert.is_false(ok)
      assert.equal("enough", message)
      assert.is_true(v.version > version)
      raises("backward: MulBackward0: 'other' (float32 [4194304]), saved "
             .. "for the gradient, was written in place since: it is at "
             .. "version", sum.backward, sum)
    end)
  end

  it("counts as a write where a kernel in Lua is interrupted", function()
    local lib = st.library "spec_interrupted"
    lib:def "f_(Tensor(a!) x) -> Tensor(a!)"
    lib:impl("f_", "CPU", function(x) return x:lgamma_() end)
    local leaf = st.ones({N}, {requires_grad = true})
    local v = st.full({N}, 0.5)
    local sum = (leaf * v):sum()
    assert.is_false((interrupt.stopped(function()
      st.ops.spec_interrupted.f_(v)
    end, "enough")))
    raises("backward: MulBackward0: 'other' (float32 [4194304]), saved for "
           .. "the gradient, was written in place since", sum.backward, sum)
    lib:close()
  end)

  it("counts as none where the arguments are refused", function()
    local leaf = st.ones({3}, {requires_grad = true})
    local v = st.ones(3)
    local sum = (leaf * v):sum()
    raises("add_: shapes [3] and [2] do not broadcast",
           st.add_, v, st.ones(2))
    assert.equal(0, v.version)
    sum:backward()
    assert.same({1, 1, 1}, leaf.grad:totable())
  end)
end)
