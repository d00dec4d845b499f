/* The tasks of fft.c; included for each type of a part, T, whose functions have
 * the suffixes TAG and, by vectors, VECTOR_TAG.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)
#define BY_VECTOR(name) NAME2(name, VECTOR_TAG)

/* Pair 0: Z[0] is a sum and a difference of X[0] and X[h], which are real. */
static void NAME(ends)(T *to, const T *from, const st_fft_halves *c) {
  const T a = from[0], b = from[c->to_real ? 2 * c->h : 1];
  const T sum = (a + b) * (T)c->factor, d = (a - b) * (T)c->factor;
  to[0] = sum;
  if (c->to_real) {
    to[1] = d;
  } else {
    to[2 * c->h] = d;
    to[1] = to[2 * c->h + 1] = 0;
  }
}

/* The last vector begins where it ends at the last pair, if it can. */
INLINE void NAME(halve)(T *to, const T *from, const T *u,
                        const st_fft_halves *c) {
  enum { V = BYTES / sizeof(T) / 2 };
  const T turn = c->to_real ? -1 : 1;
  const int64_t h = c->h;
  int64_t k = c->begin;
  if (k == 0) NAME(ends)(to, from, c), k = 1;
  const T factor = c->to_real ? (T)c->factor : (T)(c->factor / 2);
  for (; k + V <= c->end && k + V <= h - k - V + 1; k += V) {
    BY_VECTOR(pair)(to, from, u, h, k, factor, turn);
  }
  if (k < c->end && c->end > V + c->begin && to != from) {
    BY_VECTOR(pair)(to, from, u, h, c->end - V, factor, turn);
    k = c->end;
  }
  for (; k < c->end; k++) NAME(pair)(to, from, u, h, k, factor, turn);
}

static void NAME(halves)(char **data, const void *ctx) {
  const st_fft_halves *c = ctx;
  for (int64_t i = 0; i < c->lines; i++) {
    NAME(halve)((T *)(void *)(data[0] + i * c->to),
                (const T *)(const void *)(data[1] + i * c->from),
                (const T *)(void *)data[2], c);
  }
}

static void NAME(mirror)(char **data, const void *ctx) {
  enum { V = BYTES / sizeof(T) / 2 };
  const int64_t n = ((const st_fft_mirror *)ctx)->n, end = (n + 1) / 2;
  int64_t k = 1;
  for (; k + V <= end; k += V) BY_VECTOR(reflect)((T *)(void *)data[0], n, k);
  for (; k < end; k++) NAME(reflect)((T *)(void *)data[0], n, k);
}

INLINE void NAME(multiply_numbers)(T *to, const T *a, const T *b, int64_t n) {
  enum { V = BYTES / sizeof(T) / 2 };
  int64_t k = 0;
  for (; k + V <= n; k += V) {
    BY_VECTOR(product)(to + 2 * k, a + 2 * k, b + 2 * k);
  }
  for (; k < n; k++) NAME(product)(to + 2 * k, a + 2 * k, b + 2 * k);
}

static void NAME(multiply)(char **data, const void *ctx) {
  NAME(multiply_numbers)((T *)(void *)data[0], (T *)(void *)data[1],
                         (T *)(void *)data[2],
                         ((const st_fft_multiply *)ctx)->n);
}

/* The powers are computed in float64, and rounded once. Products of interleaved
 * parts are products of vectors: from loops over pairs, compilers make fused
 * operations, which -ffp-contract=off does not prevent in GCC 12. */
static void NAME(powers)(char **data, const void *ctx) {
  enum { N = 2 * ST_FFT_FINE };
  const st_fft_powers_of *c = ctx;
  T *to = (T *)(void *)data[0];
  const double *rough = (double *)(void *)data[1];
  double fine[N], powers[N], by[DOUBLES];
  for (int i = 0; i < N; i++) {
    fine[i] = ((double *)(void *)data[2])[i] * c->factor;
  }
  for (int64_t k = 0; k < c->n; k += ST_FFT_FINE, to += N, rough += 2) {
    for (int i = 0; i < DOUBLES; i++) by[i] = rough[i % 2];
    for (int i = 0; i < N; i += DOUBLES) {
      product_f64x(powers + i, fine + i, by);
    }
    for (int i = 0; i < N; i++) to[i] = (T)powers[i];
  }
}

#undef T
#undef TAG
#undef VECTOR_TAG
