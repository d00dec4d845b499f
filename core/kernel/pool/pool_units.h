/* The units of a pooling kernel: which rows of which image a row of windows
 * covers.
 */
#ifndef ST_KERNEL_POOL_POOL_UNITS_H
#define ST_KERNEL_POOL_POOL_UNITS_H

#include "base/threads.h"
#include "kernel/pool/pool.h"

enum {
  ST_POOL_CHANNELS = 256, WIDE = 16, LANES = 8,
  FEW = 6,       /* windows of a row that are not worth a buffer, */
  FEW_ROWS = 16  /* if they do not have more rows */
};

/* A type in memory whose elements are converted to those of results, and back,
 * in rows of n, step bytes apart. */
typedef struct st_pool_type {
  int64_t size; /* bytes */
  void (*load)(void *to, const char *p, int64_t step, int64_t n);
  void (*store)(char *p, int64_t step, const void *from, int64_t n);
} st_pool_type;

/* Windows of one row. A window covers rows[0] x rows[1] rows of the image, step
 * bytes apart; image is the start of the first one. */
typedef struct st_tile {
  const st_pool_loops *p;
  const st_pool_type *type;   /* NULL: that of results */
  const char *image;
  int64_t rows[2], step[2];
  int64_t top[2];             /* the indices of the first row */
  int64_t o[2];               /* the row of windows */
  int64_t first, n;           /* the windows of this unit */
  char *out, *index;          /* of window 0 of the row */
} st_tile;

/* The columns [first, last) of the windows of a row, one after another: one
 * division for a row, not for each bin. */
typedef struct st_spans {
  int64_t first, last;
  int64_t next, rest; /* bins: where the next one starts, next + rest / out */
  int64_t step, part, out;
} st_spans;

static inline void st_spans_next(st_spans *s) {
  if (s->out == 0) {
    s->first += s->step;
    s->last += s->step;
    return;
  }
  s->first = s->next;
  s->next += s->step;
  s->rest += s->part;
  if (s->rest >= s->out) {
    s->rest -= s->out;
    s->next++;
  }
  s->last = s->next + (s->rest > 0);
}

/* From window o on. */
static inline st_spans st_spans_from(const st_pool_loops *p, int64_t o) {
  const int64_t in = p->in[2], out = p->out[2];
  st_spans s = {.step = p->stride[2]};
  if (!p->adaptive) {
    s.first = st__pool_first(p, 2, o);
    s.last = st__pool_last(p, 2, o);
    return s;
  }
  s = (st_spans){.next = o * in / out, .rest = o * in % out, .step = in / out,
                 .part = in % out, .out = out};
  st_spans_next(&s);
  return s;
}

/* The unit as counters of images, channels, rows, blocks. */
typedef struct st_units {
  int64_t at[5], size[5];
  int64_t left; /* st__stops_after's, in blocks of 16 elements */
} st_units;

static inline void st_units_begin(st_units *u, const st_pool_loops *p,
                                  int64_t unit) {
  u->size[0] = INT64_MAX;
  u->size[1] = p->channels_inner ? 1 : p->channels;
  u->size[2] = p->out[0];
  u->size[3] = p->out[1];
  u->size[4] = (p->out[2] + p->block - 1) / p->block;
  u->left = ST_PERIOD;
  for (int i = 4; i >= 0; i--) {
    u->at[i] = i ? unit % u->size[i] : unit;
    if (i) unit /= u->size[i];
  }
}

static inline void st_units_next(st_units *u) {
  for (int i = 4; i >= 0; i--) {
    if (++u->at[i] < u->size[i]) return;
    u->at[i] = 0;
  }
}

/* -- Whole planes --------------------------------------------------------- */

/* True if the windows of each row are a few small squares inside the image,
 * whose columns lie side by side. */
static inline bool st__pool_has_squares(const st_pool_loops *p,
                                        int64_t itemsize) {
  const int64_t size = p->kernel[2];
  bool fits = !p->adaptive && !p->channels_inner && p->out[2] <= FEW &&
              p->out[2] <= p->block && p->kernel[0] == 1 &&
              p->kernel[1] == size && size > 1 && size < 4 &&
              p->st[1][ST_POOL_W] == itemsize;
  for (int d = 0; d < 3; d++) {
    fits = fits && p->padding[d] == 0 && p->dilation[d] == 1 &&
           st__pool_last(p, d, p->out[d] - 1) <= p->in[d];
  }
  return fits;
}

/* The units, `most` at most, from this one to the end of its plane. */
static inline int64_t st_units_rows(const st_units *u, int64_t most) {
  const int64_t rows = u->size[3] - u->at[3];
  return rows < most ? rows : most;
}

/* Where the plane of an operand begins; stride is that of its depth. */
static inline int64_t st_units_plane(const st_units *u, const st_pool_loops *p,
                                     int i, int64_t stride) {
  const int64_t *st = p->st[i];
  return u->at[0] * st[ST_POOL_N] + u->at[1] * st[ST_POOL_C] +
         u->at[2] * stride * st[ST_POOL_D];
}

/* Goes on by n units of a plane, of `elements` each; true if the loop stops. */
static inline bool st_units_skip(st_units *u, int64_t n, int64_t elements) {
  u->at[3] += n - 1;
  st_units_next(u);
  return st__stops_after(&u->left, n * (elements / 16 + 1));
}

/* -- Tiles ---------------------------------------------------------------- */

static inline int64_t st_tile_rows(st_tile *t, int d) {
  const st_pool_loops *p = t->p;
  const int64_t step = p->dilation[d];
  int64_t first = st__pool_first(p, d, t->o[d]);
  int64_t last = st__pool_last(p, d, t->o[d]);
  if (first < 0) first += (step - 1 - first) / step * step;
  if (last > p->in[d]) last = p->in[d];
  t->top[d] = first;
  t->step[d] = step * p->st[1][ST_POOL_D + d];
  if (first >= last) t->rows[d] = 0;
  else t->rows[d] = step == 1 ? last - first : (last - first - 1) / step + 1;
  return first * p->st[1][ST_POOL_D + d];
}

static inline void st_tile_of(st_tile *t, const st_pool_loops *p,
                              char *const *data, const st_units *u) {
  t->p = p;
  t->o[0] = u->at[2];
  t->o[1] = u->at[3];
  t->first = u->at[4] * p->block;
  t->n = p->out[2] - t->first < p->block ? p->out[2] - t->first : p->block;
  int64_t at[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) {
    const int64_t *st = p->st[i];
    at[i] = u->at[0] * st[ST_POOL_N] + u->at[1] * st[ST_POOL_C];
    if (i != 1) at[i] += t->o[0] * st[ST_POOL_D] + t->o[1] * st[ST_POOL_H];
  }
  at[1] += st_tile_rows(t, 0);
  at[1] += st_tile_rows(t, 1);
  t->out = data[0] + at[0];
  t->image = data[1] + at[1];
  t->index = data[2] ? data[2] + at[2] : NULL;
}

/* True if the loop stops: it asks after many elements. */
static inline bool st_units_stop(st_units *u, const st_tile *t) {
  const st_pool_loops *p = t->p;
  const int64_t columns = p->adaptive ? p->in[2] / (p->out[2] ? p->out[2] : 1)
                                      : p->kernel[2];
  return st__stops_after(&u->left, (t->n / 16 + 1) *
                         (t->rows[0] * t->rows[1] * columns + 1) *
                         (p->channels_inner ? p->channels : 1));
}

#endif
