--- Containers: Sequential, ModuleList, ModuleDict, ParameterList,
-- ParameterDict.
--
-- @module strided.nn.container

local st = require "strided"
local module = require "strided.nn.module"
local raise = require "strided.argument.caller_error"

local Module, is_module, is_parameter, label = module.Module, module.is_module,
  module.is_parameter, module.label

local getmetatable, ipairs, is_tensor, pairs, rawget, rawset, remove, select,
  sort, tostring, type = getmetatable, ipairs, st.is_tensor, pairs, rawget,
  rawset, table.remove, select, table.sort, tostring, type

local container = {}

local function class_of(self) return getmetatable(self).__name end

local function kind_of(x) return is_tensor(x) and "Tensor" or type(x) end

--- The arguments of a list: one table, or each.
local function list_of(...)
  local n, first = select("#", ...), (...)
  if n == 1 and type(first) == "table" and not is_module(first) then
    return first, #first
  end
  return {...}, n
end

-- -- Lists -------------------------------------------------------------------

--- Adds the methods of lists. check(self, i, value) raises for what is no
-- element.
local function list_methods(class, check)
  --- Appends an element.
  -- @treturn table the list
  function class:append(value)
    check(self, #self + 1, value)
    rawset(self, #self + 1, value)
    return self
  end

  --- Appends the elements of a list.
  -- @treturn table the list
  function class:extend_with(list)
    for i = 1, #list do self:append(list[i]) end
    return self
  end

  --- Inserts an element before that at position i.
  -- @treturn table the list
  function class:insert(i, value)
    check(self, i, value)
    if type(i) ~= "number" or i < 1 or i > #self + 1 or i % 1 ~= 0 then
      raise("%s: position %s is not from 1 to %d", class_of(self),
            tostring(i), #self + 1)
    end
    for k = #self, i, -1 do
      rawset(self, k + 1, self[k])
      label(self, k + 1, label(self, k))
    end
    rawset(self, i, value)
    label(self, i, nil)
    return self
  end

  --- Removes the element at position i, the last one by default.
  -- @return the element
  function class:pop(i)
    local n = #self
    i = i or n
    local value = remove(self, i)
    local name = label(self, i)
    if name then rawset(self, name, nil) end
    for k = i, n do label(self, k, label(self, k + 1)) end
    return value
  end
end

local function check_module(self, i, value)
  if is_module(value) then return end
  raise("%s: element %d must be a module, got %s", class_of(self), i,
        kind_of(value))
end

local function check_parameter(self, i, value)
  if is_parameter(value) then return end
  raise("%s: element %d must be of nn.Parameter, got %s", class_of(self), i,
        is_tensor(value) and "a plain Tensor" or type(value))
end

local function list_class(name, check)
  local class = Module:extend(name)
  container[name] = class
  list_methods(class, check)
  function class:init(...)
    local list, n = list_of(...)
    for i = 1, n do
      check(self, i, list[i])
      rawset(self, i, list[i])
    end
  end
end

--- A list of modules, `list[1]` to `list[#list]`, with the methods `append`,
-- `extend_with`, `insert` and `pop`. It has no forward.
-- @function ModuleList
-- @tparam[opt] table list; or the modules as arguments
list_class("ModuleList", check_module)

--- A list of parameters, like ModuleList.
-- @function ParameterList
-- @tparam[opt] table list; or the parameters as arguments
list_class("ParameterList", check_parameter)

-- -- Dictionaries ------------------------------------------------------------

--- The entries {name, value} of a table, or of a list of pairs, in order.
local function entries_of(self, given)
  if type(given) ~= "table" or is_module(given) then
    raise("%s: a table of names is expected, got %s", class_of(self),
          kind_of(given))
  end
  local entries = {}
  for i, pair in ipairs(given) do
    if type(pair) ~= "table" or type(pair[1]) ~= "string" then
      raise("%s: element %d must be a pair {name, value}", class_of(self), i)
    end
    entries[i] = pair
  end
  local names = {}
  for name in pairs(given) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  sort(names)
  for _, name in ipairs(names) do
    entries[#entries + 1] = {name, given[name]}
  end
  return entries
end

local function dict_class(name, accept, what)
  local class = Module:extend(name)
  container[name] = class

  function class:init(given)
    self.names = {}
    if given ~= nil then self:update(given) end
  end

  --- Adds or replaces the entry of a name.
  function class:set(key, value)
    if type(key) ~= "string" or key == "" or key:find(".", 1, true) then
      raise("%s: a name without dots is expected, got %s", name,
            type(key) == "string" and "'" .. key .. "'" or type(key))
    elseif not accept(value) then
      raise("%s: '%s' must be %s, got %s", name, key, what, kind_of(value))
    elseif rawget(self, key) == nil then
      if self[key] ~= nil then
        raise("%s: '%s' is a method of modules", name, key)
      end
      self.names[#self.names + 1] = key
    elseif key == "names" or key == "training" then
      raise("%s: '%s' is a field of modules", name, key)
    end
    self[key] = value
    return self
  end

  --- Adds or replaces the entries of a table, sorted by name, or of a list of
  -- pairs {name, value}, in order.
  function class:update(given)
    for _, pair in ipairs(entries_of(self, given)) do
      self:set(pair[1], pair[2])
    end
    return self
  end

  --- Removes an entry.
  -- @return what it was
  function class:pop(key)
    local value = rawget(self, key)
    for i, other in ipairs(self.names) do
      if other == key then
        remove(self.names, i)
        rawset(self, key, nil)
        return value
      end
    end
    raise("%s: there is no entry '%s'", name, tostring(key))
  end

  --- The names of the entries, in the order of their addition.
  function class:keys()
    local list = {}
    for i, key in ipairs(self.names) do list[i] = key end
    return list
  end

  --- Iterates over the entries: `for name, value in dict:items() do`.
  function class:items()
    local i = 0
    return function()
      i = i + 1
      local key = self.names[i]
      if key then return key, self[key] end
    end
  end
end

--- Modules by name: `dict.name` is the module, or `dict[name]`. Methods: `set`,
-- `update`, `pop`, `keys`, `items`. Names of methods of modules are refused. It
-- has no forward.
-- @function ModuleDict
-- @tparam[opt] table modules by name, added in the order of the names; or a
-- list of pairs {name, module}
dict_class("ModuleDict", is_module, "a module")

--- Parameters by name, like ModuleDict.
-- @function ParameterDict
-- @tparam[opt] table parameters by name, or a list of pairs
dict_class("ParameterDict", is_parameter, "of nn.Parameter")

-- -- Sequential --------------------------------------------------------------

--- Calls its layers, modules or functions, one after the other. Layers may have
-- names: `nn.Sequential {{"conv", nn.Conv2d(1, 8, 3)}, {"act", nn.ReLU()}}`
-- has net.conv, which is also net[1]. Methods: `append`, `extend_with`,
-- `insert`, `pop`.
-- @function Sequential
-- @tparam table layers a list of layers, or of pairs {name, layer}; or the
-- layers as arguments
local Sequential = Module:extend "Sequential"
container.Sequential = Sequential

local function check_layer(_, i, added)
  if not is_module(added) and type(added) ~= "function" then
    raise("Sequential: layer %d must be a module or a function, got %s", i,
          type(added))
  end
end

list_methods(Sequential, check_layer)

--- `append`, as in torch7.
Sequential.add = Sequential.append

local function is_pair(x)
  return type(x) == "table" and not is_module(x) and #x == 2 and
         type(x[1]) == "string"
end

function Sequential:init(...)
  local layers, n = list_of(...)
  for key in pairs(layers) do
    if type(key) == "string" then
      raise("Sequential: the layers are a list, got the name '%s'; write "
            .. "{{\"%s\", layer}, ...}", key, key)
    end
  end
  for i = 1, n do
    local added = layers[i]
    if is_pair(added) then
      local name = added[1]
      check_layer(self, i, added[2])
      if Module[name] ~= nil or Sequential[name] ~= nil then
        raise("Sequential: '%s' is a method of modules", name)
      end
      added = added[2]
      label(self, i, name)
      rawset(self, name, added)
    end
    check_layer(self, i, added)
    rawset(self, i, added)
  end
end

function Sequential:forward(x)
  for i = 1, #self do x = self[i](x) end
  return x
end

return container
