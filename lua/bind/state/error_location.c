/* Where a script is: the source line of the user, the name of the running
 * function of the binding.
 *
 * The lists of functions are remembered as they are registered. A function that
 * is called by another one, which tests something first, has its entry in a
 * list as the second upvalue of that one.
 */

#include <stdio.h>
#include <string.h>

#include "state/error.h"
#include "state/guard.h"

/* -- Lines ---------------------------------------------------------------- */

/* Frames of C functions and of strided's own Lua files are skipped: the user's
 * mistake is in neither. */
bool st__is_user_frame(const st__state *h, const lua_Debug *ar) {
  return ar->currentline > 0 &&
         (!h->home[0] || strncmp(ar->source, h->home, strlen(h->home)) != 0);
}

char *st__where(const st__state *h, lua_State *L, char *buf, size_t size) {
  lua_Debug ar;
  *buf = '\0';
  for (; L && !*buf; L = st__sandbox_host(h, L)) {
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
      lua_getinfo(L, "Sl", &ar);
      if (!st__is_user_frame(h, &ar)) continue;
      snprintf(buf, size, "%s:%d", ar.short_src, ar.currentline);
      break;
    }
  }
  return buf;
}

/* -- Names ---------------------------------------------------------------- */

enum { MAX_LISTS = 128 };

struct st__function_lists {
  const luaL_Reg *lists[MAX_LISTS];
  int n;
};

void st__keep_names(st__state *h, lua_State *L, const luaL_Reg *fns) {
  st__function_lists *f = h->functions;
  if (!f) f = h->functions = st__new_part(h, L, sizeof *f, NULL);
  if (f->n == MAX_LISTS) {
    luaL_error(L, "strided: more than %d lists of functions", MAX_LISTS);
  }
  f->lists[f->n++] = fns;
}

/* The second upvalue of the function at the top, if it is an address. */
static const void *inner_entry(lua_State *L) {
  if (!lua_getupvalue(L, -1, 2)) return NULL;    /* [+0|1] */
  const void *p = lua_islightuserdata(L, -1) ? lua_touserdata(L, -1) : NULL;
  lua_pop(L, 1);                                 /* [-1] */
  return p;
}

/* The name of the C function at the top, or NULL for a metamethod and for
 * others. */
static const char *function_name(const st__state *h, lua_State *L) {
  const lua_CFunction fn = lua_tocfunction(L, -1);
  const void *inner = fn ? inner_entry(L) : NULL;
  for (int i = 0; fn && i < h->functions->n; i++) {
    for (const luaL_Reg *r = h->functions->lists[i]; r->name; r++) {
      if (r == inner) return r->name;
      if (r->func == fn && strncmp(r->name, "__", 2) != 0) return r->name;
    }
  }
  return NULL;
}

char *st__running_name(st__state *h, lua_State *L, char *buf, size_t size) {
  lua_Debug ar;
  *buf = '\0';
  luaL_checkstack(L, 2, NULL);
  if (!lua_getstack(L, 0, &ar)) return buf;
  lua_getinfo(L, "f", &ar);                        /* [+1] */
  const char *name = function_name(h, L);
  if (name) snprintf(buf, size, "%s", name);
  lua_pop(L, 1);                                   /* [-1] */
  return buf;
}
