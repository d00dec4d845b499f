--- The base class of optimizers: groups of parameters, steps.
--
-- A class of optimizers has the fields
--
--   name
--   defaults   the options and their default values; check.OPTIONAL for those
--              that may be nil, whose types are in `types`
--   ranges     option -> function that returns what is wrong with a value
--   check_parameter  raises for a parameter of the wrong shape
--   kept       the state per parameter: name -> "number", "tensor" of the
--              parameter's shape, "factor", a tensor of its dtype but another
--              shape, or "any"; the last two may be missing
--   initial    name -> the value of a new state, or a function of the group
--   needs      true if a group with these options needs a state entry
--   lists      the names of the state tensors of a step, in their order
--   has_one_group, flatten, unflatten   of LBFGS
--   check      returns an error message if a group's options are incompatible
--   key        a value that must be the same for all parameters of one `update`
--   update     updates the parameters of a batch
--
-- and an optimizer has `param_groups`, and `state` by parameter.
--
-- Note [Master weights]
-- A step in bfloat16 or float16 is lost if it is smaller than the last bit of
-- a parameter. With the option `master_weights` such a parameter has a copy in
-- float32, `state.master`, and its states are float32. The first step makes the
-- copy; a step changes it, and rounds it to the parameter.
--
-- Note [Batches of parameters]
-- A step makes batches of a group's parameters: they have the same number of
-- steps and may go through one call of a fused operator. A batch has the list
-- `params`, the list `grads`, and a list of each state. Complex tensors are
-- there as pairs of real numbers.
--
-- @module strided.optim.optimizer

local st = require "strided"
local callable = require "strided.argument.callable"
local check = require "strided.optim.check"
local guard = require "strided.name.guard"
local raise = require "strided.argument.caller_error"
local options = require "strided.option.options"
local state_dict = require "strided.optim.state_dict"

local enable_grad, full_like, is_tensor, no_grad, scope, view_as_real,
  zeros_like = st.enable_grad, st.full_like, st.is_tensor, st.no_grad, st.scope,
  st.view_as_real, st.zeros_like
local keep = require "strided.core".keep_from_all
local ipairs, pairs, rawset, setmetatable, type =
  ipairs, pairs, rawset, setmetatable, type

local ZERO_GRAD = {set_to_none = true}
local COMPLEX, FLOAT64, HALF = {}, {}, {} -- sets of dtypes
for _, d in ipairs(require "strided.core".dtypes()) do
  COMPLEX[d.name] = d.kind == "complex"
  FLOAT64[d.name] = d.part == "float64"
  HALF[d.name] = d.kind == "float" and d.size == 2
end

local Optimizer = {}

-- -- State of a parameter ----------------------------------------------------

--- t itself, or a view of a complex t as pairs of real numbers.
local function real(t) return COMPLEX[t.dtype] and view_as_real(t) or t end

local function initial(class, group, key)
  local value = class.initial and class.initial[key]
  if type(value) == "function" then return value(group) end
  return value
end

--- Note [Master weights]: true if p has a copy.
function Optimizer.has_master(p, group)
  return group.master_weights and HALF[p.dtype] or false
end

--- The dtype of the states of p.
local function state_dtype(p, group)
  return Optimizer.has_master(p, group) and st.float32 or p.dtype
end

--- The state tensor `name` of parameter p, created if it does not exist. It is
-- taken out of the scopes that a step may run in.
function Optimizer.room(class, state, name, p, group)
  local t, dtype = state[name], state_dtype(p, group)
  if not t or t.dtype ~= dtype then
    local value = initial(class, group, name)
    if value and COMPLEX[p.dtype] then value = st.complex(value, value) end
    t = keep(value and full_like(p, value, {dtype = dtype}) or
             zeros_like(p, {dtype = dtype}))
    state[name] = t
  end
  return t
end

local function make_state(class, group, p)
  local state = {}
  for key, kind in pairs(class.kept) do
    if kind == "number" then
      state[key] = initial(class, group, key) or 0
    elseif kind == "tensor" and class.needs(group, key) then
      Optimizer.room(class, state, key, p, group)
    end
  end
  return state
end

-- -- Groups ------------------------------------------------------------------

