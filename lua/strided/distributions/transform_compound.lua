--- Transforms made of others, or of a distribution; and Reshape.
--
-- @module strided.distributions.transform_compound

local st = require "strided"
local base = require "strided.distributions.base"
local classes = require "strided.distributions.transform_class"
local constraints = require "strided.distributions.constraint"
local raise = require "strided.argument.caller_error"

local concat, ipairs, max, rawequal, type = table.concat, ipairs, math.max,
  rawequal, type

local join, part, sum_last = base.join, base.part, base.sum_last

--- A list of transforms as a new list, each with the cache that is asked for.
local function read_list(name, list, cache_size)
  if type(list) ~= "table" or classes.is_transform(list) then
    raise("%s: the first argument must be a list of transforms", name)
  end
  local out = {}
  for i, t in ipairs(list) do
    classes.check_transform(name, "element " .. i, t)
    out[i] = cache_size == 1 and t:with_cache(1) or t
  end
  return out
end

local function all_bijective(list)
  for _, t in ipairs(list) do
    if not t.bijective then return false end
  end
  return true
end

--- with_cache of a transform with a list: another list.
local function with_caches(key)
  return function(self, size)
    local out = classes.Transform.with_cache(self, size)
    if rawequal(out, self) then return self end
    out[key] = {}
    for i, t in ipairs(self[key]) do out[key][i] = t:with_cache(size) end
    return out
  end
end

-- -- Compose -----------------------------------------------------------------

local Compose = {params = {"parts"}, with_cache = with_caches "parts"}

