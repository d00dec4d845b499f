/* The loop of log_softmax_at.c for one dtype: W, NAME; EXP and NORMAL are its
 * exponential functions, INTEGER is an integer of its size.
 */

/* What a block of lines needs: x, the elements, then their exponentials; for
 * each line its maximum and the sum of the exponentials. */
typedef struct NAME(block) {
  W x[LINE], max[SIDE];
  double lane[ROWS][LANES], sum[SIDE];
} NAME(block);

/* -- Steps ---------------------------------------------------------------- */

/* The last element fills the end of a line; its exponential is not added. */
static int64_t NAME(load)(W *restrict x, const char *p, int64_t step,
                          int64_t n) {
  if (step == sizeof(W)) {
    for (int64_t i = 0; i < n; i++) x[i] = ((const W *)p)[i];
  } else {
    for (int64_t i = 0; i < n; i++, p += step) x[i] = *(const W *)p;
  }
  for (; n % PAD; n++) x[n] = x[n - 1];
  return n;
}

static inline __attribute__((always_inline))
void NAME(fold)(W *lane, int n) {
  for (int l = 0; l < n; l++) lane[l] = LARGER(lane[l], lane[l + n]);
}

/* Four vectors at a time: each waits for the comparison before. */
static W NAME(max)(const W *x, int64_t n, W max) {
  W lane[4 * PAD];
  int64_t i = n < 4 * PAD ? PAD : 4 * PAD;
  for (int64_t l = 0; l < i; l++) lane[l] = x[l];
  for (; i + 4 * PAD <= n; i += 4 * PAD) {
    for (int l = 0; l < 4 * PAD; l++) {
      lane[l] = LARGER(lane[l], x[i + l]);
    }
  }
  if (n >= 4 * PAD) NAME(fold)(lane, 2 * PAD), NAME(fold)(lane, PAD);
  for (; i < n; i += PAD) {
    for (int l = 0; l < PAD; l++) lane[l] = LARGER(lane[l], x[i + l]);
  }
  NAME(fold)(lane, 8), NAME(fold)(lane, 4);
  for (int l = 0; l < 4; l++) max = LARGER(max, lane[l]);
  return max;
}

static void NAME(minus)(W *restrict x, int64_t n, W by) {
  for (int64_t i = 0; i < n; i++) x[i] -= by;
}

/* Takes the exponentials of n elements. If none is less than LOW, none is
 * subnormal (NaN aside), and the shorter function has the same results. */
static void NAME(exps)(W *x, int64_t n) {
  INTEGER is_low = 0;
  for (int64_t i = 0; i < n; i++) is_low |= x[i] < (W)LOW;
  if (is_low) {
    for (int64_t i = 0; i < n; i += PAD) {
      for (int l = 0; l < PAD; l++) x[i + l] = EXP(x[i + l]);
    }
  } else {
    for (int64_t i = 0; i < n; i += PAD) {
      for (int l = 0; l < PAD; l++) x[i + l] = NORMAL(x[i + l]);
    }
  }
}

/* -- Sums ----------------------------------------------------------------- */

/* The lanes of a line of n elements, which is padded. */
static void NAME(line_sum)(double *restrict lane, const W *restrict x,
                           int64_t n) {
  int64_t i = 0;
  for (int l = 0; l < LANES; l++) lane[l] = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int l = 0; l < LANES; l++) lane[l] += (double)x[i + l];
  }
  for (int l = 0; l < PAD && i < n; l++) {
    lane[l] += i + l < n ? (double)x[i + l] : 0;
  }
  for (int l = 0; l < PAD && i + PAD < n; l++) {
    lane[PAD + l] += i + PAD + l < n ? (double)x[i + PAD + l] : 0;
  }
}

/* Several lines together: in one line each addition waits for the one before.
 */
static void NAME(add_lanes)(NAME(block) *w, int64_t n) {
  double sum[ROWS] = {0};
  for (int64_t l = 0; l < n && l < LANES; l++) {
    for (int r = 0; r < ROWS; r++) sum[r] += w->lane[r][l];
  }
  for (int r = 0; r < ROWS; r++) w->sum[r] = sum[r];
}

/* -- Lines one after another ---------------------------------------------- */

/* Lines of more than one chunk; the block is one line. */
static void NAME(long_line)(NAME(block) *w, const char *p, int64_t step,
                            int64_t n0) {
  W max = (W)-INFINITY;
  double total = 0;
  for (int64_t i = 0; i < n0 && !st__stops_at(i); i += LINE) {
    const int64_t n = n0 - i < LINE ? n0 - i : LINE;
    max = NAME(max)(w->x, NAME(load)(w->x, p + i * step, step, n), max);
  }
  for (int64_t i = 0; i < n0 && !st__stops_at(i); i += LINE) {
    const int64_t n = n0 - i < LINE ? n0 - i : LINE;
    const int64_t all = NAME(load)(w->x, p + i * step, step, n);
    NAME(minus)(w->x, all, max);
    NAME(exps)(w->x, all);
    NAME(line_sum)(w->lane[0], w->x, n);
    NAME(add_lanes)(w, n);
    total += w->sum[0];
  }
  w->max[0] = max;
  w->sum[0] = total;
}

/* All lines are loaded first: a vector load right after the narrow stores of a
 * line's end would wait for them. */
