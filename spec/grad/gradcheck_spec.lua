--- Gradients against finite differences: every operator of the registry that
-- has one, first and second derivatives, dense inputs and others.
-- axes: isa
-- sampled: 3

local gradients = require "spec.support.gradients"
local lapack = require "spec.support.lapack"
local samples = require "spec.grad.gradcheck.samples"
local values = require "spec.grad.gradcheck.values"
local registry = require "spec.grad.gradcheck.registry"
local st = require "strided"

local unpack = unpack or table.unpack

-- -- Calls -------------------------------------------------------------------

local OPTIONS = {fast = true}

--- The operator as a function of the leaves of a call, others as they are.
local function function_of(operator, call, args, leaves)
  local at = {}
  for i, leaf in ipairs(leaves) do at[leaf] = i end
  local function put(x, given)
    if st.is_tensor(x) then return at[x] and given[at[x]] or x end
    if type(x) ~= "table" then return x end
    local out = {}
    for k, v in pairs(x) do out[k] = put(v, given) end
    return out
  end
  return function(...)
    if call.seeded then st.manual_seed(1) end
    local after = call.after or function(...) return ... end
    return after(operator(unpack(values.prepared(call, put(args, {...})))))
  end
end

local function tensors(list, ...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if st.is_tensor(x) then
      if x.requires_grad then list[#list + 1] = x end
    elseif type(x) == "table" then
      tensors(list, unpack(x))
    end
  end
  return list
end

--- Each gradient is the same when no other is asked for.
local function check_alone(f, leaves)
  local function by(wanted)
    local out, u = tensors({}, f(unpack(leaves))), {}
    for i, y in ipairs(out) do u[i] = st.ones_like(y) end
    return {st.grad(out, wanted, {grad_outputs = u, allow_unused = true})}
  end
  if #leaves < 2 or #tensors({}, f(unpack(leaves))) == 0 then return end
  local together = by(leaves)
  for i, leaf in ipairs(leaves) do
    for k, other in ipairs(leaves) do other:requires_grad_(k == i) end
    local alone = #tensors({}, f(unpack(leaves))) > 0 and by {leaf}[1]
    local want = together[i] or st.zeros_like(leaf)
    assert.is_true(st.allclose(alone or st.zeros_like(leaf), want, 1e-12,
                               1e-12), "argument " .. i .. " alone")
  end
  for _, leaf in ipairs(leaves) do leaf:requires_grad_() end
end

local function check(operator, call, layout)
  local args, leaves = values.make(call, layout)
  local f = function_of(operator, call, args, leaves)
  st.gradcheck(f, leaves, OPTIONS)
  if #tensors({}, f(unpack(leaves))) > 0 then
    st.gradgradcheck(f, leaves, OPTIONS)
  end
  check_alone(f, leaves)
end

--- The in-place variant on what is no leaf, where its result fits.
local function check_inplace(operator, inplace, call)
  local args, leaves = values.make(call, "dense")
  local y = operator(unpack(args))
  local self = args[1]
  if tostring(y.shape) ~= tostring(self.shape) or y.dtype ~= self.dtype then
    return
  end
  local f = function_of(function(x, ...)
    return inplace(x:clone(), ...)
  end, call, args, leaves)
  st.gradcheck(f, leaves, OPTIONS)
end

-- -- The registry ------------------------------------------------------------

describe("The gradient of", function()
  local before

  setup(function() before = gradients.live() end)

  for _, entry in ipairs(registry.differentiable()) do
    lapack.it_of(entry.name, it, pending)(entry.name, function()
      local calls = samples[entry.name]
      assert.is_truthy(calls and calls[1], "there are no samples of it")
      for i, call in ipairs(calls) do
        for _, layout in ipairs {"dense", not call.dense and "spread" or nil} do
          local ok, why = pcall(check, entry.call, call, layout)
          assert.is_true(ok, ("call %d, %s: %s"):format(i, layout,
                                                        tostring(why)))
        end
        if entry.inplace then
          local ok, why = pcall(check_inplace, entry.call, entry.inplace, call)
          assert.is_true(ok, ("call %d in place: %s"):format(i, tostring(why)))
        end
      end
    end)
  end

  it("some composite operators is none", function()
    for _, entry in ipairs(registry.all()) do
      if registry.WITHOUT[entry.name] then
        local args = values.make(samples[entry.name][1], "dense")
        assert.same({}, tensors({}, entry.call(unpack(args))), entry.name)
      end
    end
  end)

  it("every operator is known, or that it has none", function()
    for _, entry in ipairs(registry.all()) do
      assert.is_string(entry.derivative, entry.name)
    end
  end)

  it("no operator that is not there", function()
    local known = {}
    for _, entry in ipairs(registry.all()) do known[entry.name] = true end
    for name, caller in pairs(registry.INNER) do
      assert.is_true(known[name] and samples[caller] ~= nil, name)
    end
    local strange = {}
    for name in pairs(samples) do
      if not known[name] then strange[#strange + 1] = name end
    end
    table.sort(strange)
    assert.same({}, strange)
  end)

  it("any of these leaves no tensor behind", function()
    assert.is_true(gradients.live() <= before)
  end)
end)
