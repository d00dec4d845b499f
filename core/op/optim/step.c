/* A step of an optimizer: one pass over the elements of all parameters.
 *
 * Note [One pass over all parameters]
 * The elements of all parameters count as one long row, which the threads
 * share, so many small parameters are as fast as a large one. A parameter, its
 * states and its gradient are rows of adjacent elements in the same order: one
 * whose strides differ from those of the parameter is copied, and what is
 * written is copied back. Rows of half precision become float32 in blocks.
 */

#include "op/optim/step.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "op/create/factory.h"
#include "tensor/overlap.h"

enum { BLOCK = 256 };

/* A parameter with its states and its gradient. */
typedef struct row {
  char *data[ST_OPTIM_LISTS];
  uint8_t dtype[ST_OPTIM_LISTS];
  int64_t begin, n;                    /* its part of the long row */
  double numbers[ST_OPTIM_NUMBERS];
  st_tensor *own[ST_OPTIM_LISTS];      /* a copy in the parameter's order */
} row;

typedef struct extent { const char *begin, *end; } extent;

typedef struct job {
  const st_optim_call *call;
  st_dtype dtype;                      /* of the computation */
  st_loop loop, unscale;
  bool is_meta;                        /* one of the tensors is */
  int64_t total;
  uint32_t n;
  row *rows;
} job;

/* -- Rows ----------------------------------------------------------------- */

static void run_plain(const job *j, const row *r, char **data, int64_t n) {
  const int64_t size = (int64_t)st__itemsize(j->dtype);
  int64_t strides[2 * ST_OPTIM_LISTS];
  const int last = j->call->nlists - 1;
  double numbers[ST_OPTIM_NUMBERS] = {0};
  for (int i = 0; i < 2 * ST_OPTIM_LISTS; i++) strides[i] = size;
  numbers[ST_OPTIM_A] = j->call->scale;
  if (j->call->scale != 0) {
    char *g[] = {data[last]};
    j->unscale(g, strides, n, 1, numbers);
  }
  j->loop(data, strides, n, 1, r->numbers);
}

/* The same for rows of other dtypes than that of the computation. */
static void run_block(const job *j, const row *r, char **data, int64_t n) {
  float block[ST_OPTIM_LISTS][BLOCK];
  char *at[ST_OPTIM_LISTS] = {NULL};
  const int last = j->call->nlists - 1;
  for (int i = 0; i <= last; i++) {
    const st_dtype d = (st_dtype)r->dtype[i];
    const int64_t strides[] = {4, (int64_t)st__itemsize(d), 0, 0};
    char *pair[] = {(char *)block[i], data[i]};
    at[i] = (char *)block[i];
    if (d == ST_FLOAT32) at[i] = data[i];
    else st__copy_kernel(ST_FLOAT32, d)(pair, strides, n, 1, NULL);
  }
  char *from[ST_OPTIM_LISTS];
  memcpy(from, at, sizeof at);
  run_plain(j, r, at, n);
  for (int i = 0; i <= last; i++) {
    const st_dtype d = (st_dtype)r->dtype[i];
    const int64_t strides[] = {(int64_t)st__itemsize(d), 4, 0, 0};
    char *pair[] = {data[i], from[i]};
    if (d == ST_FLOAT32 || (i == last && j->call->scale == 0)) continue;
    st__copy_kernel(d, ST_FLOAT32)(pair, strides, n, 1, NULL);
  }
}

/* Runs the elements [begin, end) of a row. */
static void run_row(const job *j, const row *r, int64_t begin, int64_t end) {
  bool is_plain = true;
  for (int i = 0; i < j->call->nlists; i++) is_plain &= r->dtype[i] == j->dtype;
  const int64_t most = is_plain ? ST_PERIOD : BLOCK;
  for (int64_t n; begin < end && !st__stops(); begin += n) {
    char *data[ST_OPTIM_LISTS];
    n = end - begin < most ? end - begin : most;
    for (int i = 0; i < j->call->nlists; i++) {
      data[i] = r->data[i] +
                begin * (int64_t)st__itemsize((st_dtype)r->dtype[i]);
    }
    if (is_plain) run_plain(j, r, data, n);
    else run_block(j, r, data, n);
  }
}

static void run_range(void *ctx, int64_t begin, int64_t end) {
  const job *j = ctx;
  uint32_t low = 0, high = j->n;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (j->rows[middle].begin <= begin) low = middle;
    else high = middle;
  }
  for (const row *r = &j->rows[low]; begin < end; r++) {
    const int64_t to = r->begin + r->n < end ? r->begin + r->n : end;
    if (to > begin) run_row(j, r, begin - r->begin, to - r->begin);
    if (to > begin) begin = to;
  }
}

/* -- Checks --------------------------------------------------------------- */

