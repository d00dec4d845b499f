--- Schedulers that change lr by a formula of the epoch.
--
-- @module strided.optim.lr_scheduler

local callable = require "strided.argument.callable"
local raise = require "strided.argument.caller_error"
local Scheduler = require "strided.optim.lr_scheduler.scheduler"

local declare = Scheduler.declare
local cos, ipairs, min, pi, type = math.cos, ipairs, math.min, math.pi, type

local decay = {}

local function check_range(self, key, low, high)
  if not (self[key] >= low and self[key] <= high) then
    raise("%s: option '%s' must be from %g to %g, got %g", self.name, key, low,
          high, self[key])
  end
end

--- The base lr, for `lr_at_0`.
local function base(_, _, base_lr) return base_lr end

--- lr times `gamma` after each `step_size` epochs.
-- @function StepLR
-- @param optimizer
-- @tparam number step_size
-- @tparam[opt] table options `gamma` (0.1)
decay.StepLR = declare {
  name = "StepLR", positional = {"step_size"}, defaults = {gamma = 0.1},
  next_lr = function(self, lr)
    local is_due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
    return is_due and lr * self.gamma or lr
  end,
  lr_at_0 = base,
}

--- How often a milestone is this epoch.
local function count(milestones, epoch)
  local n = 0
  for _, each in ipairs(milestones) do if each == epoch then n = n + 1 end end
  return n
end

--- lr times `gamma` at each milestone.
-- @function MultiStepLR
-- @param optimizer
-- @tparam table milestones a list of epochs
-- @tparam[opt] table options `gamma` (0.1)
decay.MultiStepLR = declare {
  name = "MultiStepLR", positional = {"milestones"},
  types = {milestones = "table"}, defaults = {gamma = 0.1},
  next_lr = function(self, lr)
    local n = count(self.milestones, self.last_epoch)
    return n > 0 and lr * self.gamma ^ n or lr
  end,
  lr_at_0 = function(self, _, base_lr)
    return base_lr * self.gamma ^ count(self.milestones, 0)
  end,
}

--- lr times `factor` for the first `total_iters` epochs.
-- @function ConstantLR
-- @param optimizer
-- @tparam[opt] table options `factor` (1/3), `total_iters` (5)
decay.ConstantLR = declare {
  name = "ConstantLR", defaults = {factor = 1 / 3, total_iters = 5},
  prepare = function(self) check_range(self, "factor", 0, 1) end,
  next_lr = function(self, lr, base_lr)
    if self.last_epoch == 0 then return lr * self.factor end
    if self.last_epoch ~= self.total_iters then return lr end
    return self.factor == 0 and base_lr or lr * (1 / self.factor)
  end,
  lr_at_0 = function(self, _, base_lr)
    return self.total_iters > 0 and base_lr * self.factor or base_lr
  end,
}

--- lr times a factor that goes from `start_factor` to `end_factor` in
-- `total_iters` epochs: a warm-up.
-- @function LinearLR
-- @param optimizer
-- @tparam[opt] table options `start_factor` (1/3), `end_factor` (1),
-- `total_iters` (5)
decay.LinearLR = declare {
  name = "LinearLR",
  defaults = {start_factor = 1 / 3, end_factor = 1, total_iters = 5},
  prepare = function(self)
    check_range(self, "start_factor", 0, 1)
    check_range(self, "end_factor", 0, 1)
    if self.start_factor == 0 then
      raise("LinearLR: option 'start_factor' must be positive, got 0")
    end
  end,
  next_lr = function(self, lr)
    if self.last_epoch == 0 then return lr * self.start_factor end
    if self.is_initial or self.last_epoch > self.total_iters then return lr end
    local change = self.end_factor - self.start_factor
    return lr * (1 + change / (self.total_iters * self.start_factor +
                               (self.last_epoch - 1) * change))
  end,
  lr_at_0 = function(self, _, base_lr) return base_lr * self.start_factor end,
}

--- lr times `gamma` after each epoch.
-- @function ExponentialLR
-- @param optimizer
-- @tparam number gamma
decay.ExponentialLR = declare {
  name = "ExponentialLR", positional = {"gamma"},
  next_lr = function(self, lr)
    return self.is_initial and lr or lr * self.gamma
  end,
  lr_at_0 = base,
}

--- lr goes to 0 in `total_iters` epochs, as a power of the time left.
-- @function PolynomialLR
-- @param optimizer
-- @tparam[opt] table options `total_iters` (5), `power` (1)
decay.PolynomialLR = declare {
  name = "PolynomialLR", defaults = {total_iters = 5, power = 1},
  next_lr = function(self, lr)
    local epoch, total = self.last_epoch, self.total_iters
    if self.is_initial or epoch > total then return lr end
    return lr * ((1 - epoch / total) / (1 - (epoch - 1) / total)) ^ self.power
  end,
  lr_at_0 = base,
}

