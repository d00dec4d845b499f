/* Note [Sums that leave the range].
 */

#include "op/reduce/sums_out_of_range.h"

#include <math.h>
#include <string.h>

#include "op/row/composite.h"
#include "tensor/loop_dims.h"

/* What is looked for. */
typedef struct order {
  double p;       /* of a norm; 2 for a standard deviation */
  double limit;   /* results beyond it are of sums that left the range */
  bool is_spread; /* a standard deviation: equal elements are right */
} order;

typedef struct outputs {
  const st_tensor *self;
  st_dtype dtype;               /* of the output */
  int nkept;
  int64_t dims[ST_MAX_DIMS];    /* those that are kept, then the others */
  char *in, *out;               /* the first elements */
  st_loop_dims kept, reduced;   /* operands: self and the output; self */
  int64_t strides[3 * ST_MAX_DIMS];
  st_tensor *mask;              /* of the outputs that are to be replaced */
  int64_t n;                    /* how many they are */
} outputs;

/* -- Which outputs -------------------------------------------------------- */

/* An element: two words if it is complex. */
typedef struct pattern {
  uint64_t bits[2], mask; /* of the bits that count */
} pattern;

#define FIND(T)                                                             \
  static inline bool find_##T(const char *data, int64_t n, int64_t step,    \
                              T bits, T mask) {                             \
    for (int64_t i = 0; i < n;) {                                           \
      const int64_t end = n - i < 256 ? n : i + 256;                        \
      T other = 0;                                                          \
      for (; i < end; i++) {                                                \
        T word;                                                             \
        memcpy(&word, data + i * step, sizeof word);                        \
        other |= (T)((word ^ bits) & mask);                                 \
      }                                                                     \
      if (other) return true;                                               \
    }                                                                       \
    return false;                                                           \
  }

#define FIND_OTHER(T)                                                       \
  FIND(T)                                                                   \
  static bool find_other_##T(const char *data, int64_t n, int64_t step,     \
                             T bits, T mask) {                              \
    return step == sizeof(T) ? find_##T(data, n, sizeof(T), bits, mask)     \
                             : find_##T(data, n, step, bits, mask);         \
  }

FIND_OTHER(uint16_t)
FIND_OTHER(uint32_t)
FIND_OTHER(uint64_t)

/* True if one of n elements of dtype d, `step` bytes apart, is not p. */
static bool find_other(st_dtype d, const char *data, int64_t n, int64_t step,
                       const pattern *p) {
  const size_t size = st__itemsize(st__real_dtype(d));
  for (int k = 0; k <= st__is_complex(d); k++, data += size) {
    const uint64_t bits = p->bits[k], mask = p->mask;
    if (size == 2 ? find_other_uint16_t(data, n, step, (uint16_t)bits,
                                        (uint16_t)mask)
        : size == 4 ? find_other_uint32_t(data, n, step, (uint32_t)bits,
                                          (uint32_t)mask)
                    : find_other_uint64_t(data, n, step, bits, mask)) {
      return true;
    }
  }
  return false;
}

/* True if the elements at `data` are not all 0, or for a deviation not all
 * equal. */
static bool differ(const outputs *o, const order *w, char *data) {
  const st_dtype d = o->self->dtype;
  const int64_t n = o->reduced.size[0];
  const int64_t step = st__loop_strides(&o->reduced, 0)[0];
  const size_t bits = 8 * st__itemsize(st__real_dtype(d));
  pattern p = {.mask = ((uint64_t)1 << (bits - 1)) - 1};
  if (w->is_spread) { /* of doubles */
    memcpy(p.bits, data, st__itemsize(d));
    p.mask = UINT64_MAX;
  }
  for (int64_t i = 0; i < o->reduced.total; i += n) {
    char *row = data;
    st__loop_dims_seek(&o->reduced, i, &row);
    if (find_other(d, row, n, step, &p)) return true;
  }
  return false;
}

/* True if the result of output i is to be computed again. */
static bool has_left(const outputs *o, const order *w, int64_t i) {
  char *at[] = {o->in, o->out};
  st__loop_dims_seek(&o->kept, i, at);
  const double plain = st__scalar_to_double(st__scalar_load(o->dtype, at[1]));
  if (w->p < 0) return plain > w->limit || plain == 0;
  return plain == INFINITY || (plain < w->limit && differ(o, w, at[0]));
}

static st_status plan(const st_run *r, outputs *o) {
  const st_tensor *out = r->out[0];
  int n = 0;
  st_dims d;
  ST_TRY(st__get_dims(r, &d));
  *o = (outputs){.self = d.self, .dtype = out->dtype, .in = st__data(d.self),
                 .out = st__data(out)};
  st__loop_dims_init(&o->kept, 2, o->strides);
  st__loop_dims_init(&o->reduced, 1, o->strides + 2 * ST_MAX_DIMS);
  for (int i = 0; i < d.self->ndim; i++) {
    if (!(d.set >> i & 1)) o->dims[o->nkept++] = i;
  }
  for (int i = d.self->ndim - 1, k = out->ndim - 1; i >= 0; i--) {
    const bool is_reduced = d.set >> i & 1;
    const int64_t step[] = {st__stride_of(d.self, i),
                            is_reduced ? 0 : st__stride_of(out, k)};
    if (!is_reduced || d.keepdim) k--;
    if (is_reduced) o->dims[d.self->ndim - ++n] = i;
    st__loop_dims_add(is_reduced ? &o->reduced : &o->kept, d.self->sizes[i],
                      step);
  }
  st__loop_dims_merge(&o->kept);
  st__loop_dims_sort(&o->reduced, 0, 1);
  st__loop_dims_merge(&o->reduced);
  st__loop_dims_pad(&o->reduced, 1);
  return ST_OK;
}

