/* Passes over tiles in vectors; included for each type.
 *
 * T: the type of a part. I: an integer of its size. REALS: parts in a vector.
 * TAG: the suffix of functions.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)
#define INDICES_(name, reals) name##reals
#define INDICES2(name, reals) INDICES_(name, reals)
#if defined(__clang__)
#define SWAP(x) __builtin_shufflevector(x, x, INDICES2(SWAPPED, REALS))
#else
#define SWAP(x) __builtin_shuffle(x, (NAME(indices)){INDICES2(SWAPPED, REALS)})
#endif

typedef T NAME(parts) __attribute__((vector_size(REALS * sizeof(T))));
typedef I NAME(indices) __attribute__((vector_size(REALS * sizeof(T))));

#define V NAME(parts)

INLINE V NAME(load)(const char *p) {
  V x;
  memcpy(&x, p, sizeof x);
  return x;
}

INLINE void NAME(store)(char *p, V x) { memcpy(p, &x, sizeof x); }

/* 1 for real parts, -1 for imaginary ones; the reverse if backward. */
INLINE V NAME(signs)(bool backward) {
  V x;
  UNROLL for (int i = 0; i < REALS; i++) x[i] = i % 2 == backward ? 1 : -1;
  return x;
}

/* x (c - i s), where i is -i if backward. */
INLINE V NAME(turn)(V x, double c, double s, V signs) {
  return x * (T)c + SWAP(x) * (signs * (T)s);
}

/* -- Transforms of R numbers, in place ------------------------------------- */

INLINE void NAME(dft2)(V *x, int a, int b) {
  const V sum = x[a] + x[b];
  x[b] = x[a] - x[b];
  x[a] = sum;
}

/* x[a], x[a + d], ... */
INLINE void NAME(dft4)(V *x, int a, int d, V signs) {
  NAME(dft2)(x, a, a + 2 * d);
  NAME(dft2)(x, a + d, a + 3 * d);
  const V even = x[a], odd = x[a + 2 * d], sum = x[a + d];
  const V turned = SWAP(x[a + 3 * d]) * signs;
  x[a] = even + sum;
  x[a + d] = odd + turned;
  x[a + 2 * d] = even - sum;
  x[a + 3 * d] = odd - turned;
}

INLINE void NAME(dft8)(V *x, V signs) {
  NAME(dft4)(x, 0, 2, signs);
  NAME(dft4)(x, 1, 2, signs);
  x[3] = (x[3] + SWAP(x[3]) * signs) * (T)ROOT_HALF;
  x[5] = SWAP(x[5]) * signs;
  x[7] = (SWAP(x[7]) * signs - x[7]) * (T)ROOT_HALF;
  V y[8];
  UNROLL for (int k = 0; k < 4; k++) {
    y[k] = x[2 * k] + x[2 * k + 1];
    y[k + 4] = x[2 * k] - x[2 * k + 1];
  }
  UNROLL for (int k = 0; k < 8; k++) x[k] = y[k];
}

INLINE void NAME(dft16)(V *x, V signs) {
  UNROLL for (int j = 0; j < 4; j++) NAME(dft4)(x, j, 4, signs);
  x[5] = NAME(turn)(x[5], COS_16, SIN_16, signs);
  x[6] = (x[6] + SWAP(x[6]) * signs) * (T)ROOT_HALF;
  x[7] = NAME(turn)(x[7], SIN_16, COS_16, signs);
  x[9] = (x[9] + SWAP(x[9]) * signs) * (T)ROOT_HALF;
  x[10] = SWAP(x[10]) * signs;
  x[11] = (SWAP(x[11]) * signs - x[11]) * (T)ROOT_HALF;
  x[13] = NAME(turn)(x[13], SIN_16, COS_16, signs);
  x[14] = (SWAP(x[14]) * signs - x[14]) * (T)ROOT_HALF;
  x[15] = NAME(turn)(x[15], -COS_16, -SIN_16, signs);
  UNROLL for (int k = 0; k < 4; k++) NAME(dft4)(x, 4 * k, 1, signs);
  V y[16];
  UNROLL for (int k = 0; k < 16; k++) y[k] = x[k % 4 * 4 + k / 4];
  UNROLL for (int k = 0; k < 16; k++) x[k] = y[k];
}

