/* Matrix products in float32, float64, complex64 and complex128, int32 and
 * int64, and of pairs of int16.
 *
 * A tile of c, some rows of two vectors, stays in registers. Each step along
 * the inner size loads two vectors of b and multiplies them with one element of
 * each row of a: two loads serve all rows. A panel of b, DEPTH rows of two
 * vectors, is packed on the stack and serves a block of rows of a; where few
 * rows follow, it is read in place. While a panel is used, the next one is
 * fetched. A block of a, DEPTH elements of each row, stays in L2 while the
 * panels of b pass; it is copied if there are many panels. If there are several
 * blocks of a, the panels are packed once for all: the loops of K. Goto and R.
 * van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008),
 * whose element order it keeps. If the inner size is small, several panels have
 * the room of one: the rows of c are written in longer pieces.
 *
 * Integers wrap, so that every order gives the same sum. Pairs of int16 that
 * are adjacent in rows of a and in columns of b are operands of 32 bits; the
 * tiles sum up two products of each. int8 and uint8 are converted to these.
 *
 * Note [Complex products]
 * Vectors of complex numbers are multiplied by the real and by the imaginary
 * part of an element of a, and summed up apart, so they need no shuffles. The
 * second sum is i times what is missing in the first one.
 */

#include "kernel/linalg/gemm.h"

#include <string.h>

#include "base/threads.h"
#include "kernel/linalg/swapped.h"
#include "kernel/unroll.h"

enum { WIDTH = 2 * BYTES, DEPTH = ST_GEMM_DEPTH };
/* Rows of a below which b is read in place: of any b, and of one whose rows end
 * within NEAR bytes. On an AMD EPYC (Zen 4) such products take .88 to .97 of
 * the time that they take with panels: float32 30x128x128 .89, 65x65x65 .96,
 * 128x128x128 .96; of 200 rows and more it is the same. */
enum { PACKED = 24, PACKED_NEAR = 240, NEAR = 1 << 17 };
/* Rows of a from which on the next panel is fetched; panels of b from which on
 * a is copied. */
enum { FETCHED = 48, COPIED = 6 };
/* Bytes of rows of b from which on they are fetched though they are read in
 * place, so many rows before they are used. */
enum { FAR = 1 << 19, EARLY = 32 };
enum { LONG = 4096 }; /* columns of a chunk that is read in place */
enum { AHEAD = 768 }; /* bytes that the copy of a is fetched before its use */

/* n lines of adjacent bytes, of which `done` were fetched. */
typedef struct lines {
  const char *from;
  int64_t n, next, bytes, done;
} lines;

/* A tile's parts of a, b and what is added to it, and their byte strides. */
typedef struct operands {
  const char *a, *b;
  int64_t row, col, tile; /* of a; tile: from row to row of two tiles */
  int64_t next, panel; /* of b, from row to row and from panel to panel */
  int64_t k, last; /* last: the numbers of a tile's last vector */
  const char *add;
  int64_t add_next;
  bool is_far;            /* b is read in place, and to be fetched */
  lines ahead;            /* the next panel of b */
} operands;

/* Fetches the part i / n of the lines into L2. */
INLINE void fetch(lines *l, int64_t i, int64_t n) {
  if (!l->from) return;
  for (const int64_t end = l->n * i / n; l->done < end; l->done++) {
    const char *line = l->from + l->done * l->next;
    for (int64_t at = 0; at < l->bytes; at += 64) {
      __builtin_prefetch(line + at, 0, 2);
    }
  }
}

/* The rows of the next tile, of m rows and at most `most` at a time. A tile of
 * few rows waits for its sums, so that two tiles share the last rows. */
static int64_t rows_of_tile(int64_t m, int64_t most) {
  enum { SINGLE = 8, FEW = 4 };
  if (m >= most + FEW || m == most) return most;
  return m > most || m > SINGLE ? (m + 1) / 2 : m;
}

/* The rows of a tile, two vectors of b and an element of a fit the
 * registers. */
