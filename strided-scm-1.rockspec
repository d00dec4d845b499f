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
kernels in C. For LuaJIT, Lua 5.1 to 5.4 and programs that embed them.]],
  license = "MIT",
  labels = {"tensor", "array", "numeric", "luajit"},
}

supported_platforms = {"linux"}

dependencies = {
  "lua >= 5.1, < 5.5",
}

-- build.type "cmake" compiles on one core, which takes twice as long on two.
build = {
  type = "command",
  build_command = [[
echo "strided: compiles kernels for every processor: 5 minutes on one core"
test -e build.luarocks/Makefile || ! command -v ninja >/dev/null ||
  export CMAKE_GENERATOR=Ninja
cmake -S . -B build.luarocks -DCMAKE_BUILD_TYPE=Release \
  -DSTRIDED_PRECOMPILE=ON \
  -DLUA_INCDIR="$(LUA_INCDIR)" -DLUADIR="$(LUADIR)" \
  -DLIBDIR="$(LIBDIR)" -DBINDIR="$(BINDIR)" &&
cmake --build build.luarocks --parallel "`getconf _NPROCESSORS_ONLN`"]],
  install_command = "cmake --install build.luarocks",
}

test = {
  type = "command",
  command = "./dev test",
}
