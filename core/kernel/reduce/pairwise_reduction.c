/* The driver of all reductions: iterates over blocks of elements and combines
 * their values pairwise. It only moves bytes and calls bodies, so it is
 * compiled once, not once per instruction set.
 *
 * Note [Pairwise reduction tree]
 * Reductions use pairwise summation in an order that the logical indices of
 * the elements determine. A block of ST_REDUCE_BLOCK (1024) elements is reduced
 * in W lanes, which fill 256 bytes of accumulators (LANES): 32 of float64, 16
 * of complex128. Element i of the block goes into lane i mod W, each lane in
 * order. Then the upper half of the lanes is combined into the lower half until
 * one lane is left (lanes without an element are skipped). The values of the
 * blocks are combined in neighbouring pairs, those results in pairs, and so
 * on. The order does not depend on the instruction set, because compilers may
 * not reassociate, nor on the layout, which only selects how the tree is
 * evaluated:
 *
 *   by rows     the elements of an output are contiguous: a vector holds the
 *               lanes
 *   by columns  the outputs are contiguous: one lane after the other, for all
 *               outputs at once, in the order in which lanes are combined
 *               (reduce_lanes); those of one block may be reduced in registers,
 *               some outputs at a time
 *   as one row  few outputs, and their rows adjoin: W rows are treated as one
 *               long row (reduce_lanes_flat)
 *
 * Other layouts are gathered first. Each aligned group of 2^k blocks is a
 * subtree, so threads may reduce such groups separately. Rounding error: a
 * running sum has at most 32 elements (complex128: 64), all other additions
 * are pairwise, and sums of floats are accumulated in float64.
 */

#include "kernel/reduce/pairwise_reduction.h"

#include <string.h>

#include "os/machine.h"
#include "base/threads.h"
#include "kernel/reduce/reduction_elements.h"

typedef st_reduce_span span;
typedef st_reduce_ops reducer;

enum {
  SHORT_ROW = 512, /* elements that are worth a body for rows of one block */
  ROOM = 32768,    /* bytes of gathered elements */
  AHEAD = 8,       /* rows, requested before they are used */
  WIDTH = 2048,    /* bytes of accumulators of a row of outputs */
  FLAT = 32768,    /* bytes of accumulators of W such rows */
  LEVELS = 48,     /* of the tree of blocks */
  NEAR = 1 << 19,  /* bytes of rows that a cache holds */
  PERIOD = 1 << 18, /* elements between two questions whether to stop */
  MAX_ACC = ST_REDUCE_MAX_ACC
};

/* -- Elements ------------------------------------------------------------- */

/* Counts n elements; every PERIOD elements, true if the loop around this
 * reduction stops. Then the result does not matter. */
static bool stops(int64_t *left, int64_t n) {
  *left -= n;
  if (*left > 0) return false;
  *left = PERIOD;
  return st__stops();
}

/* True if the bodies can read the elements without loading them. */
static bool is_direct(const reducer *k) {
  return k->in_size == k->size && !k->maps;
}

/* -- Pairs ---------------------------------------------------------------- */

/* A stack of complete subtrees whose right siblings are not complete yet, the
 * largest first. Entry d holds n accumulators at `at` + d * step; count is
 * the number of blocks pushed so far. */
typedef struct stack {
  char *at;
  int64_t step, n, count;
  int depth;
} stack;

static char *top(const stack *t) { return t->at + t->depth * t->step; }

static void combine_top(const reducer *k, stack *t) {
  t->depth--;
  k->combine(top(t) - t->step, top(t), t->n);
}

/* Pushes the block whose value has been written to top, and combines it with
 * its left siblings. */
static void push(const reducer *k, stack *t) {
  t->depth++;
  t->count++;
  for (int64_t c = t->count; !(c & 1); c >>= 1) combine_top(k, t);
}

static void combine_all(const reducer *k, stack *t) {
  while (t->depth > 1) combine_top(k, t);
}

/* -- By rows -------------------------------------------------------------- */

