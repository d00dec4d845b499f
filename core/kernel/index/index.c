/* Indexing kernels: gather, scatter, and pack by a mask. Copies are compiled
 * per element size, reductions per dtype.
 */

#include "kernel/index/index.h"

#include "kernel/dtype_tables.h"

/* -- Index operands ------------------------------------------------------- */

/* Byte offset that the n index operands select at step i. */
static inline int64_t offset_at(const st_index_ctx *c, int64_t n,
                                char *const *index, const int64_t *step,
                                int64_t i) {
  int64_t at = 0;
  for (int64_t k = 0; k < n; k++) {
    const int64_t v = *(const int64_t *)(index[k] + i * step[k]);
    at += st__resolve_index(v, c->base, c->size[k]) * c->stride[k];
  }
  return at;
}

/* A single index operand, copied to locals: the compiler must assume that a
 * store in the loop changes ctx and strides, and would reload them. */
typedef struct axis {
  const char *index;
  int64_t step, base, size, stride;
} axis;

static inline axis single_axis(const st_index_ctx *c, char *const *index,
                               const int64_t *step) {
  return (axis){index[0], step[0], c->base, c->size[0], c->stride[0]};
}

static inline int64_t axis_offset(const axis *a, int64_t i) {
  const int64_t v = *(const int64_t *)(const void *)(a->index + i * a->step);
  return st__resolve_index(v, a->base, a->size) * a->stride;
}

typedef void (*row_fn)(char **data, const int64_t *step, int64_t n,
                       const st_index_ctx *c);

static inline void each_row(char **data, const int64_t *strides, int64_t n0,
                            int64_t n1, const void *ctx, row_fn row) {
  const st_index_ctx *c = ctx;
  const int64_t operands = c->n + 2;
  for (int64_t j = 0; j < n1; j++) {
    row(data, strides, n0, c);
    for (int64_t k = 0; k < operands; k++) data[k] += strides[operands + k];
  }
}

/* True if the indices do not vary along the inner dimension, as in
 * index_select of rows: one offset then addresses the whole row. */
static inline bool is_fixed(const st_index_ctx *c, const int64_t *step) {
  int64_t any = 0;
  for (int64_t k = 0; k < c->n; k++) any |= step[2 + k];
  return any == 0;
}

#define LOOP(what, name)                                                    \
  static ST_LOOP_FN(what##_##name, strides) {                               \
    each_row(data, strides, n0, n1, ctx, row_##what##_##name);              \
  }

static inline void copy_run(char *d, int64_t ds, const char *s, int64_t ss,
                            int64_t n, int64_t size) {
  if (ds == size && ss == size) {
    memcpy(d, s, (size_t)(n * size));
  } else if (ds == size && ss == 0) {
    char x[16];
    memcpy(x, s, (size_t)size);
    for (int64_t i = 0; i < n; i++) memcpy(d + i * size, x, (size_t)size);
  } else {
    for (int64_t i = 0; i < n; i++) {
      memcpy(d + i * ds, s + i * ss, (size_t)size);
    }
  }
}

/* True if there is no gap between indices, between the elements they are for
 * (their step is `step`), and between those they select from, as along the last
 * dimension. `moves` is the step of the operand that is indexed. */
static inline bool is_dense(const axis *a, int64_t step, int64_t moves,
                            int64_t size) {
  return step == size && moves == 0 && a->step == 8 && a->stride == size;
}

/* Byte offset of a dense index. */
static inline int64_t dense_offset(const axis *a, int64_t i, int64_t size) {
  const int64_t at = ((const int64_t *)(const void *)a->index)[i] * size;
  return at + (at < 0 ? a->size * size : -a->base * size);
}

/* Every caller of these passes a constant size. */
static inline void get_dense(char *restrict d, const char *v, axis a,
                             int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; i++) {
    memcpy(d + i * size, v + dense_offset(&a, i, size), (size_t)size);
  }
}