static st_status check_dtype(const job *j, const st_tensor *t, int list,
                             uint32_t k) {
  if (t->dtype == j->dtype ||
      (j->dtype == ST_FLOAT32 && st__is_reduced_float(t->dtype))) {
    return ST_OK;
  }
  return st__fail(ST_BAD_DTYPE, "argument '%s' number %u has dtype %s, but %s",
                  j->call->name[list], k + 1, st__dtype_name(t->dtype),
                  j->dtype == ST_FLOAT64
                    ? "the first parameter float64"
                    : "float32, float16 or bfloat16 is expected");
}

static st_status check_shape(const job *j, const st_tensor *t, int list,
                             uint32_t k) {
  const st_tensor *p = j->call->list[0].p[k];
  if (t->ndim == p->ndim &&
      memcmp(t->sizes, p->sizes, (size_t)p->ndim * sizeof *p->sizes) == 0) {
    return ST_OK;
  }
  return st__fail(ST_BAD_SHAPE, "argument '%s' number %u has shape %s, its "
                  "parameter %s", j->call->name[list], k + 1,
                  ST_SHAPE_TEXT(t), ST_SHAPE_TEXT(p));
}

static st_status check_lists(job *j) {
  const st_optim_call *c = j->call;
  for (int i = 1; i < c->nlists; i++) {
    if (c->list[i].n == j->n) continue;
    return st__fail(ST_BAD_SHAPE, "argument '%s' has %u tensors, argument '%s' "
                    "%u", c->name[i], c->list[i].n, c->name[0], j->n);
  }
  if (c->numbers_of && c->steps.n != j->n) {
    return st__fail(ST_BAD_SHAPE, "argument 'state_steps' has %u tensors, "
                    "argument '%s' %u", c->steps.n, c->name[0], j->n);
  }
  for (int i = 0; i < c->nlists; i++) {
    for (uint32_t k = 0; k < j->n; k++) {
      const st_tensor *t = c->list[i].p[k];
      ST_TRY(st__check_cpu_or_meta(t));
      ST_TRY(check_dtype(j, t, i, k));
      ST_TRY(check_shape(j, t, i, k));
      j->is_meta |= !st__has_elements(t);
    }
  }
  for (uint32_t k = 0; k < c->steps.n; k++) {
    j->is_meta |= !st__has_elements(c->steps.p[k]);
  }
  return ST_OK;
}

/* -- Preparation ---------------------------------------------------------- */

static bool has_order_of(const st_tensor *t, const st_tensor *p) {
  return (t->flags & ST_FLAG_DENSE) &&
         (t == p || memcmp(t->strides, p->strides,
                           (size_t)p->ndim * sizeof *p->strides) == 0);
}

/* The parameter of a row, whose order is that of the others. */
static const st_tensor *parameter_of(const job *j, uint32_t k) {
  const st_tensor *own = j->rows[k].own[0];
  return own ? own : j->call->list[0].p[k];
}

/* Tensor i of a row becomes a copy in the order of the parameter. */
static st_status copy_tensor(const job *j, int i, uint32_t k) {
  row *r = &j->rows[k];
  const st_tensor *t = j->call->list[i].p[k], *p = parameter_of(j, k);
  const st_options options = {t->dtype, t->device};
  if (r->own[i]) return ST_OK;
  ST_TRY(st__new_empty_like(p, options, ST_FORMAT_PRESERVE, &r->own[i]));
  r->data[i] = st__data(r->own[i]);
  return st__copy_unchecked(r->own[i], t);
}

/* Tensor i of a row, in the order of the parameter: itself or a copy. */
static st_status order_tensor(const job *j, int i, uint32_t k) {
  row *r = &j->rows[k];
  const st_tensor *t = j->call->list[i].p[k];
  const bool is_gradient = i + 1 == j->call->nlists;
  r->dtype[i] = (uint8_t)t->dtype;
  if (!is_gradient || j->call->scale != 0) {
    ST_TRY(st__check_internal_overlap(t));
  }
  if (!has_order_of(t, parameter_of(j, k))) return copy_tensor(j, i, k);
  r->data[i] = st__data(t);
  return ST_OK;
}

static st_status prepare(job *j) {
  const st_optim_call *c = j->call;
  for (uint32_t k = 0; k < j->n; k++) {
    row *r = &j->rows[k];
    double step = 0;
    memcpy(r->numbers, c->numbers, sizeof c->numbers);
    if (c->numbers_of) {
      ST_TRY(st__optim_number(c->steps.p[k], "state_steps", &step));
      c->numbers_of(c, step, r->numbers);
    }
    for (int i = 0; i < c->nlists; i++) ST_TRY(order_tensor(j, i, k));
    r->begin = j->total;
    r->n = c->list[0].p[k]->numel;
    j->total += r->n;
  }
  return ST_OK;
}

/* -- Shared memory --------------------------------------------------------- */