/* Combines n contiguous accumulators pairwise into the first one. */
static void combine_pairs(const reducer *k, char *value, int64_t n) {
  const int64_t size = k->size;
  char odd[ROOM / 2];
  for (int64_t half; n > 1; n -= half) {
    half = n / 2;
    k->load(odd, value + size, 2 * size, half);
    for (int64_t i = 1; i < n - half; i++) {
      memcpy(value + i * size, value + 2 * i * size, (size_t)size);
    }
    k->combine(value, odd, half);
  }
}

/* Buffers of a reduction by rows: loaded elements, and the stack. */
typedef struct row_buffers {
  _Alignas(64) char buffer[ROOM];
  _Alignas(64) char values[LEVELS * MAX_ACC];
  bool direct; /* the bodies read the input in place */
  bool stored; /* that for elements that have not been loaded does */
} row_buffers;

/* Reduces a block of one output; `in` is the address of element 0. */
static void reduce_block(const reducer *k, span *p, const char *in,
                         const st_reduce_run *r, row_buffers *c) {
  if (c->stored && p->n0 >= k->lanes) {
    p->in = in + p->start * k->in_size;
    k->stored(p);
    return;
  }
  p->in = c->direct ? in + p->start * k->size : c->buffer;
  if (!c->direct) load_elements(k, c->buffer, in, r, p->start, p->n0);
  k->row(p);
}

/* Combines n0 accumulators of blocks, which form a subtree. */
static void combine_blocks(const reducer *k, const span *p, const char *in,
                           const st_reduce_run *r, row_buffers *c) {
  load_elements(k, c->buffer, in, r, p->start, p->n0);
  combine_pairs(k, c->buffer, p->n0);
  memcpy(p->acc, c->buffer, (size_t)k->acc_size);
}

/* True if no further element changes the result, of which acc is a part. */
static bool is_final(const reducer *k, const char *acc) {
  if (k->stops_early) return *(const int64_t *)(const void *)acc != ST_NO_INDEX;
  return k->ends_at && *acc == k->ends_at - 1;
}

/* Reduces one output into the first entry of the stack. */
static void run_output(const reducer *k, span *p, const char *in, int64_t n0,
                       const st_reduce_run *r, row_buffers *c) {
  stack t = {c->values, MAX_ACC, 1, 0, 0};
  int64_t left = PERIOD;
  for (int64_t i = 0; i < n0; i += p->n0) {
    p->n0 = least(n0 - i, ST_REDUCE_BLOCK);
    p->start = r->at + i;
    p->acc = top(&t);
    if (r->partials) combine_blocks(k, p, in, r, c);
    else reduce_block(k, p, in, r, c);
    if (is_final(k, p->acc) || stops(&left, p->n0)) i = n0;
    push(k, &t);
  }
  combine_all(k, &t);
}

/* Reduces n1 outputs, one after the other. */
static void run_rows(const reducer *k, span p, const int64_t *s, int64_t n0,
                     int64_t n1, const st_reduce_run *r) {
  row_buffers c;
  const bool one_block = n0 <= ST_REDUCE_BLOCK && !r->partials;
  const char *in = p.in;
  char *to = p.acc;
  p.n0 = n0;
  p.start = r->at;
  c.direct = r->ndim == 1 && r->stride[0] == k->size && is_direct(k);
  c.stored = k->stored && r->ndim == 1 && r->stride[0] == k->in_size;
  for (int64_t j = 0; j < n1; j++, in += s[4], p.pivot += s[5]) {
    if (one_block) {
      p.acc = to + j * k->acc_size;
      reduce_block(k, &p, in, r, &c);
    } else {
      run_output(k, &p, in, n0, r, &c);
      memcpy(to + j * k->acc_size, c.values, (size_t)k->acc_size);
    }
  }
}

/* -- Rows of one block ---------------------------------------------------- */

/* Reduces rows that lie in memory as the bodies read them. The body reads
 * beyond a row; the last rows are copied, so that it stays in the input. */
