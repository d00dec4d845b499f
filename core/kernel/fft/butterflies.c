/* Transforms of lines that lie side by side: passes over tiles.
 *
 * A pass is one of Stockham's: it transforms R rows at a time, from one tile
 * to another, and leaves the results in order. Lines are the lanes of the
 * vectors, and real parts have vectors of their own, so a pass moves no number
 * to another lane. Products and sums are not fused: the bits are those of every
 * instruction set.
 */

#include "kernel/fft/dft.h"

#define T float
#define I int32_t
#define REALS FLOATS
#define TAG f32
#define EVEN EVEN4
#define ODD ODD4
#define LOW LOW4
#define HIGH HIGH4
#define LANE LANE4
#define REAL REAL4
#define IMAGINARY IMAGINARY4
#include "kernel/fft/dft_template.h"
#include "kernel/fft/butterflies_template.h"
#include "kernel/fft/tiles_template.h"
#include "kernel/fft/eighths_template.h"
#define T double
#define I int64_t
#define REALS DOUBLES
#define TAG f64
#define EVEN EVEN2
#define ODD ODD2
#define LOW EVEN2
#define HIGH ODD2
#define LANE LANE2
#define REAL EVEN2
#define IMAGINARY ODD2
#include "kernel/fft/dft_template.h"
#include "kernel/fft/butterflies_template.h"
#include "kernel/fft/tiles_template.h"
#include "kernel/fft/eighths_template.h"

/* -- The table ------------------------------------------------------------ */

static const st_task_row rows[] = {
  {"fft_pass", {[ST_FLOAT32] = pass_f32, [ST_FLOAT64] = pass_f64}},
  {"fft_eighths", {[ST_FLOAT32] = eighths_f32, [ST_FLOAT64] = eighths_f64}},
  {"fft_pairs", {[ST_FLOAT32] = pairs_f32, [ST_FLOAT64] = pairs_f64}},
  {"fft_gather", {[ST_FLOAT32] = gather_f32, [ST_FLOAT64] = gather_f64}},
  {"fft_scatter", {
    [ST_FLOAT32] = scatter_f32, [ST_FLOAT64] = scatter_f64}}};

ST_EXPORT_TASKS(st__fft_butterflies, rows)
