/* Reduction of windows, included once per type. T: the type in memory, A: the
 * type of results in a buffer, OP(a, b): an associative operation, NEUTRAL: its
 * neutral element, IN(x): an A from a T, F(name): a name per type. BY_ROWS: 1
 * for all types whose rows are converted to A by tile->type, without T and IN.
 *
 * Note [Order of pooling]
 * An element of a column of a window is reduced first, from top to bottom; then
 * the columns are, from left to right. From WIDE columns on there are LANES
 * partial results, one for each column modulo LANES. So a row of windows reads
 * each image row once, in vectors, and the order is the same in every layout.
 * Zeros of either sign are equal: the sign of a maximum of zeros is that of one
 * of them.
 */

#if BY_ROWS
#define SIZE(tile) ((tile)->type->size)
#else
#define SIZE(tile) ((int64_t)sizeof(T))
#endif

/* Pointers that wait for combine. */
typedef struct F(batch) {
  const st_pool_type *type; /* of memory, or NULL */
  A *to;
  const char *p[4];
  int n;
  bool fresh;
  int64_t step, count;
} F(batch);

/* to[i] = OP(.. OP(OP(to[i], p[0][i]), p[1][i]) .., p[n - 1][i]); fresh:
 * without to[i]. n is 1 to 4. */
#if BY_ROWS
static void F(combine_rows)(const F(batch) *b) {
  A *restrict to = b->to;
  A x[ST_POOL_ROW];
  for (int j = 0; j < b->n; j++) {
    if (b->fresh && j == 0) {
      b->type->load(to, b->p[0], b->step, b->count);
      continue;
    }
    b->type->load(x, b->p[j], b->step, b->count);
    for (int64_t i = 0; i < b->count; i++) to[i] = OP(to[i], x[i]);
  }
}
#else
static void F(combine)(A *restrict to, const char *const *p, int n, bool fresh,
                       int64_t step, int64_t count) {
  if (step != sizeof(T)) {
    for (int j = 0; j < n; j++) {
      const char *x = p[j];
      if (fresh && j == 0) {
        for (int64_t i = 0; i < count; i++) {
          to[i] = IN(*(const T *)(x + i * step));
        }
        continue;
      }
      for (int64_t i = 0; i < count; i++) {
        const A y = IN(*(const T *)(x + i * step));
        to[i] = OP(to[i], y);
      }
    }
    return;
  }
  const T *a = (const T *)p[0], *b = (const T *)p[1], *c = (const T *)p[2];
  if (fresh && n == 1) {
    for (int64_t i = 0; i < count; i++) to[i] = IN(a[i]);
  } else if (fresh && n == 2) {
    for (int64_t i = 0; i < count; i++) to[i] = OP(IN(a[i]), IN(b[i]));
  } else if (fresh) {
    for (int64_t i = 0; i < count; i++) {
      const A x = OP(IN(a[i]), IN(b[i]));
      to[i] = OP(x, IN(c[i]));
    }
    if (n == 4) F(combine)(to, p + 3, 1, false, step, count);
  } else if (n == 1) {
    for (int64_t i = 0; i < count; i++) to[i] = OP(to[i], IN(a[i]));
  } else {
    for (int64_t i = 0; i < count; i++) {
      const A x = OP(to[i], IN(a[i]));
      to[i] = OP(x, IN(b[i]));
    }
    if (n > 2) F(combine)(to, p + 2, n - 2, false, step, count);
  }
}
#endif

static inline void F(flush)(F(batch) *b) {
  if (b->n == 0) return;
#if BY_ROWS
  F(combine_rows)(b);
#else
  F(combine)(b->to, b->p, b->n, b->fresh, b->step, b->count);
#endif
  b->fresh = false;
  b->n = 0;
}

/* Reduces the rows of the windows of one row, from p on, to b->to. */
static inline void F(columns)(F(batch) *b, const st_tile *t, const char *p) {
  int64_t left = ST_PERIOD;
  b->type = t->type;
  b->fresh = true;
  b->n = 0;
  for (int64_t i = 0; i < t->rows[0]; i++) {
    for (int64_t j = 0; j < t->rows[1]; j++) {
      if (st__stops_after(&left, b->count + 1)) return;
      if (b->n == 4) F(flush)(b);
      b->p[b->n++] = p + i * t->step[0] + j * t->step[1];
    }
  }
  F(flush)(b);
  if (!b->fresh) return;
  for (int64_t i = 0; i < b->count; i++) b->to[i] = NEUTRAL;
}