#define PARTS 1
#define N(name) F(name)
#if ST_VECTOR_REGISTERS >= 32
enum { ROWS_1 = 12, WIDE_1 = 6 };
#define EACH_WIDE(M) M(1, 4) M(2, 4) M(3, 4) M(4, 4) M(5, 4) M(6, 4)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(12)
#else
enum { ROWS_1 = 6, WIDE_1 = 3 };
#define EACH_WIDE(M) M(1, 4) M(2, 4) M(3, 4)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#endif
#define ROWS ROWS_1
#define WIDE WIDE_1
#ifdef FMA_NARROW_f4
#define NARROW 1
#else
#define NARROW 0
#endif
#define TEMPLATE "kernel/linalg/gemm_template.h"
#include "kernel/each_float.h"
#undef PARTS
#undef N
#undef ROWS
#undef WIDE
#undef NARROW
#undef EACH_ROWS
#undef EACH_WIDE

#define PARTS 2
#define N(name) F(complex_##name)
#if ST_VECTOR_REGISTERS >= 32
enum { ROWS_2 = 6, WIDE_2 = 3 };
#define EACH_WIDE(M) M(1, 4) M(2, 4) M(3, 4)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#else
enum { ROWS_2 = 3, WIDE_2 = 1 };
#define EACH_WIDE(M) M(1, 4)
#define EACH_ROWS(M) M(1) M(2) M(3)
#endif
#define ROWS ROWS_2
#define WIDE WIDE_2
#define NARROW 0
#define TEMPLATE "kernel/linalg/gemm_template.h"
#include "kernel/each_float.h"

#undef PARTS
#undef N
#undef ROWS
#undef WIDE
#undef EACH_ROWS
#undef EACH_WIDE

/* -- Integers ------------------------------------------------------------- */

typedef v_i4 v_pairs;
typedef mask_f4 mask_i4, mask_pairs;
typedef mask_f8 mask_i8;
#define FMA_i4(a, b, c) ((a) * (b) + (c))
#define FMA_i8(a, b, c) ((a) * (b) + (c))
#define FMA_pairs(a, b, c) (PAIRS_i2(a, b) + (c))
#define MASK_i4(n) MASK_f4(n)
#define MASK_i8(n) MASK_f8(n)
#define MASK_pairs(n) MASK_f4(n)
#define GET_i4(from, m) (v_i4)GET_f4((const float *)(const void *)(from), m)
#define GET_i8(from, m) (v_i8)GET_f8((const double *)(const void *)(from), m)
#define GET_pairs(from, m) GET_i4(from, m)
#define PUT_i4(to, m, x) PUT_f4((float *)(void *)(to), m, (v_f4)(x))
#define PUT_i8(to, m, x) PUT_f8((double *)(void *)(to), m, (v_f8)(x))
#define PUT_pairs(to, m, x) PUT_i4(to, m, x)

#define PARTS 1
#define IS_WHOLE
#define N(name) F(name)
#if ST_VECTOR_REGISTERS >= 32
#define EACH_WIDE(M) M(1, 4) M(2, 4)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(12)
#else
#define EACH_WIDE(M) M(1, 4) M(2, 4)
#define EACH_ROWS(M) M(1) M(2) M(3) M(4) M(5) M(6)
#endif
#define ROWS ROWS_1
#define WIDE 2
#define T uint32_t
#define INT int32_t
#define F(name) name##_i4
#include "kernel/linalg/gemm_template.h"
#undef F
#define F(name) name##_pairs
#include "kernel/linalg/gemm_template.h"
#undef T
#undef INT
#undef F
#define T uint64_t
#define INT int64_t
#define F(name) name##_i8
#include "kernel/linalg/gemm_template.h"

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {
  {"gemm", {[ST_FLOAT32] = gemm_f4, [ST_FLOAT64] = gemm_f8,
            [ST_COMPLEX64] = complex_gemm_f4,
            [ST_COMPLEX128] = complex_gemm_f8,
            [ST_INT32] = gemm_i4, [ST_INT64] = gemm_i8}},
  {"gemm_pairs", {[ST_INT16] = gemm_pairs}}};

ST_EXPORT(st__gemm, rows)