static void reduce_short_rows(const reducer *k, span p, int64_t step) {
  _Alignas(64) char copy[(ST_REDUCE_BLOCK + ST_REDUCE_MAX_LANES) * MAX_ACC];
  const int64_t n1 = p.n1, row = p.n0 * k->size;
  const int64_t over = ST_REDUCE_MAX_LANES * k->size;
  const int64_t apart = step > 0 ? (over + step - 1) / step : n1;
  const int64_t safe = n1 > apart ? n1 - apart : 0;
  p.skip = step;
  p.n1 = safe;
  if (safe) k->rows(&p);
  memset(copy + row, 0, (size_t)over);
  p.acc += safe * k->acc_size;
  if (p.more) p.pivot += safe * k->pivot_size;
  p.n1 = 1;
  for (int64_t j = safe; j < n1; j++) {
    span q = p;
    memcpy(copy, p.in + j * step, (size_t)row);
    q.in = copy;
    k->rows(&q);
    p.acc += k->acc_size;
    if (p.more) p.pivot += k->pivot_size;
  }
}

/* The same for elements that are loaded, as many rows at a time as fit. They
 * are `skip` bytes apart, rows `step` bytes. */
static void load_short_rows(const reducer *k, span p, int64_t skip,
                            int64_t step, char *buffer) {
  const int64_t n1 = p.n1, row = p.n0 * k->size, most = ROOM / row;
  const char *in = p.in;
  for (int64_t j = 0; j < n1; j += p.n1) {
    p.n1 = least(n1 - j, most);
    p.in = buffer;
    if (step == p.n0 * skip) {
      k->load(buffer, in + j * step, skip, p.n0 * p.n1);
    } else {
      for (int64_t i = 0; i < p.n1; i++) {
        k->load(buffer + i * row, in + (j + i) * step, skip, p.n0);
      }
    }
    reduce_short_rows(k, p, row);
    p.acc += p.n1 * k->acc_size;
    if (p.more) p.pivot += p.n1 * k->pivot_size;
  }
}

/* The elements of a row that one call for all rows reduces faster than a call
 * for each. */
static int64_t longest_row(const reducer *k) {
  return k->stops_early || k->size < 4 ? ST_REDUCE_BLOCK : SHORT_ROW;
}

/* True if the outputs are rows of one block whose elements are contiguous, or
 * short rows whose elements are closer to each other than the rows. */
static bool has_short_rows(const reducer *k, const int64_t *s, int64_t n0,
                           int64_t n1, const st_reduce_run *r) {
  const int64_t outer = magnitude(s[4]), inner = magnitude(r->stride[0]);
  return k->rows && n1 >= 2 && n0 <= longest_row(k) &&
         n0 > (k->long_rows ? SHORT - 1 : 4) &&
         !r->partials && r->ndim == 1 &&
         (r->stride[0] == k->in_size ? outer >= inner
                                     : n0 < SHORT && inner && outer > inner);
}

static void run_short_rows(const reducer *k, span p, const int64_t *s,
                           int64_t n0, int64_t n1, const st_reduce_run *r) {
  _Alignas(64) char buffer[ROOM];
  p.in += r->at * r->stride[0];
  p.start = r->at;
  p.n0 = n0;
  p.n1 = n1;
  p.more = s[5] != 0;
  if (is_direct(k) && r->stride[0] == k->size) reduce_short_rows(k, p, s[4]);
  else load_short_rows(k, p, r->stride[0], s[4], buffer);
}

/* -- By columns ----------------------------------------------------------- */

/* Requests the lines of m rows, from row i on. */
static void prefetch_rows(const reducer *k, const span *p, int64_t i,
                          int64_t m) {
  const int64_t bytes = p->n1 * k->size;
  for (int64_t q = i; q < i + m; q++) {
    const char *row = p->in + p->off[q * p->skip];
    for (int64_t o = 0; o < bytes; o += 64) __builtin_prefetch(row + o);
  }
}