/* -- A row of windows of one channel -------------------------------------- */

/* The columns [first, last) of a row of windows, NEUTRAL outside of the
 * image. */
static void F(fill_row)(A *to, const st_tile *t, int64_t first, int64_t last) {
  const int64_t size = t->p->in[2], step = t->p->st[1][ST_POOL_W];
  const int64_t end = last < size ? last : size;
  int64_t i = first;
  for (; i < 0 && i < last; i++) to[i - first] = NEUTRAL;
  if (i < end) {
    F(batch) b = {.to = to + (i - first), .step = step, .count = end - i};
    F(columns)(&b, t, t->image + i * step);
    i = end;
  }
  for (; i < last; i++) to[i - first] = NEUTRAL;
}

/* to[o] = OP of x[o s], x[o s + d], ..; taps is 1 to 3. */
static inline __attribute__((always_inline)) void F(slide)(
    A *restrict to, const A *restrict x, int64_t s, int64_t d, int taps,
    int64_t n) {
  if (taps == 1) {
    for (int64_t o = 0; o < n; o++) to[o] = x[o * s];
  } else if (taps == 2) {
    for (int64_t o = 0; o < n; o++) to[o] = OP(x[o * s], x[o * s + d]);
  } else {
    for (int64_t o = 0; o < n; o++) {
      const A y = OP(x[o * s], x[o * s + d]);
      to[o] = OP(y, x[o * s + 2 * d]);
    }
  }
}

static inline __attribute__((always_inline)) void F(slide_on)(
    A *restrict to, const A *restrict x, int64_t s, int64_t n) {
  for (int64_t o = 0; o < n; o++) to[o] = OP(to[o], x[o * s]);
}

/* The windows of a row whose columns, d apart, start s apart. */
static void F(slide_all)(A *restrict to, const A *restrict x, int64_t s,
                         int64_t d, int64_t columns, int64_t n) {
  const int taps = columns < 3 ? (int)columns : 3;
  if (s == 1 && d == 1) F(slide)(to, x, 1, 1, taps, n);
  else if (s == 2 && d == 1) F(slide)(to, x, 2, 1, taps, n);
  else if (s == 3 && d == 1) F(slide)(to, x, 3, 1, taps, n);
  else F(slide)(to, x, s, d, taps, n);
  for (int64_t k = taps; k < columns; k++) {
    if (s == 1) F(slide_on)(to, x + k * d, 1, n);
    else if (s == 2) F(slide_on)(to, x + k * d, 2, n);
    else if (s == 3) F(slide_on)(to, x + k * d, 3, n);
    else F(slide_on)(to, x + k * d, s, n);
  }
}

/* Adds n columns, d apart, to the lanes. */
static inline void F(add_lanes)(A *restrict lane, const A *restrict x,
                                int64_t d, int64_t n) {
  int64_t k = 0;
  if (d == 1) {
    for (; k + LANES <= n; k += LANES) {
      for (int j = 0; j < LANES; j++) lane[j] = OP(lane[j], x[k + j]);
    }
  }
  for (; k < n; k++) lane[k % LANES] = OP(lane[k % LANES], x[k * d]);
}

static inline A F(join_lanes)(A *lane) {
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; j++) lane[j] = OP(lane[j], lane[j + half]);
  }
  return lane[0];
}

/* One window of n columns, d apart. */
static A F(one_window)(const A *x, int64_t d, int64_t n) {
  if (n < WIDE) {
    A sum = n > 0 ? x[0] : NEUTRAL;
    for (int64_t k = 1; k < n; k++) sum = OP(sum, x[k * d]);
    return sum;
  }
  A lane[LANES];
  for (int j = 0; j < LANES; j++) lane[j] = NEUTRAL;
  F(add_lanes)(lane, x, d, n);
  return F(join_lanes)(lane);
}

/* One window that is longer than a buffer; its columns are d apart. */
static A F(long_window)(const st_tile *t, int64_t first, int64_t d,
                        int64_t n) {
  const int64_t size = t->p->in[2], step = t->p->st[1][ST_POOL_W];
  A x[ST_POOL_ROW], lane[LANES];
  const int64_t skipped = first < 0 ? (d - 1 - first) / d : 0;
  const int64_t inside = first < size ? (size - 1 - first) / d + 1 : 0;
  const int64_t end = inside < n ? inside : n;
  for (int j = 0; j < LANES; j++) lane[j] = NEUTRAL;
  for (int64_t k = skipped - skipped % LANES; k < end && !st__stops();) {
    const int64_t more = end - k < ST_POOL_ROW ? end - k : ST_POOL_ROW;
    const int64_t skip = skipped > k ? skipped - k : 0;
    for (int64_t i = 0; i < skip; i++) x[i] = NEUTRAL;
    F(batch) b = {.to = x + skip, .step = d * step, .count = more - skip};
    F(columns)(&b, t, t->image + (first + (k + skip) * d) * step);
    F(add_lanes)(lane, x, 1, more);
    k += more;
  }
  return F(join_lanes)(lane);
}

