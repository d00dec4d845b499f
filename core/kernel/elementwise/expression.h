/* Macros of kernel expressions that the texts of the expressions contain
 * written out (kernel/source.c): kernels and machine code are made from one
 * definition. So these are in the grammar of fuse/jit/kernel_parser.c.
 */
#ifndef ST_KERNEL_ELEMENTWISE_EXPRESSION_H
#define ST_KERNEL_ELEMENTWISE_EXPRESSION_H

#define AT_LEAST(x, low) ((x) > (low) ? (x) : (low))
#define AT_MOST(x, high) ((x) < (high) ? (x) : (high))
/* y, unless x or low is NaN: clamp puts y = AT_MOST(AT_LEAST(x, low), high).
 * A NaN in high is in y. */
#define FIRST_NAN(x, low, y) ((x) != (x) ? (x) : (low) != (low) ? (low) : (y))

#define LERP(x, y, w, size) \
  ((size) < (T)0.5 ? (x) + (w) * ((y) - (x)) : (y) - ((y) - (x)) * (1 - (w)))

#endif
