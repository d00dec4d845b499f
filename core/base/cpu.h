/* The instruction set of the kernels, chosen once, and the cache size. */
#ifndef ST_BASE_CPU_H
#define ST_BASE_CPU_H

#include <stddef.h>

/* ORDER ISA: ascending; kernel tables are overlaid in this order. */
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
/* Working-set size in bytes that stays in cache: the L3 size, at least 4 MB
 * and at most 32 MB, because a virtual machine may report the cache of a whole
 * socket that it shares. */
size_t st__cache_bytes(void);

#endif