--- Sets the domain and the codomain: their events have the dimensions that any
-- part needs.
local function set_domains(self, list)
  if #list == 0 then return end
  local need, into = list[#list].codomain.event_dim, list[1].domain.event_dim
  for i = #list, 1, -1 do
    local t = list[i]
    need = max(need + t.domain.event_dim - t.codomain.event_dim,
               t.domain.event_dim)
  end
  for _, t in ipairs(list) do
    into = max(into + t.codomain.event_dim - t.domain.event_dim,
               t.codomain.event_dim)
  end
  local first, last = list[1].domain, list[#list].codomain
  self.domain = constraints.independent(first, need - first.event_dim)
  self.codomain = constraints.independent(last, into - last.event_dim)
end

function Compose:init(a)
  local list = read_list("Compose", a.parts, a.cache_size)
  self.parts, self.sign, self.bijective = list, 1, all_bijective(list)
  for _, t in ipairs(list) do
    self.sign = self.sign and t.sign and self.sign * t.sign
  end
  set_domains(self, list)
end

function Compose:forward(x)
  for _, t in ipairs(self.parts) do x = t(x) end
  return x
end

function Compose:backward(y)
  for i = #self.parts, 1, -1 do y = self.parts[i]:inverse(y) end
  return y
end

function Compose:jacobian(x, last)
  if #self.parts == 0 then return st.zeros_like(x) end
  local event_dim, sum = self.domain.event_dim, nil
  for i, t in ipairs(self.parts) do
    local y = i == #self.parts and last or t(x)
    local term = sum_last(t:log_abs_det_jacobian(x, y),
                          event_dim - t.domain.event_dim)
    sum = sum and sum + term or term
    event_dim = event_dim + t.codomain.event_dim - t.domain.event_dim
    x = y
  end
  return sum
end

function Compose:forward_shape(shape)
  for _, t in ipairs(self.parts) do shape = t:forward_shape(shape) end
  return shape
end

function Compose:inverse_shape(shape)
  for i = #self.parts, 1, -1 do
    shape = self.parts[i]:inverse_shape(shape)
  end
  return shape
end

function Compose:equals(other)
  if #self.parts ~= #other.parts then return false end
  for i, t in ipairs(self.parts) do
    if not classes.same(t, other.parts[i]) then return false end
  end
  return true
end

-- -- Independent, Reshape ----------------------------------------------------

local Independent = {params = {"base_transform", "reinterpreted_batch_ndims"}}

function Independent:init(a)
  local t = classes.check_transform("Independent", "base_transform",
                                    a.base_transform)
  local n = constraints.read_integer("Independent", "reinterpreted_batch_ndims",
                                     a.reinterpreted_batch_ndims, 0)
  if a.cache_size == 1 then t = t:with_cache(1) end
  self.base_transform, self.reinterpreted_batch_ndims = t, n
  self.sign, self.bijective = t.sign, t.bijective
  self.domain = constraints.independent(t.domain, n)
  self.codomain = constraints.independent(t.codomain, n)
end

function Independent:with_cache(size)
  local out = classes.Transform.with_cache(self, size)
  if not rawequal(out, self) then
    out.base_transform = self.base_transform:with_cache(size)
  end
  return out
end

function Independent:forward(x)
  classes.check_dimensions(self, x.shape, self.domain.event_dim)
  return self.base_transform(x)
end

function Independent:backward(y)
  classes.check_dimensions(self, y.shape, self.codomain.event_dim)
  return self.base_transform:inverse(y)
end

function Independent:jacobian(x, y)
  return sum_last(self.base_transform:log_abs_det_jacobian(x, y),
                  self.reinterpreted_batch_ndims)
end

function Independent:forward_shape(shape)
  return self.base_transform:forward_shape(shape)
end

function Independent:inverse_shape(shape)
  return self.base_transform:inverse_shape(shape)
end

local Reshape = {params = {"in_shape", "out_shape"}, bijective = true}

local function count(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

function Reshape:init(a)
  self.in_shape = base.read_shape("Reshape", a.in_shape)
  self.out_shape = base.read_shape("Reshape", a.out_shape)
  if count(self.in_shape) ~= count(self.out_shape) then
    raise("Reshape: in_shape has %d elements, out_shape has %d",
          count(self.in_shape), count(self.out_shape))
  end
  self.domain = constraints.independent(constraints.real, #self.in_shape)
  self.codomain = constraints.independent(constraints.real, #self.out_shape)
end

--- A shape whose last sizes, which must be `from`, are `to`.
local function with_event(self, shape, from, to)
  classes.check_dimensions(self, shape, #from)
  local cut = #shape - #from
  if not base.same(part(shape, cut + 1, #shape), from) then
    raise("Reshape: a shape of {%s} has no event of {%s}",
          concat(shape, ", "), concat(from, ", "))
  end
  return join(part(shape, 1, cut), to)
end

function Reshape:forward_shape(shape)
  return with_event(self, shape, self.in_shape, self.out_shape)
end

function Reshape:inverse_shape(shape)
  return with_event(self, shape, self.out_shape, self.in_shape)
end

function Reshape:forward(x) return x:reshape(self:forward_shape(x.shape)) end
function Reshape:backward(y) return y:reshape(self:inverse_shape(y.shape)) end
function Reshape:jacobian(x)
  return x:new_zeros(with_event(self, x.shape, self.in_shape, {}))
end

-- -- Cat, Stack --------------------------------------------------------------

--- The terms of a determinant, each with the event of n dimensions summed:
-- joined in the dimension d of x, or summed if that is one of an event.
local function join_terms(join_in, terms, list, n, d)
  for i, t in ipairs(list) do
    terms[i] = sum_last(terms[i], n - t.event_dim)
  end
  if d <= terms[1]:dim() + (join_in == st.stack and 1 or 0) then
    return join_in(terms, d)
  end
  local sum = terms[1]
  for i = 2, #terms do sum = sum + terms[i] end
  return sum
end

local function most_events(list)
  local n = 0
  for _, t in ipairs(list) do n = max(n, t.event_dim) end
  return n
end

--- The constraints of that name of the transforms.
local function each(list, key)
  local out = {}
  for i, t in ipairs(list) do out[i] = t[key] end
  return out
end

--- Reads transforms and dim of the arguments.
local function read_parts(self, a)
  local name, list = self.name, a.transforms
  list = read_list(name, list, a.cache_size)
  if #list == 0 then raise("%s: there is no transform", name) end
  self.transforms = list
  self.dim = constraints.read_integer(name, "dim", a.dim or 1)
  self.bijective = all_bijective(list)
  self.most, self.event_dim = most_events(list), nil
  return list
end

local Cat = {
  params = {"transforms", "dim", "lengths"},
  with_cache = with_caches "transforms",
}

function Cat:init(a)
  local list = read_parts(self, a)
  self.lengths, self.length, self.event_dim = {}, 0, self.most
  if a.lengths and type(a.lengths) ~= "table" then
    raise("Cat: lengths must be a list of sizes, got %s", type(a.lengths))
  end
  if a.lengths and #a.lengths ~= #list then
    raise("Cat: %d lengths for %d transforms", #a.lengths, #list)
  end
  for i = 1, #list do
    self.lengths[i] = a.lengths and constraints.read_integer(
      "Cat", "length " .. i, a.lengths[i], 0) or 1
    self.length = self.length + self.lengths[i]
  end
  self.domain = constraints.cat(each(list, "domain"), self.dim, self.lengths)
  self.codomain = constraints.cat(each(list, "codomain"), self.dim,
                                  self.lengths)
end

--- The parts of x, of which each transform has one, and their dimension.
local function cut(self, x)
  local d = constraints.place("Cat", self.dim, x:dim())
  if x.shape[d] ~= self.length then
    raise("Cat: dimension %d must be of %d elements, it is of %d", self.dim,
          self.length, x.shape[d])
  end
  local start, parts = 1, {}
  for i, n in ipairs(self.lengths) do
    parts[i], start = x:narrow(d, start, n), start + n
  end
  return parts, d
end

local function forward_each(list, parts)
  for i, t in ipairs(list) do parts[i] = t(parts[i]) end
  return parts
end

local function inverse_each(list, parts)
  for i, t in ipairs(list) do parts[i] = t:inverse(parts[i]) end
  return parts
end

function Cat:forward(x)
  local parts, d = cut(self, x)
  return st.cat(forward_each(self.transforms, parts), d)
end

function Cat:backward(y)
  local parts, d = cut(self, y)
  return st.cat(inverse_each(self.transforms, parts), d)
end

function Cat:jacobian(x, y)
  local xs, d = cut(self, x)
  local ys, terms = cut(self, y), {}
  for i, t in ipairs(self.transforms) do
    terms[i] = t:log_abs_det_jacobian(xs[i], ys[i])
  end
  return join_terms(st.cat, terms, self.transforms, self.most, d)
end

local Stack = {
  params = {"transforms", "dim"}, with_cache = with_caches "transforms",
}

function Stack:init(a)
  local list = read_parts(self, a)
  self.domain = constraints.stack(each(list, "domain"), self.dim)
  self.codomain = constraints.stack(each(list, "codomain"), self.dim)
end

local function slices(self, x)
  local d = constraints.place("Stack", self.dim, x:dim())
  if x.shape[d] ~= #self.transforms then
    raise("Stack: dimension %d must be of %d elements, it is of %d", self.dim,
          #self.transforms, x.shape[d])
  end
  local parts = {}
  for i = 1, #self.transforms do parts[i] = x:select(d, i) end
  return parts, d
end

function Stack:forward(x)
  local parts, d = slices(self, x)
  return st.stack(forward_each(self.transforms, parts), d)
end

function Stack:backward(y)
  local parts, d = slices(self, y)
  return st.stack(inverse_each(self.transforms, parts), d)
end

function Stack:jacobian(x, y)
  local xs, d = slices(self, x)
  local ys, terms = slices(self, y), {}
  for i, t in ipairs(self.transforms) do
    terms[i] = t:log_abs_det_jacobian(xs[i], ys[i])
  end
  return join_terms(st.stack, terms, self.transforms, self.most, d)
end

-- -- CumulativeDistribution --------------------------------------------------

local Cumulative = {
  codomain = "unit_interval", sign = 1, bijective = true,
  params = {"distribution"},
}

function Cumulative:init(a)
  local d = a.distribution
  if not base.is_distribution(d) then
    raise("CumulativeDistribution: distribution must be a distribution")
  end
  self.distribution, self.domain = d, d.support
end

function Cumulative:forward(x) return self.distribution:cdf(x) end
function Cumulative:backward(y) return self.distribution:icdf(y) end
function Cumulative:jacobian(x) return self.distribution:log_prob(x) end
function Cumulative:equals(other)
  return rawequal(self.distribution, other.distribution)
end

-- -- The classes -------------------------------------------------------------

--- Makes the classes, by `class(name, fields)`.
return function(class)
  --- Several transforms, the first one first.
  -- @function Compose
  -- @tparam table parts
  class("Compose", Compose)

  --- A transform whose events have more dimensions.
  -- @function Independent
  -- @param base_transform
  -- @tparam integer reinterpreted_batch_ndims how many more
  class("Independent", Independent)

  --- Another shape of an event.
  -- @function Reshape
  -- @tparam table in_shape sizes
  -- @tparam table out_shape sizes
  class("Reshape", Reshape)

  --- Transforms of consecutive parts of a dimension.
  -- @function Cat
  -- @tparam table transforms
  -- @tparam[opt=1] integer dim
  -- @tparam[opt] table lengths of the parts; default 1 each
  class("Cat", Cat)

  --- Transforms of the elements of a dimension.
  -- @function Stack
  -- @tparam table transforms
  -- @tparam[opt=1] integer dim
  class("Stack", Stack)

  --- y = cdf(x) of a distribution.
  -- @function CumulativeDistribution
  -- @param distribution
  class("CumulativeDistribution", Cumulative)
end
