--- st.masked: reductions over the elements that a mask selects, as in
-- torch.masked. The mask is true for the elements that count, and broadcasts to
-- the tensor; without one all count. Where none counts the result is that of
-- nothing: 0 for a sum, -inf for a maximum, NaN for a mean.
--
-- @module strided.masked

local core = require "strided.core"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local concat, ipairs, pairs, require, sort, type = table.concat, ipairs, pairs,
  require, table.sort, type

local masked = {}

local is_tensor = core.is_tensor

local function st() return core.fields or require "strided" end

-- -- Arguments ---------------------------------------------------------------

local KNOWN = {dim = true, axis = true, keepdim = true, dtype = true,
               mask = true}

--- Returns the mask, the value of an option, expanded to the input's shape.
local function expanded(name, option, mask, input)
  if mask == nil then return nil end
  if not is_tensor(mask) or mask.dtype ~= "bool" then
    raise("%s: option '%s' must be a Tensor of dtype bool, got %s", name,
          option, is_tensor(mask) and mask.dtype or type(mask))
  end
  local fits, result = core.try(st().expand, mask, input.shape)
  if fits then return result end
  raise("%s: option '%s' of shape {%s} does not broadcast to the input, shape "
        .. "{%s}", name, option, concat(mask.shape, ", "),
        concat(input.shape, ", "))
end

--- The tensor and the options of a call `name(input, dim, options)`; further
-- names of options are the keys of more.
local function arguments(name, input, dim, given, more)
  name = "masked." .. name
  if not is_tensor(input) then
    raise("%s: argument 'input' must be a Tensor, got %s", name, type(input))
  end
  if type(dim) == "table" and #dim == 0 and given == nil then
    dim, given = nil, dim
  end
  local known = KNOWN
  if more then
    known = {}
    for key in pairs(KNOWN) do known[key] = true end
    for key in pairs(more) do known[key] = true end
  end
  local opt = {}
  for key, value in pairs(options(name, given, known)) do opt[key] = value end
  if dim == nil then dim = opt.dim or opt.axis end
  opt.mask = expanded(name, "mask", opt.mask, input)
  opt.name, opt.dim = name, dim
  return opt
end

--- The dimensions to reduce, all of them where none is given.
local function dims_of(opt, input)
  local list = type(opt.dim) == "table" and opt.dim or {opt.dim}
  local all, seen = {}, {}
  for _, d in ipairs(list) do
    if type(d) ~= "number" then
      raise("%s: argument 'dim' must be a dimension or a list of them, got %s",
            opt.name, type(d))
    end
    local place = d < 0 and d + input.ndim + 1 or d
    if seen[place] then
      raise("%s: dimension %d appears twice in argument 'dim'", opt.name, d)
    end
    seen[place] = true
  end
  if #list > 0 then return list end
  for d = 1, input.ndim do all[d] = d end
  return all
end

local function one_dim(opt)
  if type(opt.dim) == "number" then return opt.dim end
  raise("%s: argument 'dim' must be a dimension, got %s", opt.name,
        type(opt.dim))
end

--- The input with a value where the mask is false.
local function fill(opt, input, value)
  if not opt.mask then return input end
  return st().masked_fill(input, st().logical_not(opt.mask), value)
end

--- The least value of a dtype with sign 1, the greatest with -1.
local function bound(dtype, sign)
  local info = core.dtype_info(dtype)
  if info.is_floating_point then return sign * -1 / 0 end
  if dtype == "bool" then return sign < 0 end
  return sign > 0 and info.min or info.max
end

-- -- Sums --------------------------------------------------------------------

--- The sum of the elements that count.
-- @function sum
-- @tparam Tensor input
-- @param[opt] dim a dimension or a list of them; all by default
-- @tparam[opt] table options `mask`, `keepdim`, `dtype`
function masked.sum(input, dim, given)
  local opt = arguments("sum", input, dim, given)
  return st().sum(fill(opt, input, 0), {dim = dims_of(opt, input),
                  keepdim = opt.keepdim or false, dtype = opt.dtype})
end

--- The product of the elements that count; arguments as for sum.
-- @function prod
function masked.prod(input, dim, given)
  local opt = arguments("prod", input, dim, given)
  local out, list = fill(opt, input, 1), {}
  for i, d in ipairs(dims_of(opt, input)) do
    list[i] = d < 0 and d + input.ndim + 1 or d
  end
  sort(list, function(a, b) return a > b end)
  if #list == 0 then
    return st().prod(opt.dtype and out:to(opt.dtype) or out)
  end
  for _, d in ipairs(list) do
    out = st().prod(out, {dim = d, keepdim = opt.keepdim or false,
                          dtype = opt.dtype})
  end
  return out