static inline void put_dense(char *restrict d, const char *v, axis a,
                             int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; i++) {
    memcpy(d + dense_offset(&a, i, size), v + i * size, (size_t)size);
  }
}

static inline void get_row(char **p, const int64_t *s, int64_t n,
                           const st_index_ctx *c, int64_t size) {
  if (is_fixed(c, s)) {
    const int64_t at = offset_at(c, c->n, p + 2, s + 2, 0);
    copy_run(p[0], s[0], p[1] + at, s[1], n, size);
  } else if (c->n == 1) {
    const axis a = single_axis(c, p + 2, s + 2);
    char *d = p[0];
    const char *v = p[1];
    const int64_t ds = s[0], vs = s[1];
    if (is_dense(&a, ds, vs, size)) {
      get_dense(d, v, a, n, size);
      return;
    }
    for (int64_t i = 0; i < n; i++) {
      memcpy(d + i * ds, v + i * vs + axis_offset(&a, i), (size_t)size);
    }
  } else {
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = offset_at(c, c->n, p + 2, s + 2, i);
      memcpy(p[0] + i * s[0], p[1] + i * s[1] + at, (size_t)size);
    }
  }
}

static inline void put_row(char **p, const int64_t *s, int64_t n,
                           const st_index_ctx *c, int64_t size) {
  if (is_fixed(c, s)) {
    const int64_t at = offset_at(c, c->n, p + 2, s + 2, 0);
    copy_run(p[0] + at, s[0], p[1], s[1], n, size);
  } else if (c->n == 1) {
    const axis a = single_axis(c, p + 2, s + 2);
    char *d = p[0];
    const char *v = p[1];
    const int64_t ds = s[0], vs = s[1];
    if (is_dense(&a, vs, ds, size)) {
      put_dense(d, v, a, n, size);
      return;
    }
    for (int64_t i = 0; i < n; i++) {
      memcpy(d + i * ds + axis_offset(&a, i), v + i * vs, (size_t)size);
    }
  } else {
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = offset_at(c, c->n, p + 2, s + 2, i);
      memcpy(p[0] + i * s[0] + at, p[1] + i * s[1], (size_t)size);
    }
  }
}

#define MOVES(size)                                                         \
  static void row_get_##size(char **p, const int64_t *s, int64_t n,         \
                             const st_index_ctx *c) {                       \
    get_row(p, s, n, c, size);                                              \
  }                                                                         \
  static void row_put_##size(char **p, const int64_t *s, int64_t n,         \
                             const st_index_ctx *c) {                       \
    put_row(p, s, n, c, size);                                              \
  }                                                                         \
  LOOP(put, size)

MOVES(1)
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

/* Note [Short rows]
 * The call for a row of few elements takes longer than their copies. If one
 * offset addresses the row and an element has its size, each row is copied as
 * one element. If an index selects a column instead, the loop runs down the
 * columns: an output does not overlap itself, so the order of the copies does
 * not matter. */
enum { SHORT_ROW = 8 };

/* The function that copies rows of n contiguous elements, or NULL. */
static inline row_fn whole_rows(const st_index_ctx *c, const int64_t *s,
                                int64_t n, int64_t size) {
  if (n < 2 || s[0] != size || s[1] != size || !is_fixed(c, s)) return NULL;
  switch (n * size) {
    case 2: return row_get_2;
    case 4: return row_get_4;
    case 8: return row_get_8;
    case 16: return row_get_16;
    default: return NULL;
  }
}

static inline void each_get(char **data, const int64_t *s, int64_t n0,
                            int64_t n1, const st_index_ctx *c, int64_t size,
                            row_fn row) {
  const int64_t operands = c->n + 2;
  const int64_t *const outer = s + operands;
  const bool is_tall = n1 >= 2 * n0 && n0 > 0;
  const row_fn whole = is_tall ? whole_rows(c, s, n0, size) : NULL;
  if (whole) {
    whole(data, outer, n1, c);
  } else if (is_tall && n0 <= SHORT_ROW && is_fixed(c, outer)) {
    int64_t columns[2 * (ST_INDEX_MAX + 2)];
    memcpy(columns, outer, (size_t)operands * sizeof *s);
    memcpy(columns + operands, s, (size_t)operands * sizeof *s);
    each_row(data, columns, n1, n0, c, row);
  } else {
    each_row(data, s, n0, n1, c, row);
  }
}

