/* Indexing: t[k] and t[k] = v. Basic items (indices, ranges, newaxis) are
 * applied one after the other as views; masks and index tensors are collected,
 * one per dimension, for aten::index and aten::index_put_.
 */

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "tensor/tensor.h"

typedef struct walk {
  st__state *h;
  lua_State *L;
  st__tensor_ud *ud; /* the view so far, on the Lua stack */
  int slot;          /* its stack index */
  int dim;           /* its next dimension to index */
  int origin;        /* that dimension in the tensor, for messages */
  bool is_same;      /* no item has made a view yet */
  int nindices;      /* number of index tensors and masks */
  st_tensor *index[ST_MAX_DIMS];  /* per dimension of the view, or NULL */
  int width[ST_MAX_DIMS];         /* dimensions that each indexes */
} walk;

static bool is_mask(const st_tensor *t) {
  const st_dtype d = st_tensor_dtype(t);
  return d == ST_BOOL || d == ST_UINT8;
}

static bool is_integral(const st_tensor *t) {
  return st_dtype_is_integer(st_tensor_dtype(t));
}

/* ipairs reads one index too many, since no element of a tensor is nil. */
#define LOOP_HINT "; to loop over a tensor write: for row in t:iter() do"

/* -- Items ---------------------------------------------------------------- */

/* Number of dimensions that an item indexes. */
static int width(const st__item *item) {
  switch (item->kind) {
    case ST_ITEM_INDEX: case ST_ITEM_RANGE: return 1;
    case ST_ITEM_TENSOR:
      return is_mask(item->tensor) ? st_tensor_ndim(item->tensor) : 1;
    default: return 0;
  }
}

/* Returns the number of dimensions that an ellipsis represents; raises if the
 * items index too many. */
static int check_width(walk *w, const st__item *items, int n) {
  const int ndim = st_tensor_ndim(w->ud->t);
  int used = 0, dots = 0;
  for (int k = 0; k < n; k++) {
    used += width(&items[k]);
    dots += items[k].kind == ST_ITEM_ELLIPSIS;
  }
  if (used > ndim) {
    st__error(w->h, w->L, ST_BAD_INDEX, "index: %d dimensions are indexed, "
              "the tensor has %d; write t[{{first, last}}] for a range, "
              "t[st.tensor(list)] for several elements", used, ndim);
  }
  if (dots > 1) {
    st__error(w->h, w->L, ST_BAD_INDEX, "index: more than one ellipsis");
  }
  return ndim - used;
}

/* A Lua kernel may return a view of another number of dimensions. */
static void check_ndim(st__state *h, lua_State *L, st_handle op,
                       const st_tensor *view, int ndim) {
  if (st_tensor_ndim(view) == ndim) return;
  st__error(h, L, ST_BAD_STATE, "index: %s made a view of %d dimensions, "
            "not %d", st_op_name(h->op[op]), st_tensor_ndim(view), ndim);
}

/* Replaces the view by the result of op, which has `more` more dimensions; for
 * another number w->dim would be wrong. */
static void apply(walk *w, st_handle op, int n, const st_value *args,
                  int more) {
  const int ndim = st_tensor_ndim(w->ud->t) + more;
  st__call_into(w->h, w->L, op, n, args, w->ud);
  check_ndim(w->h, w->L, op, w->ud->t, ndim);
  w->is_same = false;
}

static void check_index(walk *w, int64_t i) {
  const int64_t size = st_tensor_sizes(w->ud->t)[w->dim];
  if (i < size && i >= -size) return;
  st__error(w->h, w->L, ST_BAD_INDEX, "index: index %" PRId64 " is out of "
            "range for dimension %d of size %" PRId64 "%s",
            i >= 0 ? i + 1 : i, w->origin + 1, size,
            i == size && w->origin == 0 ? LOOP_HINT : "");
}

