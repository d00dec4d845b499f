--- Recurrent cells and layers. The numbers are those of PyTorch 2.15 for the
-- same inputs, which are sines: wave(shape, k) is sin(k + 0.7 i).
-- axes: isa threads

local st = require "strided"
local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises
local ipairs = ipairs
local unpack = unpack or table.unpack

local F64 = {dtype = "float64"}

local function wave(shape, k)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return (st.arange(n, F64) * 0.7 + (k or 0)):sin():reshape(shape)
end

--- One number of a tensor.
local function mark(t) return (t * wave(t.shape, 1)):sum():item() end

local GATES = {gru = 3, lstm = 4, rnn_tanh = 1, rnn_relu = 1}

-- -- Cells -------------------------------------------------------------------

describe("A recurrent cell", function()
  -- with biases, and without
  local rows = {
    {"gru", {-0.295128982, 0.725069778, 0.823495178, -0.0383662345},
     {-0.0257942781, 0.811044474, 0.882277715, 0.197338232}},
    {"lstm", {0.0107279992, 0.255655173, 0.488873243, 0.115784802},
     {0.061079697, 0.100760619, 0.27210495, -0.0225673612}},
    {"rnn_tanh", {0.90923216, -0.998942885, 0.858265367, -0.965384587},
     {0.972625705, -0.977704589, 0.956442757, -0.45406776}},
    {"rnn_relu", {1.52307569, 0, 1.2867211, 0},
     {2.13875818, 0, 1.90240359, 0}},
  }
  local x, h, c = wave({2, 3}), wave({2, 2}, 0.5), wave({2, 2}, 0.8)

  for _, row in ipairs(rows) do
    it("gives PyTorch's numbers: " .. row[1], function()
      local n = 2 * GATES[row[1]]
      local cell, state = st[row[1] .. "_cell"], h
      if row[1] == "lstm" then state = {h, c} end
      local w, u = wave({n, 3}, 1), wave({n, 2}, 2)
      local b, d = wave({n}, 3), wave({n}, 4)
      near(row[2], cell(x, state, w, u, b, d):flatten():totable(), 1e-8)
      near(row[3], cell(x, state, w, u):flatten():totable(), 1e-8)
      local half = h:to "float16"
      if row[1] == "lstm" then
        half = {h:to "float16", c:to "float16"}
        local _, cy = cell(x, state, w, u, b, d)
        near({0.0127140035, 0.681187773, 0.732299591, 0.162066344},
             cy:flatten():totable(), 1e-8)
      end
      local y = cell(x:to "float16", half, w:to "float16", u:to "float16",
                     b:to "float16", d:to "float16")
      assert.equal("float16", y.dtype)
      near(row[2], y:flatten():totable(), 5e-3)
    end)
  end

  it("says what does not fit", function()
    local w, u = wave({6, 3}), wave({6, 2})
    raises("gru_cell: the input has 4 features, but w_ih, of shape [6, 3], " ..
           "takes 3", function() st.gru_cell(wave({2, 4}), h, w, u) end)
    raises("the batch size of input, of shape [3, 3], is not that of hx",
           function() st.gru_cell(wave({3, 3}), h, w, u) end)
    raises("input and hx must be matrices",
           function() st.gru_cell(wave({3}), h, w, u) end)
    raises("weight must have shape [6, 2], not [6, 3]",
           function() st.gru_cell(x, h, w, w) end)
    raises("bias must have 6 elements of dtype float64, it has shape [2]",
           function() st.gru_cell(x, h, w, u, nil, wave({2})) end)
    raises("the input is float64, but w_ih is float32",
           function() st.gru_cell(x, h, w:to "float32", u) end)
    raises("hx must be the list {h, c}, it has 1",
           function() st.lstm_cell(x, {h}, w, u) end)
  end)
end)

-- -- Layers ------------------------------------------------------------------

