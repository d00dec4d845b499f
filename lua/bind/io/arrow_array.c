/* Arrow's C data interface: arrays of numbers and booleans, shared in both
 * directions with data frames of this process.
 *
 * Note [Arrow arrays]
 * An array is two structures that its consumer allocates and its producer
 * fills: a schema, with the dtype as a letter, and the buffers. Each has a
 * function that releases it once, on any thread; a structure whose function is
 * NULL has been released or moved. Importing moves the array into the tensor,
 * which releases it with its storage. Exported tensors are held by a DLPack
 * structure, which pins the storage. Booleans are bits in Arrow and bytes here,
 * so they are copied.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/io.h"

typedef struct arrow_schema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct arrow_schema **children, *dictionary;
  void (*release)(struct arrow_schema *);
  void *private_data;
} arrow_schema;

typedef struct arrow_array {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct arrow_array **children, *dictionary;
  void (*release)(struct arrow_array *);
  void *private_data;
} arrow_array;

/* -- Arguments ------------------------------------------------------------ */

/* The address at idx of a structure of `size` bytes. */
static void *check_struct(st__state *h, lua_State *L, int idx,
                          const char *name, const char *arg, size_t size) {
  st__address a;
  if (!st__to_address(h, L, idx, name, &a)) {
    st__error(h, L, ST_BAD_TYPE, "%s: argument '%s' must be an address, got %s",
              name, arg, st__type_name(h, L, idx));
  }
  if (!a.p) st__error(h, L, ST_BAD_VALUE, "%s: '%s' is NULL", name, arg);
  if (a.has_size && a.size < size) {
    st__error(h, L, ST_BAD_VALUE, "%s: '%s' has %zu bytes, not %zu", name, arg,
              a.size, size);
  }
  return a.p;
}

static bool bit_at(const uint8_t *bits, int64_t i) {
  return bits[i / 8] >> (i % 8) & 1;
}

/* -- Exporting ------------------------------------------------------------ */

typedef struct exported {
  struct DLManagedTensor *held; /* NULL for bits */
  const void *buffers[2];
  uint8_t bits[];
} exported;

static void release_schema(arrow_schema *s) { s->release = NULL; }

static void release_array(arrow_array *a) {
  exported *e = a->private_data;
  st_dlpack_release(&e->held);
  free(e);
  a->release = NULL;
}

/* The buffers for t: its elements, or a copy of n booleans as bits. */
static st_status export_buffers(st_tensor *t, int64_t n, exported **out) {
  const bool is_bool = st_tensor_dtype(t) == ST_BOOL;
  const size_t nbytes = is_bool ? (size_t)n / 8 + 1 : 0;
  exported *e = calloc(1, sizeof *e + nbytes);
  if (!e) return ST_NO_MEMORY;
  const st_status status = st_tensor_to_dlpack(t, &e->held);
  if (status != ST_OK) {
    free(e);
    return status;
  }
  const uint8_t *data = st_tensor_data(t);
  e->buffers[1] = data;
  if (is_bool) {
    for (int64_t i = 0; i < n; i++) {
      if (data[i]) e->bits[i / 8] |= (uint8_t)(1 << i % 8);
    }
    e->buffers[1] = e->bits;
    st_dlpack_release(&e->held);
  }
  *out = e;
  return ST_OK;
}

/* to_arrow(t, schema, array): fills the structures at two addresses */
static int to_arrow(lua_State *L) {
  st__state *h = st__state_of(L);
  st_tensor *t = st__check_tensor(h, L, 1, "self");
  st__access_elements(h, L, NULL);
  arrow_schema *schema = check_struct(h, L, 2, "to_arrow", "schema",
                                      sizeof *schema);
  arrow_array *array = check_struct(h, L, 3, "to_arrow", "array",
                                    sizeof *array);
  const st_dtype_facts *dtype = st_dtype_facts_of(st_tensor_dtype(t));
  if (!dtype->arrow) {
    return st__error(h, L, ST_BAD_DTYPE, "to_arrow: Arrow has no %s",
                     dtype->name);
  }
  if (st_tensor_ndim(t) != 1) {
    return st__error(h, L, ST_BAD_SHAPE, "to_arrow: an array has one "
                     "dimension, the tensor has %d", st_tensor_ndim(t));
  }
  const int64_t n = st_tensor_sizes(t)[0];
  if (n > 1 && st_tensor_strides(t)[0] != 1) {
    return st__error(h, L, ST_BAD_STATE, "to_arrow: the elements are not next "
                     "to each other: write t:contiguous():to_arrow(...)");
  }
  exported *e;
  const st_status status = export_buffers(t, n, &e);
  if (status == ST_NO_MEMORY) {
    return st__error(h, L, status, "to_arrow: out of memory");
  }
  if (status != ST_OK) {
    return st__error(h, L, status, "to_arrow: %s", st_message());
  }
  *schema = (arrow_schema){.format = dtype->arrow, .name = "",
                           .release = release_schema};
  *array = (arrow_array){.length = n, .n_buffers = 2, .buffers = e->buffers,
                         .release = release_array, .private_data = e};
  return 0;
}

/* -- Importing ------------------------------------------------------------ */

