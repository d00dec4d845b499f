--- All optimizers: parameters of any layout and dtype, groups, states in files,
-- misuse; schedulers' misuse; averages.
-- axes: lua

local st = require "strided"
local optim = require "strided.optim"

local tensors = require "spec.support.tensors"

local live, near, raises = tensors.live, tensors.near, tensors.raises
local schedulers = optim.lr_scheduler

local before

setup(function() before = live() end)
teardown(function() assert.same(before, live()) end)

-- Optimizers with all of their states.
local ALL = {
  {"SGD", {momentum = 0.9, lr = 0.1}}, {"Adam", {amsgrad = true}},
  {"AdamW", {lr = 0.1}}, {"NAdam", {lr = 0.1}}, {"RAdam", {lr = 0.1}},
  {"RMSprop", {centered = true, momentum = 0.5}}, {"Adagrad", {lr = 0.1}},
  {"Adadelta", {}}, {"Adamax", {lr = 0.1}}, {"ASGD", {lr = 0.1, t0 = 1}},
  {"Rprop", {lr = 0.1}}, {"Muon", {lr = 0.1}}, {"Adafactor", {lr = 0.1}},
}

local function start(dtype)
  local x = st.arange(1, 13):to "float64" * 0.3 - 2
  return x:view(4, 3):to(dtype or "float64"):requires_grad_()
end

local function gradient(k, p)
  local g = ((k * 7 + st.arange(1, 13) * 3) % 11 - 5):to "float64" / 4
  return g:view(4, 3):to(p.dtype)
end

local function advance(optimizer, k)
  for _, group in ipairs(optimizer.param_groups) do
    for _, p in ipairs(group.params) do p.grad = gradient(k, p) end
  end
  optimizer:step()
end

local function numbers(p) return p:detach():double():reshape(-1):totable() end

local function after(row, steps, p)
  local optimizer = optim[row[1]]({p}, row[2])
  for k = 1, steps do advance(optimizer, k) end
  return numbers(p), optimizer
end

-- -- Parameters --------------------------------------------------------------