#define GET(size)                                                           \
  static ST_LOOP_FN(get_##size, strides) {                                  \
    each_get(data, strides, n0, n1, ctx, size, row_get_##size);             \
  }
GET(1)
GET(2)
GET(4)
GET(8)
GET(16)

/* -- index_add ------------------------------------------------------------ */

/* A loop over a single index operand is a function of its own: inlined into
 * the loops around it, it runs out of registers. */
#define NOINLINE __attribute__((noinline))

/* dst[i] += alpha * value[i]. Adjacent elements are added in vectors. */
#define ADD_RUN(name, T, A, LOAD, STORE)                                    \
  static void add_line_##name(T *restrict d, const T *restrict v,           \
                              int64_t n, A alpha) {                         \
    for (int64_t i = 0; i < n; i++)                                         \
      d[i] = STORE(LOAD(d[i]) + LOAD(v[i]) * alpha);                        \
  }                                                                         \
  static void add_run_##name(char *d, int64_t ds, const char *v,            \
                             int64_t vs, int64_t n, A alpha) {              \
    if (ds == sizeof(T) && vs == sizeof(T)) {                               \
      add_line_##name((T *)d, (const T *)v, n, alpha); return; }            \
    for (int64_t i = 0; i < n; i++, d += ds, v += vs)                       \
      *(T *)d = STORE(LOAD(*(T *)d) + LOAD(*(const T *)v) * alpha);         \
  }

/* Integers wrap, half types are added in float32, bool addition is "or". One
 * offset addresses a row whose indices are fixed. */
#define ADD_AT(name, T, A, LOAD, STORE)                                     \
  ADD_RUN(name, T, A, LOAD, STORE)                                          \
  static NOINLINE void add_at_##name(char *const *p, const int64_t *s,      \
                                     int64_t n, axis a, A alpha) {          \
    const int64_t ds = s[0], vs = s[1];                                     \
    char *to = p[0], *from = p[1];                                          \
    for (; n > 0; n--, to += ds, from += vs, a.index += a.step) {           \
      T *d = (T *)(to + axis_offset(&a, 0));                                \
      *d = STORE(LOAD(*d) + LOAD(*(const T *)from) * alpha); }              \
  }

