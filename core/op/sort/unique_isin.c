/* Operators on equal elements: isin, unique_consecutive, unique, unique_dim.
 */

#include "base/interrupt.h"
#include "op/create/factory.h"
#include "op/row/composite.h"

/* -- Runs of equal elements ----------------------------------------------- */

/* `items` holds n items along its first dimension. Returns a mask that is true
 * where an item differs from the one before. NaN differs from everything. */
static st_tensor *run_starts(st_op_scope *c, const st_tensor *items,
                             int64_t n) {
  st_tensor *parts[2];
  parts[0] = ST_APPLY(c, ST_OP_new_ones, items, ST_INTS(n > 0), ST_BOOL);
  if (n < 2) return parts[0];
  parts[1] = st__apply2(c, ST_OP_ne_Tensor,
                        st__apply_narrow(c, items, 0, 1, n - 1),
                        st__apply_narrow(c, items, 0, 0, n - 1));
  if (st__scope_ok(c) && items->ndim > 1) {
    parts[1] = ST_APPLY(c, ST_OP_any_dim, parts[1], 1);
  }
  const st_value all = st__of_tensors(parts, 2);
  return st__apply(c, ST_OP_cat, 1, &all);
}

/* -- isin ----------------------------------------------------------------- */

enum {
  FEW = 10,    /* test elements to compare each element with, as in ATen */
  MANY = 1024, /* more elements than this are worth several passes */
  BYTES = 256
};

static st_tensor *among_few(st_op_scope *c, const st_tensor *elements,
                            const st_tensor *test) {
  const st_tensor *column = ST_APPLY(c, ST_OP_unsqueeze, elements, -1);
  if (test->ndim > 0) test = st__apply_flatten(c, test);
  const st_tensor *equal = st__apply2(c, ST_OP_eq_Tensor, column, test);
  return ST_APPLY(c, ST_OP_any_dim, equal, -1);
}

/* The same for a long line of elements: one test element at a time, in
 * vectors. */
static st_tensor *among_each(st_op_scope *c, const st_tensor *line,
                             const st_tensor *test) {
  const st_tensor *flat = st__apply_flatten(c, test);
  st_tensor *found = NULL;
  for (int64_t i = 0; i < test->numel; i++) {
    st_tensor *equal = st__apply2(c, ST_OP_eq_Tensor, line,
                                  st__apply_narrow(c, flat, 0, i, 1));
    if (found) ST_APPLY_INTO(c, ST_OP_bitwise_or_Tensor, found, equal);
    else found = equal;
  }
  return found;
}

/* Bytes are found in a table; a negative one counts from its end. */
static st_tensor *among_bytes(st_op_scope *c, const st_tensor *line,
                              const st_tensor *test) {
  const st_tensor *table = ST_APPLY(
    c, ST_OP_scatter_value,
    ST_APPLY(c, ST_OP_new_zeros, line, ST_INTS(BYTES), ST_BOOL), 0,
    st__apply_to(c, st__apply_flatten(c, test), ST_INT64), st__of_bool(true));
  const st_tensor *at = st__apply_to(c, line, ST_INT64);
  return ST_APPLY(c, ST_OP_take, table, at);
}

/* Searches the sorted test elements: an element is in test if it is equal to
 * the first that is not less, or to the last. NaN is equal to nothing. */
static st_tensor *among_many(st_op_scope *c, const st_tensor *line,
                             const st_tensor *test) {
  st_dtype d;
  c->status = st__promoted(st__promote(line->dtype, test->dtype), &d);
  if (!st__scope_ok(c)) return NULL;
  const st_value all = st__of_tensor(
    st__apply_to(c, st__apply_flatten(c, test), d));
  st_tensor *sorted[2] = {NULL, NULL};
  st__apply_multi(c, ST_OP_sort, 1, &all, 2, sorted);
  line = st__apply_to(c, line, d);
  const st_tensor *at = ST_APPLY(
    c, ST_OP_clamp_max,
    st__apply2(c, ST_OP_searchsorted_Tensor, sorted[0], line), test->numel - 1);
  return st__apply2(c, ST_OP_eq_Tensor, line,
                    ST_APPLY(c, ST_OP_take, sorted[0], at));
}

