/* Windows and shares of images, which pooling reduces to one element each:
 * avg_pool.c, max_pool.c.
 */
#ifndef ST_OP_NN_POOL_H
#define ST_OP_NN_POOL_H

#include "op/nn/spatial.h"

/* Windows of so many places are gone through place by place; larger ones
 * become columns. */
enum { ST_POOL_SMALL = 64 };

/* Windows that slide, or, adaptive, share the image out: the one of place o
 * then starts at o in / out and ends before (o + 1) in / out, rounded up. */
typedef struct st_pool {
  const st_tensor *self;
  st_window w;
  bool ceil_mode, adaptive;
  int64_t kernel_numel, places;
} st_pool;

/* -- Arguments ------------------------------------------------------------ */

st_status st__pool_read(const st_tensor *self, int n, st_pool *p);
/* kernel_size, stride (none: as the kernel) and padding start at lists;
 * dilation NULL: 1. */
st_status st__pool_window(const st_value *lists, const st_value *dilation,
                          st_pool *p);
/* self and output_size. Shares of equal size are windows that slide. */
st_status st__pool_adaptive(const st_value *args, int n, st_pool *p);

/* -- Places --------------------------------------------------------------- */

/* The window of place o along dimension d: its first place; of a share, the
 * one after its last. */
int64_t st__pool_start(const st_pool *p, int d, int64_t o);
int64_t st__pool_end(const st_window *w, int d, int64_t o);
/* Number i of so many along each dimension, taken apart. */
void st__unravel_index(int64_t i, int n, const int64_t *sizes, int64_t *at);

/* -- Steps ---------------------------------------------------------------- */

/* All images, of one channel each. */
int64_t st__pool_images(const st_pool *p);
/* t as (images, 1, size..). */
st_tensor *st__pool_lay_out(st_op_scope *c, const st_tensor *t,
                            const st_pool *p);
/* self with so much of value around it that every window is inside. */
st_tensor *st__pool_padded(st_op_scope *c, const st_tensor *self,
                           const st_pool *p, st_value value);
/* Shares as columns, (images, taps, places); where one is short, its last
 * place again. */
st_tensor *st__pool_bin_columns(st_op_scope *c, const st_tensor *self,
                                const st_pool *p);
/* (images, places) as the result is. */
st_tensor *st__pool_result(st_op_scope *c, const st_tensor *t,
                           const st_pool *p);

#endif