-- Name, layers, two directions, batch first, biases, packed, units of the
-- projection; marks of the results; of the gradients of input, states, weights.
local NETWORKS = {
  {"gru", 1, false, false, true, false, 0,
   {1.45646506, 0.902395037},
   {-0.948393084, 2.0798885, 0.278509886, 0.931877713, -2.28172849,
    -0.715671641}},
  {"gru", 2, true, true, true, false, 0,
   {0.513284189, 4.71933659},
   {-0.58642457, 0.846118977, 1.33853476, -1.12378087, 0.461495978,
    0.228635622, 0.864747897, 0.727173399, 0.627340898, 0.550460574, 1.22599991,
    -0.036627695, -1.25011584, -0.280865887, -0.642289216, 0.838835642,
    1.70728777, 0.571591048}},
  {"gru", 1, true, false, false, true, 0,
   {0.952937256, 0.18740488},
   {1.43176744, 3.03205943, -0.827184601, 1.50175602, 1.50836606, 1.70991279}},
  {"lstm", 1, false, false, true, false, 0,
   {0.959070311, 0.34499737, 0.361533361},
   {-0.575664511, 0.95158952, 0.219454808, -0.393875173, 0.699169125,
    -0.889945153, -0.889945153}},
  {"lstm", 2, true, true, true, false, 0,
   {0.456710984, 2.11304401, 5.07190322},
   {-1.73614365, -0.653178663, 2.12806247, 1.08175005, -0.372708907,
    0.875212137, 0.875212137, 1.75341168, 1.06861139, 1.73445601, 1.73445601,
    0.528572412, 0.20803316, 0.0553253911, 0.0553253911, -1.05213853,
    0.728652005, 1.18625934, 1.18625934}},
  {"lstm", 1, true, false, false, true, 0,
   {0.390816229, 0.197459096, 0.0990484075},
   {0.627131306, 0.490763585, 0.917192585, -0.687694701, 0.687374191,
    1.3265771, 0.854511622}},
  {"lstm", 2, true, false, true, true, 1,
   {-0.133592672, 1.36238118, 2.37557819},
   {0.427896069, 0.131192679, 2.85732581, 0.114094782, 0.106583838,
    -0.0627794983, -0.0627794983, -0.259979585, -1.00377577, 0.580646985,
    1.11570867, 1.11570867, -2.10145045, -0.477339749, 0.149954146, -1.02564064,
    -1.02564064, 0.997619383, -1.07012248, -0.58399376, 1.46725476, 1.46725476,
    0.306861526}},
  {"rnn_tanh", 1, false, false, true, false, 0,
   {-1.36711463, -1.96690852},
   {-0.838917185, 0.280319866, 0.105258873, -0.614778376, 0.782295741,
    0.782295741}},
  {"rnn_tanh", 2, true, true, true, false, 0,
   {0.882147024, -3.74319208},
   {-1.45802689, -1.1513925, 0.760415265, -0.349814338, -0.0618682023,
    -0.0618682023, -0.506948553, -0.323055133, -0.39372704, -0.39372704,
    -0.942200187, 0.328620842, 2.06365991, 2.06365991, -0.497480555, 4.80354847,
    -3.69995523, -3.69995523}},
  {"rnn_tanh", 1, true, false, false, true, 0,
   {1.01225376, 2.59581445},
   {-0.481343384, 0.569438942, 0.614463052, -1.13395598, -1.09368332,
    -1.54273771}},
  {"rnn_relu", 1, false, false, true, false, 0,
   {0.536960439, 0.145013351},
   {-1.38446692, 0.91967624, 0.723464055, -0.00651049317, 0.827308029,
    0.827308029}},
  {"rnn_relu", 2, true, true, true, false, 0,
   {1.63866907, -27.6135502},
   {-0.45823063, 0.591483326, -2.10572714, -2.46294456, -1.52006167,
    -1.52006167, 3.69471923, -13.7647072, -9.30798392, -9.30798392, -8.06559552,
    -0.52212959, 2.71557474, 2.71557474, -9.48269433, -3.9112776, -2.90018745,
    -2.90018745}},
  {"rnn_relu", 1, true, false, false, true, 0,
   {1.19107917, 2.96053856},
   {3.92329395, -1.56376476, 3.32938188, 3.74352523, -1.7552157, 4.05765501}},
}