static void apply_index(walk *w, int64_t i) {
  check_index(w, i);
  const st_value args[] = {st__tensor_arg(w->ud->t), st__int_arg(w->dim),
                           st__int_arg(i)};
  apply(w, ST_HANDLE_SELECT, 3, args, -1);
}

static void apply_range(walk *w, const st__item *item) {
  if (item->is_exact) check_index(w, item->a);
  if (item->a != 0 || item->b != INT64_MAX || item->step != 1) {
    const st_value args[] = {
      st__tensor_arg(w->ud->t), st__int_arg(w->dim), st__int_arg(item->a),
      st__int_arg(item->b), st__int_arg(item->step)};
    apply(w, ST_HANDLE_SLICE, 5, args, 0);
  }
  w->dim++;
}

static void apply_newaxis(walk *w) {
  const st_value args[] = {st__tensor_arg(w->ud->t), st__int_arg(w->dim)};
  if (st_tensor_ndim(w->ud->t) == ST_MAX_DIMS) {
    st__error(w->h, w->L, ST_BAD_INDEX, "index: more than %d dimensions",
              ST_MAX_DIMS);
  }
  apply(w, ST_HANDLE_UNSQUEEZE, 2, args, 1);
}

/* Adds an index tensor or mask for the next n dimensions. */
static void add_index(walk *w, st_tensor *t, int n) {
  w->index[w->dim] = t;
  w->width[w->dim] = n;
  w->nindices++;
  w->dim += n;
}

/* A boolean adds a dimension of size 1 (true) or 0 (false). [+1] */
static void apply_bool(walk *w, bool value) {
  const int64_t one = 1, zero = 0;
  apply_newaxis(w);
  st__tensor_ud *mask = st__new_tensor_ud(w->h, w->L); /* [+1] */
  st_status status = st_tensor_empty(ST_DEVICE_CPU, ST_BOOL, 1, &one, NULL,
                                     &mask->t);
  const st_scalar s = {ST_SCALAR_BOOL, {.i = value}};
  if (status == ST_OK) status = st_tensor_set(mask->t, 1, &zero, s);
  if (status != ST_OK) st__raise(w->h, w->L, status);
  add_index(w, mask->t, 1);
}

static void apply_tensor(walk *w, st_tensor *t) {
  st_scalar s;
  if (st_tensor_ndim(t) > 0 || !(is_integral(t) || is_mask(t))) {
    add_index(w, t, is_mask(t) ? st_tensor_ndim(t) : 1);
    return;
  }
  st__access_elements(w->h, w->L, "index");
  const st_status status = st_tensor_get(t, 0, NULL, &s);
  if (status != ST_OK) st__raise(w->h, w->L, status);
  if (is_mask(t)) {
    apply_bool(w, s.u.i != 0);                /* [+1] */
    return;
  }
  if (!st__index_to_c(ST_TYPE_INDEX, &s.u.i)) {
    st__error(w->h, w->L, ST_BAD_INDEX, "index: index 0 is out of range, "
              "since indices count from 1");
  }
  apply_index(w, s.u.i);
}

static void apply_item(walk *w, const st__item *item, int rest) {
  switch (item->kind) {
    case ST_ITEM_INDEX: apply_index(w, item->a); break;
    case ST_ITEM_RANGE: apply_range(w, item); break;
    case ST_ITEM_ELLIPSIS: w->dim += rest; break;
    case ST_ITEM_TENSOR: apply_tensor(w, item->tensor); break;
    case ST_ITEM_BOOL: apply_bool(w, item->a != 0); break;
    case ST_ITEM_NEWAXIS:
      apply_newaxis(w);
      w->dim++;
  }
}

static bool is_whole(const st__item *item) {
  return item->kind == ST_ITEM_RANGE && item->a == 0 &&
         item->b == INT64_MAX && item->step == 1;
}

