/* Turns and transposes tiles of lines, between the passes of a long line.
 */

#include "kernel/fft/turn.h"

#include <string.h>

#include "kernel/fft/butterflies.h"
#include "kernel/isa.h"
#include "kernel/loop.h"
#include "kernel/unroll.h"

/* -- Vectors -------------------------------------------------------------- */

#define SWAPPED2 1, 0
#define SWAPPED4 1, 0, 3, 2
#define SWAPPED8 SWAPPED4, 5, 4, 7, 6
#define SWAPPED16 SWAPPED8, 9, 8, 11, 10, 13, 12, 15, 14

/* Number i of either, from rows r and r + d of which numbers with i & d are
 * exchanged. */
#define LOW1_4 0, 1, 4, 5
#define HIGH1_4 2, 3, 6, 7
#define LOW1_8 0, 1, 8, 9, 4, 5, 12, 13
#define HIGH1_8 2, 3, 10, 11, 6, 7, 14, 15
#define LOW1_16 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH1_16 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW2_8 0, 1, 2, 3, 8, 9, 10, 11
#define HIGH2_8 4, 5, 6, 7, 12, 13, 14, 15
#define LOW2_16 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH2_16 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW4_16 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH4_16 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31

#define FLOATS ST_BY_WIDTH(4, 8, 16)
#define DOUBLES ST_BY_WIDTH(2, 4, 8)
#define HALF_FLOATS ST_BY_WIDTH(2, 4, 8)
#define HALF_DOUBLES ST_BY_WIDTH(1, 2, 4)

#define T float
#define I int32_t
#define REALS FLOATS
#define NUMBERS HALF_FLOATS
#define TAG f32
#include "kernel/fft/turn_template.h"
#define T double
#define I int64_t
#define REALS DOUBLES
#define NUMBERS HALF_DOUBLES
#define TAG f64
#include "kernel/fft/turn_template.h"

/* -- The table ------------------------------------------------------------ */

static const st_task_row rows[] = {
  {"fft_turn", {[ST_FLOAT32] = turns_f32, [ST_FLOAT64] = turns_f64}}};

ST_EXPORT_TASKS(st__fft_turn, rows)