--- The arguments of a network, and those that have a gradient.
local function network(row)
  local mode, layers, both, first, biased, packed, projection = unpack(row)
  local sides, gates = both and 2 or 1, GATES[mode]
  local out = projection > 0 and projection or 2
  local x = wave(packed and {5, 3} or first and {2, 3, 3} or {3, 2, 3})
  local states = {wave({layers * sides, 2, out}, 0.5)}
  if mode == "lstm" then states[2] = wave({layers * sides, 2, 2}, 0.8) end
  local params = {}
  local function add(...) params[#params + 1] = wave({...}, #params + 1) end
  for i = 1, layers * sides do
    add(gates * 2, i <= sides and 3 or out * sides)
    add(gates * 2, out)
    if biased then add(gates * 2) add(gates * 2) end
    if projection > 0 then add(out, 2) end
  end
  local leaves = {x}
  for _, t in ipairs(states) do leaves[#leaves + 1] = t end
  for _, t in ipairs(params) do leaves[#leaves + 1] = t end
  local hx = mode == "lstm" and states or states[1]
  if packed then
    return leaves, {x, st.tensor({2, 2, 1}, {dtype = "int64"}), hx, params,
                    biased, layers, 0, false, both}
  end
  return leaves, {x, hx, params, biased, layers, 0, false, both, first}
end

local function marks(list)
  local out = {}
  for i, t in ipairs(list) do out[i] = mark(t) end
  return out
end

describe("A recurrent network", function()
  local before
  setup(function() before = live() end)

  for i, row in ipairs(NETWORKS) do
    it("gives PyTorch's numbers, row " .. i .. ": " .. row[1], function()
      local _, args = network(row)
      near(row[8], marks {st[row[1]](unpack(args))}, 1e-7)
    end)

    it("gives PyTorch's gradients, row " .. i .. ": " .. row[1], function()
      local leaves, args = network(row)
      for _, t in ipairs(leaves) do t:requires_grad_() end
      local results, loss = {st[row[1]](unpack(args))}, 0
      for _, t in ipairs(results) do
        loss = (t * wave(t.shape, 1)):sum() + loss
      end
      near(row[9], marks {st.grad(loss, leaves, {retain_graph = true})}, 1e-6)
      near(row[9], marks {st.grad(loss, leaves, {create_graph = true})}, 1e-6)
    end)
  end

  it("has the same numbers with a gradient and without", function()
    local leaves, args = network(NETWORKS[2])
    local plain = st.gru(unpack(args))
    leaves[1]:requires_grad_()
    assert.is_true(plain:equal((st.gru(unpack(args)))))
  end)

  it("has the same numbers on any number of threads", function()
    local threads = st.get_num_threads()
    st.manual_seed(1)
    local x, h = st.randn(3, 300, 4), st.randn(1, 300, 32)
    local w = {st.randn(96, 4), st.randn(96, 32), st.randn(96), st.randn(96)}
    local function run(n)
      st.set_num_threads(n)
      return (st.gru(x, h, w, true, 1, 0, false, false, false))
    end
    local one = run(1)
    near(one, run(3), 1e-5)
    st.set_num_threads(threads)
  end)

  it("drops elements between its layers in training", function()
    local _, args = network {"gru", 2, false, false, true, false, 0}
    args[6], args[7] = 1, true
    local y = st.gru(unpack(args))
    args[1] = args[1] * 2 -- what reaches the second layer is zero
    assert.is_true(y:equal((st.gru(unpack(args)))))
    args[7] = false
    assert.is_false(y:equal((st.gru(unpack(args)))))
  end)

  it("knows shapes without elements", function()
    local _, args = network(NETWORKS[4])
    local function on_meta(v)
      if st.is_tensor(v) then return v:to "meta" end
      if type(v) ~= "table" then return v end
      local out = {}
      for i, t in ipairs(v) do out[i] = on_meta(t) end
      return out
    end
    for i, v in ipairs(args) do args[i] = on_meta(v) end
    local y, h, c = st.lstm(unpack(args))
    assert.same({3, 2, 2}, y:size())
    assert.same({1, 2, 2}, h:size())
    assert.same({1, 2, 2}, c:size())
  end)

  it("takes an empty batch, but no empty sequence", function()
    local w = {wave {6, 3}, wave {6, 2}}
    local y, h = st.gru(st.zeros({3, 0, 3}, F64), st.zeros({1, 0, 2}, F64), w,
                        false, 1, 0, false, false, false)
    assert.same({3, 0, 2}, y:size())
    assert.same({1, 0, 2}, h:size())
    raises("the number of steps in input, of shape [0, 2, 3]", function()
      st.gru(st.zeros({0, 2, 3}, F64), st.zeros({1, 2, 2}, F64), w, false, 1,
             0, false, false, false)
    end)
  end)

  it("says what does not fit", function()
    local function call(change)
      local _, args = network(NETWORKS[1])
      change(args)
      return function() st.gru(unpack(args)) end
    end
    raises("gru: hx must have shape (layers and directions, batch, units), " ..
           "here (1, 2, units), not [2, 2]",
           call(function(a) a[2] = wave {2, 2} end))
    raises("params must have 4 tensors, it has 3",
           call(function(a) a[3][4] = nil end))
    raises("params must have 2 tensors, it has 4",
           call(function(a) a[4] = false end))
    raises("num_layers must be positive, it is 0",
           call(function(a) a[5] = 0 end))
    raises("input must have three dimensions, its shape is [2, 3]",
           call(function(a) a[1] = wave {2, 3} end))
    raises("the input has 4 features, but w_ih, of shape [6, 3], takes 3",
           call(function(a) a[1] = wave {3, 2, 4} end))
    raises("w_hh must be a matrix, its shape is [6]",
           call(function(a) a[3][2] = wave {6} end))
    local function packed(sizes)
      local _, args = network(NETWORKS[3])
      args[2] = st.tensor(sizes, {dtype = "int64"})
      return function() st.gru(unpack(args)) end
    end
    raises("batch_sizes must begin with the batch size 2 of the hidden state",
           packed {1, 1, 3})
    raises("number 2 is 3", packed {2, 3})
    raises("the sum of batch_sizes is 4, but data has 5 rows", packed {2, 2})
    raises("number 2 is -1", packed {2, -1})
  end)

  it("saves nothing without keep", function()
    local x, w, aten = wave {2, 3}, wave {3, 3}, st.ops.aten
    local out, h, c, saved = aten._rnn_layer(x, x, nil, w, nil, 2, {2}, false,
                                             false)
    assert.same({0, 0}, saved.shape)
    raises("saved must be what _rnn_layer returns if keep is true",
           aten._rnn_layer_backward, out, h, c, x, x, nil, w, nil, 2, {2},
           false, saved)
  end)

  it("leaves no tensor behind", function()
    assert.equal(before, live())
  end)
end)
