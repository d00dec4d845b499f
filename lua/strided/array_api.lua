--- Functions of the Array API standard that are no operators, and those of
-- PyTorch beside them: dtypes, shapes, conversions, running totals.
--
-- The other names of the standard are operators or their synonyms;
-- spec/COVERAGE.md has a row for each that is written otherwise.
--
-- @module strided.array_api

local core = require "strided.core"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local floor, ipairs, log, max, next, require, select, setmetatable, sort,
  tostring, type = math.floor, ipairs, math.log, math.max, next, require,
  select, setmetatable, table.sort, tostring, type

local api = {
  e = 2.718281828459045, pi = 3.141592653589793, inf = 1 / 0, nan = 0 / 0,
  __array_api_version__ = "2025.12",
}

local is_tensor = core.is_tensor

local function st() return core.fields or require "strided" end

local function check_tensor(name, value)
  if is_tensor(value) then return value end
  raise("%s: argument 'self' must be a Tensor, got %s", name, type(value))
end

--- What f(...) returns; its error names `name` instead.
local function as(name, f, ...)
  local ok, result = core.try(f, ...)
  if ok then return result end
  local why = tostring(result)
  raise("%s: %s", name, why:match "^.-:%d+: [%w_]+: (.*)$" or
        why:match "^[%w_]+: (.*)$" or why)
end

--- What core.dtype_info returns, for `name`.
local function info_of(name, dtype)
  return as(name, core.dtype_info, dtype)
end

-- -- Dtypes ------------------------------------------------------------------

--- The dtype of a tensor, or of a name of a dtype.
local function dtype_of(value)
  return is_tensor(value) and value.dtype or value
end

local PART = {} -- dtype -> that of the parts of a complex one
for _, d in ipairs(core.dtypes()) do PART[d.name] = d.part end

--- The limits of a floating-point dtype; for a complex one, those of its parts.
-- @function finfo
-- @param[opt] dtype a dtype or a tensor; the default dtype
-- @treturn table `dtype`, `bits`, `min`, `max`, `eps`, `tiny` or
-- `smallest_normal`, `resolution`
function api.finfo(dtype)
  if dtype == nil then dtype = core.get_default_dtype() end
  local info = info_of("finfo", dtype_of(dtype))
  if info.is_complex then info = core.dtype_info(PART[info.dtype]) end
  if not info.is_floating_point then
    raise("finfo: argument 'dtype' must be floating-point, got %s; write "
          .. "st.iinfo(dtype)", info.dtype)
  end
  return {
    dtype = info.dtype, bits = info.bits, min = info.min, max = info.max,
    eps = info.eps, tiny = info.tiny, smallest_normal = info.tiny,
    -- of the decimal digits that every number keeps
    resolution = 10 ^ -floor(-log(info.eps) / log(10)),
  }
end

--- The limits of an integer dtype.
-- @function iinfo
-- @param dtype a dtype or a tensor
-- @treturn table `dtype`, `bits`, `min`, `max`
function api.iinfo(dtype)
  local info = info_of("iinfo", dtype_of(dtype))
  if not info.is_integer then
    raise("iinfo: argument 'dtype' must be an integer dtype, got %s; write "
          .. "st.finfo(dtype)", info.dtype)
  end
  return {dtype = info.dtype, bits = info.bits, min = info.min, max = info.max}
end

local KINDS = {
  ["bool"] = function(info) return info.dtype == "bool" end,
  ["real floating"] = function(info) return info.is_floating_point end,
  ["complex floating"] = function(info) return info.is_complex end,
}

local function is_integral(info) return info.is_integer end
KINDS.integral = is_integral
KINDS.numeric = function(info) return info.dtype ~= "bool" end
KINDS["signed integer"] = function(info)
  return is_integral(info) and info.is_signed
end
KINDS["unsigned integer"] = function(info)
  return is_integral(info) and not info.is_signed
end

local function is_kind(name, info, kind)
  if type(kind) == "table" then
    for _, one in ipairs(kind) do
      if is_kind(name, info, one) then return true end
    end
    return false
  end
  local test = KINDS[kind]
  if test and kind ~= "bool" then return test(info) end
  local known, other = core.try(core.dtype_info, kind)
  if not known then
    raise("%s: argument 'kind' must be a dtype, \"bool\", \"signed integer\", "
          .. "\"unsigned integer\", \"integral\", \"real floating\", "
          .. "\"complex floating\", \"numeric\" or a list of these, got %s",
          name, tostring(kind))
  end
  return info.dtype == other.dtype
