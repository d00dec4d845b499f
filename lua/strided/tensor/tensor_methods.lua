--- Methods of tensors in Lua that are looked up on first use.
--
-- @module strided.tensor.tensor_methods

local core = require "strided.core"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local ipairs, require, sort, type = ipairs, require, table.sort, type

local api = require "strided.array_api"

local methods = {
  astype = api.astype, cumulative_sum = api.cumulative_sum,
  cumulative_prod = api.cumulative_prod, expand_dims = api.expand_dims,
}

local is_tensor = core.is_tensor

local function st() return core.fields or require "strided" end

local function check(name, value, position)
  if is_tensor(value) then return value end
  if not position then
    raise("%s: write t:%s(...) with a colon", name, name)
  end
  raise("%s: argument %d must be a Tensor, got %s", name, position,
        type(value))
end

-- -- Conversions -------------------------------------------------------------

--- A tensor of a table, a number or a tensor, with self's dtype and device.
-- @function new_tensor
-- @param value
-- @tparam[opt] table options `dtype`, `device`, `requires_grad`
function methods.new_tensor(self, value, given)
  check("new_tensor", self)
  local opt = options("new_tensor", given, {dtype = true, device = true,
                                            requires_grad = true})
  return api.asarray(value, {
    dtype = opt.dtype or self.dtype, device = opt.device or self.device,
    requires_grad = opt.requires_grad or false,
    copy = is_tensor(value) or nil})
end

--- The tensor itself on the CPU, or a copy of it there.
function methods.cpu(self) return check("cpu", self):to "cpu" end

--- The name of the dtype; with a dtype, the tensor converted to it.
-- @tparam[opt] string dtype
function methods.type(self, dtype)
  check("type", self)
  if dtype == nil then return self.dtype end
  return self:to(dtype)
end

--- The module, whose functions are those of the Array API standard.
function methods.__array_namespace__(self)
  check("__array_namespace__", self)
  return core.shell_of and core.shell_of(st()) or st()
end

--- The dimensions in the order of their strides, the largest first.
-- @treturn table
function methods.dim_order(self)
  local strides, sizes = check("dim_order", self):stride(), self.shape
  local order = {}
  for d = 1, self.ndim do order[d] = d end
  sort(order, function(a, b)
    if strides[a] ~= strides[b] then return strides[a] > strides[b] end
    if sizes[a] ~= sizes[b] then return sizes[a] > sizes[b] end
    return a < b
  end)
  return order
end

-- -- Functions of Lua on elements ---------------------------------------------

-- Types of Lua that no element has; complex numbers are userdata or cdata.
local NO_ELEMENT = {table = true, string = true, ["function"] = true,
                    thread = true}

--- Sets each element of self to fn of the elements of tensors at its place.
local function set_elements(name, self, tensors, fn)
  check(name, self)
  if type(fn) ~= "function" then
    raise("%s: argument %d must be a function, got %s", name, #tensors + 1,
          type(fn))
  end
  if self.requires_grad then
    raise("%s: it has no derivative; write t:detach():%s(...)", name, name)
  end
  local lists = {}
  for i, t in ipairs(tensors) do
    lists[i] = t:expand(self.shape):reshape(-1):totable()
  end
  local a, b, out = lists[1], lists[2], self:reshape(-1):totable()
  for i, value in ipairs(out) do
    local result
    if b then
      result = fn(value, a[i], b[i])
    elseif a then
      result = fn(value, a[i])
    else
      result = fn(value)
    end
    if result == nil then raise("%s: the function returned nothing", name) end
    if NO_ELEMENT[type(result)] or core.is_tensor(result) then
      raise("%s: the function must return an element, got %s", name,
            core.is_tensor(result) and "a Tensor" or type(result))
    end
    out[i] = result
  end
  return self:copy_(st().tensor(out, {dtype = self.dtype, device = self.device})
                    :view(self.shape))
end

--- Sets each element to fn(element), by Lua.
-- @tparam function fn
function methods.apply_(self, fn)
  return set_elements("apply_", self, {}, fn)
end

--- Sets each element to fn(element, that of other), by Lua.
-- @tparam Tensor other broadcast to self
-- @tparam function fn
function methods.map_(self, other, fn)
  return set_elements("map_", self, {check("map_", other, 1)}, fn)
end

--- Sets each element to fn(element, that of x, that of y), by Lua.
-- @tparam Tensor x broadcast to self
-- @tparam Tensor y broadcast to self
-- @tparam function fn
function methods.map2_(self, x, y, fn)
  return set_elements("map2_", self,
                      {check("map2_", x, 1), check("map2_", y, 2)}, fn)
end

return methods
