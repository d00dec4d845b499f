/* Steps on complex numbers in vectors; included for each type and size.
 *
 * T: the type of a part. I: an integer of its size. REALS: parts in a vector.
 * TAG: the suffix of functions.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)
#define INDICES_(name, reals) name##reals
#define INDICES2(name, reals) INDICES_(name, reals)
#define PICK(x, name) ST_SHUFFLE(NAME(indices), x, x, INDICES2(name, REALS))

typedef T NAME(parts) __attribute__((vector_size(REALS * sizeof(T))));
typedef I NAME(indices) __attribute__((vector_size(REALS * sizeof(T))));

INLINE NAME(parts) NAME(load)(const T *p) {
  NAME(parts) x;
  memcpy(&x, p, sizeof x);
  return x;
}

INLINE void NAME(store)(T *p, NAME(parts) x) { memcpy(p, &x, sizeof x); }

/* 1 for real parts, -1 for imaginary ones. */
INLINE NAME(parts) NAME(signs)(void) {
  NAME(parts) x;
  UNROLL for (int i = 0; i < REALS; i++) x[i] = i % 2 ? -1 : 1;
  return x;
}

/* Numbers k and h - k, and the REALS / 2 - 1 behind and before them. */
INLINE void NAME(pair)(T *to, const T *from, const T *u, int64_t h, int64_t k,
                       T factor, T turn) {
  const NAME(parts) signs = NAME(signs)();
  const int64_t low = 2 * k, high = 2 * (h - k) + 2 - REALS;
  const NAME(parts) a = NAME(load)(from + low) * factor;
  const NAME(parts) b = PICK(NAME(load)(from + high), REVERSED) * signs *
                        factor;
  const NAME(parts) by = NAME(load)(u + low);
  const NAME(parts) sum = a + b, d = a - b; /* halves: no overflow */
  const NAME(parts) turned = d * PICK(by, REAL) -
    PICK(d, SWAPPED) * (PICK(by, IMAGINARY) * signs * turn);
  NAME(store)(to + high, PICK((sum - turned) * signs, REVERSED));
  NAME(store)(to + low, sum + turned);
}

INLINE void NAME(product)(T *to, const T *a, const T *b) {
  const NAME(parts) x = NAME(load)(a), by = NAME(load)(b);
  NAME(store)(to, x * PICK(by, REAL) -
                  PICK(x, SWAPPED) * (PICK(by, IMAGINARY) * NAME(signs)()));
}

/* Numbers n - k from numbers k. */
INLINE void NAME(reflect)(T *p, int64_t n, int64_t k) {
  const NAME(parts) x = NAME(load)(p + 2 * k) * NAME(signs)();
  NAME(store)(p + 2 * (n - k) + 2 - REALS, PICK(x, REVERSED));
}

#undef T
#undef I
#undef REALS
#undef TAG
