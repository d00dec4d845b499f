--- Declares classes of modules by the signatures of their constructors.
--
-- A signature is a text of arguments, each `name:kind` or `name:kind=default`.
-- Arguments before `;` may be given by position, and all of them by name, in
-- the table of options that ends the call:
--
--     declare(pool, "AvgPool2d", "kernel_size:sizes stride:sizes=nil ; "
--             .. "padding:sizes=0", "avg_pool2d")
--
-- A module has its arguments as fields of these names. It prints as the call
-- that creates it.
--
-- @module strided.nn.module.declare

local st = require "strided"
local raise = require "strided.argument.caller_error"
local read_options = require "strided.option.options"
local module = require "strided.nn.module"

local is_module, is_tensor, Module = module.is_module, st.is_tensor,
  module.Module

local concat, floor, format, get, getmetatable, huge, ipairs, next, rawset,
  select, tonumber, type = table.concat, math.floor, string.format, rawget,
  getmetatable, math.huge, ipairs, next, rawset, select, tonumber, type

-- -- Kinds -------------------------------------------------------------------

local function is_size(x) return type(x) == "number" and x >= 0 and
                                 x == floor(x) end

local function is_integer(x) return type(x) == "number" and x == floor(x) end

--- True for an integer, or a list of integers: `count` of them, if not nil.
local function is_list(x, count, accept)
  if type(x) ~= "table" then return accept(x) end
  if #x == 0 or count and #x ~= count then return false end
  for i = 1, #x do
    if not accept(x[i]) then return false end
  end
  return true
end

local function is_size_or_false(x) return x == false or is_size(x) end

--- By kind: what an error says must be given, and a test. n is the number of
-- dimensions of the class.
local KINDS = {
  size = {"a size", is_size},
  integer = {"an integer", is_integer},
  number = {"a number", function(x) return type(x) == "number" end},
  flag = {"a boolean", function(x) return type(x) == "boolean" end},
  probability = {"a number from 0 to 1", function(x)
    return type(x) == "number" and x >= 0 and x <= 1
  end},
  momentum = {"a number, or false",
              function(x) return x == false or type(x) == "number" end},
  string = {"a string", function(x) return type(x) == "string" end},
  tensor = {"a Tensor", is_tensor},
  fn = {"a function", function(x) return type(x) == "function" end},
  any = {"given", function(x) return x ~= nil end},
  shape = {"a size or a list of sizes",
           function(x) return is_list(x, nil, is_size) end},
  sizes = {"a size or a list of %d sizes",
           function(x, n) return is_list(x, n, is_size) end},
  outputs = {"a size or a list of %d sizes, false for the input's",
             function(x, n) return is_list(x, n, is_size_or_false) end},
  pads = {"an integer or a list of %d integers",
          function(x, n) return is_list(x, 2 * n, is_integer) end, 2},
  ratios = {"a number or a list of %d numbers", function(x, n)
    return is_list(x, n, function(e) return type(e) == "number" end)
  end},
  padding = {"a size, a list of %d sizes, \"same\" or \"valid\"",
             function(x, n)
    return x == "same" or x == "valid" or is_list(x, n, is_size)
  end},
}

-- -- Signatures --------------------------------------------------------------

local WORDS = {["true"] = true, ["false"] = false, inf = huge}

local function default_of(text)
  if text == "nil" then return nil end
  if WORDS[text] ~= nil then return WORDS[text] end
  return tonumber(text) or text
end

