--- Every layer, loss and initialization of nn as PyTorch 2.15 has it, from
-- spec/vectors/nn_layers.py: initial values by seed, names and order of the
-- state, results, running statistics, and gradients of inputs and parameters.
-- axes: lua

local st = require "strided"
local reader = require "spec.conformance.reader"
local tensors = require "spec.support.tensors"

local nn = st.nn
local integer = reader.integer
local load = loadstring or load -- luacheck: ignore
local unpack = unpack or table.unpack

-- -- Values ------------------------------------------------------------------

local SPECIAL = {inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0}

local function sizes_of(record)
  local sizes = {}
  for d, n in ipairs(record.shape) do sizes[d] = integer(n) end
  return sizes
end

--- The tensor of a record. Indices ("i") count from `base`, by default 1.
local function tensor_of(record, dtype, base)
  local values = {}
  local shift = record.kind == "i" and (base or 1) or 0
  for i, v in ipairs(record.values) do
    values[i] = (SPECIAL[v] or v) + shift
    if record.kind == "i" or record.kind == "n" then
      values[i] = integer(values[i])
    end
  end
  local is_index = record.kind == "i" or record.kind == "n"
  return st.tensor(values, {dtype = is_index and "int64" or dtype})
    :reshape(sizes_of(record))
end

--- Asserts that two tensors are equal, but for the tolerance relative to the
-- greatest element, at least 1.
local function check(want, got, tolerance, what)
  assert.is_truthy(got, what .. " is missing")
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  want, got = want:to "float64":reshape(-1):totable(),
              got:detach():to "float64":reshape(-1):totable()
  local scale = 1
  for _, w in ipairs(want) do
    if math.abs(w) < math.huge then scale = math.max(scale, math.abs(w)) end
  end
  for i, w in ipairs(want) do
    local g = got[i]
    local fits = w == g or w ~= w and g ~= g or
                 math.abs(w - g) <= tolerance * scale
    assert.is_true(fits, ("%s, element %d: %.12g, should be %.12g")
      :format(what, i, g, w))
  end
end

local function weights(t)
  local list = {}
  for n = 0, t:numel() - 1 do list[n + 1] = ((n * 7) % 11 - 5.5) / 5 end
  return st.tensor(list, {dtype = "float64"}):reshape(t.shape)
end

-- -- Modules -----------------------------------------------------------------

local function evaluate(text)
  local weight = st.tensor({0.5, 1, 2, 1.5}, {dtype = "float32"})
  return load("local nn, W = ... return " .. text)(nn, weight)
end

