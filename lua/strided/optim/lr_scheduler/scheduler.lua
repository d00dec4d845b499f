--- The base class of schedulers.
--
-- A class of schedulers has the fields
--
--   name
--   positional  the names of the arguments after the optimizer
--   types       of those that are no positive numbers
--   defaults    the options and their default values; false for none
--   prepare     checks the arguments, and sets what depends on them
--   next_lr     the next lr of a group, from the scheduler, the last lr, the
--               base lr and the group
--   lr_at_0     optional: the same at epoch 0, for SequentialLR
--   is_per_group  true if next_lr needs a value of each group that was set
--               when the scheduler was made
--
-- Schedulers compute lr from the last one where PyTorch's do, so they can be
-- chained. The arguments and the counters are fields with PyTorch's names.
--
-- @module strided.optim.lr_scheduler.scheduler

local guard = require "strided.name.guard"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local ipairs, pairs, select, setmetatable, type =
  ipairs, pairs, select, setmetatable, type
local tostring = tostring

local Scheduler = {}

-- -- Arguments ---------------------------------------------------------------

local function is_optimizer(value)
  return type(value) == "table" and type(value.param_groups) == "table"
end

function Scheduler.check_optimizer(class, optimizer)
  if not is_optimizer(optimizer) then
    raise("%s: the first argument must be an optimizer, got %s", class.name,
          type(optimizer))
  end
end

local function check_positional(class, name, value)
  local kind = class.types and class.types[name] or "number"
  if kind ~= "any" and type(value) ~= kind then
    local is_named = type(value) == "table" and value[name] ~= nil
    raise("%s: argument '%s' must be a %s, got %s%s", class.name, name, kind,
          type(value), is_named and "; it is not in a table: write "
          .. class.name .. "(optimizer, " .. tostring(value[name]) .. ")" or "")
  elseif kind == "number" and (value <= 0 or value ~= value) then
    raise("%s: argument '%s' must be positive, got %g", class.name, name, value)
  end
end

local function check_option(class, key, value)
  local default = class.defaults[key]
  if default ~= false and type(default) ~= "boolean" and
     type(value) ~= type(default) and type(value) ~= "table" then
    raise("%s: option '%s' must be a %s, got %s", class.name, key,
          type(default), type(value))
  end
end

--- Sets the arguments as fields.
local function read(self, class, ...)
  local n = #class.positional
  for i, name in ipairs(class.positional) do
    local value = select(i, ...)
    check_positional(class, name, value)
    self[name] = value
  end
  for key, value in pairs(class.defaults) do self[key] = value end
  local given = options(class.name, (select(n + 1, ...)), class.defaults)
  for key, value in pairs(given) do
    check_option(class, key, value)
    self[key] = value
  end
end

