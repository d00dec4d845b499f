--- Recurrent layers, attention and transformers: initial values, outputs and
-- gradients of PyTorch 2.15, from spec/vectors/nn_sequences.py.
-- axes: lua

local st = require "strided"
local nn = require "strided.nn"

local reader = require "spec.conformance.reader"
local tensors = require "spec.support.tensors"

local live, near, raises_here = tensors.live, tensors.near, tensors.raises_here
local ipairs, max, pairs, select, tostring, type = ipairs, math.max, pairs,
  select, tostring, type
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

-- -- Sequences of different lengths ------------------------------------------

describe("A packed sequence", function()
  local rnn = nn.utils.rnn
  local a, b, c

  setup(function()
    a, b, c = st.tensor {1, 2, 3}, st.tensor {4, 5}, st.tensor {6}
  end)

  teardown(function() a, b, c = nil, nil, nil end)

  it("has the first steps, then the second, the longest sequence first",
     function()
    local p = rnn.pack_sequence {a, b, c}
    assert.same({1, 4, 6, 2, 5, 3}, p.data:totable())
    assert.same({3, 2, 1}, tensors.lists(p.batch_sizes))
    assert.is_nil(p.sorted_indices)
    p = rnn.pack_sequence({c, a, b}, {enforce_sorted = false})
    assert.same({1, 4, 6, 2, 5, 3}, p.data:totable())
    assert.same({2, 3, 1}, tensors.lists(p.sorted_indices))
    assert.same({3, 1, 2}, tensors.lists(p.unsorted_indices))
  end)

  it("becomes a batch and a list again", function()
    local p = rnn.pack_sequence({c, a, b}, {enforce_sorted = false})
    local padded, lengths = rnn.pad_packed_sequence(p, {
      batch_first = true, padding_value = -1, total_length = 4})
    assert.same({{6, -1, -1, -1}, {1, 2, 3, -1}, {4, 5, -1, -1}},
                padded:totable())
    assert.same({1, 3, 2}, tensors.lists(lengths))
    local list = rnn.unpack_sequence(p)
    assert.same({{6}, {1, 2, 3}, {4, 5}}, {
      list[1]:totable(), list[2]:totable(), list[3]:totable()})
  end)

  it("is padded on either side", function()
    assert.same({{1, 4}, {2, 5}, {3, 0}}, rnn.pad_sequence{a, b}:totable())
    assert.same({{1, 2, 3}, {9, 4, 5}}, rnn.pad_sequence({a, b}, {
      batch_first = true, padding_side = "left", padding_value = 9}):totable())
    local list = rnn.unpad_sequence(rnn.pad_sequence {a, b}, {3, 2})
    assert.same({4, 5}, list[2]:totable())
  end)

  it("passes gradients", function()
    local x = wave({3, 4, 2}):requires_grad_()
    assert.is_true(st.gradcheck(function(t)
      local p = rnn.pack_padded_sequence(
        t, {2, 4, 1}, {batch_first = true, enforce_sorted = false})
      return p.data, (rnn.pad_packed_sequence(p))
    end, x))
  end)

  it("says what is wrong", function()
    local x = st.zeros(3, 2)
    raises_here("lengths[2] must be from 1 to the 3 steps",
                rnn.pack_padded_sequence, x, {3, 4})
    raises_here("the lengths must decrease", rnn.pack_padded_sequence, x,
                {2, 3})
    raises_here("3 lengths do not match a batch of 2",
                rnn.pack_padded_sequence, x, {3, 2, 1})
    raises_here("must be a packed sequence, got Tensor",
                rnn.pad_packed_sequence, x)
    raises_here("number 2 is of shape {2, 2}", rnn.pad_sequence,
                {a, st.zeros(2, 2)})
    raises_here("must be at least the 3 steps", rnn.pad_packed_sequence,
                rnn.pack_sequence {a, b}, {total_length = 2})
  end)
end)

-- -- Attention ---------------------------------------------------------------

