/* bilinear: y[k] = x1^T weight[k] x2 + bias[k] for each pair of vectors.
 */

#include <inttypes.h>

#include "op/nn/spatial.h"

static st_status check_sizes(const st_tensor *input1, const st_tensor *input2,
                             const st_tensor *weight, const st_tensor *bias) {
  const int n = input1->ndim;
  if (weight->ndim != 3 || n == 0 || n != input2->ndim) {
    return st__fail(ST_BAD_SHAPE, "weight must have 3 dimensions, input1 and "
                    "input2 equally many, but their shapes are %s, %s and %s",
                    ST_SHAPE_TEXT(weight), ST_SHAPE_TEXT(input1),
                    ST_SHAPE_TEXT(input2));
  }
  for (int d = 0; d < n - 1; d++) {
    if (input1->sizes[d] == input2->sizes[d]) continue;
    return st__fail(ST_BAD_SHAPE, "the batches of input1 and input2 differ, "
                    "their shapes are %s and %s", ST_SHAPE_TEXT(input1),
                    ST_SHAPE_TEXT(input2));
  }
  if (input1->sizes[n - 1] != weight->sizes[1] ||
      input2->sizes[n - 1] != weight->sizes[2]) {
    return st__fail(ST_BAD_SHAPE, "weight must be (out, last size of input1, "
                    "last size of input2), but the shapes are %s, %s and %s",
                    ST_SHAPE_TEXT(weight), ST_SHAPE_TEXT(input1),
                    ST_SHAPE_TEXT(input2));
  }
  if (bias && (bias->ndim != 1 || bias->sizes[0] != weight->sizes[0])) {
    return st__fail(ST_BAD_SHAPE, "bias must have shape [%" PRId64 "], not %s",
                    weight->sizes[0], ST_SHAPE_TEXT(bias));
  }
  return ST_OK;
}

static st_status bilinear(const st_tensor *input1, const st_tensor *input2,
                          const st_tensor *weight, const st_tensor *bias,
                          st_value *rets) {
  ST_TRY(check_sizes(input1, input2, weight, bias));
  const int64_t *w = weight->sizes;
  const int64_t rows = st__product_of(input1->ndim - 1, input1->sizes);
  const int64_t both[] = {rows, w[0], w[2]};
  st_op_scope c = {.n = 0};
  const st_tensor *permuted =
    ST_APPLY(&c, ST_OP_permute, weight, ST_INTS(1, 0, 2));
  const st_tensor *left = st__times(
    &c, ST_APPLY(&c, ST_OP_reshape, input1, ST_INTS(rows, w[1])),
    ST_APPLY(&c, ST_OP_reshape, permuted, ST_INTS(w[1], w[0] * w[2])));
  const st_tensor *y =
    st__times(&c, st__apply_reshape(&c, left, 3, both),
              ST_APPLY(&c, ST_OP_reshape, input2, ST_INTS(rows, w[2], 1)));
  st_tensor *out = st__apply_reshape(&c, y, 2, both);
  if (bias) out = st__plus(&c, out, bias);
  int64_t sizes[ST_MAX_DIMS];
  for (int d = 0; d < input1->ndim - 1; d++) sizes[d] = input1->sizes[d];
  sizes[input1->ndim - 1] = w[0];
  return st__scope_return(&c, st__apply_reshape(&c, out, input1->ndim, sizes),
                          rets);
}
ST_TYPED_ARGS(st__box_bilinear, bilinear, (TENSOR, TENSOR, TENSOR, OPT_TENSOR))
