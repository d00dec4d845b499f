--- Pictures: PNG, JPEG and WebP files to tensors and back, and operators on
-- images.
--
--     local image = require "strided.image"
--     local photo = image.load "photo.jpg"            -- (3, H, W) of uint8
--     local small = image.resize(photo, {120, 160})
--     image.save("small.png", image.rgb_to_gray(small))
--
-- A picture is a tensor of the shape (C, H, W): gray, gray and alpha, RGB, or
-- RGB and alpha. Decoded pixels lie in memory as H x W x C, as in the decoder;
-- the tensor is a view of it with the strides (1, W * C, C), those that the
-- memory format channels_last gives the images of a batch. `t:contiguous()`
-- copies to planes.
--
-- Operators take images (..., C, H, W) of any strides; all are in
-- `st.ops.image` too, with a help text: `st.help "image::resize"`. Results are
-- interleaved as the image is, or contiguous.
--
-- @module strided.image

local st = require "strided"
require "strided.image.core"

local concat, error, format, pairs, pcall, sort, tostring, type =
  table.concat, error, string.format, pairs, pcall, table.sort, tostring, type
local try = require "strided.core".try

local ops = st.ops.image
local image = {}

-- -- Errors ------------------------------------------------------------------

--- The text of a refusal without the location and the operator in front of it.
-- Refusals are all that `try` catches: an interrupt passes.
local function reason_of(failure)
  return (failure:gsub("^[^\n]-:%d+: ", ""):gsub("^image::[%w_.]+: ", ""))
end

