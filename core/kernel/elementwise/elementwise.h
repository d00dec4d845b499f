/* Elementwise loops: a body that runs on blocks, and the st_loop around it.
 */
#ifndef ST_KERNEL_ELEMENTWISE_ELEMENTWISE_H
#define ST_KERNEL_ELEMENTWISE_ELEMENTWISE_H

#include "kernel/elementwise/blocks.h"
#include "kernel/elementwise/element_bits.h"
#include "kernel/math/halves.h"

/* -- Halves in registers -------------------------------------------------- */

/* Elements at a time. */
enum { ST_CHUNK_bf = 32, ST_CHUNK_f2 = ST_HALVES };
#define st_load_f2 st_load_halves
#define st_store_f2 st_store_halves

static inline void st_load_bf(float *to, const char *p) {
  const st_bits2 *from = (const st_bits2 *)p;
  ST_SIMD_FOR(i, ST_CHUNK_bf) to[i] = st__bf16_to_float(from[i]);
}

static inline void st_store_bf(char *p, const float *from) {
  st_bits2 *to = (st_bits2 *)p;
  ST_SIMD_FOR(i, ST_CHUNK_bf) to[i] = st__float_to_bf16(from[i]);
}

/* -- Loops ---------------------------------------------------------------- */

/* Every st_loop that ST_BLOCK_LOOP defines calls it, with its own arguments,
 * which stay in their registers, and k. */
ST_SHARED static void st_run_blocks(char **data, const int64_t *strides,
                                    int64_t n0, int64_t n1, const void *ctx,
                                    const st_blocks *k) {
  bool direct = true;
  for (int i = 0; i < k->n; i++) {
    const st_tile w = {strides[i], strides[k->n + i], n0, n1};
    direct &= k->elem[i] < ST_ELEM_f2 &&
              st_is_dense(&w, st_memory_size[k->elem[i]]);
  }
  if (direct) {
    k->body(data, n0 * n1, ctx);
  } else if (n0 > 0 && n1 > 0) {
    ST_ISA_NAME(st__block_driver).run(data, strides, n0, n1, ctx, k);
  }
}

/* Defines the st_loop fn of n operands that runs body on blocks; then the
 * st_elem of each operand, output first. */
#define ST_BLOCK_LOOP(fn, body, n, ...)                                      \
  static ST_LOOP_FN(fn, strides) {                                           \
    static const st_blocks k = {body, n, {__VA_ARGS__}, NULL};               \
    st_run_blocks(data, strides, n0, n1, ctx, &k);                           \
  }

#endif
