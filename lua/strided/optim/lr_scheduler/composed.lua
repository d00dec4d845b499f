--- Schedulers of schedulers, and ReduceLROnPlateau, which looks at a metric.
--
-- @module strided.optim.lr_scheduler

local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local Scheduler = require "strided.optim.lr_scheduler.scheduler"

local declare, per_group = Scheduler.declare, Scheduler.per_group
local huge, ipairs, max, pairs, setmetatable, type =
  math.huge, ipairs, math.max, pairs, setmetatable, type

local composed = {}

local function check_schedulers(class, schedulers, optimizer)
  if type(schedulers) ~= "table" or not schedulers[1] then
    raise("%s: a list of schedulers is expected", class.name)
  end
  for i, each in ipairs(schedulers) do
    if type(each) ~= "table" or not each.optimizer then
      raise("%s: number %d is no scheduler", class.name, i)
    elseif each.name == "ReduceLROnPlateau" then
      raise("%s: number %d is a ReduceLROnPlateau, whose step takes a metric",
            class.name, i)
    elseif each.optimizer ~= (optimizer or schedulers[1].optimizer) then
      raise("%s: number %d is a scheduler of another optimizer", class.name, i)
    end
  end
end

-- -- SequentialLR ------------------------------------------------------------

--- The number of milestones up to an epoch, and 1.
local function position(self)
  local n = 1
  for _, each in ipairs(self._milestones) do
    if each <= self.last_epoch then n = n + 1 end
  end
  return n
end

--- One scheduler after the other, such as a warm-up and a decay.
-- @function SequentialLR
-- @param optimizer
-- @tparam table schedulers
-- @tparam table milestones the epochs at which the second, third ... begins
composed.SequentialLR = declare {
  name = "SequentialLR",
  create = function(class, optimizer, schedulers, milestones)
    Scheduler.check_optimizer(class, optimizer)
    check_schedulers(class, schedulers, optimizer)
    if type(milestones) ~= "table" or #milestones ~= #schedulers - 1 then
      raise("SequentialLR: %d schedulers need %d milestones", #schedulers,
            #schedulers - 1)
    end
    local self = setmetatable({
      optimizer = optimizer, _schedulers = schedulers, _milestones = milestones,
      last_epoch = 0}, class)
    for _, group in ipairs(optimizer.param_groups) do
      group.lr = group.initial_lr
    end
    self:undo()
    local first = schedulers[position(self)]
    first:initial_step()
    self._last_lr = first:get_last_lr()
    return self
  end,
  step = function(self)
    self.last_epoch = self.last_epoch + 1
    local n = position(self)
    local scheduler = self._schedulers[n]
    if n > 1 and self._milestones[n - 1] == self.last_epoch then
      scheduler:restart()
    else
      scheduler:step()
    end
    self._last_lr = scheduler:get_last_lr()
  end,
}

-- -- ChainedScheduler --------------------------------------------------------

--- Schedulers that all change the same lr, one after the other.
-- @function ChainedScheduler
-- @tparam table schedulers
composed.ChainedScheduler = declare {
  name = "ChainedScheduler",
  create = function(class, schedulers)
    check_schedulers(class, schedulers)
    local self = setmetatable({optimizer = schedulers[1].optimizer,
                               _schedulers = schedulers}, class)
    self:note_lr()
    return self
  end,
  step = function(self)
    for _, each in ipairs(self._schedulers) do each:step() end
    self:note_lr()
  end,
}

-- -- ReduceLROnPlateau -------------------------------------------------------

local PLATEAU = {mode = "min", factor = 0.1, patience = 10, threshold = 1e-4,
                 threshold_mode = "rel", cooldown = 0, min_lr = 0, eps = 1e-8}

local function create_plateau(class, optimizer, given)
  Scheduler.check_optimizer(class, optimizer)
  given = options(class.name, given, PLATEAU)
  local self = setmetatable({optimizer = optimizer}, class)
  for key, default in pairs(PLATEAU) do
    local value = given[key]
    self[key] = value == nil and default or value
    if type(self[key]) ~= type(default) and key ~= "min_lr" then
      raise("ReduceLROnPlateau: option '%s' must be a %s, got %s", key,
            type(default), type(value))
    end
  end
  if self.factor >= 1 then
    raise("ReduceLROnPlateau: option 'factor' must be below 1, got %g",
          self.factor)
  elseif self.mode ~= "min" and self.mode ~= "max" then
    raise("ReduceLROnPlateau: option 'mode' must be min or max, got '%s'",
          self.mode)
  elseif self.threshold_mode ~= "rel" and self.threshold_mode ~= "abs" then
    raise("ReduceLROnPlateau: option 'threshold_mode' must be rel or abs, got "
          .. "'%s'", self.threshold_mode)
  end
  self.min_lrs = per_group(self, "min_lr", self.min_lr)
  self.best = self.mode == "min" and huge or -huge
  self.cooldown_counter, self.num_bad_epochs, self.last_epoch = 0, 0, 0
  self:note_lr()
  return self
end

local function is_better(self, value)
  local sign = self.mode == "min" and -1 or 1
  if self.threshold_mode == "abs" then
    return sign * value > sign * self.best + self.threshold
  end
  return sign * value > sign * (self.best * (1 + sign * self.threshold))
end

--- lr times `factor`, but at least `min_lr`: of groups that were added later,
-- too, unless it is a list.
local function reduce(self)
  local groups = self.optimizer.param_groups
  if type(self.min_lr) == "table" and #self.min_lrs ~= #groups then
    raise("ReduceLROnPlateau: the optimizer has %d parameter groups, and "
          .. "'min_lr' %d values", #groups, #self.min_lrs)
  end
  for i, group in ipairs(groups) do
    local lr = max(group.lr * self.factor, self.min_lrs[i] or self.min_lr)
    if group.lr - lr > self.eps then group.lr = lr end
  end
end

--- lr times `factor` once a metric has not become better for more than
-- `patience` epochs: `scheduler:step(metric)`.
-- @function ReduceLROnPlateau
-- @param optimizer
-- @tparam[opt] table options `mode` ("min" or "max", which is better);
-- `factor` (0.1); `patience` (10); `threshold` (1e-4) of a change that counts,
-- and `threshold_mode` ("rel" or "abs"); `cooldown` (0), epochs after a change
-- that do not count; `min_lr` (0), a number or a list of one per group; `eps`
-- (1e-8), the least change of lr
composed.ReduceLROnPlateau = declare {
  name = "ReduceLROnPlateau", create = create_plateau,
  step = function(self, metric)
    if type(metric) == "userdata" then metric = metric:item() end
    if type(metric) ~= "number" then
      raise("ReduceLROnPlateau: step takes a metric, a number, got %s",
            type(metric))
    end
    self.last_epoch = self.last_epoch + 1
    self.num_bad_epochs = self.num_bad_epochs + 1
    if is_better(self, metric) then
      self.best, self.num_bad_epochs = metric, 0
    end
    if self.cooldown_counter > 0 then
      self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
    end
    if self.num_bad_epochs > self.patience then
      reduce(self)
      self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    end
    self:note_lr()
  end,
}

return composed
