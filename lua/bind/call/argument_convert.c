/* Converts a Lua value to an argument of a schema. A mismatch does not raise,
 * since another overload may accept the value; its reason goes to f->why.
 * The engine does not check what was converted (st_call_converted).
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "call/call.h"

/* -- Indices -------------------------------------------------------------- */

int64_t st__index_to_lua(st_type type, int64_t i) {
  switch (type) {
    case ST_TYPE_DIM: case ST_TYPE_INDEX:
      return i >= 0 && i < INT64_MAX ? i + 1 : i;
    case ST_TYPE_END:
      return i == INT64_MAX ? -1 : i < 0 && i > INT64_MIN ? i - 1 : i;
    default: return i;
  }
}

/* -- Reasons -------------------------------------------------------------- */

__attribute__((format(printf, 3, 4)))
static bool mismatch(st__frame *f, const st_arg *a, const char *format, ...) {
  va_list args;
  if (!f->why) return false;
  *f->why = (st__reason){.kind = ST_REASON_OTHER};
  snprintf(f->why->name, sizeof f->why->name, "%s", a->name);
  va_start(args, format);
  vsnprintf(f->why->text, sizeof f->why->text, format, args);
  va_end(args);
  return false;
}

static bool wrong_type(st__frame *f, const st_arg *a, int idx) {
  st__set_reason(f, a, idx);
  return false;
}

static bool wrong_element(st__frame *f, const st_arg *a, int k) {
  char want[128], got[96];
  if (f->why) {
    st__arg_type_text(a, want, sizeof want);
    st__describe_value(f->h, f->L, -1, got, sizeof got);
    mismatch(f, a, "argument '%s' must be %s, element %d is %s", a->name, want,
             k, got);
  }
  lua_pop(f->L, 1); /* [-1] */
  return false;
}

static bool zero_index(st__frame *f, const st_arg *a) {
  return mismatch(f, a, "argument '%s' is 0, but %s count from 1", a->name,
                  a->type == ST_TYPE_DIM ? "dimensions" : "indices");
}

/* -- Single values -------------------------------------------------------- */

st_value st__scalar_arg(const st_scalar *s) {
  switch (s->kind) {
    case ST_SCALAR_BOOL: return (st_value){.tag = ST_TAG_BOOL, .u.i = s->u.i};
    case ST_SCALAR_INT: return st__int_arg(s->u.i);
    case ST_SCALAR_UINT: return (st_value){.tag = ST_TAG_UINT, .u.u = s->u.u};
    case ST_SCALAR_FLOAT:
      return (st_value){.tag = ST_TAG_FLOAT, .u.f = s->u.f};
    default:
      return (st_value){.tag = ST_TAG_COMPLEX, .u.pair = s->u.c};
  }
}

static bool to_tensor(st__frame *f, int i, const st_arg *a, int idx) {
  st_tensor *t = st__to_tensor(f->h, f->L, idx);
  if (t) {
    f->ntensors++;
    f->args[i] = st__tensor_arg(t);
    return true;
  }
  int at = -1; /* of a symbolic scalar */
  if (!st__to_scalar(f->h, f->L, idx, &f->scalar[i]) &&
      !st__to_sym_scalar(f->h, f->L, idx, &at, &f->scalar[i])) {
    return wrong_type(f, a, idx);
  }
  if (!f->allow_wrap || a->is_write) {
    f->needs_wrap |= !a->is_write;
    return wrong_type(f, a, idx);
  }
  f->args[i] = st__scalar_arg(&f->scalar[i]);
  f->args[i].len = (uint32_t)(at + 1);
  f->has_minus_zero |= st__is_minus_zero(f->L, idx);
  f->wrap[f->nwraps++] = (uint8_t)i;
  return true;
}

/* Converts the name of a reduction for an argument `int reduction`. ORDER
 * REDUCTION: core/op/loss/loss.h */
