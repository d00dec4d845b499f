/* Transforms of lines that lie side by side: passes over tiles.
 *
 * A pass is one of Stockham's: it transforms R rows at a time, from one tile
 * to another, and leaves the results in order. Lines are the lanes of the
 * vectors, and real parts have vectors of their own, so a pass moves no number
 * to another lane. Products and sums are not fused: the bits are those of every
 * instruction set.
 */

#include "kernel/fft/butterflies.h"

#include <string.h>

#include "kernel/loop.h"
#include "kernel/unroll.h"
#include "kernel/vectors.h"

/* -- Constants ------------------------------------------------------------ */

#define ROOT_HALF 0.70710678118654752
#define COS_16 0.92387953251128676 /* of pi / 8 */
#define SIN_16 0.38268343236508977
#define COS_9 0.76604444311897804 /* of 2 pi / 9 */
#define SIN_9 0.64278760968653933
#define COS_2_9 0.17364817766693035
#define SIN_2_9 0.98480775301220806
#define COS_4_9 -0.93969262078590838
#define SIN_4_9 0.34202014332566873

/* Of 2 pi k / R. */
static const double cosines3[] = {
  1, -0.5, -0.5};
static const double sines3[] = {
  0, 0.8660254037844386, -0.8660254037844386};
static const double cosines5[] = {
  1, 0.30901699437494745, -0.80901699437494745, -0.80901699437494745,
  0.30901699437494745};
static const double sines5[] = {
  0, 0.95105651629515353, 0.58778525229247314, -0.58778525229247314,
  -0.95105651629515353};
static const double cosines7[] = {
  1, 0.62348980185873348, -0.22252093395631439, -0.90096886790241915,
  -0.90096886790241915, -0.22252093395631439, 0.62348980185873348};
static const double sines7[] = {
  0, 0.7818314824680298, 0.97492791218182362, 0.43388373911755812,
  -0.43388373911755812, -0.97492791218182362, -0.7818314824680298};
static const double cosines11[] = {
  1, 0.84125353283118121, 0.41541501300188644, -0.14231483827328514,
  -0.6548607339452851, -0.95949297361449737, -0.95949297361449737,
  -0.6548607339452851, -0.14231483827328514, 0.41541501300188644,
  0.84125353283118121};
static const double sines11[] = {
  0, 0.54064081745559756, 0.90963199535451833, 0.98982144188093268,
  0.75574957435425827, 0.28173255684142967, -0.28173255684142967,
  -0.75574957435425827, -0.98982144188093268, -0.90963199535451833,
  -0.54064081745559756};
static const double cosines13[] = {
  1, 0.88545602565320991, 0.56806474673115581, 0.12053668025532305,
  -0.35460488704253562, -0.74851074817110108, -0.97094181742605201,
  -0.97094181742605201, -0.74851074817110108, -0.35460488704253562,
  0.12053668025532305, 0.56806474673115581, 0.88545602565320991};
static const double sines13[] = {
  0, 0.46472317204376856, 0.82298386589365635, 0.99270887409805397,
  0.93501624268541483, 0.66312265824079519, 0.23931566428755777,
  -0.23931566428755777, -0.66312265824079519, -0.93501624268541483,
  -0.99270887409805397, -0.82298386589365635, -0.46472317204376856};

/* -- Vectors -------------------------------------------------------------- */

#define LANES ST_BY_WIDTH(1, 2, 4) /* of 128 bits */
#define FLOATS ST_BY_WIDTH(4, 8, 16)
#define DOUBLES ST_BY_WIDTH(2, 4, 8)
#if LANES == 4
#define EACH(F, n) F(0, n), F(1, n), F(2, n), F(3, n)
#elif LANES == 2
#define EACH(F, n) F(0, n), F(1, n)
#else
#define EACH(F, n) F(0, n)
#endif

#define SHUFFLE(x, y, ...) ST_SHUFFLE(INDICES, x, y, __VA_ARGS__)

/* Of lane j of two vectors of n parts: parts 0 and 2 of both, 1 and 3, and
 * those of the lower and the upper half of the lane by turns; parts 0 and 2 by
 * turns, 1 and 3, and the lower and the upper halves of both. LANE(j) is all of
 * lane j of both. */
#define EVEN4(j, n) SKIP4(4 * (j), n)
#define ODD4(j, n) SKIP4(4 * (j) + 1, n)
#define SKIP4(i, n) (i), (i) + 2, (n) + (i), (n) + (i) + 2
#define LOW4(j, n) MIX4(4 * (j), n)
#define HIGH4(j, n) MIX4(4 * (j) + 2, n)
#define MIX4(i, n) (i), (n) + (i), (i) + 1, (n) + (i) + 1
#define LANE4(j) 4 * (j), 4 * (j) + 1, 4 * (j) + 2, 4 * (j) + 3
#define REAL4(j, n) TURNS4(4 * (j), n)
#define IMAGINARY4(j, n) TURNS4(4 * (j) + 1, n)
#define TURNS4(i, n) (i), (n) + (i), (i) + 2, (n) + (i) + 2
#define FORMER4(j, n) PAIRS4(4 * (j), n)
#define LATTER4(j, n) PAIRS4(4 * (j) + 2, n)
#define PAIRS4(i, n) (i), (i) + 1, (n) + (i), (n) + (i) + 1
#define EVEN2(j, n) 2 * (j), (n) + 2 * (j)
#define ODD2(j, n) 2 * (j) + 1, (n) + 2 * (j) + 1
#define LANE2(j) 2 * (j), 2 * (j) + 1

/* What a pass does with the parts from byte v of some rows on. */
typedef struct shape {
  int radix, v;
  bool turns; /* or scales */
  bool from_pairs, to_pairs;
  int64_t in, out; /* bytes between the rows */
} shape;

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
