/* softmax and log_softmax of several lines at once, for lines that are short or
 * lie closer together than their elements. Included by softmax.c after
 * softmax_steps.h.
 *
 * A column is a line; a row has one element of each column, and padding. The
 * operations of a column are those of a line in softmax_lines.h, in the same
 * order, so the results have the same bits.
 */

typedef struct NAME(columns) {
  _Alignas(64) W x[ROOM / sizeof(W)];
  W max[COLUMNS], factor[COLUMNS];
  double lane[LANES][COLUMNS], sum[COLUMNS];
  int64_t n, width, pitch; /* rows; columns, without and with the padding */
  const half_type *half;
} NAME(columns);

static int64_t NAME(most_rows)(const NAME(columns) *c) {
  return rows_at_once(c->n, c->pitch, sizeof(W));
}

/* Loads rows [at, at + rows). */
static void NAME(load_rows)(NAME(columns) *c, place p, int64_t at,
                            int64_t rows) {
  for (int64_t i = 0; i < rows; i++) {
    NAME(load)(c->half, c->x + i * c->pitch, p.data + (at + i) * p.along,
               p.across, c->width);
  }
}

static void NAME(raise_max)(NAME(columns) *c, int64_t rows) {
  for (int64_t i = 0; i < rows; i++) {
    const W *restrict x = c->x + i * c->pitch;
    W *restrict max = c->max;
    for (int64_t j = 0; j < c->pitch; j += PAD, max += PAD, x += PAD) {
      for (int l = 0; l < PAD; l++) max[l] = LARGER(max[l], x[l]);
    }
  }
}

static void NAME(exp_row)(const NAME(columns) *c, W *x) {
  for (int64_t j = 0; j < c->pitch; j += PAD) {
    NAME(exp_minus)(x + j, c->max + j);
  }
}

/* Adds the first `used` lanes to the sums and clears them. */
static void NAME(combine)(NAME(columns) *c, int64_t used) {
  for (int64_t j = 0; j < c->pitch; j += PAD) {
    double sum[PAD] = {0};
    for (int64_t i = 0; i < used; i++) {
      double *restrict lane = c->lane[i] + j;
      for (int l = 0; l < PAD; l++) sum[l] += lane[l], lane[l] = 0;
    }
    for (int l = 0; l < PAD; l++) c->sum[j + l] += sum[l];
  }
}

/* Computes the exponentials of rows [at, at + rows) and adds them. The lanes
 * are those of the sum of a line: LANES in each LINE elements, or one if fewer
 * elements than LANES are left. */
static void NAME(exp_rows)(NAME(columns) *c, int64_t at, int64_t rows) {
  for (int64_t i = 0; i < rows; i++) {
    W *restrict x = c->x + i * c->pitch;
    const int64_t k = (at + i) % LINE, length = chunk(c->n - (at + i - k));
    const int64_t used = length < LANES ? 1 : LANES;
    double *restrict lane = c->lane[used == 1 ? 0 : k % LANES];
    NAME(exp_row)(c, x);
    for (int64_t j = 0; j < c->pitch; j += PAD, lane += PAD, x += PAD) {
      for (int l = 0; l < PAD; l++) lane[l] += (double)x[l];
    }
    if (k + 1 == length) NAME(combine)(c, used);
  }
}

static void NAME(store_row)(const NAME(columns) *c, place p, int64_t i,
                            const W *x) {
  NAME(store)(c->half, p.data + i * p.along, p.across, x, c->width);
}

static void NAME(clear)(NAME(columns) *c) {
  for (int j = 0; j < COLUMNS; j++) c->max[j] = (W)-INFINITY, c->sum[j] = 0;
  for (int l = 0; l < LANES; l++) {
    for (int j = 0; j < COLUMNS; j++) c->lane[l][j] = 0;
  }
}

/* Computes c->max and c->sum. Leaves the exponentials in c->x if all rows fit,
 * and in `keep` unless that is NULL. */
static void NAME(reduce_columns)(NAME(columns) *c, place from,
                                 const place *keep) {
  const int64_t most = NAME(most_rows)(c);
  NAME(clear)(c);
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    NAME(load_rows)(c, from, i, m);
    NAME(raise_max)(c, m);
  }
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    if (c->n > most) NAME(load_rows)(c, from, i, m);
    NAME(exp_rows)(c, i, m);
    for (int64_t k = 0; keep && c->n > most && k < m; k++) {
      NAME(store_row)(c, *keep, i + k, c->x + k * c->pitch);
    }
  }
}

static void NAME(softmax_columns)(NAME(columns) *c, place to, place from) {
  const int64_t most = NAME(most_rows)(c);
  NAME(reduce_columns)(c, from, c->half ? NULL : &to);
  for (int64_t j = 0; j < c->pitch; j++) c->factor[j] = (W)(1 / c->sum[j]);
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    if (c->n > most) NAME(load_rows)(c, c->half ? from : to, i, m);
    for (int64_t k = 0; k < m; k++) {
      W *x = c->x + k * c->pitch;
      if (c->n > most && c->half) NAME(exp_row)(c, x);
      for (int64_t j = 0; j < c->pitch; j += PAD) {
        for (int l = 0; l < PAD; l++) x[j + l] *= c->factor[j + l];
      }
      NAME(store_row)(c, to, i + k, x);
    }
  }
}

static void NAME(log_softmax_columns)(NAME(columns) *c, place to, place from) {
  const int64_t most = NAME(most_rows)(c);
  NAME(reduce_columns)(c, from, NULL);
  for (int64_t j = 0; j < c->pitch; j++) c->factor[j] = (W)st_log_f8(c->sum[j]);
  for (int64_t i = 0, m; i < c->n && !st__stops_at(i); i += m) {
    m = c->n - i < most ? c->n - i : most;
    NAME(load_rows)(c, from, i, m);
    for (int64_t k = 0; k < m; k++) {
      W *x = c->x + k * c->pitch;
      for (int64_t j = 0; j < c->pitch; j += PAD) {
        for (int l = 0; l < PAD; l++) {
          x[j + l] = x[j + l] - c->max[j + l] - c->factor[j + l];
        }
      }
      NAME(store_row)(c, to, i + k, x);
    }
  }
}

typedef void NAME(columns_loop)(NAME(columns) *c, place to, place from);

/* False if the lines are to be run one by one. */
static bool NAME(run_columns)(NAME(columns_loop) *loop, char **data,
                              const int64_t *st, int64_t n0, int64_t n1,
                              const half_type *half) {
  if (!suits_columns(st, n0, n1)) return false;
  NAME(columns) c; /* not cleared: it is large */
  const int64_t most = columns_at_once(n0, sizeof(W));
  c.n = n0;
  c.half = half;
  for (int64_t j = 0; j < n1; j += c.width) {
    c.width = n1 - j < most ? n1 - j : most;
    c.pitch = padded(c.width);
    loop(&c, (place){data[0] + j * st[2], st[0], st[2]},
         (place){data[1] + j * st[3], st[1], st[3]});
  }
  return true;
}