#define ADD_ROW(name, T, A, LOAD, STORE, ALPHA)                             \
  ADD_AT(name, T, A, LOAD, STORE)                                           \
  static void row_add_##name(char **p, const int64_t *s, int64_t n,         \
                             const st_index_ctx *c) {                       \
    const A alpha = (A)ALPHA(c->alpha);                                     \
    if (is_fixed(c, s)) {                                                   \
      char *d = p[0] + offset_at(c, c->n, p + 2, s + 2, 0);                 \
      add_run_##name(d, s[0], p[1], s[1], n, alpha); return; }              \
    if (c->n == 1) {                                                        \
      add_at_##name(p, s, n, single_axis(c, p + 2, s + 2), alpha); return; }\
    for (int64_t i = 0; i < n; i++) {                                       \
      T *d = (T *)(p[0] + i * s[0] + offset_at(c, c->n, p + 2, s + 2, i));  \
      *d = STORE(LOAD(*d) + LOAD(*(const T *)(p[1] + i * s[1])) * alpha); } \
  }                                                                         \
  LOOP(add, name)

#define SAME(x) (x)
#define TO_BOOL(x) ((uint8_t)((x) != 0))
#define REAL_ALPHA(a) \
  ((a).kind == ST_SCALAR_FLOAT ? (a).u.f                                    \
   : (a).kind == ST_SCALAR_UINT ? (double)(a).u.u : (double)(a).u.i)
#define INT_ALPHA(a) \
  ((a).kind == ST_SCALAR_FLOAT ? (int64_t)(a).u.f : (a).u.i)

ADD_ROW(u1, uint8_t, uint32_t, SAME, (uint8_t), INT_ALPHA)
ADD_ROW(i1, int8_t, uint32_t, SAME, (int8_t), INT_ALPHA)
ADD_ROW(i2, int16_t, uint32_t, SAME, (int16_t), INT_ALPHA)
ADD_ROW(i4, uint32_t, uint32_t, SAME, SAME, INT_ALPHA)
ADD_ROW(i8, uint64_t, uint64_t, SAME, SAME, INT_ALPHA)
ADD_ROW(b1, uint8_t, uint32_t, SAME, TO_BOOL, INT_ALPHA)
ADD_ROW(f2, uint16_t, float, st__half_to_float, st__float_to_half, REAL_ALPHA)
ADD_ROW(bf, uint16_t, float, st__bf16_to_float, st__float_to_bf16, REAL_ALPHA)
#define ADD_FLOAT8(a, tag, name)                                            \
  ADD_ROW(tag, uint8_t, float, st__##name##_to_float, st__float_to_##name,  \
          REAL_ALPHA)
ST_FLOAT8_TAGS(ADD_FLOAT8, 0)
ADD_ROW(f4, float, float, SAME, SAME, REAL_ALPHA)
ADD_ROW(f8, double, double, SAME, SAME, REAL_ALPHA)

#define ADD_COMPLEX(name, T, A, LOAD, STORE)                                \
  static void row_add_##name(char **p, const int64_t *s, int64_t n,         \
                             const st_index_ctx *c) {                       \
    const bool full = c->alpha.kind == ST_SCALAR_COMPLEX;                   \
    const A re = (A)(full ? c->alpha.u.c[0] : REAL_ALPHA(c->alpha));        \
    const A im = full ? (A)c->alpha.u.c[1] : 0;                             \
    for (int64_t i = 0; i < n; i++) {                                       \
      T *d = (T *)(p[0] + i * s[0] + offset_at(c, c->n, p + 2, s + 2, i));  \
      const T *v = (const T *)(p[1] + i * s[1]);                            \
      const A x = LOAD(v[0]), y = LOAD(v[1]);                               \
      d[0] = STORE(LOAD(d[0]) + (x * re - y * im));                         \
      d[1] = STORE(LOAD(d[1]) + (x * im + y * re));                         \
    }                                                                       \
  }                                                                         \
  LOOP(add, name)

ADD_COMPLEX(c4, float, float, SAME, SAME)
ADD_COMPLEX(c8, double, double, SAME, SAME)
ADD_COMPLEX(c2, uint16_t, float, st__half_to_float, st__float_to_half)

/* -- index_mul, index_max, index_min -------------------------------------- */

#define REDUCE_ONE(what, name, T, A, LOAD, STORE, OP)                       \
  static inline void what##_one_##name(T *d, const T *v) {                  \
    const A x = (A)LOAD(*d), y = (A)LOAD(*v);                               \
    *d = STORE(OP(x, y));                                                   \
  }

#define REDUCE_AT(what, name, T)                                            \
  static NOINLINE void what##_at_##name(char *const *p, const int64_t *s,   \
                                        int64_t n, axis a) {                \
    const int64_t ds = s[0], vs = s[1];                                     \
    char *to = p[0], *from = p[1];                                          \
    for (; n > 0; n--, to += ds, from += vs, a.index += a.step)             \
      what##_one_##name((T *)(to + axis_offset(&a, 0)), (const T *)from);   \
  }

