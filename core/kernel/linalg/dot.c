/* Dot products of float32 and float64.
 *
 * 256 bytes of partial sums stay in registers: each sums every 64th (float32)
 * or 32nd (float64) product of a block. They are added up in a fixed order. So
 * a block's sum has the same bits for every layout and instruction set.
 */

#include <string.h>

#include "base/threads.h"
#include "kernel/isa.h"
#include "kernel/loop.h"
#include "kernel/unroll.h"

enum { BYTES = ST_VECTOR_BYTES };
enum { WIDTH = 256, SUMS = WIDTH / BYTES };

#define TEMPLATE "kernel/linalg/dot_template.h"
#include "kernel/each_float.h"

/* -- The table ------------------------------------------------------------ */

static const st_kernel_row rows[] = {ST_FLOATS(dot)};

ST_EXPORT(st__dot, rows)
