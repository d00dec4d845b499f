/* The sandbox of a Lua state, as far as every room asks it: what is taken, and
 * the limits of calls. The room sandbox/ turns it on and runs scripts in it.
 */
#ifndef ST_LUA_STATE_GUARD_H
#define ST_LUA_STATE_GUARD_H

#include "state/state.h"

/* X(class, its name in messages and in the option `allow`) */
#define ST_CLASS_MAP(X) \
  X(FILES, "files") X(ADDRESSES, "addresses") X(SHARING, "sharing")   \
  X(REGISTRATION, "registration") X(SETTINGS, "settings")             \
  X(SESSION, "session") X(INTERNALS, "internals")

enum {
#define ST_CLASS_INDEX(id, name) ID_##id,
  ST_CLASS_MAP(ST_CLASS_INDEX)
#undef ST_CLASS_INDEX
#define ST_CLASS_BIT(id, name) id = 1 << ID_##id,
  ST_CLASS_MAP(ST_CLASS_BIT)
#undef ST_CLASS_BIT
  EVERYTHING = 2 * INTERNALS - 1
};

enum { NAMESPACES = 512 };

struct st__sandbox {
  atomic_int refs;     /* of binding states */
  int taken;           /* classes; 0: the sandbox is off */
  bool has_opened;     /* a binding state exists */
  bool is_closing, is_closed; /* Note [Closing whole or not at all] */
  bool is_timed, is_running;
  double seconds;
  st_limits *limits;   /* owned, or NULL */
  uint64_t key;        /* of st__hide_address */
  char namespaces[NAMESPACES]; /* " geo ml " */
  /* Note [Threads of runs] */
  lua_State *host, *thread; /* of the run, or NULL */
  lua_Hook hook;       /* of the host, with its mask and count */
  int mask, count;
  const void *globals; /* those of the Lua state when it opened strided */
};

#define ST_BROKEN "the sandbox of this Lua state could not be closed: it has " \
                  "nothing of strided any more"

extern const char *const st__class_name[];

/* The sandbox of the Lua state, or NULL. Needs 1 slot of the stack. */
st__sandbox *st__find_sandbox(lua_State *L);
/* Gives h the sandbox of its Lua state; raises when out of memory. */
void st__sandbox_join(st__state *h, lua_State *L);
/* The thread that has called box:run if L is the thread of the run, or NULL. */
static inline lua_State *st__sandbox_host(const st__state *h,
                                          const lua_State *L) {
  return h->sandbox->thread == L ? h->sandbox->host : NULL;
}
/* The limits of calls, or NULL. */
static inline st_limits *st__sandbox_limits(const st__state *h) {
  return h->sandbox->limits;
}
/* True if the sandbox has taken the class. */
bool st__takes(const st__sandbox *s, int id);
/* Raises if closing the sandbox has failed; name is what is refused. */
void st__check_broken(st__state *h, lua_State *L, const char *name);
/* Raises for a name that is taken, or because closing has failed. */
void st__refuse_taken(st__state *h, lua_State *L, const char *name, int id);
/* Pushes fn with the test of the sandbox if it is one of the functions that
 * sandboxes take away; false otherwise. [+0|1] */
bool st__push_guarded(st__state *h, lua_State *L, const luaL_Reg *fn);
/* For other ways to register: whether a function is one of these, and the error
 * if the sandbox has taken it. */
bool st__is_guarded(const luaL_Reg *fn);
void st__check_guarded(st__state *h, lua_State *L, const luaL_Reg *fn);
/* Raises if the sandbox does not give the namespace to libraries. In one that
 * does, libraries do not replace registrations. */
void st__check_namespace(st__state *h, lua_State *L, const char *ns);
/* True if libraries that are opened now are those of scripts. */
static inline bool st__is_boxed(const st__state *h) {
  return (h->sandbox->taken & REGISTRATION) != 0;
}
/* A number that identifies p: its address, or in a sandbox another. */
int64_t st__hide_address(const st__state *h, const void *p);

#endif
