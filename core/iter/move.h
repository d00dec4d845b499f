/* Moves: copies planned by their geometry alone, whatever the ranks, strides,
 * element sizes and dtypes.
 *
 *   st_move m;
 *   st__move_init(&m, dst, dst_dtype, src, src_dtype);
 *   for (each dimension) st__move_dim(&m, size, dst_stride, src_stride);
 *   st__move_run(&m);
 *
 * Nothing can fail, and nothing is checked: dst and src share no memory, or
 * are the same elements.
 */
#ifndef ST_ITER_MOVE_H
#define ST_ITER_MOVE_H

#include "base/types.h"

typedef struct st_move {
  char *dst;
  const char *src;
  st_dtype to, from;
  int ndim;
  int64_t shape[ST_MAX_DIMS]; /* the fastest of dst first */
  int64_t dst_stride[ST_MAX_DIMS], src_stride[ST_MAX_DIMS]; /* bytes */
} st_move;

void st__move_init(st_move *m, char *dst, st_dtype to, const char *src,
                   st_dtype from);
/* Strides in bytes; those of src may be zero or negative. */
void st__move_dim(st_move *m, int64_t size, int64_t dst_stride,
                  int64_t src_stride);
/* m is planned in place: it cannot be run again. */
void st__move_run(st_move *m);
/* Does it go tile by tile, because dst and src disagree about the fastest
 * dimension? m is planned in place. */
bool st__move_is_tiled(st_move *m);

/* A dtype of that many bytes, to name loops that only move bits. */
st_dtype st__bits_of(int64_t size);

#endif