--- The arguments of a signature: {name =, kind =, default =, is_required =},
-- their names as keys of `known`, and how many have a position.
local function parse(text, n)
  local signature = {known = {}, positions = nil, n = n}
  for word in text:gmatch "%S+" do
    if word == ";" then
      signature.positions = #signature
    else
      local name, kind, default = word:match "^([%w_]+):(%a+)=?(.*)$"
      signature[#signature + 1] = {
        name = name, kind = kind, is_required = default == "",
        default = default ~= "" and default_of(default) or nil,
      }
      if default == "false" then signature[#signature].default = false end
      signature.known[name] = true
    end
  end
  signature.positions = signature.positions or #signature
  return signature
end

local function kind_of(x)
  if is_tensor(x) then return "Tensor" end
  if type(x) == "number" then return format("%.14g", x) end
  return type(x) == "string" and "'" .. x .. "'" or type(x)
end

local function check(class, signature, argument, value)
  local kind, n = KINDS[argument.kind], signature.n
  if kind[2](value, n) then return end
  local text = format(kind[1], (n or 0) * (kind[3] or 1))
  raise("%s: argument '%s' must be %s, got %s", class, argument.name, text,
        kind_of(value))
end

--- True for a table of options at position i.
local function is_options(signature, i, x)
  if type(x) ~= "table" or is_tensor(x) or is_module(x) then return false end
  if next(x) == nil then
    return not (signature[i] and signature[i].is_required)
  end
  return #x == 0
end

--- A value as it is written in Lua.
local function literal(x)
  if type(x) == "table" then
    local list = {}
    for i = 1, #x do list[i] = literal(x[i]) end
    return "{" .. concat(list, ", ") .. "}"
  end
  if type(x) == "string" then return format("%q", x) end
  if type(x) == "number" then
    return x == huge and "math.huge" or format("%.14g", x)
  end
  return type(x) == "boolean" and (x and "true" or "false") or "..."
end

--- Raises for options that are given by position, as in PyTorch.
local function refuse_positions(class, signature, n, ...)
  local list, named, values = {}, {}, {...}
  for i = 1, n do
    local argument, text = signature[i], literal(values[i])
    if i <= signature.positions then
      list[i] = text
    elseif argument and KINDS[argument.kind][2](values[i], signature.n) then
      named[#named + 1] = argument.name .. " = " .. text
    elseif n == signature.positions + 1 then
      read_options(class, values[n], signature.known)
    else
      raise("%s: at most %d arguments are expected before the options, got %d",
            class, signature.positions, n)
    end
  end
  list[#list + 1] = "{" .. concat(named, ", ") .. "}"
  raise("%s: options are given by name: write %s(%s)", class, class,
        concat(list, ", "))
end

--- The values of a call by name, unchecked.
local function gather(class, signature, ...)
  local n, values = select("#", ...), {}
  local last = select(n > 0 and n or 1, ...)
  local given
  if n > 0 and is_options(signature, n, last) then
    given, n = last, n - 1
  elseif n == signature.positions + 1 and last == nil then
    n = n - 1
  end
  if n > signature.positions then
    refuse_positions(class, signature, n, ...)
  end
  for i = 1, n do values[signature[i].name] = (select(i, ...)) end
  for name, value in next, read_options(class, given, signature.known) do
    if values[name] ~= nil then
      raise("%s: argument '%s' is given twice", class, name)
    end
    values[name] = value
  end
  return values
end

--- Stores the checked arguments of a call in the fields of a module.
local function read(self, class, signature, ...)
  local values = gather(class, signature, ...)
  for _, argument in ipairs(signature) do
    local value = values[argument.name]
    if value == nil then value = argument.default end
    if value ~= nil or argument.is_required then
      check(class, signature, argument, value)
    end
    if is_tensor(value) then
      self:register_buffer(argument.name, value)
    else
      rawset(self, argument.name, value)
    end
  end
end

-- -- Text --------------------------------------------------------------------

--- The arguments as they are written in Lua: those before `;` up to the last
-- one that must be given or differs from its default, then such options.
local function describe(self, signature)
  local list, named = {}, {}
  for i, argument in ipairs(signature) do
    local name, default = argument.name, argument.default
    local value = self[name]
    if argument.kind == "flag" and default ~= nil then
      value = value ~= nil and value ~= false -- bias may be a parameter
    end
    local has_position = i <= signature.positions and #list == i - 1
    if argument.is_required or value ~= nil and value ~= default then
      local text = literal(value)
      if has_position then
        list[i] = text
      elseif name ~= "device" and name ~= "dtype" then
        named[#named + 1] = name .. " = " .. text
      end
    end
  end
  if named[1] then list[#list + 1] = "{" .. concat(named, ", ") .. "}" end
  return concat(list, ", ")
end

-- -- Classes -----------------------------------------------------------------

--- Functions that call an operator with fields of a module, by their number.
-- Lookups are raw, since those of nil would search the classes.
local CALLS = {
  [0] = function(op) return function(_, x) return op(x) end end,
  function(op, a) return function(m, x) return op(x, get(m, a)) end end,
  function(op, a, b)
    return function(m, x) return op(x, get(m, a), get(m, b)) end
  end,
  function(op, a, b, c)
    return function(m, x) return op(x, get(m, a), get(m, b), get(m, c)) end
  end,
  function(op, a, b, c, d)
    return function(m, x)
      return op(x, get(m, a), get(m, b), get(m, c), get(m, d))
    end
  end,
  function(op, a, b, c, d, e)
    return function(m, x)
      return op(x, get(m, a), get(m, b), get(m, c), get(m, d), get(m, e))
    end
  end,
  function(op, a, b, c, d, e, f)
    return function(m, x)
      return op(x, get(m, a), get(m, b), get(m, c), get(m, d), get(m, e),
                get(m, f))
    end
  end,
}

local unpack = unpack or table.unpack

local function caller(operator, names)
  local list = {}
  for name in names:gmatch "%S+" do list[#list + 1] = name end
  return CALLS[#list](st[operator], unpack(list))
end

local function names_of(signature)
  local list = {}
  for i, argument in ipairs(signature) do list[i] = argument.name end
  return concat(list, " ")
end

--- Declares a class.
-- @tparam table into the module that gets it
-- @tparam string name
-- @tparam string text its signature
-- @param[opt] forward the name of an operator, that gets the input and the
-- arguments in order; {operator, "names of fields"}; or a function of the
-- module and the input
-- @tparam[opt] table o `n`: its number of dimensions; `parent`: its base class;
-- `setup`: a function of the module that is called when it has its arguments
-- @treturn table the class
local function declare(into, name, text, forward, o)
  o = o or {}
  local class = (o.parent or Module):extend(name)
  local signature = parse(text, o.n)
  local setup = o.setup
  function class:init(...)
    read(self, getmetatable(self).__name, signature, ...)
    setup = setup or class.setup
    if setup then setup(self) end
    rawset(self, "dtype", nil)
    rawset(self, "device", nil)
  end
  function class:extra_repr() return describe(self, signature) end
  if type(forward) == "string" then
    forward = caller(forward, names_of(signature))
  elseif type(forward) == "table" then
    forward = caller(forward[1], forward[2])
  end
  class.forward = forward
  into[name] = class
  return class
end

return declare
