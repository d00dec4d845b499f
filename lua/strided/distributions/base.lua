--- What distributions share: classes, parameters, shapes, and the functions of
-- every distribution.
--
-- @function distributions.Distribution
-- @module strided.distributions.base

local st = require "strided"
local constraints = require "strided.distributions.constraint"
local guard = require "strided.name.guard"
local raise = require "strided.argument.caller_error"

local concat, find, format = table.concat, string.find, string.format
local unpack = unpack or table.unpack
local getmetatable, ipairs, is_tensor, next, no_grad, pairs, rawget, select,
  setmetatable, tostring, type = getmetatable, ipairs, st.is_tensor, next,
  st.no_grad, pairs, rawget, select, setmetatable, tostring, type
local math = math

local base = {validates = true}

-- -- Shapes ------------------------------------------------------------------

--- The lists, one after another, as a new one.
function base.join(...)
  local out = {}
  for i = 1, select("#", ...) do
    local list = select(i, ...)
    for j = 1, #list do out[#out + 1] = list[j] end
  end
  return out
end

--- Elements first to last of a list, as a new one.
function base.part(list, first, last)
  local out = {}
  for i = first, last do out[#out + 1] = list[i] end
  return out
end

local join, part = base.join, base.part

local function same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do if a[i] ~= b[i] then return false end end
  return true
end
base.same = same

--- Whether a shape expands to another.
function base.expands(from, to)
  if #from > #to then return false end
  for i = 1, #from do
    local a, b = from[#from + 1 - i], to[#to + 1 - i]
    if a ~= b and a ~= 1 then return false end
  end
  return true
end

--- A shape argument: none, a number, or a list.
local function read_shape(name, shape)
  if shape == nil then return {} end
  if type(shape) == "number" then return {shape} end
  if type(shape) == "table" then return part(shape, 1, #shape) end
  raise("%s: the shape must be a list of sizes, got %s", name, type(shape))
end
base.read_shape = read_shape

--- Sums the last n dimensions.
function base.sum_last(t, n)
  if n == 0 then return t end
  local dims = {}
  for i = 1, n do dims[i] = -i end
  return t:sum(dims)
end

-- -- Values ------------------------------------------------------------------

--- The options of a new tensor that is like t.
local function like(t) return {dtype = t.dtype, device = t.device} end
base.like = like

--- A value as a tensor; numbers and lists have the dtype and device of `model`.
function base.as_tensor(v, model)
  if is_tensor(v) then return v end
  return st.tensor(v, model and like(model) or
                      {dtype = st.get_default_dtype()})
end

--- Tensors, numbers and lists as tensors of one shape. Numbers have the dtype
-- and device of the first tensor.
function base.broadcast(...)
  local list, model = {...}, nil
  for i = 1, select("#", ...) do
    if is_tensor(list[i]) then
      model = list[i]
      break
    end
  end
  for i = 1, #list do list[i] = base.as_tensor(list[i], model) end
  return unpack(st.broadcast_tensors(list))
end

function base.eps(t) return st.dtype_info(t.dtype).eps end
function base.tiny(t) return st.dtype_info(t.dtype).tiny end

--- Probabilities that are neither 0 nor 1.
function base.clamp_probs(p)
  local eps = base.eps(p)
  return p:clamp(eps, 1 - eps)
end

function base.probs_to_logits(p, is_binary)
  local q = base.clamp_probs(p)
  return is_binary and q:log() - (-q):log1p() or q:log()
end

function base.logits_to_probs(logits, is_binary)
  return is_binary and st.sigmoid(logits) or st.softmax(logits, -1)
end

-- -- Classes -----------------------------------------------------------------

-- A class has: params, a list of {name, constraint, dimensions of a value,
-- whether expand leaves it}; support, a constraint, the name of one, or a
-- function of the distribution; get, functions that work fields out; init,
-- which gets the arguments by name and returns the batch and event shape; draw
-- (shape, options), a sample; and functions of values: density for log_prob,
-- below for cdf, quantile for icdf.

local Distribution = {get = {}, params = {}}
Distribution.__index = Distribution
base.Distribution = Distribution

local function field(class, kind, key)
  while class do
    local v = class[kind] and rawget(class[kind], key)
    if v ~= nil then return v end
    class = class.parent
  end
  return nil
end

--- True for a table of arguments or options by name.
function base.is_options(v)
  if type(v) ~= "table" or getmetatable(v) ~= nil then return false end
  local key = next(v)
  return type(key) == "string"
end

local is_options = base.is_options

-- Parameters that others replace, or that have a default in every class; those
-- of one class are in its field defaults.
local OPTIONAL = {
  probs = true, logits = true, covariance_matrix = true,
  precision_matrix = true, scale_tril = true, transforms = true,
}

--- Arguments by position, or the fields of one table, by name.
local function read_arguments(class, ...)
  local n, named, first = select("#", ...), {}, (...)
  local known = {validate_args = true}
  for i, p in ipairs(class.params) do
    known[p[1]] = true
    if not (n == 1 and is_options(first)) and i <= n then
      local v = select(i, ...)
      if not is_options(v) then named[p[1]] = v end
    end
  end
  local last = select(n > 0 and n or 1, ...)
  if n > 0 and is_options(last) then
    for key, v in pairs(last) do
      if not known[key] then
        local names = {}
        for i, p in ipairs(class.params) do names[i] = p[1] end
        raise("%s: unknown argument '%s': it has %s and validate_args",
              class.name, tostring(key), concat(names, ", "))
      end
      named[key] = v
    end
  elseif n > #class.params then
    raise("%s: takes at most %d arguments, got %d", class.name, #class.params,
          n)
  end
  for _, p in ipairs(class.params) do
    if named[p[1]] == nil and not OPTIONAL[p[1]] and
       not (class.defaults and class.defaults[p[1]]) then
      raise("%s: %s is missing", class.name, p[1])
    end
  end
  return named
end

--- The first element that is not allowed, as text.
local function offender(value, ok)
  if not same(value.shape, ok.shape) then return "" end
  local bad = value:masked_select(ok:logical_not())
  return ", an element is " .. tostring(bad[1])
end

--- Raises unless all of `value` are allowed.
local function check_values(name, what, constraint, value)
  no_grad(function()
    local ok = constraint:check(value)
    if ok:all():item() then return end
    raise("%s: %s must be %s%s", name, what, constraint.name,
          offender(value, ok))
  end)
end

local function validate(self)
  for _, p in ipairs(self.class.params) do
    local value = rawget(self, p[1])
    if value ~= nil and p[2] then
      check_values(self.class.name, p[1], constraints.find(p[2]), value)
    end
  end
end

local function instance(class)
  return setmetatable({class = class}, class.meta)
end

local function new(class, ...)
  local self = instance(class)
  local arguments = read_arguments(class, ...)
  local batch, event = class.init(self, arguments)
  self.batch, self.event = part(batch, 1, #batch), event or {}
  local validates = arguments.validate_args
  if validates == nil then validates = base.validates end
  self.validates = validates
  if validates then validate(self) end
  return self
end

local function show(v)
  if not is_tensor(v) then return tostring(v) end
  if v:numel() == 1 then return format("%g", v:detach():item()) end
  return format("%s of %s", tostring(v.dtype), tostring(v.shape))
end

local function to_text(self)
  local list = {}
  for _, p in ipairs(self.class.params) do
    local v = rawget(self, p[1])
    if v ~= nil then list[#list + 1] = p[1] .. " = " .. show(v) end
  end
  return format("%s {%s}", self.class.name, concat(list, ", "))
end

-- Weights are normalized to shares, which is what PyTorch asks for.
local SHOWN = {weights = constraints.simplex}

--- Fields of the class, which its instances share.
local function add_fields(class)
  class.arg_constraints = {}
  for _, p in ipairs(class.params) do
    class.arg_constraints[p[1]] = SHOWN[p[2]] or constraints.find(p[2])
  end
  class.has_rsample = class.reparameterized or false
end

--- A new class of distributions.
-- @tparam string name
-- @tparam table class its fields, as above
-- @tparam[opt] table parent
function base.class(name, class, parent)
  parent = parent or Distribution
  class.name, class.parent = name, parent
  class.get = class.get or {}
  class.params = class.params or parent.params
  setmetatable(class, {__index = parent, __call = new, __tostring = function()
    return "class " .. name
  end})
  add_fields(class)
  class.meta = {
    __index = function(self, key)
      local getter = field(class, "get", key)
      if getter then return getter(self) end
      local v = class[key]
      if v ~= nil or type(key) ~= "string" or find(key, "^_") or
         field(class, "optional", key) then return v end
      raise("%s has no '%s'", name, key)
    end,
    __tostring = class.to_text or to_text, __name = name,
  }
  return class
end

--- The parameters, broadcast: init of classes that have none.
function Distribution.init(self, a)
  local list, names = {}, {}
  for i, p in ipairs(self.class.params) do
    names[i], list[i] = p[1], a[p[1]]
  end
  list = {base.broadcast(unpack(list, 1, #names))}
  for i, name in ipairs(names) do self[name] = list[i] end
  return #list > 0 and list[1].shape or {}
end

--- What calling a base class does: it makes a class.
function base.subclasses(parent)
  return function(_, name, class)
    if type(name) ~= "string" or type(class) ~= "table" then
      raise("%s: give the name of a class, and the table of its fields",
            (tostring(parent):gsub("^class ", "")))
    end
    return base.class(name, class, parent)
  end
end

setmetatable(Distribution, {
  __call = base.subclasses(Distribution),
  __tostring = function() return "class Distribution" end,
})

--- True for distributions.
function base.is_distribution(v)
  local meta = type(v) == "table" and getmetatable(v)
  return type(meta) == "table" and rawget(v, "class") ~= nil and
         meta == v.class.meta
end

-- -- Fields ------------------------------------------------------------------

local get = Distribution.get

function get:batch_shape() return st.Size(self.batch) end
function get:event_shape() return st.Size(self.event) end
function get:stddev() return self.variance:sqrt() end
function get:has_enumerate_support() return self.class.values ~= nil end

function get:support()
  local support = self.class.support
  if type(support) == "function" then support = support(self) end
  return constraints.find(support)
end

for _, name in ipairs {"mean", "variance", "mode"} do
  get[name] = function(self)
    raise("%s has no %s", self.class.name, name)
  end
end

--- The first parameter that is a tensor.
local function parameter(self)
  for _, p in ipairs(self.class.params) do
    local v = rawget(self, p[1])
    if is_tensor(v) then return v end
  end
  return nil
end
base.parameter = parameter

-- -- Samples -----------------------------------------------------------------

--- Uninitialized numbers of the parameters' dtype, on their device.
function base.empty(self, shape)
  return st.empty(shape, like(parameter(self)))
end

function base.uniform(self, shape, o, low, high)
  return base.empty(self, shape):uniform_(low or 0, high or 1, o)
end

function base.normal(self, shape, o)
  return base.empty(self, shape):normal_(0, 1, o)
end

--- The shape of a sample.
function base.extended(self, shape)
  return join(shape, self.batch, self.event)
end

local OPTIONS = {generator = true}

local function read_sample(self, name, shape, o)
  if is_options(shape) then shape, o = nil, shape end
  for key in pairs(o or {}) do
    if not OPTIONS[key] then
      raise("%s: unknown option '%s': it has generator", name, tostring(key))
    end
  end
  shape = read_shape(name, shape)
  o = o and o.generator and {generator = o.generator} or nil
  return join(shape, self.batch, self.event), o, shape
end

--- Random numbers of the shape `shape`, `batch_shape`, `event_shape`, without
-- gradients.
-- @tparam[opt] table shape the number of samples, or a list of sizes
-- @tparam[opt] table options `generator`
-- @treturn Tensor
function Distribution:sample(shape, options)
  local full, o, outer = read_sample(self, "sample", shape, options)
  local draw = self.draw
  local out
  no_grad(function() out = draw(self, full, o, outer) end)
  return out
end

--- The same with gradients to the parameters, where the distribution has them
-- (`has_rsample`).
-- @tparam[opt] table shape
-- @tparam[opt] table options `generator`
-- @treturn Tensor
function Distribution:rsample(shape, options)
  if not self.has_rsample then
    raise("%s has no rsample: its samples have no gradients",
          self.class.name)
  end
  local full, o, outer = read_sample(self, "rsample", shape, options)
  return self.draw(self, full, o, outer)
end

-- -- Values ------------------------------------------------------------------

local function check_shape(self, value)
  local n, shape = #self.event, value.shape
  local ok = #shape >= n
  for i = 1, n do
    ok = ok and shape[#shape - n + i] == self.event[i]
  end
  for i = 1, math.min(#shape - n, #self.batch) do
    local a, b = shape[#shape - n + 1 - i], self.batch[#self.batch + 1 - i]
    ok = ok and (a == b or a == 1 or b == 1)
  end
  if ok then return end
  raise("%s: a value of the shape %s has no place in batch_shape %s and "
        .. "event_shape %s", self.class.name, tostring(shape),
        tostring(self.batch_shape), tostring(self.event_shape))
end

--- A value as a tensor that is checked.
local function read_value(self, value)
  value = base.as_tensor(value, parameter(self))
  if not self.validates then return value end
  check_shape(self, value)
  local support = self.support
  if support then check_values(self.class.name, "value", support, value) end
  return value
end
base.read_value = read_value

--- The logarithm of the density, or of the probability, at a value.
-- @function Distribution:log_prob
-- @param value a tensor, a number or a list
-- @treturn Tensor

--- The probability of values up to this one.
-- @function Distribution:cdf
-- @param value
-- @treturn Tensor
for method, name in pairs {log_prob = "density", cdf = "below"} do
  Distribution[method] = function(self, value)
    local f = self.class[name]
    if not f then raise("%s has no %s", self.class.name, method) end
    return f(self, read_value(self, value))
  end
end

--- The value whose cdf this is.
-- @param p from 0 to 1
-- @treturn Tensor
function Distribution:icdf(p)
  local f = self.class.quantile
  if not f then raise("%s has no icdf", self.class.name) end
  p = base.as_tensor(p, parameter(self))
  if self.validates then
    check_values(self.class.name, "p", constraints.unit_interval, p)
  end
  return f(self, p)
end

--- The entropy, in nats.
-- @treturn Tensor
function Distribution:entropy()
  raise("%s has no entropy", self.class.name)
end

--- exp of the entropy.
-- @treturn Tensor
function Distribution:perplexity() return self:entropy():exp() end

--- All values of a discrete distribution, in a new first dimension.
-- @tparam[opt] boolean expand to the batch shape; default true
-- @treturn Tensor
function Distribution:enumerate_support(expand)
  local f = self.class.values
  if not f then
    raise("%s has no enumerate_support", self.class.name)
  end
  local values = f(self)
  local ones = {}
  for i = 1, #self.batch do ones[i] = 1 end
  values = values:reshape(join({values.shape[1]}, ones, self.event))
  if expand == false then return values end
  return values:expand(join({values.shape[1]}, self.batch, self.event))
end

--- The same distribution with another batch shape, to which the parameters are
-- expanded.
-- @tparam table shape
function Distribution:expand(shape)
  local out = instance(self.class)
  shape = read_shape("expand", shape)
  for key, v in pairs(self) do out[key] = v end
  for _, p in ipairs(self.class.params) do
    local v, n = rawget(self, p[1]), p[3] or 0
    if is_tensor(v) and not p[4] then
      local sizes = v.shape
      out[p[1]] = v:expand(join(shape, part(sizes, #sizes - n + 1, #sizes)))
    end
  end
  out.batch = shape
  return out
end

-- -- Probabilities or their logits -------------------------------------------

--- Reads the arguments probs and logits, of which one is given.
function base.read_probs(self, a, name)
  if (a.probs == nil) == (a.logits == nil) then
    raise("%s: give either probs or logits", name)
  end
  local key = a.probs and "probs" or "logits"
  local value = base.as_tensor(a[key])
  self[key] = value
  return value
end

--- The fields probs and logits, each made of the other.
function base.add_probs(class, is_binary)
  function class.get:probs()
    return base.logits_to_probs(rawget(self, "logits"), is_binary)
  end
  function class.get:logits()
    return base.probs_to_logits(rawget(self, "probs"), is_binary)
  end
end

guard.methods(Distribution, "distribution", base.is_distribution, {
  "sample", "rsample", "log_prob", "cdf", "icdf", "entropy", "perplexity",
  "expand", "enumerate_support",
})

return base
