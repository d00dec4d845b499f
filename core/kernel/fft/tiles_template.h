/* Tiles from lines, lines from tiles, and tiles of real lines by half; included
 * behind butterflies_template.h for each type.
 *
 * LOW, HIGH, LANE: orders of parts.
 */

/* -- Lines and rows -------------------------------------------------------- */

enum {
  NAME(GROUPS) = REALS / LANES,              /* of lines, a lane each */
  NAME(NUMBERS) = sizeof(V) / sizeof(T) / 2, /* of a line in a vector */
  NAME(BOTH) = 2 * sizeof(V)                 /* bytes of both parts of a row */
};

/* The line that a group has in lane j, so that pairs from EVEN and ODD of two
 * vectors have the same order. */
INLINE int NAME(line_of)(int g, int j) {
  return sizeof(T) == 4 ? g / 2 * (REALS / 2) + 2 * j + g % 2
                        : g * (REALS / 2) + j;
}

INLINE const char *NAME(lane)(const char *p, const int64_t *at, int g, int j) {
  return p + at[NAME(line_of)(g, j)];
}

/* 16 bytes of LANES lines: a lane of each. Inserting them from memory takes
 * fewer steps than shuffles between lanes. */
INLINE V NAME(load_lanes)(const char *p, const int64_t *at, int g) {
#if LANES == 4
  return (V)LOAD_4x16(NAME(lane)(p, at, g, 0), NAME(lane)(p, at, g, 1),
                      NAME(lane)(p, at, g, 2), NAME(lane)(p, at, g, 3));
#elif LANES == 2
  return (V)LOAD_2x16(NAME(lane)(p, at, g, 0), NAME(lane)(p, at, g, 1));
#else
  return NAME(load)(NAME(lane)(p, at, g, 0));
#endif
}

#define FIRST(x, y) SHUFFLE(x, y, EACH(LOW, REALS))
#define SECOND(x, y) SHUFFLE(x, y, EACH(HIGH, REALS))
#define EVENS(x, y) SHUFFLE(x, y, EACH(EVEN, REALS))
#define ODDS(x, y) SHUFFLE(x, y, EACH(ODD, REALS))

/* NUMBERS numbers of REALS lines, which begin at `at` behind p, to as many
 * rows. The offsets stay in memory: there are more than registers. */
INLINE void NAME(gather_block)(char *to, const char *p, const int64_t *at,
                               int64_t re, int64_t im) {
  V x[4][LANES];
  UNROLL for (int g = 0; g < NAME(GROUPS); g++) {
    UNROLL for (int j = 0; j < LANES; j++) {
      x[g][j] = NAME(load_lanes)(p + 16 * j, at, g);
    }
  }
  UNROLL for (int j = 0; j < LANES; j++, to += ST_FFT_ROW) {
    const V a = EVENS(x[0][j], x[1][j]), b = ODDS(x[0][j], x[1][j]);
    if (sizeof(T) == 8) {
      NAME(store)(to + re, a);
      NAME(store)(to + im, b);
      continue;
    }
    const V c = EVENS(x[2][j], x[3][j]), d = ODDS(x[2][j], x[3][j]);
    NAME(store)(to + re, EVENS(a, c));
    NAME(store)(to + im, EVENS(b, d));
    to += ST_FFT_ROW;
    NAME(store)(to + re, ODDS(a, c));
    NAME(store)(to + im, ODDS(b, d));
  }
}

INLINE void NAME(scatter_block)(char *p, const int64_t *at, const char *from,
                                int64_t re, int64_t im) {
  V x[4][LANES];
  UNROLL for (int j = 0; j < LANES; j++, from += ST_FFT_ROW) {
    V a = NAME(load)(from + re), b = NAME(load)(from + im);
    if (sizeof(T) == 4) {
      from += ST_FFT_ROW;
      const V c = NAME(load)(from + re), d = NAME(load)(from + im);
      const V e = SECOND(a, c), f = SECOND(b, d);
      a = FIRST(a, c);
      b = FIRST(b, d);
      x[2][j] = FIRST(e, f);
      x[3][j] = SECOND(e, f);
    }
    x[0][j] = FIRST(a, b);
    x[1][j] = SECOND(a, b);
  }
  UNROLL for (int g = 0; g < NAME(GROUPS); g++) {
    NAME(transpose_lanes)(x[g]);
    UNROLL for (int j = 0; j < LANES; j++) {
      NAME(store)(p + at[NAME(line_of)(g, j)], x[g][j]);
    }
  }
}

#undef FIRST
#undef SECOND
#undef EVENS
#undef ODDS