/* The columns [first, last) of a row of windows: the image itself if it holds
 * them, else to. */
static const A *F(row_of)(A *to, const st_tile *t, int64_t first,
                          int64_t last) {
  const st_pool_loops *p = t->p;
  if (!BY_ROWS && first >= 0 && last <= p->in[2] &&
      t->rows[0] * t->rows[1] == 1 && p->st[1][ST_POOL_W] == SIZE(t)) {
    return (const A *)(const void *)(t->image + first * SIZE(t));
  }
  F(fill_row)(to, t, first, last);
  return to;
}

#if !BY_ROWS
/* The column of a window that starts at x, of rows[0] x rows[1] elements. */
static inline A F(column)(const char *x, const st_tile *t) {
  A sum = IN(*(const T *)x);
  for (int64_t i = 0; i < t->rows[0]; i++) {
    const char *y = x + i * t->step[0];
    for (int64_t j = i == 0; j < t->rows[1]; j++) {
      const A z = IN(*(const T *)(y + j * t->step[1]));
      sum = OP(sum, z);
    }
  }
  return sum;
}

/* A few windows of a row, from s on, one by one. */
static void F(few_windows)(A *to, const st_tile *t, st_spans s, int64_t n) {
  const st_pool_loops *p = t->p;
  const int64_t step = p->st[1][ST_POOL_W], d = p->dilation[2];
  for (int64_t o = 0; o < n; o++, st_spans_next(&s)) {
    A sum = NEUTRAL;
    bool fresh = true;
    for (int64_t k = s.first; k < s.last && k < p->in[2]; k += d) {
      if (k < 0) continue;
      const A column = F(column)(t->image + k * step, t);
      sum = fresh ? column : OP(sum, column);
      fresh = false;
    }
    to[o] = sum;
  }
}

/* The same for size x size windows inside the image, s bytes apart. */
static inline __attribute__((always_inline)) void F(few_squares)(
    A *to, const char *x, const st_tile *t, int size, int64_t n) {
  const int64_t down = t->step[1], s = t->p->stride[2] * (int64_t)sizeof(T);
  for (int64_t o = 0; o < n; o++, x += s) {
    A sum = NEUTRAL;
    for (int k = 0; k < size; k++) {
      const T *y = (const T *)(const void *)x + k;
      A column = IN(*y);
      for (int j = 1; j < size; j++) {
        const A z = IN(*(const T *)(const void *)((const char *)y + j * down));
        column = OP(column, z);
      }
      sum = k == 0 ? column : OP(sum, column);
    }
    to[o] = sum;
  }
}

/* The size of square windows of a row, if few_squares takes them, else 0. */
static inline int F(square_size)(const st_tile *t, st_spans s, int64_t n) {
  const st_pool_loops *p = t->p;
  const int64_t size = p->kernel[2];
  const bool fits = t->rows[0] == 1 && t->rows[1] == size && !p->adaptive &&
                    p->dilation[2] == 1 && s.first >= 0 &&
                    s.last + (n - 1) * s.step <= p->in[2] &&
                    p->st[1][ST_POOL_W] == sizeof(T);
  return fits && size < 4 ? (int)size : 0;
}

static void F(few)(A *to, const st_tile *t, st_spans s, int64_t n) {
  const char *x = t->image + s.first * (int64_t)sizeof(T);
  switch (F(square_size)(t, s, n)) {
    case 2: F(few_squares)(to, x, t, 2, n); break;
    case 3: F(few_squares)(to, x, t, 3, n); break;
    default: F(few_windows)(to, t, s, n);
  }
}
#endif

/* Windows that are longer than a buffer, one by one. */
static void F(long_windows)(A *to, const st_tile *t, st_spans s, int64_t n) {
  const st_pool_loops *p = t->p;
  for (int64_t o = 0; o < n; o++, st_spans_next(&s)) {
    const int64_t columns = p->adaptive ? s.last - s.first : p->kernel[2];
    to[o] = F(long_window)(t, s.first, p->dilation[2], columns);
  }
}

