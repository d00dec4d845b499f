/* Transforms of R numbers in vectors, from memory to memory; included for each
 * type.
 *
 * T: the type of a part. I: an integer of its size. REALS: parts in a vector.
 * TAG: the suffix of functions. EVEN, ODD, LOW, HIGH, LANE: orders of parts.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)
#define V NAME(parts)
#define C NAME(numbers)
#define INDICES NAME(indices)
#define ORDER_(name, reals) name##reals
#define ORDER2(name, reals) ORDER_(name, reals)
#define IN_ORDER(name) ORDER2(name, REALS)

typedef T V __attribute__((vector_size(REALS * sizeof(T))));
typedef I INDICES __attribute__((vector_size(REALS * sizeof(T))));
typedef struct C { V re, im; } C;

INLINE V NAME(load)(const char *p) {
  V x;
  memcpy(&x, p, sizeof x);
  return x;
}

INLINE void NAME(store)(char *p, V x) { memcpy(p, &x, sizeof x); }

/* Lane i of vector j becomes lane j of vector i. */
INLINE void NAME(transpose_lanes)(V *x) {
#if LANES == 4
  const V a = SHUFFLE(x[0], x[1], LANE(0), LANE(1), LANE(4), LANE(5));
  const V b = SHUFFLE(x[2], x[3], LANE(0), LANE(1), LANE(4), LANE(5));
  const V c = SHUFFLE(x[0], x[1], LANE(2), LANE(3), LANE(6), LANE(7));
  const V d = SHUFFLE(x[2], x[3], LANE(2), LANE(3), LANE(6), LANE(7));
  x[0] = SHUFFLE(a, b, LANE(0), LANE(2), LANE(4), LANE(6));
  x[1] = SHUFFLE(a, b, LANE(1), LANE(3), LANE(5), LANE(7));
  x[2] = SHUFFLE(c, d, LANE(0), LANE(2), LANE(4), LANE(6));
  x[3] = SHUFFLE(c, d, LANE(1), LANE(3), LANE(5), LANE(7));
#elif LANES == 2
  const V a = SHUFFLE(x[0], x[1], LANE(0), LANE(2));
  x[1] = SHUFFLE(x[0], x[1], LANE(1), LANE(3));
  x[0] = a;
#else
  (void)x;
#endif
}

/* -- Numbers --------------------------------------------------------------- */

INLINE C NAME(add)(C a, C b) { return (C){a.re + b.re, a.im + b.im}; }
INLINE C NAME(sub)(C a, C b) { return (C){a.re - b.re, a.im - b.im}; }
/* a - i b and a + i b */
INLINE C NAME(add_turned)(C a, C b) { return (C){a.re + b.im, a.im - b.re}; }
INLINE C NAME(sub_turned)(C a, C b) { return (C){a.re - b.im, a.im + b.re}; }
/* x (c - i s) */
INLINE C NAME(turn)(C x, T c, T s) {
  return (C){x.re * c + x.im * s, x.im * c - x.re * s};
}
/* The same by cosines and sines of each number. */
INLINE C NAME(turn_each)(C x, const char *cosines, const char *sines) {
  const V c = NAME(load)(cosines), s = NAME(load)(sines);
  return (C){x.re * c + x.im * s, x.im * c - x.re * s};
}
INLINE C NAME(turn_8th)(C x) {
  return (C){(x.re + x.im) * (T)ROOT_HALF, (x.im - x.re) * (T)ROOT_HALF};
}
INLINE C NAME(turn_3_8ths)(C x) {
  return (C){(x.im - x.re) * (T)ROOT_HALF, (x.re + x.im) * -(T)ROOT_HALF};
}

INLINE C NAME(scale)(C x, T by) { return (C){x.re * by, x.im * by}; }

/* -- Transforms of R numbers, in place ------------------------------------- */

INLINE void NAME(dft2)(C *x, int a, int b) {
  const C sum = NAME(add)(x[a], x[b]);
  x[b] = NAME(sub)(x[a], x[b]);
  x[a] = sum;
}

/* x[a], x[a + d], ... */
INLINE void NAME(dft4)(C *x, int a, int d) {
  NAME(dft2)(x, a, a + 2 * d);
  NAME(dft2)(x, a + d, a + 3 * d);
  const C even = x[a], odd = x[a + 2 * d], sum = x[a + d], last = x[a + 3 * d];
  x[a] = NAME(add)(even, sum);
  x[a + d] = NAME(add_turned)(odd, last);
  x[a + 2 * d] = NAME(sub)(even, sum);
  x[a + 3 * d] = NAME(sub_turned)(odd, last);
}