/* True if the items of a string are indices in range and ranges. */
static bool are_in_range(const st_tensor *t, const st__item *items, int n) {
  if (n > st_tensor_ndim(t)) return false;
  for (int k = 0; k < n; k++) {
    const int64_t size = st_tensor_sizes(t)[k], a = items[k].a;
    const bool is_range = items[k].kind == ST_ITEM_RANGE;
    if (!is_range && items[k].kind != ST_ITEM_INDEX) return false;
    if ((!is_range || items[k].is_exact) && (a >= size || a < -size)) {
      return false;
    }
  }
  return true;
}

/* Reads items that need no tensor; returns their number, 0 for others. */
static int read_in_range(walk *w, const st_tensor *t, int idx,
                         st__item *items) {
  const int type = lua_type(w->L, idx);
  if (type == LUA_TTABLE) return st__parse_in_range(w->L, idx, t, items);
  if (type != LUA_TSTRING) return 0;
  const int n = st__parse_subscript(w->h, w->L, idx, items);
  return are_in_range(t, items, n) ? n : 0;
}

/* The most frequent subscripts: a list or a string of indices in range and of
 * ranges. Returns false and does nothing for everything else. */
static bool walk_in_range(walk *w, st_tensor *t, int idx) {
  st__item items[ST_MAX_ITEMS];
  int dim = 0, wholes = 0;
  if (!w->h->has_shortcuts || w->h->recorder || st_tensor_is_symbol(t)) {
    return false;
  }
  st__check_room(w->L);
  const int n = read_in_range(w, t, idx, items);
  while (wholes < n && is_whole(&items[wholes])) wholes++;
  if (wholes == n) return false;
  w->ud = st__new_tensor_ud(w->h, w->L);              /* [+1] */
  w->slot = lua_gettop(w->L);
  for (int k = 0; k < n; k++) {
    const st__item *item = &items[k];
    const bool is_index = item->kind == ST_ITEM_INDEX;
    const st_handle op = is_index ? ST_HANDLE_SELECT : ST_HANDLE_SLICE;
    st_tensor *from = w->ud->t ? w->ud->t : t;
    const int ndim = st_tensor_ndim(from) - is_index;
    const st_value args[] = {
      st__tensor_arg(from), st__int_arg(dim), st__int_arg(item->a),
      st__int_arg(item->b), st__int_arg(item->step)};
    dim += !is_index;
    if (is_whole(item)) continue;
    st__call_into(w->h, w->L, op, is_index ? 3 : 5, args, w->ud);
    check_ndim(w->h, w->L, op, w->ud->t, ndim);
  }
  w->is_same = false;
  return true;
}

/* Applies the subscript at idx to t, the tensor in argument 1. Pushes the view
 * and the userdata that own its index tensors. */
static void walk_subscript(walk *w, st_tensor *t, int idx) {
  st__item items[ST_MAX_ITEMS];
  if (walk_in_range(w, t, idx)) return;
  memset(w->index, 0, sizeof w->index);
  luaL_checkstack(w->L, 2 * ST_MAX_ITEMS + LUA_MINSTACK, NULL);
  w->ud = st__push_tensor(w->h, w->L, t);             /* [+1] */
  w->slot = lua_gettop(w->L);
  const int n = st__parse_subscript(w->h, w->L, idx, items); /* [+tensors] */
  const int rest = check_width(w, items, n);
  for (int k = 0; k < n; k++) {
    apply_item(w, &items[k], rest);
    w->origin += items[k].kind == ST_ITEM_ELLIPSIS ? rest : width(&items[k]);
  }
}

/* The rest is set when an item needs it. */
static void begin(walk *w, st__state *h, lua_State *L) {
  w->h = h;
  w->L = L;
  w->dim = w->origin = w->nindices = 0;
  w->is_same = true;
}

/* -- Advanced indexing ---------------------------------------------------- */

/* Calls op with the view, the index tensors, args[2] .. args[n - 1], the
 * defaults, and base = 1, since index tensors are 1-based. */
