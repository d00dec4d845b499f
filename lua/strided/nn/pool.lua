--- Pooling of one to three dimensions, and its inverse.
--
-- Inputs have the shape {batch, channels, sizes}, or {channels, sizes}. Sizes
-- that are arguments are a number, or a list of one for each dimension. The
-- stride is the kernel's size by default.
--
-- @module strided.nn.pool

local st = require "strided"
local declare = require "strided.nn.module.declare"
local raise = require "strided.argument.caller_error"

local concat, floor, ipairs, max, tostring, type = table.concat, math.floor,
  ipairs, math.max, tostring, type

local pool = {}

--- A list of n values.
local function each(value, n)
  if type(value) == "table" then return value end
  local list = {}
  for i = 1, n do list[i] = value end
  return list
end

-- -- Windows -----------------------------------------------------------------

--- The greatest elements of windows. With `return_indices` also their
-- positions, for MaxUnpool, in the sizes pooled over, counted from `base` (1).
-- @function MaxPool1d
-- @param kernel_size
-- @param[opt] stride
-- @tparam[opt] table options `padding` (0), `dilation` (1), `return_indices`,
-- `ceil_mode`: partial windows at the end count, `base`

--- @function MaxPool2d
--- @function MaxPool3d
local MAX = "kernel_size:sizes stride:sizes=nil ; padding:sizes=0 "
  .. "dilation:sizes=1 return_indices:flag=false ceil_mode:flag=false "
  .. "base:integer=1"

--- The mean of windows.
-- @function AvgPool1d
-- @param kernel_size
-- @param[opt] stride
-- @tparam[opt] table options `padding` (0), `ceil_mode`, `count_include_pad`
-- (true): padding counts as zeros; `divisor_override` (2 and 3 dimensions): the
-- number to divide by

--- @function AvgPool2d
--- @function AvgPool3d
local AVG = "kernel_size:sizes stride:sizes=nil ; padding:sizes=0 "
  .. "ceil_mode:flag=false count_include_pad:flag=true"

--- The p-norm of windows.
-- @function LPPool1d
-- @tparam number norm_type
-- @param kernel_size
-- @param[opt] stride
-- @tparam[opt] table options `ceil_mode`

--- @function LPPool2d
--- @function LPPool3d
local LP = "norm_type:number kernel_size:sizes stride:sizes=nil ; "
  .. "ceil_mode:flag=false"

local function declare_windows(n)
  local o = {n = n}
  local plain = st["max_pool" .. n .. "d"]
  local indexed = st["max_pool" .. n .. "d_with_indices"]
  declare(pool, "MaxPool" .. n .. "d", MAX, function(self, x)
    if self.return_indices then
      return indexed(x, self.kernel_size, self.stride, self.padding,
                     self.dilation, self.ceil_mode, {base = self.base})
    end
    return plain(x, self.kernel_size, self.stride, self.padding, self.dilation,
                 self.ceil_mode)
  end, o)
  declare(pool, "AvgPool" .. n .. "d",
          n == 1 and AVG or AVG .. " divisor_override:integer=nil",
          "avg_pool" .. n .. "d", o)
  declare(pool, "LPPool" .. n .. "d", LP, "lp_pool" .. n .. "d", o)
end

-- -- Adaptive ----------------------------------------------------------------

--- The sizes of the output, with the input's where one is false.
local function sizes_for(self, x, n)
  local wanted = self.output_size
  if type(wanted) == "number" then return wanted end
  local list = {}
  for d, size in ipairs(each(wanted, n)) do
    list[d] = size or x.shape[x.ndim - n + d]
  end
  return list
end

--- The greatest elements of as many equal windows as the output has elements.
-- @function AdaptiveMaxPool1d
-- @param output_size a size, or a list; false stands for the input's size
-- @tparam[opt] table options `return_indices`, `base` (1)

--- @function AdaptiveMaxPool2d
--- @function AdaptiveMaxPool3d

--- The mean of as many equal windows as the output has elements.
-- @function AdaptiveAvgPool1d
-- @param output_size a size, or a list; false stands for the input's size

--- @function AdaptiveAvgPool2d
--- @function AdaptiveAvgPool3d
local function declare_adaptive(n)
  local o = {n = n}
  local greatest = st["adaptive_max_pool" .. n .. "d"]
  local mean = st["adaptive_avg_pool" .. n .. "d"]
  declare(pool, "AdaptiveMaxPool" .. n .. "d", "output_size:outputs ; "
          .. "return_indices:flag=false base:integer=1", function(self, x)
    local y, indices = greatest(x, sizes_for(self, x, n), {base = self.base})
    if self.return_indices then return y, indices end
    return y
  end, o)
  declare(pool, "AdaptiveAvgPool" .. n .. "d", "output_size:outputs",
          function(self, x) return mean(x, sizes_for(self, x, n)) end, o)