/* The windows [o, o + n) of a row. */
static void F(row_of_windows)(A *to, const st_tile *t, int64_t o, int64_t n) {
  const st_pool_loops *p = t->p;
  const int64_t d = p->dilation[2];
  st_spans s = st_spans_from(p, o);
#if !BY_ROWS
  const int64_t rows = t->rows[0] * t->rows[1];
  if (n <= FEW && p->kernel[2] < WIDE && rows > 0 && rows <= FEW_ROWS) {
    F(few)(to, t, s, n);
    return;
  }
#endif
  const int64_t first = s.first, last = st__pool_last(p, 2, o + n - 1);
  A buffer[ST_POOL_ROW];
  if (last - first > ST_POOL_ROW) {
    F(long_windows)(to, t, s, n);
    return;
  }
  const A *x = F(row_of)(buffer, t, first, last);
  if (!p->adaptive && p->kernel[2] < WIDE) {
    F(slide_all)(to, x, p->stride[2], d, p->kernel[2], n);
    return;
  }
  for (int64_t i = 0; i < n; i++, st_spans_next(&s)) {
    const int64_t columns = p->adaptive ? s.last - s.first : p->kernel[2];
    to[i] = F(one_window)(x + (s.first - first), d, columns);
  }
}

/* -- A window of channels that lie side by side --------------------------- */

/* Adds n channels of columns [k, k + columns) to their lanes; one lane starts
 * with column 0. */
static inline void F(add_columns)(A *restrict lane, const A *restrict x,
                                  int lanes, int64_t k, int64_t columns,
                                  int64_t n) {
  for (int64_t j = 0; j < columns; j++, x += n) {
    A *sum = lanes == 1 ? lane : lane + (k + j) % LANES * n;
    if (lanes == 1 && k + j == 0) {
      for (int64_t i = 0; i < n; i++) sum[i] = x[i];
    } else {
      for (int64_t i = 0; i < n; i++) sum[i] = OP(sum[i], x[i]);
    }
  }
}

/* How many columns of n channels F(channels) reads at once: as many as lie side
 * by side, since memory is fast where it is read in order. */
static inline int64_t F(columns_at_once)(const st_tile *t, int64_t n) {
  const st_pool_loops *p = t->p;
  const bool joined = p->dilation[2] == 1 &&
                      p->st[1][ST_POOL_W] == n * SIZE(t);
  return joined ? ST_POOL_ROW / n : 1;
}

static void F(channels)(A *restrict to, const st_tile *t, int64_t o,
                        int64_t n) {
  const st_pool_loops *p = t->p;
  const int64_t step = p->st[1][ST_POOL_W], d = p->dilation[2];
  const int64_t first = st__pool_first(p, 2, o);
  const int64_t last = st__pool_last(p, 2, o);
  const int64_t columns = d == 1 ? last - first : (last - first - 1) / d + 1;
  const int lanes = columns < WIDE ? 1 : LANES;
  A x[ST_POOL_ROW], lane[LANES * ST_POOL_CHANNELS];
  const int64_t begin = first < 0 ? (-first + d - 1) / d : 0;
  const int64_t room = first < p->in[2] ? p->in[2] - first : 0;
  const int64_t inside = d == 1 ? room : (room + d - 1) / d;
  const int64_t end = columns < inside ? columns : inside;
  const bool is_small = columns < FEW && n > 64;
  const int64_t most = is_small ? 1 : F(columns_at_once)(t, n);
  int64_t left = ST_PERIOD;
  if (lanes > 1) {
    for (int64_t i = 0; i < lanes * n; i++) lane[i] = NEUTRAL;
  }
  for (int64_t k = begin, more; k < end; k += more) {
    more = end - k < most ? end - k : most;
    if (st__stops_after(&left, more)) break;
    F(batch) b = {.to = lanes == 1 && k == begin && more == 1 ? to : x,
                  .step = SIZE(t), .count = more * n};
    F(columns)(&b, t, t->image + (first + k * d) * step);
    if (b.to != to) {
      F(add_columns)(lanes == 1 ? to : lane, x, lanes,
                     lanes == 1 ? k - begin : k, more, n);
    }
  }
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half * n; i++) {
      lane[i] = OP(lane[i], lane[i + half * n]);
    }
  }
  if (lanes > 1) for (int64_t i = 0; i < n; i++) to[i] = lane[i];
  else if (begin >= end) for (int64_t i = 0; i < n; i++) to[i] = NEUTRAL;
}
