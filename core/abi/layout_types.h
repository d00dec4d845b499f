/* Public types of layouts that extensions bring. The build flattens this file
 * into the one installed header, so it includes nothing, and stands
 * behind abi/types.h.
 */
#ifndef ST_ABI_LAYOUT_TYPES_H
#define ST_ABI_LAYOUT_TYPES_H

/* How the elements of a tensor are stored: by strides, or as the number of a
 * layout that an extension brings (st_layout_register). */
typedef int st_layout;

enum {
  ST_LAYOUT_STRIDED = 0,
  ST_MAX_PARTS = 8,    /* of a tensor */
  ST_LAYOUT_NOTES = 4  /* numbers that a tensor keeps beside its parts */
};

/* What the engine asks of a layout. The engine keeps the pointer. */
typedef struct st_layout_functions {
  void *ctx;
  /* Stores the text that t is printed as: st_value_of_string. NULL: the shape,
   * dtype and layout, and the parts. */
  st_status (*text)(void *ctx, const st_tensor *t,
                    const st_print_options *options, st_value *out);
} st_layout_functions;

/* A tensor of a layout: its properties, and the parts that hold its elements,
 * which are strided tensors. notes: what the kernels of the layout keep, such
 * as the number of dense dimensions. */
typedef struct st_layout_config {
  st_layout layout;
  st_device device;
  st_dtype dtype;
  int ndim;
  const int64_t *sizes;
  int nparts;                  /* at most ST_MAX_PARTS */
  st_tensor *const *parts;
  int64_t notes[ST_LAYOUT_NOTES];
} st_layout_config;

#endif
