/* The module strided.mpi.core: the process, communicators and requests for Lua.
 * The collectives themselves are operators, which strided's binding calls.
 *
 * Values that own something are userdata: a guard, which finalizes MPI with the
 * last Lua state, and requests, which are completed when they are collected.
 */

#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "stmpi.h"

static const char REQUEST[] = "strided.mpi.request";
static const char COMM[] = "strided.mpi.comm";
static const char GUARD[] = "strided.mpi.guard";

static int nguards; /* Lua states that have called init */

static const char RAISE[] = "strided.mpi.raise";

/* Raises st_message by the function that on_error has set, at the line outside
 * of the library. */
static int raise(lua_State *L, st_status status) {
  if (status == ST_OK) return 0;
  lua_getfield(L, LUA_REGISTRYINDEX, RAISE);    /* [+1] */
  if (lua_isnil(L, -1)) return luaL_error(L, "%s", st_message());
  lua_pushliteral(L, "%s");                     /* [+1] */
  lua_pushstring(L, st_message());              /* [+1] */
  lua_call(L, 2, 0);                            /* [-3] */
  return 0;
}

/* on_error(raise): raise(format, text) raises an error. */
static int on_error(lua_State *L) {
  lua_settop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, RAISE);    /* [-1] */
  return 0;
}

/* The userdata at 1, if it has the metatable `name`. */
static void *check_userdata(lua_State *L, const char *name, const char *what) {
  bool is_one = false;
  if (lua_getmetatable(L, 1)) {                 /* [+1] */
    luaL_getmetatable(L, name);                 /* [+1] */
    is_one = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);                              /* [-2] */
  }
  if (!is_one) {
    raise(L, st_fail(ST_BAD_VALUE, "expected %s, got %s: call methods with ':'",
                     what, luaL_typename(L, 1)));
  }
  return lua_touserdata(L, 1);
}

/* -- The process ---------------------------------------------------------- */

static int guard_gc(lua_State *L) {
  (void)L;
  if (--nguards == 0) stmpi_finalize();
  return 0;
}

/* init(checked) */
static int init(lua_State *L) {
  raise(L, stmpi_init(lua_toboolean(L, 1)));
  lua_pushlightuserdata(L, (void *)(uintptr_t)GUARD); /* [+1] */
  lua_rawget(L, LUA_REGISTRYINDEX);                   /* [-1 +1] */
  if (!lua_isnil(L, -1)) return 0;
  lua_pushlightuserdata(L, (void *)(uintptr_t)GUARD); /* [+1] */
  lua_newuserdata(L, 1);                              /* [+1] */
  luaL_getmetatable(L, GUARD);                        /* [+1] */
  lua_setmetatable(L, -2);                            /* [-1] */
  nguards++;
  lua_rawset(L, LUA_REGISTRYINDEX);                   /* [-2] */
  return 0;
}

static int finalize(lua_State *L) { return raise(L, stmpi_finalize()); }

static int is_initialized(lua_State *L) {
  lua_pushboolean(L, stmpi_is_initialized());
  return 1;
}

static int is_finalized(lua_State *L) {
  lua_pushboolean(L, stmpi_is_finalized());
  return 1;
}

static int is_checked(lua_State *L) {
  lua_pushboolean(L, stmpi_is_checked());
  return 1;
}

/* abort(text, code) */
static int abort_all(lua_State *L) {
  stmpi_abort(luaL_checkstring(L, 1), (int)luaL_optinteger(L, 2, 1));
  return 0;
}

/* cores(): the share of the machine's cores that a rank has, at least 1 */
static int cores(lua_State *L) {
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  const long own = all / stmpi_local_size();
  lua_pushinteger(L, own > 1 ? (lua_Integer)own : 1);
  return 1;
}

static int set_piece(lua_State *L) {
  stmpi_set_piece((int64_t)luaL_optinteger(L, 1, 0));
  return 0;
}

static int now(lua_State *L) {
  const bool runs = stmpi_is_initialized() && !stmpi_is_finalized();
  lua_pushnumber(L, runs ? MPI_Wtime() : 0);
  return 1;
}

static int version(lua_State *L) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int n;
  MPI_Get_library_version(text, &n);
  lua_pushlstring(L, text, strnlen(text, (size_t)n));
  return 1;
}

/* -- Communicators -------------------------------------------------------- */

static stmpi_comm *check_comm(lua_State *L) {
  stmpi_comm *c;
  raise(L, stmpi_comm_get((int64_t)luaL_checkinteger(L, 1), &c));
  return c;
}

static int comm_rank(lua_State *L) {
  lua_pushinteger(L, check_comm(L)->rank);
  return 1;
}

static int comm_size(lua_State *L) {
  lua_pushinteger(L, check_comm(L)->size);
  return 1;
}

