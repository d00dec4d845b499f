/* The loops of embedding_bag, and the operators that run them: sums of rows of
 * bags, the rows of the maxima, and to which bag an index belongs. Positions
 * are of C.
 */

#include <inttypes.h>

#include "base/threads.h"
#include "op/create/factory.h"
#include "op/nn/spatial.h"

/* -- Bags ----------------------------------------------------------------- */

/* starts[i]: where bag i starts in n indices, at the end the end of the last
 * bag. BAD_INDEX. */
static st_status check_starts(const int64_t *starts, int64_t bags, int64_t n) {
  if (bags > 0 && starts[0] != 0) {
    return st__fail(ST_BAD_INDEX, "the first bag must start at the first "
                    "index, not at %" PRId64 " (counted from 0)", starts[0]);
  }
  for (int64_t i = 0; i < bags; i++) {
    if (starts[i] <= starts[i + 1] && starts[i + 1] <= n) continue;
    return st__fail(ST_BAD_INDEX, "offsets must not fall and be at most %"
                    PRId64 ", but %" PRId64 " follows %" PRId64 " (counted "
                    "from 0)", n, starts[i + 1], starts[i]);
  }
  return ST_OK;
}

/* The bag of each of n indices, -1 for those behind the last bag. */
static st_status number_bags(const int64_t *starts, int64_t bags, int64_t n,
                             int64_t *of) {
  ST_TRY(check_starts(starts, bags, n));
  for (int64_t bag = 0; bag < bags; bag++) {
    for (int64_t i = starts[bag]; i < starts[bag + 1]; i++) of[i] = bag;
  }
  for (int64_t i = bags > 0 ? starts[bags] : 0; i < n; i++) of[i] = -1;
  return ST_OK;
}

ST_BOXED(st__box_bag_numbers) {
  const st_tensor *starts = st__next_tensor(&args);
  const int64_t n = st__next_int(&args);
  st_op_scope c = {.n = 0};
  ST_TRY(st__check_cpu_or_meta(starts));
  if (starts->dtype != ST_INT64 || starts->ndim != 1 || starts->numel < 1 ||
      n < 0) {
    return st__fail(ST_BAD_SHAPE, "starts must be a vector of int64 with an "
                    "element and n not negative, not %s of shape %s and %"
                    PRId64, st__dtype_name(starts->dtype),
                    ST_SHAPE_TEXT(starts), n);
  }
  const st_tensor *from = st__apply1(&c, ST_OP_contiguous, starts);
  st_tensor *of = st__scope_new(&c, starts, ST_INT64, 1, &n);
  if (st__scope_ok(&c) && st__is_cpu(of)) {
    c.status = number_bags((const int64_t *)st__data(from), from->numel - 1, n,
                           (int64_t *)st__data(of));
  }
  return st__scope_return(&c, of, rets);
}

/* -- Rows ----------------------------------------------------------------- */

typedef struct bag_run {
  int64_t size, row;      /* elements of a row, and from row to row */
  const int64_t *starts;  /* of each bag in indices, and the end of the last */
  const int64_t *indices; /* of rows of weight */
  int64_t padding;        /* the index that counts for nothing */
  const void *weight;
  const void *scales;     /* of the rows at indices; NULL: 1 */
  void *out;
} bag_run;

enum { BAG_GRAIN = 8192 };  /* elements worth a thread */

/* Counts n elements; asks whether to stop once in ST_PERIOD of them. */
static bool stops(int64_t *left, int64_t n) {
  *left -= n;
  if (*left > 0) return false;
  *left = ST_PERIOD;
  return st__stops();
}

#define T float
#define TAG f4
#include "op/nn/embedding_bag_template.h"
#undef T
#undef TAG

#define T double
#define TAG f8
#include "op/nn/embedding_bag_template.h"
#undef T
#undef TAG