end

--- True if a dtype is of a kind.
-- @function isdtype
-- @tparam string dtype
-- @param kind a dtype, "bool", "signed integer", "unsigned integer",
-- "integral", "real floating", "complex floating", "numeric", or a list of
-- these
-- @treturn boolean
function api.isdtype(dtype, kind)
  return is_kind("isdtype", info_of("isdtype", dtype), kind)
end

-- Numbers of a category, by the dtype that they have alone; others are floats.
local LITERAL = {bool = true, int64 = 1,
                 uint64 = core.int "18446744073709551615",
                 complex64 = core.complex(0, 1),
                 complex128 = core.complex(0, 1)}

local function sample(dtype, sizes)
  return st().ops.aten.empty(sizes, {dtype = dtype, device = "meta"})
end

--- The dtype of an operation on any number of tensors, dtypes and numbers.
-- Tensors with dimensions and dtypes come first; then a 0-dim tensor, and then
-- a number, counts where it is of a higher category (P1).
-- @function result_type
-- @treturn string
function api.result_type(...)
  local aten = st().ops.aten
  local n = select("#", ...)
  if n == 0 then raise "result_type: it needs a tensor, a dtype or a number" end
  local array, single, number
  for i = 1, n do
    local value = select(i, ...)
    if type(value) == "string" or is_tensor(value) and value.ndim > 0 then
      local dtype = dtype_of(value)
      array = array and aten.promote_types(array, dtype)
              or info_of("result_type", dtype).dtype
    elseif is_tensor(value) then
      single = single and aten.promote_types(single, value.dtype)
               or value.dtype
    else
      local dtype = aten.result_type(value, value)
      number = number and aten.promote_types(number, dtype) or dtype
    end
  end
  if single and number then
    single = aten.result_type(sample(single, {}), LITERAL[number] or 0.5)
  end
  if not array then return single or number end
  if not single and not number then return array end
  array = sample(array, {1})
  return aten.result_type(array, single and sample(single, {})
                                 or LITERAL[number] or 0.5)
end

-- -- Shapes ------------------------------------------------------------------

local function read_shape(i, value)
  local shape = type(value) == "number" and {value} or value
  if type(shape) ~= "table" then
    raise("broadcast_shapes: argument %d must be a shape, got %s", i,
          type(value))
  end
  for d, size in ipairs(shape) do
    if type(size) ~= "number" or size < 0 or size ~= floor(size) then
      raise("broadcast_shapes: size %d of shape %d must be an integer that is "
            .. "not negative, got %s", d, i, tostring(size))
    end
  end
  return shape
end