static st_status run_indexed(walk *w, st_handle handle, int n, st_value *args,
                             st_value *ret) {
  const st_op *op = w->h->op[handle];
  if (!op) return st_fail(ST_NOT_FOUND, "indexing by tensors is unavailable");
  st_tensor *list[ST_MAX_DIMS];
  const int ndim = st_tensor_ndim(w->ud->t);
  int len = 0, end = 0;
  for (int d = 0; d < ndim; d += w->index[d] ? w->width[d] : 1) {
    list[len++] = w->index[d];
    if (w->index[d]) end = len;
  }
  args[0] = st__tensor_arg(w->ud->t);
  args[1] = (st_value){.tag = ST_TAG_TENSORS, .len = (uint32_t)end,
                       .u.tensors = list};
  const st_arg *a;
  int i = n;
  for (; (a = st_op_arg(op, i)); i++) {
    args[i] = strcmp(a->name, "base") == 0 ? st__int_arg(1)
                                           : a->default_value;
  }
  return st__run(w->h, w->L, &(st__request){.op = op, .n = i, .args = args,
                                            .rets = ret});
}

/* -- Reading -------------------------------------------------------------- */

/* Pushes the element t[i] of a 1-d tensor as a Lua value. [+1] */
static int push_element(st__state *h, lua_State *L, const st_tensor *t,
                        int64_t i) {
  const int64_t size = st_tensor_sizes(t)[0], given = i;
  st_scalar s;
  if (!st__index_to_c(ST_TYPE_INDEX, &i) || i >= size || i < -size) {
    return st__error(h, L, ST_BAD_INDEX, "index: index %" PRId64 " is out of "
                     "range for a tensor of size %" PRId64 "%s", given, size,
                     given == 0 ? ", since indices count from 1"
                     : given == size + 1 ? LOOP_HINT : "");
  }
  if (i < 0) i += size;
  st__access_elements(h, L, "index");
  const st_status status = st_tensor_get(t, 1, &i, &s);
  if (status != ST_OK) return st__raise(h, L, status);
  st__push_scalar(h, L, s); /* [+1] */
  return 1 + st__check_lost(h, L, 1, "index");
}

/* Gives the view at stack index `slot` the keepalive environment of self, which
 * is argument 1. */
static void inherit(st__state *h, lua_State *L, int slot,
                    const st__tensor_ud *self, const st_tensor *view) {
  if (!self->slot || st_tensor_requires_grad(view)) {
    st__env_inherit_from(h, L, slot, 1, false);
  }
}

/* The common case t[i] of a valid index i: one view, along the first
 * dimension. */
static int push_row(st__state *h, lua_State *L, const st__tensor_ud *self,
                    int64_t i, int ndim) {
  const st_value args[] = {st__tensor_arg(self->t), st__int_arg(0),
                           st__int_arg(i > 0 ? i - 1 : i)};
  st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
  st__call_into(h, L, ST_HANDLE_SELECT, 3, args, ud);
  check_ndim(h, L, ST_HANDLE_SELECT, ud->t, ndim - 1);
  inherit(h, L, lua_gettop(L), self, ud->t);
  return 1;
}

static int push_subscript(st__state *h, lua_State *L, st_tensor *t) {
  walk w;
  st_value args[ST_MAX_ARGS], ret;
  begin(&w, h, L);
  walk_subscript(&w, t, 2);                    /* [+n] */
  if (w.nindices) {
    const st_status status = run_indexed(&w, ST_HANDLE_INDEX, 2, args, &ret);
    if (status != ST_OK) return st__raise(w.h, L, status);
    st_tensor_release(&w.ud->t);
    w.ud->t = ret.u.tensor;
    st__gc_charge(h, w.ud, st__memory_of(ret.u.tensor));
  } else if (w.is_same) {
    args[0] = st__tensor_arg(w.ud->t);
    apply(&w, ST_HANDLE_ALIAS, 1, args, 0);
  }
  inherit(w.h, L, w.slot, lua_touserdata(L, 1), w.ud->t);
  lua_pushvalue(L, w.slot);                    /* [+1] */
  return 1 + st__check_lost(h, L, 1, "index");
}