static bool to_reduction(st__frame *f, const st_arg *a, int idx,
                         int64_t *n) {
  static const char *const names[] = {"none", "mean", "sum"};
  if (a->type != ST_TYPE_INT || strcmp(a->name, "reduction") != 0) {
    return wrong_type(f, a, idx);
  }
  for (*n = 0; *n < 3; ++*n) {
    if (strcmp(lua_tostring(f->L, idx), names[*n]) == 0) return true;
  }
  return mismatch(f, a, "argument 'reduction' must be 'none', 'mean' or 'sum', "
                  "got '%.40s'", lua_tostring(f->L, idx));
}

void st__fit_scalar(st_type type, st_scalar *s) {
  if (type == ST_TYPE_FLOAT && st__is_whole(s)) {
    *s = (st_scalar){ST_SCALAR_FLOAT, {.f = st__whole_to_double(s)}};
  }
}

/* A symbolic scalar of a trace. The value's len is its index plus one. */
static bool to_sym_scalar(st__frame *f, int i, const st_arg *a, int idx) {
  st_scalar *s = &f->scalar[i];
  int at;
  if (!st__to_sym_scalar(f->h, f->L, idx, &at, s)) return wrong_type(f, a, idx);
  st__fit_scalar(a->type, s);
  const bool fits = a->type == ST_TYPE_SCALAR ||
    (a->type == ST_TYPE_FLOAT && s->kind == ST_SCALAR_FLOAT) ||
    (a->type == ST_TYPE_INT && s->kind == ST_SCALAR_INT) ||
    (a->type == ST_TYPE_BOOL && s->kind == ST_SCALAR_BOOL);
  if (!fits) return wrong_type(f, a, idx);
  f->args[i] = st__scalar_arg(s);
  f->args[i].len = (uint32_t)at + 1;
  return true;
}

static bool to_integer(st__frame *f, int i, const st_arg *a, int idx) {
  int64_t n;
  if (lua_type(f->L, idx) == LUA_TSTRING) {
    if (!to_reduction(f, a, idx, &n)) return false;
  } else {
    if (!st__to_int(f->h, f->L, idx, &n)) return to_sym_scalar(f, i, a, idx);
    if (!st__index_to_c(a->type, &n)) return zero_index(f, a);
  }
  f->args[i] = st__int_arg(n);
  return true;
}

/* float, Scalar and complex; the frame stores the scalar. */
static bool to_number(st__frame *f, int i, const st_arg *a, int idx) {
  st_scalar *s = &f->scalar[i];
  if (!st__to_scalar(f->h, f->L, idx, s)) return to_sym_scalar(f, i, a, idx);
  if (a->type != ST_TYPE_SCALAR && s->kind == ST_SCALAR_BOOL) {
    return wrong_type(f, a, idx);
  }
  if (a->type == ST_TYPE_FLOAT && s->kind == ST_SCALAR_COMPLEX) {
    return wrong_type(f, a, idx);
  }
  if (st__is_minus_zero(f->L, idx)) {
    f->has_minus_zero |= a->type == ST_TYPE_SCALAR;
    if (a->type == ST_TYPE_FLOAT) *s = st__minus_zero;
  }
  st__fit_scalar(a->type, s);
  f->args[i] = st__scalar_arg(s);
  return true;
}

static bool to_text(st__frame *f, int i, const st_arg *a, int idx) {
  size_t n;
  if (lua_type(f->L, idx) != LUA_TSTRING) return wrong_type(f, a, idx);
  const char *text = lua_tolstring(f->L, idx, &n);
  f->args[i] = (st_value){.tag = ST_TAG_STRING, .len = (uint32_t)n,
                          .u.string = text};
  return true;
}

bool st__to_enum(lua_State *L, st_type type, int idx, int64_t *n) {
  st_dtype dtype;
  st_format format;
  st_device device;
  st_layout layout;
  *n = 0;
  switch (type) {
    case ST_TYPE_DTYPE:
      if (!st__to_dtype(L, idx, &dtype)) return false;
      *n = dtype;
      return true;
    case ST_TYPE_FORMAT:
      if (!st__to_format(L, idx, &format)) return false;
      *n = format;
      return true;
    case ST_TYPE_DEVICE:
      if (!st__to_device(L, idx, &device)) return false;
      *n = device;
      return true;
    default:
      if (lua_type(L, idx) != LUA_TSTRING ||
          !st_layout_parse(lua_tostring(L, idx), &layout)) {
        return false;
      }
      *n = layout;
      return true;
  }
}

