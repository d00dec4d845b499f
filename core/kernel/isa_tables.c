/* The kernel tables of one instruction set (Note [Kernel tables]).
 */

#include <stddef.h>

#include "kernel/loop.h"

#define ST_TABLE(name) extern const st_kernel_table ST_ISA_NAME(st__##name);
#include "kernel/tables.def"
#undef ST_TABLE

extern const st_kernel_table *const ST_ISA_NAME(st__tables)[];
const st_kernel_table *const ST_ISA_NAME(st__tables)[] = {
#define ST_TABLE(name) &ST_ISA_NAME(st__##name),
#include "kernel/tables.def"
#undef ST_TABLE
  NULL
};
