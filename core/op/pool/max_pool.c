/* Max pooling over windows and adaptive bins, and max_unpool.
 */

#include <inttypes.h>

#include "op/pool/pool.h"

/* -- Search --------------------------------------------------------------- */

/* The maximum of each window and, if wanted, its index. */
typedef struct max_result { st_tensor *best, *index; } max_result;

static void find_max(st_op_scope *c, const st_pool *p, int64_t base,
                     bool wants_index, max_result *out) {
  const st_window *w = &p->w;
  const int n = w->n;
  const st_value search[] = {
    st__of_tensor(p->self), st__of_ints(p->adaptive ? w->out : w->kernel, n),
    st__of_ints(w->stride, n), st__of_ints(w->padding, n),
    st__of_ints(w->dilation, n), st__of_bool(p->ceil_mode),
    st__of_bool(p->adaptive), st__of_int(base)};
  *out = (max_result){NULL, NULL};
  if (wants_index) {
    st_tensor *both[2];
    st__apply_multi(c, ST_OP__max_pool_indices, 8, search, 2, both);
    *out = (max_result){both[0], both[1]};
  } else {
    out->best = st__apply(c, ST_OP__max_pool_values, 7, search);
  }
}

/* -- max_pool ------------------------------------------------------------- */

static st_status run_max(st_op_scope *c, const st_pool *p, int64_t base,
                         int nrets, st_value *rets) {
  max_result found;
  if (st__scope_ok(c) && st__is_complex(p->self->dtype)) {
    c->status = st__no_kernel_for(p->self->dtype);
  }
  if (!st__scope_ok(c)) return st__scope_end(c, 0, NULL, NULL);
  /* The gradient needs the indices. */
  const bool derives = st__is_recorded(p->self->keys);
  find_max(c, p, base, derives || nrets == 2, &found);
  return st__scope_end(c, nrets, (st_tensor *[]){found.best, found.index},
                       rets);
}

/* With indices as a second result there is an argument base. */
static st_status max_pool(const st_value *args, int n, int nrets,
                          st_value *rets) {
  ST_ARGS(TENSOR(self), INTS(kernel_size), INTS(stride), INTS(padding),
          INTS(dilation));
  st_pool p = {.ceil_mode = st__next_bool(&args)};
  const int64_t base = nrets == 2 ? st__next_int(&args) : 0;
  st_op_scope c = {.status = st__pool_read(self, n, &p)};
  if (st__scope_ok(&c)) {
    c.status = st__pool_window(kernel_size, stride, padding, dilation, &p);
  }
  return run_max(&c, &p, base, nrets, rets);
}

static st_status adaptive_max_pool(const st_value *args, int n,
                                   st_value *rets) {
  ST_ARGS(TENSOR(self), INTS(output_size), INT(base));
  st_pool p = {.self = NULL};
  st_op_scope c = {.status = st__pool_adaptive(self, output_size, n, &p)};
  return run_max(&c, &p, base, 2, rets);
}

ST_BOXED(st__box_max_pool1d) { return max_pool(args, 1, 1, rets); }
ST_BOXED(st__box_max_pool2d) { return max_pool(args, 2, 1, rets); }
ST_BOXED(st__box_max_pool3d) { return max_pool(args, 3, 1, rets); }
ST_BOXED(st__box_max_pool1d_with_indices) { return max_pool(args, 1, 2, rets); }
ST_BOXED(st__box_max_pool2d_with_indices) { return max_pool(args, 2, 2, rets); }
ST_BOXED(st__box_max_pool3d_with_indices) { return max_pool(args, 3, 2, rets); }
ST_BOXED_AS(st__box_adaptive_max_pool1d, adaptive_max_pool, args, 1)
ST_BOXED_AS(st__box_adaptive_max_pool2d, adaptive_max_pool, args, 2)
ST_BOXED_AS(st__box_adaptive_max_pool3d, adaptive_max_pool, args, 3)

/* -- max_unpool ----------------------------------------------------------- */

