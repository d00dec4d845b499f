/* Integers of fewer than eight bits: kernels that spread the elements of bytes,
 * the first of which is in the low bits, over bytes of one element each, and
 * that put them together again.
 */

#include "kernel/loop.h"

/* -- One element ---------------------------------------------------------- */

/* Element k of a byte; sign is the value of the highest bit of a signed
 * integer, 0 of an unsigned one. */
#define FIELD(byte, k, bits, sign)                                           \
  (uint8_t)((((byte) >> ((bits) * (k)) & ((1 << (bits)) - 1)) ^ (sign)) -    \
            (sign))

/* Element k, in its place. */
#define PLACED(element, k, bits) \
  (uint8_t)(((element) & ((1 << (bits)) - 1)) << ((bits) * (k)))

/* -- Loops ---------------------------------------------------------------- */

/* The first n elements of a byte. */
static inline void unpack_rest(uint8_t *to, uint8_t byte, int64_t n, int bits,
                               int sign) {
  for (int k = 0; k < n; k++) to[k] = FIELD(byte, k, bits, sign);
}

/* The same; the bits behind them stay. */
static inline void pack_rest(uint8_t *to, const uint8_t *from, int64_t n,
                             int bits) {
  int byte = *to & ~((1 << (bits * n)) - 1);
  for (int k = 0; k < n; k++) byte |= PLACED(from[k], k, bits);
  *to = (uint8_t)byte;
}

static inline void unpack4(uint8_t *restrict to, const uint8_t *restrict from,
                           int64_t n, int sign) {
  const int64_t whole = n / 2;
  for (int64_t i = 0; i < whole; i++) {
    to[2 * i] = FIELD(from[i], 0, 4, sign);
    to[2 * i + 1] = FIELD(from[i], 1, 4, sign);
  }
  if (n % 2) unpack_rest(to + 2 * whole, from[whole], n % 2, 4, sign);
}

static inline void unpack2(uint8_t *restrict to, const uint8_t *restrict from,
                           int64_t n, int sign) {
  const int64_t whole = n / 4;
  for (int64_t i = 0; i < whole; i++) {
    to[4 * i] = FIELD(from[i], 0, 2, sign);
    to[4 * i + 1] = FIELD(from[i], 1, 2, sign);
    to[4 * i + 2] = FIELD(from[i], 2, 2, sign);
    to[4 * i + 3] = FIELD(from[i], 3, 2, sign);
  }
  if (n % 4) unpack_rest(to + 4 * whole, from[whole], n % 4, 2, sign);
}

static inline void pack4(uint8_t *restrict to, const uint8_t *restrict from,
                         int64_t n) {
  const int64_t whole = n / 2;
  for (int64_t i = 0; i < whole; i++) {
    to[i] = PLACED(from[2 * i], 0, 4) | PLACED(from[2 * i + 1], 1, 4);
  }
  if (n % 2) pack_rest(to + whole, from + 2 * whole, n % 2, 4);
}

static inline void pack2(uint8_t *restrict to, const uint8_t *restrict from,
                         int64_t n) {
  const int64_t whole = n / 4;
  for (int64_t i = 0; i < whole; i++) {
    to[i] = PLACED(from[4 * i], 0, 2) | PLACED(from[4 * i + 1], 1, 2) |
            PLACED(from[4 * i + 2], 2, 2) | PLACED(from[4 * i + 3], 3, 2);
  }
  if (n % 4) pack_rest(to + whole, from + 4 * whole, n % 4, 2);
}

/* Operands: n0 bytes of one element each, and those that hold n0 together. Both
 * are contiguous; the outer strides are bytes. */
#define LOOP(name, call)                                                     \
  static void name(char **data, const int64_t *s, int64_t n0, int64_t n1,    \
                   const void *ctx) {                                        \
    (void)ctx;                                                               \
    for (int64_t j = 0; j < n1; j++) {                                       \
      uint8_t *const to = (uint8_t *)data[0] + j * s[2];                     \
      const uint8_t *const from = (const uint8_t *)data[1] + j * s[3];       \
      call;                                                                  \
    }                                                                        \
  }
LOOP(unpack_int4, unpack4(to, from, n0, 8))
LOOP(unpack_uint4, unpack4(to, from, n0, 0))
LOOP(unpack_int2, unpack2(to, from, n0, 2))
LOOP(unpack_uint2, unpack2(to, from, n0, 0))
LOOP(pack_4, pack4(to, from, n0))
LOOP(pack_2, pack2(to, from, n0))

/* -- Rows ----------------------------------------------------------------- */

static const st_kernel_row rows[] = {
  {"unpack", {[ST_INT4] = unpack_int4, [ST_UINT4] = unpack_uint4,
              [ST_INT2] = unpack_int2, [ST_UINT2] = unpack_uint2}},
  {"pack", {[ST_INT4] = pack_4, [ST_UINT4] = pack_4,
            [ST_INT2] = pack_2, [ST_UINT2] = pack_2}}};

ST_EXPORT(st__subbyte, rows)
