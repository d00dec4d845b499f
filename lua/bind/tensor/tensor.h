/* The room of tensors in scripts: subscripts, tables as tensors, operators of
 * Lua, iterators. It calls operators.
 */
#ifndef ST_LUA_TENSOR_TENSOR_H
#define ST_LUA_TENSOR_TENSOR_H

#include "call/call.h"

#define ST_TENSOR_OPENERS(X) \
  X(tensor_operators) X(from_table) X(subscript) X(plan) X(schema)
ST_TENSOR_OPENERS(ST_DECLARE_OPENER)

/* -- from_table.c ---------------------------------------------------------- */

/* Pushes a tensor made from the table or number at idx; ST_DTYPE_NONE infers
 * the dtype. [+1] */
st__tensor_ud *st__tensor_from(st__state *h, lua_State *L, int idx,
                               st_dtype dtype, st_device device);

/* The memory of the tensor at idx, *n bytes from its first element to the end
 * of its last; raises for a tensor on another device and for a lazy one. */
char *st__check_memory(st__state *h, lua_State *L, int idx, size_t *n);

/* -- subscript_parse.c ----------------------------------------------------- */

typedef enum st__item_kind {
  ST_ITEM_INDEX, ST_ITEM_RANGE, ST_ITEM_NEWAXIS, ST_ITEM_ELLIPSIS,
  ST_ITEM_TENSOR, ST_ITEM_BOOL
} st__item_kind;

/* One item of a subscript, with 0-based indices. */
typedef struct st__item {
  st__item_kind kind;
  int64_t a, b, step;   /* INDEX: a; RANGE: [a, b) by step; BOOL: a */
  bool is_exact;        /* a range of one index, which must be in range */
  st_tensor *tensor;    /* borrowed from a userdata on the Lua stack */
} st__item;

enum { ST_MAX_ITEMS = 2 * ST_MAX_DIMS };

/* Parses the subscript at idx (number, boolean, sentinel, tensor, table,
 * string); returns the number of items, or raises. [+number of tensors] */
int st__parse_subscript(st__state *h, lua_State *L, int idx, st__item *items);
/* Parses the table at the absolute index idx if it holds nothing but indices of
 * t, which are in range, and ranges, one per dimension at most; otherwise
 * returns 0, and st__parse_subscript has to. */
int st__parse_in_range(lua_State *L, int idx, const st_tensor *t,
                       st__item *items);

#endif