static void NAME(lines)(NAME(block) *w, const char *p, const int64_t *st,
                        int64_t n0, int64_t rows) {
  const int64_t n = padded(n0);
  for (int64_t r = 0; r < rows; r++) {
    NAME(load)(w->x + r * n, p + r * st[5], st[2], n0);
  }
  for (int64_t r = 0; r < rows; r++) {
    w->max[r] = NAME(max)(w->x + r * n, n, (W)-INFINITY);
    NAME(minus)(w->x + r * n, n, w->max[r]);
  }
  NAME(exps)(w->x, rows * n);
  for (int64_t r = 0; r < rows; r++) {
    NAME(line_sum)(w->lane[r], w->x + r * n, n0);
  }
  NAME(add_lanes)(w, n0);
}

/* -- Short lines, side by side --------------------------------------------- */

static void NAME(side_by_side)(W *restrict x, const char *p,
                               const int64_t *st, int64_t n, int64_t last,
                               int64_t r) {
  const int64_t step = st[2];
  const char *a = p + (r < last ? r : last) * st[5];
  const char *b = p + (r + 1 < last ? r + 1 : last) * st[5];
  const char *c = p + (r + 2 < last ? r + 2 : last) * st[5];
  const char *d = p + (r + 3 < last ? r + 3 : last) * st[5];
  for (int64_t i = 0; i < n; i++, x += SIDE) {
    x[0] = *(const W *)(a + i * step);
    x[1] = *(const W *)(b + i * step);
    x[2] = *(const W *)(c + i * step);
    x[3] = *(const W *)(d + i * step);
  }
}

/* Finds each line's maximum. Returns whether an exponential needs EXP instead
 * of NORMAL. */
static bool NAME(short_bounds)(const W *x, int64_t n, W *restrict max) {
  W low[SIDE], high[SIDE];
  bool is_low = false;
  for (int r = 0; r < SIDE; r++) low[r] = high[r] = x[r];
  for (int64_t i = 1; i < n; i++) {
    for (int r = 0; r < SIDE; r++) {
      high[r] = LARGER(high[r], x[i * SIDE + r]);
      low[r] = SMALLER(low[r], x[i * SIDE + r]);
    }
  }
  for (int r = 0; r < SIDE; r++) {
    is_low |= low[r] - high[r] < (W)LOW;
    max[r] = high[r];
  }
  return is_low;
}

#define SHORT_EXP(name, EXP)                                                \
  static void NAME(short_##name)(W *restrict x, int64_t n,                     \
                              const W *restrict max) {                      \
    for (int64_t i = 0; i < n; i++)                                         \
      for (int r = 0; r < SIDE; r++)                                        \
        x[i * SIDE + r] = EXP(x[i * SIDE + r] - max[r]); }

SHORT_EXP(exp, EXP)
SHORT_EXP(normal, NORMAL)

/* Adds a lane of each line; n elements of the line are left. */
static inline void NAME(add_lane)(double *restrict sum, const W *x,
                                  int64_t n) {
  double lane[SIDE];
  for (int r = 0; r < SIDE; r++) lane[r] = (double)x[r];
  for (; n > LANES; n -= LANES) {
    x += LANES * SIDE;
    for (int r = 0; r < SIDE; r++) lane[r] += (double)x[r];
  }
  for (int r = 0; r < SIDE; r++) sum[r] += lane[r];
}

/* Lines that are missing are copies of the last one. */
static void NAME(short_lines)(NAME(block) *w, const char *p,
                              const int64_t *st, int64_t n, int64_t rows) {
  double sum[SIDE] = {0};
  for (int r = 0; r < SIDE; r += 4) {
    NAME(side_by_side)(w->x + r, p, st, n, rows - 1, r);
  }
  if (NAME(short_bounds)(w->x, n, w->max)) NAME(short_exp)(w->x, n, w->max);
  else NAME(short_normal)(w->x, n, w->max);
  for (int64_t i = 0; i < n && i < LANES; i++) {
    NAME(add_lane)(sum, w->x + i * SIDE, n - i);
  }
  for (int r = 0; r < SIDE; r++) w->sum[r] = sum[r];
}

/* -- All lines ------------------------------------------------------------ */

static void NAME(finish)(char **data, const int64_t *st, int64_t j,
                         int64_t n0, int64_t base, W max, double sum) {
  const int64_t at = st__resolve_index(
    *(const int64_t *)(data[1] + j * st[4]), base, n0);
  const W x = *(const W *)(data[2] + j * st[5] + at * st[2]);
  *(W *)(data[0] + j * st[3]) = x - max - (W)st_log_f8(sum);
}

static ST_LOOP_FN(NAME(log_softmax_at), st) {
  NAME(block) w;
  memset(w.lane, 0, sizeof w.lane);
  for (int64_t j = 0, n; j < n1 && !st__stops_at(j); j += n) {
    const char *p = data[2] + j * st[5];
    n = block_of(n1 - j, n0);
    if (n0 > LINE) NAME(long_line)(&w, p, st[2], n0);
    else if (n > ROWS) NAME(short_lines)(&w, p, st, n0, n);
    else NAME(lines)(&w, p, st, n0, n);
    for (int64_t r = 0; r < n; r++) {
      NAME(finish)(data, st, j + r, n0, *(const int64_t *)ctx, w.max[r],
                   w.sum[r]);
    }
  }
}

#undef SHORT_EXP
#undef W
#undef INTEGER
#undef NAME
#undef EXP
#undef NORMAL
#undef LOW
