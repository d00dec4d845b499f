/* FFTW: transforms of single lines, and the plans that compute them.
 *
 * A line is contiguous and 16-byte aligned; its input and output do not
 * overlap. So a plan depends on the kind, the length and the precision alone,
 * and FFTW never sees a stride of the user's (Note [A line at a time],
 * lines.h).
 */
#ifndef ST_OP_FFT_FFTW_H
#define ST_OP_FFT_FFTW_H

#include "base/types.h"

typedef enum st_fft_kind {
  ST_FFT_FORWARD, ST_FFT_BACKWARD, /* complex to complex */
  ST_FFT_R2C,  /* n reals to n / 2 + 1 complex numbers */
  ST_FFT_C2R   /* the inverse; overwrites its input */
} st_fft_kind;

typedef struct st_fft_plan {
  int64_t key;    /* kind, precision and length; 0: a free slot */
  int64_t n;
  int users;      /* calls that hold it */
  int64_t used;   /* when it was last looked up */
  void *plan;     /* FFTW's */
  void (*execute)(void *plan, void *in, void *out);
  size_t buffers; /* bytes that an execution may allocate */
} st_fft_plan;

/* A plan for lines of n >= 1 numbers, float64 or float32; st__fft_done must
 * follow. BAD_STATE, with the dynamic linker's message and the package, if the
 * library cannot be loaded; NO_MEMORY. */
st_status st__fft_plan(st_fft_kind kind, bool is_double, int64_t n,
                       st_fft_plan **out);
void st__fft_done(st_fft_plan *p);

/* NO_MEMORY unless this many executions at once find room for their buffers;
 * FFTW ends the process otherwise (Note [Memory of FFTW]). */
st_status st__fft_reserve(const st_fft_plan *p, int executions);

#endif