describe("Attention in blocks", function()
  local blocks = require "strided.nn.attention_blocks"

  --- {N, steps, features} by head.
  local function heads(t) return t:unflatten(3, {4, -1}):transpose(2, 3) end

  --- Unlike the blocks, the operator has a matrix of all scores.
  local function operator(x, mask, causal)
    local l = x:chunk(3, 3)
    return st.scaled_dot_product_attention(
      heads(l[1]), heads(l[2]), heads(l[3]), mask, 0, causal or false)
      :transpose(2, 3):flatten(3, 4)
  end

  local function both(o, x, mask)
    local y = blocks.attend(o, x)
    assert.is_truthy(o.scale)
    return y, operator(x, mask, o.causal ~= nil)
  end

  it("equals the operator, with all masks", function()
    for _, how in ipairs {{}, {causal = 0}, {bias = wave {1, 4, 150, 150}},
                          {bias = wave {2, 1, 1, 150}}} do
      local x = wave({2, 150, 24}):requires_grad_()
      how.heads, how.dropout = 4, 0
      local y, want = both(how, x, how.bias)
      near(want, y, 1e-12)
      local g = wave(y.shape, 2)
      local got = st.grad({y}, {x}, {grad_outputs = {g}})
      near(st.grad({want}, {x}, {grad_outputs = {g}}), got, 1e-12)
    end
  end)

  it("has derivatives of gradients", function()
    local function twice(fn)
      local x = wave({1, 190, 12}):requires_grad_()
      local g = st.grad({(fn(x) * wave {1, 190, 4}):sum()}, {x},
                        {create_graph = true})
      return (st.grad({g:square():sum()}, {x}))
    end
    for _, how in ipairs {{}, {causal = 0}, {bias = wave {1, 1, 1, 190}}} do
      local is_causal = how.causal ~= nil
      near(twice(function(x) return operator(x, how.bias, is_causal) end),
           twice(function(x)
             return (blocks.attend({heads = 4, dropout = 0, bias = how.bias,
                                    causal = how.causal}, x))
           end), 1e-11)
    end
  end)

  it("leaves a query without keys to the operator", function()
    local mask = st.zeros({1, 1, 200, 200}, F64)
    mask[{1, 1, 7}]:fill_(-math.huge)
    local x = wave {2, 200, 12}
    local o = {heads = 4, dropout = 0, bias = mask}
    local y = blocks.attend(o, x)
    assert.is_nil(o.scale)
    assert.equal(0, y[{1, 7}]:abs():max():item())
  end)
end)

describe("MultiheadAttention", function()
  local x

  setup(function() x = wave {2, 5, 8} end)

  teardown(function() x = nil end)

  it("gives the same without the weights", function()
    local net = nn.MultiheadAttention(8, 2, F64)
    local y, w = net(x, x, x)
    assert.same({5, 2, 2}, w:size())
    local z, none = net(x, x, x, {need_weights = false})
    near(y, z)
    assert.is_nil(none)
  end)

  it("works on meta tensors", function()
    local net = nn.MultiheadAttention(8, 2, {device = "meta"})
    local t = st.empty({300, 9, 8}, {device = "meta"})
    assert.same({300, 9, 8}, net(t, t, t, {need_weights = false}):size())
  end)

  it("says what is wrong", function()
    local net = nn.MultiheadAttention(8, 2, F64)
    raises_here("embed_dim, 8, must be a multiple of num_heads, 3",
                nn.MultiheadAttention, 8, 3)
    raises_here("key must have 8 features, it has shape {2, 5, 7}", net, x,
                wave {2, 5, 7}, x)
    raises_here("'is_causal' needs attn_mask", net, x, x, x,
                {is_causal = true})
    raises_here("attn_mask must have shape {2, 2} or {10, 2, 2}",
                nn.MultiheadAttention(8, 2, F64), x, x, x,
                {need_weights = false, attn_mask = st.zeros(3, 3, F64)})
  end)
end)

-- -- Caches ------------------------------------------------------------------

