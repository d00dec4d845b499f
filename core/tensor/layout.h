/* Layouts that extensions bring, and their tensors.
 *
 * Note [Layouts of extensions]
 * A tensor of such a layout has sizes, a dtype and a device, but no strides and
 * no memory of elements: what it stores are its parts, strided tensors that
 * only the kernels of the layout understand. They are in its storage, which has
 * no bytes, so all headers over it (detach, saved tensors) share them and its
 * version. The storage is marked: no header with strides is made over it, it
 * cannot grow, and st__lacks_memory, which kernels and iterators ask of their
 * operands, is true. st__is_plain and st__has_elements are false.
 *
 * The tensor has the key of its layout in the place of Dense. What is
 * registered for that key, as "SparseCPU", and composite operators are all that
 * serves it: kernels that are registered for CompositeExplicitAutograd expect
 * strides, so the tables skip them at the keys of layouts, except those that
 * copy headers (st__accept_layouts).
 *
 * A part is held, and given out, as a header of its own without history. So it
 * cannot lead back to the tensor, and there are no cycles (tensor/parts.c).
 */
#ifndef ST_TENSOR_LAYOUT_H
#define ST_TENSOR_LAYOUT_H

#include "tensor/tensor.h"

#include "abi/layout_types.h"
#include "abi/strided_layout.h"

/* "strided", or the name of a registered layout; "unknown". */
const char *st__layout_name(int64_t layout);
/* True for ST_LAYOUT_STRIDED and the number of a registered layout. */
bool st__is_layout(int64_t number);
/* NULL for ST_LAYOUT_STRIDED. */
const st_layout_functions *st__layout_functions(st_layout layout);
/* See strided.h; the caller drops dispatch tables. */
st_status st__layout_add(const char *name, const char *key,
                         const st_layout_functions *f, st_layout *out);
/* The functionalities that are keys of registered layouts. */
st_keyset st__layout_bits(void);
/* The bits of the key for which kernels of a layout and device are registered.
 * BAD_VALUE if the layout has none for the device. */
st_status st__layout_keys(st_layout layout, st_device device,
                          st_keyset *out);
/* The error of code that needs strides. */
st_status st__refuse_layout(st_layout layout);

/* -- Tensors of parts: parts.c -------------------------------------------- */

/* See strided.h. */
st_status st__set_parts(st_tensor *t, int n, st_tensor *const *parts,
                        const int64_t *notes);
st_status st__layout_notes(const st_tensor *t, int64_t *notes);

/* A new tensor of the same layout with other parts, as many. */
st_status st__layout_like(const st_tensor *t, st_tensor *const *parts,
                          st_tensor **out);

#endif
