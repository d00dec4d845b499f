/* Operations of numbers of one dtype; included once for each by each_number.h.
 *
 * The parts of complex numbers alternate in vectors. A product with a number
 * is fused multiply-adds in one order, where the instruction set has them, so
 * that vectors of any width round alike.
 */

#define SIZE (PARTS * (int64_t)sizeof(T)) /* bytes of a number */

INLINE V F(get)(const T *p) { return *(const V *)(const void *)p; }

INLINE void F(put)(T *p, V x) { *(V *)(void *)p = x; }

INLINE V F(spread)(T x) { return x - (V){0}; }

#if PARTS == 2
typedef INDEX F(indices) __attribute__((vector_size(BYTES)));

INLINE V F(exchanged)(V x) {
  return ST_SHUFFLE(F(indices), x, x, NEIGHBOURS);
}

/* -i x. */
INLINE V F(turned)(V x) {
  V signs;
  UNROLL for (int i = 0; i < BYTES / (int)sizeof(T); i++) {
    signs[i] = i % 2 ? -1 : 1;
  }
  return F(exchanged)(x) * signs;
}

/* What y - w x needs of x. */
typedef struct F(factor) { V x, turned; } F(factor);
INLINE F(factor) F(as_factor)(V x) {
  return (F(factor)){x, F(turned)(x)};
}

/* y - w x, or y - conj(w) x if sign is -1. */
INLINE V F(minus)(V y, const T *w, F(factor) x, T sign) {
  y = FMA(F(spread)(-w[0]), x.x, y);
  return FMA(F(spread)(sign * w[1]), x.turned, y);
}
#else
typedef V F(factor);
INLINE F(factor) F(as_factor)(V x) { return x; }

INLINE V F(minus)(V y, const T *w, F(factor) x, T sign) {
  (void)sign;
  return FMA(F(spread)(-w[0]), x, y);
}
#endif

/* The same of one number at y. */
INLINE void F(minus_one)(T *y, const T *w, const T *x, T sign) {
  const T re = FUSED(-w[0], x[0], y[0]);
#if PARTS == 2
  const T im = FUSED(-w[0], x[1], y[1]);
  y[0] = FUSED(sign * w[1], x[1], re);
  y[1] = FUSED(-sign * w[1], x[0], im);
#else
  (void)sign;
  y[0] = re;
#endif
}

/* What LAPACK takes for the size of a number when it looks for a pivot. */
INLINE T F(size_of)(const T *x) {
#if PARTS == 2
  return M(fabs)(x[0]) + M(fabs)(x[1]);
#else
  return M(fabs)(x[0]);
#endif
}

#if PARTS == 2
/* The parts of 1 / x, by Smith's algorithm, which divides by the larger part;
 * x is scaled so that neither the quotient nor the reciprocal of a small number
 * overflows: the result is to be multiplied by *scale. */
INLINE void F(invert)(const T *x, T *out, T *scale) {
  T re = x[0], im = x[1], most = F(size_of)(x);
  *scale = most < (sizeof(T) == 4 ? (T)0x1p-100 : (T)0x1p-900)
         ? (sizeof(T) == 4 ? (T)0x1p60 : (T)0x1p500) : 1;
  re *= *scale, im *= *scale;
  if (M(fabs)(re) >= M(fabs)(im)) {
    const T r = im / re, d = FUSED(im, r, re);
    out[0] = 1 / d, out[1] = -r / d;
  } else {
    const T r = re / im, d = FUSED(re, r, im);
    out[0] = r / d, out[1] = -1 / d;
  }
}
#endif
