/* Factories: operators that make tensors out of sizes and numbers.
 *
 * Only empty.memory_format and empty_strided know devices; the others ask
 * them for memory, so that a device which registers those two has all.
 */
#ifndef ST_OP_CREATE_FACTORY_H
#define ST_OP_CREATE_FACTORY_H

#include "op/registry/op.h"

/* -- For other families --------------------------------------------------- */

/* What `dtype, layout, device, pin_memory` say. */
typedef struct st_options {
  st_dtype dtype;
  st_device device;
} st_options;

/* Reads the four arguments that start at args; what is absent comes from
 * *out. BAD_VALUE for a layout or a memory that does not exist here. */
st_status st__read_options(const st_value *args, st_options *out);

/* A new tensor through the dispatcher, so on any device. */
st_status st__new_empty(st_options o, int ndim, const int64_t *sizes,
                        st_format format, st_tensor **out);
/* One shaped and, with PRESERVE, laid out like t. */
st_status st__new_empty_like(const st_tensor *t, st_options o,
                             st_format format, st_tensor **out);
/* Every element of t, which is dense and newly made, becomes s. */
st_status st__fill_new(st_tensor *t, st_scalar s);
/* Moves a tensor made on the CPU to device. Takes over *t. */
st_status st__to_device(st_tensor **t, st_device device, st_tensor **out);

/* OK when the elements can be touched here (CPU) or need not be (Meta);
 * NO_KERNEL for a device that must bring its own kernel. */
st_status st__check_cpu_or_meta(const st_tensor *t);

/* -- Operators ------------------------------------------------------------ */

/* factory.c */
ST_BOXED(st__box_empty_memory_format);
ST_BOXED(st__box_empty_strided);
ST_BOXED(st__box_empty_like);
ST_BOXED(st__box_new_empty);
ST_BOXED(st__box_new_empty_strided);
ST_BOXED(st__box_new_zeros);
ST_BOXED(st__box_new_ones);
ST_BOXED(st__box_new_full);
ST_BOXED(st__box_zeros);
ST_BOXED(st__box_ones);
ST_BOXED(st__box_full);
ST_BOXED(st__box_zeros_like);
ST_BOXED(st__box_ones_like);
ST_BOXED(st__box_full_like);
ST_BOXED(st__box_scalar_tensor);

/* arange_linspace.c */
ST_BOXED(st__box_eye);
ST_BOXED(st__box_eye_m);
ST_BOXED(st__box_arange);
ST_BOXED(st__box_arange_start);
ST_BOXED(st__box_arange_start_step);
ST_BOXED(st__box_range);
ST_BOXED(st__box_range_step);
ST_BOXED(st__box_linspace);
ST_BOXED(st__box_logspace);

/* tril_triu_diag.c */
ST_BOXED(st__box_diag);
ST_BOXED(st__box_diag_out);
ST_BOXED(st__box_diag_embed);
ST_BOXED(st__box_diagflat);
ST_BOXED(st__box_trace);
ST_BOXED(st__box_tril_indices);
ST_BOXED(st__box_triu_indices);
st_status st__triangle_meta(st_run *r);
st_status st__tril_impl(st_run *r);
st_status st__triu_impl(st_run *r);

#endif
