/* Operands and ctx of the loops of kernel/random. A number is made of one word
 * of 32 random bits or, if said so, of a pair: the high and the low half of 64
 * bits. A row of words is contiguous.
 *
 * mt19937 (int32): the state, the words; neither strides nor sizes are read.
 * philox (int32): the words of n0 blocks from ctx on, an st_philox_at.
 * uniform_words (float dtypes): the numbers, words; of float64 pairs.
 * normal_blocks (float32, float64): n0 numbers, contiguous and a multiple of
 * ST_NORMAL_BLOCK, uniform in [0, 1) before and normal after.
 * bernoulli_words (bool): bools, pairs.
 * bernoulli_p_words (dtype of p): bools, words, p; pairs if p is float64.
 * integer_words: int64, words (int32) or pairs (int64).
 * exponential_words, geometric_words, cauchy_words, exact_cauchy_words:
 * float64, pairs.
 * uniform_waits: ceil(log(u) / ctx), u in [0, 1); float64 rows. n1 is 1.
 * normal_pairs: two normal numbers, two uniform ones; float64 rows. n1 is 1.
 */
#ifndef ST_KERNEL_RANDOM_RANDOM_H
#define ST_KERNEL_RANDOM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

enum {
  ST_MT19937_WORDS = 624,
  ST_PHILOX_WORDS = 4, /* of a block */
  ST_NORMAL_BLOCK = 16  /* Note [Normal numbers in blocks of 16] */
};

/* Of Philox: the key, and the counter's low and high half. */
typedef struct st_philox_at { uint64_t key, block, stream; } st_philox_at;

/* A block of Philox 4x32-10. */
static inline void st__philox_block(const st_philox_at *at, uint32_t *words) {
  uint32_t a = (uint32_t)at->block, b = (uint32_t)(at->block >> 32);
  uint32_t c = (uint32_t)at->stream, d = (uint32_t)(at->stream >> 32);
  uint32_t k0 = (uint32_t)at->key, k1 = (uint32_t)(at->key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t x = (uint64_t)a * 0xd2511f53u, y = (uint64_t)c * 0xcd9e8d57u;
    a = (uint32_t)(y >> 32) ^ b ^ k0, b = (uint32_t)y;
    c = (uint32_t)(x >> 32) ^ d ^ k1, d = (uint32_t)x;
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  words[0] = a, words[1] = b, words[2] = c, words[3] = d;
}

/* uniform_words: numbers in [from, to), of 53 random bits in float64, else of
 * 24. One that is rounded to `to` is `from` instead, as in PyTorch. */
typedef struct st_uniform_ctx { double from, to; } st_uniform_ctx;

typedef struct st_normal_ctx {
  double mean, deviation;
  bool exact;       /* float64 has PyTorch's bits; float32 always has */
} st_normal_ctx;

/* exponential_words: a is -1 / rate. geometric_words: a is 1 / log(1 - p).
 * cauchy_words, exact_cauchy_words: the median and the scale. */
typedef struct st_transform_ctx { double a, b; } st_transform_ctx;

/* bernoulli_words: 1 if the low 53 bits of the pair are less than this. */
typedef struct st_bernoulli_ctx { int64_t below; } st_bernoulli_ctx;

/* integer_words: integers in [from, from + range). */
typedef struct st_integers_ctx {
  int64_t from;
  uint64_t range;   /* 0: all 2^64, of pairs; less than 2^32, of words */
} st_integers_ctx;

/* The low 53 bits of a pair times 2^-53: a number in [0, 1). A sum of exact
 * parts, as few instruction sets convert 64 bits. */
static inline double st__unit_double(const uint32_t *pair) {
  const double high = (int32_t)(pair[0] & 0x1fffffu);
  const double low = (double)(int32_t)(pair[1] ^ 0x80000000u) + 0x1p31;
  return high * 0x1p-21 + low * 0x1p-53;
}

#endif
