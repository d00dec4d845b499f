/* Calls of Lua functions by C functions of the binding.
 *
 * Note [Nested calls]
 * A Lua function that a C function calls may call that C function again. Each
 * such level takes some KB of the C stack, which all coroutines of a thread
 * share, and LuaJIT does not limit the levels: a function that never stops
 * calling itself would end the process. So no other file calls lua_call or
 * lua_pcall. The functions here count the levels of a binding state and check
 * how much of the thread's stack is left; a call that goes too deep is an
 * error, which Lua can catch.
 *
 * An error leaves C functions without returning to them, so the count changes
 * around protected calls only.
 */

#include "state/engine.h"

enum {
  MAX_LEVELS = 200,    /* as many as operators nest */
  RESERVE = 36 << 10   /* bytes of stack that a level needs, with the operator
                          that its function calls */
};

/* -- Depth ---------------------------------------------------------------- */

static void check_levels(st__state *h, lua_State *L, const char *name,
                         int most) {
  if (h->levels > most) {
    st__error(h, L, ST_BAD_STATE, "%s: too deep: functions call each other "
              "through strided more than %d times", name, MAX_LEVELS);
  }
  const size_t left = st__stack_left(h);
  if (left < RESERVE) {
    st__error(h, L, ST_BAD_STATE, "%s: too deep: %zu KB of the stack of this "
              "thread are left, and a function that strided calls needs %d",
              name, left >> 10, RESERVE >> 10);
  }
}

void st__check_depth(st__state *h, lua_State *L, const char *name) {
  check_levels(h, L, name, MAX_LEVELS - 1);
}

void st__check_body(st__state *h, lua_State *L, const char *name) {
  st__check_fiber(h, L, name);
  st__check_depth(h, L, name);
}

/* -- Protected calls ------------------------------------------------------ */

int st__pcall_c(st__state *h, lua_State *L, int nargs, int nrets,
                int handler) {
  if (h->levels++ == 0) {
    h->first_level = (uintptr_t)__builtin_frame_address(0);
  }
  const int status =
    lua_pcall(L, nargs, nrets, handler);            /* [-nargs-1, +nrets|1] */
  h->levels--;
  return status;
}

int st__run_body(st__state *h, lua_State *L, int nargs, int nrets) {
  void *outer = h->fiber;
  h->fiber = h->fiber_self();
  const int status =
    st__pcall_c(h, L, nargs, nrets, 0);             /* [-nargs-1, +nrets|1] */
  h->fiber = outer;
  return status;
}

int st__run_handled(st__state *h, lua_State *L, int nargs, int handler) {
  return st__pcall_c(h, L, nargs, LUA_MULTRET, handler);
}

/* -- Calls from within the engine ----------------------------------------- */

/* A call of a C function; status: Lua's. */
typedef struct nested {
  st__state *h;
  int ref;
  void *arg;
  int status;
} nested;

static st_status run_nested(void *arg) {
  nested *n = arg;
  lua_State *L = n->h->running;
  lua_rawgeti(L, LUA_REGISTRYINDEX, n->ref);             /* [+1] */
  lua_pushlightuserdata(L, n->arg);                      /* [+1] */
  n->status = st__pcall_c(n->h, L, 1, 0, 0);             /* [-2, +0|1] */
  return ST_OK;
}

int st__nested_pcall(st__state *h, int ref, void *arg) {
  lua_State *L = h->running;
  const st__frame *frame = h->frame;
  const bool has_error = h->has_error;
  nested n = {h, ref, arg, 0};
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->error_ref);       /* [+1] */
  h->frame = NULL;
  st_run_script(run_nested, &n);                         /* [+0|1] */
  h->frame = frame;
  h->has_error = has_error;
  if (n.status != 0) lua_insert(L, -2);
  lua_rawseti(L, LUA_REGISTRYINDEX, h->error_ref);       /* [-1] */
  return n.status;
}

/* -- Calls that raise ----------------------------------------------------- */

void st__call_lua(st__state *h, lua_State *L, const char *name, int nargs,
                  int nrets) {
  check_levels(h, L, name, MAX_LEVELS);
  lua_call(L, nargs, nrets);                        /* [-nargs-1, +nrets] */
}

void st__call_c(lua_State *L, int nargs, int nrets) {
  lua_call(L, nargs, nrets);                        /* [-nargs-1, +nrets] */
}

#if LUA_VERSION_NUM >= 504
int st__resume(lua_State *co, lua_State *L, int nargs, int *nrets) {
  return lua_resume(co, L, nargs, nrets);
}
#endif

void st__call_out(st__state *h, lua_State *L, const char *name, int nargs,
                  int nrets) {
  st__check_depth(h, L, name);
  if (st__pcall_c(h, L, nargs, nrets, 0) != 0) lua_error(L);
}

/* Arguments: a table, a name. */
static int get_field(lua_State *L) {
  lua_gettable(L, 1);                               /* [-1, +1] */
  return 1;
}

void st__get_field(st__state *h, lua_State *L, int idx, const char *name) {
  if (!lua_getmetatable(L, idx)) {                  /* [+0|1] */
    lua_getfield(L, idx, name);                     /* [+1] */
    return;
  }
  lua_pop(L, 1);                                    /* [-1] */
  lua_pushvalue(L, idx);                            /* [+1] */
  lua_pushcfunction(L, get_field);                  /* [+1] */
  lua_insert(L, -2);
  lua_pushstring(L, name);                          /* [+1] */
  st__call_out(h, L, lua_tostring(L, -1), 2, 1);    /* [-3, +1] */
}
