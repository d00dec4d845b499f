--- Checks of the arguments of optimizers.
--
-- @module strided.optim.check

local st = require "strided"
local raise = require "strided.argument.caller_error"
local options = require "strided.option.options"

local format, is_tensor = string.format, st.is_tensor
local ipairs, pairs, type = ipairs, pairs, type
local table = table

local check = {}

--- The default of an option that may be nil; its type is in `types`.
check.OPTIONAL = setmetatable({}, {__tostring = function() return "nil" end})

-- -- Options -----------------------------------------------------------------

--- Says what is wrong with a list of numbers unless all are in a range.
local function fraction(x) return type(x) == "number" and x >= 0 and x < 1 end

--- A function for `ranges`: a number that is not negative.
function check.not_negative(value)
  if value < 0 or value ~= value then
    return format("must not be negative, got %g", value)
  end
end

--- A function for `ranges`: numbers from 0 to below 1.
function check.fractions(value, default)
  for i = 1, #default do
    if not fraction(value[i]) then
      return "must be " .. #default .. " numbers from 0 to below 1"
    end
  end
end

--- A function for `ranges`: any numbers, as many as the default has.
function check.numbers(value, default)
  for i = 1, #default do
    if type(value[i]) ~= "number" then
      return "must be " .. #default .. " numbers"
    end
  end
end

--- Returns a function for `ranges`: one of these strings.
function check.one_of(names)
  return function(value)
    for _, name in ipairs(names) do
      if value == name then return nil end
    end
    return format("must be %s, got '%s'", table.concat(names, " or "), value)
  end
end

local RANGE = {number = check.not_negative, table = check.fractions}

--- Returns an error message if an option has an invalid value, else nil. The
-- default determines the type, and the range unless `ranges` has one.
local function check_option(class, key, value, default)
  local kind = type(default)
  if default == check.OPTIONAL then
    if value == nil or value == check.OPTIONAL then return nil end
    kind = class.types[key]
  end
  if type(value) ~= kind then
    return "must be a " .. kind .. ", got " .. type(value)
  end
  local range = class.ranges and class.ranges[key] or RANGE[kind]
  return range and range(value, default)
end

--- Raises an error if an option of a group is invalid.
function check.group(class, group)
  for key, default in pairs(class.defaults) do
    local why = check_option(class, key, group[key], default)
    if why then raise("%s: option '%s' %s", class.name, key, why) end
  end
  local why = class.check and class.check(group)
  if why then raise("%s: %s", class.name, why) end
end

-- -- Parameters --------------------------------------------------------------

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

local function copy(value)
  if type(value) ~= "table" or value == check.OPTIONAL then return value end
  local list = {}
  for i, each in ipairs(value) do list[i] = each end
  return list
end

--- Creates a group from its options and those shared by all groups.
function check.make_group(class, given, shared, known)
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
  for key, value in pairs(group) do
    if value == check.OPTIONAL then group[key] = nil end
  end
  check.group(class, group)
  return group
end

--- The groups that the first argument of an optimizer describes.
function check.groups(class, list)
  if type(list) == "table" and type(list.parameters) == "function" then
    raise("%s: a list of parameters is expected, got a module: pass "
          .. "module:parameters()", class.name)
  elseif is_tensor(list) then
    raise("%s: a list of parameters is expected, got a Tensor: pass {t}",
          class.name)
  elseif type(list) ~= "table" or list[1] == nil then
    raise("%s: a list of parameters is expected, got %s", class.name,
          type(list) == "table" and "an empty one" or type(list))
  end
  return is_tensor(list[1]) and {{params = list}} or list
end

return check
