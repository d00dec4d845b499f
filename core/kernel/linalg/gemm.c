/* Matrix products of moderate size in float32 and float64.
 *
 * A tile of c, ROWS rows of two vectors, stays in registers. Each step along
 * the inner size loads two vectors of b and multiplies them with one element of
 * each row of a: two loads serve ROWS rows. A panel of b, DEPTH rows of two
 * vectors, is packed on the stack and serves a block of rows of a; where few
 * rows follow, it is read in place. a is read in place; a block of it, DEPTH
 * elements of each row, stays in L2 while the panels of b pass. While a panel
 * is used, the next one is fetched.
 *
 * An element of c is a sum of sums of DEPTH products, each from the first to
 * the last, so the layout and the number of threads do not matter. The
 * multiply-add is fused: the last bit may differ from that of a product which
 * another kernel or BLAS computes.
 */

#include "kernel/linalg/gemm.h"

#include <string.h>

#include "base/threads.h"
#include "kernel/vectors.h"
#include "kernel/unroll.h"

#if ST_HAS_PARTS

/* ROWS rows of two vectors, two vectors of b and an element of a fit the
 * registers. */
enum { ROWS = ST_VECTOR_REGISTERS >= 32 ? 12 : 6 };
enum { WIDTH = 2 * BYTES, DEPTH = 256, PACKED = 24 };
/* The least rows of a product for which it fetches the next panel. */
enum { FETCHED = 4 * ROWS };

/* n lines of adjacent bytes, of which `done` were fetched. */
typedef struct lines {
  const char *from;
  int64_t n, next, bytes, done;
} lines;

/* A tile's parts of a, b and what is added to it, and their byte strides. */
typedef struct operands {
  const char *a, *b;
  int64_t row, col, next; /* of a; of b, from row to row */
  int64_t k;
  const char *add;
  int64_t add_next;
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

#define TEMPLATE "kernel/linalg/gemm_template.h"
#include "kernel/each_float.h"

static const st_kernel_row rows[] = {ST_FLOATS(gemm)};
#else
static const st_kernel_row rows[] = {{"gemm", {NULL}}};
#endif

ST_EXPORT(st__gemm, rows)