static st_status max_unpool(const st_value *args, int n, st_value *rets) {
  ST_ARGS(TENSOR(self), TENSOR(indices), INTS(output_size));
  if (n == 3) args += 2; /* stride and padding are not used */
  ST_ARGS(VALUE(base));
  st_pool p = {.self = self, .w.n = n};
  ST_TRY(st__check_images(self, "self", n));
  ST_TRY(st__read_sizes(output_size, "output_size", n, 0, p.w.out));
  if (indices->dtype != ST_INT64 || !st__same_sizes(self, indices)) {
    return st__fail(ST_BAD_SHAPE, "indices must be int64 of self's shape %s, "
                    "not %s of shape %s", ST_SHAPE_TEXT(self),
                    st__dtype_name(indices->dtype),
                    ST_SHAPE_TEXT(indices));
  }
  const int64_t images = st__pool_images(&p);
  int64_t in[ST_SPATIAL_MAX];
  st__image_sizes(self, n, in);
  const int64_t from[] = {images, st__product_of(n, in)};
  int64_t to[] = {images, 1};
  for (int d = 0; d < n; d++) {
    if (!st__mul_sizes(to[1], p.w.out[d], &to[1])) {
      return st__fail(ST_BAD_SHAPE, "output_size is too large");
    }
  }
  st_op_scope c = {.n = 0};
  const st_tensor *image =
    ST_APPLY(&c, ST_OP_scatter_src,
             ST_APPLY(&c, ST_OP_new_zeros, self, st__of_ints(to, 2)), 1,
             st__apply_reshape(&c, indices, 2, from),
             st__apply_reshape(&c, self, 2, from), base);
  image = st__pool_result(&c, image, &p);
  return st__scope_return(&c, st__apply_format(&c, image, self), rets);
}

ST_BOXED(st__box_max_unpool2d) { return max_unpool(args, 2, rets); }
ST_BOXED(st__box_max_unpool3d) { return max_unpool(args, 3, rets); }

/* The size of the image that a pooling with these windows makes self of, or
 * output_size, which must lie less than a stride away from it. */
static st_status unpooled_size(const st_tensor *self, const st_value *args,
                               int64_t *size) {
  ST_ARGS(INTS(kernel_size), INTS(stride), INTS(padding));
  const bool has_size = !st__is_none(args);
  ST_ARGS(INTS(output_size));
  int64_t in, kernel, step, border, least, most;
  ST_TRY(st__check_images(self, "self", 1));
  ST_TRY(st__read_sizes(kernel_size, "kernel_size", 1, 1, &kernel));
  ST_TRY(st__read_sizes(stride.n ? stride : kernel_size, "stride", 1, 1,
                        &step));
  ST_TRY(st__read_sizes(padding, "padding", 1, 0, &border));
  st__image_sizes(self, 1, &in);
  if (!st__mul_sizes(in - 1, step, &least) ||
      !st__add_sizes(least, kernel - 2 * border, &least) ||
      !st__add_sizes(least, step, &most)) {
    return st__fail(ST_BAD_SHAPE, "the size of the result is too large: %"
                    PRId64 " windows, %" PRId64 " apart", in, step);
  }
  *size = least;
  if (!has_size) return ST_OK;
  *size = output_size.n ? output_size.p[output_size.n - 1] : 0;
  const int n = (int)output_size.n;
  if ((n == 1 || n == 3) && *size > least - step && *size < most) {
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "output_size must have one entry, more than %"
                  PRId64 " and less than %" PRId64, least - step, most);
}

ST_BOXED(st__box_max_unpool1d) {
  ST_ARGS(TENSOR(self), TENSOR(indices));
  int64_t size[] = {0, 1};
  ST_TRY(unpooled_size(self, args, size));
  st_op_scope c = {.n = 0};
  const st_value last = st__of_int(-1);
  const st_tensor *image =
    ST_APPLY(&c, ST_OP_max_unpool2d, ST_APPLY(&c, ST_OP_unsqueeze, self, last),
             ST_APPLY(&c, ST_OP_unsqueeze, indices, last), st__of_ints(size, 2),
             args[4]);
  return st__scope_return(&c, ST_APPLY(&c, ST_OP_squeeze_dim, image, last),
                          rets);
}