static int by_begin(const void *a, const void *b) {
  const extent *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static extent extent_of(const row *r, int i) {
  const int64_t size = (int64_t)st__itemsize((st_dtype)r->dtype[i]);
  return (extent){r->data[i], r->data[i] + r->n * size};
}

/* How many lists are written, from the first one on: the gradients, which are
 * the last, only if they are unscaled. */
static int written_lists(const st_optim_call *c) {
  return c->nlists - (c->scale == 0);
}

/* The memory of what is written, in order: no two rows share any. */
static st_status find_written(const job *j, extent *e, size_t *n) {
  for (uint32_t k = 0; k < j->n; k++) {
    for (int i = 0; i < written_lists(j->call) && j->rows[k].n > 0; i++) {
      e[(*n)++] = extent_of(&j->rows[k], i);
    }
  }
  qsort(e, *n, sizeof *e, by_begin);
  for (size_t i = 1; i < *n; i++) {
    if (e[i].begin >= e[i - 1].end) continue;
    return st__fail(ST_OVERLAP, "two of the tensors share memory, and both are "
                    "written");
  }
  return ST_OK;
}

static bool is_written(const extent *e, size_t n, extent x) {
  size_t low = 0, high = n; /* before low, none reaches x */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (e[middle].end <= x.begin) low = middle + 1;
    else high = middle;
  }
  return low < n && e[low].begin < x.end;
}

/* Gradients that are only read become copies if a step would write to them. */
static st_status copy_gradients(const job *j, const extent *e, size_t n) {
  for (int i = written_lists(j->call); i < j->call->nlists; i++) {
    for (uint32_t k = 0; k < j->n; k++) {
      const row *r = &j->rows[k];
      if (r->n == 0 || !is_written(e, n, extent_of(r, i))) continue;
      ST_TRY(copy_tensor(j, i, k));
    }
  }
  return ST_OK;
}

/* Refuses rows that are written and share memory; copies gradients that share
 * it with these. */
static st_status separate(const job *j) {
  const size_t bytes = j->n * (size_t)j->call->nlists * sizeof(extent);
  extent *e = st__alloc(ST_MEM_SCRATCH, bytes);
  size_t n = 0;
  if (!e) return ST_NO_MEMORY;
  st_status status = find_written(j, e, &n);
  if (status == ST_OK) status = copy_gradients(j, e, n);
  st__free(ST_MEM_SCRATCH, e, bytes);
  return status;
}

/* -- The step -------------------------------------------------------------- */

static st_status copy_back(const job *j) {
  const st_optim_call *c = j->call;
  for (uint32_t k = 0; k < j->n; k++) {
    for (int i = 0; i < written_lists(c); i++) {
      const st_tensor *own = j->rows[k].own[i];
      if (own) ST_TRY(st__copy_unchecked(c->list[i].p[k], own));
    }
  }
  return ST_OK;
}

static st_status run_job(job *j) {
  const int64_t grain = st__kernel_grain(j->call->kernel);
  ST_TRY(prepare(j));
  ST_TRY(separate(j));
  ST_TRY(st__parallel_try(0, j->total, grain, run_range, j));
  return copy_back(j);
}

/* -- Exported ------------------------------------------------------------- */

st_status st__optim_number(const st_tensor *t, const char *name, double *out) {
  if (t->numel != 1) {
    return st__fail(ST_BAD_SHAPE, "argument '%s' must have one element each, "
                    "got shape %s", name, ST_SHAPE_TEXT(t));
  }
  const st_loop loop = st__copy_kernel(ST_FLOAT64, t->dtype);
  if (st__is_complex(t->dtype) || !loop) {
    return st__fail(ST_BAD_DTYPE, "argument '%s' must be real, got %s", name,
                    st__dtype_name(t->dtype));
  }
  ST_TRY(st__check_cpu_or_meta(t));
  if (!st__has_elements(t)) return ST_OK;
  const int64_t strides[4] = {0};
  char *pair[] = {(char *)out, st__data(t)};
  loop(pair, strides, 1, 1, NULL);
  return ST_OK;
}

st_status st__optim_step(const st_optim_call *call) {
  job j = {.call = call, .n = call->list[0].n};
  if (j.n == 0) return ST_OK;
  j.dtype = call->list[0].p[0]->dtype == ST_FLOAT64 ? ST_FLOAT64 : ST_FLOAT32;
  j.loop = st__kernel(call->kernel, j.dtype);
  j.unscale = st__kernel(ST_K_unscale, j.dtype);
  ST_TRY(check_lists(&j));
  if (j.is_meta) return ST_OK;
  const size_t bytes = j.n * sizeof *j.rows;
  j.rows = st__alloc_zero(ST_MEM_SCRATCH, bytes);
  if (!j.rows) return ST_NO_MEMORY;
  const st_status status = run_job(&j);
  for (uint32_t k = 0; k < j.n; k++) {
    for (int i = 0; i < call->nlists; i++) {
      st__tensor_release(&j.rows[k].own[i]);
    }
  }
  st__free(ST_MEM_SCRATCH, j.rows, bytes);
  return status;
}
