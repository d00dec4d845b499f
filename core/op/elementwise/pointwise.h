/* Elementwise operators: the generic meta and impl of ST_POINTWISE rows, and
 * the metas and impls of structured rows.
 *
 * Note [Tensor and scalar operands]
 * The tensor arguments of a row are the iterator's inputs, in schema order. A
 * Scalar argument named self, other or exponent is an operand too: it becomes
 * a wrapped 0-dim tensor. Every other Scalar argument is a parameter of the
 * kernel.
 */
#ifndef ST_OP_ELEMENTWISE_POINTWISE_H
#define ST_OP_ELEMENTWISE_POINTWISE_H

#include "op/registry/op.h"

enum { ST_MAX_INPUTS = 4 };

typedef struct st_inputs {
  st_tensor *t[ST_MAX_INPUTS];
  bool borrowed[ST_MAX_INPUTS]; /* an argument; the others are owned */
  bool casts[ST_MAX_INPUTS];    /* the iterator casts it to dtype `as` */
  st_dtype as;
  int n;
} st_inputs;

/* The operands of the run, which the caller releases. A failure releases them.
 */
st_status st__get_inputs(const st_run *r, st_inputs *in);
void st__release_inputs(st_inputs *in);
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
/* The operator's scalar parameters in schema order; absent ones are 0. */
void st__get_scalars(const st_run *r, st_params *k);
/* BAD_VALUE unless they fit the common dtype (st__check_scalar_arg). */
st_status st__check_scalars(const st_run *r);
/* Runs kernel id over r->it. It fails only before it writes. */
st_status st__run_kernel(st_run *r, st_kernel_id id, const st_params *k);

/* -- Generic -------------------------------------------------------------- */

st_status st__pointwise_meta(st_run *r);
st_status st__pointwise_impl(st_run *r);
/* For structured rows with the presets UNARY and BINARY. */
st_status st__unary_meta(st_run *r);
st_status st__binary_meta(st_run *r);
/* UNARY, where a new result has self's layout or is contiguous. */
st_status st__like_self_meta(st_run *r);
st_status st__contiguous_meta(st_run *r);
/* isinf, isfinite: for integers a new result has self's layout. */
st_status st__is_float_meta(st_run *r);
st_status st__isreal_meta(st_run *r); /* its input is the imaginary part */
st_status st__isreal_impl(st_run *r);

/* -- Arithmetic ----------------------------------------------------------- */

st_status st__add_meta(st_run *r);      /* add and sub, with alpha */
st_status st__rsub_meta(st_run *r);     /* other - alpha * self */
st_status st__add_impl(st_run *r);
st_status st__div_mode_meta(st_run *r); /* rounding_mode */
st_status st__div_mode_impl(st_run *r);
st_status st__int_div_impl(st_run *r);  /* BAD_VALUE for an integer / 0 */
st_status st__pow_scalar_meta(st_run *r);
st_status st__pow_scalar_impl(st_run *r);
st_status st__square_meta(st_run *r);
st_status st__square_impl(st_run *r);
st_status st__pow_number_meta(st_run *r); /* pow.Scalar: scalar^tensor */
st_status st__ldexp_meta(st_run *r);
st_status st__deg2rad_meta(st_run *r);
st_status st__rad2deg_meta(st_run *r);
st_status st__neg_meta(st_run *r);
st_status st__frexp_meta(st_run *r);         /* two outputs */
st_status st__frexp_impl(st_run *r);
st_status st__to_real_meta(st_run *r);       /* abs: complex to float */
st_status st__to_real_float_meta(st_run *r); /* angle: also integers to float */

/* -- Selection ------------------------------------------------------------ */

st_status st__clamp_meta(st_run *r);
st_status st__hardtanh_meta(st_run *r);
st_status st__clamp_impl(st_run *r); /* also hardtanh */
st_status st__clamp_tensor_meta(st_run *r);
st_status st__clamp_tensor_impl(st_run *r);
st_status st__where_meta(st_run *r);
st_status st__where_impl(st_run *r);
st_status st__masked_fill_meta(st_run *r);
st_status st__lerp_meta(st_run *r);
st_status st__nan_to_num_impl(st_run *r);
st_status st__round_decimals_impl(st_run *r);
st_status st__gelu_impl(st_run *r);
st_status st__logit_meta(st_run *r);
st_status st__logit_impl(st_run *r);

/* -- Composite operators -------------------------------------------------- */

ST_BOXED(st__box_pow_);      /* pow_.Tensor, pow_.Scalar */
ST_BOXED(st__box_floor_divide_);
ST_BOXED(st__box_positive);
ST_BOXED(st__box_conj_physical);

#endif
