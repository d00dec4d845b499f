/* The expressions of kernels as text, for code generation.
 */
#ifndef ST_KERNEL_SOURCE_H
#define ST_KERNEL_SOURCE_H

#include "kernel/kernel.h"

/* The expression of a kernel for a dtype, or NULL if it has none, as loops that
 * copy or convert. It is the text of the .def file with
 * macros written out (kernel/expression.h). Variables: the inputs
 * a, b, c, d in order (mask: a leading input of bytes) and the scalar arguments
 * p0, p1, p2. The value is converted to the output's dtype. */
const char *st__kernel_source(st_kernel_key kernel);

/* A row of math/functions.def as text. */
typedef struct st_function_source {
  const char *name;
  int width;              /* bytes of T: 4 or 8 */
  const char *parameters; /* as in C, with parentheses */
  const char *body;
} st_function_source;

/* NULL if there is none. A call is written st_<name>(...) in all texts. */
const st_function_source *st__function_source(const char *name, int width);

#endif
