/* Binary search in sorted sequences: searchsorted, bucketize.
 */

#include <string.h>

#include "base/threads.h"
#include "kernel/sort/sort.h"
#include "op/reduce/reduction.h"
#include "op/row/op.h"

/* -- Arguments ------------------------------------------------------------ */

typedef struct query {
  st_tensor *sequence, *values; /* owned; of the same dtype */
  const st_tensor *sorter;      /* or NULL */
  bool right, is_int32;
  int64_t base;
} query;

static void release(query *q) {
  st__tensor_release(&q->sequence);
  st__tensor_release(&q->values);
}

static st_status get_side(const st_run *r, bool *right) {
  const st_value *side = st__named_arg(r, "side");
  *right = st__to_bool(st__named_arg(r, "right"), false);
  if (!side || st__is_none(side)) return ST_OK;
  const bool is_right = strcmp(side->u.string, "right") == 0;
  if (!is_right && strcmp(side->u.string, "left") != 0) {
    return st__fail(ST_BAD_VALUE, "side must be \"left\" or \"right\", not "
                    "\"%s\"", side->u.string);
  }
  if (*right && !is_right) {
    return st__fail(ST_BAD_VALUE, "side is \"left\", but right is true");
  }
  *right = is_right;
  return ST_OK;
}

static st_status as_tensor(const st_value *v, st_tensor **out) {
  if (v->tag == ST_TAG_TENSOR) {
    st__tensor_retain(v->u.tensor);
    *out = v->u.tensor;
    return ST_OK;
  }
  const st_scalar s = st__scalar_of(v);
  const st_dtype d = s.kind == ST_SCALAR_FLOAT ? ST_FLOAT64
                                               : st__scalar_dtype(s);
  return st__tensor_from_scalar(s, d, true, out);
}

/* Replaces *t by a copy converted to d, if it has another dtype. */
static st_status as_dtype(st_tensor **t, st_dtype d) {
  st_tensor *same = NULL;
  if ((st_dtype)(*t)->dtype == d) return ST_OK;
  ST_TRY(st__clone(*t, d, ST_FORMAT_CONTIGUOUS, &same));
  st__tensor_release(t);
  *t = same;
  return ST_OK;
}

static bool leads(const st_tensor *sequence, const st_tensor *values) {
  bool fits = sequence->ndim == values->ndim;
  for (int d = 0; fits && d < values->ndim - 1; d++) {
    fits = sequence->sizes[d] == values->sizes[d];
  }
  return fits;
}

static st_status check_shapes(const st_run *r, const query *q) {
  const st_tensor *s = q->sequence;
  if (s->ndim == 0 || (s->ndim > 1 && r->row->meta == st__bucketize_meta)) {
    return st__fail(ST_BAD_SHAPE, "%s must %s, its shape is %s",
                    s->ndim ? "boundaries" : "the sorted sequence",
                    s->ndim ? "be a vector" : "have at least one dimension",
                    ST_SHAPE_TEXT(s));
  }
  if (s->ndim > 1 && !leads(s, q->values)) {
    return st__fail(ST_BAD_SHAPE, "self of shape %s and sorted_sequence of "
                    "shape %s must have the same sizes except in the last "
                    "dimension",
                    ST_SHAPE_TEXT(q->values), ST_SHAPE_TEXT(s));
  }
  if (!q->sorter) return ST_OK;
  if (q->sorter->dtype != ST_INT64) {
    return st__fail(ST_BAD_DTYPE, "sorter must have dtype int64, not %s",
                    st__dtype_name(q->sorter->dtype));
  }
  if (st__same_sizes(q->sorter, s)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "sorter has shape %s, sorted_sequence %s",
                  ST_SHAPE_TEXT(q->sorter), ST_SHAPE_TEXT(s));
}

static st_status check(const st_run *r, query *q) {
  st_tensor *both[] = {q->sequence, q->values};
  st_dtype d;
  st_loop loop;
  ST_TRY(st__promoted(st__result_type(both, 2), &d));
  ST_TRY(st__find_kernel(ST_K_search, d, &loop));
  ST_TRY(check_shapes(r, q));
  ST_TRY(as_dtype(&q->sequence, d));
  return as_dtype(&q->values, d);
}