static bool is_byte(const st_tensor *t) {
  return t->dtype == ST_UINT8 || t->dtype == ST_INT8;
}

/* Which of the elements, which are contiguous, are in test? */
static st_tensor *among(st_op_scope *c, const st_tensor *elements,
                        const st_tensor *test) {
  const bool few = test->numel <= FEW, many = elements->numel > MANY;
  const bool bytes = is_byte(elements) && elements->dtype == test->dtype;
  if (few && (!many || test->ndim == 0 || test->numel == 0)) {
    return among_few(c, elements, test);
  }
  const st_tensor *line = st__apply_flatten(c, elements);
  if (!st__scope_ok(c)) return NULL;
  const st_tensor *found = many && bytes ? among_bytes(c, line, test)
                         : few ? among_each(c, line, test)
                         : among_many(c, line, test);
  return ST_APPLY(c, ST_OP_reshape, found,
                  st__of_ints(elements->sizes, elements->ndim));
}

static st_status check_isin(const st_tensor *t) {
  const st_dtype d = t->dtype;
  return d == ST_BOOL || st__is_complex(d) ? st__no_kernel_for(d) : ST_OK;
}

/* An operand as a tensor; a scalar is converted to a 0-dimensional one, which
 * the scope owns. */
static const st_tensor *operand(st_op_scope *c, const st_value *v) {
  if (v->tag == ST_TAG_TENSOR || !st__scope_ok(c)) return st__to_tensor(v);
  const st_scalar s = st__scalar_of(v);
  const st_dtype d = s.kind == ST_SCALAR_FLOAT ? ST_FLOAT64
                                               : st__scalar_dtype(s);
  st_tensor *t = NULL;
  c->status = st__tensor_from_scalar(s, d, true, &t);
  if (st__scope_ok(c)) c->t[c->n++] = t;
  return t;
}

ST_BOXED(st__box_isin) {
  st_op_scope c = {.n = 0};
  const st_tensor *elements = operand(&c, st__next(&args));
  const st_tensor *test = operand(&c, st__next(&args));
  st__next(&args); /* assume_unique */
  ST_ARGS(BOOL(invert));
  if (st__scope_ok(&c)) c.status = check_isin(elements);
  if (st__scope_ok(&c)) c.status = check_isin(test);
  elements = st__apply1(&c, ST_OP_contiguous, elements);
  if (st__scope_ok(&c) && st__is_privateuse(test)) {
    elements = ST_APPLY(&c, ST_OP_to_prim_Device, elements, test->device);
  }
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, rets);
  st_tensor *found = among(&c, elements, test);
  if (invert) found = st__apply1(&c, ST_OP_logical_not, found);
  return st__scope_return(&c, found, rets);
}

/* -- unique --------------------------------------------------------------- */

typedef struct runs {
  bool inverse, counts; /* results requested by the caller */
  int64_t base, n;      /* index base; number of items */
  st_tensor *starts;
} runs;

static st_tensor *no_indices(st_op_scope *c, const st_tensor *like) {
  return ST_APPLY(c, ST_OP_new_empty, like, ST_INTS(0), ST_INT64);
}

static st_tensor *first_indices(st_op_scope *c, const runs *r) {
  return st__apply_flatten(c, st__apply1(c, ST_OP_nonzero, r->starts));
}

/* The run index of each item; an empty tensor if it is not requested. */
static st_tensor *run_of_each(st_op_scope *c, const runs *r,
                              const st_tensor *like) {
  if (!r->inverse) return no_indices(c, like);
  const st_tensor *number = ST_APPLY(c, ST_OP_cumsum, r->starts, 0);
  return ST_APPLY(c, ST_OP_add_Scalar, number, r->base - 1);
}

static st_tensor *run_lengths(st_op_scope *c, const runs *r,
                              const st_tensor *like) {
  if (!r->counts) return no_indices(c, like);
  st_tensor *parts[2] = {first_indices(c, r)};
  parts[1] = ST_APPLY(c, ST_OP_new_full, like, ST_INTS(1), r->n, ST_INT64);
  const st_value both = st__of_tensors(parts, 2);
  return st__apply1(c, ST_OP_diff, st__apply(c, ST_OP_cat, 1, &both));
}