--- A number, or a list of one per group, as such a list.
function Scheduler.per_group(self, name, value)
  local list, groups = {}, self.optimizer.param_groups
  if type(value) == "table" and #value ~= #groups then
    raise("%s: '%s' has %d values, the optimizer %d groups", self.name, name,
          #value, #groups)
  end
  for i in ipairs(groups) do
    list[i] = type(value) == "table" and value[i] or value
  end
  return list
end

-- -- Construction ------------------------------------------------------------

--- Sets the base lr of each group, which the first scheduler of an optimizer
-- determines, and makes the first step.
function Scheduler.begin(self)
  self.base_lrs = {}
  for i, group in ipairs(self.optimizer.param_groups) do
    group.initial_lr = group.initial_lr or group.lr
    self.base_lrs[i] = group.initial_lr
  end
  self.last_epoch = -1
  self:initial_step()
end

local function create(class, optimizer, ...)
  Scheduler.check_optimizer(class, optimizer)
  local self = setmetatable({optimizer = optimizer}, class)
  read(self, class, ...)
  if class.prepare then class.prepare(self) end
  Scheduler.begin(self)
  if class.finish then class.finish(self) end
  return self
end

--- Makes a class callable, with the methods of Scheduler.
function Scheduler.declare(class)
  class.defaults, class.positional = class.defaults or {},
                                     class.positional or {}
  class.__index = class
  return setmetatable(class, {__index = Scheduler,
                              __call = class.create or create})
end

-- -- Steps -------------------------------------------------------------------

--- Raises an error if the optimizer got groups that the scheduler has no values
-- for.
function Scheduler.check_groups(self)
  local known, now = #self.base_lrs, #self.optimizer.param_groups
  if known ~= now then
    raise("%s: the optimizer has %d parameter groups, and had %d when the "
          .. "scheduler was made; make the scheduler after add_param_group",
          self.name, now, known)
  end
end

--- The lr of all groups.
function Scheduler.note_lr(self)
  self._last_lr = {}
  for i, group in ipairs(self.optimizer.param_groups) do
    self._last_lr[i] = group.lr
  end
end

local function update(self, rule)
  local groups, values = self.optimizer.param_groups, {}
  for i, group in ipairs(groups) do
    values[i] = rule(self, group.lr, self.base_lrs[i], group, i)
  end
  for i, group in ipairs(groups) do group.lr = values[i] end
  self:note_lr()
end

--- Sets lr for the next epoch (or step, where it counts these). Call it after
-- the optimizer's step.
function Scheduler:step()
  if self.is_per_group then Scheduler.check_groups(self) end
  self._step_count = self._step_count + 1
  self.last_epoch = self.last_epoch + 1
  update(self, self.next_lr)
end

--- The step of the constructor.
-- @local
function Scheduler:initial_step()
  self._step_count, self.is_initial = 0, true
  self:step()
  self.is_initial = nil
end

--- Begins at epoch 0, as SequentialLR demands.
-- @local
function Scheduler:restart()
  if not self.next_lr then
    raise("%s: can only be the first one of a SequentialLR", self.name)
  end
  Scheduler.check_groups(self)
  self.last_epoch = 0
  update(self, self.lr_at_0 or self.next_lr)
end

--- Takes the constructor's step back.
-- @local
function Scheduler:undo()
  for _, each in ipairs(self._schedulers or {}) do each:undo() end
  if not self._schedulers then self.last_epoch = self.last_epoch - 1 end
end

--- The lr of each group, as the last step set it.
-- @treturn table
function Scheduler:get_last_lr()
  local list = {}
  for i, lr in ipairs(self._last_lr) do list[i] = lr end
  return list
end

-- -- State -------------------------------------------------------------------

local function copy(value)
  if type(value) ~= "table" then return value end
  local list = {}
  for key, each in pairs(value) do list[key] = each end
  return list
end

--- The counters and arguments, except functions.
-- @treturn table of numbers, strings, booleans and lists
function Scheduler:state_dict()
  local saved = {}
  for key, value in pairs(self) do
    if key == "_schedulers" then
      saved[key] = {}
      for i, each in ipairs(value) do saved[key][i] = each:state_dict() end
    elseif key ~= "optimizer" and type(value) ~= "function" then
      saved[key] = copy(value)
    end
  end
  return saved
end

local function check_saved(self, saved)
  if type(saved) ~= "table" then
    raise("load_state_dict: argument 'saved' must be a table, got %s",
          type(saved))
  end
  for key, value in pairs(saved) do
    local own = self[key]
    if own == nil then
      raise("load_state_dict: %s has no '%s'", self.name, tostring(key))
    elseif type(own) ~= type(value) and
           not (self.defaults[key] == false and (not own or not value)) then
      raise("load_state_dict: '%s' of %s must be a %s, got %s", key, self.name,
            type(own), type(value))
    end
  end
  for i, each in ipairs(self._schedulers or {}) do
    check_saved(each, (saved._schedulers or {})[i])
  end
end

--- Loads what state_dict returned. The lr of the optimizer is part of the state
-- of the optimizer.
-- @tparam table saved
function Scheduler:load_state_dict(saved)
  check_saved(self, saved)
  for key, value in pairs(saved) do
    if key ~= "_schedulers" then self[key] = copy(value) end
  end
  for i, each in ipairs(self._schedulers or {}) do
    each:load_state_dict(saved._schedulers[i])
  end
end

guard.methods(Scheduler, "scheduler", function(value)
  return type(value) == "table" and value.optimizer ~= nil
end, {"step", "get_last_lr", "state_dict", "load_state_dict"})

return Scheduler
