--- Errors for members that a module or a class does not have, and for methods
-- that are called without their object.
--
-- @module strided.name.guard

local raise = require "strided.argument.caller_error"

local concat, ipairs, next, setmetatable, sort, tostring = table.concat, ipairs,
  next, setmetatable, table.sort, tostring

local require = require "strided.core".require

local guard = {}

local guarded = setmetatable({}, {__mode = "k"}) -- methods by what guards them

--- A method that raises for what is no instance, as in net.train().
-- @tparam string name
-- @tparam string call how it is called
-- @tparam function is_instance
-- @tparam function method
-- @treturn function
function guard.method(name, call, is_instance, method)
  local function checked(self, ...)
    if not is_instance(self) then
      raise("%s: write %s with a colon", name, call)
    end
    return method(self, ...)
  end
  guarded[checked] = method
  return checked
end

--- The function that another one guards, or that function.
function guard.original(fn) return guarded[fn] or fn end

--- Makes methods of a class raise for what is no instance.
-- @tparam table class
-- @tparam string owner what the instances are called
-- @tparam function is_instance
-- @tparam table list the names of the methods
function guard.methods(class, owner, is_instance, list)
  for _, name in ipairs(list) do
    class[name] = guard.method(name, owner .. ":" .. name .. "()",
                               is_instance, class[name])
  end
end

--- Makes a module raise for names that it does not have.
-- @tparam table module
-- @tparam string owner its name
-- @treturn table module
function guard.names(module, owner)
  return setmetatable(module, {__index = function(self, name)
    local list = {}
    for key in next, self do list[#list + 1] = tostring(key) end
    sort(list)
    local unknown_name = require "strided.name.unknown_name"
    return unknown_name.missing(owner, name, self,
                                "it has " .. concat(list, ", "))
  end})
end

return guard
