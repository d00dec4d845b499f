--- Layers that rearrange or resample images.
--
-- @module strided.nn.vision

local st = require "strided"
local declare = require "strided.nn.module.declare"
local raise = require "strided.argument.caller_error"

local vision = {}

-- -- Resampling --------------------------------------------------------------

local function interpolate(self, x)
  return st.interpolate(x, {
    size = self.size, scale_factor = self.scale_factor, mode = self.mode,
    align_corners = self.align_corners,
    recompute_scale_factor = self.recompute_scale_factor})
end

local function check_one(name)
  return function(self)
    if (self.size == nil) == (self.scale_factor == nil) then
      raise("%s: one of the options 'size' and 'scale_factor' is expected",
            name)
    end
  end
end

--- Resamples the dimensions after {batch, channels}.
-- @function Upsample
-- @tparam table options `size`, or `scale_factor`, a number or a list; `mode`
-- ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear"),
-- `align_corners`, `recompute_scale_factor`
declare(vision, "Upsample", "size:shape=nil scale_factor:ratios=nil "
        .. "mode:string=nearest align_corners:flag=nil "
        .. "recompute_scale_factor:flag=nil", interpolate,
        {setup = check_one "Upsample"})

--- Upsample of two dimensions with `mode = "nearest"`.
-- @function UpsamplingNearest2d
-- @tparam table options `size` or `scale_factor`
declare(vision, "UpsamplingNearest2d",
        "size:sizes=nil scale_factor:ratios=nil", interpolate,
        {n = 2, setup = function(self)
  check_one "UpsamplingNearest2d"(self)
  self.mode = "nearest"
end})

--- Upsample of two dimensions with `mode = "bilinear"` and `align_corners`.
-- @function UpsamplingBilinear2d
-- @tparam table options `size` or `scale_factor`
declare(vision, "UpsamplingBilinear2d",
        "size:sizes=nil scale_factor:ratios=nil", interpolate,
        {n = 2, setup = function(self)
  check_one "UpsamplingBilinear2d"(self)
  self.mode, self.align_corners = "bilinear", true
end})

-- -- Channels ----------------------------------------------------------------

--- {batch, channels * r * r, height, width} to {batch, channels, height * r,
-- width * r}.
-- @function PixelShuffle
-- @tparam integer upscale_factor r
declare(vision, "PixelShuffle", "upscale_factor:size", "pixel_shuffle")

--- The inverse of PixelShuffle.
-- @function PixelUnshuffle
-- @tparam integer downscale_factor r
declare(vision, "PixelUnshuffle", "downscale_factor:size", "pixel_unshuffle")

--- Takes one channel of each group in turn.
-- @function ChannelShuffle
-- @tparam integer groups
declare(vision, "ChannelShuffle", "groups:size", "channel_shuffle")

-- -- Patches -----------------------------------------------------------------

--- The sum of overlapping patches, {batch, channels * patch, patches}, at their
-- places in an image.
-- @function Fold
-- @param output_size the image's sizes
-- @param kernel_size the patch's sizes
-- @tparam[opt] table options `dilation` (1), `padding` (0), `stride` (1)
declare(vision, "Fold", "output_size:sizes kernel_size:sizes ; "
        .. "dilation:sizes=1 padding:sizes=0 stride:sizes=1", "col2im",
        {n = 2})

--- The patches of images, {batch, channels * patch, patches}.
-- @function Unfold
-- @param kernel_size the patch's sizes
-- @tparam[opt] table options `dilation` (1), `padding` (0), `stride` (1)
declare(vision, "Unfold", "kernel_size:sizes ; dilation:sizes=1 "
        .. "padding:sizes=0 stride:sizes=1", "im2col", {n = 2})

return vision
