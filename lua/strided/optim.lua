--- Optimizers: they update parameters with their gradients.
--
--     local optimizer = optim.AdamW(net:parameters(), {lr = 1e-3})
--     optimizer:zero_grad()
--     loss:backward()
--     optimizer:step()
--
-- They compute the same as PyTorch's optimizers of these names. Parameters are
-- a list of tensors, or a list of groups with separate options:
--
--     optim.SGD({{params = head:parameters(), lr = 0.1},
--                {params = body:parameters()}}, {lr = 0.01})
--
-- The groups are in `optimizer.param_groups`, where options may be changed at
-- any time: `optimizer.param_groups[1].lr = 0.001`.
--
-- @module strided.optim

local st = require "strided"
local callable = require "strided.callable"
local guard = require "strided.guard"
local raise = require "strided.caller_error"
local options = require "strided.options"

local enable_grad, format, is_tensor, keep, no_grad, scope, sqrt, tensor,
  view_as_real, zeros_like = st.enable_grad, string.format, st.is_tensor,
  st.keep, st.no_grad, st.scope, math.sqrt, st.tensor, st.view_as_real,
  st.zeros_like
local ipairs, pairs, rawset, setmetatable, tonumber, tostring, type =
  ipairs, pairs, rawset, setmetatable, tonumber, tostring, type

local FLOAT64, INT64 = {dtype = "float64"}, {dtype = "int64"}
local ZERO_GRAD = {set_to_none = true}
local COMPLEX = {[st.complex32] = true, [st.complex64] = true,
                 [st.complex128] = true}

-- The base class. A class of optimizers has the fields
--   name
--   defaults   the options and their default values
--   known      the names of the options, and `params`
--   kept       the state per parameter: name -> "number" or "tensor"
--   needs      true if a group with these options needs a state entry
--   check      returns an error message if a group's options are incompatible
--   update     updates one parameter
-- and an optimizer has `param_groups`, and `state` by parameter.
local Optimizer = {}

-- -- Groups ------------------------------------------------------------------

--- Returns an error message if an option has an invalid value, else nil. The
-- default determines the type.
local function check_option(value, default)
  if type(value) ~= type(default) then
    return "must be a " .. type(default) .. ", got " .. type(value)
  elseif type(value) == "number" and (value < 0 or value ~= value) then
    return format("must not be negative, got %g", value)
  end
  for i = 1, type(default) == "table" and #default or 0 do
    local x = value[i]
    if type(x) ~= "number" or not (x >= 0 and x < 1) then
      return "must be " .. #default .. " numbers from 0 to below 1"
    end
  end
end

local function copy(value)
  if type(value) ~= "table" then return value end
  local list = {}
  for i, each in ipairs(value) do list[i] = each end
  return list
end

local function check_group(class, group)
  for key, default in pairs(class.defaults) do
    local why = check_option(group[key], default)
    if why then raise("%s: option '%s' %s", class.name, key, why) end
  end
  local why = class.check and class.check(group)
  if why then raise("%s: %s", class.name, why) end
end

local function check_parameter(class, p, known)
  if not is_tensor(p) then
    raise("%s: a parameter must be a Tensor, got %s", class.name, type(p))
  elseif not p.is_leaf then
    raise("%s: a parameter must be a leaf, this one was computed", class.name)
  elseif known[p] then
    raise("%s: a parameter is listed twice", class.name)
  end
  known[p] = true
end

--- The state tensor `name` of parameter p, created if it does not exist. It is
-- taken out of the scope that a step may run in.
local function room(state, name, p)
  local t = state[name]
  if not t then
    t = keep(zeros_like(p))
    state[name] = t
  end
  return t
end

local function make_state(class, group, p)
  local state = {}
  for key, kind in pairs(class.kept) do
    if kind == "number" then
      state[key] = 0
    elseif class.needs(group, key) then
      room(state, key, p)
    end
  end
  return state
end

--- Creates a group from its options and those shared by all groups.
local function make_group(class, given, shared, known)
  if type(given) ~= "table" or type(given.params) ~= "table" then
    raise("%s: a group must be a table with a list 'params'", class.name)
  end
  for _, p in ipairs(given.params) do check_parameter(class, p, known) end
  local group = {params = copy(given.params)}
  for _, from in ipairs {class.defaults, shared, given} do
    for key, value in pairs(options(class.name, from, class.known)) do
      if key ~= "params" then group[key] = copy(value) end
    end
  end
  check_group(class, group)
  return group
end

