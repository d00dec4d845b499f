/* A step of an optimizer over lists of tensors: what step.c runs and what the
 * operators of fused.c describe.
 */
#ifndef ST_OP_OPTIM_STEP_H
#define ST_OP_OPTIM_STEP_H

#include "kernel/optim/optim.h"
#include "op/row/op.h"

enum { ST_OPTIM_LISTS = 6 }; /* parameters, up to four states, gradients */

typedef struct st_optim_call {
  st_kernel_id kernel;
  int nlists;                        /* the first one: parameters, the last
                                        one: gradients */
  st_tensors list[ST_OPTIM_LISTS];
  const char *name[ST_OPTIM_LISTS];  /* of arguments, for messages */
  double numbers[ST_OPTIM_NUMBERS];
  /* Or NULL; sets those numbers that depend on a parameter's step. */
  void (*numbers_of)(const struct st_optim_call *call, double step,
                     double *numbers);
  st_tensors steps;                  /* the argument of numbers_of */
  double lr, beta1, beta2;           /* what numbers_of reads */
  double scale;                      /* 0: gradients are not scaled */
} st_optim_call;

/* BAD_SHAPE, BAD_DTYPE or OVERLAP, before anything is written, unless the
 * tensors at each position of the lists have the same shape, floating dtypes,
 * and memory of their own. Tensors of other strides than those of the parameter
 * are copied. Lists of half precision are computed as float32 (parameters,
 * states and gradients may differ in that). */
st_status st__optim_step(const st_optim_call *call);

/* The value of a tensor with one element. BAD_SHAPE or BAD_DTYPE otherwise. */
st_status st__optim_number(const st_tensor *t, const char *name, double *out);

#endif
