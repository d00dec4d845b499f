/* Tensors as text.
 */

#include <string.h>

#include "value/value.h"

struct st__printing { st_print_options options; };

/* A hook that runs inside of a long call may print; it is not asked again. */
static st_status format(st__state *h, lua_State *L, const st_tensor *t,
                        char **text) {
  if (!st__owns_fiber(h)) return st_tensor_text(t, &h->printing->options, text);
  const st__entry e = st__enter(h, L);
  const st_status status = st_tensor_text(t, &h->printing->options, text);
  st__leave(h, &e);
  return status;
}

void st__push_tensor_text(st__state *h, lua_State *L, int idx) {
  const st__tensor_ud *ud = st__checkudata(h, L, idx, ST_UD_TENSOR, "self");
  char **text = st__newudata(h, L, ST_UD_TEXT, sizeof *text); /* [+1] */
  if (!ud->t) {  /* st__newudata may have run a finalizer that freed it */
    lua_pushliteral(L, "tensor(freed)"); /* [+1] */
    lua_remove(L, -2);                   /* [-1] */
    return;
  }
  st__access_elements(h, L, "tostring");
  const st_status status = format(h, L, ud->t, text);
  if (status != ST_OK) st__raise(h, L, status);
  lua_pushstring(L, *text);              /* [+1] */
  st_text_release(text);
  lua_remove(L, -2);                     /* [-1] */
  st__check_lost(h, L, lua_gettop(L) + 1, "tostring"); /* new faults only */
}

/* The text of a tensor and, as in PyTorch, whether it requires a gradient. */
static int tensor_tostring(lua_State *L) {
  st__state *h = st__state_of(L);
  lua_settop(L, 1);
  st__push_tensor_text(h, L, 1);                   /* [+1] */
  const st__tensor_ud *ud = lua_touserdata(L, 1);
  if (!ud->t || !st_tensor_requires_grad(ud->t)) return 1;
  h->push_gradient_text(L);                        /* [+1] */
  const char *text = lua_tostring(L, 2), *more = lua_tostring(L, 3);
  const char *last = strrchr(text, '\n');
  const size_t n = strlen(text), line = strlen(last ? last + 1 : text);
  const size_t width = (size_t)h->printing->options.linewidth;
  const bool fits = line + strlen(more) + 3 <= width;
  lua_pushlstring(L, text, n - 1);                 /* [+1] */
  lua_pushstring(L, fits ? ", " : ",\n       ");   /* [+1] */
  lua_pushvalue(L, 3);                             /* [+1] */
  lua_pushliteral(L, ")");                         /* [+1] */
  lua_concat(L, 4);                                /* [-3] */
  return 1;
}

static int text_gc(lua_State *L) {
  char **text = st__testudata(st__state_of(L), L, 1, ST_UD_TEXT);
  if (text) st_text_release(text);
  return 0;
}

/* set_print(precision, threshold, edgeitems, linewidth, sci_mode) */
static int set_print(lua_State *L) {
  st__state *h = st__state_of(L);
  h->printing->options = (st_print_options){
    (int)luaL_checkinteger(L, 1), (int)luaL_checkinteger(L, 2),
    (int)luaL_checkinteger(L, 3), (int)luaL_checkinteger(L, 4),
    (int)luaL_checkinteger(L, 5)};
  return 0;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_text(st__state *h, lua_State *L) {
  static const luaL_Reg methods[] = {{"__gc", text_gc}, {NULL, NULL}};
  st__set_functions(h, L, methods);
}

void st__open_tensor_text(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"set_print", set_print}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
    {"__tostring", tensor_tostring}, {NULL, NULL}
  };
  h->printing = st__new_part(h, L, sizeof *h->printing, NULL);
  h->printing->options = (st_print_options){4, 1000, 3, 80, -1};
  st__fill_meta(h, ST_UD_TEXT, fill_text);
  st__set_functions(h, L, functions);
  st__push_meta(h, L, ST_UD_TENSOR);            /* [+1] */
  st__set_functions(h, L, metamethods);
  lua_pop(L, 1);                                /* [-1] */
}
