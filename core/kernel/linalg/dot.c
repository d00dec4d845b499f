/* Dot products of float32 and float64.
 *
 * 256 bytes of partial sums stay in registers: each sums every 64th (float32)
 * or 32nd (float64) product of a block. They are added up in a fixed order. So
 * a block's sum has the same bits for every layout and instruction set.
 */

#include <string.h>

#include "base/threads.h"
#include "kernel/isa.h"
#include "kernel/loop.h"
#include "kernel/unroll.h"

enum { BYTES = ST_VECTOR_BYTES };
enum { WIDTH = 256, SUMS = WIDTH / BYTES };

/* Adds the products of WIDTH bytes. */
#define ADD(s, T)                                                           \
  typedef T v_##s __attribute__((vector_size(BYTES), aligned(sizeof(T)),    \
                                 may_alias));                               \
  INLINE void add_##s(v_##s *sum, const char *a, const char *b) {           \
    const v_##s *x = (const v_##s *)a, *y = (const v_##s *)b;               \
    UNROLL for (int i = 0; i < SUMS; i++) sum[i] += x[i] * y[i]; }

/* n elements as WIDTH bytes; the rest of them are 0. */
#define GATHER(s, T)                                                        \
  static void gather_##s(T *to, const char *p, int64_t step, int64_t n) {   \
    memset(to, 0, WIDTH);                                                   \
    for (int64_t i = 0; i < n; i++, p += step) to[i] = *(const T *)p; }

#define TOTAL(s, T)                                                         \
  static T total_##s(const v_##s *sum) {                                    \
    T x[WIDTH / sizeof(T)];                                                 \
    memcpy(x, sum, WIDTH);                                                  \
    for (int n = WIDTH / (int)sizeof(T) / 2; n > 0; n /= 2)                 \
      for (int i = 0; i < n; i++) x[i] += x[i + n];                         \
    return x[0]; }

/* The sum of a block; sa and sb are byte strides. */
#define BLOCK(s, T)                                                         \
  static T block_##s(const char *a, int64_t sa, const char *b, int64_t sb,  \
                     int64_t n) {                                           \
    enum { LANES = WIDTH / (int)sizeof(T), SIZE = (int)sizeof(T) };         \
    v_##s sum[SUMS] = {{0}};                                                \
    T x[LANES], y[LANES];                                                   \
    int64_t i = 0;                                                          \
    while (sa == SIZE && sb == SIZE && i + LANES <= n && !st__stops_at(i))  \
      for (const int64_t to = st__period_end(i, n); i + LANES <= to;        \
           i += LANES) add_##s(sum, a + i * SIZE, b + i * SIZE);            \
    for (int64_t m; i < n && !st__stops_at(i); i += m) {                    \
      m = n - i < LANES ? n - i : LANES;                                    \
      gather_##s(x, a + i * sa, sa, m);                                     \
      gather_##s(y, b + i * sb, sb, m);                                     \
      add_##s(sum, (const char *)x, (const char *)y); }                     \
    return total_##s(sum); }

/* n1 blocks of n0 elements: out, a, b. */
#define DOT(s, T)                                                           \
  ADD(s, T)                                                                 \
  GATHER(s, T)                                                              \
  TOTAL(s, T)                                                               \
  BLOCK(s, T)                                                               \
  static void dot_##s(char **data, const int64_t *st, int64_t n0,           \
                      int64_t n1, const void *ctx) {                        \
    (void)ctx;                                                              \
    for (int64_t i = 0; i < n1 && (i == 0 || !st__stops()); i++)            \
      *(T *)(data[0] + i * st[3]) =                                         \
        block_##s(data[1] + i * st[4], st[1], data[2] + i * st[5], st[2],   \
                  n0); }

DOT(f32, float)
DOT(f64, double)

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {"dot", {[ST_FLOAT32] = dot_f32, [ST_FLOAT64] = dot_f64}}};

ST_EXPORT(st__dot, rows)
