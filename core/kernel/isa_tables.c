/* The kernel tables of one instruction set (Note [Kernel tables]).
 */

#include <stddef.h>

#include "kernel/isa.h"
#include "kernel/loop.h"

#define ST_TABLE(name) extern const st_kernel_table ST_ISA_NAME(st__##name);
#include "kernel/tables.def"
#undef ST_TABLE

static const st_kernel_table *const tables[] = {
#define ST_TABLE(name) &ST_ISA_NAME(st__##name),
#include "kernel/tables.def"
#undef ST_TABLE
  NULL
};

extern const st_kernel_set ST_ISA_NAME(st__kernels);
const st_kernel_set ST_ISA_NAME(st__kernels) = {tables, ST_HAS_FMA};