/* The most frequent subscripts: t[i] of a number i that is a valid index.
 * Returns the number of results, 0 for everything else. */
static int push_at_number(st__state *h, lua_State *L) {
  const double number = lua_tonumber(L, 2);
  const st__tensor_ud *self = st__to_tensor_ud(h, L, 1);
  const st_tensor *t = self ? self->t : NULL;
  if (!t || h->recorder || st_tensor_is_symbol(t) || !(number < 0x1p53) ||
      !(number > -0x1p53)) {
    return 0;
  }
  const int ndim = st_tensor_ndim(t);
  const int64_t i = (int64_t)number;
  const int64_t size = ndim > 0 ? st_tensor_sizes(t)[0] : 0;
  if ((double)i != number || i == 0 || i < -size || i > size) return 0;
  const bool is_number = ndim == 1 && !st__records_element(h, t);
  return is_number ? push_element(h, L, t, i) : push_row(h, L, self, i, ndim);
}

/* True if the string at idx is an identifier, so not a subscript. */
static bool is_name(lua_State *L, int idx) {
  const char *s = lua_tostring(L, idx);
  if (!isalpha((unsigned char)*s) && *s != '_') return false;
  if (strcmp(s, "newaxis") == 0 || strcmp(s, "None") == 0) return false;
  while (isalnum((unsigned char)*s) || *s == '_') s++;
  return !*s;
}

/* index(t, key): a method that is not cached yet, or a subscript */
static int tensor_index(lua_State *L) {
  st__state *h = st__state_of(L);
  const int type = lua_type(L, 2);
  const int n = type == LUA_TNUMBER ? push_at_number(h, L) : 0;
  if (n) return n;
  lua_settop(L, 2);
  if (type == LUA_TSTRING && is_name(L, 2)) {
    const char *name = lua_tostring(L, 2);
    if (st__push_named(h, L, name, true)) {         /* [+1] */
      lua_pushvalue(L, 2);                          /* [+1] */
      lua_pushvalue(L, -2);                         /* [+1] */
      lua_rawset(L, lua_upvalueindex(2));           /* [-2] */
    }
    return 1;
  }
  int64_t i;
  st_tensor *t = st__check_tensor(h, L, 1, "self");
  if (st_tensor_ndim(t) == 1 && type != LUA_TBOOLEAN && type != LUA_TTABLE &&
      type != LUA_TSTRING && st__to_int(h, L, 2, &i) &&
      !st__records_element(h, t)) {
    return push_element(h, L, t, i);
  }
  return push_subscript(h, L, t);
}

/* -- Writing -------------------------------------------------------------- */

/* Converts the number in argument 3 for dtype d: Note [Negative zero]. */
static bool to_element(st__state *h, lua_State *L, st_dtype d, st_scalar *s) {
  if (!st__to_scalar(h, L, 3, s)) return false;
  if (!st_dtype_is_integer(d) && lua_type(L, 3) == LUA_TNUMBER &&
      s->kind == ST_SCALAR_INT && s->u.i == 0) {
    *s = (st_scalar){ST_SCALAR_FLOAT, {.f = lua_tonumber(L, 3)}};
  }
  return true;
}

/* True if elements may be written without an operator call. A tensor with
 * gradients, a view of one and an inference tensor need the call, which records
 * or refuses the write and updates the version. */
static bool may_be_written(const st_tensor *t) {
  const st_tensor *base = st_tensor_base(t);
  return !st_tensor_requires_grad(t) && !st_tensor_is_inference(t) &&
         !(base && st_tensor_requires_grad(base));
}

static const int64_t EXACT = (int64_t)1 << 53; /* integers of a double */