end

--- How many elements count; the dimensions stay.
local function count_of(opt, input)
  local ones = opt.mask and st().expand(opt.mask, input.shape)
               or st().ones_like(input, {dtype = "bool"})
  return st().sum(ones, {dim = dims_of(opt, input), keepdim = true})
end

local function squeezed(opt, input, t)
  if opt.keepdim then return t end
  return st().squeeze(t, dims_of(opt, input))
end

local function check_floating(opt, input, dtype)
  local info = core.dtype_info(dtype or input.dtype)
  if info.is_floating_point or info.is_complex then return end
  raise("%s: the elements must be floating-point or complex, got %s; give "
        .. "option 'dtype'", opt.name, info.dtype)
end

--- The input in the dtype of the option, which must be floating-point.
local function floating(opt, input)
  check_floating(opt, input, opt.dtype)
  return opt.dtype and input:to(opt.dtype) or input
end

local function mean_of(opt, input, dtype)
  local total = st().sum(fill(opt, input, 0), {
    dim = dims_of(opt, input), keepdim = true, dtype = dtype})
  return st().div(total, count_of(opt, input))
end

--- The mean of the elements that count; arguments as for sum.
-- @function mean
function masked.mean(input, dim, given)
  local opt = arguments("mean", input, dim, given)
  check_floating(opt, input, opt.dtype)
  return squeezed(opt, input, mean_of(opt, input, opt.dtype))
end

local function variance(name, input, dim, given)
  local opt = arguments(name, input, dim, given,
                        {correction = true, unbiased = true})
  local info = core.dtype_info(opt.dtype or input.dtype)
  local dtype = (info.is_floating_point or info.is_complex) and info.dtype
                or "float32"
  local distance = st().sub(fill(opt, input, 0),
                            mean_of(opt, input, dtype)):abs()
  local total = st().sum(fill(opt, st().square(distance), 0), {
    dim = dims_of(opt, input), keepdim = true})
  local correction = opt.correction
  if correction == nil then correction = opt.unbiased == false and 0 or 1 end
  local count = st().sub(count_of(opt, input), correction):clamp {min = 0}
  return squeezed(opt, input, st().div(total, count))
end

--- The variance of the elements that count; arguments as for sum.
-- @function var
-- @tparam[opt] table options also `correction` (1), or `unbiased`
function masked.var(input, dim, given)
  return variance("var", input, dim, given)
end

--- The standard deviation of the elements that count; arguments as for var.
-- @function std
function masked.std(input, dim, given)
  return variance("std", input, dim, given):sqrt()
end

-- -- Extremes ----------------------------------------------------------------

local function extreme(name, sign)
  return function(input, dim, given)
    local opt = arguments(name, input, dim, given)
    local filled = fill(opt, input, bound(input.dtype, sign))
    local out = st()[name](filled, dims_of(opt, input), opt.keepdim or false)
    return opt.dtype and out:to(opt.dtype) or out
  end
end

--- The greatest element that counts; arguments as for sum.
-- @function amax
masked.amax = extreme("amax", 1)

--- The least element that counts; arguments as for sum.
-- @function amin
masked.amin = extreme("amin", -1)

local function position(name, sign)
  return function(input, dim, given)
    local opt = arguments(name, input, dim, given, {base = true})
    return st()[name](fill(opt, input, bound(input.dtype, sign)), {
      dim = opt.dim and one_dim(opt), keepdim = opt.keepdim or false,
      base = opt.base})
  end
end

--- The position of the greatest element that counts, of the flattened input
-- without a dimension.
-- @function argmax
-- @tparam Tensor input
-- @tparam[opt] integer dim
-- @tparam[opt] table options `mask`, `keepdim`, `base`
masked.argmax = position("argmax", 1)

--- The position of the least element that counts; arguments as for argmax.
-- @function argmin
masked.argmin = position("argmin", -1)

--- The lower median of the elements that count, along one dimension.
-- @function median
-- @tparam Tensor input
-- @tparam[opt] integer dim the last one by default
-- @tparam[opt] table options `mask`, `keepdim`, `dtype`
function masked.median(input, dim, given)
  local opt = arguments("median", input, dim, given)
  if opt.dim == nil then opt.dim = -1 end
  return (st().nanmedian(fill(opt, floating(opt, input), 0 / 0), one_dim(opt),
                         opt.keepdim or false))
