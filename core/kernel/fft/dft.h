/* Constants of transforms of R numbers, orders of parts of vectors, and what
 * dft_template.h is told.
 */
#ifndef ST_KERNEL_FFT_DFT_H
#define ST_KERNEL_FFT_DFT_H

#include <string.h>

#include "kernel/fft/butterflies.h"
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

/* All parts of two vectors in the order of memory: those with even and with odd
 * indices, and the lower and the upper halves of both by turns. */
#define EVENS2 0, 2
#define EVENS4 EVENS2, 4, 6
#define EVENS8 EVENS4, 8, 10, 12, 14
#define EVENS16 EVENS8, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS2 1, 3
#define ODDS4 ODDS2, 5, 7
#define ODDS8 ODDS4, 9, 11, 13, 15
#define ODDS16 ODDS8, 17, 19, 21, 23, 25, 27, 29, 31
#define LOWS2 0, 2
#define LOWS4 0, 4, 1, 5
#define LOWS8 0, 8, 1, 9, 2, 10, 3, 11
#define LOWS16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGHS2 1, 3
#define HIGHS4 2, 6, 3, 7
#define HIGHS8 4, 12, 5, 13, 6, 14, 7, 15
#define HIGHS16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* How the parts of a vector of numbers lie in memory: a vector of real parts
 * and one of imaginary ones, `apart` bytes behind it in planes; or pairs, in
 * rows whose lanes have the order of EVEN and ODD, or as numbers in order. */
typedef enum form { SPLIT, PAIRS, PLANES, NUMBERS } form;

/* What is done with a result: it is scaled, turned by a root, or each of its
 * lanes by a root of its own. */
typedef enum turn { SCALES, TURNS, TURNS_EACH } turn;

/* What a pass does with the parts from byte s.v of some rows on. */
typedef struct shape {
  int radix, v;
  turn turn;
  form from, to;
  int64_t in, out; /* bytes between the rows */
  int64_t from_apart, to_apart;
  int64_t roots;   /* of TURNS_EACH: parts from cosines to sines to the next */
} shape;

#endif
