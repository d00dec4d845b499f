/* The kernel of padding by reflected, replicated and circular borders. It
 * copies the inner part of a row at once and the borders column by column.
 */

#include "kernel/nn/pad.h"

#include <string.h>

#include "base/threads.h"
#include "kernel/loop.h"

typedef struct bytes16 { uint64_t half[2]; } bytes16;

/* The columns of a row: [0, begin) and [end, out) are borders. The columns of a
 * border repeat those of the image from left or right on, each a step apart. */
typedef struct pad_row {
  int64_t begin, end, out;
  int64_t first;       /* the column of the image that begin repeats */
  int64_t left, right;
  int64_t sign;        /* -1, 0 or 1: from column to column of a border */
  int64_t to_step, step, itemsize;
} pad_row;

static pad_row row_of(const st_pad_loops *p) {
  static const int64_t steps[ST_PAD_MODES] = {
    [ST_PAD_REFLECT] = -1, [ST_PAD_REPLICATE] = 0, [ST_PAD_CIRCULAR] = 1};
  const st_pad_dim *w = &p->dim[2];
  pad_row r = {.begin = w->before + w->cut, .out = w->out,
               .sign = steps[p->mode], .to_step = p->st[0][4],
               .step = p->st[1][4], .itemsize = p->itemsize};
  if (r.begin < 0) r.begin = 0;
  if (r.begin > w->out) r.begin = w->out;
  r.end = w->before + w->cut + w->size;
  if (r.end > w->out) r.end = w->out;
  if (r.end < r.begin) r.end = r.begin;
  r.first = r.begin - w->before;
  r.left = st__pad_source(p, 2, 0);
  r.right = st__pad_source(p, 2, r.end);
  return r;
}

/* -- Copies --------------------------------------------------------------- */

/* A short run in blocks of size bytes, the last of which overlaps; a call of
 * memcpy takes longer. */
static inline __attribute__((always_inline)) void copy_blocks(
    char *restrict to, const char *restrict from, int64_t n, int size) {
  for (int64_t i = 0; i < n - size; i += size) {
    memcpy(to + i, from + i, (size_t)size);
  }
  memcpy(to + n - size, from + n - size, (size_t)size);
}

static inline void copy_run(char *to, const char *from, int64_t n) {
  if (n >= 16 && n <= 64) copy_blocks(to, from, n, 16);
  else if (n > 64 && n <= 512) copy_blocks(to, from, n, 64);
  else memcpy(to, from, (size_t)n);
}

/* to[i] = from[i] for n columns of a type. */
#define COPY(s, T)                                                          \
  static inline void copy_##s(char *to, int64_t to_step, const char *from,  \
                              int64_t step, int64_t n) {                    \
    for (int64_t i = 0; i < n && !st__stops_at(i); i++) {                   \
      memcpy(to + i * to_step, from + i * step, sizeof(T)); } }

COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
COPY(8, uint64_t)
COPY(16, bytes16)

/* Columns that are not numbers of a type. */
static void copy_any(const pad_row *r, char *to, const char *from,
                     int64_t step, int64_t n) {
  for (int64_t i = 0; i < n && !st__stops_at(i); i++) {
    memcpy(to + i * r->to_step, from + i * step, (size_t)r->itemsize);
  }
}

static bool is_joined(const pad_row *r) {
  return r->itemsize == r->to_step && r->itemsize == r->step;
}

/* -- Rows ----------------------------------------------------------------- */

#define ROW(s)                                                              \
  static void row_##s(const pad_row *r, char *to, const char *from) {       \
    const int64_t step = r->step, to_step = r->to_step;                     \
    const int64_t n = r->end - r->begin;                                    \
    char *inner = to + r->begin * to_step, *end = to + r->end * to_step;    \
    const char *first = from + r->first * step;                             \
    copy_##s(to, to_step, from + r->left * step, r->sign * step, r->begin); \
    if (n > 0 && is_joined(r)) copy_run(inner, first, n * s);               \
    else copy_##s(inner, to_step, first, step, n);                          \
    copy_##s(end, to_step, from + r->right * step, r->sign * step,          \
             r->out - r->end);                                              \
  }

ROW(1)
ROW(2)
ROW(4)
ROW(8)
ROW(16)

static void row_any(const pad_row *r, char *to, const char *from) {
  const int64_t step = r->step, to_step = r->to_step, n = r->end - r->begin;
  char *inner = to + r->begin * to_step;
  const char *first = from + r->first * step;
  copy_any(r, to, from + r->left * step, r->sign * step, r->begin);
  if (n > 0 && is_joined(r)) copy_run(inner, first, n * r->itemsize);
  else copy_any(r, inner, first, step, n);
  copy_any(r, to + r->end * to_step, from + r->right * step, r->sign * step,
           r->out - r->end);
}

static void pad(const pad_row *r, char *to, const char *from) {
  switch (r->itemsize) {
    case 1: row_1(r, to, from); break;
    case 2: row_2(r, to, from); break;
    case 4: row_4(r, to, from); break;
    case 8: row_8(r, to, from); break;
    case 16: row_16(r, to, from); break;
    default: row_any(r, to, from);
  }
}

static void pad_borders(char **data, const void *ctx) {
  const st_pad_loops *p = ctx;
  const int64_t sizes[] = {INT64_MAX, p->channels, p->dim[0].out,
                           p->dim[1].out};
  const pad_row r = row_of(p);
  int64_t at[4], unit = p->begin, left = ST_PERIOD;
  for (int d = 3; d >= 0; d--) {
    at[d] = d ? unit % sizes[d] : unit;
    if (d) unit /= sizes[d];
  }
  for (int64_t i = p->begin; i < p->end;) {
    char *to = data[0];
    const char *from = data[1];
    const int64_t todo = p->end - i, below = sizes[3] - at[3];
    const int64_t rows = todo < below ? todo : below;
    for (int d = 0; d < 3; d++) {
      to += at[d] * p->st[0][d];
      from += (d < 2 ? at[d] : st__pad_source(p, 0, at[d])) * p->st[1][d];
    }
    for (int64_t y = at[3]; y < at[3] + rows; y++) {
      pad(&r, to + y * p->st[0][3],
          from + st__pad_source(p, 1, y) * p->st[1][3]);
      if (st__stops_after(&left, r.out * r.itemsize / 128 + 1)) return;
    }
    i += rows;
    at[3] = 0;
    for (int d = 2; d >= 0 && ++at[d] == sizes[d]; d--) at[d] = 0;
  }
}

static const st_task_row rows[] = {
  {"pad_borders", {[ST_UINT8] = pad_borders}}};

ST_EXPORT_TASKS(st__pad, rows)
