/* softmax and log_softmax of several lines at once, for lines that lie closer
 * together than their elements. Included by softmax.c with W, the type in which
 * is computed, EXP, its exponential, and COLUMN(name), which adds a suffix.
 *
 * A column is a line; a row has one element of each column. The operations of a
 * column are those of a line in softmax.c, in the same order, so the results
 * have the same bits.
 */

typedef struct COLUMN(columns) {
  W x[ROOM], max[COLUMNS], factor[COLUMNS];
  double lane[LANES][COLUMNS], sum[COLUMNS];
  int64_t width, n; /* columns; rows */
  const half_type *half;
} COLUMN(columns);

/* -- Rows in memory ------------------------------------------------------- */

static void COLUMN(load_row)(const half_type *half, W *restrict x,
                             const char *p, int64_t step, int64_t n) {
#ifdef HALVES
  if (half) {
    half->load(x, p, step, n);
    return;
  }
#else
  (void)half;
#endif
  if (step == sizeof(W)) {
    for (int64_t i = 0; i < n; i++) x[i] = ((const W *)p)[i];
  } else {
    for (int64_t i = 0; i < n; i++) x[i] = *(const W *)(p + i * step);
  }
}

static void COLUMN(store_row)(const half_type *half, char *p, int64_t step,
                              const W *restrict x, int64_t n) {
#ifdef HALVES
  if (half) {
    half->store(p, step, x, n);
    return;
  }
#else
  (void)half;
#endif
  if (step == sizeof(W)) {
    for (int64_t i = 0; i < n; i++) ((W *)p)[i] = x[i];
  } else {
    for (int64_t i = 0; i < n; i++) *(W *)(p + i * step) = x[i];
  }
}

static void COLUMN(load)(COLUMN(columns) *c, place p, int64_t at,
                         int64_t rows) {
  for (int64_t i = 0; i < rows; i++) {
    COLUMN(load_row)(c->half, c->x + i * c->width, p.data + (at + i) * p.along,
                     p.across, c->width);
  }
}

static void COLUMN(store)(const COLUMN(columns) *c, place p, int64_t at,
                          int64_t rows) {
  for (int64_t i = 0; i < rows; i++) {
    COLUMN(store_row)(c->half, p.data + (at + i) * p.along, p.across,
                      c->x + i * c->width, c->width);
  }
}

/* -- Steps ---------------------------------------------------------------- */

static void COLUMN(raise_max)(COLUMN(columns) *c, int64_t rows) {
  const int64_t width = c->width;
  W *restrict max = c->max;
  for (int64_t i = 0; i < rows; i++) {
    const W *restrict x = c->x + i * width;
    for (int64_t j = 0; j < width; j++) max[j] = LARGER(max[j], x[j]);
  }
}

static void COLUMN(minus)(COLUMN(columns) *c, const W *restrict by,
                          int64_t rows) {
  const int64_t width = c->width;
  for (int64_t i = 0; i < rows; i++) {
    W *restrict x = c->x + i * width;
    for (int64_t j = 0; j < width; j++) x[j] -= by[j];
  }
}

static void COLUMN(times)(COLUMN(columns) *c, int64_t rows) {
  const int64_t width = c->width;
  const W *restrict by = c->factor;
  for (int64_t i = 0; i < rows; i++) {
    W *restrict x = c->x + i * width;
    for (int64_t j = 0; j < width; j++) x[j] *= by[j];
  }
}

static void COLUMN(exp)(COLUMN(columns) *c, int64_t rows) {
  W *x = c->x;
  int64_t n = rows * c->width;
  COLUMN(minus)(c, c->max, rows);
  for (; n % PAD; n++) x[n] = 0;
  for (int64_t i = 0; i < n; i += PAD) {
    for (int l = 0; l < PAD; l++) x[i + l] = EXP(x[i + l]);
  }
}

/* Adds the first `used` lanes to the sums and clears them. */
static void COLUMN(combine)(COLUMN(columns) *c, int64_t used) {
  for (int64_t j = 0; j < c->width; j++) {
    double sum = 0;
    for (int64_t l = 0; l < used; l++) {
      sum += c->lane[l][j];
      c->lane[l][j] = 0;
    }
    c->sum[j] += sum;
  }
}