/* Reduces the rows of a span in order. */
static void reduce_rows(const reducer *k, span p) {
  for (int64_t i = 0, m; i < p.n0; i += m, p.start += m, p.more = true) {
    m = k->four && p.n0 - i >= 4 ? 4 : 1;
    if (p.far && i + AHEAD + m <= p.n0) prefetch_rows(k, &p, i + AHEAD, m);
    for (int64_t q = 0; q < m; q++) p.x[q] = p.in + p.off[(i + q) * p.skip];
    if (m == 4) k->four(&p);
    else if (p.more) k->next(&p);
    else k->first(&p);
  }
}

/* Buffers of a reduction by columns. step is the byte distance of two outputs
 * in the input. */
typedef struct column_buffers {
  _Alignas(64) char values[LEVELS * WIDTH], spare[8 * WIDTH], pivots[2 * WIDTH];
  _Alignas(64) char buffer[ROOM];
  int64_t off[ST_REDUCE_BLOCK], dense[ST_REDUCE_BLOCK];
  int64_t step;
  bool direct; /* the bodies read the input in place */
} column_buffers;

/* Reduces the rows of a span in order; loads them, as many at a time as fit
 * into the buffer, if the bodies cannot read them in place. */
static void load_and_reduce_rows(const reducer *k, span p, column_buffers *c) {
  const int64_t row = p.n1 * k->size, most = ROOM / row, n = p.n0;
  const int64_t *off = p.off, skip = p.skip;
  const char *in = p.in;
  if (c->direct) {
    reduce_rows(k, p);
    return;
  }
  p.in = c->buffer;
  p.off = c->dense;
  p.skip = 1;
  for (int64_t i = 0; i < n; i += p.n0, p.start += p.n0, p.more = true) {
    p.n0 = least(n - i, most);
    for (int64_t q = 0; q < p.n0; q++) {
      k->load(c->buffer + q * row, in + off[(i + q) * skip], c->step, p.n1);
      c->dense[q] = q * row;
    }
    reduce_rows(k, p);
  }
}

/* Combines lanes l, l + step, l + 2 step .. of a block: first the even ones
 * among them, then the odd ones, then both results. */
static void reduce_lanes(const reducer *k, const span *p, column_buffers *c,
                         char *spare, int64_t l, int64_t step) {
  span q = *p;
  q.off += l;
  q.skip = step;
  q.n0 = (p->n0 - l + step - 1) / step;
  if (k->any_order || p->as_rows || step == k->lanes ||
      (p->n0 <= k->lanes && q.n0 <= 2)) {
    load_and_reduce_rows(k, q, c);
    return;
  }
  reduce_lanes(k, p, c, spare, l, 2 * step);
  if (l + step >= p->n0) return;
  q = *p;
  q.acc = spare;
  reduce_lanes(k, &q, c, spare + WIDTH, l + step, 2 * step);
  k->combine(p->acc, spare, p->n1);
}

/* The number of contiguous rows that are treated as one row: that of lanes, or
 * in any order fewer, if they fill some vectors, and never more than there
 * are. */
static int64_t flat_rows(const reducer *k, const span *p) {
  const int64_t fill = WIDTH / least(k->acc_size, 4);
  const bool any = k->any_order || p->as_rows;
  int64_t w = k->lanes;
  while (any && w > 1 && (w > p->n0 || w / 2 * p->n1 >= fill)) w /= 2;
  return w;
}

/* The same for contiguous rows: w of them are treated as one row, whose
 * accumulators are the lanes of all outputs. */
static void reduce_lanes_flat(const reducer *k, const span *p, int64_t w,
                              column_buffers *c) {
  _Alignas(64) char acc[FLAT], pivots[MAX_ACC * FLAT / 8];
  int64_t off[ST_REDUCE_BLOCK];
  const int64_t wide = w * p->n1, rest = p->n0 % w;
  span q = *p;
  q.acc = acc;
  q.n0 = p->n0 / w;
  q.n1 = wide;
  q.off = off;
  q.skip = 1;
  for (int64_t i = 0; i <= q.n0; i++) off[i] = i * wide * k->in_size;
  for (int64_t i = 0; i < w && k->pivot_size > 1; i++) {
    memcpy(pivots + i * p->n1 * k->pivot_size, p->pivot,
           (size_t)(p->n1 * k->pivot_size));
    q.pivot = pivots;
  }
  load_and_reduce_rows(k, q, c);
  if (rest) {
    q.off += q.n0;
    q.n0 = 1;
    q.n1 = rest * p->n1;
    q.more = true;
    load_and_reduce_rows(k, q, c);
  }
  for (int64_t h = w / 2 * p->n1; h >= p->n1; h /= 2) {
    k->combine(acc, acc + h * k->acc_size, h);
  }
  memcpy(p->acc, acc, (size_t)(p->n1 * k->acc_size));
}

