--- Optimizers and schedulers against PyTorch's: 20 steps of each, which
-- spec/vectors/optim.py has computed.
-- axes: lua

local st = require "strided"
local optim = require "strided.optim"

local reader = require "spec.conformance.reader"
local tensors = require "spec.support.tensors"

local live = tensors.live
local schedulers = optim.lr_scheduler

local HERE = debug.getinfo(1, "S").source:match "^@(.-)[^/]*$"
local PATH = HERE .. "../../data/optim.jsonl.gz"
local STEPS = 20

local rows = {optimizer = {}, lbfgs = {}, scheduler = {}, fused = {}}
for row in reader.cases(PATH) do
  local list = rows[row.kind]
  list[#list + 1] = row
end

local before

setup(function() before = live() end)
teardown(function() assert.same(before, live()) end)

-- -- Comparisons -------------------------------------------------------------

--- Numbers differ by at most `tolerance` of the largest one.
local function near(want, got, tolerance, what)
  assert.equal(#want, #got)
  local largest = 0
  for _, x in ipairs(want) do largest = math.max(largest, math.abs(x)) end
  for i, x in ipairs(want) do
    local off = math.abs(x - got[i])
    if off > tolerance * largest or off ~= off then
      error(("%s: number %d: %.17g instead of %.17g"):format(what, i, got[i],
                                                           x), 2)
    end
  end
end

local function numbers(p)
  p = p:detach()
  if p:is_complex() then p = st.view_as_real(p) end
  return p:to "float64":reshape(-1):totable()
end

-- -- Optimizers --------------------------------------------------------------

local function as_dtype(list, dtype, shape)
  local t = st.tensor(list, {dtype = "float64"})
  if dtype == "complex128" then return st.view_as_complex(t:view(-1, 2)) end
  return t:to(dtype):view(shape)
end

local function start(n, dtype, shape)
  local list = {}
  for i = 1, n do list[i] = math.sin((i - 1) * 0.3) - 0.25 end
  return as_dtype(list, dtype, shape):requires_grad_()
end

local function gradient(step, n, dtype, shape)
  local list = {}
  for i = 1, n do list[i] = ((step * 7 + i * 3) % 11 - 5) / 4 end
  return as_dtype(list, dtype, shape)
end

-- Muon computes in bfloat16, whose products PyTorch sums up in another order.
local TOLERANCE = {float64 = 1e-12, complex128 = 1e-12, float32 = 1e-6,
                   Muon = 3e-2}

local function replay(row)
  local is_matrix = row.name == "Muon" or
                    row.name == "Adafactor" and not row.options.d
  local shape = is_matrix and {4, 3} or {12}
  local p = start(12, row.dtype, shape)
  local optimizer = optim[row.name]({p}, row.options)
  for step = 1, STEPS do
    p.grad = gradient(step, 12, row.dtype, shape)
    optimizer:step()
    if step % 5 == 0 then
      near(row.after[step / 5], numbers(p),
           TOLERANCE[row.name] or TOLERANCE[row.dtype], "step " .. step)
    end
  end
end

describe("20 steps are PyTorch's:", function()
  for _, row in ipairs(rows.optimizer) do
    local title = {}
    for key in pairs(row.options) do title[#title + 1] = key end
    table.sort(title)
    it(row.name .. " on " .. row.dtype .. ", with "
       .. table.concat(title, ", "), function() replay(row) end)
  end
end)

-- -- LBFGS -------------------------------------------------------------------

--- What the Python script minimizes.
local function loss_of(p, options)
  local a, b = p:narrow(1, 1, 5), p:narrow(1, 2, 5)
  if options.maximize then
    return -((p - 1) ^ 2):sum() - (p ^ 4):sum()
  elseif options.lr == 29 then
    return (10 * (b - a ^ 2):abs() + (1 - a):abs()):sum()
  end
  return (100 * (b - a ^ 2) ^ 2 + (1 - a) ^ 2):sum()
end

describe("Five steps of LBFGS", function()
  for i, row in ipairs(rows.lbfgs) do
    it("are PyTorch's, row " .. i, function()
      local p, losses = start(6, "float64", {6}), {}
      local optimizer = optim.LBFGS({p}, row.options)
      for step = 1, 5 do
        local loss = optimizer:step(function()
          optimizer:zero_grad()
          local loss = loss_of(p, row.options)
          loss:backward()
          return loss
        end)
        losses[step] = loss:item()
        near(row.after[step], numbers(p), 1e-6, "step " .. step)
      end
      near(row.losses, losses, 1e-6, "losses")
      assert.equal(row.evals, optimizer.state[p].func_evals)
    end)
  end
end)

-- -- Schedulers --------------------------------------------------------------

local function reciprocal(epoch) return 1 / (1 + epoch) end

local COMPOSED = {
  Sequential = function(o)
    return schedulers.SequentialLR(o, {
      schedulers.LinearLR(o, {start_factor = 0.1, total_iters = 4}),
      schedulers.StepLR(o, 3, {gamma = 0.5}),
      schedulers.CosineAnnealingLR(o, 6)}, {4, 11})
  end,
  Restarted = function(o)
    return schedulers.SequentialLR(o, {
      schedulers.ExponentialLR(o, 0.9),
      schedulers.LinearLR(o, {total_iters = 3}),
      schedulers.ConstantLR(o, {total_iters = 2}),
      schedulers.MultiStepLR(o, {2}, {gamma = 0.5}),
      schedulers.PolynomialLR(o, {total_iters = 9}),
      schedulers.CosineAnnealingWarmRestarts(o, 3)}, {2, 5, 9, 13, 16})
  end,
  Chained = function(o)
    return schedulers.ChainedScheduler {
      schedulers.ConstantLR(o, {factor = 0.1, total_iters = 5}),
      schedulers.ExponentialLR(o, 0.9),
      schedulers.MultiStepLR(o, {6}, {gamma = 0.5})}
  end,
}

local function make(row)
  local p, q = st.zeros(1):requires_grad_(), st.zeros(1):requires_grad_()
  local optimizer = optim.SGD({{params = {p}}, {params = {q}, lr = 0.4}},
                              {lr = 0.1, momentum = 0.9})
  if COMPOSED[row.name] then return optimizer, COMPOSED[row.name](optimizer) end
  local args = {}
  for i, arg in ipairs(row.args) do
    args[i] = arg == "lambda" and reciprocal or arg
  end
  args[#args + 1] = row.options
  return optimizer, schedulers[row.name](optimizer,
                                         (table.unpack or unpack)(args))
end

local function advance(row, scheduler, step)
  if row.name == "ReduceLROnPlateau" then
    scheduler:step(math.cos(step * 0.7) * 2 - step * 0.05)
  else
    scheduler:step()
  end
end

describe("The lr of 20 epochs is PyTorch's:", function()
  for i, row in ipairs(rows.scheduler) do
    it(row.name .. ", row " .. i, function()
      local optimizer, scheduler = make(row)
      for step = 0, STEPS - 1 do
        local groups = optimizer.param_groups
        near(row.lr[step + 1], {groups[1].lr, groups[2].lr}, 1e-12,
             "epoch " .. step)
        near({row.momentum[step + 1]}, {groups[1].momentum}, 1e-12,
             "momentum of epoch " .. step)
        assert.same({groups[1].lr, groups[2].lr}, scheduler:get_last_lr())
        advance(row, scheduler, step)
      end
    end)

    it(row.name .. " goes on from its state, row " .. i, function()
      local optimizer, scheduler = make(row)
      for step = 0, 6 do advance(row, scheduler, step) end
      local second, resumed = make(row)
      second:load_state_dict(optimizer:state_dict())
      resumed:load_state_dict(scheduler:state_dict())
      for step = 7, STEPS - 1 do
        near(row.lr[step + 1], {second.param_groups[1].lr,
                                second.param_groups[2].lr}, 1e-12,
             "epoch " .. step)
        advance(row, resumed, step)
      end
    end)
  end
end)
