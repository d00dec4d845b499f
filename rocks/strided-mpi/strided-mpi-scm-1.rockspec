rockspec_format = "3.0"
package = "strided-mpi"
version = "scm-1"

source = {
  url = "git+https://github.com/strided/strided.git",
  dir = "strided/rocks/strided-mpi",
}

description = {
  summary = "Collectives of strided tensors over MPI",
  detailed = [[
all_reduce, broadcast, gather, scatter and the other collectives of MPI as
operators of strided, with derivatives, asynchronous variants and reductions
whose bits do not depend on the number of ranks.]],
  license = "MIT",
}

supported_platforms = {"linux"}

dependencies = {
  "lua >= 5.1, < 5.5",
  "strided",
}

-- mpicc comes with mpi.h, which lies in a folder of the MPI library where
-- LuaRocks does not look.
external_dependencies = {
  MPI = {program = "mpicc"},
}

build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LIBDIR = "$(LIBDIR)",
    LUADIR = "$(LUADIR)",
  },
}
