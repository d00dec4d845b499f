/* The instruction set of the kernels, chosen once. */
#ifndef ST_OS_CPU_H
#define ST_OS_CPU_H

#include <stdbool.h>

/* ST_ISA_base, ST_ISA_avx2 and the others of isa.def. */
typedef enum st_isa_level {
#define ST_ISA(name, ...) ST_ISA_##name,
#include "os/isa.def"
  ST_ISA_COUNT
} st_isa_level;

/* The instruction set in use: that of STRIDED_ISA, else the best one that the
 * CPU supports and that the library was built with (STRIDED_KERNEL_ISAS). An
 * unknown name is reported on stderr and ignored; for one that there is not,
 * the best one that it stands on is taken, and reported. */
st_isa_level st__isa(void);
const char *st__isa_name(st_isa_level isa);
/* The one that isa stands on; ST_ISA_base for itself. */
st_isa_level st__isa_below(st_isa_level isa);
/* What OpenBLAS calls a processor with what this CPU has; NULL if that is
 * nothing that it may not know. */
const char *st__openblas_core(void);
/* True if the instruction set in use is `part` or stands on it. */
bool st__isa_has(st_isa_level part);

#endif
