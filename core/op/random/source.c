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

static void philox_blocks(st_philox_at at, uint64_t step, uint32_t *words,
                          int64_t blocks) {
  char *data[] = {(char *)words};
  const int64_t strides[2] = {LANES * sizeof *words, 0};
  const st_philox_ctx ctx = {at, step};
  st__kernel(ST_K_philox, ST_INT32)(data, strides, blocks, 1, &ctx);
}

static void make_block(st_source *s) {
  if (s->blocks_ahead == 0) {
    st__philox_block(&s->at, s->words);
    return;
  }
  memcpy(s->words, s->ahead, sizeof s->words);
  s->ahead += ST_STREAMS * LANES;
  s->blocks_ahead--;
}

static inline uint32_t philox32(st_source *s) {
  if (s->lane == 0) make_block(s);
  const uint32_t word = s->words[s->lane];
  s->lane = (s->lane + 1) % LANES;
  s->at.block += s->lane == 0;
  return word;
}

static void philox_words(st_source *s, uint32_t *words, int64_t n) {
  for (; n > 0 && s->lane; n--) *words++ = philox32(s);
  const int64_t blocks = n / LANES;
  if (blocks > 0) philox_blocks(s->at, 1, words, blocks);
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

/* 2^20 blocks for each of 2^42 elements, before those of children. */
enum { STREAM_BITS = 20 };

void st__random_streams(const st_source *s, st_streams *streams) {
  st_philox_at at = s->at;
  at.block = (uint64_t)streams->begin << STREAM_BITS;
  for (int b = 0; b < streams->blocks; b++, at.block++) {
    philox_blocks(at, UINT64_C(1) << STREAM_BITS, streams->words[b][0],
                  streams->n);
  }
}

void st__random_stream(st_source *s, const st_streams *streams, int k) {
  s->at.block = (uint64_t)(streams->begin + k) << STREAM_BITS;
  s->lane = 0;
  s->has_normal = false;
  s->ahead = streams->words[0][k];
  s->blocks_ahead = streams->blocks;
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

uint32_t st__random32(st_source *s) {
  if (!s->mt) return philox32(s);
  if (s->mt->next == N) renew(s->mt);
  return s->mt->words[s->mt->next++];
}

void st__random_words(st_source *s, uint32_t *words, int64_t n) {
  if (s->mt) mersenne_words(s->mt, words, n);
  else philox_words(s, words, n);
}

static uint64_t philox64(st_source *s) {
  if (s->lane == 0) make_block(s);
  const uint64_t high = s->words[s->lane], low = s->words[s->lane + 1];
  s->lane = (s->lane + 2) % LANES;
  s->at.block += s->lane == 0;
  return high << 32 | low;
}

uint64_t st__random64(st_source *s) {
  if (!s->mt && s->lane != LANES - 1) return philox64(s);
  const uint64_t high = st__random32(s);
  return high << 32 | st__random32(s);
}

double st__random_uniform(st_source *s) {
  return (double)(st__random64(s) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

double st__random_normal(st_source *s) {
  if (s->has_normal) {
    s->has_normal = false;
    return s->normal;
  }
  const double u1 = st__random_uniform(s);
  const double u2 = st__random_uniform(s);
  const double radius = sqrt(-2.0 * log1p(-u2));
  const double theta = 2.0 * 3.14159265358979323846 * u1;
  s->normal = radius * sin(theta);
  s->has_normal = true;
  return radius * cos(theta);
}
