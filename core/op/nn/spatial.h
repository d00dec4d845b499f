/* Common code of operators on images: windows that slide over the last
 * dimensions, and vectors of indices and weights along them.
 *
 * Note [im2col]
 * im2col lays out the windows of an image as the columns of a matrix; col2im,
 * its transpose, adds the columns to the pixels that they came from. Each is
 * the derivative of the other. A convolution multiplies the weight with the
 * columns; a transposed convolution applies col2im to such a product. For
 * small windows pooling uses views instead: view k has element k of all
 * windows. Apart from these only constant_pad_nd has loops over elements; all
 * other operators are composed and so have derivatives.
 *
 * Note [Zero second derivatives]
 * The gradient of a mean does not depend on the image, nor that of a bias on
 * the weight. Yet ATen's backward operators take the image and the weight as
 * arguments, so there such a gradient can be differentiated again, and the
 * result is 0. _attached gives the same behaviour: it returns a view of its
 * argument whose gradient is a function, a constant one, of another tensor.
 * Without `zero` the second derivative is none instead of zeros.
 */
#ifndef ST_OP_NN_SPATIAL_H
#define ST_OP_NN_SPATIAL_H

#include "op/registry/composite.h"

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

/* True if the gradient of a result computed from tensors with these keys is
 * recorded. */
static inline bool st__is_recorded(st_keyset keys) {
  return (keys & ST_AUTOGRAD_BITS) && st__tls().grad;
}

/* -- Windows (spatial.c, im2col.c) ---------------------------------------- */

/* Reads argument name as n numbers of at least least; one number stands for
 * all. BAD_VALUE. */
st_status st__read_sizes(const st_value *v, const char *name, int n,
                         int64_t least, int64_t *out);
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
/* Element elem of all windows, as a view of the padded image that carries no
 * gradient. */
st_tensor *st__window_element(st_op_scope *c, const st_tensor *image,
                              const st_window *w, int64_t elem);
/* How many of (images, channels, ..) to process at a time so that results of
 * `pixels` pixels each stay in the caches. */
int64_t st__images_at_once(const st_tensor *images, int64_t pixels);

ST_BOXED(st__box_attached); /* also _attached_backward */
ST_BOXED(st__box_im2col);
ST_BOXED(st__box_im2col_backward);
ST_BOXED(st__box_col2im);
ST_BOXED(st__box_window_sum);
ST_BOXED(st__box_window_sum_backward);

/* -- Calls of operators (spatial.c) --------------------------------------- */

st_tensor *st__apply_reshape(st_op_scope *c, const st_tensor *t, int ndim,
                             const int64_t *sizes);
/* Replaces the last `drop` dimensions of t by n dimensions. */
st_tensor *st__reshape_tail(st_op_scope *c, const st_tensor *t, int drop, int n,
                            const int64_t *sizes);
/* t in the memory format that like suggests. */
st_tensor *st__apply_format(st_op_scope *c, const st_tensor *t,
                            const st_tensor *like);
/* Ends scope round; t, if any, moves to scope c. Returns t, or NULL after a
 * failure. */
st_tensor *st__scope_keep(st_op_scope *c, st_op_scope *round, st_tensor *t);
/* A view of t whose gradient depends on `to`: Note [Zero second
 * derivatives]. */
st_tensor *st__apply_attached(st_op_scope *c, const st_tensor *t,
                              const st_tensor *to);
/* The same, where the second derivative is none unless something else gives
 * one. */
st_tensor *st__apply_attached_none(st_op_scope *c, const st_tensor *t,
                                   const st_tensor *to);
/* A new vector of n elements on the CPU. The caller fills it through *data,
 * which is NULL after a failure. */
st_tensor *st__new_cpu_vector(st_op_scope *c, st_dtype dtype, int64_t n,
                              void *data);
/* Copies such a vector to the device of like, as dtype. */
st_tensor *st__to_device_of(st_op_scope *c, const st_tensor *table,
                            st_dtype dtype, const st_tensor *like);
/* The slices of t at indices along dim. */
st_tensor *st__apply_index_select(st_op_scope *c, const st_tensor *t,
                                  int64_t dim, const st_tensor *positions);

/* -- Operators ------------------------------------------------------------ */

/* conv.c */
ST_BOXED(st__box_convolution);
ST_BOXED(st__box_conv1d);
ST_BOXED(st__box_conv2d);
ST_BOXED(st__box_conv3d);
ST_BOXED(st__box_conv1d_padding);
ST_BOXED(st__box_conv2d_padding);
ST_BOXED(st__box_conv3d_padding);
ST_BOXED(st__box_conv_transpose1d);
ST_BOXED(st__box_conv_transpose2d);
ST_BOXED(st__box_conv_transpose3d);

/* avg_pool.c */
ST_BOXED(st__box_avg_pool1d);
ST_BOXED(st__box_avg_pool2d);
ST_BOXED(st__box_avg_pool3d);
ST_BOXED(st__box_max_pool1d);
ST_BOXED(st__box_max_pool2d);
ST_BOXED(st__box_max_pool3d);
ST_BOXED(st__box_max_pool1d_with_indices);
ST_BOXED(st__box_max_pool2d_with_indices);
ST_BOXED(st__box_max_pool3d_with_indices);
ST_BOXED(st__box_adaptive_avg_pool1d);
ST_BOXED(st__box_adaptive_avg_pool2d);
ST_BOXED(st__box_adaptive_avg_pool3d);
ST_BOXED(st__box_adaptive_max_pool1d);
ST_BOXED(st__box_adaptive_max_pool2d);
ST_BOXED(st__box_adaptive_max_pool3d);
ST_BOXED(st__box_max_unpool2d);
ST_BOXED(st__box_max_unpool3d);

/* pad.c, pixel_shuffle.c */
ST_BOXED(st__box_constant_pad_nd);
ST_BOXED(st__box_constant_pad_nd_backward);
ST_BOXED(st__box_pad);
ST_BOXED(st__box_reflection_pad1d);
ST_BOXED(st__box_reflection_pad2d);
ST_BOXED(st__box_reflection_pad3d);
ST_BOXED(st__box_replication_pad1d);
ST_BOXED(st__box_replication_pad2d);
ST_BOXED(st__box_replication_pad3d);
ST_BOXED(st__box_pixel_shuffle);
ST_BOXED(st__box_pixel_unshuffle);

/* upsample.c: operator, mode, number of dimensions */
#define ST_UPSAMPLE_MAP(X)     \
  X(nearest1d,       NEAREST, 1) \
  X(nearest2d,       NEAREST, 2) \
  X(nearest3d,       NEAREST, 3) \
  X(nearest_exact1d, EXACT,   1) \
  X(nearest_exact2d, EXACT,   2) \
  X(nearest_exact3d, EXACT,   3) \
  X(linear1d,        LINEAR,  1) \
  X(bilinear2d,      LINEAR,  2) \
  X(trilinear3d,     LINEAR,  3) \
  X(bicubic2d,       CUBIC,   2)
#define ST_UPSAMPLE(name, mode, n)   \
  ST_BOXED(st__box_upsample_##name); \
  ST_BOXED(st__box_upsample_##name##_vec);
ST_UPSAMPLE_MAP(ST_UPSAMPLE)
#undef ST_UPSAMPLE

/* grid_sampler.c */
ST_BOXED(st__box_grid_sampler);
ST_BOXED(st__box_grid_sampler_2d);
ST_BOXED(st__box_grid_sampler_3d);

#endif
