--- What spec/project/example_rock_spec.lua runs in a process of its own: what
-- is written in Lua, on the device "example". Layers, distributions,
-- divergences, optimizers and the rest below give what they give on the CPU,
-- and on the device. Prints counts.

local st = require "strided"

local reader = require "spec.conformance.reader"

local load = loadstring or load -- luacheck: ignore
local unpack = unpack or table.unpack
local D = st.distributions

require "strided_example"
st.warnings(false)
st.set_default_dtype "float64"

local STEP = tonumber(arg[1]) or 1
local DEVICE = "example"

local counts = {cases = 0, tensors = 0, different = 0}

-- -- Comparing ---------------------------------------------------------------

local function report(name, ...)
  counts.different = counts.different + 1
  print(name .. ": " .. string.format(...))
end

local compare

local function compare_tensors(name, a, b)
  counts.tensors = counts.tensors + 1
  if b.device ~= DEVICE then report(name, "it is on %s", b.device) end
  a, b = a:detach(), b:detach():to "cpu"
  if a.dtype ~= b.dtype or tostring(a.shape) ~= tostring(b.shape) then
    report(name, "%s, on the device %s", tostring(a), tostring(b))
  elseif a:is_floating_point() or a:is_complex() then
    if not a:allclose(b, {rtol = 1e-5, atol = 1e-7, equal_nan = true}) then
      report(name, "%s, on the device %s", tostring(a), tostring(b))
    end
  elseif not a:equal(b) then
    report(name, "%s, on the device %s", tostring(a), tostring(b))
  end
end

--- a is of the CPU, b of the device.
function compare(name, a, b)
  if st.is_tensor(a) and st.is_tensor(b) then
    compare_tensors(name, a, b)
  elseif type(a) == "table" and type(b) == "table" then
    for k, v in pairs(a) do compare(name .. "." .. tostring(k), v, b[k]) end
  elseif type(a) == "number" and type(b) == "number" then
    if a ~= b and math.abs(a - b) > 1e-6 * math.max(1, math.abs(a)) then
      report(name, "%g, on the device %g", a, b)
    end
  elseif type(a) ~= "function" and a ~= b then
    report(name, "%s, on the device %s", tostring(a), tostring(b))
  end
end

--- The tensors in x on the device, in place, but for what `stays` says.
local function move(x, stays, seen)
  seen = seen or {}
  if st.is_tensor(x) then return x:detach():to(DEVICE) end
  if type(x) ~= "table" or seen[x] then return x end
  seen[x] = true
  local found = {}
  for k, v in next, x do found[k] = v end
  for k, v in next, found do
    if not (stays and stays[k]) then rawset(x, k, move(v, stays, seen)) end
  end
  return x
end

--- Calls fn(here) for the CPU and for the device, where here(t) is t or t on
-- the device, and compares the results.
local function check(name, fn)
  if os.getenv "WALK_SHOW" then io.stderr:write(name, "\n") end
  counts.cases = counts.cases + 1
  st.manual_seed(3)
  local ok, a = pcall(fn, function(x) return x end)
  st.manual_seed(3)
  local works, b = pcall(fn, move)
  if ok and works then return compare(name, a, b) end
  if ok ~= works or not ok then
    report(name, "%s, on the device: %s", ok and "works" or tostring(a),
           works and "works" or tostring(b))
  end
end

-- -- Layers ------------------------------------------------------------------

local function evaluate(text)
  return load("local nn, W = ... return " .. text)(
    st.nn, st.tensor {0.5, 1, 2, 1.5})
end

local function input_of(record)
  local values, sizes = {}, {}
  for d, n in ipairs(record.shape) do sizes[d] = reader.integer(n) end
  local is_index = record.kind == "i" or record.kind == "n"
  for i, v in ipairs(record.values) do
    values[i] = is_index and reader.integer(v + (record.kind == "i" and 1 or 0))
                or v
  end
  return st.tensor(values, {dtype = is_index and "int64" or "float64"})
    :reshape(sizes)
end