static st_status get_query(const st_run *r, query *q) {
  const st_value *sorter = st__named_arg(r, "sorter");
  const int at = r->row->meta == st__bucketize_meta;
  *q = (query){.sorter = sorter ? st__to_tensor(sorter) : NULL,
               .is_int32 = st__to_bool(st__named_arg(r, "out_int32"), false),
               .base = st__to_int(st__named_arg(r, "base"), 0)};
  ST_TRY(get_side(r, &q->right));
  st_status status = as_tensor(&r->args[at], &q->sequence);
  if (status == ST_OK) status = as_tensor(&r->args[1 - at], &q->values);
  if (status == ST_OK) status = check(r, q);
  if (status != ST_OK) release(q);
  return status;
}

/* -- Meta functions ------------------------------------------------------- */

st_status st__searchsorted_meta(st_run *r) {
  query q;
  ST_TRY(get_query(r, &q));
  st_status status = st__set_output(
    r, 0, q.values->ndim, q.values->sizes, NULL,
    q.is_int32 ? ST_INT32 : ST_INT64);
  if (status == ST_OK) status = st__forbid_alias(r, 0, q.sequence);
  if (status == ST_OK) status = st__forbid_alias(r, 0, q.values);
  if (status == ST_OK) status = st__forbid_alias(r, 0, q.sorter);
  release(&q);
  return status;
}

st_status st__bucketize_meta(st_run *r) { return st__searchsorted_meta(r); }

/* -- Searching ------------------------------------------------------------ */

typedef struct job {
  st_search search;
  st_loop loop;
  char *out, *values, *sequence;
  int64_t itemsize, row; /* values per line of the sequence */
  int64_t line;          /* bytes of a line; 0: one line for all */
} job;

static void search_some(void *ctx, int64_t begin, int64_t end) {
  const job *b = ctx;
  for (int64_t at = begin, n; at < end; at += n) {
    const int64_t left = b->row - at % b->row;
    n = left < end - at ? left : end - at;
    char *data[] = {b->out + 8 * at, b->values + b->itemsize * at,
                    b->sequence + at / b->row * b->line};
    const int64_t strides[] = {8, b->itemsize, b->itemsize, 0, 0, 0};
    b->loop(data, strides, n, 1, &b->search);
  }
}

/* All tensors are contiguous; out is int64. */
static st_status search(const query *q, const st_tensor *sequence,
                        const st_tensor *values, st_tensor *out) {
  const st_dtype d = values->dtype;
  const int64_t length = sequence->sizes[sequence->ndim - 1];
  const int64_t itemsize = (int64_t)st__itemsize(d);
  job b = {{length, q->right, q->base}, st__kernel(ST_K_search, d),
           st__data(out), st__data(values), st__data(sequence), itemsize,
           values->numel, 0};
  if (sequence->ndim > 1) {
    b.row = values->sizes[values->ndim - 1];
    b.line = length * itemsize;
  }
  return st__parallel_try(0, values->numel, st__kernel_grain(ST_K_search),
                          search_some, &b);
}

/* The sequence, reordered by sorter and contiguous; owned. */
static st_status arrange(const query *q, st_tensor **out) {
  st_tensor *sorted = NULL;
  if (!q->sorter) {
    return st__contiguous(q->sequence, ST_FORMAT_CONTIGUOUS, out);
  }
  ST_TRY(st__invoke1(
    ST_OP_gather,
    ST_VALUES(q->sequence, -1, q->sorter, st__of_bool(false), q->base),
    &sorted));
  const st_status status = st__contiguous(sorted, ST_FORMAT_CONTIGUOUS, out);
  st__tensor_release(&sorted);
  return status;
}

st_status st__searchsorted_impl(st_run *r) {
  st_tensor *out = r->out[0], *sequence = NULL, *values = NULL, *own = NULL;
  st_status status;
  query q;
  if (out->numel == 0) return ST_OK;
  ST_TRY(get_query(r, &q));
  ST_TRY_FAIL(arrange(&q, &sequence));
  ST_TRY_FAIL(st__contiguous(q.values, ST_FORMAT_CONTIGUOUS, &values));
  if (out->dtype != ST_INT64 || !st__is_contiguous(out)) {
    ST_TRY_FAIL(st__tensor_empty(r->device, ST_INT64, out->ndim, out->sizes,
                                 ST_FORMAT_CONTIGUOUS, &own));
    out = own;
  }
  ST_TRY_FAIL(search(&q, sequence, values, out));
  if (own) status = st__copy_unchecked(r->out[0], own);
fail:
  st__tensor_release(&own);
  st__tensor_release(&values);
  st__tensor_release(&sequence);
  release(&q);
  return status;
}
