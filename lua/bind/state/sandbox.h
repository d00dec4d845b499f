/* What the files of the sandbox share: Note [Sandboxes]. */
#ifndef ST_LUA_SANDBOX_H
#define ST_LUA_SANDBOX_H

#include "bind.h"

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

/* The sandbox of the Lua state, or NULL. Needs 1 slot of the stack. */
st__sandbox *st__find_sandbox(lua_State *L);
/* Takes everything away but the allowed classes, closes the Lua side by the
 * function at idx, or from the environment if idx is 0, and raises what failed.
 * From here on a failure leaves nothing of the library: Note [Closing whole or
 * not at all]. */
void st__close_sandbox(st__state *h, lua_State *L, int allowed, int idx);
/* Makes what a failure needs, before anything is taken. [0] */
void st__prepare_closing(st__state *h, lua_State *L);
/* Remembers the core table at the top. [0] */
void st__keep_core(st__state *h, lua_State *L);
/* Removes the marks of our modules from the table of loaded modules at the top,
 * but those of modules that `require` of the library is loading: Note [Modules
 * load whole or not at all]. Allocates nothing. [0] */
void st__remove_marks(const st__state *h, lua_State *L);
/* True if the hook of the time limit has found on L that the time was over. */
bool st__has_time_hook(lua_State *L);
/* Replaces functions of coroutines in the table of loaded modules at an index:
 * Note [Closing after a time limit]. [0] */
void st__guard_coroutines(lua_State *L, int loaded);
/* Raises for a name that is taken, or because closing has failed. */
void st__refuse_taken(st__state *h, lua_State *L, const char *name, int id);

#endif
