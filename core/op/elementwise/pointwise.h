/* Elementwise operators: the generic meta and impl of ST_POINTWISE rows, and
 * what the metas and impls of structured rows share.
 *
 * Note [Tensor and scalar operands]
 * The tensor arguments of a row are the iterator's inputs, in schema order. A
 * Scalar argument named self, other, exponent, x or n is an operand too: it
 * becomes a wrapped 0-dim tensor. Every other Scalar argument is a parameter of
 * the kernel.
 */
#ifndef ST_OP_ELEMENTWISE_POINTWISE_H
#define ST_OP_ELEMENTWISE_POINTWISE_H

#include "op/row/op.h"

enum { ST_MAX_INPUTS = 4 };

typedef struct st_inputs {
  st_tensor *t[ST_MAX_INPUTS];
  bool borrowed[ST_MAX_INPUTS]; /* an argument; the others are owned */
  bool casts[ST_MAX_INPUTS];    /* the iterator casts it to dtype `as` */
  st_dtype as;
  int n;
} st_inputs;

/* True for a Scalar argument that is an operand. */
bool st__is_scalar_operand(const st_arg *arg);
/* The widest dtype of a scalar's kind, which stores it without rounding. */
st_dtype st__widest_dtype(st_scalar_kind kind);
/* The operands of the run, which the caller releases. A failure releases them.
 */
st_status st__get_inputs(const st_run *r, st_inputs *in);
void st__release_inputs(st_inputs *in);
/* status, that of a check of them: a failure releases them. */
st_status st__checked_inputs(st_inputs *in, st_status status);
/* Appends a scalar as a wrapped 0-dim tensor. */
st_status st__add_scalar(st_inputs *in, st_scalar s);
/* Makes self, cast to dtype d, the only input. */
void st__get_self_as(const st_run *r, st_dtype d, st_inputs *in);
/* The result dtype of self and n scalars. */
st_status st__dtype_among(const st_run *r, const st_scalar *s, int n,
                          st_dtype *out);
/* In a functional call, makes the result before the iterator is built. format
 * is PRESERVE (self's layout) or CONTIGUOUS. */
st_status st__new_like_self(st_run *r, st_dtype d, st_format format);
/* Builds r->it over the inputs. static_dtype is the dtype that the kernel
 * writes, or ST_DTYPE_NONE for the common dtype. The run becomes the owner of
 * the owned inputs. */
st_status st__build_pointwise(st_run *r, uint32_t flags, st_inputs *in,
                              st_dtype static_dtype);
/* Note [Numbers times halves]
 * A product or a quotient of a half tensor and one element of another dtype,
 * such as a number, is computed in float32 and rounded once: bfloat16 -3 times
 * 0.3 is -0.8984, and not -0.9023, as if 0.3 were rounded, too. Other operators
 * round the number to the tensor's dtype, also in number / tensor, as in ATen
 * (opmath_t in BinaryOpsKernel.cpp). mul_number and div_number are the fast
 * kernels for this. On Meta, where the number may be unknown, and for rounded
 * quotients, a loop of float32 converts what it reads and writes: a fused
 * function records that and computes the same bits.
 *
 * True for a kernel, the index of the operand that is one element, and the
 * dtypes of the operands to which this applies. */
bool st__widens_number(st_kernel_id kernel, int number, st_dtype self,
                       st_dtype other);
/* st__build_pointwise and st__run_kernel for such a kernel. */
st_status st__build_product(st_run *r, uint32_t flags, st_inputs *in,
                            st_kernel_id kernel);
st_status st__run_product(st_run *r, st_kernel_id kernel);
/* The operator's scalar parameters in schema order; absent ones are 0. */
void st__get_scalars(const st_run *r, st_params *k);
/* BAD_VALUE unless they fit the common dtype (st__check_scalar_arg). */
st_status st__check_scalars(const st_run *r);
/* Runs kernel id over r->it. It fails only before it writes. */
st_status st__run_kernel(st_run *r, st_kernel_id id, const st_params *k);

/* The meta of ST_POINTWISE rows. */
st_status st__pointwise_meta(st_run *r);

#endif