INLINE void NAME(dft8)(C *x) {
  NAME(dft4)(x, 0, 2);
  NAME(dft4)(x, 1, 2);
  const C a = x[1], b = NAME(turn_8th)(x[3]), c = x[5];
  const C d = NAME(turn_3_8ths)(x[7]);
  x[7] = NAME(sub)(x[6], d);
  x[3] = NAME(add)(x[6], d);
  const C e = x[2], f = x[4];
  x[4] = NAME(sub)(x[0], a);
  x[0] = NAME(add)(x[0], a);
  x[1] = NAME(add)(e, b);
  x[5] = NAME(sub)(e, b);
  x[2] = NAME(add_turned)(f, c);
  x[6] = NAME(sub_turned)(f, c);
}

/* x[j], x[j + 4], ... of 16, turned. */
INLINE void NAME(dft16_columns)(C *x, int j) {
  NAME(dft4)(x, j, 4);
  if (j == 1) {
    x[5] = NAME(turn)(x[5], (T)COS_16, (T)SIN_16);
    x[9] = NAME(turn_8th)(x[9]);
    x[13] = NAME(turn)(x[13], (T)SIN_16, (T)COS_16);
  } else if (j == 2) {
    x[6] = NAME(turn_8th)(x[6]);
    x[10] = (C){x[10].im, -x[10].re};
    x[14] = NAME(turn_3_8ths)(x[14]);
  } else if (j == 3) {
    x[7] = NAME(turn)(x[7], (T)SIN_16, (T)COS_16);
    x[11] = NAME(turn_3_8ths)(x[11]);
    x[15] = NAME(turn)(x[15], (T)-COS_16, (T)-SIN_16);
  }
}

/* An odd R: cosines go with x[i] + x[R - i], sines with x[i] - x[R - i]. */
INLINE void NAME(dft_odd)(C *x, int R, const double *cosines,
                          const double *sines) {
  const int half = R / 2;
  C sums[7], differences[7];
  const C first = x[0];
  C all = first;
  UNROLL for (int i = 1; i <= half; i++) {
    sums[i] = NAME(add)(x[i], x[R - i]);
    differences[i] = NAME(sub)(x[i], x[R - i]);
    all = NAME(add)(all, sums[i]);
  }
  x[0] = all;
  UNROLL for (int k = 1; k <= half; k++) {
    C a = NAME(add)(first, NAME(scale)(sums[1], (T)cosines[k]));
    C b = NAME(scale)(differences[1], (T)sines[k]);
    UNROLL for (int i = 2; i <= half; i++) {
      a = NAME(add)(a, NAME(scale)(sums[i], (T)cosines[i * k % R]));
      b = NAME(add)(b, NAME(scale)(differences[i], (T)sines[i * k % R]));
    }
    x[k] = NAME(add_turned)(a, b);
    x[R - k] = NAME(sub_turned)(a, b);
  }
}

INLINE void NAME(dft9)(C *x) {
  C y[3][3];
  UNROLL for (int j = 0; j < 3; j++) {
    UNROLL for (int i = 0; i < 3; i++) y[j][i] = x[3 * i + j];
    NAME(dft_odd)(y[j], 3, cosines3, sines3);
  }
  y[1][1] = NAME(turn)(y[1][1], (T)COS_9, (T)SIN_9);
  y[1][2] = NAME(turn)(y[1][2], (T)COS_2_9, (T)SIN_2_9);
  y[2][1] = NAME(turn)(y[2][1], (T)COS_2_9, (T)SIN_2_9);
  y[2][2] = NAME(turn)(y[2][2], (T)COS_4_9, (T)SIN_4_9);
  UNROLL for (int k = 0; k < 3; k++) {
    C z[3] = {y[0][k], y[1][k], y[2][k]};
    NAME(dft_odd)(z, 3, cosines3, sines3);
    UNROLL for (int i = 0; i < 3; i++) x[3 * i + k] = z[i];
  }
}