end

-- -- Norms and logarithms -----------------------------------------------------

local function norm_of(opt, input, ord, keepdim)
  input = floating(opt, input)
  if type(ord) ~= "number" then
    raise("%s: argument 'ord' must be a number, got %s", opt.name, type(ord))
  end
  return st().linalg_vector_norm(fill(opt, input, ord < 0 and 1 / 0 or 0), ord,
    {dim = dims_of(opt, input), keepdim = keepdim, dtype = opt.dtype})
end

--- The norm of the vector of the elements that count.
-- @function norm
-- @tparam Tensor input
-- @tparam[opt=2] number ord
-- @param[opt] dim a dimension or a list of them; all by default
-- @tparam[opt] table options `mask`, `keepdim`, `dtype`
function masked.norm(input, ord, dim, given)
  if type(ord) == "table" then ord, dim, given = nil, nil, ord end
  local opt = arguments("norm", input, dim, given, {ord = true})
  return norm_of(opt, input, ord or opt.ord or 2, opt.keepdim or false)
end

--- The input divided by its norm along a dimension; 0 where the mask is false.
-- @function normalize
-- @tparam Tensor input
-- @tparam number ord
-- @tparam integer dim
-- @tparam[opt] table options `mask`, `dtype`; `eps` (1e-12), the least divisor
function masked.normalize(input, ord, dim, given)
  local opt = arguments("normalize", input, dim, given, {eps = true})
  local norm = norm_of(opt, input, ord, true):clamp {min = opt.eps or 1e-12}
  return st().div(fill(opt, input, 0), norm)
end

--- log(sum(exp)) of the elements that count; arguments as for sum.
-- @function logsumexp
function masked.logsumexp(input, dim, given)
  local opt = arguments("logsumexp", input, dim, given)
  return st().logsumexp(fill(opt, floating(opt, input), -1 / 0),
                        dims_of(opt, input),
                        opt.keepdim or false)
end

--- The input in a dtype, the default one for integers, that has infinity.
local function with_infinity(input, dtype)
  local info = core.dtype_info(input.dtype)
  if not dtype and not info.is_floating_point and not info.is_complex then
    dtype = core.get_default_dtype()
  end
  return dtype and input:to(dtype) or input
end

--- log(exp(input) + exp(other)), where what does not count adds nothing.
-- @function logaddexp
-- @tparam Tensor input
-- @tparam Tensor other
-- @tparam[opt] table options `input_mask`, `other_mask`, `dtype`
function masked.logaddexp(input, other, given)
  local opt = options("masked.logaddexp", given, {
    input_mask = true, other_mask = true, dtype = true})
  local function filled(argument, value)
    local name, option = "masked.logaddexp", argument .. "_mask"
    if not is_tensor(value) then
      raise("%s: argument '%s' must be a Tensor, got %s", name, argument,
            type(value))
    end
    local mask = expanded(name, option, opt[option], value)
    return fill({mask = mask}, with_infinity(value, opt.dtype), -1 / 0)
  end
  return st().logaddexp(filled("input", input), filled("other", other))
end

-- -- Along a dimension --------------------------------------------------------

local function along(name, operator, value)
  return function(input, dim, given)
    local opt = arguments(name, input, dim, given)
    if value ~= 0 and value ~= 1 then input = floating(opt, input) end
    return st()[operator](fill(opt, input, value), {
      dim = one_dim(opt), dtype = opt.dtype})
  end
end

--- The running sums of the elements that count.
-- @function cumsum
-- @tparam Tensor input
-- @tparam integer dim
-- @tparam[opt] table options `mask`, `dtype`
masked.cumsum = along("cumsum", "cumsum", 0)

--- The running products of the elements that count; arguments as for cumsum.
-- @function cumprod
masked.cumprod = along("cumprod", "cumprod", 1)

--- softmax of the elements that count, 0 elsewhere; arguments as for cumsum.
-- @function softmax
masked.softmax = along("softmax", "softmax", -1 / 0)

--- log_softmax of the elements that count, -inf elsewhere; arguments as for
-- cumsum.
-- @function log_softmax
masked.log_softmax = along("log_softmax", "log_softmax", -1 / 0)

--- softmin of the elements that count, 0 elsewhere; arguments as for cumsum.
-- @function softmin
masked.softmin = along("softmin", "softmin", 1 / 0)

return masked
