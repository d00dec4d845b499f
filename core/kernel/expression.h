/* Macros of kernel expressions that the texts of the expressions contain
 * written out (kernel/source.c): kernels and machine code are made from one
 * definition. So these are in the grammar of fuse/jit/kernel_parser.c.
 */
#ifndef ST_KERNEL_EXPRESSION_H
#define ST_KERNEL_EXPRESSION_H

#define AT_LEAST(x, low) ((x) > (low) ? (x) : (low))
#define AT_MOST(x, high) ((x) < (high) ? (x) : (high))
/* y, unless x or low is NaN: clamp puts y = AT_MOST(AT_LEAST(x, low), high).
 * A NaN in high is in y. */
#define FIRST_NAN(x, low, y) ((x) != (x) ? (x) : (low) != (low) ? (low) : (y))

#define LERP(x, y, w, size) \
  ((size) < (T)0.5 ? (x) + (w) * ((y) - (x)) : (y) - ((y) - (x)) * (1 - (w)))

/* -- Activations and logarithms ------------------------------------------- */

#define SQRT_2_OVER_PI    0x1.9884533d43651p-1
#define LOG2_E            0x1.71547652b82fep0

#define SIGMOID(x) (1 / (1 + F(exp)(-(x))))

/* Derivatives. s is the sigmoid of x, t a tanh, small exp(-|x|), which cannot
 * overflow; of gelu with tanh exp(-|2 u|) with u the tanh's argument. */
#define SILU_SLOPE(x, s) ((s) * (1 + (x) * (1 - (s))))
#define PART(small) (1 / (1 + (small))) /* one quotient for all of them */
#define SIGMOID_SLOPE(small) ((small) * PART(small) * PART(small))
#define MISH_SLOPE(x, s, t) ((t) + (x) * (s) * (1 - (t) * (t)))
#define GELU_TANH_INNER(x) \
  ((T)SQRT_2_OVER_PI * ((x) + (x) * (x) * (x) * (T)0.044715))
#define GELU_TANH_SLOPE(x, small) \
  (((x) < 0 ? (small) : 1) * PART(small) + \
   2 * (x) * SIGMOID_SLOPE(small) * \
   ((T)SQRT_2_OVER_PI * (1 + (T)0.134145 * (x) * (x))))
#define LOG_SIGMOID_PART(x, small) \
  ((x) < 0 ? (small) / (1 + (small)) : -((small) / (1 + (small))))

/* Rounded to float32 even for float64, as in ATen. */
#define A_SIXTH (T)0x1.555556p-3f

#define ODDS(x) ((x) / (1 - (x)))
/* A negative eps means no clamping. */
#define AWAY_FROM_ENDS(x, eps) \
  ((eps) < 0 ? (x) : (x) < (eps) ? (eps) : (x) > 1 - (eps) ? 1 - (eps) : (x))
/* True where x is clamped, so that logit has no gradient. */
#define LOGIT_LACKS(x, eps) ((x) < (eps) || (x) > 1 - (eps))

#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
/* log(base^a + base^b), from small = base^-|a - b|; scale is log_base(e). */
#define LOG_ADD(a, b, small, scale) \
  ((a) == (b) && (a) - (a) != 0 ? (a) \
   : LARGER(a, b) + F(log1p)(small) * (T)(scale))

#endif
