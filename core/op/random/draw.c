/* Draws whole tensors: words of the generator in blocks, which kernels turn
 * into numbers.
 *
 * Every draw runs on one thread, in the order in which the iterator visits the
 * tensor's memory: a seed gives the same numbers for every number of threads.
 */

#include "base/interrupt.h"
#include "op/random/random.h"

enum {
  TILE = 512,       /* numbers made at a time, in L1 */
  MAX_SIZE = 8      /* of a number before it is converted */
};

/* -- Loops ---------------------------------------------------------------- */

/* Draws m0 x m1 numbers. s: the strides of the iterator's operands. */
static void draw_tile(const st_draw *d, char *const *data, const int64_t *s,
                      int64_t m0, int64_t m1) {
  uint32_t words[2 * TILE];
  _Alignas(64) char made[MAX_SIZE * TILE];
  const bool direct = d->made == d->dtype;
  const int n = 1 + d->inputs;
  const int64_t size = (int64_t)st__itemsize(d->made);
  const int64_t pair = d->words * (int64_t)sizeof *words;
  const int64_t out[2] = {direct ? s[0] : size, direct ? s[n] : m0 * size};
  char *to[3] = {direct ? data[0] : made, (char *)words, NULL};
  int64_t strides[6] = {out[0], pair, out[1], m0 * pair};
  if (d->inputs) {
    const int64_t three[6] = {out[0], pair, s[1], out[1], m0 * pair, s[3]};
    memcpy(strides, three, sizeof strides);
    to[2] = data[1];
  }
  st__random_words(d->g, words, m0 * m1 * d->words);
  d->make(to, strides, m0, m1, d->ctx);
  if (direct) return;
  char *converted[2] = {data[0], made};
  const int64_t both[4] = {s[0], size, s[n], m0 * size};
  st__copy_kernel(d->dtype, d->made)(converted, both, m0, m1, NULL);
}

static void draw_loop(char **data, const int64_t *s, int64_t n0, int64_t n1,
                      const void *ctx) {
  const st_draw *d = ctx;
  const int n = 1 + d->inputs;
  const int64_t m0 = n0 < TILE ? n0 : TILE, m1 = TILE / m0;
  for (int64_t j = 0; j < n1; j += m1) {
    for (int64_t i = 0; i < n0; i += m0) {
      char *at[2] = {data[0] + j * s[n] + i * s[0], NULL};
      if (d->inputs) at[1] = data[1] + j * s[n + 1] + i * s[1];
      draw_tile(d, at, s, n0 - i < m0 ? n0 - i : m0,
                n1 - j < m1 ? n1 - j : m1);
    }
  }
}

/* Runs a loop that draws. Others may draw, too, between two blocks. */
static st_status draw_blocks(const st_iter *it, st_generator *g, st_loop loop,
                             const void *ctx) {
  for (int64_t at = 0, end; at < it->numel; at = end) {
    end = it->numel - at > ST_RANDOM_BLOCK ? at + ST_RANDOM_BLOCK : it->numel;
    st__generator_lock(g);
    st__iter_serial_range(it, loop, ctx, at, end);
    st__generator_unlock(g);
    ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

/* -- Tensors -------------------------------------------------------------- */

st_status st__random_fill(st_tensor *t, st_generator *g, st_loop loop,
                          const void *ctx) {
  st_iter it;
  st_status status;
  st__iter_init(&it, ST_ITER_NULLARY);
  st__iter_output(&it, t, ST_DTYPE_NONE);
  ST_TRY_FAIL(st__iter_build(&it));
  if (!st__is_meta(t) && it.numel > 0) {
    status = draw_blocks(&it, g, loop, ctx);
  }
fail:
  st__iter_release(&it);
  return status;
}

st_status st__random_draw(st_tensor *t, const st_draw *d) {
  return st__random_fill(t, d->g, draw_loop, d);
}

st_status st__random_draw_iter(const st_iter *it, const st_draw *d) {
  return draw_blocks(it, d->g, draw_loop, d);
}

void st__random_draw_run(const st_draw *d, char *p, int64_t n) {
  const int64_t size = (int64_t)st__itemsize(d->dtype);
  const int64_t strides[2] = {size, n * size};
  draw_loop(&p, strides, n, 1, d);
}
