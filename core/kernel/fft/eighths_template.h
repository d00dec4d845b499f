/* Lines by eighths; included behind tiles_template.h for each type.
 *
 * Lanes of the first pass are blocks, of which an octet is 8. Two vectors of
 * pairs make one of real parts and one of imaginary ones: lanes of the first
 * and the second, two lines of float32 or both halves of an octet of float64,
 * take turns. If a line has 4 blocks only, an octet is of two lines or pairs.
 *
 * REAL, IMAGINARY: orders of parts.
 */

enum {
  NAME(OCTET) = 64,                       /* bytes of a vector of roots */
  NAME(SIZE) = 2 * sizeof(T),             /* of a number */
  NAME(PARTS) = NAME(OCTET) / sizeof(V),  /* of an octet, and of a row */
  NAME(AT_ONCE) = sizeof(T) == 4 ? 2 : 1, /* lines */
  NAME(ROWS) = 2 * LANES                  /* of a part of an octet */
};

/* -- From blocks to rows --------------------------------------------------- */

#define FIRST(x, y) SHUFFLE(x, y, EACH(LOW, REALS))
#define SECOND(x, y) SHUFFLE(x, y, EACH(HIGH, REALS))

/* y[r * PARTS + g] is part g of row r, from parts x[k] of results k. */
#if REALS == 2 * LANES
INLINE void NAME(turn_blocks)(V *y, const V *x) {
  UNROLL for (int g = 0; g < NAME(PARTS); g++) {
    V a[LANES], b[LANES];
    UNROLL for (int l = 0; l < LANES; l++) {
      a[l] = FIRST(x[g * REALS + l], x[g * REALS + l + LANES]);
      b[l] = SECOND(x[g * REALS + l], x[g * REALS + l + LANES]);
    }
    NAME(transpose_lanes)(a);
    NAME(transpose_lanes)(b);
    UNROLL for (int l = 0; l < LANES; l++) {
      y[l * NAME(PARTS) + g] = a[l];
      y[(LANES + l) * NAME(PARTS) + g] = b[l];
    }
  }
}
#else
/* Every other row, from results 2 i and 2 i + 1 of both lines in x[i]. */
INLINE void NAME(turn_pairs)(V *y, V *x) {
#if LANES == 4
  NAME(transpose_lanes)(x);
  UNROLL for (int l = 0; l < 4; l++) y[2 * l] = x[l];
#else
  UNROLL for (int g = 0; g < NAME(PARTS) / 2; g++) {
    V a[LANES], b[LANES];
    UNROLL for (int l = 0; l < LANES; l++) {
      const V z = x[2 * LANES * g + l], w = x[2 * LANES * g + l + LANES];
      a[l] = SHUFFLE(z, w, EACH(FORMER4, REALS));
      b[l] = SHUFFLE(z, w, EACH(LATTER4, REALS));
    }
    NAME(transpose_lanes)(a);
    NAME(transpose_lanes)(b);
    UNROLL for (int l = 0; l < LANES; l++) {
      y[2 * l * NAME(PARTS) + g] = a[l];
      y[2 * l * NAME(PARTS) + g + NAME(PARTS) / 2] = b[l];
    }
  }
#endif
}

INLINE void NAME(turn_blocks)(V *y, const V *x) {
  V a[4], b[4];
  UNROLL for (int l = 0; l < 4; l++) {
    a[l] = FIRST(x[2 * l], x[2 * l + 1]);
    b[l] = SECOND(x[2 * l], x[2 * l + 1]);
  }
  NAME(turn_pairs)(y, a);
  NAME(turn_pairs)(y + NAME(PARTS), b);
}
#endif

#undef FIRST
#undef SECOND

/* -- The first pass -------------------------------------------------------- */

/* Where the first of the 8 numbers of an octet is, and the bytes to the next.
 * The second half of 64 bytes is `half` behind the first. */
typedef struct NAME(octet) {
  const char *p, *q;
  int64_t p_half, q_half, d;
} NAME(octet);

INLINE V NAME(load_part)(const char *p, int64_t half, int v) {
  const int at = v * (int)sizeof(V);
#if LANES == 4
  if (half != 32) return (V)LOAD_2x32(p, p + half);
#endif
  return NAME(load)(p + (at < 32 ? at : half + at - 32));
}

