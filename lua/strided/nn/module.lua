--- nn.Module, the base class of layers and networks: functions with parameters.
--
-- A module is a table. Its fields that hold a parameter or another module are
-- registered automatically, in the order in which they were first assigned,
-- followed by the elements 1, 2, .... Names in nested modules are joined by
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
-- Modules in a plain table are not registered; use nn.Sequential for a list of
-- modules.
--
-- @module strided.nn.module

local st = require "strided"
local guard = require "strided.guard"
local options = require "strided.options"
local raise = require "strided.caller_error"

local concat, is_tensor, no_grad, sort =
  table.concat, st.is_tensor, st.no_grad, table.sort
local getmetatable, ipairs, pairs, rawget, rawset, setmetatable, tostring,
  type = getmetatable, ipairs, pairs, rawget, rawset, setmetatable, tostring,
  type

local STRICT = {strict = true}
local ZERO_GRAD = {set_to_none = true}

local WEAK = {__mode = "k"}

-- -- Classes -----------------------------------------------------------------

local Module = {}

local classes = setmetatable({}, WEAK)    -- a set of classes
local parameters = setmetatable({}, WEAK) -- a set of tensors

-- Private keys of an instance: its fields by order and by name, and the names
-- of its buffers.
local FIELDS, BUFFERS = {}, {}

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

local function call(module, ...) return module:forward(...) end

local function describe(module) return module:describe() end

local function create(class, ...)
  local module = setmetatable({[FIELDS] = {}, [BUFFERS] = {},
                               training = true}, class)
  module:init(...)
  return module
end

local function declare(class, name, parent)
  class.__name, class.__index, class.__newindex = name, class, assign
  class.__call, class.__tostring = call, describe
  classes[class] = true
  return setmetatable(class, {__index = parent, __call = create})
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
  named_children = "write module:named_modules()",
  add_module = "write module.name = other",
  register_parameter = "write module.name = st.nn.Parameter(t)",
  get = "write module[i]", size = "write #module",
}
for _, name in ipairs {"to", "float", "double", "half", "cuda"} do
  ADVICE[name] = "create the layers with {dtype = name, device = name}"
end

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

-- -- Traversal ---------------------------------------------------------------

local walk

--- Visits a field that holds a module, a parameter or a buffer.
local function visit_field(module, key, prefix, path, visit)
  local value = rawget(module, key)
  local is_inner = is_module(value)
  local is_state = is_tensor(value) and
                   (parameters[value] or module[BUFFERS][key])
  if not is_inner and not is_state then return end
  if type(key) == "string" and (key == "" or key:find(".", 1, true)) then
    raise("%s: a parameter, buffer or module cannot be named '%s'",
          class_name(module), key)
  end
  local name = prefix .. key
  if is_inner then
    walk(value, name, path, visit)
  else
    visit(name, value, parameters[value] ~= nil)
  end
end

--- Calls visit(name, what, is_parameter) for a module, its parameters and
-- buffers, and recursively for the modules within. is_parameter is nil for
-- modules.
function walk(module, name, path, visit)
  if path[module] then
    raise("%s: '%s' contains itself", class_name(module), name)
  end
  path[module] = true
  visit(name, module)
  local prefix, fields = name == "" and "" or name .. ".", module[FIELDS]
  for i = 1, #fields do
    visit_field(module, fields[i], prefix, path, visit)
  end
  for i = 1, #module do visit_field(module, i, prefix, path, visit) end
  path[module] = nil
end