static bool to_enum(st__frame *f, int i, const st_arg *a, int idx) {
  int64_t n;
  const bool ok = st__to_enum(f->L, a->type, idx, &n);
  f->args[i] = st__int_arg(n);
  return ok || wrong_type(f, a, idx);
}

static bool to_generator(st__frame *f, int i, const st_arg *a, int idx) {
  st_generator **g = st__testudata(f->h, f->L, idx, ST_UD_GENERATOR);
  if (!g) return wrong_type(f, a, idx);
  if (!*g) {
    return st__error(f->h, f->L, ST_BAD_VALUE, "%s: argument '%s': the "
                     "Generator has no data",
                     st__short_name(st_op_name(f->op)), a->name);
  }
  f->args[i] = (st_value){.tag = ST_TAG_GENERATOR, .u.generator = *g};
  return true;
}

static bool convert_one(st__frame *f, int i, const st_arg *a, int idx) {
  switch (a->type) {
    case ST_TYPE_TENSOR: return to_tensor(f, i, a, idx);
    case ST_TYPE_INT: case ST_TYPE_DIM: case ST_TYPE_INDEX: case ST_TYPE_END:
      return to_integer(f, i, a, idx);
    case ST_TYPE_FLOAT: case ST_TYPE_SCALAR: case ST_TYPE_COMPLEX:
      return to_number(f, i, a, idx);
    case ST_TYPE_BOOL:
      if (!lua_isboolean(f->L, idx)) return to_sym_scalar(f, i, a, idx);
      f->args[i] = (st_value){.tag = ST_TAG_BOOL,
                              .u.i = lua_toboolean(f->L, idx)};
      return true;
    case ST_TYPE_STRING: return to_text(f, i, a, idx);
    case ST_TYPE_DTYPE: case ST_TYPE_LAYOUT: case ST_TYPE_FORMAT:
    case ST_TYPE_DEVICE:
      return to_enum(f, i, a, idx);
    case ST_TYPE_GENERATOR: return to_generator(f, i, a, idx);
    default:
      return mismatch(f, a, "argument '%s' is a %s, which Lua cannot pass",
                      a->name, a->text);
  }
}

/* -- Lists ---------------------------------------------------------------- */

/* Allocates n elements of 8 bytes, valid until the call returns. [+0|1] */
static void *list_room(st__frame *f, int n) {
  if (f->nslots + n > ST_FRAME_SLOTS) {
    return lua_newuserdata(f->L, (size_t)n * sizeof *f->slots); /* [+1] */
  }
  void *p = f->slots + f->nslots;
  f->nslots += n;
  return p;
}

static bool list_of_ints(st__frame *f, int i, const st_arg *a, int idx,
                         int n) {
  int64_t *p = list_room(f, n);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(f->L, idx, k + 1); /* [+1] */
    if (!st__to_int(f->h, f->L, -1, &p[k])) {
      return wrong_element(f, a, k + 1);
    }
    lua_pop(f->L, 1);              /* [-1] */
    if (!st__index_to_c(a->type, &p[k])) return zero_index(f, a);
  }
  f->args[i] = (st_value){.tag = ST_TAG_INTS, .len = (uint32_t)n, .u.ints = p};
  return true;
}

static bool list_of_floats(st__frame *f, int i, const st_arg *a, int idx,
                           int n) {
  double *p = list_room(f, n);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(f->L, idx, k + 1); /* [+1] */
    if (!st__to_double(f->h, f->L, -1, &p[k])) {
      return wrong_element(f, a, k + 1);
    }
    lua_pop(f->L, 1);              /* [-1] */
  }
  f->args[i] = (st_value){.tag = ST_TAG_FLOATS, .len = (uint32_t)n,
                          .u.floats = p};
  return true;
}

