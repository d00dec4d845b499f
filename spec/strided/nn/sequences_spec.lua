--- Recurrent layers, attention and transformers: initial values, outputs and
-- gradients of PyTorch 2.15, from spec/vectors/nn_sequences.py.
-- axes: lua

local st = require "strided"
local nn = require "strided.nn"

local reader = require "spec.conformance.reader"
local tensors = require "spec.support.tensors"

local live, near, raises_here = tensors.live, tensors.near, tensors.raises_here
local abs, ipairs, max, pairs, tostring, type = math.abs, ipairs, math.max,
  pairs, tostring, type
local unpack = unpack or table.unpack

local F64 = {dtype = "float64"}

local function wave(shape, k)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return (st.arange(n, F64) * 0.7 + (k or 0)):sin():reshape(shape)
end

--- One number of a tensor.
local function mark(t)
  return (t:to "float64" * wave(t.shape, 1)):sum():item()
end

local before

setup(function() before = live() end)

-- -- Vectors -----------------------------------------------------------------

--- The argument that x stands for; leaves: those with a gradient.
local function decode(x, leaves)
  if type(x) ~= "table" then return x end
  if x.wave then
    local t = wave(x.wave, x.k):requires_grad_()
    leaves[#leaves + 1] = t
    return t
  elseif x.packed then
    local t = wave({#x.packed, max(unpack(x.packed)), x.features}, x.k)
      :requires_grad_()
    leaves[#leaves + 1] = t
    return nn.utils.rnn.pack_padded_sequence(
      t, x.packed, {batch_first = true, enforce_sorted = false})
  elseif x.bool then
    return st.tensor(x.bool, {dtype = "bool"})
  elseif x.causal then
    return nn.Transformer.generate_square_subsequent_mask(x.causal, F64)
  end
  local list = {}
  for i, e in ipairs(x) do list[i] = decode(e, leaves) end
  return list
end

--- The tensors among the results of a call, in order.
local function flat(...)
  local list = {}
  local function add(x)
    if st.is_tensor(x) then
      list[#list + 1] = x
    elseif nn.utils.rnn.is_packed_sequence(x) then
      list[#list + 1] = x.data
    elseif x ~= nil then
      for _, e in ipairs(x) do add(e) end
    end
  end
  for i = 1, select("#", ...) do add((select(i, ...))) end
  return list
end

local function build(case, dtype)
  st.manual_seed(case.seed)
  local o, a, class = {dtype = dtype}, case.args, case.class
  for key, value in pairs(case.options) do o[key] = value end
  if o.layers then
    local n, norm = o.layers, o.norm
    o.layers, o.norm = nil, nil
    local layer = nn[class .. "Layer"](a[1], a[2], o)
    return nn[class](layer, n, norm and nn.LayerNorm(a[1], {dtype = dtype}))
  end
  return nn[class](a[1], a[2], o)
end

local function marks(list, fn)
  local out = {}
  for i, t in ipairs(list) do out[i] = mark(fn and fn(t) or t) end
  return out
end

local function gradient(t) return t.grad end

--- PyTorch's name, in which positions count from 0.
local function ours(name)
  return (name:gsub("%f[%w](%d+)%f[%W]", function(n)
    return tostring(reader.integer(n + 1)):gsub("%.0$", "")
  end))
end

local function title(case)
  local parts = {case.class}
  for _, part in ipairs {case.options, case.call} do
    local names = {}
    for key in pairs(part) do names[#names + 1] = key end
    table.sort(names)
    for _, key in ipairs(names) do parts[#parts + 1] = key end
  end
  return table.concat(parts, " ")
end

describe("PyTorch's numbers are those of", function()
  local number = 0
  for case in reader.cases "spec/data/nn_sequences.jsonl.gz" do
    number = number + 1
    it(title(case) .. ", case " .. number, function()
      near(case.init, marks(build(case, "float32"):parameters()), 1e-9)
      local net = build(case, "float64")
      local names = {}
      for name in net:named_parameters() do names[#names + 1] = name end
      for i, name in ipairs(case.names) do
        assert.equal(ours(name), names[i])
      end
      assert.equal(#case.names, #names)
      net:train(case.training)
      local leaves, args = {}, {}
      for i, x in ipairs(case.inputs) do args[i] = decode(x, leaves) end
      local call
      for key, value in pairs(case.call) do
        call = call or {}
        call[key] = decode(value, leaves)
      end
      args[#args + 1] = call
      st.manual_seed(case.seed + 1)
      local out, loss = flat(net(unpack(args))), 0
      assert.equal(#case.out_shapes, #out)
      for i, t in ipairs(out) do
        assert.same(case.out_shapes[i], t:size())
        if case.out then near(case.out[i], t:flatten():totable(), 1e-10) end
        loss = (t * wave(t.shape, 1)):sum() + loss
      end
      if case.out_marks then near(case.out_marks, marks(out), 1e-9) end
      loss:backward()
      near(case.grads, marks(leaves, gradient), 1e-9)
      near(case.param_grads, marks(net:parameters(), gradient), 1e-9)
    end)
  end
end)

teardown(function() assert.equal(before, live()) end)