/* comm_split(id, color, key): nil for a rank whose color is nil */
static int comm_split(lua_State *L) {
  const int color = lua_isnoneornil(L, 2) ? -1 : (int)luaL_checkinteger(L, 2);
  const stmpi_comm *c = check_comm(L);
  int64_t id;
  luaL_argcheck(L, color >= 0 || lua_isnoneornil(L, 2), 2,
                "a color must not be negative");
  const int key = (int)luaL_optinteger(L, 3, c->rank);
  raise(L, stmpi_comm_split((int64_t)lua_tointeger(L, 1), color, key, &id));
  if (id < 0) lua_pushnil(L);
  else lua_pushinteger(L, (lua_Integer)id);
  return 1;
}

static int comm_dup(lua_State *L) {
  int64_t id;
  raise(L, stmpi_comm_dup((int64_t)luaL_checkinteger(L, 1), &id));
  lua_pushinteger(L, (lua_Integer)id);
  return 1;
}

static int comm_free(lua_State *L) {
  return raise(L, stmpi_comm_free((int64_t)luaL_checkinteger(L, 1)));
}

/* new_comm(id): the userdata of communicator number id. */
static int new_comm(lua_State *L) {
  const int64_t id = (int64_t)luaL_checkinteger(L, 1);
  int64_t *c = lua_newuserdata(L, sizeof *c);   /* [+1] */
  *c = id;
  luaL_getmetatable(L, COMM);                   /* [+1] */
  lua_setmetatable(L, -2);                      /* [-1] */
  return 1;
}

static int comm_id(lua_State *L) {
  const int64_t *c = check_userdata(L, COMM, "a communicator");
  lua_pushinteger(L, (lua_Integer)*c);
  return 1;
}

static int comm_metatable(lua_State *L) {
  luaL_getmetatable(L, COMM);
  return 1;
}

/* -- Requests ------------------------------------------------------------- */

/* In place of the number of a request. */
enum { OVER = -1, FAILED = -2 };

/* request(id): the userdata that owns request number id. */
static int new_request(lua_State *L) {
  const int64_t id = (int64_t)luaL_checknumber(L, 1);
  int64_t *r = lua_newuserdata(L, sizeof *r);   /* [+1] */
  *r = id;
  luaL_getmetatable(L, REQUEST);                /* [+1] */
  lua_setmetatable(L, -2);                      /* [-1] */
  return 1;
}

/* wait(request): the source of a message, -1 of a collective */
static int request_wait(lua_State *L) {
  int64_t *r = luaL_checkudata(L, 1, REQUEST);
  int source = -1;
  const int64_t id = *r;
  if (id >= 0) {
    if (!stmpi_is_finalized()) *r = FAILED;
    raise(L, stmpi_wait(id, &source));
    *r = OVER;
  } else if (id == FAILED) {
    raise(L, st_fail(ST_BAD_STATE, "the operation has failed: the first "
                     "handle:wait said why"));
  }
  lua_pushinteger(L, source);
  return 1;
}

static int request_test(lua_State *L) {
  const int64_t *r = luaL_checkudata(L, 1, REQUEST);
  bool done = true;
  if (*r >= 0) raise(L, stmpi_test(*r, &done));
  lua_pushboolean(L, done);
  return 1;
}

static int request_gc(lua_State *L) {
  int64_t *r = luaL_checkudata(L, 1, REQUEST);
  if (*r >= 0) stmpi_abandon(*r);
  *r = OVER;
  return 0;
}

/* -- The module ----------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static st_status registered;

static void register_all(void) {
  registered = st_init();
  if (registered == ST_OK) registered = stmpi_register();
}

static void new_metatable(lua_State *L, const char *name, lua_CFunction gc) {
  luaL_newmetatable(L, name);                   /* [+1] */
  if (gc) {
    lua_pushcfunction(L, gc);                   /* [+1] */
    lua_setfield(L, -2, "__gc");                /* [-1] */
  }
  lua_pop(L, 1);                                /* [-1] */
}

static const luaL_Reg functions[] = {
  {"init", init}, {"finalize", finalize}, {"is_initialized", is_initialized},
  {"is_finalized", is_finalized}, {"is_checked", is_checked},
  {"abort", abort_all}, {"on_error", on_error}, {"cores", cores},
  {"set_piece", set_piece},
  {"time", now}, {"version", version}, {"rank", comm_rank},
  {"size", comm_size}, {"split", comm_split}, {"dup", comm_dup},
  {"free", comm_free}, {"new_comm", new_comm}, {"comm_id", comm_id},
  {"comm_metatable", comm_metatable}, {"request", new_request},
  {"wait", request_wait}, {"test", request_test}, {NULL, NULL},
};

__attribute__((visibility("default")))
int luaopen_strided_mpi_core(lua_State *L) {
  pthread_once(&once, register_all);
  if (registered != ST_OK) {
    return luaL_error(L, "strided.mpi could not be registered: %s",
                      st_message());
  }
  new_metatable(L, REQUEST, request_gc);
  new_metatable(L, GUARD, guard_gc);
  new_metatable(L, COMM, NULL);
  lua_createtable(L, 0, 24);                    /* [+1] */
  for (const luaL_Reg *f = functions; f->name; f++) {
    lua_pushcfunction(L, f->func);              /* [+1] */
    lua_setfield(L, -2, f->name);               /* [-1] */
  }
  return 1;
}