describe("An optimizer of any kind", function()
  for _, row in ipairs(ALL) do
    it("takes parameters of any strides: " .. row[1], function()
      local want = after(row, 4, start())
      local columns = st.zeros(4, 9, {dtype = "float64"})
      local view = columns:slice(2, 2, 9, 3)
      view:copy_(start():detach())
      local tall = start():detach():t():contiguous():t()
      local tolerance = row[1] == "Muon" and 1e-2 or 1e-15
      near(want, after(row, 4, view:detach():requires_grad_()), tolerance)
      near(want, after(row, 4, tall:requires_grad_()), tolerance)
    end)

    it("goes on from its state: " .. row[1], function()
      local want = after(row, 6, start())
      local p = start()
      local _, first = after(row, 3, p)
      local path = os.tmpname()
      st.save(path .. ".safetensors", first:state_dict())
      local second = optim[row[1]]({p})
      second:load_state_dict(st.load(path .. ".safetensors"))
      os.remove(path)
      os.remove(path .. ".safetensors")
      for k = 4, 6 do advance(second, k) end
      near(want, numbers(p), 1e-15)
    end)

    it("survives the scopes of its steps, and leaves nothing: " .. row[1],
       function()
      local p, want = start(), after(row, 4, start())
      local optimizer = optim[row[1]]({p}, row[2])
      for k = 1, 4 do st.scope(function() advance(optimizer, k) end) end
      near(want, numbers(p), 1e-15)
      p.grad = gradient(5, p)
      optimizer:step()
      collectgarbage()
      collectgarbage()
      collectgarbage "stop"
      local count = st.memory().tensors.count
      for _ = 1, 3 do optimizer:step() end
      local now = st.memory().tensors.count
      collectgarbage "restart"
      assert.equal(count, now)
    end)

    it("keeps float32 copies of bfloat16 parameters: " .. row[1], function()
      local p = start "bfloat16"
      local options = {master_weights = true}
      for key, value in pairs(row[2]) do options[key] = value end
      local want = after(row, 6, p:detach():float():requires_grad_())
      local _, optimizer = after({row[1], options}, 6, p)
      near(want, numbers(optimizer.state[p].master), 1e-6)
      assert.is_true(p:detach():equal(optimizer.state[p].master:bfloat16()))
      local second = optim[row[1]]({start "bfloat16"}, options)
      second:load_state_dict(optimizer:state_dict())
      local q = second.param_groups[1].params[1]
      near(want, numbers(second.state[q].master), 1e-6)
    end)
  end

  it("gives a loaded state the dtype of its parameters", function()
    for _, row in ipairs(ALL) do
      local options = {master_weights = true}
      for key, value in pairs(row[2]) do options[key] = value end
      local _, half = after({row[1], options}, 2, start "bfloat16")
      local _, plain = after(row, 2, start "bfloat16")
      for _, each in ipairs {
        {half, "float32", nil, "float32"},      -- saved, parameter, options
        {half, "bfloat16", nil, "float32"},
        {plain, "float64", nil, "float64"},
        {plain, "bfloat16", options, "bfloat16"},
      } do
        local p = start(each[2])
        local optimizer = optim[row[1]]({p}, each[3])
        optimizer:load_state_dict(each[1]:state_dict())
        for key, value in pairs(optimizer.state[p]) do
          if st.is_tensor(value) then
            assert.equal(st[each[4]], value.dtype, row[1] .. ": " .. key)
          end
        end
        local has_master = optimizer.state[p].master ~= nil
        assert.equal(each[1] == half and each[2] == "bfloat16", has_master)
        advance(optimizer, 3)
      end
    end
  end)

  it("computes parameters of several dtypes, and new ones, in one step",
     function()
    local row = {"AdamW", {lr = 0.1}}
    local p, q, r = start(), start "float32", start()
    local optimizer = optim.AdamW({p, q}, {lr = 0.1})
    advance(optimizer, 1)
    optimizer:add_param_group {params = r}
    assert.equal(0.1, optimizer.param_groups[2].lr)
    for k = 1, 3 do advance(optimizer, k) end
    near(after(row, 3, start()), numbers(r), 1e-15)
    assert.equal(4, optimizer.state[p].step)
    assert.equal(3, optimizer.state[r].step)
    raises("AdamW: a parameter is listed twice", optimizer.add_param_group,
           optimizer, {params = {r}})
  end)

  it("keeps a step size of each parameter: ASGD", function()
    -- the numbers are those of PyTorch 2.15
    local a, b = st.ones(1):requires_grad_(), st.ones(1):requires_grad_()
    local optimizer = optim.ASGD({a, b}, {lr = 0.1})
    for _, row in ipairs {{0.1, {a}}, {0.01, {b}}, {0.1, {a, b}}} do
      optimizer.param_groups[1].lr = row[1]
      a.grad, b.grad = nil, nil
      for _, p in ipairs(row[2]) do p.grad = st.ones(1) end
      optimizer:step()
    end
    near({0.799981713}, numbers(a), 1e-6)
    near({0.979997993}, numbers(b), 1e-6)
  end)

  it("keeps the mean of the parameters: ASGD", function()
    local p = start()
    local optimizer = optim.ASGD({p}, {t0 = 0, lr = 0.1, lambd = 0})
    local sum = st.zeros_like(p)
    for k = 1, 3 do -- averaging starts after the first step
      advance(optimizer, k)
      if k > 1 then sum = sum + p:detach() end
    end
    near((sum / 2):reshape(-1):totable(), numbers(optimizer.state[p].ax),
         1e-12)
  end)
end)

-- -- LBFGS -------------------------------------------------------------------

