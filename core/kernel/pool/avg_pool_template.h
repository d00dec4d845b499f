/* Average pooling, included once per type: pool_template.h. DIVIDE(sum, n) is
 * the mean.
 */

#include "kernel/pool/pool_template.h"

/* Writes n means of windows with size elements each, step bytes apart. */
static void F(write)(const st_tile *t, char *out, const A *sum, int64_t size,
                     int64_t n) {
  const int64_t step = t->p->channels_inner ? SIZE(t) : t->p->st[0][ST_POOL_W];
#if BY_ROWS
  A mean[ST_POOL_BLOCK];
  for (int64_t i = 0; i < n; i++) mean[i] = (A)DIVIDE(sum[i], size);
  t->type->store(out, step, mean, n);
#else
  if (step == sizeof(T)) {
    T *to = (T *)(void *)out;
    for (int64_t i = 0; i < n; i++) to[i] = (T)DIVIDE(sum[i], size);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    *(T *)(void *)(out + i * step) = (T)DIVIDE(sum[i], size);
  }
#endif
}

static void F(means_of_row)(const st_tile *t) {
  const st_pool_loops *p = t->p;
  const int64_t step = p->st[0][ST_POOL_W];
  char *out = t->out + t->first * step;
  A sum[ST_POOL_BLOCK];
  int64_t inner[2];
  F(row_of_windows)(sum, t, t->first, t->n);
  const int64_t rows = full_windows(t, inner);
  for (int64_t i = 0, n; i < t->n; i += n) {
    n = i >= inner[0] && i < inner[1] ? inner[1] - i : 1;
    const int64_t size = p->divisor ? p->divisor
                       : rows * st__pool_count(p, 2, t->first + i);
    F(write)(t, out + i * step, sum + i, size, n);
  }
}

static void F(means_of_channels)(const st_tile *t) {
  const st_pool_loops *p = t->p;
  const int64_t rows = st__pool_count(p, 0, t->o[0]) *
                       st__pool_count(p, 1, t->o[1]);
  A sum[ST_POOL_CHANNELS];
  st_tile part = *t;
  for (int64_t c = 0, n; c < p->channels; c += n) {
    n = p->channels - c;
    if (n > ST_POOL_CHANNELS) n = ST_POOL_CHANNELS;
    part.image = t->image + c * SIZE(t);
    for (int64_t o = t->first; o < t->first + t->n; o++) {
      const int64_t size = p->divisor ? p->divisor
                                      : rows * st__pool_count(p, 2, o);
      F(channels)(sum, &part, o, n);
      F(write)(t, t->out + o * p->st[0][ST_POOL_W] + c * SIZE(t), sum, size, n);
    }
  }
}

#if !BY_ROWS
/* The rows [y, y + n) of windows of an image plane: a few squares in each. */
static inline __attribute__((always_inline)) void F(plane_of_squares)(
    const st_tile *t, int size, int64_t y, int64_t n) {
  const st_pool_loops *p = t->p;
  const int64_t step = p->st[0][ST_POOL_W];
  const int64_t divisor = p->divisor ? p->divisor : size * size;
  const int64_t down = p->stride[1] * p->st[1][ST_POOL_H];
  A sum[FEW];
  for (int64_t k = y; k < y + n; k++) {
    char *out = t->out + k * p->st[0][ST_POOL_H];
    F(few_squares)(sum, t->image + k * down, t, size, p->out[2]);
    for (int64_t o = 0; o < p->out[2]; o++) {
      *(T *)(void *)(out + o * step) = (T)DIVIDE(sum[o], divisor);
    }
  }
}

/* Units of a few squares, by planes: a tile for each row of windows takes
 * longer than its means. */
static void F(planes_of_squares)(char **data, const st_pool_loops *p) {
  st_tile t = {.p = p, .step = {0, p->st[1][ST_POOL_H]}};
  st_units u;
  st_units_begin(&u, p, p->begin);
  for (int64_t i = p->begin, n; i < p->end; i += n) {
    n = st_units_rows(&u, p->end - i < ST_PERIOD ? p->end - i : ST_PERIOD);
    t.out = data[0] + st_units_plane(&u, p, 0, 1);
    t.image = data[1] + st_units_plane(&u, p, 1, p->stride[0]);
    if (p->kernel[2] == 2) F(plane_of_squares)(&t, 2, u.at[3], n);
    else F(plane_of_squares)(&t, 3, u.at[3], n);
    if (st_units_skip(&u, n, p->out[2] * p->kernel[2] * p->kernel[2])) return;
  }
}
#endif

static void F(avg_pool)(char **data, const st_pool_loops *p,
                        const st_pool_type *type) {
  char *const operands[] = {data[0], data[1], NULL};
  st_units u;
  st_tile t = {.type = type};
#if !BY_ROWS
  if (st__pool_has_squares(p, sizeof(T))) {
    F(planes_of_squares)(data, p);
    return;
  }
#endif
  st_units_begin(&u, p, p->begin);
  for (int64_t i = p->begin; i < p->end; i++, st_units_next(&u)) {
    st_tile_of(&t, p, operands, &u);
    if (p->channels_inner) F(means_of_channels)(&t);
    else F(means_of_row)(&t);
    if (st_units_stop(&u, &t)) return;
  }
}

#undef T
#undef A
#undef F
#undef NEUTRAL
#undef IN
#undef BY_ROWS
#undef SIZE
#undef DIVIDE
