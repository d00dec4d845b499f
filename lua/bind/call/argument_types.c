/* Reads the types of a call's arguments: Note [Cached resolutions]. */

#include "call/argument_types.h"

/* The type of an argument, in 3 bits of a key. No key has EMPTY: a table
 * without a list, which holds keywords if it is the last argument. */
typedef enum kind {
  OTHER, TENSOR, ZERO, INTEGER, NUMBER, BOOLEAN, STRING, LIST, EMPTY
} kind;

/* Reads the list at idx; OTHER if it has other keys or elements than integers,
 * or too many; EMPTY if it has no elements. Not inlined: numbers need no such
 * frame. */
__attribute__((noinline))
static kind read_list(st__call_types *c, int idx, st__argument *arg) {
  lua_State *L = c->L;
  const size_t n = lua_objlen(L, idx);
  size_t count = 0;
  if (n == 0) return EMPTY;
  if (n > (size_t)(ST_MAX_ELEMENTS - c->nelements)) return OTHER;
  arg->first = c->nelements;
  arg->n = (int)n;
  for (int k = 0; k < arg->n; k++) {
    st_scalar s = {.kind = ST_SCALAR_FLOAT};
    lua_rawgeti(L, idx, k + 1);                      /* [+1] */
    if (lua_type(L, -1) == LUA_TNUMBER) st__number_to_scalar(L, -1, &s);
    lua_pop(L, 1);                                   /* [-1] */
    if (s.kind != ST_SCALAR_INT) return OTHER;
    c->elements[c->nelements++] = s.u.i;
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

static inline bool read_tensor(st__call_types *c, int idx, st__argument *arg) {
  arg->ud = st__to_tensor_ud(c->h, c->L, idx);
  if (arg->ud) arg->t = arg->ud->t;
  return arg->ud != NULL;
}

/* Reads argument `at` of the call, whose value is at idx: above the top for a
 * keyword. What was a tensor in the last call most often is one again, so its
 * type is not asked for first. */
static kind kind_of(st__call_types *c, int at, int idx) {
  lua_State *L = c->L;
  st__argument *arg = &c->args[at];
  const unsigned bit = idx <= c->top ? 1u << at : 1u << (at + ST_MAX_GIVEN);
  if (c->p->tensors & bit) {
    if (read_tensor(c, idx, arg)) return TENSOR;
    c->p->tensors &= ~bit;
  }
  switch (lua_type(L, idx)) {
    case LUA_TUSERDATA:
      if (!read_tensor(c, idx, arg)) return OTHER;
      c->p->tensors |= bit;
      return TENSOR;
    case LUA_TNUMBER:
      st__number_to_scalar(L, idx, &arg->s);
      if (arg->s.kind != ST_SCALAR_INT) {
        c->has_fraction = true;
        return NUMBER;
      }
      if (arg->s.u.i != 0) return INTEGER;
      return st__is_minus_zero(L, idx) ? OTHER : ZERO;
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
    const kind k = kind_of(c, c->npos + n, lua_gettop(L));
    if (k == OTHER || k == EMPTY) return false;
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
  kind k = OTHER;
  if (n < 1 || n > ST_MAX_POSITIONAL) return;
  for (c->npos = 0; c->npos < n; c->npos++) {
    k = kind_of(c, c->npos, c->first + c->npos);
    if (k == OTHER || k == EMPTY) break;
    key = key << 3 | (uint32_t)k;
  }
  if (c->npos < n && (k == OTHER || c->npos < n - 1 ||
                      !read_keywords(c, &key))) {              /* [+n] */
    return;
  }
  c->key = key << 3 | (uint32_t)c->npos;
}