/* An odd R: cosines go with x[i] + x[R - i], sines with x[i] - x[R - i]. */
INLINE void NAME(dft_odd)(V *x, int R, const double *cosines,
                          const double *sines, V signs) {
  const int half = R / 2;
  V sums[7], differences[7];
  const V first = x[0];
  V all = first;
  UNROLL for (int i = 1; i <= half; i++) {
    sums[i] = x[i] + x[R - i];
    differences[i] = x[i] - x[R - i];
    all += sums[i];
  }
  x[0] = all;
  UNROLL for (int k = 1; k <= half; k++) {
    V a = first, b = differences[1] * (T)sines[k];
    a += sums[1] * (T)cosines[k];
    UNROLL for (int i = 2; i <= half; i++) {
      a += sums[i] * (T)cosines[i * k % R];
      b += differences[i] * (T)sines[i * k % R];
    }
    b = SWAP(b) * signs;
    x[k] = a + b;
    x[R - k] = a - b;
  }
}

/* R = a * 5, for a of 2 or 3. Number i is (5 i1 + a i2) mod R, and result k the
 * one with k1 = k mod a and k2 = k mod 5, so that nothing is turned between. */
INLINE void NAME(dft_fives)(V *x, int R, V signs) {
  const int a = R / 5;
  V rows[3][5];
  UNROLL for (int j = 0; j < 5; j++) {
    V y[3];
    UNROLL for (int i = 0; i < a; i++) y[i] = x[(5 * i + a * j) % R];
    if (a == 2) NAME(dft2)(y, 0, 1);
    else NAME(dft_odd)(y, 3, cosines3, sines3, signs);
    UNROLL for (int k = 0; k < a; k++) rows[k][j] = y[k];
  }
  UNROLL for (int k = 0; k < a; k++) {
    NAME(dft_odd)(rows[k], 5, cosines5, sines5, signs);
  }
  UNROLL for (int k = 0; k < R; k++) x[k] = rows[k % a][k % 5];
}

INLINE void NAME(dft)(V *x, int R, V signs) {
  switch (R) {
  case 2: NAME(dft2)(x, 0, 1); break;
  case 3: NAME(dft_odd)(x, 3, cosines3, sines3, signs); break;
  case 4: NAME(dft4)(x, 0, 1, signs); break;
  case 5: NAME(dft_odd)(x, 5, cosines5, sines5, signs); break;
  case 7: NAME(dft_odd)(x, 7, cosines7, sines7, signs); break;
  case 8: NAME(dft8)(x, signs); break;
  case 10: NAME(dft_fives)(x, 10, signs); break;
  case 11: NAME(dft_odd)(x, 11, cosines11, sines11, signs); break;
  case 13: NAME(dft_odd)(x, 13, cosines13, sines13, signs); break;
  case 15: NAME(dft_fives)(x, 15, signs); break;
  default: NAME(dft16)(x, signs);
  }
}

/* -- Passes ---------------------------------------------------------------- */

/* A block: transforms of R rows each, with the same turns behind them. */
INLINE void NAME(block)(char *to, const char *from, int R, bool turns,
                        const T *roots, const st_fft_pass *c) {
  const V signs = NAME(signs)(c->backward);
  const int64_t in = c->from_row, out = c->to_row;
  const int64_t gap = c->stride * c->blocks * in, step = c->stride * out;
  V re[16], im[16];
  if (turns) {
    UNROLL for (int k = 1; k < R; k++) {
      re[k] = (V){0} + roots[2 * k - 2];
      im[k] = signs * roots[2 * k - 1];
    }
  }
  for (int64_t q = 0; q < c->stride; q++, from += in, to += out) {
    for (int v = 0; v < ST_FFT_ROW; v += (int)sizeof(V)) {
      V x[16];
      UNROLL for (int i = 0; i < R; i++) x[i] = NAME(load)(from + i * gap + v);
      NAME(dft)(x, R, signs);
      if (turns) {
        UNROLL for (int k = 1; k < R; k++) {
          x[k] = x[k] * re[k] + SWAP(x[k]) * im[k];
        }
      } else {
        UNROLL for (int k = 0; k < R; k++) x[k] *= (T)c->factor;
      }
      UNROLL for (int k = 0; k < R; k++) NAME(store)(to + k * step + v, x[k]);
    }
  }
}

