--- The gradients of every layer and loss agree with finite differences: those
-- of its inputs and of its parameters.
-- axes: lua

local st = require "strided"
local reader = require "spec.conformance.reader"
local tensors = require "spec.support.tensors"

local nn = st.nn
local integer = reader.integer
local load = loadstring or load -- luacheck: ignore
local unpack = unpack or table.unpack

-- Words of calls whose gradients are not those of differences, as in PyTorch.
local EXCEPT = {
  max_norm = "a call changes the weight",
  spectral_norm = "a call changes the buffers",
  scale_grad_by_freq = "the gradient is divided",
  CTCLoss = "the gradient is that of log_softmax before it",
  ["eps = 0.5"] = "GaussianNLLLoss passes the gradient of a clamped variance",
}

local function is_excepted(case)
  for word in pairs(EXCEPT) do
    if case.lua:find(word, 1, true) then return true end
  end
  return false
end

local function evaluate(text)
  return load("local nn, W = ... return " .. text)(
    nn, st.tensor({0.5, 1, 2, 1.5}, {dtype = "float64"}))
end

local function tensor_of(record)
  local values, sizes = {}, {}
  for d, n in ipairs(record.shape) do sizes[d] = integer(n) end
  local is_index = record.kind == "i" or record.kind == "n"
  for i, v in ipairs(record.values) do
    values[i] = is_index and integer(v + (record.kind == "i" and 1 or 0)) or v
  end
  return st.tensor(values, {dtype = is_index and "int64" or "float64"})
    :reshape(sizes)
end

--- A function of the inputs that require gradients and of the parameters.
local function function_of(case)
  local module = evaluate(case.lua):double()
  if case.options.eval then module:eval() end
  local inputs, places, leaves, owners = {}, {}, {}, {}
  for i, record in ipairs(case.inputs) do
    inputs[i] = tensor_of(record)
    if record.kind == "f" then
      places[#places + 1], leaves[#leaves + 1] = i, inputs[i]:requires_grad_()
    end
  end
  if case.options.lua_args then
    inputs[#inputs + 1] = evaluate(case.options.lua_args)
  end
  for name, p in module:named_parameters() do
    local path, key = name:match "^(.-)%.?([^.]+)$"
    owners[#owners + 1] = {module:get_submodule(path), key}
    leaves[#leaves + 1] = p
  end
  return function(...)
    local given = {...}
    for k, i in ipairs(places) do inputs[i] = given[k] end
    for k, owner in ipairs(owners) do
      owner[1][owner[2]] = given[#places + k]
    end
    st.manual_seed(3)
    return module(unpack(inputs))
  end, leaves
end

describe("Gradients agree with differences:", function()
  local before
  setup(function() before = tensors.live() end)
  teardown(function() assert.equal(before, tensors.live()) end)

  local number = 0
  for case in reader.cases "spec/data/nn_layers.jsonl.gz" do
    number = number + 1
    if case.lua and not is_excepted(case) then
      it(case.lua .. ", " .. number, function()
        local fn, leaves = function_of(case)
        assert.is_true(st.gradcheck(fn, leaves, {fast = true}))
      end)
    end
  end
end)
