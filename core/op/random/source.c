/* Words of the Mersenne Twister and of Philox, and numbers made of them.
 *
 * Philox 4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel
 * Random Numbers: As Easy as 1, 2, 3", SC11.
 */

#include <math.h>
#include <string.h>

#include "op/random/random.h"

enum { N = ST_MT19937_WORDS, LANES = ST_PHILOX_WORDS };

/* -- The Mersenne Twister ------------------------------------------------- */

static void renew(st_mt19937 *mt) {
  char *data[] = {(char *)mt->state, (char *)mt->words};
  const int64_t strides[4] = {4, 4, 0, 0};
  st__kernel(ST_K_mt19937, ST_INT32)(data, strides, N, 1, NULL);
  mt->next = 0;
}

void st__mersenne_temper(st_mt19937 *mt) {
  for (int i = 0; i < N; i++) {
    uint32_t y = mt->state[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    mt->words[i] = y ^ (y >> 18);
  }
}

static void mersenne_words(st_mt19937 *mt, uint32_t *words, int64_t n) {
  while (n > 0) {
    if (mt->next == N) renew(mt);
    const int64_t left = N - mt->next, take = n < left ? n : left;
    memcpy(words, mt->words + mt->next, (size_t)take * sizeof *words);
    mt->next += (int)take;
    words += take, n -= take;
  }
}

/* -- Philox --------------------------------------------------------------- */

static void philox_blocks(st_philox_at at, uint32_t *words, int64_t blocks) {
  char *data[] = {(char *)words};
  const int64_t strides[2] = {LANES * sizeof *words, 0};
  st__kernel(ST_K_philox, ST_INT32)(data, strides, blocks, 1, &at);
}

static inline uint32_t philox32(st_source *s) {
  if (s->lane == 0) st__philox_block(&s->at, s->words);
  const uint32_t word = s->words[s->lane];
  s->lane = (s->lane + 1) % LANES;
  s->at.block += s->lane == 0;
  return word;
}

static void philox_words(st_source *s, uint32_t *words, int64_t n) {
  for (; n > 0 && s->lane; n--) *words++ = philox32(s);
  const int64_t blocks = n / LANES;
  if (blocks > 0) philox_blocks(s->at, words, blocks);
  s->at.block += (uint64_t)blocks;
  words += blocks * LANES;
  for (n %= LANES; n > 0; n--) *words++ = philox32(s);
}

void st__random_seek(st_source *s, uint64_t n) {
  if (s->mt || n == 0) return;
  const uint64_t lane = (uint64_t)s->lane + n % LANES;
  s->at.block += n / LANES + lane / LANES;
  s->lane = (int)(lane % LANES);
  if (s->lane) st__philox_block(&s->at, s->words);
}

/* 2^28 blocks for each of 2^34 streams, before those of children. */
enum { STREAM_BITS = 28 };

void st__random_stream(st_source *s, uint64_t i) {
  s->at.block = i << STREAM_BITS;
  s->lane = 0;
  s->has_normal = false;
}

/* Note [Children of a generator]
 * No draw and no jump gets to the blocks from 2^63 on; only states made by hand
 * begin there. Block 2^63 + i of a generator gives 128 bits, which are the key
 * and the stream (the upper half of the counter) of its child i. They are as
 * good as random, so two of any 2^32 descendants have the same with probability
 * 2^-64, and the numbers of different keys or streams are independent.
 */
st_source st__random_child(const st_source *s, uint64_t i) {
  uint32_t w[LANES];
  st_philox_at at = s->at;
  at.block = UINT64_C(1) << 63 | i;
  st__philox_block(&at, w);
  return (st_source){.at = {.key = (uint64_t)w[1] << 32 | w[0],
                            .stream = (uint64_t)w[3] << 32 | w[2]}};
}

/* -- Numbers -------------------------------------------------------------- */

static uint32_t next_word(st_source *s) {
  if (!s->mt) return philox32(s);
  if (s->mt->next == N) renew(s->mt);
  return s->mt->words[s->mt->next++];
}

void st__random_words(st_source *s, uint32_t *words, int64_t n) {
  if (s->mt) mersenne_words(s->mt, words, n);
  else philox_words(s, words, n);
}

static uint64_t philox64(st_source *s) {
  if (s->lane == 0) st__philox_block(&s->at, s->words);
  const uint64_t high = s->words[s->lane], low = s->words[s->lane + 1];
  s->lane = (s->lane + 2) % LANES;
  s->at.block += s->lane == 0;
  return high << 32 | low;
}

static uint64_t next_64(st_source *s) {
  if (!s->mt && s->lane != LANES - 1) return philox64(s);
  const uint64_t high = next_word(s);
  return high << 32 | next_word(s);
}

double st__random_uniform(st_source *s) {
  return (double)(next_64(s) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

static void make_uniforms(const uint32_t *words, double *u, int64_t n) {
  char *data[] = {(char *)u, (char *)(uintptr_t)words};
  const int64_t strides[4] = {sizeof *u, 2 * sizeof *words, 0, 0};
  const st_uniform_ctx unit = {0, 1};
  st__kernel(ST_K_uniform_words, ST_FLOAT64)(data, strides, n, 1, &unit);
}

/* Pairs u1[i], u2[i] to normal numbers x[i], y[i]. */
static void make_normals(double *x, double *y, double *u1, double *u2, int n) {
  char *data[] = {(char *)x, (char *)y, (char *)u1, (char *)u2};
  const int64_t strides[8] = {sizeof *x, sizeof *y, sizeof *u1, sizeof *u2};
  st__kernel(ST_K_normal_pairs, ST_FLOAT64)(data, strides, n, 1, NULL);
}

/* The same by the C library, whose bits are PyTorch's. */
static void exact_normals(double *x, double *y, const double *u1,
                          const double *u2, int n) {
  for (int i = 0; i < n; i++) {
    const double radius = sqrt(-2.0 * log1p(-u2[i]));
    const double theta = 2.0 * 3.14159265358979323846 * u1[i];
    x[i] = radius * cos(theta);
    y[i] = radius * sin(theta);
  }
}

enum { PAIRS = 64 };

/* At most PAIRS pairs; the C library makes the last `exact`. */
static void next_pairs(st_source *s, double *x, double *y, int n, int exact) {
  uint32_t words[4 * PAIRS];
  double u[2 * PAIRS], u1[PAIRS], u2[PAIRS];
  st__random_words(s, words, 4 * n);
  make_uniforms(words, u, 2 * n);
  for (int i = 0; i < n; i++) u1[i] = u[2 * i], u2[i] = u[2 * i + 1];
  if (exact < n) make_normals(x, y, u1, u2, n);
  const int from = n - exact;
  exact_normals(x + from, y + from, u1 + from, u2 + from, exact);
}

void st__random_normals(st_source *s, double *out, int64_t n, bool exact) {
  double x[PAIRS], y[PAIRS];
  if (n > 0 && s->has_normal) {
    s->has_normal = false;
    *out++ = s->normal, n--;
  }
  for (int64_t i = 0; i < n; i += 2 * PAIRS) {
    const int m = (int)(n - i < 2 * PAIRS ? n - i : 2 * PAIRS);
    const int pairs = (m + 1) / 2, last = s->mt ? m % 2 : 0;
    next_pairs(s, x, y, pairs, exact ? pairs : last);
    for (int k = 0; k < m; k++) out[i + k] = k % 2 ? y[k / 2] : x[k / 2];
    s->has_normal = m % 2;
    if (m % 2) s->normal = y[m / 2];
  }
}

/* -- Windows -------------------------------------------------------------- */

void st__window_open(st_window *w, st_source *s, int64_t n) {
  w->source = s;
  w->size = n < ST_WINDOW / 4 ? 4 * (int)n : ST_WINDOW;
  w->at = w->n = w->pair = w->pairs = 0;
  w->is_ahead = false;
  w->log_failure = 0;
  w->waits_begin = w->waits_end = 0;
  w->most = 2;
  w->last_u1 = -1;
  w->is_exact = false;
}

/* Takes the words of the numbers that were read. */
static void take_words(st_window *w) {
  if (w->is_ahead) w->source->mt->next += 2 * w->at;
  w->is_ahead = false;
}

void st__window_close(st_window *w) {
  st_source *s = w->source;
  double first;
  take_words(w);
  if (w->is_exact && s->mt && s->has_normal && w->last_u1 >= 0) {
    exact_normals(&first, &s->normal, &w->last_u1, &w->last_u2, 1);
  }
}

static void fill_mersenne(st_window *w) {
  st_mt19937 *mt = w->source->mt;
  if (mt->next == N) renew(mt);
  const int left = (N - mt->next) / 2;
  if (left == 0) {
    w->u[0] = st__random_uniform(w->source);
    w->n = 1;
    return;
  }
  w->n = left < w->size ? left : w->size;
  w->is_ahead = true;
  make_uniforms(mt->words + mt->next, w->u, w->n);
}

static void fill_philox(st_window *w) {
  uint32_t words[2 * ST_WINDOW];
  w->n = w->size;
  st__random_words(w->source, words, 2 * w->n);
  make_uniforms(words, w->u, w->n);
}

void st__window_fill(st_window *w) {
  take_words(w);
  w->at = w->pair = w->pairs = w->waits_begin = w->waits_end = 0;
  if (w->source->mt) fill_mersenne(w);
  else fill_philox(w);
}

/* Those of the whole window if the one before had the same log_failure; else
 * a few, as the next element may have another. */
void st__window_waits(st_window *w, double log_failure) {
  enum { FEW = 8 };
  if (w->at == w->n) st__window_fill(w);
  const bool is_same = log_failure == w->log_failure;
  if (is_same && w->waits_begin <= w->at && w->at < w->waits_end) return;
  const int left = w->n - w->at, n = is_same || left < FEW ? left : FEW;
  char *data[] = {(char *)(w->waits + w->at), (char *)(w->u + w->at)};
  const int64_t strides[4] = {sizeof *w->waits, sizeof *w->u, 0, 0};
  st__kernel(ST_K_uniform_waits, ST_FLOAT64)(data, strides, n, 1, &log_failure);
  w->log_failure = log_failure;
  w->waits_begin = w->at, w->waits_end = w->at + n;
}

/* A few more numbers are made than asked for, so that no loop has a rest. */
static void make_pairs(st_window *w, int step) {
  double *u1 = w->u1, *u2 = w->u2;
  const bool all_read = w->pair == w->pairs;
  w->most = all_read ? 2 * w->most : w->most / 2;
  w->most = w->most < 1 ? 1 : w->most > ST_PAIRS ? ST_PAIRS : w->most;
  int n = 0;
  for (int i = w->at; n < w->most && i + 1 < w->n; i += step, n++) {
    u1[n] = w->u[i], u2[n] = w->u[i + 1];
  }
  if (n == 0) { /* of two windows */
    u1[0] = st__window_uniform(w);
    u2[0] = st__window_uniform(w);
    w->at -= 2;
    n = 1;
  }
  w->pair = 0, w->pairs = n;
  w->first = w->at, w->step = step;
  const int more = n > 1 ? (n + 7) / 8 * 8 : 1;
  for (int i = n; i < more; i++) u1[i] = u2[i] = 0;
  make_normals(w->x, w->y, u1, u2, more);
}

double st__window_normal(st_window *w, int step) {
  st_source *s = w->source;
  if (s->has_normal) {
    s->has_normal = false;
    return s->normal;
  }
  if (w->pair == w->pairs || w->first + w->pair * w->step != w->at) {
    make_pairs(w, step);
  }
  const int k = w->pair++;
  w->at += 2;
  w->last_u1 = w->u1[k], w->last_u2 = w->u2[k];
  s->normal = w->y[k];
  s->has_normal = true;
  return w->x[k];
}
