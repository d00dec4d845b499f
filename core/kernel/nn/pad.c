/* The kernel of padding by reflected, replicated and circular borders. It
 * copies the inner part of a row at once and the borders column by column.
 */

#include "kernel/nn/pad.h"

#include <string.h>

#include "base/threads.h"
#include "kernel/kernel.h"

typedef struct bytes16 { uint64_t half[2]; } bytes16;

/* to[i] = from[i] for n columns of a type. */
#define COPY(s, T)                                                          \
  static void copy_##s(char *to, int64_t to_step, const char *from,         \
                       int64_t step, int64_t n) {                           \
    for (int64_t i = 0; i < n; i++) {                                       \
      memcpy(to + i * to_step, from + i * step, sizeof(T)); } }

COPY(1, uint8_t)
COPY(2, uint16_t)
COPY(4, uint32_t)
COPY(8, uint64_t)
COPY(16, bytes16)

static void copy_columns(const st_pad_loops *p, char *to, const char *from,
                         int64_t n) {
  const int64_t to_step = p->st[0][4], step = p->st[1][4];
  const int64_t size = p->itemsize;
  if (n <= 0) return;
  if (size == to_step && size == step) {
    memcpy(to, from, (size_t)(n * size));
    return;
  }
  switch (size) {
    case 1: copy_1(to, to_step, from, step, n); break;
    case 2: copy_2(to, to_step, from, step, n); break;
    case 4: copy_4(to, to_step, from, step, n); break;
    case 8: copy_8(to, to_step, from, step, n); break;
    case 16: copy_16(to, to_step, from, step, n); break;
    default:
      for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * to_step, from + i * step, (size_t)size);
      }
  }
}

/* The columns [i, end) of a border, one by one. */
static void copy_border(const st_pad_loops *p, char *to, const char *from,
                        int64_t i, int64_t end) {
  const int64_t to_step = p->st[0][4], step = p->st[1][4];
  for (; i < end && !st__stops_at(i); i++) {
    const char *x = from + st__pad_source(p, 2, i) * step;
    char *y = to + i * to_step;
    switch (p->itemsize) {
      case 1: *y = *x; break;
      case 2: memcpy(y, x, 2); break;
      case 4: memcpy(y, x, 4); break;
      case 8: memcpy(y, x, 8); break;
      default: memcpy(y, x, (size_t)p->itemsize);
    }
  }
}

static void pad_borders(char **data, const int64_t *strides, int64_t n0,
                        int64_t n1, const void *ctx) {
  const st_pad_loops *p = ctx;
  const st_pad_dim *w = &p->dim[2];
  const int64_t sizes[] = {INT64_MAX, p->channels, p->dim[0].out,
                           p->dim[1].out};
  int64_t at[4], unit = n0, left = 16 * ST_PERIOD;
  int64_t begin = w->before + w->cut, end;
  (void)strides;
  if (begin < 0) begin = 0;
  if (begin > w->out) begin = w->out;
  end = w->before + w->cut + w->size;
  if (end > w->out) end = w->out;
  if (end < begin) end = begin;
  for (int d = 3; d >= 0; d--) {
    at[d] = d ? unit % sizes[d] : unit;
    if (d) unit /= sizes[d];
  }
  for (int64_t i = n0; i < n1; i++) {
    char *to = data[0];
    const char *from = data[1];
    for (int d = 0; d < 4; d++) {
      to += at[d] * p->st[0][d];
      from += (d < 2 ? at[d] : st__pad_source(p, d - 2, at[d])) * p->st[1][d];
    }
    copy_border(p, to, from, 0, begin);
    copy_columns(p, to + begin * p->st[0][4],
                 from + (begin - w->before) * p->st[1][4], end - begin);
    copy_border(p, to, from, end, w->out);
    for (int d = 3; d >= 0 && ++at[d] == sizes[d]; d--) at[d] = 0;
    left -= w->out * p->itemsize / 8 + 16;
    if (left < 0 && st__stops()) return;
    if (left < 0) left = 16 * ST_PERIOD;
  }
}

static const st_kernel_row rows[] = {
  {ST_K_pad_borders, {[ST_UINT8] = pad_borders}}};

ST_EXPORT(st__pad, rows)