INLINE void NAME(dft)(C *x, int R) {
  switch (R) {
  case 2: NAME(dft2)(x, 0, 1); break;
  case 3: NAME(dft_odd)(x, 3, cosines3, sines3); break;
  case 4: NAME(dft4)(x, 0, 1); break;
  case 5: NAME(dft_odd)(x, 5, cosines5, sines5); break;
  case 7: NAME(dft_odd)(x, 7, cosines7, sines7); break;
  case 8: NAME(dft8)(x); break;
  case 9: NAME(dft9)(x); break;
  case 11: NAME(dft_odd)(x, 11, cosines11, sines11); break;
  default: NAME(dft_odd)(x, 13, cosines13, sines13);
  }
}

/* -- Passes ---------------------------------------------------------------- */

INLINE C NAME(get)(const char *p, bool are_pairs) {
  const V a = NAME(load)(p), b = NAME(load)(p + sizeof(V));
  if (!are_pairs) return (C){a, b};
  return (C){SHUFFLE(a, b, EACH(EVEN, REALS)),
             SHUFFLE(a, b, EACH(ODD, REALS))};
}

INLINE void NAME(put_pairs)(char *p, char *q, C x) {
  NAME(store)(p, SHUFFLE(x.re, x.im, EACH(LOW, REALS)));
  NAME(store)(q, SHUFFLE(x.re, x.im, EACH(HIGH, REALS)));
}

INLINE void NAME(put)(char *p, C x, bool are_pairs) {
  if (are_pairs) {
    NAME(put_pairs)(p, p + sizeof(V), x);
  } else {
    NAME(store)(p, x.re);
    NAME(store)(p + sizeof(V), x.im);
  }
}

INLINE C NAME(swapped)(C x) { return (C){x.im, x.re}; }

INLINE C NAME(get_numbers)(const char *p) {
  const V a = NAME(load)(p), b = NAME(load)(p + sizeof(V));
  return (C){SHUFFLE(a, b, IN_ORDER(EVENS)), SHUFFLE(a, b, IN_ORDER(ODDS))};
}

INLINE void NAME(put_numbers)(char *p, C x) {
  NAME(store)(p, SHUFFLE(x.re, x.im, IN_ORDER(LOWS)));
  NAME(store)(p + sizeof(V), SHUFFLE(x.re, x.im, IN_ORDER(HIGHS)));
}

/* The parts from byte s.v of a row on. Those in vectors of their own are not
 * swapped. */
INLINE C NAME(get_row)(const char *p, shape s, const st_fft_rows *rows) {
  if (s.from == SPLIT) return NAME(get)(p + s.v, false);
  if (s.from == PLANES) {
    return (C){NAME(load)(p), NAME(load)(p + s.from_apart)};
  }
  const C x = s.from == PAIRS ? NAME(get)(p + s.v, true)
                              : NAME(get_numbers)(p);
  return rows->are_swapped ? NAME(swapped)(x) : x;
}

INLINE void NAME(put_row)(char *p, C x, shape s, const st_fft_rows *rows) {
  enum { HALF = ST_FFT_ROW / 2 };
  p += s.v;
  if (s.to == SPLIT) {
    NAME(put)(p, x, false);
    return;
  }
  if (s.to == PLANES) {
    NAME(store)(p, x.re);
    NAME(store)(p + s.to_apart, x.im);
    return;
  }
  if (rows->are_swapped) x = NAME(swapped)(x);
  if (s.to == NUMBERS) {
    NAME(put_numbers)(p, x);
    return;
  }
  if (s.v >= HALF) p += rows->gap;
  NAME(put_pairs)(p, p + BYTES + (s.v + BYTES == HALF ? rows->gap : 0), x);
}

/* Turns result k, or scales it by roots[0]. */
INLINE void NAME(put_result)(char *to, int k, C x, const T *roots, shape s,
                             const st_fft_pass *c) {
  if (s.turn == SCALES) {
    x = NAME(scale)(x, roots[0]);
  } else if (k > 0 && s.turn == TURNS) {
    x = NAME(turn)(x, roots[2 * k - 2], roots[2 * k - 1]);
  } else if (k > 0) {
    const T *const cosines = roots + (2 * k - 2) * s.roots;
    x = NAME(turn_each)(x, (const char *)cosines,
                        (const char *)(cosines + s.roots));
  }
  NAME(put_row)(to + k * s.out, x, s, &c->to);
}

/* Where vectors are about as many as registers, they are loaded just before
 * they are needed, and stored as soon as they are results. */
