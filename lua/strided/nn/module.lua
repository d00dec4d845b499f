--- nn.Module, the base class of layers and networks: functions with parameters.
--
-- A module is a table. Its fields that hold a parameter or another module are
-- registered automatically, in the order in which they were first assigned,
-- followed by the elements 1, 2, .... A module's own parameters precede those
-- of the modules within, as in PyTorch. Names in nested modules are joined by
-- dots, as in "hidden.weight".
--
--     local Net = nn.Module:extend "Net"
--
--     function Net:init(width)
--       self.hidden = nn.Linear(64, width)
--       self.out = nn.Linear(width, 10)
--     end
--
--     function Net:forward(x)
--       return self.out(self.hidden(x):relu())
--     end
--
--     local net = Net(128)
--     local y = net(x)
--
-- Modules in a plain table are not registered; use nn.ModuleList or
-- nn.ModuleDict, and nn.Sequential for layers that are called in turn.
--
-- Hooks are in strided.nn.module.hooks, states and conversions in
-- strided.nn.module.state.
--
-- @function nn.Module
-- @module strided.nn.module

local st = require "strided"
local guard = require "strided.name.guard"
local hooks = require "strided.nn.module.hooks"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local is_tensor = st.is_tensor
local getmetatable, ipairs, next, rawget, rawset, select, setmetatable,
  tonumber, type = getmetatable, ipairs, next, rawget, rawset, select,
  setmetatable, tonumber, type

local ZERO_GRAD = {set_to_none = true}
local PERSISTENT = {persistent = true}
local TRAINABLE = {trainable = true}

local WEAK = {__mode = "k"}

-- -- Classes -----------------------------------------------------------------

local Module = {}

local classes = setmetatable({}, WEAK)    -- a set of classes
local parameters = setmetatable({}, WEAK) -- a set of tensors

-- Private keys of an instance: its fields by order and by name; the names of
-- its buffers, each "saved" or "not saved"; the names of its elements, where
-- they have any.
local FIELDS, BUFFERS, LABELS = {}, {}, {}
local HOOKS = hooks.KEY

--- True for a module, an instance of a class of networks.
-- @function nn.is_module
local function is_module(value)
  return type(value) == "table" and classes[getmetatable(value)] ~= nil
end

local function class_name(module) return getmetatable(module).__name end

