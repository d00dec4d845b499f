/* The expressions of kernels as text, for code generation.
 */
#ifndef ST_KERNEL_SOURCE_H
#define ST_KERNEL_SOURCE_H

#include "kernel/kernel.h"

/* The expression of a kernel for a dtype, or NULL if it has none, as loops that
 * copy or convert. It is the text of the .def file with
 * macros written out (kernel/elementwise/expression.h). Variables: the inputs
 * a, b, c, d in order (mask: a leading input of bytes) and the scalar arguments
 * p0, p1, p2. The value is converted to the output's dtype. */
const char *st__kernel_source(st_kernel_key kernel);

#endif