describe("LBFGS", function()
  local function closure_of(optimizer, p)
    return function()
      optimizer:zero_grad()
      local loss = ((p - 3) ^ 4):sum() + (p * p):sum()
      loss:backward()
      return loss
    end
  end
  local OPTIONS = {max_iter = 3, line_search_fn = "strong_wolfe"}

  it("goes on from its state", function()
    local p, q = start(), start()
    local one, two = optim.LBFGS({p}, OPTIONS), optim.LBFGS({q}, OPTIONS)
    for _ = 1, 4 do st.scope(one.step, one, closure_of(one, p)) end
    for _ = 1, 2 do two:step(closure_of(two, q)) end
    local path = os.tmpname()
    st.save(path .. ".safetensors", two:state_dict())
    local three = optim.LBFGS {q}
    three:load_state_dict(st.load(path .. ".safetensors"))
    os.remove(path)
    os.remove(path .. ".safetensors")
    assert.equal("strong_wolfe", three.param_groups[1].line_search_fn)
    for _ = 1, 2 do three:step(closure_of(three, q)) end
    near(numbers(p), numbers(q), 1e-13)
  end)

  it("fits complex parameters", function()
    local p = st.zeros(2, {dtype = "complex128"}):requires_grad_()
    local goal = st.tensor({1, 2}, {dtype = "float64"})
    local optimizer = optim.LBFGS({p}, {line_search_fn = "strong_wolfe"})
    optimizer:step(function()
      optimizer:zero_grad()
      local loss = (p - st.complex(goal, goal)):abs():pow(2):sum()
      loss:backward()
      return loss
    end)
    near({1, 1, 2, 2}, st.view_as_real(p:detach()):reshape(-1):totable(), 1e-6)
  end)

  it("gives a loaded state the dtype of its parameters", function()
    local p, q = start(), start "float32"
    local one, two = optim.LBFGS({p}, OPTIONS), optim.LBFGS({q}, OPTIONS)
    for _ = 1, 2 do two:step(closure_of(two, q)) end
    one:load_state_dict(two:state_dict())
    local state = one.state[p]
    assert.is_true(#state.old_dirs > 0)
    for _, t in ipairs {state.d, state.prev_flat_grad, state.old_dirs[1],
                        state.old_stps[1]} do
      assert.equal(st.float64, t.dtype)
    end
    one:step(closure_of(one, p))
  end)

  it("has nothing to do for parameters without elements", function()
    local p = st.zeros(0):requires_grad_()
    local optimizer = optim.LBFGS {p}
    assert.equal(0, optimizer:step(closure_of(optimizer, p)):item())
  end)

  it("refuses a step without a closure, and groups", function()
    local p, q = start(), start()
    raises("step: the first argument must be a function, got nil",
           optim.LBFGS({p}).step, optim.LBFGS({p}))
    raises("LBFGS: all parameters must be in one group", optim.LBFGS,
           {{params = {p}}, {params = {q}}})
    raises("option 'line_search_fn' must be strong_wolfe, got 'wolfe'",
           optim.LBFGS, {p}, {line_search_fn = "wolfe"})
  end)
end)

-- -- Misuse ------------------------------------------------------------------

describe("Options are refused, and errors say why:", function()
  for _, row in ipairs {
    {"Adam: there is no option 'momentum'", "Adam", {momentum = 1}},
    {"Rprop: option 'etas' must be a number between 0 and 1, and one above 1",
     "Rprop", {etas = {0.5, 0.9}}},
    {"Rprop: option 'etas' must be 2 numbers", "Rprop", {etas = {0.5}}},
    {"Adadelta: option 'rho' must be from 0 to 1, got 2", "Adadelta",
     {rho = 2}},
    {"Muon: option 'ns_steps' must be below 100", "Muon", {ns_steps = 100}},
    {"Muon: option 'adjust_lr_fn' must be original or match_rms_adamw or "
     .. "spectral_unclamped, got 'x'", "Muon", {adjust_lr_fn = "x"}},
    {"Muon: option 'adjust_lr_fn' must be a string, got number", "Muon",
     {adjust_lr_fn = 1}},
    {"Adafactor: option 'eps' must be two numbers from 0", "Adafactor",
     {eps = {1}}},
    {"Adafactor: option 'd' must be at least 1, got 0", "Adafactor", {d = 0}},
    {"Adafactor: option 'beta2_decay' must not be positive, got 1",
     "Adafactor", {beta2_decay = 1}},
    {"SGD: option 'master_weights' must be a boolean, got number", "SGD",
     {master_weights = 1}},
  } do
    it(row[1], function()
      raises({"optimizers_spec.lua", row[1]},
             function() return (optim[row[2]]({start()}, row[3])) end)
    end)
  end

  it("Muon takes matrices", function()
    raises("Muon: a parameter must be a real matrix", optim.Muon,
           {st.ones(3):requires_grad_()})
  end)
end)

describe("Schedulers refuse", function()
  local s = schedulers
  local function momentum() return optim.SGD({start()}, {lr = 0.1}) end
  local function adagrad() return optim.Adagrad {start()} end
  -- The error, the class, and what makes the optimizer and the arguments.
  for _, row in ipairs {
    {"StepLR: the first argument must be an optimizer, got nil", "StepLR"},
    {"StepLR: argument 'step_size' must be a number, got nil", "StepLR",
     momentum},
    {"StepLR: argument 'step_size' must be positive, got 0", "StepLR",
     momentum, 0},
    {"StepLR: there is no option 'gama': did you mean gamma?", "StepLR",
     momentum, 3, {gama = 1}},
    {"StepLR: option 'gamma' must be a number, got string", "StepLR", momentum,
     3, {gamma = "x"}},
    {"LinearLR: option 'start_factor' must be from 0 to 1, got 2", "LinearLR",
     momentum, {start_factor = 2}},
    {"CosineAnnealingWarmRestarts: 'T_0' and 'T_mult' must be positive "
     .. "integers", "CosineAnnealingWarmRestarts", momentum, 2.5},
    {"CyclicLR: Adagrad has neither momentum nor betas", "CyclicLR", adagrad,
     0.1, 1},
    {"CyclicLR: option 'mode' must be triangular", "CyclicLR", momentum, 0.1, 1,
     {mode = "round"}},
    {"OneCycleLR: option 'total_steps' must be positive", "OneCycleLR",
     momentum, 1},
    {"LambdaLR: 'lr_lambda' has 2 values, the optimizer 1 groups", "LambdaLR",
     momentum, {print, print}},
    {"SequentialLR: a list of schedulers is expected", "SequentialLR", momentum,
     {}, {}},
    {"ReduceLROnPlateau: option 'mode' must be min or max, got 'x'",
     "ReduceLROnPlateau", momentum, {mode = "x"}},
  } do
    it(row[1], function()
      raises(row[1], s[row[2]], row[3] and row[3]() or nil, row[4], row[5],
             row[6])
    end)
  end

  it("schedulers that do not fit", function()
    local optimizer = momentum()
    raises("SequentialLR: 1 schedulers need 0 milestones", s.SequentialLR,
           optimizer, {s.StepLR(optimizer, 3)}, {1})
    raises("ChainedScheduler: number 1 is a ReduceLROnPlateau",
           s.ChainedScheduler, {s.ReduceLROnPlateau(optimizer)})
    raises("SequentialLR: number 1 is a scheduler of another optimizer",
           s.SequentialLR, optimizer, {s.StepLR(adagrad(), 3)}, {})
  end)

  it("states and steps of others", function()
    local optimizer = momentum()
    local one = s.StepLR(optimizer, 3)
    raises("load_state_dict: StepLR has no '", one.load_state_dict, one,
           s.CosineAnnealingLR(optimizer, 3):state_dict())
    raises("load_state_dict: 'gamma' of StepLR must be a number, got string",
           one.load_state_dict, one, {gamma = "x"})
    raises("step: write scheduler:step() with a colon", one.step)
    local plateau = s.ReduceLROnPlateau(optimizer)
    raises("step takes a metric, a number, got nil", plateau.step, plateau)
    local cycle = s.OneCycleLR(optim.SGD({start()}), 1, {total_steps = 2})
    cycle:step()
    cycle:step()
    raises("OneCycleLR: this is step 3 of 2", cycle.step, cycle)
  end)
end)

-- PyTorch 2.15 goes on, or raises, in the same steps.
describe("Schedulers of an optimizer with a new group", function()
  local s = schedulers

  --- The lr of both groups after some steps.
  local function added(steps, create, metric)
    local optimizer = optim.SGD({start()}, {lr = 1, momentum = 0.5})
    local scheduler = create(optimizer)
    optimizer:add_param_group {params = start()}
    for _ = 1, steps do scheduler:step(metric) end
    return {optimizer.param_groups[1].lr, optimizer.param_groups[2].lr}
  end

  it("go on from its lr", function()
    near({0.01, 0.01}, added(4, function(o) return s.StepLR(o, 2) end), 1e-15)
    near({0.6, 1.8}, added(2, function(o) return s.LinearLR(o) end), 1e-15)
    near({0.5, 0.5}, added(2, function(o)
      return s.CosineAnnealingLR(o, 4)
    end), 1e-15)
    near({1e-3, 1e-3}, added(4, function(o)
      return s.ReduceLROnPlateau(o, {patience = 0})
    end, 1), 1e-15)
    near({0.3, 0.3}, added(4, function(o)
      return s.ReduceLROnPlateau(o, {patience = 0, min_lr = 0.3})
    end, 1), 1e-15)
  end)

  local function half() return 0.5 end

  for name, row in pairs {
    LambdaLR = {half}, MultiplicativeLR = {half}, CyclicLR = {0.1, 1},
    OneCycleLR = {1, {total_steps = 9}}, CosineAnnealingWarmRestarts = {2},
    SWALR = {0.1},
  } do
    it("name what they lack: " .. name, function()
      raises(name .. ": the optimizer has 2 parameter groups, and had 1 when "
             .. "the scheduler was made", added, 1, function(o)
        return s[name](o, row[1], row[2])
      end)
    end)
  end

  it("name what they lack in later steps", function()
    raises("CosineAnnealingLR: the optimizer has 2 parameter groups", added, 5,
           function(o) return s.CosineAnnealingLR(o, 4) end)
    raises("ReduceLROnPlateau: the optimizer has 2 parameter groups, and "
           .. "'min_lr' 1 values", added, 2, function(o)
      return s.ReduceLROnPlateau(o, {patience = 0, min_lr = {0}})
    end, 1)
    raises("ExponentialLR: the optimizer has 2 parameter groups", added, 2,
           function(o)
      return s.SequentialLR(o, {s.ConstantLR(o), s.ExponentialLR(o, 0.5)}, {2})
    end)
  end)
end)

-- -- Averages ----------------------------------------------------------------

describe("Averages of parameters", function()
  local average_of = optim.swa_utils.AveragedModel

  local function updated(options)
    local p = st.zeros(2):requires_grad_()
    local average = average_of({p}, options)
    for _, x in ipairs {1, 3, 8} do
      st.no_grad(p.fill_, p, x)
      average:update_parameters {p}
    end
    return average, p
  end

  it("are means, or exponential ones", function()
    near({4, 4}, updated().params[1]:totable(), 1e-6)
    -- ((1 * 0.5 + 3 * 0.5) * 0.5 + 8 * 0.5)
    near({5, 5}, updated({decay = 0.5}).params[1]:totable(), 1e-6)
  end)

  it("change places with the parameters", function()
    local average, p = updated()
    average:swap {p}
    near({4, 4}, numbers(p), 1e-6)
    near({8, 8}, average.params[1]:totable(), 1e-6)
  end)

  it("refuse others", function()
    raises("option 'decay' must be a number from 0 to 1, got 2", average_of,
           {start()}, {decay = 2})
    raises("AveragedModel: a module or a list of parameters is expected",
           average_of, 3)
    local average = average_of {start()}
    raises("parameter 1 does not have the shape of its average",
           average.update_parameters, average, {st.ones(3)})
  end)
end)