static st_status unique_of_line(st_op_scope *c, const st_tensor *self, runs *r,
                                st_value *rets) {
  const st_tensor *line = st__apply_flatten(c, self);
  st_tensor *out[3];
  r->n = self->numel;
  r->starts = run_starts(c, line, r->n);
  out[0] = st__apply2(c, ST_OP_masked_select, line, r->starts);
  out[1] = run_of_each(c, r, self);
  if (r->inverse) {
    out[1] =
      ST_APPLY(c, ST_OP_reshape, out[1], st__of_ints(self->sizes, self->ndim));
  }
  out[2] = run_lengths(c, r, self);
  return st__scope_end(c, 3, out, rets);
}

static st_tensor *move_dim(st_op_scope *c, const st_tensor *t, int from,
                           int to) {
  return ST_APPLY(c, ST_OP_movedim_int, t, from, to);
}

/* A matrix with one row per index of dim. */
static st_tensor *rows_along(st_op_scope *c, const st_tensor *self, int dim) {
  const int64_t n = self->sizes[dim];
  const st_tensor *front = move_dim(c, self, dim, 0);
  const int64_t sizes[] = {n, n ? self->numel / n : 0};
  return ST_APPLY(c, ST_OP_reshape, front, st__of_ints(sizes, 2));
}

static st_status along_dim(const st_tensor *self, int64_t dim, int *at) {
  ST_TRY(st__wrap_dim(dim, self->ndim, at));
  if (self->numel > 0 || self->sizes[*at] == 0) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "dimensions other than %d of self must not "
                  "have size 0; its shape is %s", (int)st__display_index(*at),
                  ST_SHAPE_TEXT(self));
}

static st_status unique_along(st_op_scope *c, const st_tensor *self,
                              int64_t dim, runs *r, st_value *rets) {
  st_tensor *out[3];
  int at = 0;
  ST_TRY(along_dim(self, dim, &at));
  r->n = self->sizes[at];
  r->starts = run_starts(c, rows_along(c, self, at), r->n);
  /* As in ATen, dim has the largest stride. */
  out[0] = move_dim(c,
                    ST_APPLY(c, ST_OP_index_select, move_dim(c, self, at, 0), 0,
                             first_indices(c, r)),
                    0, at);
  out[1] = run_of_each(c, r, self);
  out[2] = run_lengths(c, r, self);
  return st__scope_end(c, 3, out, rets);
}

/* As in ATen, all three results are computed along a dimension. */
ST_BOXED(st__box_unique_consecutive) {
  ST_ARGS(TENSOR(self));
  runs r = {.n = 0};
  ST_ARGS_TO(r, BOOL(inverse), BOOL(counts));
  ST_ARGS(BOXED(dim));
  r.base = st__next_int(&args);
  st_op_scope c = {.n = 0};
  if (st__is_none(dim) || self->ndim == 0 ||
      (self->ndim == 1 && dim->u.i == 0)) {
    return unique_of_line(&c, self, &r, rets);
  }
  r.inverse = r.counts = true;
  return unique_along(&c, self, dim->u.i, &r, rets);
}

/* unique: the runs of the sorted elements. */
ST_BOXED(st__box_unique2) {
  ST_ARGS(TENSOR(self));
  runs r = {.n = self->numel};
  st__next(&args); /* sorted */
  ST_ARGS_TO(r, BOOL(inverse), BOOL(counts), INT(base));
  st_op_scope c = {.n = 0};
  st_tensor *sorted[2], *out[3];
  const st_value line = st__of_tensor(st__apply_flatten(&c, self));
  st__apply_multi(&c, ST_OP_sort, 1, &line, 2, sorted);
  r.starts = run_starts(&c, sorted[0], r.n);
  out[0] = st__apply2(&c, ST_OP_masked_select, sorted[0], r.starts);
  out[1] = run_of_each(&c, &r, self);
  if (r.inverse) {
    out[1] =
      ST_APPLY(&c, ST_OP_reshape,
               ST_APPLY(&c, ST_OP_scatter_src, out[1], 0, sorted[1], out[1]),
               st__of_ints(self->sizes, self->ndim));
  }
  out[2] = run_lengths(&c, &r, self);
  return st__scope_end(&c, 3, out, rets);
}