/* Reads one valid index per dimension of t from argument 2. */
static bool read_position(st__state *h, lua_State *L, const st_tensor *t,
                          int64_t *at) {
  const int ndim = st_tensor_ndim(t);
  st__item items[ST_MAX_DIMS];
  if (ndim == 1 && lua_type(L, 2) == LUA_TNUMBER) {
    if (!st__to_int(h, L, 2, at) || !st__index_to_c(ST_TYPE_INDEX, at)) {
      return false;
    }
  } else {
    const st_value args[] = {st__tensor_arg((st_tensor *)(uintptr_t)t),
                             st__int_arg(0)};
    const bool is_direct = st_dtype_is_subbyte(st_tensor_dtype(t)) ||
                           st__is_shortcut(h, ST_HANDLE_FILL, 2, args);
    if (!lua_istable(L, 2) || !is_direct ||
        st__parse_in_range(L, 2, t, items) != ndim) {
      return false;
    }
    for (int d = 0; d < ndim; d++) {
      if (items[d].kind != ST_ITEM_INDEX) return false;
      at[d] = items[d].a;
    }
  }
  for (int d = 0; d < ndim; d++) {
    const int64_t size = st_tensor_sizes(t)[d];
    if (at[d] >= size || at[d] < -size) return false;
    if (at[d] < 0) at[d] += size;
  }
  return true;
}

/* Fast path: stores a number in an element of a dtype that represents it.
 * False if the general path is needed. */
static bool set_at(st__state *h, lua_State *L, st_tensor *t) {
  int64_t at[ST_MAX_DIMS];
  st_scalar s;
  const int ndim = st_tensor_ndim(t);
  if (ndim == 0 || lua_type(L, 3) != LUA_TNUMBER || h->recorder) return false;
  const st_dtype d = st_tensor_dtype(t);
  to_element(h, L, d, &s);
  if (d != ST_FLOAT32 && d != ST_FLOAT64 && !st_dtype_is_subbyte(d) &&
      !(d == ST_INT64 && s.kind == ST_SCALAR_INT)) {
    return false;
  }
  if (d == ST_FLOAT32 && s.kind == ST_SCALAR_INT) { /* rounded once only */
    if (s.u.i > EXACT || s.u.i < -EXACT) return false;
    s = (st_scalar){ST_SCALAR_FLOAT, {.f = (double)s.u.i}};
  }
  if (!may_be_written(t) || !read_position(h, L, t, at)) return false;
  const st_status status = st_tensor_set(t, ndim, at, s);
  /* there is no view of an element in the middle of a byte */
  if (status != ST_OK && st_dtype_is_subbyte(d)) st__raise(h, L, status);
  return status == ST_OK;
}

/* Pushes the value in argument 3 as a tensor for a target of dtype, without
 * leading dimensions of size 1. [+1] */
static st_tensor *push_source(st__state *h, lua_State *L, st_dtype dtype) {
  st_scalar s;
  st_tensor *t = st__to_tensor(h, L, 3);
  if (lua_istable(L, 3)) {
    return st__tensor_from(h, L, 3, dtype, ST_DEVICE_CPU)->t; /* [+1] */
  }
  if (!t && to_element(h, L, dtype, &s)) {
    st__tensor_ud *ud = st__new_tensor_ud(h, L);              /* [+1] */
    const st_status status = st_tensor_scalar(s, dtype, false, &ud->t);
    if (status != ST_OK) st__raise(h, L, status);
    return ud->t;
  }
  if (!t) {
    st__error(h, L, ST_BAD_TYPE, "index: cannot assign a %s: the value must "
              "be a number, a boolean, a table of these, or a Tensor",
              st__type_name(h, L, 3));
  }
  st__tensor_ud *ud = st__push_tensor(h, L, t);               /* [+1] */
  while (st_tensor_ndim(ud->t) > 0 && st_tensor_sizes(ud->t)[0] == 1) {
    const st_value args[] = {st__tensor_arg(ud->t), st__int_arg(0),
                             st__int_arg(0)};
    st__call_into(h, L, ST_HANDLE_SELECT, 3, args, ud);
  }
  return ud->t;
}

/* The tensor in argument 1 may now have a history from that in argument 3: it
 * inherits its environment. The handler of a warning may free both. */
