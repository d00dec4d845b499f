/* dropout1d to dropout3d: feature_dropout of images, with or without a batch.
 */

#include "op/nn/spatial.h"

static st_status channel_dropout(const st_value *args, int n, bool may_lack,
                                 st_value *rets) {
  const st_tensor *input = st__to_tensor(args);
  ST_TRY(st__check_images(input, "input", n));
  if (input->ndim == n + 2 || !may_lack) {
    return st__invoke(ST_OP_feature_dropout, 3, args, rets);
  }
  st_op_scope c = {.n = 0};
  const st_value first = st__of_int(0);
  const st_value drop[] = {
    st__of_tensor(st__apply_with(&c, ST_OP_unsqueeze, input, first)), args[1],
    args[2]};
  const st_tensor *out = st__apply(&c, ST_OP_feature_dropout, 3, drop);
  return st__scope_return(&c, st__apply_with(&c, ST_OP_squeeze_dim, out,
                                             first), rets);
}

ST_BOXED(st__box_dropout1d) { return channel_dropout(args, 1, true, rets); }
/* Of 3 dimensions, the first two are a batch and its channels, as in PyTorch. */
ST_BOXED(st__box_dropout2d) { return channel_dropout(args, 2, false, rets); }
ST_BOXED(st__box_dropout3d) { return channel_dropout(args, 3, true, rets); }