local function create(class, list, shared)
  if type(list) == "table" and type(list.parameters) == "function" then
    raise("%s: a list of parameters is expected, got a module: pass "
          .. "module:parameters()", class.name)
  elseif is_tensor(list) then
    raise("%s: a list of parameters is expected, got a Tensor: pass {t}",
          class.name)
  elseif type(list) ~= "table" or list[1] == nil then
    raise("%s: a list of parameters is expected, got %s", class.name,
          is_tensor(list) and "a Tensor" or
          type(list) == "table" and "an empty one" or type(list))
  end
  if is_tensor(list[1]) then list = {{params = list}} end
  if type(shared) == "number" then
    raise("%s: the options must be a table, got number; pass {lr = %g}",
          class.name, shared)
  end
  shared = options(class.name, shared, class.defaults)
  local groups, state, known = {}, {}, {}
  for i, given in ipairs(list) do
    groups[i] = make_group(class, given, shared, known)
    for _, p in ipairs(groups[i].params) do
      state[p] = make_state(class, groups[i], p)
    end
  end
  return setmetatable({param_groups = groups, state = state}, class)
end

--- Raises an error for optimizer.lr: each group has its own options.
local function check_field(class, key)
  if class.defaults[key] ~= nil then
    raise("%s: write optimizer.param_groups[1].%s", class.name, key)
  end
end

local function declare(class)
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

--- t itself, or a view of a complex t as pairs of real numbers.
local function real(t) return COMPLEX[t.dtype] and view_as_real(t) or t end

local function step(self)
  local update = self.update
  for _, group in ipairs(self.param_groups) do
    for _, p in ipairs(group.params) do
      local grad = p.grad
      if grad then
        update(p, group.maximize and -grad or grad, group, self.state[p])
      end
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

-- -- State -------------------------------------------------------------------

local function to_tensor(value)
  if is_tensor(value) then return value end
  return tensor(value, type(value) ~= "boolean" and FLOAT64 or nil)
end

--- The state and the options as a flat table of tensors by name, for st.save,
-- with names such as "state.1.exp_avg" and "param_groups.1.lr".
-- @treturn table
function Optimizer:state_dict()
  local saved, n = {}, 0
  for g, group in ipairs(self.param_groups) do
    local prefix, positions = "param_groups." .. g .. ".", {}
    for i, p in ipairs(group.params) do
      n = n + 1
      positions[i] = n
      for key, value in pairs(self.state[p]) do
        saved["state." .. n .. "." .. key] = to_tensor(value)
      end
    end
    saved[prefix .. "params"] = tensor(positions, INT64)
    for key in pairs(self.defaults) do
      saved[prefix .. key] = to_tensor(group[key])
    end
  end
  return saved
end

--- Converts a tensor to a value of the default's type, or nil if it has the
-- wrong shape.
local function from_tensor(t, default)
  if type(default) == "table" then
    return t:dim() == 1 and t:numel() == #default and t:totable() or nil
  end
  if t:numel() == 1 then return t:item() end
end

--- The saved options of a group.
local function load_group(self, g, saved)
  local group, loaded = self.param_groups[g], {params = {}}
  local prefix = "param_groups." .. g .. "."
  local positions = saved[prefix .. "params"]
  if not positions or positions:numel() ~= #group.params then
    raise("load_state_dict: group %d has %d parameters here, and %s in the "
          .. "state", g, #group.params,
          positions and tostring(positions:numel()) or "none")
  end
  for key, default in pairs(self.defaults) do
    local t = saved[prefix .. key]
    loaded[key] = group[key]
    if t then loaded[key] = from_tensor(t, default) end
  end
  check_group(self, loaded)
  return loaded
end

--- Raises an error if the saved state of parameter n, in a group with these
-- options, is incomplete or has wrong shapes.
local function check_kept(self, n, p, group, saved)
  for key, kind in pairs(self.kept) do
    local name = "state." .. n .. "." .. key
    local t = saved[name]
    if not t and self.needs(group, key) then
      raise("load_state_dict: the state lacks '%s'", name)
    elseif t and kind == "number" and t:numel() ~= 1 or
           t and kind == "tensor" and not t:is_same_size(p) then
      raise("load_state_dict: '%s' does not have the shape of its parameter",
            name)
    end
  end
end

--- Loads the saved state of parameter n.
local function load_kept(self, n, p, saved)
  local state = self.state[p]
  for key, kind in pairs(self.kept) do
    local t = saved["state." .. n .. "." .. key]
    if t and kind == "tensor" then
      room(state, key, p):copy_(t)
    else
      state[key] = t and t:item()
    end
  end
end

