/* Turning and transposing in vectors; included for each type.
 *
 * T: the type of a part. I: an integer of its size. REALS: parts in a vector.
 * NUMBERS: REALS / 2. TAG: the suffix of functions.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)
#define INDICES_(name, reals) name##reals
#define INDICES2(name, reals) INDICES_(name, reals)
#define MIX(x, y, by) ST_SHUFFLE(NAME(indices), x, y, INDICES2(by, REALS))
#define SWAP(x) MIX(x, x, SWAPPED)

typedef T NAME(parts) __attribute__((vector_size(REALS * sizeof(T))));
typedef I NAME(indices) __attribute__((vector_size(REALS * sizeof(T))));

#define V NAME(parts)

INLINE V NAME(load)(const char *p) {
  V x;
  memcpy(&x, p, sizeof x);
  return x;
}

INLINE void NAME(store)(char *p, V x) { memcpy(p, &x, sizeof x); }

/* -1 for real parts, 1 for imaginary ones. */
INLINE V NAME(signs)(void) {
  V x;
  UNROLL for (int i = 0; i < REALS; i++) x[i] = i % 2 ? 1 : -1;
  return x;
}

/* x[i] and x[i + d] exchange the numbers with i & d. */
#if NUMBERS > 1
#define EXCHANGE(a, b, low, high)                                           \
  do {                                                                      \
    const V one = MIX(a, b, low), two = MIX(a, b, high);                    \
    a = one, b = two;                                                       \
  } while (0)
#endif

INLINE void NAME(exchange)(V *x) {
#if NUMBERS == 8
  UNROLL for (int i = 0; i < 4; i++) EXCHANGE(x[i], x[i + 4], LOW4_, HIGH4_);
#endif
#if NUMBERS >= 4
  UNROLL for (int i = 0; i < NUMBERS; i++) {
    if (i % 4 < 2) EXCHANGE(x[i], x[i + 2], LOW2_, HIGH2_);
  }
#endif
#if NUMBERS >= 2
  UNROLL for (int i = 0; i < NUMBERS; i += 2) {
    EXCHANGE(x[i], x[i + 1], LOW1_, HIGH1_);
  }
#endif
  (void)x;
}

static void NAME(turns)(char **data, const void *ctx) {
  enum { L = ST_FFT_ROW / 2 / sizeof(T), E = NUMBERS, ROW = ST_FFT_ROW };
  const st_fft_turn *c = ctx;
  const V signs = NAME(signs)();
  const T *coarse = (const T *)(void *)data[3];
  const char *from = data[1], *fine = data[2];
  char *to = data[0];
  for (int64_t k = 0; k < c->n; k += L, to += c->pitch) {
    for (int64_t g = 0; g < L; g += E) {
      for (int v = 0; v < L / E; v++) {
        const int at = v * (int)sizeof(V);
        V x[E];
        UNROLL for (int e = 0; e < E; e++) {
          const V a = NAME(load)(from + e * ROW + at);
          const V b = a * coarse[2 * e] +
                      SWAP(a) * (signs * coarse[2 * e + 1]);
          x[e] = b * NAME(load)(fine + 2 * e * ROW + at) +
                 SWAP(b) * NAME(load)(fine + (2 * e + 1) * ROW + at);
        }
        NAME(exchange)(x);
        UNROLL for (int e = 0; e < E; e++) {
          NAME(store)(to + (v * E + e) * ROW + g * 2 * (int)sizeof(T), x[e]);
        }
      }
      from += E * ROW;
      fine += 2 * E * ROW;
      coarse += 2 * E;
    }
  }
}

#undef T
#undef I
#undef REALS
#undef NUMBERS
#undef TAG
