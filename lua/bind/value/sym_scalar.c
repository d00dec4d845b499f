/* Symbolic numbers, which stand for the numbers that a traced function gets.
 */

#include "value/value.h"

static st_scalar example_of(st_scalar_kind kind) {
  if (kind == ST_SCALAR_FLOAT) return (st_scalar){kind, {.f = 1}};
  return (st_scalar){kind, {.i = 1}};
}

bool st__to_sym_scalar(st__state *h, lua_State *L, int idx, int *at,
                       st_scalar *example) {
  const st__sym_scalar *n =
    h->tracing ? st__testudata(h, L, idx, ST_UD_SYM_SCALAR) : NULL;
  if (!n || n->trace != h->trace) return false;
  *at = n->at;
  *example = example_of(n->kind);
  return true;
}
