/* Reads the types of a call's arguments: Note [Cached resolutions]. */

#include "call/argument_types.h"

/* The type of an argument, in 3 bits of a key. */
typedef enum kind {
  OTHER, TENSOR, ZERO, INTEGER, NUMBER, BOOLEAN, STRING, LIST
} kind;

/* Reads the list at idx; OTHER if it has other keys or elements than integers,
 * or too many. */
static kind read_list(st__call_types *c, int idx, st__argument *arg) {
  lua_State *L = c->L;
  const size_t n = lua_objlen(L, idx);
  size_t count = 0;
  if (n == 0 || n > (size_t)(ST_MAX_ELEMENTS - c->nelements)) return OTHER;
  arg->first = c->nelements;
  arg->n = (int)n;
  for (int k = 0; k < arg->n; k++) {
    lua_rawgeti(L, idx, k + 1);                      /* [+1] */
    const bool is_integer = lua_type(L, -1) == LUA_TNUMBER &&
      st__to_int(c->h, L, -1, &c->elements[c->nelements++]);
    lua_pop(L, 1);                                   /* [-1] */
    if (!is_integer) return OTHER;
  }
  lua_pushnil(L);                                    /* [+1] */
  while (lua_next(L, idx)) {                         /* [-1, +0|2] */
    lua_pop(L, 1);                                   /* [-1] */
    if (++count > n) {
      lua_pop(L, 1);                                 /* [-1] */
      return OTHER;
    }
  }
  return LIST;
}

static kind kind_of(st__call_types *c, int idx, st__argument *arg) {
  lua_State *L = c->L;
  arg->t = st__to_tensor(c->h, L, idx);
  if (arg->t) return TENSOR;
  switch (lua_type(L, idx)) {
    case LUA_TNUMBER:
      st__to_scalar(c->h, L, idx, &arg->s);
      return arg->s.kind != ST_SCALAR_INT ? NUMBER
           : arg->s.u.i == 0 ? ZERO : INTEGER;
    case LUA_TBOOLEAN:
      st__to_scalar(c->h, L, idx, &arg->s);
      return BOOLEAN;
    case LUA_TSTRING: return STRING;
    case LUA_TTABLE: return read_list(c, idx, arg);
    default: return OTHER;
  }
}

/* Reads the table of keywords, the last argument, and pushes their values;
 * false if it has another key, too many, or a value of another type. [+n] */
static bool read_keywords(st__call_types *c, uint32_t *key) {
  lua_State *L = c->L;
  lua_pushnil(L);                                    /* [+1] */
  while (lua_next(L, c->top)) {                      /* [-1, +0|2] */
    const int n = c->nkeywords;
    if (n == ST_MAX_KEYWORDS || lua_type(L, -2) != LUA_TSTRING) return false;
    const kind k = kind_of(c, lua_gettop(L), &c->args[c->npos + n]);
    if (k == OTHER) return false;
    c->names[n] = lua_tostring(L, -2);
    c->nkeywords++;
    *key = *key << 3 | (uint32_t)k;
    lua_insert(L, -2);                               /* the key on top */
  }
  return c->nkeywords > 0;
}

void st__read_types(st__call_types *c, bool is_method) {
  const int n = c->top - c->first + 1;
  uint32_t key = is_method;
  if (n < 1 || n > ST_MAX_POSITIONAL) return;
  c->npos = n - (lua_istable(c->L, c->top) && lua_objlen(c->L, c->top) == 0);
  for (int i = 0; i < c->npos; i++) {
    const kind k = kind_of(c, c->first + i, &c->args[i]);
    if (k == OTHER) return;
    key = key << 3 | (uint32_t)k;
  }
  if (c->npos < n && !read_keywords(c, &key)) return; /* [+n] */
  c->key = key << 3 | (uint32_t)c->npos;
}
