/* Transforms of single lines: the passes of tiles (butterflies.c), where the
 * lanes of a vector are numbers of one line.
 *
 * Between passes, real and imaginary parts lie in planes of their own, so that
 * a vector begins anywhere. Lanes of the first pass are neighbours in the line;
 * its results are transposed. Lanes of the others are neighbours among the
 * `stride` transforms that are turned alike.
 *
 * Note [Lanes that spill]
 * If there are fewer of those than lanes, the lanes behind them compute with
 * what follows in memory, and their results are stored behind the others, where
 * the next results are stored later: in order of memory, the last store of each
 * place is the one that counts. A vector behind each plane is for the last.
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
#include "kernel/fft/dft_template.h"
#include "kernel/fft/single_line_template.h"
#define T double
#define I int64_t
#define REALS DOUBLES
#define TAG f64
#define EVEN EVEN2
#define ODD ODD2
#define LOW EVEN2
#define HIGH ODD2
#define LANE LANE2
#include "kernel/fft/dft_template.h"
#include "kernel/fft/single_line_template.h"

/* -- The table ------------------------------------------------------------ */

static const st_task_row rows[] = {
  {"fft_line", {[ST_FLOAT32] = line_f32, [ST_FLOAT64] = line_f64}}};

ST_EXPORT_TASKS(st__fft_line, rows)
