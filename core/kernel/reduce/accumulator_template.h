/* Accumulators of type A with the operation OP: how lanes and rows of them are
 * combined. Reductions share them: included once per pair of A and OP, which
 * are parameters (reduction_template.h). Their prefix is OP_A, as ADD_f64.
 */

#ifndef OP
#define OP ADD
#endif
#define ACC JOIN(OP, A)

#define HALVE(w) \
  for (int l = 0; W > (w) && l < (w); l++) v[l] = OP(v[l], v[l + (w)]);

/* Combines m lanes into one value. */
static void JOIN(ACC, lanes)(char *to, A *v, int64_t m) {
  enum { W = LANES(A) };
  if (m < W) {
    for (int w = W / 2; w; w /= 2)
      for (int l = 0; l < w && l + w < m; l++) v[l] = OP(v[l], v[l + w]);
  } else { /* loops of known lengths, which are vectorised */
    HALVE(32)
    HALVE(16)
    HALVE(8)
    HALVE(4)
    HALVE(2)
    HALVE(1)
  }
  *(A *)to = v[0];
}

#define FOLD(h) \
  for (int l = 0; w > (h) && l < (h); l++) \
    v[l] = l + (h) < m ? OP(v[l], v[l + (h)]) : v[l];

/* The same for the first m of w lanes, which may be read beyond m. */
static ST_MAYBE ST_ALWAYS_INLINE void JOIN(ACC, fold)(char *to, A *v, int m,
                                                      const int w) {
  FOLD(32)
  FOLD(16)
  FOLD(8)
  FOLD(4)
  FOLD(2)
  FOLD(1)
  *(A *)to = v[0];
}

/* Combines two rows. */
static void JOIN(ACC, join)(char *to, const char *with, int64_t n) {
  A *restrict a = (A *)to;
  const A *restrict b = (const A *)with;
  for (int64_t j = 0; j < n; j++) a[j] = OP(a[j], b[j]);
}

#undef HALVE
#undef FOLD
#undef ACC
#ifndef NAME /* else reduction_template.h goes on with them */
#undef A
#undef OP
#endif
