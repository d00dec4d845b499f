/* Warnings of the engine, passed to a function of the script.
 *
 * The process has one handler (st_set_warning_handler). Once a script has
 * called warnings(), the binding's handler passes a warning to the binding
 * state whose call into the engine runs on this thread; without such a call it
 * prints to stderr, as the default does.
 *
 * Note [Warnings are deferred]
 * The function is called after that call has ended, not during it: an operator
 * has then read the shapes of tensors that it is about to traverse, and the
 * function could change them.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/engine.h"
#include "state/hook_error.h"

static void print(const char *text) {
  fprintf(stderr, "strided: warning: %s\n", text);
}

enum { PRINTED, OFF, CALLED };

struct st__warnings {
  int mode;          /* PRINTED, OFF or CALLED */
  int runner_ref;    /* calls the function of the script */
  int function_ref;  /* that function */
};

struct st__pending_warning {
  st__pending_warning *next;
  char text[];
};

static void push_function(const st__state *h, lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->warnings->function_ref); /* [+1] */
}

static int run_warning(lua_State *L) {
  st__state *h = st__current_state();
  push_function(h, L);                                /* [+1] */
  lua_pushstring(L, lua_touserdata(L, 1));            /* [+1] */
  st__call_lua(h, L, "warnings", 1, 0);               /* [-2] */
  return 0;
}

static void enqueue(st__state *h, const char *text) {
  st__pending_warning **end = &h->pending_warnings;
  st__pending_warning *n = malloc(sizeof *n + strlen(text) + 1);
  if (!n) {
    print(text);
    return;
  }
  n->next = NULL;
  strcpy(n->text, text);
  while (*end) end = &(*end)->next;
  *end = n;
}

static void on_warning(void *ctx, const char *text) {
  st__state *h = st__current_state();
  (void)ctx;
  if (!h || h->warnings->mode == PRINTED) print(text);
  else if (h->warnings->mode == CALLED) enqueue(h, text);
}

/* While the handler runs, warnings go to stderr. */
static void call_handler(st__state *h, const char *text) {
  lua_State *L = h->running;
  st__watch w;
  if (h->warnings->mode == PRINTED) print(text);
  if (h->warnings->mode != CALLED) return;
  if (!lua_checkstack(L, LUA_MINSTACK)) return;
  h->warnings->mode = PRINTED;
  st__watch_begin(L, &w);
  const int status = st__nested_pcall(h, h->warnings->runner_ref,
                                      (void *)(uintptr_t)text); /* [+0|1] */
  if (!st__watch_end(L, &w, status) && status != 0) { /* [0|-1] */
    const char *why = lua_tostring(L, -1);
    fprintf(stderr, "strided: the warning handler failed: %s\n",
            why ? why : "?");
    lua_pop(L, 1);                                    /* [-1] */
  }
  if (h->warnings->mode == PRINTED) h->warnings->mode = CALLED;
}

void st__deliver_warnings(st__state *h) {
  char message[1024];
  st__pending_warning *n = h->pending_warnings;
  h->pending_warnings = NULL;
  snprintf(message, sizeof message, "%s", st_message());
  for (st__pending_warning *next; n; n = next) {
    next = n->next;
    call_handler(h, n->text);
    free(n);
  }
  st_fail(ST_HOST, "%s", message);
}

static int kind_of(st__state *h, lua_State *L) {
  if (lua_isnoneornil(L, 1)) return PRINTED;
  if (lua_isboolean(L, 1)) return lua_toboolean(L, 1) ? PRINTED : OFF;
  st__check_callable(h, L, 1, "handler");
  return CALLED;
}

/* warnings(fn | false | true): fn(text) is called after a call that does
 * something permitted but rarely intended; false disables warnings, true prints
 * them to stderr, which is the default. Returns the previous setting. */
static int warnings(lua_State *L) {
  st__state *h = st__state_of(L);
  const int kind = kind_of(h, L);
  if (h->warnings->mode == CALLED) {
    push_function(h, L);                                  /* [+1] */
  } else {
    lua_pushboolean(L, h->warnings->mode != OFF);         /* [+1] */
  }
  if (kind == CALLED) lua_pushvalue(L, 1);                /* [+0|1] */
  else lua_pushboolean(L, false);                         /* [+0|1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->warnings->function_ref); /* [-1] */
  if (kind != PRINTED) st_set_warning_handler(on_warning, NULL);
  h->warnings->mode = kind;
  return 1;
}

bool st__warns(const st__state *h) { return h->warnings->mode != OFF; }

void st__warn_text(st__state *h, lua_State *L, const char *text) {
  if (h->warnings->mode == CALLED) {
    push_function(h, L);                                  /* [+1] */
    lua_pushstring(L, text);                              /* [+1] */
    st__call_lua(h, L, "warnings", 1, 0);                 /* [-2] */
  } else if (h->warnings->mode == PRINTED) {
    st_warn(text);
  }
}

/* warn(text): a warning of the library's Lua files */
static int warn(lua_State *L) {
  st__warn_text(st__state_of(L), L, luaL_checkstring(L, 1));
  return 0;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_warning(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"warnings", warnings}, {"warn", warn}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
  h->warnings = st__new_part(h, L, sizeof *h->warnings, NULL);
  lua_pushcfunction(L, run_warning);                             /* [+1] */
  h->warnings->runner_ref = luaL_ref(L, LUA_REGISTRYINDEX);      /* [-1] */
  h->warnings->function_ref = st__new_slot(L);
}