/* Part v of an octet. */
INLINE void NAME(first_of)(C *rows, NAME(octet) o, int v, const char *roots,
                           bool swaps) {
  C x[8];
  V re[8], im[8], turned_re[8], turned_im[8];
  roots += v * (int)sizeof(V);
  UNROLL for (int i = 0; i < 8; i++) {
    const V a = NAME(load_part)(o.p + i * o.d, o.p_half, v);
    const V b = NAME(load_part)(o.q + i * o.d, o.q_half, v);
    const V first = SHUFFLE(a, b, EACH(REAL, REALS));
    const V second = SHUFFLE(a, b, EACH(IMAGINARY, REALS));
    x[i] = swaps ? (C){second, first} : (C){first, second};
  }
  NAME(dft8)(x);
  UNROLL for (int k = 0; k < 8; k++) {
    const char *const cosines = roots + 2 * (k - 1) * NAME(OCTET);
    if (k > 0) {
      x[k] = NAME(turn_each)(x[k], cosines, cosines + NAME(OCTET));
    }
    re[k] = x[k].re;
    im[k] = x[k].im;
  }
  NAME(turn_blocks)(turned_re, re);
  NAME(turn_blocks)(turned_im, im);
  UNROLL for (int i = 0; i < 8; i++) rows[i] = (C){turned_re[i], turned_im[i]};
}

/* The row of a block of part v. */
INLINE int NAME(row_of)(int v, int r) {
  if (sizeof(T) == 4) return v * NAME(ROWS) + r;
  return v * LANES + (r < LANES ? r : 4 - LANES + r);
}

INLINE void NAME(first_octet)(char *to, NAME(octet) o, const char *roots,
                              bool swaps) {
  UNROLL for (int v = 0; v < NAME(PARTS); v++) {
    C rows[8];
    NAME(first_of)(rows, o, v, roots, swaps);
    UNROLL for (int i = 0; i < 8; i++) {
      const int r = NAME(row_of)(v, i / NAME(PARTS));
      NAME(put)(to + r * ST_FFT_ROW + i % NAME(PARTS) * NAME(BOTH), rows[i],
                false);
    }
  }
}

/* The last octet overlaps the one before it unless all are whole. */
INLINE void NAME(first_pass)(char *to, const char *a, const char *b,
                             const char *roots, bool swaps, int64_t blocks) {
  for (int64_t k = 0; k < blocks; k += 8, roots += 14 * NAME(OCTET)) {
    const int64_t at = k + 8 <= blocks ? k : blocks - 8;
    const NAME(octet) o = {a + at * NAME(SIZE), b + at * NAME(SIZE), 32, 32,
                           blocks * NAME(SIZE)};
    NAME(first_octet)(to + at * ST_FFT_ROW, o, roots, swaps);
  }
}

/* -- All passes ------------------------------------------------------------ */

static void NAME(other_passes)(char **data, const st_fft_eighths_of *c,
                               char *out, int64_t gap) {
  char *from = data[4], *const other = from + c->blocks * ST_FFT_ROW;
  st_fft_pass pass = {.blocks = c->blocks, .stride = 1, .factor = c->factor,
                      .from = {.step = ST_FFT_ROW},
                      .to = {.step = ST_FFT_ROW}};
  for (int i = 0; i < c->count; i++) {
    char *to = from == data[4] ? other : data[4];
    if (i == c->count - 1) {
      to = out;
      pass.to = (st_fft_rows){8 * NAME(SIZE), true, c->are_swapped, gap};
    }
    pass.radix = c->radix[i];
    pass.blocks /= pass.radix;
    char *operands[] = {to, from, data[3] + c->at[i]};
    NAME(pass)(operands, &pass);
    pass.stride *= pass.radix;
    from = to;
  }
}

/* Bytes from line k to line k + i, or to the last one. */
INLINE int64_t NAME(to_line)(const st_fft_eighths_of *c, int64_t k, int i,
                             int64_t pitch) {
  return (k + i < c->lines ? i : c->lines - 1 - k) * pitch;
}

