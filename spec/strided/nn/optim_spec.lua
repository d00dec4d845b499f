--- Optimizers: their steps next to PyTorch's, groups, and their state in
-- files.
-- axes: lua

local st = require "strided"
local optim = require "strided.optim"

local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises

-- -- Help --------------------------------------------------------------------

local STEPS = 5

--- {-0.5, -0.25, 0, 0.25}; of complex numbers, as pairs.
local function new_parameter(dtype)
  local p = ((st.arange(1, 5) - 3) / 4):to "float64"
  if dtype == "complex128" then p = st.view_as_complex(p:view(2, 2)) end
  return p:requires_grad_()
end

--- The gradient of a step: numbers from -1.25 to 1.25.
local function gradient(k, like)
  local g = (((k * 7 + st.arange(1, 5) * 3) % 11 - 5) / 4):to "float64"
  if like.dtype == st.complex128 then g = st.view_as_complex(g:view(2, 2)) end
  return g:reshape(like.shape)
end

--- The parameters after a step with gradients for all of them.
local function advance(optimizer, k)
  for _, group in ipairs(optimizer.param_groups) do
    for _, p in ipairs(group.params) do p.grad = gradient(k, p) end
  end
  optimizer:step()
end

local function numbers(p)
  p = p:detach()
  if p.dtype == st.complex128 then p = st.view_as_real(p) end
  return p:reshape(-1):totable()
end

-- -- Steps -------------------------------------------------------------------

-- What PyTorch 2.6 gets after five steps from the same start: optimizer,
-- options, parameter.
local ROWS = {
  {"SGD", {lr = 0.1},
   {-0.675, -0.25, 0.175, 0.325}},
  {"SGD", {lr = 0.1, weight_decay = 0.5},
   {-0.537450625, -0.198094765625, 0.1668, 0.26910414062500004}},
  {"SGD", {lr = 0.1, maximize = true},
   {-0.325, -0.25, -0.175, 0.175}},
  {"SGD", {lr = 0.1, momentum = 0.9},
   {-1.0846125, -0.17176749999999996, 0.31315, 0.32259249999999995}},
  {"SGD", {lr = 0.1, momentum = 0.9, dampening = 0.5},
   {-1.04825, -0.057317499999999945, 0.156575, 0.13272999999999996}},
  {"SGD", {lr = 0.1, momentum = 0.9, nesterov = true},
   {-1.20115125, -0.17959075, 0.456835, 0.39033324999999996}},
  {"SGD", {lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.5,
           maximize = true},
   {0.348563161053125, -0.11212593960546872, -0.39476686125,
    -0.09853780508203126}},
  {"AdamW", {},
   {-0.5028535467822961, -0.24908982500760588, 0.0014845508039056452,
    0.24931740797746205}},
  {"AdamW", {lr = 0.1, weight_decay = 0.5},
   {-0.6403516792741659, -0.1193435767425638, 0.13621848825984564,
    0.14651208894048368}},
  {"AdamW", {lr = 0.1, betas = {0.5, 0.75}, eps = 0.01},
   {-0.7231091366866679, -0.1882934152100226, 0.15504767863580926,
    0.25405634893372847}},
  {"AdamW", {lr = 0.1, weight_decay = 0, maximize = true},
   {-0.212138072603549, -0.3397709121403739, -0.14845764179246876,
    0.31701357368870065}},
}

--- "SGD {lr = 0.1}"
local function title(row)
  local parts = {}
  for key, value in pairs(row[2]) do
    parts[#parts + 1] = key .. " = " .. (type(value) == "table" and
      "{" .. table.concat(value, ", ") .. "}" or tostring(value))
  end
  table.sort(parts)
  return row[1] .. " {" .. table.concat(parts, ", ") .. "}"
end

local before

setup(function() before = live() end)

describe("A step of", function()
  for _, row in ipairs(ROWS) do
    for _, dtype in ipairs {"float64", "complex128"} do
      it(title(row) .. " on " .. dtype .. " is PyTorch's", function()
        local p = new_parameter(dtype)
        local optimizer = optim[row[1]]({p}, row[2])
        for k = 1, STEPS do advance(optimizer, k) end
        near(row[3], numbers(p), 1e-13)
      end)
    end
  end
end)