static bool list_of_bools(st__frame *f, int i, const st_arg *a, int idx,
                          int n) {
  bool *p = list_room(f, n);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(f->L, idx, k + 1); /* [+1] */
    if (!lua_isboolean(f->L, -1)) return wrong_element(f, a, k + 1);
    p[k] = lua_toboolean(f->L, -1);
    lua_pop(f->L, 1);              /* [-1] */
  }
  f->args[i] = (st_value){.tag = ST_TAG_BOOLS, .len = (uint32_t)n,
                          .u.bools = p};
  return true;
}

/* A copy of the table keeps the tensors alive, because a Lua kernel may change
 * the original during the call. [+1] */
static bool list_of_tensors(st__frame *f, int i, const st_arg *a, int idx,
                            int n) {
  lua_State *L = f->L;
  lua_createtable(L, n, 0);     /* [+1] */
  const int kept = lua_gettop(L);
  st_tensor **p = list_room(f, n);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, idx, k + 1); /* [+1] */
    p[k] = st__to_tensor(f->h, L, -1);
    if (!p[k] && !(a->elem_optional &&
                   st__is_sentinel(f->h, L, -1, ST_SENTINEL_NONE))) {
      return wrong_element(f, a, k + 1);
    }
    lua_rawseti(L, kept, k + 1); /* [-1] */
    f->ntensors += p[k] != NULL;
  }
  f->args[i] = (st_value){.tag = ST_TAG_TENSORS, .len = (uint32_t)n,
                          .u.tensors = p};
  return true;
}

static bool is_integer_type(st_type t) {
  return t == ST_TYPE_INT || t == ST_TYPE_DIM || t == ST_TYPE_INDEX ||
         t == ST_TYPE_END;
}

bool st__is_number(st__frame *f, int idx) {
  int64_t n;
  return st__to_int(f->h, f->L, idx, &n);
}

bool st__convert_gathered(st__frame *f, int i, const st_arg *a, int idx,
                          int n) {
  int64_t *p = list_room(f, n);
  for (int k = 0; k < n; k++) {
    if (!st__to_int(f->h, f->L, idx + k, &p[k])) {
      return wrong_type(f, a, idx + k);
    }
    if (!st__index_to_c(a->type, &p[k])) return zero_index(f, a);
  }
  f->args[i] = (st_value){.tag = ST_TAG_INTS, .len = (uint32_t)n, .u.ints = p};
  return true;
}

/* A single value is a list of one element for int[N], float[N] and bool[N]. */
static bool convert_single(st__frame *f, int i, const st_arg *a, int idx) {
  double *d;
  bool *b;
  if (is_integer_type(a->type) && st__is_number(f, idx)) {
    return st__convert_gathered(f, i, a, idx, 1);
  }
  if (a->type == ST_TYPE_FLOAT && lua_type(f->L, idx) == LUA_TNUMBER) {
    d = list_room(f, 1);
    *d = lua_tonumber(f->L, idx);
    f->args[i] = (st_value){.tag = ST_TAG_FLOATS, .len = 1, .u.floats = d};
    return true;
  }
  if (a->type == ST_TYPE_BOOL && lua_isboolean(f->L, idx)) {
    b = list_room(f, 1);
    *b = lua_toboolean(f->L, idx);
    f->args[i] = (st_value){.tag = ST_TAG_BOOLS, .len = 1, .u.bools = b};
    return true;
  }
  return wrong_type(f, a, idx);
}

static bool other_keys(st__frame *f, const st_arg *a) {
  char want[128];
  st__arg_type_text(a, want, sizeof want);
  return mismatch(f, a, "argument '%s' must be %s, got a table with other "
                  "keys; keywords go into the last argument", a->name, want);
}

