--- Schedulers at the end of their steps and behind it: lr stays within its
-- bounds, and training goes on from a checkpoint of any step.
-- axes: none

local st = require "strided"
local optim = require "strided.optim"
local tensors = require "spec.support.tensors"

local near, raises = tensors.near, tensors.raises
local s = optim.lr_scheduler

local function sgd()
  return optim.SGD({st.ones({1}, {requires_grad = true})},
                   {lr = 0.1, momentum = 0.9})
end

--- The lr of the constructor and of n steps.
local function rates(scheduler, optimizer, n)
  local list = {optimizer.param_groups[1].lr}
  for i = 1, n do
    scheduler:step()
    list[i + 1] = optimizer.param_groups[1].lr
  end
  return list
end

describe("OneCycleLR", function()
  for _, strategy in ipairs {"cos", "linear"} do
    for _, three_phase in ipairs {false, true} do
      for _, total in ipairs {1, 2, 3, 7, 100} do
        for _, start in ipairs {0, 0.3, 0.5, 1} do
          it(("stays at its end: %s, %s, %d steps, %g"):format(strategy,
             three_phase and "three phases" or "two", total, start), function()
            local optimizer = sgd()
            local scheduler = s.OneCycleLR(optimizer, 1, {
              total_steps = total, anneal_strategy = strategy,
              three_phase = three_phase, pct_start = start})
            local list = rates(scheduler, optimizer, total)
            local momentum = optimizer.param_groups[1].momentum
            assert.equal(list[total], list[total + 1])
            if start < 0.5 then near({0.04 / 1e4}, {list[total]}, 1e-15) end
            for _, lr in ipairs(list) do
              assert.is_true(lr >= 0.04 / 1e4 * (1 - 1e-9) and lr <= 1 + 1e-9)
            end
            assert.is_true(momentum >= 0.85 and momentum <= 0.95 + 1e-9)
            raises("OneCycleLR: this is step", scheduler.step, scheduler)
          end)
        end
      end
    end
  end
end)

it("ConstantLR comes back from a factor of 0", function()
  local optimizer = sgd()
  near({0, 0, 0.1, 0.1}, rates(s.ConstantLR(optimizer, {
    factor = 0, total_iters = 2}), optimizer, 3), 1e-15)
end)

-- Class, arguments.
local ALL = {
  {"OneCycleLR", 1, {total_steps = 12}},
  {"OneCycleLR", 1, {epochs = 3, steps_per_epoch = 4,
                     anneal_strategy = "linear"}},
  {"CyclicLR", 0.01, 0.1, {step_size_up = 2, mode = "triangular2"}},
  {"CyclicLR", 0.01, 0.1, {step_size_up = 2, step_size_down = 3}},
  {"CosineAnnealingLR", 5, {eta_min = 0.01}}, {"CosineAnnealingLR", 1},
  {"CosineAnnealingWarmRestarts", 2, {T_mult = 2}},
  {"PolynomialLR", {total_iters = 5, power = 2}}, {"LinearLR"},
  {"LinearLR", {start_factor = 1, end_factor = 0, total_iters = 3}},
  {"ConstantLR"}, {"ConstantLR", {factor = 0}}, {"ExponentialLR", 0.5},
  {"StepLR", 3}, {"MultiStepLR", {3, 8}},
}

describe("A checkpoint of a scheduler", function()
  local path

  setup(function() path = os.tmpname() .. ".safetensors" end)
  teardown(function() os.remove(path) end)

  for i, row in ipairs(ALL) do
    it(("goes on at any step: %s, row %d"):format(row[1], i), function()
      local function make()
        local optimizer = sgd()
        return optimizer, s[row[1]](optimizer, row[2], row[3], row[4])
      end
      local optimizer, scheduler = make()
      local expected = rates(scheduler, optimizer, 12)
      for _, lr in ipairs(expected) do assert.is_true(lr >= 0 and lr <= 1) end
      for _, stop in ipairs {0, 4, 11, 12} do
        optimizer, scheduler = make()
        rates(scheduler, optimizer, stop)
        st.save(path, {optimizer = optimizer:state_dict(),
                       scheduler = scheduler:state_dict()})
        optimizer, scheduler = make()
        local saved = st.load(path)
        optimizer:load_state_dict(saved.optimizer)
        scheduler:load_state_dict(saved.scheduler)
        local rest = rates(scheduler, optimizer, 12 - stop)
        for k, lr in ipairs(rest) do
          assert.equal(expected[stop + k], lr)
        end
      end
    end)
  end

  it("may be of one with other options", function()
    local one = s.OneCycleLR(sgd(), 1, {total_steps = 12})
    local other = s.OneCycleLR(sgd(), 1, {epochs = 2, steps_per_epoch = 3})
    other:load_state_dict(one:state_dict())
    assert.equal(12, other.total_steps)
    one:load_state_dict(other:state_dict())
  end)
end)