--- lr goes to `eta_min` in `T_max` epochs, along half a cosine, and back.
-- @function CosineAnnealingLR
-- @param optimizer
-- @tparam number T_max
-- @tparam[opt] table options `eta_min` (0)
decay.CosineAnnealingLR = declare {
  name = "CosineAnnealingLR", positional = {"T_max"}, defaults = {eta_min = 0},
  next_lr = function(self, lr, base_lr)
    local epoch, total, least = self.last_epoch, self.T_max, self.eta_min
    if self.is_initial then return lr end
    if (epoch - 1 - total) % (2 * total) == 0 then
      Scheduler.check_groups(self)
      return lr + (base_lr - least) * (1 - cos(pi / total)) / 2
    end
    return (1 + cos(pi * epoch / total)) / (1 + cos(pi * (epoch - 1) / total)) *
           (lr - least) + least
  end,
  lr_at_0 = base,
}

--- Sets T_cur and T_i for the next epoch.
local function step_restarts(self)
  Scheduler.check_groups(self)
  if self.last_epoch < 0 then
    self.T_cur, self.T_i = 0, self.T_0
  else
    self.T_cur = self.T_cur + 1
    if self.T_cur >= self.T_i then
      self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
    end
  end
  return Scheduler.step(self)
end

--- lr goes from the base lr to `eta_min` along half a cosine, again and again:
-- first in `T_0` epochs, then in `T_mult` times as many as before.
-- @function CosineAnnealingWarmRestarts
-- @param optimizer
-- @tparam number T_0
-- @tparam[opt] table options `T_mult` (1), `eta_min` (0)
decay.CosineAnnealingWarmRestarts = declare {
  name = "CosineAnnealingWarmRestarts", positional = {"T_0"},
  defaults = {T_mult = 1, eta_min = 0},
  prepare = function(self)
    if self.T_0 % 1 ~= 0 or self.T_mult % 1 ~= 0 or self.T_mult < 1 then
      raise("CosineAnnealingWarmRestarts: 'T_0' and 'T_mult' must be positive "
            .. "integers, got %g and %g", self.T_0, self.T_mult)
    end
  end,
  next_lr = function(self, _, base_lr)
    return self.eta_min + (base_lr - self.eta_min) *
           (1 + cos(pi * self.T_cur / self.T_i)) / 2
  end,
  step = step_restarts,
}

-- -- Functions ---------------------------------------------------------------

local function functions(self)
  if type(self.lr_lambda) ~= "table" then
    callable(self.name, self.lr_lambda)
  end
  local list = Scheduler.per_group(self, "lr_lambda", self.lr_lambda)
  self.lr_lambda = function(i, epoch) return list[i](epoch) end
end

--- The base lr times what a function of the epoch returns.
-- @function LambdaLR
-- @param optimizer
-- @param lr_lambda a function, or a list of one per group
decay.LambdaLR = declare {
  name = "LambdaLR", positional = {"lr_lambda"}, types = {lr_lambda = "any"},
  is_per_group = true, prepare = functions,
  next_lr = function(self, _, base_lr, _, i)
    return base_lr * self.lr_lambda(i, self.last_epoch)
  end,
}

--- lr times what a function of the epoch returns.
-- @function MultiplicativeLR
-- @param optimizer
-- @param lr_lambda a function, or a list of one per group
decay.MultiplicativeLR = declare {
  name = "MultiplicativeLR", positional = {"lr_lambda"},
  types = {lr_lambda = "any"}, is_per_group = true, prepare = functions,
  next_lr = function(self, lr, _, _, i)
    return self.is_initial and lr or lr * self.lr_lambda(i, self.last_epoch)
  end,
}

-- -- Averaged weights --------------------------------------------------------

--- The part of the way after t of the time.
local ANNEAL = {
  cos = function(t) return (1 - cos(pi * t)) / 2 end,
  linear = function(t) return t end,
}

--- lr goes to `swa_lr` in `anneal_epochs` epochs, and stays.
-- @function SWALR
-- @param optimizer
-- @param swa_lr a number, or a list of one per group
-- @tparam[opt] table options `anneal_epochs` (10), `anneal_strategy` ("cos" or
-- "linear")
decay.SWALR = declare {
  name = "SWALR", positional = {"swa_lr"}, types = {swa_lr = "any"},
  defaults = {anneal_epochs = 10, anneal_strategy = "cos"},
  is_per_group = true,
  prepare = function(self)
    if not ANNEAL[self.anneal_strategy] then
      raise("SWALR: option 'anneal_strategy' must be cos or linear, got '%s'",
            self.anneal_strategy)
    end
    self.swa_lr = Scheduler.per_group(self, "swa_lr", self.swa_lr)
  end,
  next_lr = function(self, lr, _, _, i)
    local total, anneal = self.anneal_epochs, ANNEAL[self.anneal_strategy]
    local step, target = self._step_count - 1, self.swa_lr[i]
    if total == 0 and step < 1 then step = 1 end
    local function part(n)
      local t = n / (total > 0 and total or 1)
      return anneal(t < 0 and 0 or min(t, 1))
    end
    local before, now = part(step - 1), part(step)
    local start = before == 1 and target or
                  (lr - before * target) / (1 - before)
    return target * now + start * (1 - now)
  end,
}

return decay
