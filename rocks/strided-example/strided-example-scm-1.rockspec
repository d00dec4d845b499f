rockspec_format = "3.0"
package = "strided-example"
version = "scm-1"

source = {
  url = "git+https://github.com/strided/strided.git",
  dir = "strided/rocks/strided-example",
}

description = {
  summary = "How to extend strided: operators and a device from C",
  detailed = [[
A template for extensions: a namespace of operators (boxed, typed, structured,
composite) and a device with its own allocator and kernels, in a library that
includes only the public header of strided.]],
  license = "MIT",
}

supported_platforms = {"linux"}

dependencies = {
  "lua >= 5.1",
  "strided",
}

build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LIBDIR = "$(LIBDIR)",
  },
}