/* The last block overlaps the one before it unless rows are whole blocks. */
static void NAME(gather)(char **data, const void *ctx) {
  enum { N = NAME(NUMBERS) };
  const st_fft_lines *c = ctx;
  for (int v = 0; v < ST_FFT_ROW; v += NAME(BOTH)) {
    const int64_t re = v + (c->are_swapped ? (int)sizeof(V) : 0);
    const int64_t im = 2 * v + (int)sizeof(V) - re;
    const int64_t *const at = c->at + v / NAME(BOTH) * REALS;
    for (int64_t k = 0; k < c->rows; k += N) {
      const int64_t i = k + N <= c->rows ? k : c->rows - N;
      NAME(gather_block)(data[0] + i * ST_FFT_ROW,
                         data[1] + i * 2 * (int)sizeof(T), at, re, im);
    }
  }
}

static void NAME(scatter)(char **data, const void *ctx) {
  enum { N = NAME(NUMBERS) };
  const st_fft_lines *c = ctx;
  for (int v = 0; v < ST_FFT_ROW; v += NAME(BOTH)) {
    const int64_t re = v + (c->are_swapped ? (int)sizeof(V) : 0);
    const int64_t im = 2 * v + (int)sizeof(V) - re;
    const int64_t *const at = c->at + v / NAME(BOTH) * REALS;
    for (int64_t k = 0; k < c->rows; k += N) {
      const int64_t i = k + N <= c->rows ? k : c->rows - N;
      NAME(scatter_block)(data[0] + i * 2 * (int)sizeof(T), at,
                          data[1] + i * ST_FFT_ROW, re, im);
    }
  }
}

/* -- Real lines by half ---------------------------------------------------- */

INLINE C NAME(get_number)(const char *p, const st_fft_rows *rows) {
  const C x = rows->are_pairs ? NAME(get)(p, true) : NAME(get)(p, false);
  return rows->are_swapped ? NAME(swapped)(x) : x;
}

INLINE void NAME(put_number)(char *p, C x, const st_fft_rows *rows) {
  if (rows->are_swapped) x = NAME(swapped)(x);
  if (rows->are_pairs) NAME(put)(p, x, true);
  else NAME(put)(p, x, false);
}

/* Number k of the results, and the one that is its conjugate. */
INLINE void NAME(put_both)(char *to, int64_t k, C x, const st_fft_pairs *c) {
  NAME(put_number)(to + k * c->to.step, x, &c->to);
  if (!c->is_full) return;
  NAME(put_number)(to + (2 * c->h - k) * c->to.step, (C){x.re, -x.im}, &c->to);
}

/* Row 0 of Z is a sum and a difference of rows 0 and h of X, which are real. */
INLINE void NAME(ends)(char *to, const char *from, const st_fft_pairs *c) {
  const C x = NAME(get_number)(from, &c->from);
  const T factor = (T)c->factor;
  if (c->to_real) {
    const V last = NAME(get_number)(from + c->h * c->from.step, &c->from).re;
    const C z = {(x.re + last) * factor, (x.re - last) * factor};
    NAME(put_number)(to, z, &c->to);
  } else {
    const C first = {(x.re + x.im) * factor, {0}};
    const C last = {(x.re - x.im) * factor, {0}};
    NAME(put_number)(to, first, &c->to);
    NAME(put_number)(to + c->h * c->to.step, last, &c->to);
  }
}

static void NAME(pairs)(char **data, const void *ctx) {
  const st_fft_pairs *c = ctx;
  const T *const u = (const T *)(void *)data[2];
  const T factor = c->to_real ? (T)c->factor : (T)(c->factor / 2);
  const int64_t in = c->from.step;
  for (int v = 0; v < ST_FFT_ROW; v += NAME(BOTH)) {
    const char *const from = data[1] + v;
    char *const to = data[0] + v;
    NAME(ends)(to, from, c);
    for (int64_t k = 1; k <= c->h / 2; k++) {
      const T x = u[2 * k], y = c->to_real ? -u[2 * k + 1] : u[2 * k + 1];
      const C a = NAME(get_number)(from + k * in, &c->from);
      const C z = NAME(get_number)(from + (c->h - k) * in, &c->from);
      const C b = {z.re, -z.im};
      const C scaled = NAME(scale)(a, factor), other = NAME(scale)(b, factor);
      const C sum = NAME(add)(scaled, other);
      const C turned = NAME(turn)(NAME(sub)(scaled, other), x, -y);
      const C high = NAME(sub)(sum, turned);
      NAME(put_both)(to, c->h - k, (C){high.re, -high.im}, c);
      NAME(put_both)(to, k, NAME(add)(sum, turned), c);
    }
  }
}