/* Octet of lines from k on: one, or 4 blocks each of two or of two pairs. */
INLINE NAME(octet) NAME(octet_of)(const char *p, const st_fft_eighths_of *c,
                                  int64_t k, bool is_half) {
  enum { N = NAME(AT_ONCE) };
  p += k * c->in;
  NAME(octet) o = {p, p + 64, 32, 32, c->blocks * NAME(SIZE)};
  if (N == 2) o.q = p + NAME(to_line)(c, k, 1, c->in);
  if (is_half && N == 1) o.q = p + NAME(to_line)(c, k, 1, c->in);
  if (is_half && N == 2) {
    o.p_half = NAME(to_line)(c, k, 2, c->in);
    o.q_half = p + NAME(to_line)(c, k, 3, c->in) - o.q;
  }
  return o;
}

/* The last pass of lines of 4 or 8 rows. */
INLINE void NAME(last_rows)(char *to, C *rows, int R,
                            const st_fft_eighths_of *c, bool swaps,
                            int64_t gap) {
  const st_fft_rows of = {8 * NAME(SIZE), true, swaps, gap};
  const shape s = {.to = PAIRS};
  const T factor = (T)c->factor;
  if (R == 4) NAME(dft4)(rows, 0, 1);
  else NAME(dft8)(rows);
  UNROLL for (int k = 0; k < R; k++) {
    NAME(put_row)(to + k * of.step, NAME(scale)(rows[k], factor), s, &of);
  }
}

/* Bytes between the results of a pair of lines. */
INLINE int64_t NAME(gap_of)(const st_fft_eighths_of *c, int64_t k) {
  return NAME(AT_ONCE) == 1 ? 0 : NAME(to_line)(c, k, 1, c->out) - 64;
}

/* Lines of which an octet has two, or two pairs. */
INLINE void NAME(half_octets)(char **data, const st_fft_eighths_of *c,
                              bool swaps) {
  enum { N = NAME(AT_ONCE) };
  for (int64_t k = 0; k < c->lines; k += 2 * N) {
    const NAME(octet) o = NAME(octet_of)(data[1], c, k, true);
    const int64_t next = k + N < c->lines ? k + N : k;
    char *const outs[2] = {data[0] + k * c->out, data[0] + next * c->out};
#if LANES == 4
    C rows[8];
    NAME(first_of)(rows, o, 0, data[2], swaps);
    NAME(last_rows)(outs[0], rows, 4, c, swaps, NAME(gap_of)(c, k));
    if (next == k) continue;
    NAME(last_rows)(outs[1], rows + 4, 4, c, swaps, NAME(gap_of)(c, next));
#else
    NAME(first_octet)(data[4], o, data[2], swaps);
    NAME(other_passes)(data, c, outs[0], NAME(gap_of)(c, k));
    if (next == k) continue;
    char *second[] = {NULL, NULL, NULL, data[3], data[4] + 4 * ST_FFT_ROW};
    NAME(other_passes)(second, c, outs[1], NAME(gap_of)(c, next));
#endif
  }
}

INLINE void NAME(all_lines)(char **data, const st_fft_eighths_of *c,
                            bool swaps) {
  for (int64_t k = 0; k < c->lines; k += NAME(AT_ONCE)) {
    const NAME(octet) o = NAME(octet_of)(data[1], c, k, false);
    char *const out = data[0] + k * c->out;
#if LANES == 4
    if (c->blocks == 8) {
      C rows[8];
      NAME(first_of)(rows, o, 0, data[2], swaps);
      NAME(last_rows)(out, rows, 8, c, swaps, NAME(gap_of)(c, k));
      continue;
    }
#endif
    NAME(first_pass)(data[4], o.p, o.q, data[2], swaps, c->blocks);
    NAME(other_passes)(data, c, out, NAME(gap_of)(c, k));
  }
}

static void NAME(eighths)(char **data, const void *ctx) {
  const st_fft_eighths_of own = *(const st_fft_eighths_of *)ctx, *c = &own;
  if (c->blocks == 4) {
    if (c->are_swapped) NAME(half_octets)(data, c, true);
    else NAME(half_octets)(data, c, false);
  } else {
    if (c->are_swapped) NAME(all_lines)(data, c, true);
    else NAME(all_lines)(data, c, false);
  }
}

#undef T
#undef I
#undef REALS
#undef TAG
#undef EVEN
#undef ODD
#undef LOW
#undef HIGH
#undef LANE
#undef REAL
#undef IMAGINARY
