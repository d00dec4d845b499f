/* The instruction set of the kernels, chosen once. */
#ifndef ST_BASE_CPU_H
#define ST_BASE_CPU_H

/* ORDER ISA: ascending; kernel tables are overlaid in this order. */
typedef enum st_isa_level {
  ST_ISA_BASE, ST_ISA_AVX2, ST_ISA_AVX512,
  ST_ISA_COUNT
} st_isa_level;

/* The instruction set in use: that of STRIDED_ISA (base, avx2, avx512), else
 * the highest one that the CPU supports and that the library was built with
 * (STRIDED_KERNEL_ISAS). An unknown name, or one above that, is reported on
 * stderr and ignored. */
st_isa_level st__isa(void);
st_isa_level st__isa_max(void);
const char *st__isa_name(st_isa_level isa);

/* Orders the non-temporal stores of kernels before all later stores. */
static inline void st__fence_streams(void) {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

#endif
