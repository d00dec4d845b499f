--- Schedulers that change lr up and down, and the momentum down and up.
--
-- @module strided.optim.lr_scheduler

local raise = require "strided.argument.caller_error"
local Scheduler = require "strided.optim.lr_scheduler.scheduler"

local declare, per_group = Scheduler.declare, Scheduler.per_group
local cos, floor, ipairs, min, pi = math.cos, math.floor, ipairs, math.min,
  math.pi

local cycle = {}

-- -- Momentum ----------------------------------------------------------------

local function set_momentum(group, momentum)
  if group.betas then
    group.betas = {momentum, group.betas[2]}
  else
    group.momentum = momentum
  end
end

--- Starts with the largest momentum.
local function prepare_momentum(self)
  if not self.cycle_momentum then return end
  local defaults = self.optimizer.defaults
  if defaults.momentum == nil and defaults.betas == nil then
    raise("%s: %s has neither momentum nor betas; set option 'cycle_momentum' "
          .. "to false", self.name, self.optimizer.name)
  end
  self.base_momentums = per_group(self, "base_momentum", self.base_momentum)
  self.max_momentums = per_group(self, "max_momentum", self.max_momentum)
  for i, group in ipairs(self.optimizer.param_groups) do
    set_momentum(group, self.max_momentums[i])
  end
end

-- -- CyclicLR ----------------------------------------------------------------

--- The factor of the height of a cycle, by mode.
local SCALES = {
  triangular = function() return 1 end,
  triangular2 = function(_, n) return 1 / 2 ^ (n - 1) end,
  exp_range = function(self) return self.gamma ^ self.last_epoch end,
}

--- Where lr is between its bounds, and the factor of the height.
local function height(self)
  local up = self.step_size_up
  local total = up + (self.step_size_down or up)
  local ratio, n = up / total, floor(1 + self.last_epoch / total)
  local x = 1 + self.last_epoch / total - n
  local part = x <= ratio and x / ratio or (x - 1) / (ratio - 1)
  if self.scale_fn then
    return part, self.scale_fn(self.scale_mode == "cycle" and n or
                               self.last_epoch)
  end
  return part, SCALES[self.mode](self, n)
end

--- lr goes from `base_lr` to `max_lr` in `step_size_up` steps, and back in
-- `step_size_down`, again and again. Call `step` after each batch.
-- @function CyclicLR
-- @param optimizer
-- @param base_lr a number, or a list of one per group
-- @param max_lr the same
-- @tparam[opt] table options `step_size_up` (2000), `step_size_down` (the
-- same); `mode`: "triangular", "triangular2" (half the height in each cycle)
-- or "exp_range" (times `gamma` (1) in each step); or `scale_fn`, a function of
-- the number of the cycle or, if `scale_mode` ("cycle") is "iterations", of the
-- step; `cycle_momentum` (true), `base_momentum` (0.8), `max_momentum` (0.9)
cycle.CyclicLR = declare {
  name = "CyclicLR", positional = {"base_lr", "max_lr"},
  types = {base_lr = "any", max_lr = "any"}, is_per_group = true,
  defaults = {step_size_up = 2000, step_size_down = false, mode = "triangular",
              gamma = 1, scale_fn = false, scale_mode = "cycle",
              cycle_momentum = true, base_momentum = 0.8, max_momentum = 0.9},
  prepare = function(self)
    if not SCALES[self.mode] and not self.scale_fn then
      raise("CyclicLR: option 'mode' must be triangular, triangular2 or "
            .. "exp_range, got '%s'", self.mode)
    end
    self.base_lr = per_group(self, "base_lr", self.base_lr)
    self.max_lr = per_group(self, "max_lr", self.max_lr)
    for i, group in ipairs(self.optimizer.param_groups) do
      group.lr = self.base_lr[i]
    end
    prepare_momentum(self)
  end,
  finish = function(self) self.base_lrs = self.base_lr end,
  next_lr = function(self, _, base_lr, group, i)
    local part, scale = height(self)
    if self.cycle_momentum then
      local most = self.max_momentums[i]
      set_momentum(group, most - (most - self.base_momentums[i]) * part * scale)
    end
    return base_lr + (self.max_lr[i] - base_lr) * part * scale
  end,
}

