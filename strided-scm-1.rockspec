rockspec_format = "3.0"
package = "strided"
version = "scm-1"

source = {
  url = "git+https://github.com/strided/strided.git",
}

description = {
  summary = "A Lua-scriptable tensor engine with PyTorch's semantics",
  detailed = [[
Tensors with strides, memory formats, broadcasting and type promotion as in
PyTorch's CPU core, an operator dispatcher that Lua can extend, and vectorised
kernels in C. For LuaJIT, Lua 5.1, 5.3 and 5.4 and programs that embed
them.]],
  license = "MIT",
  labels = {"tensor", "array", "numeric", "luajit"},
}

supported_platforms = {"linux"}

dependencies = {
  "lua >= 5.1, < 5.5",
}

build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUADIR = "$(LUADIR)",
    LIBDIR = "$(LIBDIR)",
    BINDIR = "$(BINDIR)",
  },
}

test = {
  type = "command",
  command = "./dev test",
}