INLINE void NAME(transform16)(char *to, const char *from, const T *roots,
                              shape s, const st_fft_pass *c) {
  C x[16];
  UNROLL for (int j = 0; j < 4; j++) {
    UNROLL for (int i = j; i < 16; i += 4) {
      x[i] = NAME(get_row)(from + i * s.in, s, &c->from);
    }
    NAME(dft16_columns)(x, j);
  }
  UNROLL for (int j = 0; j < 4; j++) {
    NAME(dft4)(x, 4 * j, 1);
    UNROLL for (int i = 0; i < 4; i++) {
      NAME(put_result)(to, j + 4 * i, x[4 * j + i], roots, s, c);
    }
  }
}

/* R = a * b without common factors. Number i is (b i1 + a i2) mod R, and result
 * k the one with k1 = k mod a and k2 = k mod b, so that nothing is turned
 * between. */
INLINE void NAME(transform_product)(char *to, const char *from, const T *roots,
                                    shape s, const st_fft_pass *c) {
  const int R = s.radix, a = R == 12 ? 4 : R == 15 ? 3 : 2, b = R / a;
  const int unit = b == 3 ? 4 : 6; /* 0 mod a, 1 mod b */
  C rows[4][5];
  UNROLL for (int j = 0; j < b; j++) {
    C y[4];
    UNROLL for (int i = 0; i < a; i++) {
      y[i] = NAME(get_row)(from + (b * i + a * j) % R * s.in, s, &c->from);
    }
    if (a == 2) NAME(dft2)(y, 0, 1);
    else if (a == 4) NAME(dft4)(y, 0, 1);
    else NAME(dft_odd)(y, 3, cosines3, sines3);
    UNROLL for (int k = 0; k < a; k++) rows[k][j] = y[k];
  }
  UNROLL for (int i = 0; i < a; i++) {
    if (b == 3) NAME(dft_odd)(rows[i], 3, cosines3, sines3);
    else NAME(dft_odd)(rows[i], 5, cosines5, sines5);
    UNROLL for (int j = 0; j < b; j++) {
      const int k = ((R + 1 - unit) * i + unit * j) % R;
      NAME(put_result)(to, k, rows[i][j], roots, s, c);
    }
  }
}

/* A prime from 17 to ST_FFT_PRIME, as dft_odd; only the last pass has one. w:
 * cosines and sines of its roots of unity. */
static void NAME(transform_prime)(char *to, const char *from, const T *w,
                                  shape s, const st_fft_pass *c) {
  const int R = s.radix, half = R / 2;
  const T factor = (T)c->factor;
  s.turn = SCALES;
  C sums[ST_FFT_PRIME / 2 + 1], differences[ST_FFT_PRIME / 2 + 1];
  const C first = NAME(get_row)(from, s, &c->from);
  C all = first;
  for (int i = 1; i <= half; i++) {
    const C x = NAME(get_row)(from + i * s.in, s, &c->from);
    const C y = NAME(get_row)(from + (R - i) * s.in, s, &c->from);
    sums[i] = NAME(add)(x, y);
    differences[i] = NAME(sub)(x, y);
    all = NAME(add)(all, sums[i]);
  }
  NAME(put_result)(to, 0, all, &factor, s, c);
  for (int k = 1; k <= half; k++) {
    C a = NAME(add)(first, NAME(scale)(sums[1], w[2 * k]));
    C b = NAME(scale)(differences[1], w[2 * k + 1]);
    for (int i = 2, at = 2 * k; i <= half; i++, at += k) {
      if (at >= R) at -= R;
      a = NAME(add)(a, NAME(scale)(sums[i], w[2 * at]));
      b = NAME(add)(b, NAME(scale)(differences[i], w[2 * at + 1]));
    }
    NAME(put_result)(to, k, NAME(add_turned)(a, b), &factor, s, c);
    NAME(put_result)(to, R - k, NAME(sub_turned)(a, b), &factor, s, c);
  }
}

INLINE void NAME(transform)(char *to, const char *from, const T *roots,
                            shape s, const st_fft_pass *c) {
  C x[13];
  switch (s.radix) {
  case 6: case 10: case 12: case 15:
    NAME(transform_product)(to, from, roots, s, c);
    return;
  case 16:
    NAME(transform16)(to, from, roots, s, c);
    return;
  }
  UNROLL for (int i = 0; i < s.radix; i++) {
    x[i] = NAME(get_row)(from + i * s.in, s, &c->from);
  }
  NAME(dft)(x, s.radix);
  UNROLL for (int k = 0; k < s.radix; k++) {
    NAME(put_result)(to, k, x[k], roots, s, c);
  }
}
