/* The expressions of kernels as vector code.
 */
#ifndef ST_FUSE_JIT_KERNEL_PARSER_H
#define ST_FUSE_JIT_KERNEL_PARSER_H

#include "fuse/jit/vector_ir.h"

/* A value: lanes, or a mask of them. */
typedef struct st_term { int value; bool is_mask; } st_term;

/* The names of an expression. */
typedef struct st_names {
  int n;                     /* inputs: a, b, c, d */
  st_term inputs[4], mask;
  bool has_mask;
  const st_params *params;   /* NULL: none */
} st_names;

/* Appends what the text says (kernel/source.h) to v, of float32 or float64 by
 * its width. False: it says something that is none of these operations. */
bool st__formula(st_vector *v, const char *text, const st_names *names,
                 st_term *out);
/* 1 and 0 for a mask. */
int st__formula_lanes(st_vector *v, st_term t);

#endif
