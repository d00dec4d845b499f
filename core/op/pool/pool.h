/* Windows and adaptive bins of images, each of which pooling reduces to one
 * element: avg_pool.c, max_pool.c.
 */
#ifndef ST_OP_POOL_POOL_H
#define ST_OP_POOL_POOL_H

#include "op/nn/spatial.h"
#include "tensor/memory_format.h"

/* Windows of at most this many elements are reduced element by element; larger
 * ones become columns. */
enum { ST_POOL_SMALL = 64 };

/* Sliding windows or, adaptive, bins that divide the image: bin o starts at
 * floor(o in / out) and ends before ceil((o + 1) in / out). */
typedef struct st_pool {
  const st_tensor *self;
  st_window w;
  bool ceil_mode, adaptive;
  int64_t kernel_numel, nwindows;
} st_pool;

/* -- Arguments ------------------------------------------------------------ */

st_status st__pool_read(const st_tensor *self, int n, st_pool *p);
/* An empty stride means kernel_size. BAD_VALUE, BAD_SHAPE. */
st_status st__pool_window(st_ints kernel_size, st_ints stride, st_ints padding,
                          st_ints dilation, st_pool *p);
/* Bins of equal size become sliding windows. */
st_status st__pool_adaptive(const st_tensor *self, st_ints output_size, int n,
                            st_pool *p);

/* -- Calls of operators --------------------------------------------------- */

/* The number of images with one channel each. */
int64_t st__pool_images(const st_pool *p);
/* t (images, windows) in the shape of the result. */
st_tensor *st__pool_result(st_op_scope *c, const st_tensor *t,
                           const st_pool *p);

/* The format of a result: that of the image, but contiguous for means and bins
 * over three dimensions, as in ATen (avg_pool.c). */
st_format st__pool_format(const st_pool *p, bool is_mean);

#endif
