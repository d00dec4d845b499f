--- Classes of transforms: their arguments, fields, inverses and caches.
--
-- @module strided.distributions.transform_class

local st = require "strided"
local base = require "strided.distributions.base"
local constraints = require "strided.distributions.constraint"
local raise = require "strided.argument.caller_error"

local concat, getmetatable, ipairs, pairs, rawequal, select, setmetatable,
  tostring, type = table.concat, getmetatable, ipairs, pairs, rawequal, select,
  setmetatable, tostring, type

local M = {}

-- -- Arguments ---------------------------------------------------------------

local function has(list, name)
  for _, v in ipairs(list) do if v == name then return true end end
  return false
end

--- Arguments by position, and by name in a table at their end.
local function read_arguments(def, ...)
  local n, named = select("#", ...), {}
  local options = select(n > 0 and n or 1, ...)
  if n > 0 and base.is_options(options) then n = n - 1 else options = {} end
  if n > #def.params then
    raise("%s: takes at most %d arguments, got %d", def.name, #def.params, n)
  end
  for i = 1, n do named[def.params[i]] = (select(i, ...)) end
  for key, v in pairs(options) do
    if key ~= "cache_size" and not has(def.params, key) then
      raise("%s: unknown argument '%s': it has %s", def.name, tostring(key),
            concat(base.join(def.params, {"cache_size"}), ", "))
    end
    named[key] = v
  end
  local size = named.cache_size or 0
  if size ~= 0 and size ~= 1 then
    raise("%s: cache_size must be 0 or 1", def.name)
  end
  named.cache_size = size
  return named
end

-- -- The base class ----------------------------------------------------------

local Transform = {bijective = false, params = {}}
local marks = setmetatable({}, {__mode = "k"})
local Inverse

--- True for transforms.
-- @param v
-- @treturn boolean
function M.is_transform(v) return type(v) == "table" and marks[v] ~= nil end

--- x for y = t(x), or for the last y that t has made of an x if it keeps that.
function Transform:inverse(y)
  if not self.backward then raise("%s has no inverse", self.name) end
  if self.cache_size == 1 and rawequal(y, self.last_y) then
    return self.last_x
  end
  y = base.as_tensor(y)
  local x = self:backward(y)
  if self.cache_size == 1 then self.last_x, self.last_y = x, y end
  return x
end

local function apply(self, x)
  if not self.forward then raise("%s has no forward", self.name) end
  if self.cache_size == 1 and rawequal(x, self.last_x) then
    return self.last_y
  end
  x = base.as_tensor(x)
  local y = self:forward(x)
  if self.cache_size == 1 then self.last_x, self.last_y = x, y end
  return y
end

function Transform:log_abs_det_jacobian(x, y)
  if not self.jacobian then
    raise("%s has no log_abs_det_jacobian", self.name)
  end
  return self:jacobian(x, y)
end

function Transform.forward_shape(_, shape) return shape end
function Transform.inverse_shape(_, shape) return shape end

--- The same transform that keeps its last x and y (1), or does not (0).
function Transform:with_cache(size)
  size = size or 1
  if size ~= 0 and size ~= 1 then
    raise("%s: cache_size must be 0 or 1", self.name)
  end
  if size == self.cache_size then return self end
  local out = setmetatable({}, getmetatable(self))
  for key, v in pairs(self) do out[key] = v end
  out.cache_size, out.last_x, out.last_y = size, nil, nil
  marks[out] = true
  return out
end

local GET = {}

function GET.inv(self) return Inverse(self) end

function GET.event_dim(self)
  local n = self.domain.event_dim
  if n == self.codomain.event_dim then return n end
  raise("%s: domain.event_dim is %d, codomain.event_dim is %d: use one of them",
        self.name, n, self.codomain.event_dim)
end

-- -- Classes -----------------------------------------------------------------

--- Whether two transforms are the same: one object, or of one class with equal
-- parameters.
-- @treturn boolean
function M.same(a, b)
  if rawequal(a, b) then return true end
  if a.class ~= b.class then return false end
  if a.equals then return a:equals(b) end
  return #a.class.params == 0
end

--- A class. Its fields are forward(self, x), backward(self, y) and
-- jacobian(self, x, y); domain and codomain, constraints or their names; sign;
-- bijective; params, the names of arguments; init(self, arguments);
-- forward_shape and inverse_shape of a list of sizes; equals(self, other).
function M.class(name, def)
  def.name, def.class = name, def
  def.domain = constraints.find(def.domain or "real")
  def.codomain = constraints.find(def.codomain or "real")
  setmetatable(def, {
    __index = Transform,
    __call = function(class, ...)
      local named = read_arguments(class, ...)
      local self = setmetatable({cache_size = named.cache_size}, class.meta)
      marks[self] = true
      if class.init then class.init(self, named) end
      return self
    end,
    __tostring = function() return "class " .. name end,
  })
  def.meta = {
    __index = function(self, key)
      local v = def[key]
      if v == nil and GET[key] then return GET[key](self) end
      return v
    end,
    __call = apply, __eq = M.same,
    __tostring = function(self)
      return self.text and self:text() or name
    end,
  }
  return def
end

--- The inverse of a transform.
Inverse = M.class("Inverse", {params = {"base"}, init = function(self, a)
  local t = a.base
  self.base, self.sign, self.bijective = t, t.sign, t.bijective
  self.domain, self.codomain, self.inv = t.codomain, t.domain, t
end})

function Inverse:forward(y) return self.base:inverse(y) end
function Inverse:backward(x) return self.base(x) end
function Inverse:jacobian(y, x) return -self.base:log_abs_det_jacobian(x, y) end
function Inverse:forward_shape(shape) return self.base:inverse_shape(shape) end
function Inverse:inverse_shape(shape) return self.base:forward_shape(shape) end
function Inverse:with_cache(size) return self.base:with_cache(size).inv end
function Inverse:equals(other) return M.same(self.base, other.base) end
function Inverse:text() return "inverse of " .. tostring(self.base) end

--- The base class, which makes classes: `Transform("Cube", {bijective = true,
-- sign = 1, forward = function(_, x) return x:pow(3) end, ...})`.
M.Transform = setmetatable(Transform, {
  __call = function(_, name, def)
    if type(name) ~= "string" or type(def) ~= "table" then
      raise("Transform: give the name of a class, and the table of its "
            .. "functions")
    end
    return M.class(name, def)
  end,
  __tostring = function() return "class Transform" end,
})

-- -- Helpers -----------------------------------------------------------------

--- Numbers or tensors that are the same.
function M.equal(a, b)
  a = base.as_tensor(a, st.is_tensor(b) and b or nil)
  b = base.as_tensor(b, a)
  if a.device ~= b.device or not base.same(a.shape, b.shape) then
    return false
  end
  return a:eq(b):all():item()
end

--- The shape of x and of parameters, broadcast.
function M.with_sizes(shape, ...)
  local list = {st.empty(shape, {device = "meta"})}
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if st.is_tensor(v) then
      list[#list + 1] = st.empty(v.shape, {device = "meta"})
    end
  end
  return base.join(st.broadcast_tensors(list)[1].shape)
end

--- Raises for a shape of less than n dimensions.
function M.check_dimensions(self, shape, n)
  if #shape < n then
    raise("%s: takes %d dimensions or more, got %d", self.name, n, #shape)
  end
end

--- The transform `v`, or an error.
function M.check_transform(name, what, v)
  if not M.is_transform(v) then
    raise("%s: %s must be a transform, as in st.distributions.transforms", name,
          what)
  end
  return v
end

return M
