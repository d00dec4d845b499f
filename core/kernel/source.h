/* What kernels compute, as text: the expressions of the .def files, for those
 * who make code of them.
 */
#ifndef ST_KERNEL_SOURCE_H
#define ST_KERNEL_SOURCE_H

#include "kernel/kernel.h"

/* The expression of the row whose loop for a dtype this is: of a, b, c, d, the
 * inputs in order (mask: a leading one of bytes), and the numbers p0, p1, p2.
 * What comes out is converted to the output's dtype. NULL: there is none, as
 * for loops that move or convert. Macros are as in the row. */
const char *st__kernel_source(st_loop loop, st_dtype dtype);

#endif
