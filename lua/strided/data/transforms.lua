--- Transforms: functions of a sample, for `dataset:map`. Pictures are tensors
-- of the shape {channels, height, width}, or {..., height, width}.
--
--     local augment = data.transforms.Compose {
--       data.transforms.RandomCrop(32, {padding = 4}),
--       data.transforms.RandomHorizontalFlip(),
--       data.transforms.Normalize({0.5}, {0.25}),
--     }
--     local train = data.TensorDataset(x, y):map(function(picture, label)
--       return augment(picture), label
--     end)
--
-- Random transforms draw from the default generator, or from the option
-- `generator`.
--
-- @module strided.data.transforms

local st = require "strided"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local from = require "strided.data.dataset".from

local floor, is_tensor = math.floor, st.is_tensor
local ipairs, tonumber, tostring, type = ipairs, tonumber, tostring, type

local GENERATOR = {generator = true}
local CROP = {padding = true, generator = true}

local M = {}

local function check_picture(name, t)
  if not is_tensor(t) or t.ndim < 2 then
    raise("%s: a Tensor of at least 2 dimensions is expected, got %s", name,
          is_tensor(t) and t.ndim .. " dimensions" or type(t))
  end
end

--- Applies transforms one after the other.
-- @function Compose
-- @tparam table list of functions of a sample
-- @treturn function
function M.Compose(list)
  for i, fn in ipairs(type(list) == "table" and list or {list}) do
    if type(fn) ~= "function" then
      raise("Compose: transform %d must be a function, got %s", i, type(fn))
    end
  end
  return function(x)
    for _, fn in ipairs(list) do x = fn(x) end
    return x
  end
end

--- `(x - mean) / std`, by channel.
-- @function Normalize
-- @tparam table mean a number per channel
-- @tparam table std a number per channel
-- @treturn function
function M.Normalize(mean, std)
  if type(mean) ~= "table" or type(std) ~= "table" or #mean ~= #std then
    raise "Normalize: mean and std must be lists of the same length"
  end
  for k, value in ipairs(std) do
    if value == 0 then raise("Normalize: std %d is 0", k) end
  end
  return function(x)
    check_picture("Normalize", x)
    if not x:is_floating_point() then
      raise("Normalize: a floating-point Tensor is expected, got %s; convert "
            .. "it with ToDtype(\"float32\", {scale = true})", x.dtype)
    end
    local like = {dtype = x.dtype, device = x.device}
    return (x - st.tensor(mean, like):view(-1, 1, 1))
           / st.tensor(std, like):view(-1, 1, 1)
  end
end

--- Converts to a dtype.
-- @function ToDtype
-- @tparam string dtype
-- @tparam[opt] table given options: `scale` (false): integers, from 0 to the
-- greatest one of their dtype, become floats from 0 to 1
-- @treturn function
function M.ToDtype(dtype, given)
  local scale = options("ToDtype", given, {scale = true}).scale
  local is_float = st.dtype_info(dtype).is_floating_point
  if scale and not is_float then
    raise("ToDtype: scale needs a floating-point dtype, got %s", dtype)
  end
  return function(x)
    local info = st.dtype_info(x.dtype)
    local y = x:to(dtype)
    if scale and not info.is_floating_point and not info.is_complex and
       x.dtype ~= "bool" then
      return y:div_(tonumber(info.max))
    end
    return y
  end
end

--- A random number from 0 to below 1.
local function draw(given)
  return st.empty({}, {dtype = "float64"})
           :uniform_(0, 1, from(given.generator)):item()
end

local function flip(name, dim)
  M[name] = function(p, given)
    if type(p) == "table" then p, given = nil, p end
    p = p == nil and 0.5 or p
    if type(p) ~= "number" or not (p >= 0 and p <= 1) then
      raise("%s: argument 'p' must be a number from 0 to 1, got %s", name,
            tostring(p))
    end
    given = options(name, given, GENERATOR)
    return function(x)
      check_picture(name, x)
      return draw(given) < p and x:flip {dim} or x
    end
  end
end

--- Mirrors left and right with a probability.
-- @function RandomHorizontalFlip
-- @tparam[opt=0.5] number p
-- @tparam[opt] table given options: `generator`
-- @treturn function
flip("RandomHorizontalFlip", -1)

--- Mirrors top and bottom with a probability.
-- @function RandomVerticalFlip
-- @tparam[opt=0.5] number p
-- @tparam[opt] table given options: `generator`
-- @treturn function
flip("RandomVerticalFlip", -2)

--- The height and width of a size, which is a number or a list of two.
local function sides(name, size)
  local h = type(size) == "table" and size[1] or size
  local w = type(size) == "table" and size[2] or size
  for _, n in ipairs {h or 0, w or 0} do
    if type(n) ~= "number" or n < 1 or n ~= floor(n) then
      raise("%s: argument 'size' must be a size or a list of two", name)
    end
  end
  return h, w
end

--- The part of height h and width w whose first row and column are top, left.
local function crop(name, x, top, left, h, w)
  if x.shape[x.ndim] < w or x.shape[x.ndim - 1] < h then
    raise("%s: a picture of %d x %d has no part of %d x %d", name,
          x.shape[x.ndim - 1], x.shape[x.ndim], h, w)
  end
  return x:narrow(-2, top, h):narrow(-1, left, w)
end

--- The middle of a picture.
-- @function CenterCrop
-- @param size a side, or height and width
-- @treturn function
function M.CenterCrop(size)
  local h, w = sides("CenterCrop", size)
  return function(x)
    check_picture("CenterCrop", x)
    local top = floor((x.shape[x.ndim - 1] - h) / 2) + 1
    local left = floor((x.shape[x.ndim] - w) / 2) + 1
    return crop("CenterCrop", x, top, left, h, w)
  end
end

--- A part at a random place.
-- @function RandomCrop
-- @param size a side, or height and width
-- @tparam[opt] table given options: `padding` with zeros on each side first;
-- `generator`
-- @treturn function
function M.RandomCrop(size, given)
  local h, w = sides("RandomCrop", size)
  given = options("RandomCrop", given, CROP)
  local p = given.padding or 0
  return function(x)
    check_picture("RandomCrop", x)
    if p > 0 then x = st.pad(x, {p, p, p, p}) end
    local rows = x.shape[x.ndim - 1] - h + 1
    local columns = x.shape[x.ndim] - w + 1
    return crop("RandomCrop", x, 1 + floor(draw(given) * rows),
                1 + floor(draw(given) * columns), h, w)
  end
end

return M