--- What a layer gives, and the gradients of the inputs and parameters.
local function run_layer(case, here)
  local module = evaluate(case.lua):double()
  local inputs, leaves, results = {}, {}, {}
  if here == move then module:to(DEVICE) end
  if case.options.eval then module:eval() end
  for i, record in ipairs(case.inputs) do
    inputs[i] = here(input_of(record))
    if record.kind == "f" then leaves[#leaves + 1] = inputs[i] end
  end
  for _, t in ipairs(leaves) do t:requires_grad_() end
  if case.options.lua_args then
    inputs[#inputs + 1] = here(evaluate(case.options.lua_args))
  end
  for name, p in module:named_parameters() do
    leaves[#leaves + 1] = p
    assert(p.device == inputs[1].device, name)
  end
  st.manual_seed(3)
  local total
  local function add(x)
    if type(x) == "table" then for _, v in ipairs(x) do add(v) end end
    if not st.is_tensor(x) then return end
    results[#results + 1] = x
    if x.requires_grad then total = total and total + x:sum() or x:sum() end
  end
  add {module(unpack(inputs))}
  if total then total:backward() end
  for _, t in ipairs(leaves) do results[#results + 1] = t.grad end
  for _, t in module:named_buffers() do results[#results + 1] = t end
  return results
end

local number = 0
for case in reader.cases "spec/data/nn_layers.jsonl.gz" do
  number = number + 1
  if case.lua and number % STEP == 0 then
    check(number .. ", " .. case.lua, function(here)
      return run_layer(case, here)
    end)
  end
end

-- -- Distributions -----------------------------------------------------------

local STAYS = {class = true, parent = true, meta = true}

local function distribution(text, here)
  local d = load("local D, T = ... return " .. text)(D, D.transforms)
  return here == move and move(d, STAYS) or d
end

local function try(out, name, ...)
  local ok, value = pcall(...)
  out[name] = ok and value or nil
  if not ok then -- where the CPU cannot either
    out[name .. " fails"] = tostring(value):gsub("^.-:%d+: ", "")
  end
end

for i, row in ipairs(require "spec.strided.distributions.expected") do
  if i % STEP == 0 then
    check(row[1], function(here)
      local d, out = distribution(row[1], here), {}
      local x = row[2].x and here(st.tensor(row[2].x))
      for _, name in ipairs {"mean", "variance", "mode"} do
        try(out, name, function() return d[name] end)
      end
      for _, name in ipairs {"log_prob", "cdf"} do
        if x then try(out, name, d[name], d, x) end
      end
      for _, name in ipairs {"entropy", "enumerate_support", "sample",
                             "rsample", "perplexity"} do
        if type(d[name]) == "function" then try(out, name, d[name], d) end
      end
      try(out, "icdf", d.icdf, d, 0.3)
      try(out, "samples", d.sample, d, {2})
      try(out, "expanded", function()
        local wide = d:expand {3, d.batch[1] or 1}
        return wide:log_prob(wide:sample {2})
      end)
      return out
    end)
  end
end

for i, row in ipairs(require "spec.strided.distributions.divergences") do
  if i % (5 * STEP) == 0 then
    check("kl of " .. row[1] .. " and " .. row[2], function(here)
      return {D.kl_divergence(distribution("D." .. row[1], here),
                              distribution("D." .. row[2], here))}
    end)
  end
end

-- -- Optimizers --------------------------------------------------------------

for _, row in ipairs {
  {"SGD", {momentum = 0.9, lr = 0.1}}, {"Adam", {amsgrad = true}},
  {"AdamW", {lr = 0.1}}, {"NAdam", {lr = 0.1}}, {"RAdam", {lr = 0.1}},
  {"RMSprop", {centered = true, momentum = 0.5}}, {"Adagrad", {lr = 0.1}},
  {"Adadelta", {}}, {"Adamax", {lr = 0.1}}, {"ASGD", {lr = 0.1, t0 = 1}},
  {"Rprop", {lr = 0.1}}, {"Muon", {lr = 0.1}}, {"Adafactor", {lr = 0.1}},
  {"LBFGS", {lr = 0.1}}, {"LBFGS", {line_search_fn = "strong_wolfe"}},
} do
  check(row[1], function(here)
    local p = here(st.arange(1, 13):double():view(4, 3) * 0.3 - 2)
      :requires_grad_()
    local function steps(optimizer, n)
      for _ = 1, n do
        optimizer:step(function()
          optimizer:zero_grad()
          local loss = (p * p):sum() + p:sin():sum()
          loss:backward()
          return loss
        end)
      end
    end
    local first = st.optim[row[1]]({p}, row[2])
    steps(first, 3)
    local saved = {} -- tensors of a file are on the CPU
    for key, t in pairs(first:state_dict()) do saved[key] = t:to "cpu" end
    local second = st.optim[row[1]]({p}, row[2])
    second:load_state_dict(saved)
    steps(second, 2)
    return {p}
  end)
end

-- -- The rest ----------------------------------------------------------------

local function matrix() return st.arange(1, 26):double():view(5, 5):sin() end

local REST = {
  gradcheck = function(here)
    local x = here(matrix()):requires_grad_()
    return {st.gradcheck(function(t) return t:exp():sum(1), t * t end, x),
            st.gradcheck(st.tanh, x, {fast = true}),
            st.gradgradcheck(st.tanh, x, {fast = true})}
  end,
  ["gradcheck of complex numbers"] = function(here)
    local x = here(st.complex(matrix(), matrix())):requires_grad_()
    return {st.gradcheck(function(t) return t * t:conj() end, x)}
  end,
  lobpcg = function(here)
    local a = here(matrix():matmul(matrix():t()) + 5 * st.eye(5))
    local e, x = st.lobpcg(a, 1, {X = here(matrix():narrow(2, 1, 1))})
    local drawn = st.lobpcg(a, 1)
    return {e, x:abs(), drawn}
  end,
  jacobian = function(here)
    local x = here(matrix():select(1, 1))
    return {st.autograd.jacobian(st.exp, x),
            st.autograd.hessian(function(t) return (t * t * t):sum() end, x)}
  end,
  ["packed sequences"] = function(here)
    local rnn = st.nn.utils.rnn
    local x = here(st.arange(24):double():view(4, 3, 2))
    local packed = rnn.pack_padded_sequence(x, {2, 4, 1},
                                            {enforce_sorted = false})
    local moved = here == move and rnn.pack_padded_sequence(
      x:to "cpu", {2, 4, 1}, {enforce_sorted = false}):to(DEVICE) or packed
    local gru = st.nn.GRU(2, 3)
    for _, p in gru:named_parameters() do p.data:fill_(0.25) end
    if here == move then gru:to(DEVICE) end
    local out, h = gru(packed)
    return {packed.data, packed.sorted_indices, moved.data,
            moved.unsorted_indices, (rnn.pad_packed_sequence(packed)),
            rnn.unpack_sequence(packed), out.data, h,
            rnn.pad_sequence {x:select(2, 1), x:select(2, 2):narrow(1, 1, 2)}}
  end,
  ["initial values"] = function(here)
    local out = {}
    for _, name in ipairs {"uniform_", "normal_", "orthogonal_", "dirac_",
                           "xavier_uniform_", "kaiming_normal_", "eye_",
                           "trunc_normal_", "ones_"} do
      local t = here(st.zeros(name == "dirac_" and {3, 3, 2} or {4, 4}))
      st.manual_seed(2)
      out[name] = st.nn.init[name](t)
    end
    st.manual_seed(2)
    out.sparse_ = st.nn.init.sparse_(here(st.zeros(4, 4)), 0.5)
    return out
  end,
  ["clipped gradients"] = function(here)
    local x = here(matrix()):requires_grad_();
    (x * x):sum():backward()
    return {st.nn.utils.clip_grad_norm_({x}, 1), x.grad,
            st.nn.utils.parameters_to_vector {x}}
  end,
  ["a scaled loss"] = function(here)
    local x = here(matrix()):requires_grad_()
    local scaler, optimizer = st.amp.GradScaler(), st.optim.SGD({x}, {lr = 1})
    scaler:scale((x * x):sum()):backward()
    scaler:step(optimizer)
    scaler:update()
    return {x}
  end,
  ["batches of a dataset"] = function(here)
    local x = here(matrix())
    local set, out = st.data.TensorDataset {x, x:select(2, 1)}, {}
    local loader = st.data.DataLoader(set, {batch_size = 2, shuffle = true})
    for a, b in loader:iter() do out[#out + 1], out[#out + 2] = a, b end
    return out
  end,
  ["transforms of pictures"] = function(here)
    local x = here(st.rand(3, 4, 4))
    return {st.data.transforms.Normalize({0.5, 0.4, 0.3}, {1, 2, 3})(x)}
  end,
  ["a causal mask"] = function(here)
    local layer = st.nn.TransformerEncoderLayer(4, 2, {dropout = 0})
    for _, p in layer:named_parameters() do p.data:fill_(0.125) end
    if here == move then layer:to(DEVICE) end
    local mask = st.nn.Transformer.generate_square_subsequent_mask(5)
    return {layer(here(matrix():narrow(2, 1, 4):unsqueeze(2):clone()),
                  {src_mask = here(mask)})}
  end,
  ["what is drawn"] = function(here)
    local x = here(matrix())
    return {st.plot(x:select(1, 1), x:select(1, 2)):svg(), st.layout(x),
            st.plot():heatmap(x):svg(), st.plot():image(x):svg(),
            st.plot():hist(x:flatten()):svg(), st.plot():bar(x[1]):svg()}
  end,
  ["a number that fills"] = function(here)
    local x, rows = here(matrix()), here(st.tensor {1, 3})
    return {x:index_fill(1, rows, st.tensor(2.5)),
            x:clone():index_fill_(2, rows, st.tensor(0.5))}
  end,
  ["elements by functions"] = function(here)
    local x = here(matrix())
    return {x:clone():apply_(function(v) return v + 1 end)}
  end,
}

local names = {}
for name in pairs(REST) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do check(name, REST[name]) end

print(("%d cases, %d tensors, %d different"):format(
  counts.cases, counts.tensors, counts.different))
