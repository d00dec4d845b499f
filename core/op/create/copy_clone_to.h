/* Scalars that fit a dtype, filling, and copies on the CPU, for other families.
 */
#ifndef ST_OP_CREATE_COPY_CLONE_TO_H
#define ST_OP_CREATE_COPY_CLONE_TO_H

#include "op/row/typed.h"

/* BAD_VALUE when dtype cannot represent v: 300 as uint8, 1+2i as float32.
 * Fractions are truncated, any value converts to bool, and a negative integer
 * down to -255 wraps in uint8 (-1 is 255). */
st_status st__check_scalar_fits(st_scalar v, st_dtype dtype);
/* The same for an argument that a kernel converts to the dtype it computes
 * with: float32 for float16 and bfloat16. The message names the argument. */
st_status st__check_scalar_named(const char *name, st_scalar v,
                                 st_dtype dtype);
st_status st__check_scalar_arg(const st_run *r, int i, st_dtype dtype);
/* Rounds argument `name` to d if d is a half type: as ATen does with alpha of a
 * sum, the exponent of a power and lambd of shrink functions, and with no other
 * scalars. BAD_VALUE unless it fits. */
st_status st__round_to_half(const char *name, st_scalar *s, st_dtype d);

/* Sets every element of t to v. Fails as st__check_scalar_fits. t may overlap
 * itself. On the meta device nothing is written. */
st_status st__fill(st_tensor *t, st_scalar v);

/* t itself, retained, if it is on the CPU, otherwise a copy on the CPU, made
 * through the dispatcher. */
st_status st__to_cpu(const st_tensor *t, st_tensor **out);

/* contiguous and to.dtype, for their shortcuts, too: Note [Operators that a
 * composite row calls]. */
st_status st__op_contiguous(const st_callees *ops, const st_tensor *self,
                            const st_value *memory_format, st_tensor **out);
/* args: those of the operator. */
st_status st__op_to_dtype(const st_callees *ops, const st_value *args,
                          st_tensor **out);

#endif
