/* affine_grid: the points of images under affine maps, for grid_sample.
 */

#include <inttypes.h>
#include <string.h>

#include "op/nn/spatial.h"

enum { PLANE = 2, VOLUME = 3 };

/* -- affine_grid_generator ------------------------------------------------ */

/* n coordinates from -1 to 1, of the centres of the outer pixels with
 * align_corners, else of their outer edges. */
static st_tensor *axis_points(st_op_scope *c, const st_tensor *theta, int64_t n,
                              bool align_corners) {
  st_tensor *t = ST_APPLY(c, ST_OP_linspace, n > 1 ? -1 : 0, st__of_int(n > 1),
                          n, theta->dtype, st__none(), theta->device);
  if (align_corners || n <= 1) return t;
  t = ST_APPLY(c, ST_OP_mul_Scalar, t, n - 1);
  return ST_APPLY(c, ST_OP_div_Scalar, t, n);
}

/* The homogeneous coordinates of all points, x first: (points, n + 1). */
static st_tensor *base_grid(st_op_scope *c, const st_tensor *theta, int n,
                            const int64_t *size, bool align_corners) {
  const int64_t points[] = {st__product_of(n, size), n + 1};
  st_tensor *parts[VOLUME + 1] = {NULL};
  for (int d = 0; d < n; d++) {
    int64_t shape[VOLUME] = {1, 1, 1};
    shape[d] = size[d];
    st_tensor *t = axis_points(c, theta, size[d], align_corners);
    t = st__apply_reshape(c, t, n, shape);
    parts[n - 1 - d] = ST_APPLY(c, ST_OP_expand, t, st__of_ints(size, n));
  }
  parts[n] = ST_APPLY(c, ST_OP_new_ones, theta, st__of_ints(size, n));
  if (!st__scope_ok(c)) return NULL;
  return st__apply_reshape(
    c, ST_APPLY(c, ST_OP_stack, st__of_tensors(parts, n + 1), -1), 2, points);
}

static st_status check_theta(const st_tensor *theta, st_ints size) {
  const int n = (int)size.n - 2;
  if (n != PLANE && n != VOLUME) {
    return st__fail(ST_BAD_VALUE, "size must have 4 or 5 entries, it has %u",
                    size.n);
  }
  if (!st__is_floating(theta->dtype)) {
    return st__fail(ST_BAD_DTYPE, "theta must have a floating point dtype, not "
                    "%s", st__dtype_name(theta->dtype));
  }
  if (theta->ndim != 3 || theta->sizes[0] != size.p[0] ||
      theta->sizes[1] != n || theta->sizes[2] != n + 1) {
    return st__fail(ST_BAD_SHAPE, "theta must have shape [%" PRId64 ", %d, %d] "
                    "for images over %d dimensions, not %s", size.p[0], n,
                    n + 1, n, ST_SHAPE_TEXT(theta));
  }
  int64_t points = 1;
  for (int d = 0; d < n + 2; d++) {
    if (size.p[d] > 0 && st__mul_sizes(points, size.p[d], &points)) continue;
    return st__fail(ST_BAD_VALUE, "size must be positive and fit in 64 bits, "
                    "entry %d is %" PRId64, d + 1, size.p[d]);
  }
  return ST_OK;
}

static st_status affine_grid(const st_tensor *theta, st_ints size,
                             bool align_corners, st_value *rets) {
  ST_TRY(check_theta(theta, size));
  const int n = (int)size.n - 2;
  st_op_scope c = {.n = 0};
  const st_tensor *base = base_grid(&c, theta, n, size.p + 2, align_corners);
  if (!st__scope_ok(&c)) return st__scope_end(&c, 0, NULL, NULL);
  base =
    ST_APPLY(&c, ST_OP_expand, base, ST_INTS(size.p[0], base->sizes[0], n + 1));
  const st_tensor *grid = st__apply2(
    &c, ST_OP_bmm, base, ST_APPLY(&c, ST_OP_transpose_int, theta, 1, 2));
  int64_t shape[VOLUME + 2] = {size.p[0]};
  for (int d = 0; d < n; d++) shape[1 + d] = size.p[2 + d];
  shape[n + 1] = n;
  return st__scope_return(&c, st__apply_reshape(&c, grid, n + 2, shape), rets);
}
ST_TYPED_ARGS(st__box_affine_grid, affine_grid, (TENSOR, INTS, BOOL))

/* -- grid_sample ---------------------------------------------------------- */

/* Sets *n to the number of a word in a list that ends with NULL. */
static st_status find_word(const char *name, const char *word,
                           const char *const *words, st_value *n) {
  for (int i = 0; words[i]; i++) {
    if (strcmp(word, words[i]) != 0) continue;
    *n = st__of_int(i);
    return ST_OK;
  }
  return st__fail(ST_BAD_VALUE, "%s must be '%s', '%s' or '%s', not '%s'", name,
                  words[0], words[1], words[2], word);
}

ST_BOXED(st__box_grid_sample) {
  static const char *const modes[] = {"bilinear", "nearest", "bicubic", NULL};
  static const char *const borders[] = {"zeros", "border", "reflection", NULL};
  st_value sampler[] = {args[0], args[1], st__none(), st__none(), args[4]};
  ST_TRY(find_word("mode", args[2].u.string, modes, &sampler[2]));
  ST_TRY(find_word("padding_mode", args[3].u.string, borders, &sampler[3]));
  return st__invoke(ST_OP_grid_sampler, 5, sampler, rets);
}
