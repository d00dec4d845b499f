/* FFTW: transforms of single lines.
 *
 * A line is contiguous and 16-byte aligned; its input and output do not
 * overlap. So a plan depends on the kind, the length and the precision alone,
 * and FFTW never sees a stride of the user's (Note [A line at a time],
 * lines.h).
 *
 * Note [What FFTW computes]
 * Real lines of an even length n >= 16 are complex lines of n / 2 numbers
 * (Note [Real lines by half], kernel/fft/fft.h). Long complex lines are not
 * FFTW's (long_lines.h), nor are many lines of other lengths (tiles.h,
 * eighths.h). A length of 36 or more with a prime factor above 13 is computed
 * by a convolution of another length (convolution.h). So FFTW computes complex
 * lines of less than 8192 numbers, and real lines of any odd length.
 */
#ifndef ST_OP_FFT_FFTW_H
#define ST_OP_FFT_FFTW_H

#include "abi/types.h"

typedef enum st_fft_kind {
  ST_FFT_FORWARD, ST_FFT_BACKWARD, /* complex to complex */
  ST_FFT_R2C,  /* n reals to n / 2 + 1 complex numbers */
  ST_FFT_C2R   /* the inverse; overwrites its input */
} st_fft_kind;

/* The transform of a line: FFTW's plan, or a matrix. */
typedef struct st_fft_line {
  int64_t length;
  void *plan;
  void (*execute)(void *plan, void *in, void *out);
  size_t buffers; /* bytes that an execution may allocate */
  struct st_fft_matrix *matrix; /* of a long line (long_lines.h), or NULL */
} st_fft_line;

/* BAD_STATE, with the dynamic linker's message and the package, if the library
 * of a precision cannot be loaded. */
st_status st__fft_load(bool is_double);

/* A line of n >= 1 numbers, 0 before; one thread at a time. The library is
 * loaded. It must be freed after a failure, too. */
st_status st__fft_line_init(st_fft_kind kind, bool is_double, int64_t n,
                            st_fft_line *out);
void st__fft_line_free(st_fft_line *l, bool is_double);

/* Transforms one line of complex numbers out of place by a plan that is made
 * for it alone. */
st_status st__fft_once(bool is_double, int64_t n, void *in, void *out);

/* NO_MEMORY unless this many executions at once find room for their buffers;
 * FFTW ends the process otherwise (Note [Memory of FFTW]). */
st_status st__fft_reserve(const st_fft_line *l, int executions);

#endif