/* Reduces a block of p.n1 outputs; p.in is the address of element 0. */
static void reduce_columns(const reducer *k, span p, const st_reduce_run *r,
                           column_buffers *c) {
  const bool dense = c->step == k->in_size && r->ndim == 1 &&
                     r->stride[0] == p.n1 * k->in_size;
  const int64_t w = flat_rows(k, &p), wide = w * p.n1;
  if (dense && p.n0 >= w && w > 1 && !k->stops_early &&
      wide * k->acc_size <= FLAT && (c->direct || wide * k->size <= ROOM)) {
    p.in += p.start * r->stride[0];
    reduce_lanes_flat(k, &p, w, c);
  } else {
    fill_offsets(c->off, r, p.start, p.n0);
    p.off = c->off;
    reduce_lanes(k, &p, c, c->spare, 0, 1);
  }
}

/* Reduces all blocks of p.n1 outputs into the first entry of the stack. */
static void reduce_blocks(const reducer *k, span p, int64_t n0,
                          const st_reduce_run *r, column_buffers *c) {
  const int64_t block = r->partials ? 1 : ST_REDUCE_BLOCK;
  stack t = {c->values, WIDTH, p.n1, 0, 0};
  int64_t left = PERIOD;
  for (int64_t i = 0; i < n0; i += p.n0) {
    p.n0 = least(n0 - i, block);
    if (i > 0 && stops(&left, p.n0 * p.n1)) return;
    p.start = r->at + i;
    p.acc = top(&t);
    reduce_columns(k, p, r, c);
    push(k, &t);
  }
  combine_all(k, &t);
}

/* Reduces n1 outputs, as many at a time as accumulators fit into a row. With
 * may_differ (extrema) the rows are reduced in memory order first, which is
 * faster, and once more in the order of the tree if a result may differ. */
static void run_columns(const reducer *k, span p, const int64_t *s, int64_t n0,
                        int64_t n1, const st_reduce_run *r) {
  column_buffers c;
  const int64_t width = WIDTH / k->acc_size;
  const char *in = p.in, *pivot = p.pivot;
  char *to = p.acc;
  /* Without pivots their size is 1; a search has pivots of any size. */
  const bool copies = !s[5] && (k->pivot_size > 1 || k->stops_early);
  c.step = s[4];
  c.direct = c.step == k->in_size && is_direct(k);
  p.far = c.direct && n0 * magnitude(r->stride[0]) > st__machine.far_rows;
  for (int64_t j = 0; j < n1; j += p.n1) {
    p.n1 = least(n1 - j, width);
    p.in = in + j * s[4];
    p.pivot = pivot + j * s[5];
    for (int64_t i = 0; copies && i < p.n1; i++) {
      memcpy(c.pivots + i * k->pivot_size, pivot, (size_t)k->pivot_size);
      p.pivot = c.pivots;
    }
    p.as_rows = k->may_differ && n0 > k->lanes && !r->partials;
    reduce_blocks(k, p, n0, r, &c);
    if (p.as_rows && k->may_differ(c.values, p.n1)) {
      p.as_rows = false;
      reduce_blocks(k, p, n0, r, &c);
    }
    memcpy(to + j * k->acc_size, c.values, (size_t)(p.n1 * k->acc_size));
  }
}

/* -- Columns of one block ------------------------------------------------- */

/* True if the bodies read n0 rows, which are near, in place, and there are more
 * columns than reduce_lanes_flat can reduce, or some with pivots, of which it
 * makes copies. */
