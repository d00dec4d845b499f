/* Copies of an image's pixels between buffers and tensors, in any layout.
 *
 * Where channels are adjacent on one side and columns on the other, rows are
 * transposed BLOCK elements at a time. The lines that such a block reads fit
 * L1, even if they share sets, so unlike a move of any tensor this needs no
 * buffer between.
 */

#include "op/conv/pixel_copy.h"

#include "iter/strided_copy.h"
#include "kernel/kernel.h"

/* Fewer rows are not transposed in registers. */
enum { BLOCK = 16, FEW = 4 };

static st_status move(const st_pixel_copy *p) {
  st_move m;
  st__move_init(&m, p->dst, p->dtype, p->src, p->dtype);
  const bool first = p->dst_channel < p->dst_next[COL];
  if (first) st__move_dim(&m, p->channels, p->dst_channel, p->src_channel);
  for (int k = NAXES - 1; k >= 0; k--) {
    st__move_dim(&m, p->n[k], p->dst_next[k], p->src_next[k]);
  }
  if (!first) st__move_dim(&m, p->channels, p->dst_channel, p->src_channel);
  return st__move_run(&m);
}

void st__transpose_pixels(const st_pixel_transpose *t, char *dst,
                          const char *src) {
  const st_loop loop = st__kernel(ST_K_transpose, st__bits_of(t->size));
  const int64_t s[4] = {t->size, t->src, t->dst, t->size};
  for (int64_t i = 0, n; i < t->ni; i += n) {
    n = t->ni - i < BLOCK + FEW ? t->ni - i : BLOCK;
    char *data[2] = {dst + i * t->size, (char *)(uintptr_t)src + i * t->src};
    loop(data, s, n, t->nj, NULL);
  }
}

st_status st__copy_pixels(const st_pixel_copy *p) {
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const bool in = p->dst_channel == size && p->src_next[COL] == size;
  const bool out = p->src_channel == size && p->dst_next[COL] == size;
  st_pixel_transpose t = {.size = size};
  int64_t rows = p->n[ROW], cols = p->n[COL];
  if (in == out) return move(p);
  if (p->dst_next[ROW] == cols * p->dst_next[COL] &&
      p->src_next[ROW] == cols * p->src_next[COL]) {
    cols *= rows;
    rows = 1;
  }
  t.dst = in ? p->dst_next[COL] : p->dst_channel;
  t.src = in ? p->src_channel : p->src_next[COL];
  t.ni = in ? p->channels : cols;
  t.nj = in ? cols : p->channels;
  for (int64_t d = 0; d < p->n[DEPTH]; d++) {
    for (int64_t r = 0; r < rows; r++) {
      st__transpose_pixels(
        &t, p->dst + d * p->dst_next[DEPTH] + r * p->dst_next[ROW],
        p->src + d * p->src_next[DEPTH] + r * p->src_next[ROW]);
    }
  }
  return ST_OK;
}
