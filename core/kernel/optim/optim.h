/* Operands of the loops of kernel/optim/optim.c: one row of n0 elements, which
 * are adjacent in every operand. Operands do not overlap.
 *
 *   sgd_step       p, [buffer,] g                    beta1: the momentum;
 *                                                    beta2: the dampening
 *   adam_step      p, mean, square, [top,] g         eps; a: the root of the
 *                                                    correction of square
 *   nadam_step     p, mean, square, g                eps; a: the correction
 *                                                    of square; lr: of mean;
 *                                                    b: the lr of g
 *   radam_step     p, mean, square, g                eps; a: the factor of
 *                                                    1 / sqrt(square)
 *   rmsprop_step   p, square, [mean,] [buffer,] g    beta2, eps; beta1: the
 *                                                    momentum
 *   adagrad_step   p, sum, g                         eps
 *   adadelta_step  p, square, delta, g               beta2, eps
 *   adamax_step    p, mean, top, g                   eps
 *   asgd_step      p, average, g                     a: 1 / steps averaged
 *   rprop_step     p, previous g, size, g            beta1, beta2: factors of
 *                                                    size; a, b: its limits
 *   unscale        g                                 a: the scale
 *
 * p is the parameter and g its gradient. ctx is an array of ST_OPTIM_NUMBERS
 * doubles; all rules have these: g is multiplied by `sign`, p by `shrink`, and
 * p times `decay` is added to g; lr is the step size, with the correction of
 * mean in it.
 */
#ifndef ST_KERNEL_OPTIM_OPTIM_H
#define ST_KERNEL_OPTIM_OPTIM_H

/* The numbers of a step. ORDER OPTIM_NUMBERS */
enum {
  ST_OPTIM_SIGN,
  ST_OPTIM_DECAY,
  ST_OPTIM_SHRINK,
  ST_OPTIM_LR,
  ST_OPTIM_BETA1,
  ST_OPTIM_BETA2,
  ST_OPTIM_EPS,
  ST_OPTIM_A,
  ST_OPTIM_B,
  ST_OPTIM_MODE,   /* a sum of the flags below */
  ST_OPTIM_NUMBERS
};

/* What the flags of a step mean, by rule. */
enum {
  ST_OPTIM_EXTRA = 1,    /* adam: top; rmsprop: mean; sgd: Nesterov's; radam:
                            divide by sqrt(square) */
  ST_OPTIM_MOMENTUM = 2, /* sgd, rmsprop: buffer */
  ST_OPTIM_FIRST = 4     /* sgd: the buffer becomes g */
};

#endif