describe("A cache", function()
  local F = {dtype = "float64", dim_feedforward = 10, batch_first = true}
  local mask, x, memory

  setup(function()
    mask = nn.Transformer.generate_square_subsequent_mask(9, F64)
    x, memory = wave {2, 9, 8}, wave({2, 4, 8}, 1)
  end)

  teardown(function() mask, x, memory = nil, nil, nil end)

  --- The outputs of net(tokens, options) for each token of x, by a cache.
  local function decoded(net, fn, batch_first)
    local cache, d, out = net:new_cache(), batch_first and 2 or 1, {}
    local t = batch_first and x or x:transpose(1, 2)
    for i = 1, 9 do out[i] = fn(t:narrow(d, i, 1), {cache = cache}) end
    assert.equal(9, cache.length)
    return st.cat(out, d)
  end

  for _, batch_first in ipairs {true, false} do
    local o = {dtype = "float64", dim_feedforward = 10,
               batch_first = batch_first, num_encoder_layers = 2,
               num_decoder_layers = 2}
    local each = {dtype = "float64", dim_feedforward = 10,
                  batch_first = batch_first}
    local function turned(t) return batch_first and t or t:transpose(1, 2) end

    it("gives the outputs of all tokens at once, batch_first = "
       .. tostring(batch_first), function()
      st.no_grad(function()
        local net = nn.TransformerEncoder(
          nn.TransformerEncoderLayer(8, 2, each), 2):eval()
        near(net(turned(x), {mask = mask}), decoded(net, net, batch_first))
        net = nn.TransformerDecoder(
          nn.TransformerDecoderLayer(8, 2, each), 2):eval()
        near(net(turned(x), turned(memory), {tgt_mask = mask}),
             decoded(net, function(t, call)
               return net(t, turned(memory), call)
             end, batch_first))
        net = nn.Transformer(8, 2, o):eval()
        near(net(turned(memory), turned(x), {tgt_mask = mask}),
             decoded(net, function(t, call)
               return net(turned(memory), t, call)
             end, batch_first))
      end)
    end)
  end

  it("takes several tokens, and goes back", function()
    st.no_grad(function()
      local net = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, F), 2):eval()
      local want, cache = net(x, {mask = mask}), net:new_cache()
      near(want:narrow(2, 1, 4), net(x:narrow(2, 1, 4), {cache = cache}))
      near(want:narrow(2, 5, 5), net(x:narrow(2, 5, 5), {cache = cache}))
      cache:truncate(3)
      near(want:narrow(2, 4, 6), net(x:narrow(2, 4, 6), {cache = cache}))
      cache:truncate(8)
      cache:reorder(st.tensor({2, 1}, {dtype = "int64"}))
      near(want:narrow(2, 9, 1):flip {1},
           net(x:narrow(2, 9, 1):flip {1}, {cache = cache}))
    end)
  end)

  it("grows", function()
    st.no_grad(function()
      local net = nn.TransformerEncoderLayer(8, 2, F):eval()
      local tokens, cache, out = wave {2, 70, 8}, net:new_cache(), {}
      for i = 1, 70 do
        out[i] = net(tokens:narrow(2, i, 1), {cache = cache})
      end
      local causal = nn.Transformer.generate_square_subsequent_mask(70, F64)
      near(net(tokens, {src_mask = causal}), st.cat(out, 2))
    end)
  end)

  it("outlives the scopes of its calls", function()
    st.no_grad(function()
      local net = nn.Transformer(8, 2, {
        dtype = "float64", dim_feedforward = 10, batch_first = true,
        num_encoder_layers = 1, num_decoder_layers = 1}):eval()
      local plain, scoped = net:new_cache(), net:new_cache()
      for i = 1, 9 do
        local token = x:narrow(2, i, 1)
        local want = net(memory, token, {cache = plain})
        near(want, st.scope(st.scope, net, memory, token, {cache = scoped}))
        if i == 4 then
          local order = st.tensor({2, 1}, {dtype = "int64"})
          plain:reorder(order)
          st.scope(scoped.reorder, scoped, order)
        end
      end
      assert.equal(9, scoped.length)
    end)
  end)

  it("keeps what the encoder returns", function()
    st.no_grad(function()
      local net, calls = nn.Transformer(8, 2, {
        dtype = "float64", dim_feedforward = 10, batch_first = true,
        num_encoder_layers = 1, num_decoder_layers = 1}):eval(), 0
      function net.encoder.forward(_, src)
        calls = calls + 1
        return src
      end
      local cache = net:new_cache()
      for i = 1, 3 do net(memory, x:narrow(2, i, 1), {cache = cache}) end
      assert.equal(1, calls)
      cache:truncate(0)
      net(memory, x:narrow(2, 1, 1), {cache = cache})
      assert.equal(2, calls)
    end)
  end)

  it("needs no gradients, and no weights", function()
    local net = nn.TransformerEncoderLayer(8, 2, F)
    raises_here("a cache has no gradients", net, x, {cache = net:new_cache()})
    raises_here("must be what new_cache returns, got table", net, x,
                {cache = {}})
    local attention = nn.MultiheadAttention(8, 2, F64):requires_grad_(false)
    raises_here("needs the option need_weights = false", attention, x, x, x,
                {cache = attention:new_cache()})
  end)
end)

-- -- Misuse ------------------------------------------------------------------

describe("A sequence layer", function()
  it("says what is wrong", function()
    local net = nn.LSTM(3, 4)
    raises_here("the input must have 3 features, got shape {5, 2, 4}", net,
                st.zeros(5, 2, 4))
    raises_here("the initial state must be {h, c}, got shape {1, 2, 4}", net,
                st.zeros(5, 2, 3), st.zeros(1, 2, 4))
    raises_here("GRU: the initial state must have shape {1, 2, 4}, got shape "
                .. "{1, 3, 4}", nn.GRU(3, 4), st.zeros(5, 2, 3),
                st.zeros(1, 3, 4))
    raises_here("'proj_size' must be smaller than hidden_size, 4", nn.LSTM, 3,
                4, {proj_size = 4})
    raises_here("GRU: there is no option 'proj_size'", nn.GRU, 3, 4,
                {proj_size = 2})
    raises_here("'nonlinearity' must be", nn.RNN, 3, 4, {nonlinearity = "elu"})
    raises_here("'num_layers' must be an integer from 1, got 0", nn.RNN, 3, 4,
                {num_layers = 0})
    raises_here("LSTMCell: the state must be {h, c}", nn.LSTMCell(3, 4),
                st.zeros(2, 3), st.zeros(2, 4))
    raises_here("must be a layer, got nil", nn.TransformerEncoder)
    raises_here("'activation' must be", nn.TransformerEncoderLayer, 8, 2,
                {activation = "elu"})
  end)

  it("prints its options", function()
    local net = nn.LSTM(3, 4, {num_layers = 2, bidirectional = true})
    assert.equal("3, 4, num_layers = 2, bidirectional = true",
                 net:extra_repr())
    assert.equal('3, 4, nonlinearity = "relu"',
                 nn.RNNCell(3, 4, {nonlinearity = "relu"}):extra_repr())
  end)

  it("has a subclass", function()
    local Mine = nn.GRU:extend "Mine"
    assert.same({5, 2, 4}, Mine(3, 4)(st.zeros(5, 2, 3)):size())
  end)
end)

teardown(function() assert.equal(before, live()) end)
