rockspec_format = "3.0"
package = "strided-image"
version = "scm-1"

source = {
  url = "git+https://github.com/strided/strided.git",
  dir = "strided/rocks/strided-image",
}

description = {
  summary = "PNG, JPEG and WebP for strided, and operators on images",
  detailed = [[
Pictures in and out through libpng, libjpeg-turbo and libwebp, straight into
channels_last tensors; resize, crop, flip, rotate, pad, conversions of colours
and blur as operators.]],
  license = "MIT",
  labels = {"image", "png", "jpeg", "webp", "tensor"},
}

supported_platforms = {"linux"}

dependencies = {
  "lua >= 5.1, < 5.5",
  "strided",
}

external_dependencies = {
  PNG = {header = "png.h"},
  JPEG = {header = "jpeglib.h"},
  WEBP = {header = "webp/decode.h"},
}

build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUADIR = "$(LUADIR)",
    LIBDIR = "$(LIBDIR)",
  },
}

test = {
  type = "busted",
  flags = {"spec"},
}