--- Adds a group of parameters, with options of its own.
-- @tparam table group `params`, a list of tensors, and options
function Optimizer:add_param_group(group)
  local known, params = {}, group
  if self.has_one_group and self.param_groups[1] then
    raise("%s: all parameters must be in one group", self.name)
  end
  for _, each in ipairs(self.param_groups) do
    for _, p in ipairs(each.params) do known[p] = true end
  end
  if type(group) == "table" and is_tensor(group.params) then
    params = {}
    for key, value in pairs(group) do params[key] = value end
    params.params = {group.params}
  end
  local made = check.make_group(self, params, self.shared, known)
  for _, p in ipairs(made.params) do
    if self.check_parameter then self.check_parameter(p) end
    self.state[p] = make_state(self, made, p)
  end
  self.param_groups[#self.param_groups + 1] = made
end

local function create(class, list, shared)
  list = check.groups(class, list)
  if type(shared) == "number" then
    raise("%s: the options must be a table, got number; pass {lr = %g}",
          class.name, shared)
  end
  shared = options(class.name, shared, class.defaults)
  local self = setmetatable({param_groups = {}, state = {}, shared = shared},
                            class)
  for _, given in ipairs(list) do Optimizer.add_param_group(self, given) end
  return self
end

--- Raises an error for optimizer.lr: each group has its own options.
local function check_field(class, key)
  if class.defaults[key] ~= nil then
    raise("%s: write optimizer.param_groups[1].%s", class.name, key)
  end
end

--- Makes a class callable, with the methods of Optimizer.
-- @tparam table class
-- @treturn table class
function Optimizer.declare(class)
  if not class.has_one_group then
    class.types = class.types or {}
    class.defaults.master_weights = check.OPTIONAL
    class.types.master_weights, class.kept.master = "boolean", "any"
  end
  class.known = {params = true}
  for key in pairs(class.defaults) do class.known[key] = true end
  function class.__index(_, key)
    check_field(class, key)
    return class[key]
  end
  function class.__newindex(self, key, value)
    check_field(class, key)
    rawset(self, key, value)
  end
  return setmetatable(class, {__index = Optimizer, __call = create})
end

-- -- Steps -------------------------------------------------------------------

--- What parameters of one batch have in common, unless the class says more.
function Optimizer.key(state) return state.step end

function Optimizer.needs() return true end

--- The batch that a parameter belongs to.
local function find_batch(batches, key, is_double, names)
  for _, batch in ipairs(batches) do
    if batch.key == key and batch.is_double == is_double then return batch end
  end
  local batch = {key = key, is_double = is_double, params = {}, grads = {},
                 states = {}, rounded = {}}
  for _, name in ipairs(names) do batch[name] = {} end
  batches[#batches + 1] = batch
  return batch
end

local function add_to_batch(batch, p, grad, state, names)
  local n = #batch.params + 1
  local is_complex = COMPLEX[p.dtype]
  if state.master then
    batch.rounded[#batch.rounded + 1] = {p, state.master}
    p = state.master
  end
  batch.params[n] = is_complex and view_as_real(p) or p
  batch.grads[n] = is_complex and real(grad) or grad
  batch.states[n] = state
  for _, name in ipairs(names) do
    local t = state[name]
    batch[name][n] = is_complex and view_as_real(t) or t
  end
end

--- Note [Batches of parameters].
local function make_batches(self, group)
  local batches, names, state_of = {}, self.lists(group), self.state
  local key_of, room = self.key, Optimizer.room
  for _, p in ipairs(group.params) do
    local grad = p.grad
    if grad then
      local state = state_of[p]
      local key = key_of(state, group)
      if not state.master and self.has_master(p, group) then
        state.master = keep(p:detach():float())
      end
      for _, name in ipairs(names) do
        if not state[name] then room(self, state, name, p, group) end
      end
      local batch = find_batch(batches, key, FLOAT64[p.dtype] or false, names)
      add_to_batch(batch, p, grad, state, names)
    end
  end
  return batches
end

local function step(self)
  local update = self.update
  for _, group in ipairs(self.param_groups) do
    for _, batch in ipairs(make_batches(self, group)) do
      for _, state in ipairs(batch.states) do state.step = state.step + 1 end
      update(batch, group, batch.states[1])
      for _, pair in ipairs(batch.rounded) do pair[1]:copy_(pair[2]) end
    end
  end
end

--- Updates the parameters that have a gradient. Temporaries are released at the
-- end of the step, without waiting for the garbage collector.
-- @tparam[opt] function closure called before; returns the loss
-- @return what the closure returns
function Optimizer:step(closure)
  local loss
  if closure ~= nil then
    callable("step", closure)
    loss = enable_grad(closure)
  end
  no_grad(scope, step, self)
  return loss
end

--- Resets the gradients of the parameters to nil.
-- @tparam[opt] table options `set_to_none = false`: to zeros
function Optimizer:zero_grad(given)
  local is_zero = options("zero_grad", given, ZERO_GRAD).set_to_none == false
  for _, group in ipairs(self.param_groups) do
    for _, p in ipairs(group.params) do
      p.grad = is_zero and p.grad and zeros_like(p.grad) or nil
    end
  end
end

-- -- State of the optimizer --------------------------------------------------

--- The state and the options as a flat table of tensors by name, for st.save,
-- with names such as "state.1.exp_avg" and "param_groups.1.lr".
-- @treturn table
function Optimizer:state_dict() return state_dict.save(self) end

--- Loads a state, from state_dict or st.load, of an optimizer for parameters of
-- the same shapes in the same groups. Raises an error, before anything is
-- changed, if it does not match.
-- @tparam table saved
function Optimizer:load_state_dict(saved) state_dict.load(self, saved) end

guard.methods(Optimizer, "optimizer", function(value)
  return type(value) == "table" and value.param_groups ~= nil
end, {"step", "zero_grad", "add_param_group", "state_dict", "load_state_dict"})

return Optimizer
