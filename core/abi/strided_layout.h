/* Part of strided.h: layouts that extensions bring.
 */
#ifndef STRIDED_LAYOUT_H
#define STRIDED_LAYOUT_H

#include "abi/layout_types.h"

/* -- Layouts -------------------------------------------------------------- */

/* A layout is a way to store elements that is not by strides: sparse, nested,
 * quantized in blocks. An extension registers it and its kernels, and makes its
 * tensors: sizes, a dtype, a device, and parts, strided tensors that only the
 * kernels of the layout interpret. Views, elements, bytes, files, sharing and
 * DLPack need strides, and refuse such a tensor with BAD_LAYOUT. Operators are
 * dispatched by the key of the layout. Composite ones
 * (CompositeImplicitAutograd) call others; detach and clone are provided, which
 * share and copy the parts; each other one that has no kernel for the key, nor
 * the key a fallback, fails with NO_KERNEL. Gradients are recorded and added by
 * these operators, too. */

/* "strided", or the name of a registered layout; "unknown". */
ST_API const char *st_layout_name(st_layout l);
/* False if there is no layout of that name. */
ST_API bool st_layout_parse(const char *name, st_layout *out);
/* Registers a layout, for the life of the process: name has lower case letters,
 * digits and _, at most 31. key is "Sparse", "NestedTensor" or "Quantized",
 * with a dispatch key for each backend ("SparseCPU"), or "SparseCsr", for the
 * CPU only. Kernels are registered for this dispatch key, as is a fallback
 * (st_library_fallback); they also get calls in which some of the arguments are
 * strided. empty finds the kernel by its argument `layout`; zeros, ones, full
 * and new_* with this argument call it, and then zero_ or fill_. Must precede
 * the first tensor. Layouts with the same f may share a key: a kernel asks
 * st_tensor_layout. f is used until the process exits. BAD_STATE when the name
 * or the key is taken, BAD_VALUE for another key or an invalid name. */
ST_API st_status st_layout_register(const char *name, const char *key,
                                    const st_layout_functions *f,
                                    st_layout *out);
/* A tensor of a layout. It holds aliases of the parts, without their history.
 * BAD_VALUE for a part that is no strided tensor, or a device for which the
 * layout has no key; BAD_SHAPE, BAD_DTYPE, NO_MEMORY. */
ST_API st_status st_tensor_of_parts(const st_layout_config *c,
                                    st_tensor **out);
ST_API st_layout st_tensor_layout(const st_tensor *t);
/* The number of parts; 0 for a strided tensor. */
ST_API int st_tensor_nparts(const st_tensor *t);
/* An alias of part i, for the caller. It has no history: an operator that
 * returns it to a user has a derivative of its own. BAD_INDEX; NO_MEMORY. */
ST_API st_status st_tensor_part(const st_tensor *t, int i, st_tensor **out);
/* Copies the notes of t. BAD_LAYOUT for a strided tensor. */
ST_API st_status st_tensor_notes(const st_tensor *t,
                                 int64_t notes[ST_LAYOUT_NOTES]);
/* For kernels that write in place: gives t, and all that shares its parts,
 * other ones. Counts as a write. BAD_LAYOUT for a strided tensor; otherwise as
 * st_tensor_of_parts. */
ST_API st_status st_tensor_set_parts(st_tensor *t, int n,
                                     st_tensor *const *parts,
                                     const int64_t notes[ST_LAYOUT_NOTES]);

#endif