static st_status check_bags(const st_tensor *weight, const st_tensor *indices,
                            const st_tensor *starts, const st_tensor *scales) {
  if (weight->ndim != 2 || indices->ndim != 1 || starts->ndim != 1 ||
      starts->numel < 1 || (scales && !st__same_sizes(scales, indices))) {
    return st__fail(ST_BAD_SHAPE, "weight must be a matrix, indices and starts "
                    "vectors, scales like indices, but their shapes are %s, %s "
                    "and %s", ST_SHAPE_TEXT(weight), ST_SHAPE_TEXT(indices),
                    ST_SHAPE_TEXT(starts));
  }
  if (indices->dtype == ST_INT64 && starts->dtype == ST_INT64 &&
      (!scales || scales->dtype == weight->dtype)) {
    return ST_OK;
  }
  return st__fail(ST_BAD_DTYPE, "indices and starts must be int64 and scales "
                  "of the dtype of weight, %s", st__dtype_name(weight->dtype));
}

static st_status check_rows(const bag_run *r, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = r->indices[i];
    if ((at >= 0 && at < rows) || at == r->padding) continue;
    return st__fail(ST_BAD_INDEX, "index %" PRId64 " (counted from 0) is out "
                    "of range for %" PRId64 " rows of weight", at, rows);
  }
  return ST_OK;
}

static st_range_fn loop_of(st_dtype dtype, bool finds_maxima) {
  if (dtype == ST_FLOAT32) return finds_maxima ? bag_maxima_f4 : bag_sums_f4;
  if (dtype == ST_FLOAT64) return finds_maxima ? bag_maxima_f8 : bag_sums_f8;
  return NULL;
}

/* The loop over the bags of r into out, all on the CPU and contiguous. */
static st_status run_bags(bag_run *r, const st_tensor *weight, int64_t n,
                          st_range_fn loop, st_tensor *out) {
  const int64_t bags = out->sizes[0];
  r->size = out->sizes[1];
  r->row = weight->strides[0];
  r->weight = st__data(weight);
  r->out = st__data(out);
  ST_TRY(check_starts(r->starts, bags, n));
  ST_TRY(check_rows(r, weight->sizes[0], n));
  if (out->numel == 0) return ST_OK;
  const double work = (double)n / (double)bags * (double)r->size;
  return st__parallel_try(0, bags, (int64_t)(BAG_GRAIN / (work + 1)) + 1, loop,
                          r);
}

/* weight, indices, starts, padding; scales may be NULL. */
static st_status run(const st_value *args, const st_tensor *scales,
                     bool finds_maxima, st_value *rets) {
  const st_tensor *weight = st__next_tensor(&args);
  const st_tensor *indices = st__next_tensor(&args);
  const st_tensor *starts = st__next_tensor(&args);
  bag_run r = {.padding = st__next_int(&args)};
  const st_dtype dtype = weight->dtype;
  const st_range_fn loop = loop_of(dtype, finds_maxima);
  st_op_scope c = {.n = 0};
  ST_TRY(st__check_cpu_or_meta(weight));
  if (!loop) return st__no_kernel_for(dtype);
  ST_TRY(check_bags(weight, indices, starts, scales));
  const st_tensor *like = st__meta_or(indices, st__meta_or(starts, weight));
  if (scales) like = st__meta_or(scales, like);
  const int64_t sizes[] = {starts->numel - 1, weight->sizes[1]};
  if (weight->strides[1] != 1) {
    weight = st__apply1(&c, ST_OP_contiguous, weight);
  }
  indices = st__apply1(&c, ST_OP_contiguous, indices);
  starts = st__apply1(&c, ST_OP_contiguous, starts);
  if (scales) scales = st__apply1(&c, ST_OP_contiguous, scales);
  st_tensor *out = st__scope_new(&c, like, finds_maxima ? ST_INT64 : dtype, 2,
                                 sizes);
  if (st__scope_ok(&c) && st__is_cpu(out)) {
    r.starts = (const int64_t *)st__data(starts);
    r.indices = (const int64_t *)st__data(indices);
    r.scales = scales ? st__data(scales) : NULL;
    c.status = run_bags(&r, weight, indices->numel, loop, out);
  }
  return st__scope_return(&c, out, rets);
}

ST_BOXED_AS(st__box_bag_sums, run, args, st__to_tensor(&args[4]), false)

ST_BOXED(st__box_bag_maxima) { return run(args, NULL, true, rets); }