#define REDUCE_ROW(what, name, T, A, LOAD, STORE, OP)                       \
  REDUCE_ONE(what, name, T, A, LOAD, STORE, OP)                             \
  REDUCE_AT(what, name, T)                                                  \
  static void row_##what##_##name(char **p, const int64_t *s, int64_t n,    \
                                  const st_index_ctx *c) {                  \
    if (c->n == 1) {                                                        \
      what##_at_##name(p, s, n, single_axis(c, p + 2, s + 2)); return; }    \
    for (int64_t i = 0; i < n; i++)                                         \
      what##_one_##name(                                                    \
        (T *)(p[0] + i * s[0] + offset_at(c, c->n, p + 2, s + 2, i)),       \
        (const T *)(p[1] + i * s[1]));                                      \
  }

#define MUL(x, y) ((x) * (y))
/* x if it is NaN, because then no y is greater or less. */
#define MAX_OF(x, y) ((y) > (x) || (y) != (y) ? (y) : (x))
#define MIN_OF(x, y) ((y) < (x) || (y) != (y) ? (y) : (x))

/* Products of integers wrap: INT32 and INT64 are unsigned then. */
#define REDUCE_DTYPES(what, INT32, INT64, OP)                               \
  REDUCE_ROW(what, u1, uint8_t, uint8_t, SAME, (uint8_t), OP)               \
  REDUCE_ROW(what, i1, int8_t, int8_t, SAME, (int8_t), OP)                  \
  REDUCE_ROW(what, i2, int16_t, int16_t, SAME, (int16_t), OP)               \
  REDUCE_ROW(what, i4, INT32, INT32, SAME, SAME, OP)                        \
  REDUCE_ROW(what, i8, INT64, INT64, SAME, SAME, OP)                        \
  REDUCE_ROW(what, b1, uint8_t, uint8_t, TO_BOOL, (uint8_t), OP)            \
  REDUCE_ROW(what, f2, uint16_t, float, st__half_to_float,                  \
             st__float_to_half, OP)                                         \
  REDUCE_ROW(what, bf, uint16_t, float, st__bf16_to_float,                  \
             st__float_to_bf16, OP)                                         \
  REDUCE_ROW(what, f4, float, float, SAME, SAME, OP)                        \
  REDUCE_ROW(what, f8, double, double, SAME, SAME, OP)                      \
  LOOP(what, u1) LOOP(what, i1) LOOP(what, i2) LOOP(what, i4) LOOP(what, i8)\
  LOOP(what, b1) LOOP(what, f2) LOOP(what, bf) LOOP(what, f4) LOOP(what, f8)

REDUCE_DTYPES(mul, uint32_t, uint64_t, MUL)
REDUCE_DTYPES(max, int32_t, int64_t, MAX_OF)
REDUCE_DTYPES(min, int32_t, int64_t, MIN_OF)

#define REDUCE_UNSIGNED(what, OP)                                           \
  REDUCE_ROW(what, u2, uint16_t, uint16_t, SAME, (uint16_t), OP)            \
  REDUCE_ROW(what, u4, uint32_t, uint32_t, SAME, SAME, OP)                  \
  REDUCE_ROW(what, u8, uint64_t, uint64_t, SAME, SAME, OP)                  \
  LOOP(what, u2) LOOP(what, u4) LOOP(what, u8)

REDUCE_UNSIGNED(max, MAX_OF)
REDUCE_UNSIGNED(min, MIN_OF)
#define mul_u2 mul_i2 /* the same bits */
#define mul_u4 mul_i4
#define mul_u8 mul_i8

/* -- index_check ---------------------------------------------------------- */

static ST_LOOP_FN(check, strides) {
  const st_index_check_ctx *c = ctx;
  const uint64_t size = (uint64_t)c->size;
  uint64_t bad = 0;
  for (int64_t j = 0; j < n1; j++) {
    const char *p = data[0] + j * strides[1];
    for (int64_t i = 0; i < n0; i++) {
      const int64_t v = *(const int64_t *)(p + i * strides[0]);
      bad |= (uint64_t)st__resolve_index(v, c->base, c->size) >= size;
    }
  }
  if (bad) atomic_store_explicit(c->bad, 1, memory_order_relaxed);
}

