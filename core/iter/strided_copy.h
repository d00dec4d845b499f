/* Moves: strided copies planned by their geometry alone, for any ranks,
 * strides, element sizes and dtypes.
 */
#ifndef ST_ITER_STRIDED_COPY_H
#define ST_ITER_STRIDED_COPY_H

#include "tensor/loop_dims.h"

typedef struct st_move {
  char *dst;
  const char *src;
  st_dtype to, from;
  st_loop_dims dims; /* strides of dst and src, in bytes */
  int64_t strides[2 * ST_MAX_DIMS];
} st_move;

void st__move_init(st_move *m, char *dst, st_dtype to, const char *src,
                   st_dtype from);
/* Strides are in bytes; those of src may be zero or negative. */
void st__move_dim(st_move *m, int64_t size, int64_t dst_stride,
                  int64_t src_stride);
/* Plans m in place, so a move can run only once. */
__attribute__((warn_unused_result)) st_status st__move_run(st_move *m);
/* True if the move would run tile by tile, because dst and src have different
 * fastest dimensions. Plans m in place. */
bool st__move_is_tiled(st_move *m);

/* A dtype of that size, to select a loop that only copies bits. */
st_dtype st__bits_of(int64_t size);

#endif