--- The pairs {name, what} of a traversal for which choose(what, is_parameter)
-- is true, in order; with is_once, shared values only once.
local function collect(module, choose, is_once)
  local list, seen = {}, {}
  walk(module, "", {}, function(name, what, is_parameter)
    if choose(what, is_parameter) and not (is_once and seen[what]) then
      list[#list + 1], seen[what] = {name, what}, true
    end
  end)
  return list
end

local function is_parameter(_, flag) return flag == true end

local function is_state(_, flag) return flag ~= nil end

local LIST = {__metatable = "list", __call = function()
  raise "a list cannot be called; write for _, value in ipairs(list) do"
end}

--- The second of each pair.
local function seconds(list)
  local values = setmetatable({}, LIST)
  for i, pair in ipairs(list) do values[i] = pair[2] end
  return values
end

--- An iterator over the pairs.
local function each(list)
  local i = 0
  return function()
    i = i + 1
    if list[i] then return list[i][1], list[i][2] end
  end
end

--- The parameters of this module and of its submodules, as a list.
-- @treturn table
function Module:parameters()
  return seconds(collect(self, is_parameter, true))
end

--- Iterates over the parameters: `for name, parameter in net:named_parameters()
-- do`.
-- @treturn function
function Module:named_parameters()
  return each(collect(self, is_parameter, true))
end

--- This module and its submodules, as a list.
-- @treturn table
function Module:modules() return seconds(collect(self, is_module, true)) end

--- Iterates over the modules: `for name, module in net:named_modules() do`. The
-- name of net itself is "".
-- @treturn function
function Module:named_modules() return each(collect(self, is_module, true)) end

--- Registers a tensor as a buffer: a field that is saved and loaded with the
-- parameters but is not a parameter, such as a running mean.
-- @tparam string name
-- @tparam Tensor t
function Module:register_buffer(name, t)
  if type(name) ~= "string" or not is_tensor(t) then
    raise("register_buffer: a name and a Tensor are expected, got %s and %s",
          type(name), is_tensor(t) and "Tensor" or type(t))
  end
  self[BUFFERS][name] = true
  self[name] = t
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

-- -- State -------------------------------------------------------------------

--- The parameters and buffers by name, for st.save: detached tensors that share
-- the elements.
-- @treturn table
function Module:state_dict()
  local state = {}
  for _, pair in ipairs(collect(self, is_state)) do
    state[pair[1]] = pair[2]:detach()
  end
  return state
end

local function shape_text(t) return "{" .. concat(t.shape, ", ") .. "}" end

--- The names that are missing from the state, and the names in the state that
-- the module does not have.
local function compare(own, state)
  local known, missing, unexpected = {}, {}, {}
  for _, pair in ipairs(own) do
    known[pair[1]] = true
    if state[pair[1]] == nil then missing[#missing + 1] = pair[1] end
  end
  for name in pairs(state) do
    if not known[name] then unexpected[#unexpected + 1] = tostring(name) end
  end
  sort(unexpected)
  return missing, unexpected
end

local function check_state(own, state)
  for _, pair in ipairs(own) do
    local name, value = pair[1], state[pair[1]]
    if value ~= nil and not is_tensor(value) then
      raise("load_state_dict: '%s' must be a Tensor, got %s", name,
            type(value))
    elseif value ~= nil and not value:is_same_size(pair[2]) then
      raise("load_state_dict: '%s' has shape %s here, but %s in the state",
            name, shape_text(pair[2]), shape_text(value))
    end
  end
end

--- Copies a state, from state_dict or st.load, into the parameters and buffers.
-- Raises an error, before anything is changed, if names or shapes do not match.
-- @tparam table state
-- @tparam[opt] table given options: `strict = false` ignores names that only
-- the module or only the state has
-- @treturn table the names missing from the state, in order
-- @treturn table the names that the module does not have
function Module:load_state_dict(state, given)
  if type(state) ~= "table" then
    raise("load_state_dict: argument 'state' must be a table, got %s",
          is_tensor(state) and "Tensor" or type(state))
  end
  local own = collect(self, is_state)
  local missing, unexpected = compare(own, state)
  if options("load_state_dict", given, STRICT).strict ~= false then
    if missing[1] then
      raise("load_state_dict: the state lacks %s", concat(missing, ", "))
    elseif unexpected[1] then
      raise("load_state_dict: %s has no %s", class_name(self),
            concat(unexpected, ", "))
    end
  end
  check_state(own, state)
  no_grad(function()
    for _, pair in ipairs(own) do
      local value = state[pair[1]]
      if value ~= nil then pair[2]:copy_(value) end
    end
  end)
  return missing, unexpected
end

-- -- Text --------------------------------------------------------------------

--- The text between the parentheses when a module without submodules is
-- printed.
-- @treturn string
function Module.extra_repr() return "" end

--- The module as text: `tostring(net)`.
-- @treturn string
function Module:describe()
  local lines = {}
  local function add(key)
    local value = rawget(self, key)
    if is_module(value) then
      local inner = tostring(value):gsub("\n", "\n  ")
      lines[#lines + 1] = "  (" .. key .. "): " .. inner
    end
  end
  for _, key in ipairs(self[FIELDS]) do add(key) end
  for i = 1, #self do add(i) end
  if not lines[1] then return class_name(self) .. "(" .. self:extra_repr()
                              .. ")" end
  return class_name(self) .. "(\n" .. concat(lines, "\n") .. "\n)"
end

-- -- The module --------------------------------------------------------------

--- Makes a tensor a parameter: sets requires_grad, and `parameters` lists the
-- fields that hold it.
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

guard.methods(Module, "module", is_module, {
  "parameters", "named_parameters", "modules", "named_modules", "train", "eval",
  "zero_grad", "requires_grad_", "state_dict", "load_state_dict",
})

return {Module = Module, Parameter = parameter, is_module = is_module}