-- -- OneCycleLR --------------------------------------------------------------

--- From one number to another, after a part of the way.
local ANNEAL = {
  cos = function(from, to, part)
    return to + (from - to) / 2 * (cos(pi * part) + 1)
  end,
  linear = function(from, to, part) return (to - from) * part + from end,
}

--- The ends of the phases, and what lr and momentum are at them.
local function phases(self)
  local total, up = self.total_steps, self.pct_start
  local start = {0, "initial", "max"}
  local top = {up * total - 1, "max", "base"}
  local last = {total - 1, "min", "max"}
  if self.three_phase then
    return {start, top, {2 * up * total - 2, "initial", "max"}, last}
  end
  return {start, top, last}
end

local function prepare_one_cycle(self)
  local total = self.total_steps
  if not total and self.epochs and self.steps_per_epoch then
    total = self.epochs * self.steps_per_epoch
  end
  if not total or total <= 0 then
    raise "OneCycleLR: option 'total_steps' must be positive, or 'epochs' and "
          "'steps_per_epoch' given"
  end
  self.total_steps = total
  if not (self.pct_start >= 0 and self.pct_start <= 1) then
    raise("OneCycleLR: option 'pct_start' must be from 0 to 1, got %g",
          self.pct_start)
  elseif not ANNEAL[self.anneal_strategy] then
    raise("OneCycleLR: option 'anneal_strategy' must be cos or linear, got "
          .. "'%s'", self.anneal_strategy)
  end
  self.max_lr = per_group(self, "max_lr", self.max_lr)
  for i, group in ipairs(self.optimizer.param_groups) do
    group.initial_lr = self.max_lr[i] / self.div_factor
  end
  prepare_momentum(self)
end

--- lr goes from `max_lr / div_factor` up to `max_lr` and down to that start
-- divided by `final_div_factor`, once. Call `step` after each batch. The end is
-- reached one step before `total_steps`, and lr stays there in that step, where
-- PyTorch's goes up again or below 0.
-- @function OneCycleLR
-- @param optimizer
-- @param max_lr a number, or a list of one per group
-- @tparam[opt] table options `total_steps`, or `epochs` and `steps_per_epoch`;
-- `pct_start` (0.3), the part of the steps that goes up; `anneal_strategy`
-- ("cos" or "linear"); `div_factor` (25), `final_div_factor` (1e4);
-- `three_phase` (false): first down to the start, then to the end;
-- `cycle_momentum` (true), `base_momentum` (0.85), `max_momentum` (0.95)
cycle.OneCycleLR = declare {
  name = "OneCycleLR", positional = {"max_lr"}, types = {max_lr = "any"},
  defaults = {total_steps = false, epochs = false, steps_per_epoch = false,
              pct_start = 0.3, anneal_strategy = "cos", cycle_momentum = true,
              base_momentum = 0.85, max_momentum = 0.95, div_factor = 25,
              final_div_factor = 1e4, three_phase = false},
  is_per_group = true, prepare = prepare_one_cycle,
  next_lr = function(self, _, base_lr, group, i)
    if self.last_epoch > self.total_steps then
      raise("OneCycleLR: this is step %d of %d", self.last_epoch,
            self.total_steps)
    end
    local step, list = min(self.last_epoch, self.total_steps - 1), phases(self)
    local n = 2
    while n < #list and step > list[n][1] do n = n + 1 end
    local from, to = list[n - 1], list[n]
    local length = to[1] - from[1]
    local part = length == 0 and 1 or (step - from[1]) / length
    local anneal = ANNEAL[self.anneal_strategy]
    if self.cycle_momentum then
      local at = {base = self.base_momentums[i], max = self.max_momentums[i]}
      set_momentum(group, anneal(at[from[3]], at[to[3]], part))
    end
    local at = {initial = base_lr, max = self.max_lr[i],
                min = base_lr / self.final_div_factor}
    return anneal(at[from[2]], at[to[2]], part)
  end,
}

return cycle
