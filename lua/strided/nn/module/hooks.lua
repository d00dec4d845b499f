--- Hooks of modules: functions that see, or replace, what a module gets and
-- returns, and the gradients of both.
--
--     local handle = net.conv:register_forward_hook(function(m, inputs, y)
--       print(m, y.shape)
--     end)
--     net(x)
--     handle:remove()
--
-- Hooks of one kind are called in the order of their registration.
--
-- @module strided.nn.module.hooks

local st = require "strided"
local callable = require "strided.argument.callable"
local raise = require "strided.argument.caller_error"

local getmetatable, ipairs, is_grad_enabled, is_tensor, remove, select,
  setmetatable, type = getmetatable, ipairs, st.is_grad_enabled, st.is_tensor,
  table.remove, select, setmetatable, type
local unpack = unpack or table.unpack

local hooks = {}

-- The private key of a module's hooks: false, or {pre =, forward =,
-- backward_pre =, backward =}, lists.
local KEY = {}
hooks.KEY = KEY

local function pack(...) return {n = select("#", ...), ...} end

-- -- Handles -----------------------------------------------------------------

local Handle = {}
Handle.__index = Handle

--- Removes the hook. A second call does nothing.
-- @function Handle:remove
function Handle:remove()
  local lists, list = self.lists, self.list
  for i, entry in ipairs(list) do
    if entry == self.entry then
      remove(list, i)
      break
    end
  end
  if self.module[KEY] == lists and not (lists.pre[1] or lists.forward[1] or
     lists.backward_pre[1] or lists.backward[1]) then
    self.module[KEY] = false
  end
end

--- Removes a function from the hooks of a kind.
-- @local
function hooks.remove(module, kind, fn)
  local lists = module[KEY]
  for _, entry in ipairs(lists and lists[kind] or {}) do
    if entry[1] == fn then
      Handle.remove {module = module, lists = lists, list = lists[kind],
                     entry = entry}
      return
    end
  end
end