INLINE void NAME(rows)(char *to, const char *from, const T *roots, int R,
                       const st_fft_pass *c) {
  const int64_t in = c->stride * c->from_row, out = R * c->stride * c->to_row;
  if (c->blocks == 1) {
    NAME(block)(to, from, R, false, roots, c);
    return;
  }
  for (int64_t p = 0; p < c->blocks; p++) {
    NAME(block)(to, from, R, true, roots, c);
    from += in;
    to += out;
    roots += 2 * (R - 1);
  }
}

#define ROWS_(R, tag)                                                       \
  static void radix##R##_##tag(char *to, const char *from,                  \
                               const void *roots, const st_fft_pass *c) {   \
    rows_##tag(to, from, roots, R, c);                                      \
  }
#define ROWS2(R, tag) ROWS_(R, tag)
#define ROWS(R) ROWS2(R, TAG)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(7)
ROWS(8)
ROWS(10)
ROWS(11)
ROWS(13)
ROWS(15)
ROWS(16)

static void NAME(pass)(char **data, const int64_t *st, int64_t n0, int64_t n1,
                       const void *ctx) {
  const st_fft_pass *c = ctx;
  (void)st, (void)n0, (void)n1;
  switch (c->radix) {
  case 2: NAME(radix2)(data[0], data[1], data[2], c); break;
  case 3: NAME(radix3)(data[0], data[1], data[2], c); break;
  case 4: NAME(radix4)(data[0], data[1], data[2], c); break;
  case 5: NAME(radix5)(data[0], data[1], data[2], c); break;
  case 7: NAME(radix7)(data[0], data[1], data[2], c); break;
  case 8: NAME(radix8)(data[0], data[1], data[2], c); break;
  case 10: NAME(radix10)(data[0], data[1], data[2], c); break;
  case 11: NAME(radix11)(data[0], data[1], data[2], c); break;
  case 13: NAME(radix13)(data[0], data[1], data[2], c); break;
  case 15: NAME(radix15)(data[0], data[1], data[2], c); break;
  default: NAME(radix16)(data[0], data[1], data[2], c);
  }
}

/* -- Real lines by half ---------------------------------------------------- */

/* Row 0 of Z is a sum and a difference of rows 0 and h of X, which are real. */
static void NAME(ends)(T *to, const T *from, const st_fft_pairs *c) {
  enum { N = ST_FFT_ROW / sizeof(T) };
  const int64_t h = c->h * N;
  for (int64_t i = 0; i < N; i += 2) {
    const T a = from[i], b = from[c->to_real ? h + i : i + 1];
    const T sum = (a + b) * (T)c->factor, d = (a - b) * (T)c->factor;
    to[i] = sum;
    if (c->to_real) {
      to[i + 1] = d;
    } else {
      to[h + i] = d;
      to[i + 1] = to[h + i + 1] = 0;
    }
  }
}

static void NAME(pairs)(char **data, const int64_t *st, int64_t n0, int64_t n1,
                        const void *ctx) {
  const st_fft_pairs *c = ctx;
  const T *const u = (const T *)(void *)data[2];
  const T factor = c->to_real ? (T)c->factor : (T)(c->factor / 2);
  const V signs = NAME(signs)(true), conjugate = NAME(signs)(false);
  (void)st, (void)n0, (void)n1;
  NAME(ends)((T *)(void *)data[0], (const T *)(void *)data[1], c);
  for (int64_t k = 1; k <= c->h / 2; k++) {
    const int64_t low = k * ST_FFT_ROW, high = (c->h - k) * ST_FFT_ROW;
    const V re = (V){0} + u[2 * k];
    const V im = signs * (c->to_real ? -u[2 * k + 1] : u[2 * k + 1]);
    for (int v = 0; v < ST_FFT_ROW; v += (int)sizeof(V)) {
      const V a = NAME(load)(data[1] + low + v);
      const V b = NAME(load)(data[1] + high + v) * conjugate;
      const V sum = (a + b) * factor, d = (a - b) * factor;
      const V turned = d * re + SWAP(d) * im;
      NAME(store)(data[0] + high + v, (sum - turned) * conjugate);
      NAME(store)(data[0] + low + v, sum + turned);
    }
  }
}

#undef NAME_
#undef NAME2
#undef NAME
#undef INDICES_
#undef INDICES2
#undef SWAP
#undef ROWS_
#undef ROWS2
#undef ROWS
#undef V
#undef T
#undef I
#undef REALS
#undef TAG
