/* Truth value kernels: any, all and count_nonzero, reductions of x != 0.
 */

#include "kernel/reduce/reduction_kernels.h"

#define A u8
#define OP OR
#include "kernel/reduce/accumulator_template.h"
#define A u8
#define OP AND
#include "kernel/reduce/accumulator_template.h"
#define A u64
#include "kernel/reduce/accumulator_template.h"

#define FAMILY any
#define A u8
#define OP OR
#define ENDS_AT 2 /* true */
#include "kernel/reduce/nonzero_reductions.h"

#define FAMILY all
#define A u8
#define OP AND
#define ENDS_AT 1 /* false */
#include "kernel/reduce/nonzero_reductions.h"

#define FAMILY count
#define A u64
#include "kernel/reduce/nonzero_reductions.h"

/* -- The table ------------------------------------------------------------ */

#define PAIRS(name) [ST_COMPLEX32] = name##_pair, [ST_BCOMPLEX32] = name##_pair

static const st_kernel_row rows[] = {
  {"any", {ST_BY_TYPE(NONZERO, any) ST_BY_TYPE(FLOAT8, any) PAIRS(any)}},
  {"all", {ST_BY_TYPE(NONZERO, all) ST_BY_TYPE(FLOAT8, all) PAIRS(all)}},
  {"count", {ST_BY_TYPE(NONZERO, count) PAIRS(count)}}};

ST_EXPORT(st__logical, rows)