local function check_options(name, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    error(format("%s: the options must be a table, got %s", name,
                 type(options)), 3)
  end
  for option in pairs(options) do
    if not known[option] then
      local list = {}
      for each in pairs(known) do list[#list + 1] = each end
      sort(list)
      error(format("%s: there is no option '%s'; there are: %s", name,
                   tostring(option), concat(list, ", ")), 3)
    end
  end
  return options
end

-- -- Decoding ----------------------------------------------------------------

--- A vector of bytes from a string or a tensor.
local function to_bytes(name, value)
  if type(value) == "string" then
    if value == "" then return st.empty(0, {dtype = "uint8"}) end
    return st.frombuffer(value, {dtype = "uint8"})
  end
  if st.is_tensor(value) then return value end
  error(format("%s: the bytes must be a string or a tensor of uint8, got %s",
               name, type(value)), 3)
end

-- What the values of EXIF's orientation ask for: the dimensions to flip of the
-- picture as stored, and whether to transpose then.
local ORIENTATIONS = {
  {}, {{3}}, {{2, 3}}, {{2}}, {nil, true}, {{2}, true}, {{2, 3}, true},
  {{3}, true},
}

local function orient(t, orientation)
  local row = ORIENTATIONS[orientation]
  if row[1] then t = t:flip(row[1]) end
  if row[2] then t = t:transpose(2, 3) end
  return t
end

-- by dtype of the result: the largest element, and whether to round
local DTYPES = {
  uint8 = 255, uint16 = 65535, int32 = false,
  float32 = 1, float64 = 1,
}

--- The elements as a dtype asks for. Without one, 16 bits become int32, which
-- all operators have.
local function convert(t, dtype)
  local is_wide = t.dtype == "uint16"
  if dtype == nil then return is_wide and t:to "int32" or t end
  local most, had = DTYPES[dtype], is_wide and 65535 or 255
  if not most then return t:to "int32" end
  if most == had then return t end
  if most == 1 then return t:to(dtype):div(had) end
  t = t:to "int32"
  if is_wide then t = (t + 128):div(257, {rounding_mode = "floor"})
  else t = t * 257 end
  return t:to(dtype)
end

local DECODING = {mode = true, max_pixels = true, permissive = true,
                  dtype = true, orientation = true}

--- Decodes a picture.
--
-- * `mode`: "unchanged" (the default): the channels of the file; "gray",
--   "gray_alpha", "rgb" or "rgb_alpha". Gray is the luma 0.299 R + 0.587 G +
--   0.114 B. Alpha that a mode has not is dropped, one that a file has not is
--   opaque. Palettes count as RGB, colours that are transparent as alpha, 1, 2
--   and 4 bits become 8, and the CMYK of a JPEG file becomes RGB.
-- * `dtype`: nil: uint8, and for PNG files of 16 bits int32 from 0 to 65535;
--   "uint8" and "uint16" scale to the range of the dtype, "int32" is the
--   element of the file, "float32" and "float64" are from 0 to 1.
-- * `orientation = true` turns the picture as its EXIF says.
-- * `max_pixels`: larger pictures are refused before memory is allocated;
--   134217728 by default, so 512 MB of RGB and alpha.
-- * `permissive = true` hides what libjpeg warns of, such as a truncated file,
--   whose missing part is gray. By default all damage is an error.
--
-- Animations are refused. Raises an error with the reason.
-- @param bytes a string, or a vector of uint8
-- @tparam[opt] table options
-- @return the tensor (C, H, W)
function image.decode(bytes, options)
  options = check_options("image.decode", options, DECODING)
  local dtype = options.dtype
  if dtype ~= nil and DTYPES[tostring(dtype)] == nil then
    error(format("image.decode: the option 'dtype' must be \"uint8\", "
                 .. "\"uint16\", \"int32\", \"float32\" or \"float64\", got "
                 .. "%s", tostring(dtype)), 2)
  end
  local data = to_bytes("image.decode", bytes)
  local ok, t, orientation = try(ops.decode, data, {
    mode = options.mode, max_pixels = options.max_pixels,
    permissive = options.permissive})
  if not ok then error("image.decode: " .. reason_of(t), 2) end
  t = convert(t, dtype and tostring(dtype))
  if options.orientation then t = orient(t, orientation) end
  return t
end

--- Loads a picture: `st.load` for files of any name.
-- @tparam string path
-- @tparam[opt] table options those of `image.decode`
-- @return the tensor (C, H, W)
-- @see decode
function image.load(path, options)
  options = check_options("image.load", options, DECODING)
  local all = {format = "image"}
  for name, value in pairs(options) do all[name] = value end
  return st.load(path, all)
end

-- How a file begins; other strings are paths.
local MAGIC = {"^\137PNG", "^\255\216\255", "^RIFF....WEBP"}

local function is_path(what)
  return type(what) == "string" and not (what:find(MAGIC[1]) or
         what:find(MAGIC[2]) or what:find(MAGIC[3]))
end

--- What the header of a picture says, without decoding it.
-- @param what a path, the bytes of a file as a string, or a vector of uint8
-- @treturn table `format` ("png", "jpeg" or "webp"), `height`, `width`,
-- `channels`, `bits` (8 or 16) and `orientation` (that of EXIF, 1 if there is
-- none)
function image.info(what)
  if is_path(what) then
    return st.load(what, {format = "image", info = true})
  end
  local ok, kind, height, width, channels, bits, orientation =
    try(ops.info, to_bytes("image.info", what))
  if not ok then error("image.info: " .. reason_of(kind), 2) end
  return {format = kind, height = height, width = width, channels = channels,
          bits = bits, orientation = orientation}
end

--- What st.load calls with the bytes of a file. Returns nil and the reason if
-- they are no picture.
-- @local
function image.read(bytes, options)
  local fn = image.decode
  if is_path(bytes) then return nil, "this is no PNG, JPEG or WebP image" end
  if options.info then fn = image.info end
  local given = {}
  for name, value in pairs(options) do
    if name ~= "info" then given[name] = value end
  end
  local ok, value = pcall(fn, bytes, given)
  if ok then return value end
  local reason = type(value) == "string" and
                 (value:match "^image%.%l+: (.*)$" or
                  value:match "^[^\n]-:%d+: image%.%l+: (.*)$")
  if not reason then error(value, 0) end -- none of this file's: an interrupt
  return nil, reason
end

-- -- Encoding ----------------------------------------------------------------

local ENCODING = {quality = true, compression = true, progressive = true,
                  lossless = true, full_chroma = true}

--- Encodes a picture: (C, H, W) of 1 to 4 channels, or (H, W), of uint8, or of
-- uint16 or int32 from 0 to 65535 for a PNG of 16 bits.
--
-- * `quality`: 1 to 100, of JPEG and WebP; 75 by default
-- * `compression`: 0 to 9, of PNG; 6 by default
-- * `progressive`: JPEG; PNG: interlaced
-- * `lossless`: WebP
-- * `full_chroma`: JPEG with the colours in full resolution (4:4:4)
-- @param t the tensor
-- @tparam string kind "png", "jpeg" or "webp"
-- @tparam[opt] table options
-- @treturn string the bytes
function image.encode(t, kind, options)
  options = check_options("image.encode", options, ENCODING)
  if not st.is_tensor(t) then
    error(format("image.encode: argument 't' must be a Tensor, got %s",
                 type(t)), 2)
  end
  if type(kind) ~= "string" then
    error(format("image.encode: the format must be \"png\", \"jpeg\" or "
                 .. "\"webp\", got %s", type(kind)), 2)
  end
  local ok, bytes = try(ops.encode, t, kind, options)
  if not ok then error("image.encode: " .. reason_of(bytes), 2) end
  return bytes:tostring_bytes()
end

--- Saves a picture: `st.save`, which replaces a file atomically, for a path
-- that ends in .png, .jpg, .jpeg or .webp.
-- @tparam string path
-- @param t the tensor
-- @tparam[opt] table options those of `image.encode`
-- @see encode
function image.save(path, t, options)
  local suffix = type(path) == "string" and path:lower():match "%.(%w+)$"
  if type(path) == "string" and not image.formats[suffix or ""] then
    error(format("image.save: '%s' must end in .png, .jpg, .jpeg or .webp; "
                 .. "image.encode returns the bytes of any of them", path), 2)
  end
  return st.save(path, t, check_options("image.save", options, ENCODING))
end

--- The formats by the suffixes of their files: {png = "png", jpg = "jpeg" ..}.
image.formats = {png = "png", jpg = "jpeg", jpeg = "jpeg", webp = "webp"}

-- What st.load and st.save take as options.
image.decoding, image.encoding = {info = true}, ENCODING
for option in pairs(DECODING) do image.decoding[option] = true end

-- -- Operators ---------------------------------------------------------------

--- Resizes images to {height, width}. `mode`: "bilinear" (the default),
-- "nearest", "area", "bicubic" or "lanczos". The filters grow with a reduction,
-- as in Pillow, so that each pixel counts; `{antialias = false}` is for
-- bilinear and bicubic. uint8 is resized in integers, within 1 of Pillow;
-- floats have derivatives; other integers are resized as floats and rounded.
-- @function resize
-- @param self images (..., H, W)
-- @tparam table size
-- @tparam[opt] string mode
-- @tparam[opt] table options

--- A view of the height x width pixels from row top and column left on, which
-- count from the end if they are negative.
-- @function crop
-- @param self images (..., H, W)
-- @tparam int top
-- @tparam int left
-- @tparam int height
-- @tparam int width

--- Exchanges left and right.
-- @function hflip
-- @param self images (..., H, W)

--- Exchanges top and bottom.
-- @function vflip
-- @param self images (..., H, W)

--- Adds a border: `padding` is {n}, {left and right, top and bottom} or {left,
-- top, right, bottom}; `mode` "constant" with `value`, "reflect" or
-- "replicate". It has derivatives.
-- @function pad
-- @param self images (..., H, W)
-- @tparam table padding
-- @tparam[opt] string mode
-- @tparam[opt] number value

--- Rotates counterclockwise by degrees around the center. `mode`: "nearest"
-- (the default) or "bilinear"; `{expand = true}` makes room for all pixels,
-- `{fill = n}` is outside of the image, 0 by default. uint8, int32, float32 or
-- float64. It has no derivative.
-- @function rotate
-- @param self images (..., H, W)
-- @tparam number angle
-- @tparam[opt] string mode
-- @tparam[opt] table options

--- Luma, (..., 1, H, W). It has a derivative, as have the conversions to and
-- from YCbCr and linear light.
-- @function rgb_to_gray
-- @param self images (..., 3, H, W)

--- Three equal channels.
-- @function gray_to_rgb
-- @param self images (..., 1, H, W)

--- YCbCr in full range, as in JPEG files.
-- @function rgb_to_ycbcr
-- @param self images (..., 3, H, W)

--- The inverse of rgb_to_ycbcr.
-- @function ycbcr_to_rgb
-- @param self images (..., 3, H, W)

--- Hue, saturation and value, from 0 to 1; for uint8 to 255, as in Pillow. It
-- has no derivative. uint8, float32 or float64.
-- @function rgb_to_hsv
-- @param self images (..., 3, H, W)

--- The inverse of rgb_to_hsv.
-- @function hsv_to_rgb
-- @param self images (..., 3, H, W)

--- Linear light of sRGB, elements from 0 to 1 or uint8.
-- @function srgb_to_linear
-- @param self a tensor

--- The inverse of srgb_to_linear.
-- @function linear_to_srgb
-- @param self a tensor

--- Blurs by a Gaussian window {rows, columns} of odd sizes. sigma is by default
-- that of torchvision; borders are reflected. Floats have derivatives.
-- @function gaussian_blur
-- @param self images (..., H, W)
-- @tparam table kernel_size
-- @tparam[opt] table sigma

--- Averages over a window {rows, columns} of odd sizes.
-- @function box_blur
-- @param self images (..., H, W)
-- @tparam table kernel_size

for _, name in pairs {
  "resize", "crop", "hflip", "vflip", "pad", "rotate", "rgb_to_gray",
  "gray_to_rgb", "rgb_to_ycbcr", "ycbcr_to_rgb", "rgb_to_hsv", "hsv_to_rgb",
  "srgb_to_linear", "linear_to_srgb", "gaussian_blur", "box_blur",
} do
  image[name] = ops[name]
end

return image
