--- Functions of torch.nn.functional in Lua: attention of several heads, and
-- triplet_margin_with_distance_loss. The numbers are those of PyTorch 2.15 for
-- the same inputs, which are sines: wave(shape, k) is sin(k + 0.7 i).
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local f64, live, near, raises = tensors.f64, tensors.live, tensors.near,
  tensors.raises
local ipairs = ipairs

local F64 = {dtype = "float64"}

local function wave(shape, k)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return (st.arange(n, F64) * 0.7 + (k or 0)):sin():reshape(shape)
end

local function mark(t) return (t * wave(t.shape, 1)):sum():item() end

local function mask(list)
  return st.tensor(list, {dtype = "int64"}):to "bool"
end

-- -- Attention ---------------------------------------------------------------

local CAUSAL = mask {{0, 1, 1}, {0, 0, 1}, {0, 0, 0}}
local PADDING = mask {{0, 0, 1}, {0, 1, 0}}

--- Options, and marks of the output and of the weights. `other`: key and value
-- are not query; `one`: no batch; `more`: bias_k, bias_v and a key of zeros.
local ROWS = {
  {{}, -1.7408582, 0.100256639},
  {{attn_mask = mask {{0, 1, 0}, {0, 0, 1}, {0, 0, 0}}}, -1.83751839,
   0.436230901},
  {{attn_mask = wave({4, 3, 3}, 0.2), key_padding_mask = PADDING},
   -1.95817689, 0.275104305},
  {{attn_mask = wave({3, 3}, 0.2), key_padding_mask = wave({3}, 0.4)},
   1.34937557, 0.225207401, one = true},
  {{attn_mask = mask {{0, 1, 0}, {0, 0, 1}, {0, 0, 0}},
    key_padding_mask = PADDING}, -0.0352195898, -0.173932969, other = true,
   more = true},
  {{use_separate_proj_weight = true, q_proj_weight = wave({4, 4}, 1.5),
    k_proj_weight = wave({4, 3}, 2.5), v_proj_weight = wave({4, 3}, 3.5),
    average_attn_weights = false}, -2.55224311, -0.272430682, other = true},
  {{attn_mask = CAUSAL, is_causal = true}, -0.903113479, 0.624254172},
  {{attn_mask = CAUSAL, is_causal = true, key_padding_mask = PADDING},
   -1.40966504, 0.573439805},
  {{static_k = wave({4, 3, 2}, 0.7), static_v = wave({4, 3, 2}, 0.9)},
   0.268228594, -0.185153561},
}

local function attend(row, options)
  local separate = options.use_separate_proj_weight
  local function input(k, n)
    return wave(row.one and {3, n} or {3, 2, n}, k)
  end
  local q = input(0, 4)
  local k, v = q, q
  if row.other then
    local n = separate and 3 or 4
    k, v = input(0.3, n), input(0.6, n)
  end
  return st.multi_head_attention_forward(
    q, k, v, 4, 2, not separate and wave({12, 4}, 1) or nil, wave({12}, 2),
    row.more and wave({1, 1, 4}, 3) or nil,
    row.more and wave({1, 1, 4}, 4) or nil, row.more or false, 0,
    wave({4, 4}, 5), wave({4}, 6), options)
end