describe("An optimizer", function()
  it("leaves parameters without a gradient alone, and keeps the rest",
     function()
    local p, q = new_parameter(), new_parameter()
    local optimizer = optim.AdamW({p, q}, {lr = 0.1})
    p.grad = gradient(1, p)
    optimizer:step()
    assert.same(numbers(new_parameter()), numbers(q))
    assert.is_not.same(numbers(new_parameter()), numbers(p))
    assert.is_true(p.requires_grad)
  end)

  it("forgets gradients", function()
    local p = new_parameter()
    p.grad = gradient(1, p)
    optim.SGD({p}):zero_grad {set_to_none = false}
    assert.is_true(p.grad:equal(st.zeros_like(p)))
    optim.SGD({p}):zero_grad()
    assert.is_nil(p.grad)
  end)

  it("calls a closure before the step and returns its loss", function()
    local p = st.ones(2):requires_grad_()
    local optimizer = optim.SGD({p}, {lr = 0.5})
    local loss = st.no_grad(function()
      return optimizer:step(function()
        local sum = (p * p):sum()
        sum:backward()
        return sum
      end)
    end)
    assert.equal(2, loss:item())
    assert.same({0, 0}, p:detach():totable())
    raises("step: the first argument must be a function, got number",
           optimizer.step, optimizer, 1)
  end)

  it("has groups with options of their own", function()
    local p, q = new_parameter(), new_parameter()
    local optimizer = optim.SGD({{params = {p}, lr = 0.1}, {params = {q}}},
                                {lr = 0.2, momentum = 0})
    advance(optimizer, 1)
    local start, g = numbers(new_parameter()), numbers(gradient(1, p))
    for i, x in ipairs(start) do
      near({x - 0.1 * g[i]}, {numbers(p)[i]}, 1e-13)
      near({x - 0.2 * g[i]}, {numbers(q)[i]}, 1e-13)
    end
  end)

  it("sees an option that is changed between steps", function()
    local p = new_parameter()
    local optimizer = optim.SGD({p}, {lr = 0.1})
    optimizer.param_groups[1].lr = 0
    advance(optimizer, 1)
    assert.same(numbers(new_parameter()), numbers(p))
    optimizer.param_groups[1].momentum = 0.5
    optimizer.param_groups[1].lr = 0.1
    advance(optimizer, 1)
    local g = numbers(gradient(1, p))[1]
    near({-0.5 - 0.1 * g}, {numbers(p)[1]}, 1e-13)
    advance(optimizer, 1)
    near({-0.5 - 0.1 * g - 0.1 * 1.5 * g}, {numbers(p)[1]}, 1e-13)
  end)

  it("shares no list of options with another", function()
    local one = optim.AdamW({new_parameter()})
    local two = optim.AdamW({new_parameter()})
    one.param_groups[1].betas[1] = 0
    assert.same({0.9, 0.999}, two.param_groups[1].betas)
  end)

  it("steps within scopes, whose end its state survives", function()
    for _, row in ipairs(ROWS) do
      local p = new_parameter()
      local optimizer = optim[row[1]]({p}, row[2])
      st.scope(function()
        for k = 1, STEPS do
          st.scope(function() advance(optimizer, k) end)
        end
      end)
      near(row[3], numbers(p), 1e-13)
    end
  end)

  it("leaves nothing of a step to the collector", function()
    for _, row in ipairs(ROWS) do
      local p = new_parameter()
      local optimizer = optim[row[1]]({p}, row[2])
      p.grad = gradient(1, p)
      optimizer:step()
      collectgarbage() -- what other specs left is not counted
      collectgarbage()
      collectgarbage "stop"
      local count = st.memory().tensors.count
      for _ = 1, STEPS do optimizer:step() end
      local after = st.memory().tensors.count
      collectgarbage "restart"
      assert.equal(count, after)
    end
  end)

  it("refuses what it cannot work with, and says why", function()
    local p = new_parameter()
    for _, row in ipairs {
      {"a list of parameters is expected, got a Tensor", p},
      {"a list of parameters is expected, got an empty one", {}},
      {"a list of parameters is expected, got nil"},
      {"a parameter must be a Tensor, got number", {p, 3}},
      {"a parameter is listed twice", {p, p}},
      {"a parameter is listed twice", {{params = {p}}, {params = {p}}}},
      {"a group must be a table with a list 'params'", {{lr = 1}}},
      {"there is no option 'rate'", {p}, {rate = 1}},
      {"there is no option 'rate'", {{params = {p}, rate = 1}}},
      {"the options must be a table, got number", {p}, 0.1},
      {"option 'lr' must not be negative, got -1", {p}, {lr = -1}},
      {"option 'lr' must be a number, got string", {p}, {lr = "1"}},
      {"option 'nesterov' must be a boolean", {p}, {nesterov = 1}},
      {"Nesterov's momentum needs a momentum", {p}, {nesterov = true}},
      {"Nesterov's momentum needs a momentum and no dampening", {p},
       {nesterov = true, momentum = 0.9, dampening = 0.1}},
    } do
      raises({"optim_spec.lua", "SGD: " .. row[1]},
             function() return (optim.SGD(row[2], row[3])) end)
    end
    raises("AdamW: option 'betas' must be 2 numbers from 0 to below 1",
           optim.AdamW, {p}, {betas = {0.9, 1}})
  end)

  it("refuses a parameter that was computed", function()
    raises({"SGD: ", "must be a leaf"}, optim.SGD, {new_parameter() * 2})
  end)
end)

