/* What operators over images share: windows that slide over the last
 * dimensions, and tables of positions and weights along them.
 *
 * Note [im2col]
 * im2col lays the windows of an image side by side, as the columns of a
 * matrix, and col2im, its transpose, adds the columns up where they came
 * from; each is the derivative of the other. A convolution is a product with
 * the columns, and transposed the columns of a product. Pooling goes through
 * the places of small windows one by one instead: as views, place k of all
 * windows at once. Beside these, constant_pad_nd is all that touches elements;
 * everything else is made of operators, and derives itself.
 *
 * Note [Zero second derivatives]
 * The gradient of a mean does not depend on the image, nor that of a bias on
 * the weight. ATen's backward operators take both all the same, so there such
 * a gradient can be derived once more, and is 0. _attached makes it so: it is
 * the same view once more, and its gradient a function of another tensor, if
 * a constant one.
 */
#ifndef ST_OP_NN_SPATIAL_H
#define ST_OP_NN_SPATIAL_H

#include "op/registry/composite.h"

enum { ST_SPATIAL_MAX = 3 };

/* A window of kernel[d] places, dilation[d] apart, that starts in out[d]
 * places, stride[d] apart, the first padding[d] in front of the image. */
typedef struct st_window {
  int n;                           /* dimensions it slides over */
  int64_t in[ST_SPATIAL_MAX];
  int64_t kernel[ST_SPATIAL_MAX];
  int64_t stride[ST_SPATIAL_MAX];
  int64_t padding[ST_SPATIAL_MAX];
  int64_t dilation[ST_SPATIAL_MAX];
  int64_t out[ST_SPATIAL_MAX];
} st_window;

/* Is the gradient of what is made of a tensor with these keys recorded? */
static inline bool st__is_recorded(st_keyset keys) {
  return (keys & ST_AUTOGRAD_BITS) && st__tls().grad;
}

/* -- Windows (spatial.c, im2col.c) ---------------------------------------- */

/* Argument name as n numbers, none below least; one stands for all. */
st_status st__read_sizes(const st_value *v, const char *name, int n,
                         int64_t least, int64_t *out);
/* t has n dimensions behind one or two others. */
st_status st__check_images(const st_tensor *t, const char *name, int n);
/* The last n sizes of t. */
void st__image_sizes(const st_tensor *t, int n, int64_t *sizes);
bool st__is_padded(const st_window *w);
/* From the first to the last place of a window, both included. */
int64_t st__window_extent(const st_window *w, int d);
/* out from all the others; BAD_SHAPE when the image is too small. */
st_status st__window_count(st_window *w);
int64_t st__product_of(int n, const int64_t *sizes);

/* im2col of x, and col2im to the size w->in, over 1 to 3 dimensions. */
st_tensor *st__apply_im2col(st_op_scope *c, const st_tensor *x,
                            const st_window *w);
st_tensor *st__apply_col2im(st_op_scope *c, const st_tensor *columns,
                            const st_window *w);

/* The sums of x's windows; over one dimension there is one of size 1 more in
 * front of it. */
st_tensor *st__window_sums(st_op_scope *c, const st_tensor *x,
                           const st_window *w);
/* Place number tap of all windows, a view of the padded image, which carries
 * no gradient. */
st_tensor *st__window_element(st_op_scope *c, const st_tensor *image,
                              const st_window *w, int64_t elem);
/* How many of (images, channels, ..) are best taken at once when they become
 * so many places each: what stays in the caches. */
int64_t st__images_at_once(const st_tensor *images, int64_t places);

ST_BOXED(st__box_attached); /* and _attached_backward */
ST_BOXED(st__box_im2col);
ST_BOXED(st__box_im2col_backward);
ST_BOXED(st__box_col2im);
ST_BOXED(st__box_window_sum);
ST_BOXED(st__box_window_sum_backward);

/* -- Steps (spatial.c) ---------------------------------------------------- */

st_tensor *st__apply_reshape(st_op_scope *c, const st_tensor *t, int ndim,
                             const int64_t *sizes);
/* t with other last dimensions, n of them, instead of its last `drop`. */
st_tensor *st__reshape_tail(st_op_scope *c, const st_tensor *t, int drop, int n,
                            const int64_t *sizes);
/* t in the memory format that like suggests, if not the contiguous one. */
st_tensor *st__apply_format(st_op_scope *c, const st_tensor *t,
                            const st_tensor *like);
/* Ends round; c keeps t, if any, of what it has. Returns t, or NULL after a
 * failure. */
st_tensor *st__scope_keep(st_op_scope *c, st_op_scope *round, st_tensor *t);
/* t, its gradient attached to `to`: Note [Zero second derivatives]. */
st_tensor *st__apply_attached(st_op_scope *c, const st_tensor *t,
                              const st_tensor *to);
/* A new line of n elements of dtype on the CPU, which the caller fills;
 * *data is where, NULL after a failure. */
st_tensor *st__new_cpu_vector(st_op_scope *c, st_dtype dtype, int64_t n,
                              void *data);
/* A filled table on the device of like, as dtype. */
st_tensor *st__to_device_of(st_op_scope *c, const st_tensor *table,
                            st_dtype dtype, const st_tensor *like);
/* Slices of t at positions along dim. */
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

/* upsample.c: the operator, its kind of weights, its dimensions */
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
