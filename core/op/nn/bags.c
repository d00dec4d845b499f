/* The operators of bags of indices that embedding_bag is made of: sums of rows,
 * the rows of the maxima, and to which bag an index belongs. Positions are of
 * C.
 */

#include <inttypes.h>

#include "base/threads.h"
#include "kernel/kernel.h"
#include "kernel/nn/bag_sums.h"
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
  ST_ARGS(TENSOR(starts), INT(n));
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
  st_bags_ctx ctx; /* of the first bag */
  st_loop loop;
  char *out;
  int64_t size;    /* elements of a row of out */
  int64_t pitch;   /* bytes from row to row */
} bag_run;

static void run_range(void *ctx, int64_t begin, int64_t end) {
  const bag_run *r = ctx;
  st_bags_ctx of_first = r->ctx;
  of_first.starts += begin;
  r->loop((char *[]){r->out + begin * r->pitch}, (int64_t[]){0, r->pitch},
          r->size, end - begin, &of_first);
}

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

static st_status check_rows(const st_bags_ctx *c, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = c->indices[i];
    if ((at >= 0 && at < rows) || at == c->padding) continue;
    return st__fail(ST_BAD_INDEX, "index %" PRId64 " (counted from 0) is out "
                    "of range for %" PRId64 " rows of weight", at, rows);
  }
  return ST_OK;
}

/* The loop over the bags of r into out, all on the CPU and contiguous. */
static st_status run_bags(bag_run *r, const st_tensor *weight, int64_t n,
                          st_kernel_id kernel, st_tensor *out) {
  const int64_t bags = out->sizes[0];
  r->size = out->sizes[1];
  r->pitch = r->size * (int64_t)st__itemsize(out->dtype);
  r->out = st__data(out);
  r->ctx.row = weight->strides[0];
  r->ctx.weight = st__data(weight);
  ST_TRY(check_starts(r->ctx.starts, bags, n));
  ST_TRY(check_rows(&r->ctx, weight->sizes[0], n));
  if (out->numel == 0) return ST_OK;
  const double work = (double)n / (double)bags * (double)r->size;
  const double grain = (double)st__kernel_grain(kernel) / (work + 1);
  return st__parallel_try(0, bags, (int64_t)grain + 1, run_range, r);
}

/* weight, indices, starts, padding; scales may be NULL. */
static st_status run(const st_value *args, const st_tensor *scales,
                     st_kernel_id kernel, st_value *rets) {
  ST_ARGS(TENSOR(weight), TENSOR(indices), TENSOR(starts));
  const st_dtype dtype = weight->dtype;
  bag_run r = {.ctx.padding = st__next_int(&args),
               .loop = st__kernel(kernel, dtype)};
  st_op_scope c = {.n = 0};
  ST_TRY(st__check_cpu_or_meta(weight));
  if (!r.loop) return st__no_kernel_for(dtype);
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
  const st_dtype made = kernel == ST_K_bag_maxima ? ST_INT64 : dtype;
  st_tensor *out = st__scope_new(&c, like, made, 2, sizes);
  if (st__scope_ok(&c) && st__is_cpu(out)) {
    r.ctx.starts = (const int64_t *)st__data(starts);
    r.ctx.indices = (const int64_t *)st__data(indices);
    r.ctx.scales = scales ? st__data(scales) : NULL;
    c.status = run_bags(&r, weight, indices->numel, kernel, out);
  }
  return st__scope_return(&c, out, rets);
}

ST_BOXED_AS(st__box_bag_sums, run, args, st__to_tensor(&args[4]),
            ST_K_bag_sums)

ST_BOXED(st__box_bag_maxima) {
  return run(args, NULL, ST_K_bag_maxima, rets);
}