-- -- State -------------------------------------------------------------------

describe("The state of an optimizer", function()
  --- Steps from a file of another optimizer's state, as if from its own.
  local function resume(row, path)
    local p = new_parameter()
    local first = optim[row[1]]({p}, row[2])
    for k = 1, 2 do advance(first, k) end
    st.save(path, first:state_dict())
    local second = optim[row[1]]({p})
    second:load_state_dict(st.load(path))
    for k = 3, STEPS do advance(second, k) end
    near(row[3], numbers(p), 1e-13)
  end

  for _, extension in ipairs {".safetensors", ".npz"} do
    it("survives a " .. extension .. " file", function()
      local path = os.tmpname()
      os.remove(path)
      for _, row in ipairs(ROWS) do resume(row, path .. extension) end
      os.remove(path .. extension)
    end)
  end

  it("has names that say what is what", function()
    local p, q = new_parameter(), new_parameter()
    local optimizer = optim.AdamW {{params = {p}}, {params = {q}, lr = 2}}
    advance(optimizer, 1)
    local names, state = {}, optimizer:state_dict()
    for name in pairs(state) do names[#names + 1] = name end
    table.sort(names)
    assert.same({
      "param_groups.1.amsgrad", "param_groups.1.betas", "param_groups.1.eps",
      "param_groups.1.lr", "param_groups.1.maximize", "param_groups.1.params",
      "param_groups.1.weight_decay", "param_groups.2.amsgrad",
      "param_groups.2.betas", "param_groups.2.eps", "param_groups.2.lr",
      "param_groups.2.maximize", "param_groups.2.params",
      "param_groups.2.weight_decay",
      "state.1.exp_avg", "state.1.exp_avg_sq", "state.1.step",
      "state.2.exp_avg", "state.2.exp_avg_sq", "state.2.step",
    }, names)
    assert.equal(2, state["param_groups.2.lr"]:item())
    assert.same({2}, state["param_groups.2.params"]:totable())
    assert.equal(1, state["state.1.step"]:item())
  end)

  -- what is changed in a state, and the error
  local MISFITS = {
    {"SGD has no 'state.2.step'", "state.2.step", 0},
    {"SGD has no 'state.1.mean'", "state.1.mean", 0},
    {"SGD has no 'param_groups.2.lr'", "param_groups.2.lr", 0},
    {"SGD has no 'lr'", "lr", 0},
    {"the state lacks 'state.1.momentum_buffer'", "state.1.momentum_buffer"},
    {"the state lacks 'state.1.step'", "state.1.step"},
    {"'state.1.momentum_buffer' does not have the shape of its parameter",
     "state.1.momentum_buffer", {1, 2}},
    {"group 1 has 1 parameters here, and none in the state",
     "param_groups.1.params"},
    {"group 1 has 1 parameters here, and 2 in the state",
     "param_groups.1.params", {1, 2}},
    {"option 'lr' must be a number, got nil", "param_groups.1.lr", {1, 2}},
    {"option 'lr' must not be negative, got -1", "param_groups.1.lr", -1},
    {"option 'nesterov' must be a boolean, got number",
     "param_groups.1.nesterov", 1},
  }

  it("is refused when it is not this one's, which does not change",
     function()
    local p = new_parameter()
    local optimizer = optim.SGD({p}, {lr = 0.1, momentum = 0.9})
    advance(optimizer, 1)
    for _, row in ipairs(MISFITS) do
      local state = optim.SGD({new_parameter()}, {momentum = 0.5})
                         :state_dict()
      state[row[2]] = row[3] and st.tensor(row[3]) or nil
      raises(row[1], optimizer.load_state_dict, optimizer, state)
      assert.equal(0.9, optimizer.param_groups[1].momentum)
      assert.equal(1, optimizer.state[p].step)
    end
    raises("load_state_dict: 'state.1.step' must be a Tensor, got number",
           optimizer.load_state_dict, optimizer, {["state.1.step"] = 1})
    raises({"load_state_dict: ", "must be a table, got Tensor"},
           optimizer.load_state_dict, optimizer,
           p)
  end)

  it("without a momentum replaces one with it", function()
    local p = new_parameter()
    local optimizer = optim.SGD({p}, {momentum = 0.9})
    advance(optimizer, 1)
    optimizer:load_state_dict(optim.SGD({new_parameter()}):state_dict())
    assert.equal(0, optimizer.param_groups[1].momentum)
    assert.is_nil(optimizer.state[p].momentum_buffer)
  end)
end)

describe("Optimizers", function()
  it("leave no tensor behind", function() assert.equal(before, live()) end)
end)