/* Sets mask and n. */
static void find_outputs(st_op_scope *c, const order *w, outputs *o) {
  int64_t i = 0;
  bool *mask;
  while (i < o->kept.total && st__scope_goes_on_at(c, i) &&
         !has_left(o, w, i)) {
    i++;
  }
  if (!st__scope_ok(c) || i == o->kept.total) return;
  o->mask = st__new_cpu_vector(c, ST_BOOL, o->kept.total, &mask);
  if (!st__scope_ok(c)) return;
  memset(mask, 0, (size_t)o->kept.total);
  for (; i < o->kept.total && st__scope_goes_on_at(c, i); i++) {
    o->n += mask[i] = has_left(o, w, i);
  }
}

/* -- Computing them again ------------------------------------------------- */

/* Their elements: a row for each. */
static st_tensor *rows_of(st_op_scope *c, const outputs *o) {
  const st_tensor *x = o->self;
  const int64_t shape[] = {o->n, o->reduced.total};
  if (o->nkept > 0) {
    int64_t sizes[ST_MAX_DIMS];
    for (int i = 0; i < o->nkept; i++) sizes[i] = x->sizes[o->dims[i]];
    st_tensor *mask =
      ST_APPLY(c, ST_OP_reshape, o->mask, st__of_ints(sizes, o->nkept));
    x = ST_APPLY(c, ST_OP_index_Tensor,
                 ST_APPLY(c, ST_OP_permute, x, st__of_ints(o->dims, x->ndim)),
                 st__of_tensors(&mask, 1));
  }
  return ST_APPLY(c, ST_OP_reshape, x, st__of_ints(shape, 2));
}

/* top times the norms of rows / top. */
static st_tensor *scaled_norm(st_op_scope *c, const st_tensor *rows,
                              const st_tensor *top, double p) {
  const st_tensor *x = st__apply1(c, ST_OP_abs, rows);
  x = st__div(c, st__apply_to(c, x, ST_FLOAT64), top);
  x = ST_APPLY(c, ST_OP_pow_Tensor_Scalar, x, p);
  x = ST_APPLY(c, ST_OP_sum_dim_IntList, x, ST_INTS(1), st__of_bool(true));
  x = ST_APPLY(c, ST_OP_pow_Tensor_Scalar, x, st__of_float(1 / p));
  return st__mul(c, top, x);
}

/* The greatest power of two up to top: dividing by it loses no bits. */
static st_tensor *power_of_two(st_op_scope *c, const st_tensor *top) {
  st_tensor *parts[2];
  st__apply_multi(c, ST_OP_frexp_Tensor, ST_VALUES(top), 2, parts);
  return !st__scope_ok(c) ? NULL : st__div(c, top, st__scaled(c, parts[0], 2));
}

static st_tensor *scaled_std(st_op_scope *c, const st_tensor *rows,
                             const st_tensor *top, double correction) {
  const st_tensor *unit = power_of_two(c, top);
  const st_tensor *x = st__div(c, rows, unit);
  x = ST_APPLY(c, ST_OP_var_correction, x, ST_INTS(1), correction,
               st__of_bool(true));
  return st__mul(c, st__apply1(c, ST_OP_sqrt, x), unit);
}

/* Writes them where top is a number to divide by. */
static void replace(st_op_scope *c, const outputs *o, const st_tensor *top,
                    const st_tensor *better) {
  if (!st__scope_ok(c)) return;
  const bool *mask = (const bool *)st__data(o->mask);
  const double *by = (const double *)st__data(top);
  const double *from = (const double *)st__data(better);
  for (int64_t i = 0, k = 0; k < o->n; i++) {
    if (!mask[i]) continue;
    if (by[k] > 0 && by[k] < INFINITY) {
      char *at[] = {o->in, o->out};
      st__loop_dims_seek(&o->kept, i, at);
      st__scalar_store(st__scalar_float(from[k]), o->dtype, at[1]);
    }
    k++;
  }
}

static st_status correct(const st_run *r, const order *w, double correction) {
  outputs o;
  st_op_scope c = {.n = 0};
  ST_TRY(plan(r, &o));
  find_outputs(&c, w, &o);
  if (o.n > 0 && st__scope_ok(&c)) {
    const st_tensor *rows = rows_of(&c, &o);
    const st_tensor *top = ST_APPLY(&c, ST_OP_linalg_vector_norm, rows,
                                    st__of_float(copysign(INFINITY, w->p)),
                                    ST_INTS(1), st__of_bool(true));
    top = st__apply_to(&c, top, ST_FLOAT64);
    replace(&c, &o, top, w->is_spread ? scaled_std(&c, rows, top, correction)
                                      : scaled_norm(&c, rows, top, w->p));
  }
  return st__scope_end(&c, 0, NULL, NULL);
}

st_status st__norm_out_of_range(st_run *r, double p) {
  const order w = {.p = p, .limit = pow(ST_LEAST_SUM, 1 / p)};
  return correct(r, &w, 0);
}

st_status st__std_out_of_range(st_run *r, double correction) {
  /* also with few degrees of freedom */
  const order w = {.p = 2, .limit = 1e-130, .is_spread = true};
  return correct(r, &w, correction);
}
