/* Operators along one dimension: running sums and extrema, softmax.
 */

#include "op/reduce/cumsum.h"

#include "base/threads.h"
#include "op/reduce/reduction.h"

/* -- Lines ---------------------------------------------------------------- */

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void swap_dims(st_lines *l, int i, int j) {
  int64_t t = l->sizes[i];
  l->sizes[i] = l->sizes[j];
  l->sizes[j] = t;
  for (int k = 0; k < l->n; k++) {
    t = l->strides[k][i];
    l->strides[k][i] = l->strides[k][j];
    l->strides[k][j] = t;
  }
}

static void sort_dims(st_lines *l) {
  const int64_t *by = l->strides[l->n - 1];
  for (int i = 1; i < l->ndim; i++) {
    for (int j = i; j > 0 && magnitude(by[j]) < magnitude(by[j - 1]); j--) {
      swap_dims(l, j, j - 1);
    }
  }
}

static bool can_merge(const st_lines *l, int a, int b) {
  for (int k = 0; k < l->n; k++) {
    if (l->strides[k][b] != l->strides[k][a] * l->sizes[a]) return false;
  }
  return true;
}

static void merge_dims(st_lines *l) {
  int n = 0;
  for (int i = 1; i < l->ndim; i++) {
    if (can_merge(l, n, i)) {
      l->sizes[n] *= l->sizes[i];
    } else {
      swap_dims(l, ++n, i);
    }
  }
  l->ndim = n + 1;
}

void st__lines_init(st_lines *l, int n, st_tensor *const *t, int dim) {
  const st_tensor *in = t[n - 1];
  l->n = n;
  l->dim = dim;
  l->ndim = 0;
  l->count = 1;
  l->length = in->ndim ? in->sizes[dim] : 1;
  for (int k = 0; k < n; k++) {
    l->t[k] = t[k];
    l->along[k] = in->ndim ? st__stride_of(t[k], dim) : 0;
  }
  for (int i = in->ndim - 1; i >= 0; i--) {
    if (i == dim || in->sizes[i] == 1) continue;
    for (int k = 0; k < n; k++) l->strides[k][l->ndim] = st__stride_of(t[k], i);
    l->count *= in->sizes[i];
    l->sizes[l->ndim++] = in->sizes[i];
  }
  if (l->ndim == 0) {
    for (int k = 0; k < n; k++) l->strides[k][0] = 0;
    l->sizes[l->ndim++] = 1;
  }
  sort_dims(l);
  merge_dims(l);
}

void st__lines_run(const st_lines *l, st_loop loop, const void *ctx,
                   int64_t begin, int64_t end) {
  for (int64_t at = begin, n1; at < end; at += n1) {
    const int64_t left = l->sizes[0] - at % l->sizes[0];
    int64_t s[2 * ST_LINE_OPERANDS];
    char *data[ST_LINE_OPERANDS];
    n1 = left < end - at ? left : end - at;
    for (int k = 0; k < l->n; k++) {
      int64_t rest = at;
      data[k] = l->t[k] ? st__data(l->t[k]) : NULL;
      s[k] = l->along[k];
      s[l->n + k] = l->strides[k][0];
      for (int i = 0; data[k] && i < l->ndim; i++) {
        data[k] += rest % l->sizes[i] * l->strides[k][i];
        rest /= l->sizes[i];
      }
    }
    loop(data, s, l->length, n1, ctx);
  }
}

/* -- Scans ---------------------------------------------------------------- */

typedef struct job { st_lines lines; st_loop loop; const void *ctx; } job;

static void run_some(void *ctx, int64_t begin, int64_t end) {
  const job *b = ctx;
  st__lines_run(&b->lines, b->loop, b->ctx, begin, end);
}

static void run_all(job *b, st_kernel_id kernel) {
  const int64_t grain = st__kernel_grain(kernel) / (b->lines.length + 1);
  st__parallel_for(0, b->lines.count, grain + 1, run_some, b);
}

static st_status get_dim(const st_run *r, int *dim) {
  return st__wrap_dim(r->args[1].u.i, st__arg_tensor(r, 0)->ndim, dim);
}

/* Output i is like self, contiguous. */
static st_status set_like_self(st_run *r, int i, st_dtype dtype) {
  const st_tensor *self = st__arg_tensor(r, 0);
  return st__set_output(r, i, self->ndim, self->sizes, NULL, dtype);
}

static st_status asked_dtype(const st_run *r, st_dtype otherwise,
                             st_dtype *dtype) {
  const st_value *asked = st__named_arg(r, "dtype");
  *dtype = asked ? (st_dtype)asked->u.i : otherwise;
  return *dtype < ST_DTYPE_COUNT ? ST_OK : st__no_kernel_for(*dtype);
}