--- The shape that shapes broadcast to. Allocates no tensor.
-- @function broadcast_shapes
-- @param ... shapes, as lists, st.Size or numbers
-- @treturn Size
function api.broadcast_shapes(...)
  local n, ndim, shapes, out = select("#", ...), 0, {}, {}
  for i = 1, n do
    shapes[i] = read_shape(i, (select(i, ...)))
    ndim = max(ndim, #shapes[i])
  end
  for d = 1, ndim do out[d] = 1 end
  for i, shape in ipairs(shapes) do
    for d = 1, #shape do
      local at = ndim - #shape + d
      if out[at] == 1 then
        out[at] = shape[d]
      elseif shape[d] ~= 1 and shape[d] ~= out[at] then
        raise("broadcast_shapes: size %d of dimension %d of shape %d does not "
              .. "broadcast with size %d of the shapes before", shape[d], d, i,
              out[at])
      end
    end
  end
  return core.Size(out)
end

--- Inserts dimensions of size 1.
-- @function expand_dims
-- @tparam Tensor self
-- @param dim the place of the dimension in the result, or a list of places, in
-- any order; negative ones count from the end
-- @treturn Tensor a view
function api.expand_dims(self, dim, given)
  check_tensor("expand_dims", self)
  if type(dim) == "table" and #dim == 0 and next(dim) ~= nil then
    dim, given = nil, dim
  end
  local opt = options("expand_dims", given, {dim = true, axis = true})
  if dim == nil then dim = opt.dim or opt.axis end
  if type(dim) ~= "table" then
    return as("expand_dims", self.unsqueeze, self, dim)
  end
  local ndim, places = self.ndim + #dim, {}
  for i, place in ipairs(dim) do
    local at = type(place) == "number" and place < 0 and place + ndim + 1
               or place
    if type(at) ~= "number" or at < 1 or at > ndim or at ~= floor(at) then
      raise("expand_dims: place %d must be a dimension of the result, which "
            .. "has %d, got %s", i, ndim, tostring(place))
    end
    places[i] = at
  end
  sort(places)
  for i, place in ipairs(places) do
    if place == places[i - 1] then
      raise("expand_dims: dimension %d appears more than once", place)
    end
  end
  local out = self:view_as(self)
  for _, place in ipairs(places) do out = out:unsqueeze(place) end
  return out
end

-- -- Conversions -------------------------------------------------------------

--- The tensor of a value, for `name`.
local function convert(name, value, opt)
  if not is_tensor(value) and type(value) == "userdata" then
    local is_number, number = core.try(st().tensor, value) -- a complex one
    value = is_number and number or as(name, st().from_dlpack, value)
  end
  if not is_tensor(value) then
    if opt.copy == false then
      raise("%s: a %s can only be copied; leave out copy = false", name,
            type(value))
    end
    return as(name, st().tensor, value, {
      dtype = opt.dtype, device = opt.device,
      requires_grad = opt.requires_grad})
  end
  local out = as(name, value.to, value, {
    dtype = opt.dtype, device = opt.device, copy = opt.copy == true})
  if opt.copy == false and not out:is_alias_of(value) then
    raise("%s: a tensor of dtype %s on %s can only be copied to dtype %s "
          .. "on %s; leave out copy = false", name, value.dtype, value.device,
          out.dtype, out.device)
  end
  if opt.requires_grad == nil then return out end
  return out:detach():requires_grad_(opt.requires_grad)
end

--- A tensor of a value: a tensor itself, converted if it has another dtype or
-- is on another device; a table, a number or a boolean is read; what another
-- library exports by DLPack shares its memory.
-- @function asarray
-- @param value
-- @tparam[opt] table options `dtype`, `device`, `requires_grad`; `copy`: true
-- for a copy, false for an error where one would be needed
-- @treturn Tensor
function api.asarray(value, given)
  return convert("asarray", value, options("asarray", given, {
    dtype = true, device = true, copy = true, requires_grad = true}))
end

--- The same as asarray, without `copy` and `requires_grad`.
-- @function as_tensor
function api.as_tensor(value, given)
  return convert("as_tensor", value, options("as_tensor", given,
                                             {dtype = true, device = true}))
end

--- A tensor of another dtype; a copy also where the dtype is the same.
-- @function astype
-- @tparam Tensor self
-- @tparam string dtype
-- @tparam[opt] table options `copy`: false returns self where nothing
-- changes; `device`
-- @treturn Tensor
function api.astype(self, dtype, given)
  local opt = options("astype", given, {copy = true, device = true})
  return check_tensor("astype", self):to {
    dtype = info_of("astype", dtype).dtype, device = opt.device,
    copy = opt.copy ~= false}
end

-- -- Running totals ----------------------------------------------------------

--- The dtype of a total: that of an operator, but uint64 of unsigned integers.
local function total_dtype(self, dtype)
  local info = core.dtype_info(self.dtype)
  local is_unsigned = not info.is_signed and info.dtype ~= "bool"
  return dtype == nil and is_unsigned and "uint64" or dtype
end

local CUMULATIVE = {dim = true, axis = true, dtype = true,
                    include_initial = true}

local function cumulative(name, operator, initial)
  return function(self, dim, given)
    check_tensor(name, self)
    if type(dim) == "table" then dim, given = nil, dim end
    local opt = options(name, given, CUMULATIVE)
    if dim == nil then dim = opt.dim or opt.axis end
    if dim == nil then
      if self.ndim > 1 then
        raise("%s: a tensor of %d dimensions needs argument 'dim'", name,
              self.ndim)
      end
      dim = 1
    end
    local out = as(name, self[operator], self,
                   {dim = dim, dtype = total_dtype(self, opt.dtype)})
    if not opt.include_initial then return out end
    if self.ndim == 0 then
      raise("%s: include_initial needs a tensor with dimensions", name)
    end
    local shape = {}
    for d, size in ipairs(self.shape) do shape[d] = size end
    shape[dim < 0 and dim + self.ndim + 1 or dim] = 1
    return st().cat({self.new_full(out, shape, initial), out}, dim)
  end
end

--- The running sums along a dimension.
-- @function cumulative_sum
-- @tparam Tensor self
-- @tparam[opt] integer dim needed for more than one dimension
-- @tparam[opt] table options `dim`, `dtype`; `include_initial`: begin with 0
-- @treturn Tensor
api.cumulative_sum = cumulative("cumulative_sum", "cumsum", 0)

--- The running products along a dimension.
-- @function cumulative_prod
-- @tparam Tensor self
-- @tparam[opt] integer dim needed for more than one dimension
-- @tparam[opt] table options `dim`, `dtype`; `include_initial`: begin with 1
-- @treturn Tensor
api.cumulative_prod = cumulative("cumulative_prod", "cumprod", 1)

-- -- Linear algebra ----------------------------------------------------------

--- The sums of the diagonals of the matrices of a batch.
-- @function linalg.trace
-- @tparam Tensor self
-- @tparam[opt] table options `offset` of the diagonal, above the main one where
-- it is positive; `dtype`
-- @treturn Tensor
function api.linalg_trace(self, given)
  local opt = options("linalg.trace", given, {offset = true, dtype = true})
  local line = check_tensor("linalg.trace", self):diagonal {
    offset = opt.offset or 0, dim1 = -2, dim2 = -1}
  return line:sum {dim = -1, dtype = total_dtype(self, opt.dtype)}
end

-- -- What the namespace is ----------------------------------------------------

local DTYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                "uint32", "uint64", "float32", "float64", "complex64",
                "complex128"}

