/* The instruction set the kernels run on, chosen once at load. */
#ifndef ST_BASE_CPU_H
#define ST_BASE_CPU_H

#include <stddef.h>

/* ORDER ISA: ascending, kernel tables are overlaid in this order. */
typedef enum st_isa_level {
  ST_ISA_BASE, ST_ISA_AVX2, ST_ISA_AVX512,
  ST_ISA_COUNT
} st_isa_level;

/* The best the CPU has, or what STRIDED_ISA=base|avx2|avx512 asks for (never
 * more than the CPU has; an unknown name is reported on stderr). What the
 * library was built without (STRIDED_KERNEL_ISAS) no CPU has. */
st_isa_level st__isa(void);
st_isa_level st__isa_max(void);
const char *st__isa_name(st_isa_level isa);
/* Bytes that stay in the caches while they are worked on. A virtual machine
 * may report the cache of a socket that it shares, so there is a limit. */
size_t st__cache_bytes(void);

#endif