local function state_of(module)
  local names, values = {}, {}
  for name, t in module:named_state {base = 0} do
    names[#names + 1], values[#values + 1] = name, t
  end
  return names, values
end

--- The module after the seed: names, order and values of its state.
local function created(case)
  st.manual_seed(integer(case.seed))
  local module = evaluate(case.lua)
  local names, values = state_of(module)
  assert.same(case.names, names)
  local state = {}
  for i, record in ipairs(case.state) do
    local want = tensor_of(record, "float32", 0)
    check(want, values[i], 1e-6, names[i])
    state[names[i]] = want
  end
  module:load_state_dict(state, {base = 0})
  return module
end

local function inputs_of(case)
  local inputs, leaves = {}, {}
  for i, record in ipairs(case.inputs) do
    inputs[i] = tensor_of(record, "float64")
    if record.kind == "f" then
      leaves[#leaves + 1] = inputs[i]:requires_grad_()
    end
  end
  if case.options.transpose then inputs[1] = inputs[1]:t() end
  if case.options.lua_args then
    inputs[#inputs + 1] = evaluate(case.options.lua_args)
  end
  return inputs, leaves
end

local function replay(case)
  local module = created(case):double()
  if case.options.eval then module:eval() end
  local inputs, leaves = inputs_of(case)
  st.manual_seed(integer(case.seed) + 1000)
  local results = {module(unpack(inputs))}
  local loss = 0
  for i, record in ipairs(case.results) do
    check(tensor_of(record, "float64"), results[i], 1e-6, "result " .. i)
    if results[i].requires_grad then
      loss = loss + (results[i] * weights(results[i])):sum()
    end
  end
  loss:backward()
  local names, values = state_of(module)
  for i, record in ipairs(case.after) do
    check(tensor_of(record, "float64", 0), values[i], 1e-6,
          names[i] .. " after")
  end
  for i, record in ipairs(case.input_grads) do
    check(tensor_of(record, "float64"), leaves[i].grad, 1e-6,
          "gradient of input " .. i)
  end
  for i, p in ipairs(module:parameters()) do
    local record = case.grads[i]
    if record == reader.null then
      assert.is_nil(p.grad)
    else
      check(tensor_of(record, "float64"), p.grad, 1e-6,
            "gradient of parameter " .. i)
    end
  end
end

-- -- Others ------------------------------------------------------------------

-- Classes of torch.nn that are not here.
local ABSENT = {
  Container = "obsolete", CrossMapLRN2d = "obsolete, its sums are wrong",
  DataParallel = "devices", SyncBatchNorm = "devices",
  RNNBase = "a base class", RNNCellBase = "a base class",
}

-- Classes that are in other modules.
local ELSEWHERE = {
  GRU = true, GRUCell = true, LSTM = true, LSTMCell = true, RNN = true,
  RNNCell = true, MultiheadAttention = true, Transformer = true,
  TransformerDecoder = true, TransformerDecoderLayer = true,
  TransformerEncoder = true, TransformerEncoderLayer = true,
}

local function check_classes(case)
  local missing = {}
  for _, name in ipairs(case.classes) do
    if not (name:find "^Lazy" or ABSENT[name] or ELSEWHERE[name] or
            rawget(nn, name)) then
      missing[#missing + 1] = name
    end
  end
  assert.same({}, missing)
end

local function check_init(case)
  local t = st.full(sizes_of(case), -1, {dtype = "float32"})
  st.manual_seed(integer(case.seed))
  local got = load("local init, t = ... return init." .. case.init)(nn.init, t)
  assert.equal(t, got)
  check(tensor_of(case, "float32"), t, 1e-6, case.init)
end

local function clipped(scale)
  local a, b = st.zeros(2, 3), st.zeros(4)
  a.grad = (st.arange(0, 6):to "float32":reshape(2, 3) - 2) * scale
  b.grad = st.arange(0, 4):to "float32" * (-1.5 * scale)
  return {a, b}
end

local function check_clip(case)
  local scale = case.scale or 1
  local ps, norm = clipped(scale), nil
  if case.clip == "value" then
    nn.utils.clip_grad_value_(ps, case.norm)
  elseif case.clip == "total" then
    norm = nn.utils.get_total_norm {ps[1].grad, ps[2].grad}
  else
    norm = nn.utils.clip_grad_norm_(
      ps, case.most, {norm_type = SPECIAL[case.clip] or case.clip})
  end
  if norm then assert.is_near(case.norm, norm:item(), 1e-6 * case.norm) end
  for i, record in ipairs(case.grads) do
    check(tensor_of(record, "float64") / scale,
          ps[i].grad:to "float64" / scale, 1e-6, "gradient " .. i)
  end
end

local function load_state(module, records)
  local state, i = {}, 0
  for name in module:named_state() do
    i = i + 1
    state[name] = tensor_of(records[i], "float32", 0)
  end
  module:load_state_dict(state)
  return module:eval()
end

local function check_fuse(case)
  local conv = load_state(nn.Conv1d(2, 3, 2), case.conv)
  local norm = load_state(nn.BatchNorm1d(3), case.norm)
  local fused = nn.utils.fuse_conv_bn_eval(conv, norm)
  local _, values = state_of(fused)
  for i, record in ipairs(case.fused) do
    check(tensor_of(record, "float32"), values[i], 1e-6, "fused " .. i)
  end
  local x = st.rand(2, 2, 5)
  check(norm(conv(x)), fused(x), 1e-5, "the result")
end

-- ----------------------------------------------------------------------------

describe("As in PyTorch,", function()
  local before
  setup(function() before = tensors.live() end)
  teardown(function() assert.equal(before, tensors.live()) end)

  local number = 0
  for case in reader.cases "spec/data/nn_layers.jsonl.gz" do
    number = number + 1
    local name = case.lua or case.init or case.gain
    if case.classes then
      it("nn has the classes of torch.nn", function() check_classes(case) end)
    elseif case.lua then
      it(name .. ", " .. number, function() replay(case) end)
    elseif case.init then
      it("nn.init." .. name, function() check_init(case) end)
    elseif case.gain then
      it("the gain of " .. name, function()
        assert.is_near(case.value, nn.init.calculate_gain(name), 1e-12)
      end)
    elseif case.clip then
      it("gradients are clipped by " .. case.clip, function()
        check_clip(case)
      end)
    else
      it("a convolution is fused with a norm", function() check_fuse(case) end)
    end
  end
end)
