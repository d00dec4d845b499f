--- What operators over images want of the fuzzer: images, windows that fit
-- them, weights, borders.
--
-- c.image of a case is then what they agree on: n dimensions, channels in
-- groups, whether a convolution is transposed.

local st = require "strided"

local unpack = unpack or table.unpack

local M = {}

--- Over how many dimensions an operator goes, nil if over no image.
local function dimensions(name)
  if name:find "col" and name:find "im" or name:find "window" or
     name:find "convolution" or name:find "^_direct_weight" or
     name == "grid_sampler" or
     name == "grid_sample" or name == "_grid_samples" or name == "fold" or
     name == "_fractional_max_indices" or
     name == "interpolate" or name:find "^upsample%f[_%z]" and
     not name:find "%dd" then
    return 2
  end
  if name:find "conv" or name:find "pool" or name:find "_pad%d" or
     name:find "upsample" or name:find "grid_sampler" then
    return tonumber(name:match "(%d)d")
  end
end

--- Makes the case fit an operator over images.
function M.prepare(c, name)
  local n = dimensions(name)
  c.image = n and {
    n = n, groups = c:int(1, 2), has_size = c:chance(0.5),
    transposed = name:find "convolution$" and c:chance(0.5) or
                 name:find "transpose" ~= nil,
    is_border = name:find "_pad%d" ~= nil, is_grid = name == "grid_sample",
    is_resized = name == "interpolate" or name == "upsample",
    of_input = name == "_convolution_input_backward",
    of_weight = name == "_convolution_weight_backward" or
                name == "_direct_weight_backward",
  }
  if not n or not c.tame then return end
  local o = c.image
  if name == "col2im" or name == "fold" or name == "im2col_backward" then
    o.is_columns = true -- of windows of 2 x 2 over 3 x 3
    c.sizes = {4 * c:int(1, 2), 4}
    return
  end
  o.out = o.groups * c:int(1, 2)
  c.sizes = {c:int(1, 2), o.groups * c:int(1, 2),
             unpack(c:list(n, c.int, 2, n > 2 and 3 or 5))}
end

--- The makers of arguments by type and name; fresh makes a tensor, others
-- are those that serve other operators.
function M.hints(fresh, others)
  local hints = {}

  local function hint(key, make)
    local other = hints[key] or others[key]
    hints[key] = function(c)
      if c.image then return make(c, c.image) end
      return other(c)
    end
  end

  local function list(key, low, high)
    local columns = key:find "kernel" and 2 or low
    hint(key, function(c, o)
      if o.is_columns then return {columns, columns} end
      return c:list(o.n, c.int, low, high)
    end)
  end

  list("int[] kernel_size", 1, 2)
  list("int[] stride", 1, 2)
  list("int[] dilation", 1, 1)
  list("int[] output_padding", 0, 0)
  hint("int[] padding", function(c, o)
    if o.is_columns then return {0, 0} end
    return c:list(o.is_border and 2 * o.n or o.n, c.int, 0,
                  o.is_border and 1 or 0)
  end)
  hint("int[] output_size", function(c, o)
    if o.is_columns then return {3, 3} end
    return o.has_size and c:list(o.n, c.int, 2, 4) or st.none
  end)
  hint("int[] self_sizes", function(c, o)
    if o.is_columns then return {3, 3} end
    if o.of_weight and c.sizes[2] then
      return {c.sizes[2], math.max(1, math.floor(c.sizes[2] / o.groups)), 1, 1}
    end
    return {c.sizes[1], c.sizes[2], 4, 4}
  end)
  hint("float[] scale_factors", function(c, o)
    return o.has_size and st.none or c:list(o.n, c.pick, {0.5, 1, 1.5, 2})
  end)
  hint("int[] size", function(c, o)
    return o.has_size and c:list(o.n, c.int, 2, 4) or st.none
  end)
  hint("float[] scale_factor", function(c, o)
    return o.has_size and st.none or c:list(o.n, c.pick, {0.5, 1, 1.5, 2})
  end)
  hint("float[] output_ratio", function(c, o)
    return c:list(o.n, c.pick, {0.4, 0.5, 0.7})
  end)
  local function places(c, o)
    local n = o.n
    return st.rand({c.sizes[1] or 1, c.sizes[2] or 1, n}, {dtype = "float64"})
      :to(c.dtype)
  end
  hint("Tensor random_samples", places)
  hint("Tensor _random_samples", places)
  hint("Tensor weight", function(c, o)
    local first, second = o.out or 2, (c.sizes[2] or 2) / o.groups
    if o.transposed then
      first, second = c.sizes[2] or 2, (o.out or 2) / o.groups
    end
    return fresh(c, c.dtype, {first, math.max(1, math.floor(second)),
                              unpack(c:list(o.n, c.int, 1, 2))})
  end)
  hint("Tensor bias", function(c, o) return fresh(c, c.dtype, {o.out or 2}) end)
  hint("Tensor grid", function(c, o)
    local sizes = c:list(o.n + 2, c.int, 1, 2)
    sizes[1], sizes[o.n + 2] = c.sizes[1] or 1, o.n
    return fresh(c, c.dtype, sizes)
  end)
  hint("Tensor indices", function(c)
    return fresh(c, "int64", {unpack(c.sizes)}, 1, 3)
  end)
  hint("bool transposed", function(_, o)
    return o.transposed or o.of_input or o.of_weight
  end)
  hints["int groups"] = function(c) return c.image and c.image.groups or 1 end
  hints["int interpolation_mode"] = function(c) return c:int(0, 1) end
  hints["int padding_mode"] = function(c) return c:int(0, 2) end
  hints["str padding"] = function(c) return c:pick {"same", "valid"} end
  hints["str padding_mode"] = function(c)
    return c:pick {"zeros", "border", "reflection"}
  end
  hints["str mode"] = function(c)
    local o = c.image or {}
    return c:pick(c.is_bag and {"sum", "mean", "max"} or
                  o.is_grid and {"bilinear", "nearest", "bicubic"} or
                  o.is_resized and {"nearest", "area", "bicubic"} or
                  c.is_qr and {"reduced", "complete", "r"}
                  or {"constant", "reflect", "replicate", "circular"})
  end
  hints["int[] pad"] = function(c) return c:list(2, c.int, 0, 1) end
  return hints
end

return M