st_status st__cumsum_meta(st_run *r) {
  const st_dtype self = (st_dtype)st__arg_tensor(r, 0)->dtype;
  const bool exact = self == ST_BOOL || st__is_integral(self);
  st_dtype dtype = exact ? ST_INT64 : self;
  int dim;
  if (r->given[0]) dtype = (st_dtype)r->given[0]->dtype;
  ST_TRY(get_dim(r, &dim));
  ST_TRY(asked_dtype(r, dtype, &dtype));
  return set_like_self(r, 0, dtype);
}

st_status st__softmax_meta(st_run *r) {
  const st_tensor *self = st__arg_tensor(r, 0);
  st_dtype dtype;
  int dim;
  ST_TRY(get_dim(r, &dim));
  ST_TRY(asked_dtype(r, (st_dtype)self->dtype, &dtype));
  if (!st__is_floating(dtype) && self->numel > 0) {
    return st__no_kernel_for(dtype);
  }
  return set_like_self(r, 0, dtype);
}

st_status st__scan_impl(st_run *r) {
  st_tensor *self = st__arg_tensor(r, 0), *in = NULL;
  const st_dtype dtype = (st_dtype)r->out[0]->dtype;
  job b;
  int dim;
  ST_TRY(get_dim(r, &dim));
  if (self->numel == 0) return ST_OK;
  ST_TRY(st__find_kernel(r->row->kernel, dtype, &b.loop));
  if (self->dtype == dtype) {
    st__tensor_retain(self);
    in = self;
  } else {
    ST_TRY(st__clone(self, dtype, ST_FORMAT_PRESERVE, &in));
  }
  b.ctx = NULL;
  st__lines_init(&b.lines, 2, (st_tensor *[]){r->out[0], in}, dim);
  run_all(&b, r->row->kernel);
  st__tensor_release(&in);
  return ST_OK;
}

/* -- The gradient of softmax ---------------------------------------------- */

/* args: grad_output, output, dim, input_dtype */
st_status st__softmax_backward_meta(st_run *r) {
  const st_tensor *grad = st__arg_tensor(r, 0), *output = st__arg_tensor(r, 1);
  const st_dtype d = (st_dtype)grad->dtype, to = (st_dtype)r->args[3].u.i;
  int dim;
  ST_TRY(st__wrap_dim(r->args[2].u.i, grad->ndim, &dim));
  if (!st__is_floating(d)) return st__no_kernel_for(d);
  if (!st__is_floating(to)) return st__no_kernel_for(to);
  if (output->dtype != d) {
    return st__fail(ST_BAD_DTYPE, "output has dtype %s, grad_output %s",
                    st__dtype_name((st_dtype)output->dtype),
                    st__dtype_name(d));
  }
  if (!st__same_sizes(grad, output)) {
    return st__fail(ST_BAD_SHAPE, "output has shape %s, grad_output %s",
                    ST_SHAPE_TEXT(output), ST_SHAPE_TEXT(grad));
  }
  return st__set_output(r, 0, grad->ndim, grad->sizes, NULL, to);
}

st_status st__softmax_backward_impl(st_run *r) {
  st_tensor *grad = st__arg_tensor(r, 0), *to = r->out[0], *own = NULL;
  const st_dtype d = (st_dtype)grad->dtype;
  job b = {.ctx = NULL};
  int dim;
  ST_TRY(st__wrap_dim(r->args[2].u.i, grad->ndim, &dim));
  if (grad->numel == 0) return ST_OK;
  ST_TRY(st__find_kernel(r->row->kernel, d, &b.loop));
  if (to->dtype != d) {
    ST_TRY(st__tensor_empty(r->device, d, grad->ndim, grad->sizes,
                            ST_FORMAT_CONTIGUOUS, &own));
    to = own;
  }
  st__lines_init(&b.lines, 3, (st_tensor *[]){to, grad, st__arg_tensor(r, 1)},
                 dim);
  run_all(&b, r->row->kernel);
  if (own) st__copy_unchecked(r->out[0], own);
  st__tensor_release(&own);
  return ST_OK;
}

/* -- cummax, cummin ------------------------------------------------------- */

st_status st__cummax_meta(st_run *r) {
  const st_dtype self = (st_dtype)st__arg_tensor(r, 0)->dtype;
  int dim;
  ST_TRY(get_dim(r, &dim));
  if (st__is_complex(self)) return st__no_kernel_for(self);
  ST_TRY(set_like_self(r, 0, self));
  return set_like_self(r, 1, ST_INT64);
}

st_status st__cummax_impl(st_run *r) {
  st_tensor *self = st__arg_tensor(r, 0);
  const st_value *base = st__named_arg(r, "base");
  const int64_t from = base ? base->u.i : 0;
  job b;
  int dim;
  ST_TRY(get_dim(r, &dim));
  if (self->numel == 0) return ST_OK;
  ST_TRY(st__find_kernel(r->row->kernel, (st_dtype)self->dtype, &b.loop));
  b.ctx = &from;
  st__lines_init(&b.lines, 3, (st_tensor *[]){r->out[0], r->out[1], self},
                 dim);
  run_all(&b, r->row->kernel);
  return ST_OK;
}
