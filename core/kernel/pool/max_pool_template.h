/* Max pooling, included once per type: pool_template.h. I: the type of offsets
 * in a buffer. HAS_NAN: 1 for floating types.
 */

#if HAS_NAN
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) 0
#endif

#include "kernel/pool/pool_template.h"

/* Writes n results, step bytes apart. */
static void F(write)(const st_tile *t, char *out, int64_t step, const A *from,
                     int64_t n) {
#if BY_ROWS
  t->type->store(out, step, from, n);
#else
  (void)t;
  if (step == sizeof(T)) {
    memcpy(out, from, (size_t)n * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; i++) *(T *)(out + i * step) = from[i];
#endif
}

static void F(each_channel)(const st_tile *t) {
  const st_pool_loops *p = t->p;
  A to[ST_POOL_CHANNELS];
  st_tile part = *t;
  for (int64_t c = 0, n; c < p->channels; c += n) {
    n = p->channels - c;
    if (n > ST_POOL_CHANNELS) n = ST_POOL_CHANNELS;
    part.image = t->image + c * SIZE(t);
    for (int64_t o = t->first; o < t->first + t->n; o++) {
      F(channels)(to, &part, o, n);
      F(write)(t, t->out + o * p->st[0][ST_POOL_W] + c * SIZE(t), SIZE(t), to,
               n);
    }
  }
}

static void F(max_pool)(char **data, const st_pool_loops *p,
                        const st_pool_type *type) {
  char *const operands[] = {data[0], data[1], NULL};
  const int64_t step = p->st[0][ST_POOL_W];
  st_units u;
  st_tile t = {.type = type};
  A to[ST_POOL_BLOCK];
  st_units_begin(&u, p, p->begin);
  for (int64_t i = p->begin; i < p->end; i++, st_units_next(&u)) {
    st_tile_of(&t, p, operands, &u);
    if (!p->channels_inner) {
      char *out = t.out + t.first * step;
      const bool direct = !BY_ROWS && step == SIZE(&t);
      A *row = direct ? (A *)(void *)out : to;
      F(row_of_windows)(row, &t, t.first, t.n);
      if (!direct) F(write)(&t, out, step, to, t.n);
    } else {
      F(each_channel)(&t);
    }
    if (st_units_stop(&u, &t)) return;
  }
}

/* -- With indices --------------------------------------------------------- */

/* best and elem are the results so far, to which x, code elements after the
 * start of the window, is compared; s: from window to window. */
static inline __attribute__((always_inline)) void F(compare)(
    A *restrict best, I *restrict elem, const A *restrict x, int64_t s, I code,
    int64_t n) {
  for (int64_t o = 0; o < n; o++) {
    const A a = x[o * s], b = best[o];
    const int more = (a > b) | (IS_NAN(a) & !IS_NAN(b));
    best[o] = more ? a : b;
    elem[o] = more ? code : elem[o];
  }
}

static void F(compare_all)(A *best, I *elem, const A *x, int64_t s, I code,
                           int64_t n) {
  if (s == 1) F(compare)(best, elem, x, 1, code, n);
  else if (s == 2) F(compare)(best, elem, x, 2, code, n);
  else if (s == 3) F(compare)(best, elem, x, 3, code, n);
  else F(compare)(best, elem, x, s, code, n);
}

/* The elements of x at even and at odd positions. Loops over both have no gaps
 * between what they read, and are vectors to their ends, which matters in short
 * rows. */
static void F(split)(A *restrict even, A *restrict odd, const A *restrict x,
                     int64_t n) {
  for (int64_t i = 0; i < n / 2; i++) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  if (n % 2) even[n / 2] = x[n - 1];
}

/* Sliding windows of a row of one channel; elem is an offset from the first
 * column of a window, in the first row. */
static void F(search_row)(A *best, I *elem, const st_tile *t, int64_t o,
                          int64_t n) {
  const st_pool_loops *p = t->p;
  const int64_t first = st__pool_first(p, 2, o);
  const int64_t last = st__pool_last(p, 2, o + n - 1);
  A x[ST_POOL_ROW], half[2][SHORT / 2 + 1];
  const bool is_split = p->stride[2] == 2 && last - first <= SHORT;
  st_tile row = *t;
  row.rows[0] = row.rows[1] = 1;
  for (int64_t i = 0; i < n; i++) {
    best[i] = NEUTRAL;
    elem[i] = (I)(first_column(p, o + i) - st__pool_first(p, 2, o + i));
  }
  int64_t left = ST_PERIOD;
  for (int64_t i = 0; i < t->rows[0]; i++) {
    for (int64_t j = 0; j < t->rows[1]; j++) {
      if (st__stops_after(&left, (p->kernel[2] + 1) * n)) return;
      const int64_t down = i * p->dilation[0] * p->in[1] + j * p->dilation[1];
      row.image = t->image + i * t->step[0] + j * t->step[1];
      const A *from = F(row_of)(x, &row, first, last);
      if (is_split) F(split)(half[0], half[1], from, last - first);
      for (int64_t k = 0; k < p->kernel[2]; k++) {
        const int64_t right = k * p->dilation[2];
        const I code = (I)(down * p->in[2] + right);
        if (is_split) {
          F(compare)(best, elem, half[right % 2] + right / 2, 1, code, n);
        } else {
          F(compare_all)(best, elem, from + right, p->stride[2], code, n);
        }
      }
    }
  }
}

/* The greatest elements of the columns [first, last) of a row of bins, and the
 * rows of the first ones. */
static void F(search_columns)(A *top, I *row_of_top, const st_tile *t,
                              int64_t first, int64_t last) {
  const int64_t n = last - first;
  A x[ST_POOL_ROW];
  st_tile row = *t;
  int64_t left = ST_PERIOD;
  row.rows[0] = row.rows[1] = 1;
  for (int64_t i = 0; i < t->rows[0]; i++) {
    for (int64_t j = 0; j < t->rows[1]; j++) {
      if (st__stops_after(&left, n + 1)) return;
      row.image = t->image + i * t->step[0] + j * t->step[1];
      const A *from = F(row_of)(x, &row, first, last);
      if (i + j > 0) {
        F(compare)(top, row_of_top, from, 1, (I)(i * t->rows[1] + j), n);
        continue;
      }
      for (int64_t k = 0; k < n; k++) top[k] = from[k];
      for (int64_t k = 0; k < n; k++) row_of_top[k] = 0;
    }
  }
}

/* A row of bins or windows of few columns, side by side in the image. The index
 * is the first one in the order of the image. So is the result of windows; that
 * of bins is reduced as in Note [Order of pooling]. */
static void F(search_bins)(A *best, char *index, const st_tile *t,
                           st_spans s, int64_t last) {
  const st_pool_loops *p = t->p;
  const int64_t first = s.first, step = p->st[2][ST_POOL_W];
  const int64_t start = linear(t, first) + p->base;
  A top[ST_POOL_ROW];
  I row[ST_POOL_ROW];
  F(search_columns)(top, row, t, first, last);
  for (int64_t o = 0; o < t->n; o++, st_spans_next(&s)) {
    int64_t at = s.first - first;
    A b = top[at];
    I r = row[at];
    for (int64_t k = at + 1; k < s.last - first; k++) {
      const A a = top[k];
      const int more = (a > b) | (IS_NAN(a) & !IS_NAN(b));
      const int same = (a == b) | (IS_NAN(a) & IS_NAN(b));
      const int moves = more | (same & (row[k] < r));
      b = (p->adaptive ? more : moves) ? a : b;
      r = moves ? row[k] : r;
      at = moves ? k : at;
    }
    const int64_t i = r / t->rows[1] * p->dilation[0];
    const int64_t j = r % t->rows[1] * p->dilation[1];
    best[o] = b;
    *(int64_t *)(void *)(index + o * step) =
      start + (i * p->in[1] + j) * p->in[2] + at;
  }
}

/* The linear index of the first element of window o that equals best, or is
 * NaN, too. */
static int64_t F(find)(const st_tile *t, A best, int64_t o) {
  const st_pool_loops *p = t->p;
  const int64_t d = p->dilation[2];
  const int64_t down = p->dilation[1];
  const int64_t deep = p->dilation[0];
  const int64_t first = first_column(p, o);
  const int64_t last = st__pool_last(p, 2, o);
  const int64_t end = last < p->in[2] ? last : p->in[2];
  const int64_t step = d * p->st[1][ST_POOL_W];
  A x[ST_POOL_ROW];
  st_tile row = *t;
  row.rows[0] = row.rows[1] = 1;
  for (int64_t i = 0; i < t->rows[0]; i++) {
    for (int64_t j = 0; j < t->rows[1]; j++) {
      const int64_t at = linear(t, 0) + (i * deep * p->in[1] + j * down) *
                                        p->in[2];
      const char *image = t->image + i * t->step[0] + j * t->step[1];
      for (int64_t k = first; k < end && !st__stops();) {
        const int64_t all = (end - k - 1) / d + 1;
        const int64_t n = all < ST_POOL_ROW ? all : ST_POOL_ROW;
        F(batch) b = {.to = x, .step = step, .count = n};
        unsigned found = 0;
        F(columns)(&b, &row, image + k * (step / d));
        for (int64_t m = 0; m < n; m++) {
          found |= (x[m] == best) | (IS_NAN(x[m]) & IS_NAN(best));
        }
        for (int64_t m = 0; found && m < n; m++) {
          if (x[m] == best || (IS_NAN(x[m]) && IS_NAN(best))) {
            return at + k + m * d;
          }
        }
        k += n * d;
      }
    }
  }
  return linear(t, first);
}

static void F(indices_of_row)(const st_tile *t) {
  const st_pool_loops *p = t->p;
  const int64_t to_step = p->st[0][ST_POOL_W], step = p->st[2][ST_POOL_W];
  A best[ST_POOL_BLOCK];
  I elem[ST_POOL_BLOCK];
  char *index = t->index + t->first * step;
  const st_spans spans = st_spans_from(p, t->first);
  const int64_t last = st__pool_last(p, 2, t->first + t->n - 1);
  const int64_t longest = last - spans.first;
  const bool far = p->in[0] * p->in[1] > INT32_MAX / p->in[2];
  const bool is_short = p->kernel[2] < WIDE && longest <= ST_POOL_ROW && !far;
  if (is_short && (p->adaptive || lie_apart(t, spans.first, last))) {
    F(search_bins)(best, index, t, spans, last);
  } else if (p->adaptive || !is_short) {
    F(row_of_windows)(best, t, t->first, t->n);
    for (int64_t i = 0; i < t->n; i++) {
      *(int64_t *)(index + i * step) =
        F(find)(t, best[i], t->first + i) + p->base;
    }
  } else {
    F(search_row)(best, elem, t, t->first, t->n);
    const int64_t start = linear(t, st__pool_first(p, 2, t->first)) + p->base;
    for (int64_t i = 0; i < t->n; i++) {
      *(int64_t *)(index + i * step) = start + i * p->stride[2] + elem[i];
    }
  }
  F(write)(t, t->out + t->first * to_step, to_step, best, t->n);
}

/* One window of n channels that lie side by side. */
static void F(indices_of_channels)(A *best, int64_t *index, const st_tile *t,
                                   int64_t o, int64_t n) {
  const st_pool_loops *p = t->p;
  const int64_t d = p->dilation[2];
  const int64_t down = p->dilation[1];
  const int64_t deep = p->dilation[0];
  const int64_t first = first_column(p, o), last = st__pool_last(p, 2, o);
  const int64_t end = last < p->in[2] ? last : p->in[2];
  A x[ST_POOL_CHANNELS];
  const int64_t start = linear(t, first);
  I elem[ST_POOL_CHANNELS];
  st_tile row = *t;
  row.rows[0] = row.rows[1] = 1;
  for (int64_t c = 0; c < n; c++) {
    best[c] = NEUTRAL;
    elem[c] = 0;
  }
  for (int64_t i = 0; i < t->rows[0]; i++) {
    for (int64_t j = 0; j < t->rows[1]; j++) {
      const char *image = t->image + i * t->step[0] + j * t->step[1];
      const int64_t at = (i * deep * p->in[1] + j * down) * p->in[2] - first;
      for (int64_t k = first; k < end; k += d) {
        const char *from = image + k * p->st[1][ST_POOL_W];
        F(batch) b = {.to = x, .step = SIZE(t), .count = n};
        if (BY_ROWS) F(columns)(&b, &row, from);
        F(compare)(best, elem, BY_ROWS ? x : (const A *)(const void *)from, 1,
                   (I)(at + k), n);
      }
    }
  }
  for (int64_t c = 0; c < n; c++) index[c] = start + elem[c] + p->base;
}

static void F(max_pool_indices)(char **data, const st_pool_loops *p,
                                const st_pool_type *type) {
  st_units u;
  st_tile t = {.type = type};
  A best[ST_POOL_CHANNELS];
  st_units_begin(&u, p, p->begin);
  for (int64_t i = p->begin; i < p->end; i++, st_units_next(&u)) {
    st_tile_of(&t, p, data, &u);
    if (!p->channels_inner) F(indices_of_row)(&t);
    for (int64_t o = 0; p->channels_inner && o < t.n; o++) {
      char *out = t.out + (t.first + o) * p->st[0][ST_POOL_W];
      int64_t *index = (int64_t *)(void *)(
        t.index + (t.first + o) * p->st[2][ST_POOL_W]);
      st_tile part = t;
      for (int64_t c = 0, n; c < p->channels; c += n) {
        n = p->channels - c;
        if (n > ST_POOL_CHANNELS) n = ST_POOL_CHANNELS;
        part.image = t.image + c * SIZE(&t);
        F(indices_of_channels)(best, index + c, &part, t.first + o, n);
        F(write)(&t, out + c * SIZE(&t), SIZE(&t), best, n);
      }
    }
    if (st_units_stop(&u, &t)) return;
  }
}

#undef IS_NAN
#undef T
#undef A
#undef I
#undef F
#undef NEUTRAL
#undef HAS_NAN
#undef BY_ROWS
#undef SIZE