--- Records the order of fields at their first assignment. Traversals check the
-- current value of a field.
local function assign(module, key, value)
  local fields = module[FIELDS]
  if type(key) == "string" and not fields[key] then
    fields[#fields + 1], fields[key] = key, true
  end
  rawset(module, key, value)
end

local function call(module, ...)
  if module[HOOKS] then return hooks.call(module, ...) end
  return module:forward(...)
end

local function describe(module) return module:describe() end

local function create(class, ...)
  for _, name in ipairs {"__init", "__init__"} do
    if rawget(class, name) then
      raise("%s: the constructor is called init; write function %s:init(...)",
            class.__name, class.__name)
    end
  end
  local module = setmetatable({[FIELDS] = {}, [BUFFERS] = {}, [LABELS] = {},
                               [HOOKS] = false, training = true}, class)
  module:init(...)
  return module
end

--- Assigns a field of a class: net.forward(x), with a dot, is an error.
local function define(class, key, value)
  if key == "forward" and type(value) == "function" then
    value = guard.method("forward", "net(x), or net:forward(x)", is_module,
                         value)
  end
  rawset(class, key, value)
end

local function declare(class, name, parent)
  class.__name, class.__index, class.__newindex = name, class, assign
  class.__call, class.__tostring = call, describe
  classes[class] = true
  return setmetatable(class, {__index = parent, __call = create,
                              __newindex = define})
end

-- What to write for methods of modules of torch7 and PyTorch. A module is a
-- table with fields of its own, so other names stay nil.
local ADVICE = {
  updateOutput = "write module(x)",
  backward = "write loss:backward() for the tensor that a loss returns",
  updateGradInput = "write loss:backward(), then x.grad",
  accGradParameters = "write loss:backward(), then p.grad of a parameter",
  zeroGradParameters = "write module:zero_grad()",
  updateParameters = "write st.optim.SGD(module:parameters(), {lr = 0.01}), "
    .. "and its step()",
  getParameters = "write module:parameters()",
  evaluate = "write module:eval()",
  get = "write module[i]",
  save = "write st.save(path, module:state_dict())",
  load = "write module:load_state_dict(st.load(path))",
  fit = "write a loop: optimizer:zero_grad(), loss:backward() of a loss, then "
    .. "optimizer:step()",
  predict = "write module(x)",
  cuda = "there are the devices cpu and meta",
  register_backward_hook = "write module:register_full_backward_hook(hook)",
}

--- A function that says what to write for a method of another library.
local function refuse(_, name)
  local text = ADVICE[name]
  return text and function() raise("%s: %s", name, text) end
end

declare(Module, "Module", refuse)

--- Declares a subclass of this class. Calling the class creates a module and
-- passes the arguments to its method `init`. Calling the module calls its
-- method `forward`.
-- @tparam string name
-- @treturn table the class
function Module:extend(name)
  if type(name) ~= "string" then
    raise("extend: argument 'name' must be a string, got %s; write "
          .. "nn.Module:extend \"Net\"", type(name))
  end
  return declare({}, name, self)
end

function Module.init() end

function Module:forward()
  raise("%s has no method 'forward'", class_name(self))
end

-- -- Registration ------------------------------------------------------------

local function check_name(method, self, name)
  if type(name) ~= "string" or name == "" or name:find(".", 1, true) then
    raise("%s: a name without dots is expected, got %s", method,
          type(name) == "string" and "'" .. name .. "'" or type(name))
  end
  if Module[name] ~= nil and rawget(self, name) == nil then
    raise("%s: '%s' is a method of modules", method, name)
  end
end

--- Registers a tensor as a buffer: a field that is saved and loaded with the
-- parameters but is not a parameter, such as a running mean.
-- @tparam string name
-- @tparam ?Tensor t nil: there is no such tensor now
-- @tparam[opt] table options `persistent = false`: it is not saved
function Module:register_buffer(name, t, given)
  if type(name) ~= "string" or t ~= nil and not is_tensor(t) then
    raise("register_buffer: a name and a Tensor are expected, got %s and %s",
          type(name), is_tensor(t) and "Tensor" or type(t))
  end
  given = options("register_buffer", given, PERSISTENT)
  self[BUFFERS][name] = given.persistent == false and "not saved" or "saved"
  self[name] = t
end

--- Registers a parameter: the same as `module[name] = t`, but checked.
-- @tparam string name
-- @tparam ?Tensor t of nn.Parameter; nil: there is no such parameter
function Module:register_parameter(name, t)
  check_name("register_parameter", self, name)
  if t ~= nil and not (is_tensor(t) and parameters[t]) then
    raise("register_parameter: '%s' must be of nn.Parameter, got %s", name,
          is_tensor(t) and "a plain Tensor" or type(t))
  end
  self[name] = t
end

--- Registers a module: the same as `module[name] = other`, but checked.
-- @tparam string name
-- @tparam table other
function Module:register_module(name, other)
  check_name("register_module", self, name)
  if not is_module(other) then
    raise("register_module: '%s' must be a module, got %s", name,
          is_tensor(other) and "Tensor" or type(other))
  end
  self[name] = other
end

Module.add_module = Module.register_module

-- -- Traversal ---------------------------------------------------------------

--- "parameter", "saved" or "not saved" (buffers), "module", "function" for a
-- layer that is one, or nil.
local function kind_of(module, key, value)
  if is_module(value) then return "module" end
  if type(key) == "number" and type(value) == "function" then
    return "function"
  end
  if not is_tensor(value) then return nil end
  return parameters[value] and "parameter" or module[BUFFERS][key]
end

--- Calls visit(name, value, kind) for the fields and elements of a kind: those
-- of want[kind].
local function each_member(module, want, visit)
  local function member(key, name)
    local value = rawget(module, key)
    local kind = kind_of(module, key, value)
    if not want[kind or 0] then return end
    if type(name) == "string" and (name == "" or name:find(".", 1, true)) then
      raise("%s: a parameter, buffer or module cannot be named '%s'",
            class_name(module), name)
    end
    visit(name, value, kind)
  end
  for _, key in ipairs(module[FIELDS]) do member(key, key) end
  for i = 1, #module do member(i, module[LABELS][i] or i) end
end

local PARAMETER = {parameter = true}
local BUFFER = {saved = true, ["not saved"] = true}
local MODULE = {module = true}

--- Calls visit(name, what, kind, owner, key) for a module, its parameters, its
-- buffers, and recursively for the modules within. `base` is the name of the
-- first element of a list.
local function walk(module, name, base, path, visit)
  if path[module] then
    raise("%s: '%s' contains itself", class_name(module), name)
  end
  path[module] = true
  visit(name, module, "module")
  local prefix = name == "" and "" or name .. "."
  local function full(key)
    return prefix .. (type(key) == "number" and key + base - 1 or key)
  end
  local function own(key, value, kind)
    visit(full(key), value, kind, module, key)
  end
  each_member(module, PARAMETER, own)
  each_member(module, BUFFER, own)
  each_member(module, MODULE, function(key, value)
    walk(value, full(key), base, path, visit)
  end)
  path[module] = nil
end

--- The entries {name, what, kind, owner, key} of a traversal of the kinds
-- want[kind], in order; with is_once, shared values only once.
local function collect(module, want, is_once, base)
  local list, seen = {}, {}
  walk(module, "", base or 1, {}, function(name, what, kind, owner, key)
    if want[kind] and not (is_once and seen[what]) then
      list[#list + 1], seen[what] = {name, what, kind, owner, key}, true
    end
  end)
  return list
end

local LIST = {__metatable = "list", __call = function()
  raise "a list cannot be called; write for _, value in ipairs(list) do"
end}

--- The second of each entry.
local function seconds(list)
  local values = setmetatable({}, LIST)
  for i, entry in ipairs(list) do values[i] = entry[2] end
  return values
end

--- An iterator over the entries.
local function each(list)
  local i = 0
  return function()
    i = i + 1
    if list[i] then return list[i][1], list[i][2] end
  end
end

--- The parameters of this module and of its submodules, as a list.
-- @treturn table
function Module:parameters() return seconds(collect(self, PARAMETER, true)) end

--- Iterates over the parameters: `for name, parameter in net:named_parameters()
-- do`.
-- @treturn function
function Module:named_parameters()
  return each(collect(self, PARAMETER, true))
end

--- The buffers of this module and of its submodules, as a list.
-- @treturn table
function Module:buffers() return seconds(collect(self, BUFFER, true)) end

--- Iterates over the buffers: `for name, buffer in net:named_buffers() do`.
-- @treturn function
function Module:named_buffers() return each(collect(self, BUFFER, true)) end

--- This module and its submodules, as a list.
-- @treturn table
function Module:modules() return seconds(collect(self, MODULE, true)) end

--- Iterates over the modules: `for name, module in net:named_modules() do`. The
-- name of net itself is "".
-- @treturn function
function Module:named_modules() return each(collect(self, MODULE, true)) end

local function direct(self)
  local list, seen = {}, {}
  each_member(self, MODULE, function(name, module)
    if not seen[module] then
      list[#list + 1], seen[module] = {name, module}, true
    end
  end)
  return list
end

--- The modules that are fields or elements of this one, as a list.
-- @treturn table
function Module:children() return seconds(direct(self)) end

--- Iterates over the children: `for name, module in net:named_children() do`.
-- The names of elements are numbers.
-- @treturn function
function Module:named_children() return each(direct(self)) end

--- Calls fn(module) for the modules within, then for this module.
-- @tparam function fn
-- @treturn table the module
function Module:apply(fn)
  if type(fn) ~= "function" then
    raise("apply: argument 'fn' must be a function, got %s", type(fn))
  end
  for _, child in ipairs(self:children()) do child:apply(fn) end
  fn(self)
  return self
end

--- What has a name with dots, such as "encoder.2.weight".
local function find(self, method, name, is_wanted, what)
  if type(name) ~= "string" then
    raise("%s: argument 'name' must be a string, got %s", method, type(name))
  end
  local found = self
  for key in name:gmatch "[^.]+" do
    local value = is_module(found) and
                  (rawget(found, key) or rawget(found, tonumber(key)))
    if not value then
      raise("%s: %s has no '%s'", method, class_name(self), name)
    end
    found = value
  end
  if not is_wanted(found) then
    raise("%s: '%s' of %s is not a %s", method, name, class_name(self), what)
  end
  return found
end

--- The module of a name, as in named_modules.
-- @tparam string name
-- @treturn table
function Module:get_submodule(name)
  return find(self, "get_submodule", name, is_module, "module")
end

--- The parameter of a name, as in named_parameters.
-- @tparam string name
-- @treturn Tensor
function Module:get_parameter(name)
  return find(self, "get_parameter", name, function(value)
    return is_tensor(value) and parameters[value]
  end, "parameter")
end

--- The buffer of a name, as in named_buffers.
-- @tparam string name
-- @treturn Tensor
function Module:get_buffer(name)
  for found, t in self:named_buffers() do
    if found == name then return t end
  end
  raise("get_buffer: %s has no buffer '%s'", class_name(self), name)
end

--- The number of elements of all parameters.
-- @tparam[opt] table options `trainable = true`: of those that require
-- gradients
-- @treturn integer
function Module:num_parameters(given)
  local trainable = options("num_parameters", given, TRAINABLE).trainable
  local n = 0
  for _, p in ipairs(self:parameters()) do
    if p.requires_grad or not trainable then n = n + p:numel() end
  end
  return n
end

-- -- Training ----------------------------------------------------------------

--- Sets training mode or evaluation mode for this module and its submodules. It
-- changes what some modules do, such as Dropout.
-- @tparam[opt=true] boolean mode
-- @treturn table the module
function Module:train(mode)
  for _, module in ipairs(self:modules()) do
    module.training = mode == nil or mode
  end
  return self
end

--- Sets evaluation mode: `train(false)`.
-- @treturn table the module
function Module:eval() return self:train(false) end

--- Resets the gradients of all parameters to nil.
-- @tparam[opt] table options `set_to_none = false`: to zeros
function Module:zero_grad(given)
  local is_zero = options("zero_grad", given, ZERO_GRAD).set_to_none == false
  for _, p in ipairs(self:parameters()) do
    p.grad = is_zero and p.grad and st.zeros_like(p.grad) or nil
  end
end

--- Sets whether the parameters require gradients.
-- @tparam[opt=true] boolean flag
-- @treturn table the module
function Module:requires_grad_(flag)
  for _, p in ipairs(self:parameters()) do
    p:requires_grad_(flag == nil or flag)
  end
  return self
end

-- -- The module --------------------------------------------------------------

--- Makes a tensor a parameter: sets requires_grad, and `parameters` lists the
-- fields that hold it.
-- @function nn.Parameter
-- @tparam Tensor t a leaf of a floating-point or complex dtype
-- @treturn Tensor t itself
local function parameter(t)
  if not is_tensor(t) then
    raise("Parameter: argument 't' must be a Tensor, got %s", type(t))
  end
  t:requires_grad_()
  parameters[t] = true
  return t
end

local tools = {
  collect = collect, is_module = is_module, class_name = class_name,
  each_member = each_member, parameter = parameter, parameters = parameters,
  FIELDS = FIELDS, BUFFERS = BUFFERS, LABELS = LABELS, HOOKS = HOOKS,
}
hooks.add_methods(Module)
require "strided.nn.module.state"(Module, tools)
require "strided.nn.module.text"(Module, tools)

local methods = {}
for name, value in next, Module do
  if type(value) == "function" and not name:find "^__" and name ~= "extend" and
     name ~= "init" and name ~= "forward" and name ~= "extra_repr" then
    methods[#methods + 1] = name
  end
end
guard.methods(Module, "module", is_module, methods)

--- The name of an element; with a third argument, sets it.
local function label(self, ...)
  local i, n = (...), select("#", ...)
  if n > 1 then self[LABELS][i] = (select(2, ...)) end
  return self[LABELS][i]
end

--- True for a tensor that is a parameter.
-- @function nn.is_parameter
local function is_parameter(t)
  return is_tensor(t) and parameters[t] ~= nil
end

return {
  Module = Module, Parameter = parameter, is_module = is_module,
  is_parameter = is_parameter, label = label,
}