end

-- -- Fractional --------------------------------------------------------------

--- The greatest elements of windows whose places are random: the output is
-- smaller by a factor that need not be an integer.
-- @function FractionalMaxPool2d
-- @param kernel_size
-- @tparam table options `output_size`, or `output_ratio`, of the input's size;
-- `return_indices`, `base` (1)

--- @function FractionalMaxPool3d
local function declare_fractional(n)
  local name = "FractionalMaxPool" .. n .. "d"
  local op = st["fractional_max_pool" .. n .. "d"]
  local class = declare(pool, name, "kernel_size:sizes ; "
    .. "output_size:sizes=nil output_ratio:ratios=nil "
    .. "return_indices:flag=false base:integer=1", function(self, x)
    local sizes = self.output_size and each(self.output_size, n)
    if not sizes then
      sizes = {}
      for d, ratio in ipairs(each(self.output_ratio, n)) do
        sizes[d] = floor(x.shape[x.ndim - n + d] * ratio)
      end
    end
    local batch = x.ndim == n + 1 and 1 or x.shape[1]
    local samples = st.rand({batch, x.shape[x.ndim - n], n},
                            {dtype = x.dtype, device = x.device})
    local y, indices = op(x, self.kernel_size, sizes, samples,
                          {base = self.base})
    if self.return_indices then return y, indices end
    return y
  end, {n = n})

  function class:setup()
    if (self.output_size == nil) == (self.output_ratio == nil) then
      raise("%s: one of the options 'output_size' and 'output_ratio' is "
            .. "expected", name)
    end
    for _, ratio in ipairs(each(self.output_ratio or 0.5, n)) do
      if not (ratio > 0 and ratio < 1) then
        raise("%s: output_ratio must be between 0 and 1, got %g", name, ratio)
      end
    end
  end
end

-- -- Unpooling ---------------------------------------------------------------

--- The sizes of what was pooled.
local function unpooled(self, name, x, wanted, n)
  local kernel = each(self.kernel_size, n)
  local stride = each(self.stride or kernel, n)
  local padding, sizes = each(self.padding, n), {}
  local fits = true
  for d = 1, n do
    local least = (x.shape[x.ndim - n + d] - 1) * stride[d] - 2 * padding[d] +
                  kernel[d]
    sizes[d] = least
    if wanted then
      local size = wanted[#wanted - n + d]
      fits = fits and type(size) == "number" and
             size > max(least - stride[d], 0) and size < least + stride[d]
      sizes[d] = size
    end
  end
  if not fits then
    raise("%s: output_size {%s} does not fit an input of shape %s", name,
          concat(wanted, ", "), tostring(x.shape))
  end
  return sizes, stride, padding
end

local UNPOOL = {
  function(x, i, kernel, sizes, stride, padding, o)
    return st.max_unpool1d(x, i, kernel, stride, padding, sizes, o)
  end,
  function(x, i, _, sizes, _, _, o)
    return st.max_unpool2d(x, i, sizes, o)
  end,
  function(x, i, _, sizes, stride, padding, o)
    return st.max_unpool3d(x, i, sizes, stride, padding, o)
  end,
}

--- Puts elements where MaxPool1d with `return_indices` found them, and zeros
-- elsewhere: `layer(x, indices, output_size)`; the size is needed where a
-- stride does not divide it.
-- @function MaxUnpool1d
-- @param kernel_size
-- @param[opt] stride
-- @tparam[opt] table options `padding` (0), `base` (1)

--- @function MaxUnpool2d
--- @function MaxUnpool3d
local function declare_unpool(n)
  local name = "MaxUnpool" .. n .. "d"
  declare(pool, name, "kernel_size:sizes stride:sizes=nil ; padding:sizes=0 "
          .. "base:integer=1", function(self, x, indices, output_size)
    local sizes, stride, padding = unpooled(self, name, x, output_size, n)
    return UNPOOL[n](x, indices, self.kernel_size, sizes, stride, padding,
                     {base = self.base})
  end, {n = n})
end

-- ----------------------------------------------------------------------------

for n = 1, 3 do
  declare_windows(n)
  declare_adaptive(n)
  declare_unpool(n)
  if n > 1 then declare_fractional(n) end
end

return pool
