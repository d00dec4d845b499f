/* Results of the engine as Lua values.
 */

#include <string.h>

#include "call/call.h"

static void push_list(st__state *h, lua_State *L, const st_arg *a,
                      st_value *v) {
  const int n = (int)v->len;
  if (v->tag == ST_TAG_INTS) {
    lua_createtable(L, n, 0);                     /* [+1] */
    for (int k = 0; k < n; k++) {
      st__push_int(h, L, st__index_to_lua(a->type, v->u.ints[k])); /* [+1] */
      lua_rawseti(L, -2, k + 1);                  /* [-1] */
    }
    if (a->type == ST_TYPE_INT) st__make_sizes(h, L);
    return;
  }
  lua_createtable(L, n, 0);                       /* [+1] */
  if (v->tag == ST_TAG_TENSORS) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->lists_ref); /* [+1] */
    lua_setmetatable(L, -2);                      /* [-1] */
  }
  for (int k = 0; k < n; k++) {
    if (k % ST_POLL_ITEMS == ST_POLL_ITEMS - 1) st__poll(h, L);
    if (v->tag == ST_TAG_TENSORS) {
      st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
      ud->t = v->u.tensors[k];
      v->u.tensors[k] = NULL;
    } else if (v->tag == ST_TAG_FLOATS) {
      lua_pushnumber(L, v->u.floats[k]);          /* [+1] */
    } else {
      lua_pushboolean(L, v->u.bools[k]);          /* [+1] */
    }
    lua_rawseti(L, -2, k + 1);                    /* [-1] */
  }
}

static void push_integer(st__state *h, lua_State *L, st_type type, int64_t i) {
  switch (type) {
    case ST_TYPE_DTYPE: st__push_dtype(h, L, (st_dtype)i); break;   /* [+1] */
    case ST_TYPE_FORMAT:
      lua_pushstring(L, st_format_name((st_format)i));              /* [+1] */
      break;
    case ST_TYPE_DEVICE:
      lua_pushstring(L, st_device_name((st_device)i));              /* [+1] */
      break;
    case ST_TYPE_LAYOUT:
      lua_pushstring(L, st_layout_name((st_layout)i));              /* [+1] */
      break;
    default: st__push_int(h, L, st__index_to_lua(type, i));         /* [+1] */
  }
}

void st__push_value(st__state *h, lua_State *L, const st_arg *a, st_value *v) {
  st__tensor_ud *ud;
  st_generator **generator;
  st_scalar s = {ST_SCALAR_COMPLEX, {.c = {0, 0}}};
  switch ((st_tag)v->tag) {
    case ST_TAG_NONE: lua_pushnil(L); break;                    /* [+1] */
    case ST_TAG_TENSOR:
      ud = st__new_tensor_ud(h, L);                             /* [+1] */
      ud->t = v->u.tensor;
      v->tag = ST_TAG_NONE;
      break;
    case ST_TAG_INT: push_integer(h, L, a->type, v->u.i); break; /* [+1] */
    case ST_TAG_UINT: st__push_scalar(h, L, st__unsigned(v->u.u)); break;
    case ST_TAG_FLOAT: lua_pushnumber(L, v->u.f); break;        /* [+1] */
    case ST_TAG_BOOL: lua_pushboolean(L, v->u.i != 0); break;   /* [+1] */
    case ST_TAG_COMPLEX:
      memcpy(s.u.c, v->u.pair, sizeof s.u.c);
      st__push_scalar(h, L, s);                                 /* [+1] */
      break;
    case ST_TAG_STRING:
      lua_pushlstring(L, v->u.string, v->len);                  /* [+1] */
      break;
    case ST_TAG_GENERATOR:
      generator = st__newudata(h, L, ST_UD_GENERATOR, sizeof *generator);
      *generator = v->u.generator;
      v->tag = ST_TAG_NONE;
      break;
    default: push_list(h, L, a, v);                             /* [+1] */
  }
}