/* -- unique along a dimension --------------------------------------------- */

static bool is_after(const int64_t *a, const int64_t *b, int64_t m) {
  for (int64_t i = 0; i < m; i++) if (a[i] != b[i]) return a[i] > b[i];
  return false;
}

/* Merge sort of row indices: rows hold m ranks each and are ordered
 * lexicographically. *sorted is the buffer, a or b, that holds the result. */
static st_status sort_rows(int64_t *a, int64_t *b, int64_t n,
                           const int64_t *ranks, int64_t m, int64_t **sorted) {
  for (int64_t i = 0; i < n; i++) a[i] = i;
  for (int64_t run = 1; run < n; run *= 2) {
    for (int64_t from = 0; from < n; from += 2 * run) {
      const int64_t mid = from + run < n ? from + run : n;
      const int64_t to = mid + run < n ? mid + run : n;
      for (int64_t i = from, j = mid, k = from; k < to; k++) {
        const bool left = j == to || (i < mid && !is_after(
          ranks + a[i] * m, ranks + a[j] * m, m));
        b[k] = left ? a[i++] : a[j++];
        if (k % 4096 == 0) ST_TRY(st__poll_interrupt());
      }
    }
    int64_t *t = a;
    a = b, b = t;
  }
  *sorted = a;
  return ST_OK;
}

/* The indices of the rows in sorted order. Elements are compared by their
 * ranks, which have the same dtype for every dtype of rows. */
static st_tensor *order_rows(st_op_scope *c, const st_tensor *rows, int64_t n) {
  int64_t *a;
  st_tensor *ranks[3];
  st__apply_multi(c, ST_OP__unique2,
                  ST_VALUES(rows, st__of_bool(true), st__of_bool(true),
                            st__of_bool(false), 0),
                  3, ranks);
  if (!st__scope_ok(c)) return NULL;
  if (!st__has_elements(rows)) return st__scope_new(c, rows, ST_INT64, 1, &n);
  const st_tensor *space = st__new_cpu_vector(c, ST_INT64, 2 * n, &a);
  const int64_t *rank = st__scope_snapshot(c, ranks[1]);
  if (!st__scope_ok(c)) return NULL;
  int64_t *found = a;
  c->status = sort_rows(a, a + n, n, rank, n ? ranks[1]->numel / n : 0,
                        &found);
  if (!st__scope_ok(c)) return NULL;
  st_tensor *order = st__apply_narrow(c, space, 0, found == a ? 0 : n, n);
  if (!st__is_privateuse(rows)) return order;
  return ST_APPLY(c, ST_OP_to_prim_Device, order, rows->device);
}

static st_status unique_dim(st_op_scope *c, const st_tensor *self, int64_t dim,
                            runs *r, st_value *rets) {
  st_tensor *out[3];
  int at = 0;
  ST_TRY(along_dim(self, dim, &at));
  r->n = self->sizes[at];
  const st_tensor *rows = rows_along(c, self, at);
  const st_tensor *order = order_rows(c, rows, r->n);
  r->starts =
    run_starts(c, ST_APPLY(c, ST_OP_index_select, rows, 0, order), r->n);
  out[0] =
    move_dim(c,
             ST_APPLY(c, ST_OP_index_select, move_dim(c, self, at, 0), 0,
                      st__apply2(c, ST_OP_masked_select, order, r->starts)),
             0, at);
  out[1] = run_of_each(c, r, self);
  if (r->inverse) {
    out[1] = ST_APPLY(c, ST_OP_scatter_src, out[1], 0, order, out[1]);
  }
  out[2] = run_lengths(c, r, self);
  return st__scope_end(c, 3, out, rets);
}

ST_BOXED(st__box_unique_dim) {
  ST_ARGS(TENSOR(self), INT(dim));
  runs r = {.n = 0};
  st__next(&args); /* sorted */
  ST_ARGS_TO(r, BOOL(inverse), BOOL(counts), INT(base));
  st_op_scope c = {.status = ST_OK};
  return self->ndim == 0 ? unique_of_line(&c, self, &r, rets)
                         : unique_dim(&c, self, dim, &r, rets);
}
