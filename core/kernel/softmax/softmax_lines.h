/* softmax and log_softmax of lines that do not suit columns, and the loops.
 * Included by softmax.c after softmax_columns.h.
 *
 * A line is processed in chunks of LINE elements. Lines of one chunk stay in
 * the buffer from the first step to the last. Each step is done for several of
 * them, because in a line it waits for the step before. Lanes are combined in
 * order.
 */

typedef struct NAME(lines) {
  _Alignas(64) W x[LINE];
  W max[GROUP];
  double sum[GROUP];
  int64_t n; /* length of a line */
  const half_type *half;
} NAME(lines);

/* -- Lines of one chunk --------------------------------------------------- */

/* Computes w->max and w->sum of `lines` lines, and leaves their exponentials in
 * the buffer. */
static void NAME(reduce_group)(NAME(lines) *w, place from, int64_t lines) {
  const int64_t m = padded(w->n), used = w->n < LANES ? w->n : LANES;
  double lane[GROUP][LANES];
  for (int64_t q = 0; q < lines; q++) {
    W *x = w->x + q * m;
    NAME(load)(w->half, x, from.data + q * from.across, from.along, w->n);
    w->max[q] = NAME(max)(x, m, (W)-INFINITY);
  }
  for (int64_t q = 0; q < lines; q++) {
    NAME(exp)(w->x + q * m, m, w->max[q]);
    NAME(lanes)(lane[q], w->x + q * m, w->n);
  }
  for (int64_t q = lines; q < GROUP; q++) {
    memset(lane[q], 0, sizeof lane[q]);
  }
  for (int q = 0; q < GROUP; q++) w->sum[q] = 0;
  for (int64_t l = 0; l < used; l++) {
    for (int q = 0; q < GROUP; q++) w->sum[q] += lane[q][l];
  }
}

static void NAME(softmax_group)(NAME(lines) *w, place to, place from,
                                int64_t lines) {
  const int64_t m = padded(w->n);
  NAME(reduce_group)(w, from, lines);
  for (int64_t q = 0; q < lines; q++) {
    W *x = w->x + q * m;
    NAME(times)(x, m, (W)(1 / w->sum[q]));
    NAME(store)(w->half, to.data + q * to.across, to.along, x, w->n);
  }
}

static void NAME(log_softmax_group)(NAME(lines) *w, place to, place from,
                                    int64_t lines) {
  const int64_t m = padded(w->n);
  NAME(reduce_group)(w, from, lines);
  for (int64_t q = 0; q < lines; q++) {
    W *x = w->x + q * m;
    NAME(load)(w->half, x, from.data + q * from.across, from.along, w->n);
    NAME(minus)(x, m, w->max[q], (W)st_log_f8(w->sum[q]));
    NAME(store)(w->half, to.data + q * to.across, to.along, x, w->n);
  }
}

/* -- Longer lines --------------------------------------------------------- */

/* Computes the maximum of a line and the sum of exp(x - max). The exponentials
 * are kept in `to` unless it is NULL. */
static void NAME(reduce_line)(NAME(lines) *w, place from, const place *to) {
  W max = (W)-INFINITY, *x = w->x;
  double sum = 0;
  for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {
    n = chunk(w->n - i);
    NAME(load)(w->half, x, from.data + i * from.along, from.along, n);
    max = NAME(max)(x, padded(n), max);
  }
  for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {
    n = chunk(w->n - i);
    NAME(load)(w->half, x, from.data + i * from.along, from.along, n);
    NAME(exp)(x, padded(n), max);
    sum += NAME(sum)(x, n);
    if (to) NAME(store)(w->half, to->data + i * to->along, to->along, x, n);
  }
  w->max[0] = max;
  w->sum[0] = sum;
}

static void NAME(softmax_line)(NAME(lines) *w, place to, place from) {
  const place source = w->half ? from : to;
  W *x = w->x;
  NAME(reduce_line)(w, from, w->half ? NULL : &to);
  for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {
    n = chunk(w->n - i);
    NAME(load)(w->half, x, source.data + i * source.along, source.along, n);
    if (w->half) NAME(exp)(x, padded(n), w->max[0]);
    NAME(times)(x, padded(n), (W)(1 / w->sum[0]));
    NAME(store)(w->half, to.data + i * to.along, to.along, x, n);
  }
}

static void NAME(log_softmax_line)(NAME(lines) *w, place to, place from) {
  W *x = w->x;
  NAME(reduce_line)(w, from, NULL);
  for (int64_t i = 0, n; i < w->n && !st__stops_at(i); i += n) {
    n = chunk(w->n - i);
    NAME(load)(w->half, x, from.data + i * from.along, from.along, n);
    NAME(minus)(x, padded(n), w->max[0], (W)st_log_f8(w->sum[0]));
    NAME(store)(w->half, to.data + i * to.along, to.along, x, n);
  }
}

/* -- Loops ---------------------------------------------------------------- */

typedef void NAME(group_loop)(NAME(lines) *w, place to, place from,
                              int64_t lines);
typedef void NAME(line_loop)(NAME(lines) *w, place to, place from);

static void NAME(run_lines)(NAME(group_loop) *group, NAME(line_loop) *line,
                            char **data, const int64_t *st, int64_t n0,
                            int64_t n1, const half_type *half) {
  NAME(lines) w; /* not cleared: it is large */
  w.n = n0;
  w.half = half;
  for (int64_t j = 0, n; j < n1; j += n) {
    const place to = {data[0] + j * st[2], st[0], st[2]};
    const place from = {data[1] + j * st[3], st[1], st[3]};
    n = lines_at_once(n0, n1 - j);
    if (n0 <= LINE) group(&w, to, from, n);
    else line(&w, to, from);
  }
}

/* half: NULL unless the dtype is a half type */
static void NAME(softmax)(char **data, const int64_t *st, int64_t n0,
                          int64_t n1, const void *half) {
  if (NAME(run_columns)(NAME(softmax_columns), data, st, n0, n1, half)) return;
  NAME(run_lines)(NAME(softmax_group), NAME(softmax_line), data, st, n0, n1,
                  half);
}

static void NAME(log_softmax)(char **data, const int64_t *st, int64_t n0,
                              int64_t n1, const void *half) {
  if (NAME(run_columns)(NAME(log_softmax_columns), data, st, n0, n1, half)) {
    return;
  }
  NAME(run_lines)(NAME(log_softmax_group), NAME(log_softmax_line), data, st,
                  n0, n1, half);
}