local info = {}
local is_info = setmetatable({}, {__mode = "k"}) -- the tables given out

function info.capabilities()
  return {["boolean indexing"] = true, ["data-dependent shapes"] = true,
          ["max dimensions"] = 64}
end

function info.default_device() return "cpu" end

function info.default_dtypes()
  local default = core.get_default_dtype()
  return {
    ["real floating"] = default,
    ["complex floating"] = default == "float64" and "complex128" or "complex64",
    integral = "int64", indexing = "int64",
  }
end

function info.dtypes(self, given)
  if not is_info[self or false] then given = self end
  local opt = options("dtypes", given, {kind = true, device = true})
  local found = {}
  for _, dtype in ipairs(DTYPES) do
    if opt.kind == nil or is_kind("dtypes", core.dtype_info(dtype), opt.kind)
    then
      found[dtype] = dtype
    end
  end
  return found
end

--- Those that have elements.
function info.devices()
  local found = {}
  for _, device in ipairs(core.devices()) do
    if device ~= "meta" then found[#found + 1] = device end
  end
  return found
end

--- What the standard asks a namespace: a table with the methods
-- `capabilities`, `default_device`, `default_dtypes`, `dtypes` (option `kind`,
-- as for `isdtype`) and `devices`.
-- @function __array_namespace_info__
-- @treturn table
function api.__array_namespace_info__()
  local copy = {} -- what a script changes is its own
  for name, fn in next, info do copy[name] = fn end
  is_info[copy] = true
  return copy
end

-- -- Seeds and determinism ----------------------------------------------------

--- Seeds the default generator by the system.
-- @function seed
-- @treturn integer the seed, by which `st.manual_seed` gives the same numbers
function api.seed()
  local seed = core.Generator():initial_seed()
  core.manual_seed(seed)
  return seed
end

--- The seed of the default generator.
-- @function initial_seed
-- @treturn integer
function api.initial_seed() return core.get_rng_state():initial_seed() end

--- Does nothing: the same call has the same result.
-- @function use_deterministic_algorithms
-- @tparam boolean flag
function api.use_deterministic_algorithms(flag)
  if type(flag) ~= "boolean" then
    raise("use_deterministic_algorithms: argument 'flag' must be a boolean, "
          .. "got %s", type(flag))
  end
end

--- True: the same call has the same result.
-- @function are_deterministic_algorithms_enabled
-- @treturn boolean
function api.are_deterministic_algorithms_enabled() return true end

return api
