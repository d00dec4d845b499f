/* The expressions of kernels as vector code.
 */
#ifndef ST_FUSE_JIT_KERNEL_PARSER_H
#define ST_FUSE_JIT_KERNEL_PARSER_H

#include "fuse/jit/vector_ir.h"

/* A value: lanes, or a mask of them. */
typedef struct st_vector_value { int value; bool is_mask; } st_vector_value;

/* The names of an expression. */
typedef struct st_kernel_env {
  int n;                     /* inputs: a, b, c, d */
  st_vector_value inputs[4], mask;
  bool has_mask;
  const st_params *params;   /* NULL: none */
} st_kernel_env;

/* Appends what the text says (kernel/source.h) to v, of float32 or float64 by
 * its width. False: it says something that is none of these operations. */
bool st__parse_kernel(st_vector_ir *v, const char *text,
                      const st_kernel_env *names, st_vector_value *out);
/* 1 and 0 for a mask. */
int st__value_lanes(st_vector_ir *v, st_vector_value t);

#endif
