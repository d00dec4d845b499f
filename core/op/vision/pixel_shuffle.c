/* pixel_shuffle and pixel_unshuffle: channels rearranged as pixels, and back;
 * channel_shuffle: channels rearranged.
 */

#include <inttypes.h>
#include <string.h>

#include "op/nn/spatial.h"

static st_status check_pixels(const st_tensor *self, int64_t factor) {
  if (self->ndim < 3) {
    return st__fail(ST_BAD_SHAPE, "self must have 3 dimensions or more, but "
                    "its shape is %s", ST_SHAPE_TEXT(self));
  }
  if (factor > 0 && factor <= INT32_MAX) return ST_OK;
  return st__fail(ST_BAD_VALUE, "the factor must be positive and fit in 32 "
                  "bits, it is %" PRId64, factor);
}

/* A size of the result; an image without elements may have any factor. */
static st_status times(int64_t a, int64_t b, int64_t *out) {
  if (st__mul_sizes(a, b, out)) return ST_OK;
  return st__fail(ST_BAD_SHAPE, "the size of the result is too large: %" PRId64
                  " times %" PRId64, a, b);
}

/* Splits the last three dimensions of first into n, permutes these by order,
 * and returns a copy whose last three dimensions have the sizes of image. */
static st_status regroup(const st_tensor *first, int n, const int64_t *split,
                         const int *order, const int64_t *image,
                         st_value *rets) {
  int64_t dims[ST_MAX_DIMS + 2];
  st_op_scope scope = {.n = 0}, *c = &scope;
  const st_tensor *t = st__reshape_tail(c, first, 3, n, split);
  if (!st__scope_ok(c)) return st__scope_end(c, 0, NULL, NULL);
  for (int d = 0; d < t->ndim; d++) {
    const int k = d - (t->ndim - n);
    dims[d] = k < 0 ? d : t->ndim - n + order[k];
  }
  const st_tensor *permuted =
    ST_APPLY(c, ST_OP_permute, t, st__of_ints(dims, t->ndim));
  const st_tensor *dense =
    ST_APPLY(c, ST_OP_clone, permuted, ST_FORMAT_CONTIGUOUS);
  const st_tensor *out = st__reshape_tail(c, dense, n, 3, image);
  return st__scope_return(c, st__apply_format(c, out, first), rets);
}

ST_BOXED(st__box_pixel_shuffle) {
  ST_ARGS(TENSOR(self), INT(r));
  static const int order[] = {0, 3, 1, 4, 2};
  ST_TRY(check_pixels(self, r));
  const int64_t *s = self->sizes + self->ndim - 3;
  if (s[0] % (r * r) != 0) {
    return st__fail(ST_BAD_SHAPE, "the channels of self, %" PRId64 ", must be "
                    "a multiple of the square of upscale_factor, %" PRId64,
                    s[0], r);
  }
  const int64_t split[] = {s[0] / (r * r), r, r, s[1], s[2]};
  int64_t image[] = {split[0], 0, 0};
  ST_TRY(times(s[1], r, &image[1]));
  ST_TRY(times(s[2], r, &image[2]));
  return regroup(self, 5, split, order, image, rets);
}

ST_BOXED(st__box_pixel_unshuffle) {
  ST_ARGS(TENSOR(self), INT(r));
  static const int order[] = {0, 2, 4, 1, 3};
  ST_TRY(check_pixels(self, r));
  const int64_t *s = self->sizes + self->ndim - 3;
  if (s[1] % r != 0 || s[2] % r != 0) {
    return st__fail(ST_BAD_SHAPE, "height and width of self, whose shape is "
                    "%s, must be multiples of downscale_factor, %" PRId64,
                    ST_SHAPE_TEXT(self), r);
  }
  const int64_t split[] = {s[0], s[1] / r, r, s[2] / r, r};
  int64_t image[] = {0, split[1], split[3]};
  ST_TRY(times(s[0], r * r, &image[0]));
  return regroup(self, 5, split, order, image, rets);
}

ST_BOXED(st__box_channel_shuffle) {
  ST_ARGS(TENSOR(self), INT(groups));
  if (self->ndim < 3) {
    return st__fail(ST_BAD_SHAPE, "self must have 3 dimensions or more, but "
                    "its shape is %s", ST_SHAPE_TEXT(self));
  }
  const int64_t *s = self->sizes;
  if (groups < 1 || s[1] % groups != 0) {
    return st__fail(ST_BAD_VALUE, "groups must be positive and divide the "
                    "channels of self, %" PRId64 ", but is %" PRId64, s[1],
                    groups);
  }
  if (self->numel == 0) {
    const st_value same = st__of_tensor(self);
    return st__invoke(ST_OP_alias, 1, &same, rets);
  }
  const int64_t split[] = {s[0], groups, s[1] / groups,
                           st__product_of(self->ndim - 2, s + 2)};
  st_op_scope c = {.n = 0};
  const st_tensor *t =
    ST_APPLY(&c, ST_OP_permute, st__apply_reshape(&c, self, 4, split),
             ST_INTS(0, 2, 1, 3));
  t = ST_APPLY(&c, ST_OP_clone, t, ST_FORMAT_CONTIGUOUS);
  t = st__apply_reshape(&c, t, self->ndim, s);
  return st__scope_return(&c, st__apply_format(&c, t, self), rets);
}