/* -- Counting and packing ------------------------------------------------- */

#define LOAD(T, i) (((const T *)(const void *)p)[i])

/* Every caller passes a constant dtype. The bits of floats are compared without
 * their sign: compilers make branches of comparisons with NaN. */
static inline int64_t is_set(const char *p, st_dtype dtype) {
  switch (dtype) {
    case ST_INT16: return LOAD(uint16_t, 0) != 0;
    case ST_FLOAT16: return (LOAD(uint16_t, 0) & 0x7fffu) != 0;
    case ST_INT32: return LOAD(uint32_t, 0) != 0;
    case ST_COMPLEX32: return (LOAD(uint32_t, 0) & 0x7fff7fffu) != 0;
    case ST_INT64: return LOAD(uint64_t, 0) != 0;
    case ST_FLOAT32: return LOAD(uint32_t, 0) << 1 != 0;
    case ST_FLOAT64: return LOAD(uint64_t, 0) << 1 != 0;
    case ST_COMPLEX64: return (LOAD(uint32_t, 0) | LOAD(uint32_t, 1)) << 1 != 0;
    case ST_COMPLEX128:
      return (LOAD(uint64_t, 0) | LOAD(uint64_t, 1)) << 1 != 0;
    default: return LOAD(uint8_t, 0) != 0;
  }
}

enum { BLOCK = 256 };

static inline int64_t block_of(int64_t from, int64_t n) {
  return n - from < BLOCK ? n - from : BLOCK;
}

/* At most BLOCK - 1 elements, so that vectors of bytes can count them. */
static inline int64_t count_run(const char *p, int64_t step, int64_t n,
                                st_dtype dtype) {
  uint8_t k = 0;
  for (int64_t i = 0; i < n; i++) {
    k = (uint8_t)(k + is_set(p + i * step, dtype));
  }
  return k;
}

static inline void count(char **data, const int64_t *s, int64_t n0,
                         int64_t n1, const void *ctx, st_dtype dtype) {
  const int64_t size = st__dtype_size[dtype], most = BLOCK - 1;
  int64_t n = 0;
  for (int64_t j = 0; j < n1; j++) {
    const char *p = data[0] + j * s[1];
    for (int64_t i = 0, m; i < n0; i += m, p += m * s[0]) {
      m = n0 - i < most ? n0 - i : most;
      n += s[0] == size ? count_run(p, size, m, dtype)
                        : count_run(p, s[0], m, dtype);
    }
  }
  *((const st_count_ctx *)ctx)->count += n;
}

/* Branch-free: every step writes an index, and k only advances for nonzero
 * elements, so the buffer needs room for one index more. */
static inline void nonzero_block(const char *p, int64_t step, int64_t n,
                                 const st_nonzero_ctx *c, st_dtype dtype) {
  const int64_t at = *c->position;
  int64_t buffer[BLOCK + 1], k = 0;
  for (int64_t i = 0; i < n; i++) {
    buffer[k] = at + i;
    k += is_set(p + i * step, dtype);
  }
  memcpy(*c->out, buffer, (size_t)k * sizeof *buffer);
  *c->out += k;
  *c->position += n;
}

static inline void nonzero(char **data, const int64_t *s, int64_t n0,
                           int64_t n1, const void *ctx, st_dtype dtype) {
  for (int64_t j = 0; j < n1; j++) {
    for (int64_t b = 0; b < n0; b += BLOCK) {
      nonzero_block(data[0] + j * s[1] + b * s[0], s[0], block_of(b, n0), ctx,
                    dtype);
    }
  }
}

#define NONZEROS(name, dtype)                                               \
  static ST_LOOP_FN(count_##name, s) {                                      \
    count(data, s, n0, n1, ctx, dtype);                                     \
  }                                                                         \
  static ST_LOOP_FN(nonzero_##name, s) {                                    \
    nonzero(data, s, n0, n1, ctx, dtype);                                   \
  }

