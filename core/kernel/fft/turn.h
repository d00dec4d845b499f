/* Operands and ctx of the task of kernel/fft/turn.c.
 */
#ifndef ST_KERNEL_FFT_TURN_H
#define ST_KERNEL_FFT_TURN_H

#include <stdint.h>

/* fft_turn: dst, src, fine, coarse. Number l of row k of a tile of pairs
 * (kernel/fft/butterflies.h) is multiplied by coarse[k] and by fine[k][l], for
 * k < n, a multiple of the lines of a tile, L. Each L rows become L rows that
 * are columns of them, `pitch` bytes behind those before. fine has two rows for
 * each k: the real parts, twice each, and the imaginary ones, negative at real
 * parts; coarse is interleaved. */
typedef struct st_fft_turn {
  int64_t n;
  int64_t pitch;
} st_fft_turn;

#endif