/* Adds rows [at, at + rows). The lanes are those of the sum of a line: LANES in
 * each LINE elements, or one if fewer elements than LANES are left. */
static void COLUMN(add)(COLUMN(columns) *c, int64_t at, int64_t rows) {
  const int64_t width = c->width;
  for (int64_t i = 0; i < rows; i++) {
    const W *restrict x = c->x + i * width;
    const int64_t k = (at + i) % LINE, left = c->n - (at + i - k);
    const int64_t length = left < LINE ? left : LINE;
    const int64_t used = length < LANES ? 1 : LANES;
    double *restrict lane = c->lane[used == 1 ? 0 : k % LANES];
    for (int64_t j = 0; j < width; j++) lane[j] += (double)x[j];
    if (k + 1 == length) COLUMN(combine)(c, used);
  }
}

/* -- softmax and log_softmax ---------------------------------------------- */

static void COLUMN(clear)(COLUMN(columns) *c) {
  for (int j = 0; j < COLUMNS; j++) c->max[j] = (W)-INFINITY, c->sum[j] = 0;
  for (int l = 0; l < LANES; l++) {
    for (int j = 0; j < COLUMNS; j++) c->lane[l][j] = 0;
  }
}

/* Computes c->max and c->sum. Leaves the exponentials in c->x if all rows fit,
 * and in `keep` unless that is NULL. */
static void COLUMN(reduce)(COLUMN(columns) *c, place from, const place *keep) {
  const int64_t most = rows_at_once(c->n, c->width);
  COLUMN(clear)(c);
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    COLUMN(load)(c, from, i, m);
    COLUMN(raise_max)(c, m);
  }
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    if (c->n > most) COLUMN(load)(c, from, i, m);
    COLUMN(exp)(c, m);
    COLUMN(add)(c, i, m);
    if (keep && c->n > most) COLUMN(store)(c, *keep, i, m);
  }
}

static void COLUMN(softmax)(COLUMN(columns) *c, place to, place from) {
  const int64_t most = rows_at_once(c->n, c->width);
  COLUMN(reduce)(c, from, c->half ? NULL : &to);
  for (int64_t j = 0; j < c->width; j++) c->factor[j] = (W)(1 / c->sum[j]);
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    if (c->n > most) {
      COLUMN(load)(c, c->half ? from : to, i, m);
      if (c->half) COLUMN(exp)(c, m);
    }
    COLUMN(times)(c, m);
    COLUMN(store)(c, to, i, m);
  }
}

static void COLUMN(log_softmax)(COLUMN(columns) *c, place to, place from) {
  const int64_t most = rows_at_once(c->n, c->width);
  COLUMN(reduce)(c, from, NULL);
  for (int64_t j = 0; j < c->width; j++) c->factor[j] = (W)log(c->sum[j]);
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    COLUMN(load)(c, from, i, m);
    COLUMN(minus)(c, c->max, m);
    COLUMN(minus)(c, c->factor, m);
    COLUMN(store)(c, to, i, m);
  }
}

typedef void COLUMN(columns_loop)(COLUMN(columns) *c, place to, place from);

/* False if the lines are to be run one by one. */
static bool COLUMN(run)(COLUMN(columns_loop) *loop, char **data,
                        const int64_t *st, const int64_t *n,
                        const half_type *half) {
  if (!suits_columns(st, n[1])) return false;
  COLUMN(columns) c; /* not cleared: it is large */
  const int64_t most = columns_at_once(n[0]);
  c.n = n[0];
  c.half = half;
  for (int64_t j = 0; j < n[1]; j += c.width) {
    c.width = n[1] - j < most ? n[1] - j : most;
    loop(&c, (place){data[0] + j * st[2], st[0], st[2]},
         (place){data[1] + j * st[3], st[1], st[3]});
  }
  return true;
}

#undef W
#undef EXP
#undef COLUMN
#undef HALVES
