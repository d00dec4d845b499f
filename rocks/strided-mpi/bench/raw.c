/* The module raw, for collectives.lua: loops over calls of MPI.
 *
 * Each function returns the seconds of `count` calls. Buffers are addresses of
 * float32 elements.
 */

#define OMPI_SKIP_MPICXX 1
#include <lauxlib.h>
#include <mpi.h>
#include <stdint.h>

static float *address(lua_State *L, int i) {
  return (float *)(uintptr_t)luaL_checknumber(L, i);
}

static int seconds_since(lua_State *L, double start) {
  lua_pushnumber(L, MPI_Wtime() - start);
  return 1;
}

/* all_reduce(address, n, count) */
static int all_reduce(lua_State *L) {
  float *const p = address(L, 1);
  const int n = (int)luaL_checkinteger(L, 2);
  const int count = (int)luaL_checkinteger(L, 3);
  const double start = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    MPI_Allreduce(MPI_IN_PLACE, p, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  return seconds_since(L, start);
}

/* broadcast(address, n, count) */
static int broadcast(lua_State *L) {
  float *const p = address(L, 1);
  const int n = (int)luaL_checkinteger(L, 2);
  const int count = (int)luaL_checkinteger(L, 3);
  const double start = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    MPI_Bcast(p, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
  }
  return seconds_since(L, start);
}

/* all_gather(address, n, count, to) */
static int all_gather(lua_State *L) {
  const float *const p = address(L, 1);
  const int n = (int)luaL_checkinteger(L, 2);
  const int count = (int)luaL_checkinteger(L, 3);
  float *const to = address(L, 4);
  const double start = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    MPI_Allgather(p, n, MPI_FLOAT, to, n, MPI_FLOAT, MPI_COMM_WORLD);
  }
  return seconds_since(L, start);
}

__attribute__((visibility("default")))
int luaopen_raw(lua_State *L) {
  lua_createtable(L, 0, 3);                     /* [+1] */
  lua_pushcfunction(L, all_reduce);             /* [+1] */
  lua_setfield(L, -2, "all_reduce");            /* [-1] */
  lua_pushcfunction(L, broadcast);              /* [+1] */
  lua_setfield(L, -2, "broadcast");             /* [-1] */
  lua_pushcfunction(L, all_gather);             /* [+1] */
  lua_setfield(L, -2, "all_gather");            /* [-1] */
  return 1;
}
