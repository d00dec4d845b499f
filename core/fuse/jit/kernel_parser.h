/* Parser of kernel expressions, which appends vector IR.
 */
#ifndef ST_FUSE_JIT_KERNEL_PARSER_H
#define ST_FUSE_JIT_KERNEL_PARSER_H

#include "fuse/jit/vector_ir.h"

/* A value of the vector IR: numbers, or a mask. */
typedef struct st_vector_value { int value; bool is_mask; } st_vector_value;

/* The variables of functions whose bodies are being parsed, those of the
 * innermost one last. */
enum { ST_KERNEL_NAME = 24, ST_KERNEL_LOCALS = 160 };
typedef struct st_kernel_locals {
  int n;
  struct { char name[ST_KERNEL_NAME]; int value; bool is_bits; }
    at[ST_KERNEL_LOCALS];
} st_kernel_locals;

/* The values of the names in an expression. */
typedef struct st_kernel_env {
  int n;                     /* inputs, named a, b, c, d */
  st_vector_value inputs[4], mask;
  bool has_mask;
  const st_params *params;   /* NULL: not known */
  bool has_params;           /* without params: they become PARAM operations */
  st_kernel_locals *locals;  /* scratch */
} st_kernel_env;

/* Appends the operations of an expression (kernel/source.h) to v, in float32 or
 * float64 by v's width. False, and nothing appended, if the expression is not
 * in the grammar or v is full. */
bool st__parse_kernel(st_vector_ir *v, const char *text,
                      const st_kernel_env *names, st_vector_value *out);
/* The numbers 1 and 0 for a mask; t's value otherwise. */
int st__value_lanes(st_vector_ir *v, st_vector_value t);

#endif