/* The dtype of a format, or ST_DTYPE_NONE. */
static st_dtype dtype_of(const char *format) {
  for (int d = 0; d < ST_DTYPE_ALL; d++) {
    const char *own = st_dtype_facts_of((st_dtype)d)->arrow;
    if (own && strcmp(own, format) == 0) return (st_dtype)d;
  }
  return ST_DTYPE_NONE;
}

/* Raises unless the array has numbers or booleans. */
static st_dtype check_array(st__state *h, lua_State *L, const arrow_schema *s,
                            const arrow_array *a) {
  if (!s->release || !a->release) {
    st__error(h, L, ST_BAD_STATE, "from_arrow: the %s has been released",
              s->release ? "array" : "schema");
  }
  if (!s->format) {
    st__error(h, L, ST_BAD_VALUE, "from_arrow: the schema has no format");
  }
  const st_dtype dtype = dtype_of(s->format);
  if (dtype == ST_DTYPE_NONE || s->dictionary || s->n_children > 0) {
    st__error(h, L, ST_BAD_DTYPE, "from_arrow: the format '%.20s'%s is none of "
              "numbers and booleans", s->format,
              s->dictionary ? " of a dictionary" : "");
  }
  if (a->length < 0 || a->offset < 0 || a->n_buffers != 2 ||
      a->length > INT64_MAX / 8 || a->offset > INT64_MAX / 8 - a->length ||
      !a->buffers || (!a->buffers[1] && a->length > 0)) {
    st__error(h, L, ST_BAD_VALUE, "from_arrow: the array is malformed");
  }
  return dtype;
}

static bool has_nulls(const arrow_array *a) {
  if (a->null_count == 0 || !a->buffers[0]) return false;
  for (int64_t i = 0; i < a->length; i++) {
    if (!bit_at(a->buffers[0], a->offset + i)) return true;
  }
  return false;
}

/* Pushes a tensor of the bits; without bits, of true. [+1] */
static void push_bools(st__state *h, lua_State *L, const uint8_t *bits,
                       const arrow_array *a) {
  st__tensor_ud *ud = st__new_tensor_ud(h, L);           /* [+1] */
  const st_status status = st_tensor_empty(ST_DEVICE_CPU, ST_BOOL, 1,
                                           &a->length, NULL, &ud->t);
  if (status != ST_OK) st__raise(h, L, status);
  bool *to = st_tensor_data(ud->t);
  for (int64_t i = 0; i < a->length; i++) {
    to[i] = !bits || bit_at(bits, a->offset + i);
  }
  st__gc_charge(h, ud, a->length);
}

static void free_array(void *array, void *data, size_t nbytes) {
  (void)data; (void)nbytes;
  arrow_array *a = array;
  a->release(a);
  free(a);
}

/* Pushes a tensor over the elements, which owns the array. [+1] */
static void push_elements(st__state *h, lua_State *L, st_dtype dtype,
                          arrow_array *a) {
  const size_t each = st_dtype_size(dtype), nbytes = (size_t)a->length * each;
  union { const void *from; char *to; } data = {a->buffers[1]};
  if (data.to) data.to += (size_t)a->offset * each;
  if ((uintptr_t)data.to % each != 0) {
    st__error(h, L, ST_BAD_VALUE, "from_arrow: the elements are not aligned");
  }
  st__tensor_ud *ud = st__new_tensor_ud(h, L);           /* [+1] */
  if (!a->release) { /* by a finalizer */
    st__error(h, L, ST_BAD_STATE, "from_arrow: the array has been released");
  }
  arrow_array *moved = malloc(sizeof *moved);
  if (!moved) st__error(h, L, ST_NO_MEMORY, "from_arrow: out of memory");
  *moved = *a;
  const st_status status =
    st_tensor_wrap(data.to, nbytes, dtype, 1, &a->length, NULL, 0, free_array,
                   moved, &ud->t);
  if (status != ST_OK) {
    free(moved);
    st__error(h, L, status, "from_arrow: %s", st_message());
  }
  a->release = NULL;
  st__gc_charge(h, ud, (int64_t)nbytes);
}

/* from_arrow(schema, array, wants_mask): returns a tensor and, if it is wanted,
 * a tensor of booleans, true where the array has a value */
static int from_arrow(lua_State *L) {
  st__state *h = st__state_of(L);
  lua_settop(L, 3);
  arrow_schema *s = check_struct(h, L, 1, "from_arrow", "schema", sizeof *s);
  arrow_array *a = check_struct(h, L, 2, "from_arrow", "array", sizeof *a);
  const st_dtype dtype = check_array(h, L, s, a);
  const bool wants_mask = lua_toboolean(L, 3);
  if (!wants_mask && has_nulls(a)) {
    return st__error(h, L, ST_BAD_VALUE, "from_arrow: the array has nulls, "
                     "which a tensor has not: write {mask = true}");
  }
  if (wants_mask) push_bools(h, L, a->null_count ? a->buffers[0] : NULL, a);
  if (dtype == ST_BOOL) {
    push_bools(h, L, a->buffers[1], a);                  /* [+1] */
    a->release(a);
  } else {
    push_elements(h, L, dtype, a);                       /* [+1] */
  }
  s->release(s);
  if (!wants_mask) return 1;
  lua_insert(L, -2);
  return 2;
}

/* -- Opening -------------------------------------------------------------- */

void st__open_arrow(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"to_arrow", to_arrow}, {"from_arrow", from_arrow}, {NULL, NULL}
  };
  st__set_access_functions(h, L, functions, true);
}
