/* cummax and cummin of elements of one kind and size. extrema.c includes this
 * file once per kind and size, after defining
 *
 *   NAME(f)          f, with a suffix for the kind
 *   T                a signed integer type for an element's bits
 *   KEY(x, o)        a T that is greater for an element that comes later in the
 *                    order o, and greatest for NaN
 *   VECTORS          a pragma for the loop over a block's keys; default: none
 */

#ifndef VECTORS
#define VECTORS
#endif

typedef struct NAME(best) { T key, value; int64_t at; } NAME(best);

/* n elements from i on. Most are no new extremum: vectors find the blocks that
 * have none. */
INLINE void NAME(block)(const extrema *w, int64_t i, int64_t n,
                        NAME(best) *best, const order *o) {
  NAME(best) b = *best;
  const char *x = w->in + i * w->step[2];
  char *y = w->values + i * w->step[0], *at = w->indices + i * w->step[1];
  T key[BLOCK];
  T is_new = 0;
  VECTORS
  for (int64_t k = 0; k < n; k++) {
    key[k] = KEY(*(const T *)(x + k * w->step[2]), o);
    is_new |= key[k] >= b.key;
  }
  if (!is_new) {
    for (int64_t k = 0; k < n; k++) *(T *)(y + k * w->step[0]) = b.value;
    for (int64_t k = 0; k < n; k++) *(int64_t *)(at + k * w->step[1]) = b.at;
    return;
  }
  for (int64_t k = 0; k < n; k++) {
    const bool wins = key[k] >= b.key;
    const T value = *(const T *)(x + k * w->step[2]);
    b.key = wins ? key[k] : b.key;
    b.value = wins ? value : b.value;
    b.at = wins ? w->base + i + k : b.at;
    *(T *)(y + k * w->step[0]) = b.value;
    *(int64_t *)(at + k * w->step[1]) = b.at;
  }
  *best = b;
}

INLINE void NAME(blocks)(const extrema *w, int64_t n, const order *o) {
  NAME(best) b = {.value = *(const T *)w->in, .at = w->base};
  b.key = KEY(b.value, o);
  for (int64_t i = 0; i < n && !st__stops_at(i); i += BLOCK) {
    if (n - i >= BLOCK) NAME(block)(w, i, BLOCK, &b, o);
    else NAME(block)(w, i, n - i, &b, o);
  }
}

INLINE void NAME(line)(const extrema *w, int64_t n, const order *o) {
  const int64_t *s = w->step;
  if (s[0] == sizeof(T) && s[1] == 8 && s[2] == sizeof(T)) {
    const extrema dense = {w->values, w->indices, w->in,
                           {sizeof(T), 8, sizeof(T)}, {0}, w->base};
    NAME(blocks)(&dense, n, o);
  } else {
    NAME(blocks)(w, n, o);
  }
}

/* Of n lines: their extrema, and those of the last row. */
typedef struct NAME(columns) {
  T key[WIDTH], value[WIDTH];
  int64_t best[WIDTH], n;
} NAME(columns);

/* A row across the lines, whose elements have index i. across: steps between
 * the lines of y, at and x. */
INLINE void NAME(row)(NAME(columns) *restrict c, char *const *data,
                      const int64_t *across, int64_t i, const order *o) {
  const char *x = data[2];
  char *y = data[0], *restrict at = data[1];
  const int64_t n = c->n;
  for (int64_t j = 0; j < n; j++) {
    const T next = *(const T *)(x + j * across[2]), k = KEY(next, o);
    const bool wins = k >= c->key[j];
    const T value = wins ? next : c->value[j];
    const int64_t best = wins ? i : c->best[j];
    c->key[j] = wins ? k : c->key[j];
    c->value[j] = value;
    c->best[j] = best;
    *(T *)(y + j * across[0]) = value;
    *(int64_t *)(at + j * across[1]) = best;
  }
}

/* Up to WIDTH adjacent lines. */
INLINE void NAME(lines)(const extrema *w, int64_t n0, int64_t n1,
                        const order *o) {
  const int64_t *s = w->across, dense[] = {sizeof(T), 8, sizeof(T)};
  const bool is_dense = s[0] == dense[0] && s[1] == 8 && s[2] == dense[2];
  NAME(columns) c;
  c.n = n1;
  for (int64_t j = 0; j < n1; j++) {
    c.value[j] = *(const T *)(w->in + j * s[2]);
    c.key[j] = KEY(c.value[j], o);
    c.best[j] = w->base;
  }
  for (int64_t i = 0; i < n0 && !stops_at_row(i); i++) {
    char *const row[] = {w->values + i * w->step[0],
                         w->indices + i * w->step[1],
                         w->in + i * w->step[2]};
    if (is_dense) NAME(row)(&c, row, dense, w->base + i, o);
    else NAME(row)(&c, row, s, w->base + i, o);
  }
}

INLINE void NAME(run)(char **data, const int64_t *s, const int64_t *n,
                      int64_t base, const order *o) {
  const bool across = is_across_lines(s[2], s[5], n[1]) &&
                      is_across_lines(s[0], s[3], n[1]);
  for (int64_t j = 0, m; j < n[1] && n[0] > 0; j += m) {
    const extrema w = {data[0] + j * s[3], data[1] + j * s[4],
                       data[2] + j * s[5], {s[0], s[1], s[2]},
                       {s[3], s[4], s[5]}, base};
    m = !across ? 1 : n[1] - j < WIDTH ? n[1] - j : WIDTH;
    if (across) NAME(lines)(&w, n[0], m, o);
    else NAME(line)(&w, n[0], o);
  }
}

#undef NAME
#undef T
#undef KEY
#undef VECTORS