--- Raises an error if the saved state has names that this optimizer does not
-- have, or values that are not tensors.
local function check_names(self, saved, count)
  for name, t in pairs(saved) do
    local g, option = tostring(name):match "^param_groups%.(%d+)%.([%w_]+)$"
    local n, key = tostring(name):match "^state%.(%d+)%.([%w_]+)$"
    if not (g and self.param_groups[tonumber(g)] and self.known[option] or
            n and tonumber(n) <= count and self.kept[key]) then
      raise("load_state_dict: %s has no '%s'", self.name, tostring(name))
    elseif not is_tensor(t) then
      raise("load_state_dict: '%s' must be a Tensor, got %s", name, type(t))
    end
  end
end

--- Loads a state, from state_dict or st.load, of an optimizer for parameters of
-- the same shapes in the same groups. Raises an error, before anything is
-- changed, if it does not match.
-- @tparam table saved
function Optimizer:load_state_dict(saved)
  if type(saved) ~= "table" then
    raise("load_state_dict: argument 'saved' must be a table, got %s",
          is_tensor(saved) and "Tensor" or type(saved))
  end
  local list, groups, loaded = {}, {}, {}
  for g, group in ipairs(self.param_groups) do
    for _, p in ipairs(group.params) do
      list[#list + 1], groups[#groups + 1] = p, g
    end
  end
  check_names(self, saved, #list)
  for g in ipairs(self.param_groups) do
    loaded[g] = load_group(self, g, saved)
  end
  for n, p in ipairs(list) do
    check_kept(self, n, p, loaded[groups[n]], saved)
  end
  for g, group in ipairs(self.param_groups) do
    for key in pairs(self.defaults) do group[key] = loaded[g][key] end
  end
  no_grad(function()
    for n, p in ipairs(list) do load_kept(self, n, p, saved) end
  end)
end

guard.methods(Optimizer, "optimizer", function(value)
  return type(value) == "table" and value.param_groups ~= nil
end, {"step", "zero_grad", "state_dict", "load_state_dict"})

-- -- The optimizers ----------------------------------------------------------

local optim = {}

--- Stochastic gradient descent.
-- @function SGD
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-3); `momentum` (0), the factor of the
-- previous step; `dampening` (0) of the gradient in the momentum; `nesterov`
-- (false); `weight_decay` (0); `maximize` (false)
optim.SGD = declare {
  name = "SGD",
  defaults = {lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0,
              nesterov = false, maximize = false},
  kept = {step = "number", momentum_buffer = "tensor"},
}

function optim.SGD.needs(group, key)
  return key == "step" or group.momentum ~= 0
end

function optim.SGD.check(group)
  if group.nesterov and (group.momentum == 0 or group.dampening ~= 0) then
    return "Nesterov's momentum needs a momentum and no dampening"
  end
end

function optim.SGD.update(p, grad, group, state)
  local momentum = group.momentum
  if group.weight_decay ~= 0 then
    grad = grad:add(p, {alpha = group.weight_decay})
  end
  if momentum ~= 0 then
    local is_first = state.step == 0 or not state.momentum_buffer
    local buffer = room(state, "momentum_buffer", p)
    buffer:mul_(momentum)
          :add_(grad, {alpha = is_first and 1 or 1 - group.dampening})
    grad = group.nesterov and grad:add(buffer, {alpha = momentum}) or buffer
  end
  state.step = state.step + 1
  p:add_(grad, {alpha = -group.lr})
end

--- Adam with decoupled weight decay.
-- @function AdamW
-- @tparam table params a list of tensors, or of groups
-- @tparam[opt] table options `lr` (1e-3); `betas` ({0.9, 0.999}), the decay
-- factors of the running mean and mean square of the gradients; `eps` (1e-8);
-- `weight_decay` (1e-2); `maximize` (false)
optim.AdamW = declare {
  name = "AdamW",
  defaults = {lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8,
              weight_decay = 1e-2, maximize = false},
  kept = {step = "number", exp_avg = "tensor", exp_avg_sq = "tensor"},
}

function optim.AdamW.needs() return true end

function optim.AdamW.update(p, grad, group, state)
  state.step = state.step + 1
  local lr, beta1, beta2 = group.lr, group.betas[1], group.betas[2]
  local mean, square = real(state.exp_avg), real(state.exp_avg_sq)
  p, grad = real(p), real(grad)
  p:mul_(1 - lr * group.weight_decay)
  mean:lerp_(grad, 1 - beta1)
  square:mul_(beta2):addcmul_(grad, grad, {value = 1 - beta2})
  local denominator = (square:sqrt() / sqrt(1 - beta2 ^ state.step))
                      :add_(group.eps)
  p:addcdiv_(mean, denominator,
             {value = -lr / (1 - beta1 ^ state.step)})
end

return guard.names(optim, "st.optim")