static bool are_near(const reducer *k, const int64_t *s, int64_t n0,
                     int64_t n1, const st_reduce_run *r) {
  return n0 <= ST_REDUCE_BLOCK && s[4] == k->in_size && is_direct(k) &&
         n0 * magnitude(r->stride[0]) <= NEAR &&
         (k->lanes * n1 * k->acc_size > FLAT ||
          (k->pivot_size > 1 && n1 >= 16));
}

/* Extrema, which may be taken in any order, are faster by several rows at a
 * time, unless the rows are few. */
static bool has_columns(const reducer *k, const int64_t *s, int64_t n0,
                        int64_t n1, const st_reduce_run *r) {
  return k->columns && n0 >= 2 && !r->partials && r->ndim == 1 &&
         (s[5] || k->pivot_size == 1) &&
         (n0 <= k->lanes || (!k->may_differ && are_near(k, s, n0, n1, r)));
}

/* Elements are loaded, as many columns at a time as fit, unless they lie in
 * memory as the body reads them. */
static void run_one_block(const reducer *k, span p, const int64_t *s,
                         int64_t n0, int64_t n1, const st_reduce_run *r) {
  _Alignas(64) char buffer[ROOM];
  const bool direct = s[4] == k->in_size && is_direct(k);
  const int64_t most = direct ? n1 : ROOM / (n0 * k->size);
  const char *in = p.in + r->at * r->stride[0];
  p.n0 = n0;
  for (int64_t j = 0; j < n1; j += p.n1, in += p.n1 * s[4]) {
    p.n1 = least(n1 - j, most);
    p.in = direct ? in : buffer;
    p.skip = direct ? r->stride[0] : p.n1 * k->size;
    if (!direct && r->stride[0] == p.n1 * s[4]) {
      k->load(buffer, in, s[4], n0 * p.n1);
    } else if (!direct) {
      for (int64_t i = 0; i < n0; i++) {
        k->load(buffer + i * p.skip, in + i * r->stride[0], s[4], p.n1);
      }
    }
    k->columns(&p);
    p.acc += p.n1 * k->acc_size;
    p.pivot += p.n1 * s[5];
  }
}

/* -- The driver ----------------------------------------------------------- */

/* True if all outputs have the same elements and pivots. */
static bool repeats(const reducer *k, const char *pivot, const int64_t *s,
                    int64_t n1) {
  const int64_t size = k->pivot_size;
  return n1 >= 2 && s[4] == 0 &&
         (s[5] == 0 ||
          (s[5] == size &&
           memcmp(pivot, pivot + size, (size_t)((n1 - 1) * size)) == 0));
}

void st__run_reduction(const reducer *k, char **data, const int64_t *s,
                       int64_t n0, int64_t n1, const st_reduce_run *r) {
  const int64_t outer = magnitude(s[4]), inner = magnitude(r->stride[0]);
  const span p = {.acc = data[0], .in = data[1], .pivot = data[2]};
  if (repeats(k, p.pivot, s, n1)) {
    run_rows(k, p, s, n0, 1, r);
    for (int64_t j = 1; j < n1; j++) {
      memcpy(p.acc + j * k->acc_size, p.acc, (size_t)k->acc_size);
    }
    return;
  }
  if (k->few && n0 >= 2 && n0 <= 4 && n1 >= 4 && !r->partials && r->ndim == 1 &&
      is_direct(k) && r->stride[0] == k->size &&
      s[4] == n0 * k->size) {
    k->few(p.acc, p.in + r->at * k->size, n0, n1);
  } else if (has_short_rows(k, s, n0, n1, r)) {
    run_short_rows(k, p, s, n0, n1, r);
  } else if (n1 >= 2 && (outer < inner || (n0 < SHORT && n1 >= 4))) {
    if (has_columns(k, s, n0, n1, r)) run_one_block(k, p, s, n0, n1, r);
    else run_columns(k, p, s, n0, n1, r);
  } else {
    run_rows(k, p, s, n0, n1, r);
  }
}
