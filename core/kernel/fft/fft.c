/* The passes before and behind transforms of lines: real lines from complex
 * ones of half the length, conjugates, powers of roots of unity, products.
 */

#include "kernel/fft/fft.h"

#include <string.h>

#include "kernel/isa.h"
#include "kernel/loop.h"
#include "kernel/unroll.h"

/* -- Vectors -------------------------------------------------------------- */

enum { BYTES = ST_VECTOR_BYTES };
#define FLOATS ST_BY_WIDTH(4, 8, 16)
#define DOUBLES ST_BY_WIDTH(2, 4, 8)

#define SWAPPED2 1, 0
#define SWAPPED4 1, 0, 3, 2
#define SWAPPED8 SWAPPED4, 5, 4, 7, 6
#define SWAPPED16 SWAPPED8, 9, 8, 11, 10, 13, 12, 15, 14
#define REVERSED2 0, 1
#define REVERSED4 2, 3, 0, 1
#define REVERSED8 6, 7, 4, 5, REVERSED4
#define REVERSED16 14, 15, 12, 13, 10, 11, 8, 9, REVERSED8
#define REAL2 0, 0
#define REAL4 0, 0, 2, 2
#define REAL8 REAL4, 4, 4, 6, 6
#define REAL16 REAL8, 8, 8, 10, 10, 12, 12, 14, 14
#define IMAGINARY2 1, 1
#define IMAGINARY4 1, 1, 3, 3
#define IMAGINARY8 IMAGINARY4, 5, 5, 7, 7
#define IMAGINARY16 IMAGINARY8, 9, 9, 11, 11, 13, 13, 15, 15

#define T float
#define I int32_t
#define REALS 2
#define TAG f32
#include "kernel/fft/fft_template.h"
#define T float
#define I int32_t
#define REALS FLOATS
#define TAG f32x
#include "kernel/fft/fft_template.h"
#define T double
#define I int64_t
#define REALS 2
#define TAG f64
#include "kernel/fft/fft_template.h"
#if DOUBLES > 2
#define T double
#define I int64_t
#define REALS DOUBLES
#define TAG f64x
#include "kernel/fft/fft_template.h"
#else
#define pair_f64x pair_f64
#define reflect_f64x reflect_f64
#define product_f64x product_f64
#endif

/* -- Tasks ---------------------------------------------------------------- */

#define T float
#define TAG f32
#define VECTOR_TAG f32x
#include "kernel/fft/halves_template.h"

#define T double
#define TAG f64
#define VECTOR_TAG f64x
#include "kernel/fft/halves_template.h"

/* -- The table ------------------------------------------------------------ */

static const st_task_row rows[] = {
  {"fft_halves", {[ST_FLOAT32] = halves_f32, [ST_FLOAT64] = halves_f64}},
  {"fft_mirror", {[ST_FLOAT32] = mirror_f32, [ST_FLOAT64] = mirror_f64}},
  {"fft_multiply", {
    [ST_FLOAT32] = multiply_f32, [ST_FLOAT64] = multiply_f64}},
  {"fft_powers", {[ST_FLOAT32] = powers_f32, [ST_FLOAT64] = powers_f64}}};

ST_EXPORT_TASKS(st__fft, rows)
