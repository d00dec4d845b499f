/* Common code of operators on images: windows that slide over the last
 * dimensions, and vectors of indices and weights along them.
 *
 * Note [im2col]
 * im2col lays out the windows of an image as the columns of a matrix; col2im,
 * its transpose, adds the columns to the pixels that they came from. Each is
 * the derivative of the other. The gradient of a convolution's weight is a
 * product with the columns. A convolution of integers or complex numbers is
 * one, too; a transposed one applies col2im to a product. For small windows
 * means whose gradient is recorded use views instead: view k has element k of
 * all windows. im2col is a clone of a strided view, col2im adds views of one.
 */
#ifndef ST_OP_NN_SPATIAL_H
#define ST_OP_NN_SPATIAL_H

#include "op/row/composite.h"

enum { ST_SPATIAL_MAX = 3 };

/* A window has kernel[d] elements, dilation[d] apart. There are out[d] windows,
 * stride[d] apart; the first starts padding[d] before the image. */
typedef struct st_window {
  int n;                           /* the number of spatial dimensions */
  int64_t in[ST_SPATIAL_MAX];
  int64_t kernel[ST_SPATIAL_MAX];
  int64_t stride[ST_SPATIAL_MAX];
  int64_t padding[ST_SPATIAL_MAX];
  int64_t dilation[ST_SPATIAL_MAX];
  int64_t out[ST_SPATIAL_MAX];
} st_window;

/* True if the kernels of images take t: the memory of an extension device is
 * reached through its operators only. */
static inline bool st__has_image_kernels(const st_tensor *t) {
  return !st__is_privateuse(t);
}

/* -- Windows (spatial.c, im2col.c) ---------------------------------------- */

/* Reads argument name as n numbers of at least least; one number stands for
 * all. BAD_VALUE. */
st_status st__read_sizes(st_ints list, const char *name, int n, int64_t least,
                         int64_t *out);
/* BAD_SHAPE unless t has n spatial dimensions after one or two others. */
st_status st__check_images(const st_tensor *t, const char *name, int n);
/* Writes the last n sizes of t. */
void st__image_sizes(const st_tensor *t, int n, int64_t *sizes);
bool st__is_padded(const st_window *w);
/* The distance from the first to the last element of a window, both
 * included. */
int64_t st__window_extent(const st_window *w, int d);
/* Computes out from the other fields. BAD_SHAPE if the image is too small. */
st_status st__window_count(st_window *w);
int64_t st__product_of(int n, const int64_t *sizes);

/* im2col of x, and col2im to the size w->in, over 1 to 3 dimensions. */
st_tensor *st__apply_im2col(st_op_scope *c, const st_tensor *x,
                            const st_window *w);
st_tensor *st__apply_col2im(st_op_scope *c, const st_tensor *columns,
                            const st_window *w);

/* The sums of x's windows. Over one dimension the result has an additional
 * dimension of size 1 before the last. */
st_tensor *st__window_sums(st_op_scope *c, const st_tensor *x,
                           const st_window *w);

/* -- Calls of operators (spatial.c) --------------------------------------- */

/* Replaces the last `drop` dimensions of t by n dimensions. */
st_tensor *st__reshape_tail(st_op_scope *c, const st_tensor *t, int drop, int n,
                            const int64_t *sizes);
/* t in the memory format that like suggests. */
st_tensor *st__apply_format(st_op_scope *c, const st_tensor *t,
                            const st_tensor *like);
/* Copies such a vector to the device of like, as dtype. */
st_tensor *st__to_device_of(st_op_scope *c, const st_tensor *table,
                            st_dtype dtype, const st_tensor *like);
/* Rows of a table do not count from its end: BAD_INDEX if at, which is int64
 * and contiguous, has a negative index. Meta has none. */
void st__check_rows(st_op_scope *c, const st_tensor *at, int64_t rows);
/* The slices of t at indices along dim. */
st_tensor *st__apply_index_select(st_op_scope *c, const st_tensor *t,
                                  int64_t dim, const st_tensor *positions);

#endif