static bool convert_list(st__frame *f, int i, const st_arg *a, int idx) {
  if (lua_type(f->L, idx) != LUA_TTABLE) {
    const bool is_keyword = f->keywords && idx > f->keywords; /* dims = 1 */
    return a->list_size > 0 || (is_keyword && is_integer_type(a->type))
           ? convert_single(f, i, a, idx) : wrong_type(f, a, idx);
  }
  const size_t size = lua_objlen(f->L, idx);
  if (size > INT32_MAX) return wrong_type(f, a, idx);
  if (idx != f->keywords && st__table_parts(f->L, idx) > ST_PART_LIST) {
    return other_keys(f, a);
  }
  const int n = (int)size;
  switch (a->type) {
    case ST_TYPE_TENSOR: return list_of_tensors(f, i, a, idx, n);
    case ST_TYPE_INT: case ST_TYPE_DIM: case ST_TYPE_INDEX: case ST_TYPE_END:
      return list_of_ints(f, i, a, idx, n);
    case ST_TYPE_FLOAT: case ST_TYPE_SCALAR:
      return list_of_floats(f, i, a, idx, n);
    case ST_TYPE_BOOL: return list_of_bools(f, i, a, idx, n);
    default:
      return mismatch(f, a, "argument '%s' is a %s, which Lua cannot pass",
                      a->name, a->text);
  }
}

bool st__convert(st__frame *f, int i, const st_arg *a, int idx) {
  if (a->optional && st__is_sentinel(f->h, f->L, idx, ST_SENTINEL_NONE)) {
    f->args[i] = (st_value){.tag = ST_TAG_NONE};
    return true;
  }
  return a->list ? convert_list(f, i, a, idx) : convert_one(f, i, a, idx);
}

/* -- Negative zeros ------------------------------------------------------- */

static bool is_floating_tensor(const st_tensor *t) {
  return t && st__has_fractions(st_tensor_dtype(t));
}

/* True if a number without a dtype has the default one, which is floating. */
static bool has_default_dtype(const st__frame *f) {
  return strcmp(st_op_name(f->op), "aten::scalar_tensor") == 0;
}

/* What the tensors and the dtype of the call are. */
typedef struct company { bool has_proxy, has_floating; } company;

static company company_of(const st__frame *f) {
  company c = {false, false};
  for (int i = 0; i < f->nargs; i++) {
    const st_value *v = &f->args[i];
    if (v->tag == ST_TAG_TENSOR) {
      c.has_proxy |= v->u.tensor && st_tensor_is_symbol(v->u.tensor);
      c.has_floating |= is_floating_tensor(v->u.tensor);
    } else if (f->schema[i].type == ST_TYPE_DTYPE) {
      c.has_floating |= v->tag == ST_TAG_INT
                        ? st__has_fractions((st_dtype)v->u.i)
                        : has_default_dtype(f);
    }
    for (uint32_t k = 0; v->tag == ST_TAG_TENSORS && k < v->len; k++) {
      c.has_proxy |= v->u.tensors[k] && st_tensor_is_symbol(v->u.tensors[k]);
      c.has_floating |= is_floating_tensor(v->u.tensors[k]);
    }
  }
  return c;
}

void st__settle_zeros(st__frame *f) {
  const company c = company_of(f);
  if (!c.has_proxy && !c.has_floating) return;
  for (int i = 0; i < f->nargs; i++) {
    int at = -1;
    const bool is_number = f->source[i] && f->args[i].tag == ST_TAG_INT &&
                           (f->schema[i].type == ST_TYPE_SCALAR ||
                            f->schema[i].type == ST_TYPE_TENSOR);
    if (!is_number || !st__is_minus_zero(f->L, f->source[i])) continue;
    if (c.has_proxy) {
      const st_status status = st_tracing_number(f->h->tracing, 'z', 0, 0,
                                                 st__minus_zero, &at);
      if (status != ST_OK) st__raise(f->h, f->L, status);
    }
    f->scalar[i] = st__minus_zero;
    f->args[i] = st__scalar_arg(&f->scalar[i]);
    f->args[i].len = (uint32_t)(at + 1);
  }
}