static int finish_assignment(st__state *h, lua_State *L, st_dtype d) {
  const st_tensor *t = st__to_tensor(h, L, 1);
  st_scalar s;
  if (t && st_tensor_requires_grad(t)) st__env_inherit_from(h, L, 1, 3, true);
  const bool is_float = st__to_scalar(h, L, 3, &s) &&
                        s.kind == ST_SCALAR_FLOAT;
  if (is_float && st__is_cut(s.u.f, d)) st__warn_cut(h, L, "index", s.u.f, d);
  return st__check_lost(h, L, 1, "index");
}

static int assign_indexed(walk *w) {
  st_value args[ST_MAX_ARGS], ret;
  const st_dtype dtype = st_tensor_dtype(w->ud->t);
  args[2] = st__tensor_arg(push_source(w->h, w->L, dtype)); /* [+1] */
  const st_status status = run_indexed(w, ST_HANDLE_INDEX_PUT, 3, args, &ret);
  if (status != ST_OK) return st__raise(w->h, w->L, status);
  st_value_clear(&ret);
  return finish_assignment(w->h, w->L, dtype);
}

/* __newindex(t, key, value) */
static int tensor_newindex(lua_State *L) {
  walk w;
  st_scalar s;
  st_value args[2];
  begin(&w, st__state_of(L), L);
  lua_settop(L, 3);
  st_tensor *t = st__check_tensor(w.h, L, 1, "self");
  if (set_at(w.h, L, t)) {
    const st_dtype d = st_tensor_dtype(t);
    return st_dtype_is_subbyte(d) ? finish_assignment(w.h, L, d)
                                  : st__check_lost(w.h, L, 1, "index");
  }
  if (lua_type(L, 2) == LUA_TSTRING && is_name(L, 2)) {
    if (w.h->set_property(w.h, L, lua_tostring(L, 2))) return 0;
    return st__refuse_property(w.h, L, lua_tostring(L, 2));
  }
  walk_subscript(&w, t, 2);                           /* [+n] */
  if (w.nindices) return assign_indexed(&w);
  args[0] = st__tensor_arg(w.ud->t);
  const st_dtype d = st_tensor_dtype(w.ud->t);
  if (to_element(w.h, L, d, &s)) {
    args[1] = st__scalar_arg(&s);
    st__call_for(w.h, L, ST_HANDLE_FILL, 2, args);
  } else {
    args[1] = st__tensor_arg(push_source(w.h, L, d));
    st__call_for(w.h, L, ST_HANDLE_COPY, 2, args);
  }
  return finish_assignment(w.h, L, d);
}

/* -- Opening -------------------------------------------------------------- */

/* set_index(fn, shown): sets __index of tensors to fn, a Lua function around
 * index, and __metatable, the result of getmetatable(t), to shown */
static int set_index(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TTABLE);
  st__push_meta(st__state_of(L), L, ST_UD_TENSOR); /* [+1] */
  lua_pushvalue(L, 1);                             /* [+1] */
  lua_setfield(L, -2, "__index");                  /* [-1] */
  lua_pushvalue(L, 2);                             /* [+1] */
  lua_setfield(L, -2, "__metatable");              /* [-1] */
  return 0;
}

/* The second upvalue of index is the table of methods. */
void st__open_subscript(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"set_index", set_index}, {NULL, NULL}};
  st__set_functions(h, L, functions);
  lua_pushlightuserdata(L, h);               /* [+1] */
  lua_getfield(L, -2, "methods");            /* [+1] */
  lua_pushcclosure(L, tensor_index, 2);      /* [-2, +1] */
  lua_setfield(L, -2, "index");              /* [-1] */
  st__push_meta(h, L, ST_UD_TENSOR);         /* [+1] */
  lua_pushlightuserdata(L, h);               /* [+1] */
  lua_pushcclosure(L, tensor_newindex, 1);   /* [-1, +1] */
  lua_setfield(L, -2, "__newindex");         /* [-1] */
  lua_pop(L, 1);                             /* [-1] */
}