NONZEROS(u1, ST_UINT8)
NONZEROS(i2, ST_INT16)
NONZEROS(i4, ST_INT32)
NONZEROS(i8, ST_INT64)
NONZEROS(f2, ST_FLOAT16)
NONZEROS(f4, ST_FLOAT32)
NONZEROS(f8, ST_FLOAT64)
NONZEROS(c2, ST_COMPLEX32)
#define count_cb count_c2
#define nonzero_cb nonzero_c2
NONZEROS(c4, ST_COMPLEX64)
NONZEROS(c8, ST_COMPLEX128)

/* s: the strides of the elements and of the mask. */
static inline void pack_block(char *const *data, const int64_t *s, int64_t n,
                              char **out, int64_t size) {
  char buffer[(BLOCK + 1) * 16];
  int64_t k = 0;
  for (int64_t i = 0; i < n; i++) {
    memcpy(buffer + k * size, data[0] + i * s[0], (size_t)size);
    k += data[1][i * s[1]] != 0;
  }
  memcpy(*out, buffer, (size_t)(k * size));
  *out += k * size;
}

static inline void pack(char **data, const int64_t *s, int64_t n0,
                        int64_t n1, const void *ctx, int64_t size) {
  char **out = ((const st_pack_ctx *)ctx)->out;
  for (int64_t j = 0; j < n1; j++) {
    for (int64_t b = 0; b < n0; b += BLOCK) {
      char *const from[] = {data[0] + j * s[2] + b * s[0],
                            data[1] + j * s[3] + b * s[1]};
      pack_block(from, s, block_of(b, n0), out, size);
    }
  }
}

/* An element that is not set is copied to itself: a branch would often be
 * mispredicted. Nothing is read past the last value that is used. */
static inline void unpack(char **data, const int64_t *s, int64_t n0,
                          int64_t n1, const void *ctx, int64_t size) {
  char **out = ((const st_pack_ctx *)ctx)->out;
  const char *from = *out;
  const int64_t ds = s[0], ms = s[1];
  for (int64_t j = 0; j < n1; j++) {
    char *d = data[0] + j * s[2];
    const char *mask = data[1] + j * s[3];
    for (int64_t i = 0; i < n0; i++, d += ds, mask += ms) {
      const bool set = *mask != 0;
      memmove(d, set ? from : d, (size_t)size);
      from += set ? size : 0;
    }
  }
  *out += from - *out;
}

#define PACKS(size)                                                         \
  static ST_LOOP_FN(pack_##size, s) {                                       \
    pack(data, s, n0, n1, ctx, size);                                       \
  }                                                                         \
  static ST_LOOP_FN(unpack_##size, s) {                                     \
    unpack(data, s, n0, n1, ctx, size);                                     \
  }

PACKS(1)
PACKS(2)
PACKS(4)
PACKS(8)
PACKS(16)

/* -- The table ------------------------------------------------------------ */

#define REDUCE(what) {"index_" #what, {ST_BY_TAG(REAL_BOOL, what)}}

static const st_kernel_row rows[] = {
  {"index_get", {ST_BY_SIZE(get)}},
  {"index_put", {ST_BY_SIZE(put)}},
  {"index_add", {ST_BY_TAG(ALL, add) ST_BY_TAG(FLOAT8, add)}},
  REDUCE(mul), REDUCE(max), REDUCE(min),
  {"index_check", {[ST_INT64] = check}},
  {"nonzero_count", {ST_BY_TAG(NONZERO, count)}},
  {"nonzero_pack", {ST_BY_TAG(NONZERO, nonzero)}},
  {"mask_pack", {ST_BY_SIZE(pack)}},
  {"mask_unpack", {ST_BY_SIZE(unpack)}},
};

ST_EXPORT(st__index, rows)