describe("multi_head_attention_forward", function()
  local before
  setup(function() before = live() end)

  for i, row in ipairs(ROWS) do
    it("gives PyTorch's numbers, row " .. i, function()
      local out, weights = attend(row, row[1])
      near(row[2], mark(out), 1e-7)
      near(row[3], mark(weights), 1e-7)
      local options = {need_weights = false}
      for key, value in pairs(row[1]) do options[key] = value end
      local same, none = attend(row, options)
      near(row[2], mark(same), 1e-7)
      assert.is_nil(none)
    end)
  end

  it("has gradients", function()
    local q, w = wave({2, 4}):requires_grad_(), wave({12, 4})
    local function f(x, weight)
      return (st.multi_head_attention_forward(x, x, x, 4, 2, weight, nil, nil,
                                              nil, true, 0, wave {4, 4}))
    end
    assert.is_true(st.gradcheck(f, {q, w:requires_grad_()}))
  end)

  it("drops weights in training only", function()
    local q = wave {3, 2, 4}
    local function weights(training)
      local _, w = st.multi_head_attention_forward(
        q, q, q, 4, 2, wave {12, 4}, nil, nil, nil, false, 1, wave {4, 4}, nil,
        {training = training})
      return w:sum():item()
    end
    assert.equal(0, weights(true))
    near(6, weights(false))
  end)

  it("says what does not fit", function()
    local rows = {
      {"query of shape {3, 2, 4} must have 5 features", embed = 5},
      {"4 features cannot be shared among 3 heads", heads = 3},
      {"attn_mask must have shape {3, 3}, not {2, 3}",
       {attn_mask = wave {2, 3}}},
      {"attn_mask must have shape {4, 3, 3}, not {2, 3, 3}",
       {attn_mask = wave {2, 3, 3}}},
      {"key_padding_mask must have shape {2, 3}, not {3, 2}",
       {key_padding_mask = wave {3, 2}}},
      {"attn_mask must be of dtype bool or floating point, not int64",
       {attn_mask = st.ones({3, 3}, {dtype = "int64"})}},
      {"is_causal needs attn_mask", {is_causal = true}},
      {"static_k must have shape {4, steps, 2}, not {3}",
       {static_k = wave {3}}},
      {"argument 'q_proj_weight' must be a Tensor, got nil",
       {use_separate_proj_weight = true}},
      {"there is no option 'attn_masks': did you mean attn_mask?",
       {attn_masks = wave {3, 3}}},
    }
    local q = wave {3, 2, 4}
    for _, row in ipairs(rows) do
      raises(row[1], function()
        st.multi_head_attention_forward(
          q, q, q, row.embed or 4, row.heads or 2, wave {12, 4}, nil, nil, nil,
          false, 0, wave {4, 4}, nil, row[2])
      end)
    end
    raises("bias_k and bias_v belong together", function()
      st.multi_head_attention_forward(q, q, q, 4, 2, wave {12, 4}, nil,
                                      wave {1, 1, 4}, nil, false, 0,
                                      wave {4, 4})
    end)
  end)

  it("names the argument that is wrong", function()
    local q, none = wave {3, 2, 4}, {}
    local function call(change)
      local a = {q, q, q, 4, 2, wave {12, 4}, none, none, none, false, 0,
                 wave {4, 4}}
      for i, v in pairs(change) do a[i] = v end
      for i, v in pairs(a) do if v == none then a[i] = nil end end
      return st.multi_head_attention_forward(a[1], a[2], a[3], a[4], a[5],
        a[6], a[7], a[8], a[9], a[10], a[11], a[12])
    end
    raises("'num_heads' must be a positive integer, got x", call, {[5] = "x"})
    raises("'num_heads' must be a positive integer, got -2", call, {[5] = -2})
    raises("'bias_k' must be a Tensor, got number", call, {[8] = 1, [9] = 1})
    raises("key shape {3, 2, 4} does not match value shape {5, 2, 4}", call,
           {[3] = wave {5, 2, 4}})
  end)

  it("works on Meta", function()
    local function meta(...) return st.empty({...}, {device = "meta"}) end
    local q = meta(3, 2, 4)
    local out = st.multi_head_attention_forward(
      q, q, q, 4, 2, meta(12, 4), nil, nil, nil, true, 0, meta(4, 4), nil,
      {attn_mask = st.ones({3, 3}, {dtype = "bool", device = "meta"})})
    assert.equal("meta", out.device)
  end)

  it("leaves no tensor behind", function()
    assert.equal(before, live())
  end)
end)

-- -- Losses ------------------------------------------------------------------

describe("triplet_margin_with_distance_loss", function()
  local a, p = f64 {{1, 2}, {3, -1}}, f64 {{1.5, 2}, {0, -1}}
  local n = f64 {{0, 2.5}, {2, 1}}
  local function manhattan(x, y) return (x - y):abs():sum(-1) end
  local loss = st.triplet_margin_with_distance_loss

  it("gives PyTorch's numbers", function()
    near(1.0729490168751372, loss(a, p, n):item(), 1e-12)
    near({1, 2}, loss(a, p, n, {distance_function = manhattan, margin = 2,
                                swap = true, reduction = "none"}))
    near(1, loss(a, p, n, {distance_function = manhattan,
                           reduction = "sum"}):item())
  end)

  it("is triplet_margin_loss by its distance", function()
    near(st.triplet_margin_loss(a, p, n):item(), loss(a, p, n):item(), 1e-12)
  end)

  it("says what does not fit", function()
    raises("option 'margin' must be positive, it is 0",
           function() loss(a, p, n, {margin = 0}) end)
    raises("option 'reduction' must be", function()
      loss(a, p, n, {reduction = "max"})
    end)
    raises("must have as many dimensions, their shapes are {2, 2}, {2} and",
           function() loss(a, f64 {1, 2}, n) end)
    raises("argument 'negative' must be a Tensor, got nil",
           function() loss(a, p) end)
    raises("'distance_function' must be a function, got number", loss, a, p, n,
           {distance_function = 5})
    raises("'distance_function' must return a Tensor, got nil", loss, a, p, n,
           {distance_function = function() end})
  end)
end)