local function register(module, name, kind, hook)
  callable(name, hook)
  local lists = module[KEY]
  if not lists then
    lists = {pre = {}, forward = {}, backward_pre = {}, backward = {}}
    module[KEY] = lists
  end
  local list, entry = lists[kind], {hook}
  list[#list + 1] = entry
  return setmetatable({module = module, lists = lists, list = list,
                       entry = entry}, Handle)
end

-- -- Computed parameters -----------------------------------------------------

-- The hooks that compute parameters, of all modules.
local COMPUTES = setmetatable({}, {__mode = "k"})

--- Registers a hook that computes parameters of a module before each call.
-- @local
function hooks.register_compute(module, hook)
  COMPUTES[hook] = true
  module:register_forward_pre_hook(hook)
end

--- Computes the parameters of a module whose forward is not called, for one
-- that reads them. Returns the module.
-- @local
function hooks.computed(module)
  local lists = module[KEY]
  for _, entry in ipairs(lists and lists.pre or {}) do
    if COMPUTES[entry[1]] then entry[1](module) end
  end
  return module
end

-- -- Gradients ---------------------------------------------------------------

--- The list that a hook returned in place of a list of n gradients.
local function replaced(name, got, n)
  if got == nil then return nil end
  local list = is_tensor(got) and {n = 1, got} or got
  if type(list) ~= "table" or (list.n or #list) > n then
    raise("%s: the hook must return nothing, or %d gradients", name, n)
  end
  return list
end

--- An identity of tensors that calls fn with the list of their gradients; fn
-- returns the list of those to pass on.
local function watch(tensors, fn)
  local identity = st.autograd.Function {
    forward = function(_, ...) return ... end,
    backward = function(_, ...)
      return unpack(fn(pack(...)), 1, #tensors)
    end,
  }
  return pack(identity(unpack(tensors)))
end

--- The hooks of a list as they are now: one may remove itself.
local function copy(list)
  if not list[1] then return list end
  return {unpack(list)}
end

--- Watches the tensors among `values` that require gradients; true if there are
-- any. fn gets and returns gradients at the positions of values.
local function watch_values(values, fn)
  local tensors, places = {}, {}
  for i = 1, values.n do
    if is_tensor(values[i]) and values[i].requires_grad then
      tensors[#tensors + 1], places[#places + 1] = values[i], i
    end
  end
  if not tensors[1] then return false end
  local watched = watch(tensors, function(grads)
    local all = {n = values.n}
    for k, i in ipairs(places) do all[i] = grads[k] end
    all = fn(all)
    local out = {}
    for k, i in ipairs(places) do out[k] = all[i] end
    return out
  end)
  for k, i in ipairs(places) do values[i] = watched[k] end
  return true
end

--- What forward returns; the hooks of gradients are called in the backward
-- pass: those of the inputs last.
local function forward_watched(module, lists, inputs)
  local grad_output
  local function finish(grads)
    for _, entry in ipairs(copy(lists.backward)) do
      grads = replaced("register_full_backward_hook",
                       entry[1](module, grads, grad_output), grads.n) or grads
    end
    return grads
  end
  local has_inputs = watch_values(inputs, finish)
  local outputs = pack(module:forward(unpack(inputs, 1, inputs.n)))
  watch_values(outputs, function(grads)
    for _, entry in ipairs(copy(lists.backward_pre)) do
      grads = replaced("register_full_backward_pre_hook",
                       entry[1](module, grads), grads.n) or grads
    end
    grad_output = grads
    if not has_inputs then finish {n = inputs.n} end
    return grads
  end)
  return outputs
end

-- -- Calls -------------------------------------------------------------------

--- Calls a module that has hooks.
-- @local
function hooks.call(module, ...)
  local lists, inputs = module[KEY], pack(...)
  for _, entry in ipairs(copy(lists.pre)) do
    local got = pack(entry[1](module, inputs))
    if got[1] ~= nil then
      inputs = got
      if got.n == 1 and type(got[1]) == "table" and
         not getmetatable(got[1]) then
        inputs = {n = got[1].n or #got[1], unpack(got[1])}
      end
    end
  end
  local outputs
  if is_grad_enabled() and (lists.backward[1] or lists.backward_pre[1]) then
    outputs = forward_watched(module, lists, inputs)
  else
    outputs = pack(module:forward(unpack(inputs, 1, inputs.n)))
  end
  for _, entry in ipairs(copy(lists.forward)) do
    local got = pack(entry[1](module, inputs,
                              unpack(outputs, 1, outputs.n)))
    if got[1] ~= nil then outputs = got end
  end
  return unpack(outputs, 1, outputs.n)
end

-- -- Methods -----------------------------------------------------------------

--- Adds the methods to nn.Module.
-- @local
function hooks.add_methods(Module)
  --- Registers hook(module, inputs), called before forward with the list of its
  -- arguments. It may change the list, or return other arguments.
  -- @function Module:register_forward_pre_hook
  -- @tparam function hook
  -- @return a handle, whose method `remove` removes the hook
  function Module:register_forward_pre_hook(hook)
    return register(self, "register_forward_pre_hook", "pre", hook)
  end

  --- Registers hook(module, inputs, ...), called after forward with the list of
  -- its arguments and with its results. What it returns replaces the results.
  -- @function Module:register_forward_hook
  -- @tparam function hook
  -- @return a handle, whose method `remove` removes the hook
  function Module:register_forward_hook(hook)
    return register(self, "register_forward_hook", "forward", hook)
  end

  --- Registers hook(module, grad_inputs, grad_outputs), called in the backward
  -- pass when the gradients of the module's inputs are known; if no input
  -- requires one, when those of its outputs are. Both are lists by position,
  -- nil where there is no gradient. The hook may return a tensor or a list in
  -- place of grad_inputs.
  -- @function Module:register_full_backward_hook
  -- @tparam function hook
  -- @return a handle, whose method `remove` removes the hook
  function Module:register_full_backward_hook(hook)
    return register(self, "register_full_backward_hook", "backward", hook)
  end

  --- Registers hook(module, grad_outputs), called in the backward pass before
  -- the gradients of the module are computed. It may return a tensor or a list
  -- in place of grad_outputs.
  -- @function Module:register_full_backward_pre_hook
  -- @tparam function hook
  -- @return a handle, whose method `remove` removes the hook
  function Module:register_full_backward_pre_hook(hook)
    return register(self, "register_full_backward_pre_hook", "backward_pre",
                    hook)
  end
end

return hooks
