/* Merges the kernel tables of all instruction sets that the CPU supports into
 * one table (Note [Kernel tables]).
 */

#include "kernel/kernel.h"

/* -- The tables of the instruction sets, ORDER ISA ------------------------ */

#define ST_TABLE(name) extern const st_kernel_table st__##name##_base;
#include "kernel/tables.def"
#undef ST_TABLE

static const st_kernel_table *const base_tables[] = {
#define ST_TABLE(name) &st__##name##_base,
#include "kernel/tables.def"
#undef ST_TABLE
};

#if ST_HAS_AVX2
#define ST_TABLE(name) extern const st_kernel_table st__##name##_avx2;
#include "kernel/tables.def"
#undef ST_TABLE

static const st_kernel_table *const avx2_tables[] = {
#define ST_TABLE(name) &st__##name##_avx2,
#include "kernel/tables.def"
#undef ST_TABLE
};
#endif

#if ST_HAS_AVX512
#define ST_TABLE(name) extern const st_kernel_table st__##name##_avx512;
#include "kernel/tables.def"
#undef ST_TABLE

static const st_kernel_table *const avx512_tables[] = {
#define ST_TABLE(name) &st__##name##_avx512,
#include "kernel/tables.def"
#undef ST_TABLE
};
#endif

/* NULL: not in this build. */
static const st_kernel_table *const *const tables[ST_ISA_COUNT] = {
  [ST_ISA_BASE] = base_tables,
#if ST_HAS_AVX2
  [ST_ISA_AVX2] = avx2_tables,
#endif
#if ST_HAS_AVX512
  [ST_ISA_AVX512] = avx512_tables,
#endif
};

/* -- Grains --------------------------------------------------------------- */

static const int grains[ST_K_COUNT] = {
  [ST_K_NONE] = 32768,
#define ROW(name, grain, ...) [ST_K_##name] = grain,
#include "kernel/kernels.def"
};

int64_t st__kernel_grain(st_kernel_id id) { return grains[id]; }

/* -- Names ---------------------------------------------------------------- */

static const char *const names[ST_K_COUNT] = {
  [ST_K_NONE] = "?",
#define ROW(name, ...) [ST_K_##name] = #name,
#include "kernel/kernels.def"
};

/* -- The overlay ---------------------------------------------------------- */

static st_loop loops[ST_K_COUNT][ST_DTYPE_COUNT];
static uint8_t isas[ST_K_COUNT]; /* of the loops in use */

static void overlay(const st_kernel_table *table, int isa) {
  for (int i = 0; i < table->n; i++) {
    const st_kernel_row *row = &table->rows[i];
    for (int d = 0; d < ST_DTYPE_COUNT; d++) {
      if (!row->loop[d]) continue;
      loops[row->id][d] = row->loop[d];
      isas[row->id] = (uint8_t)isa;
    }
  }
}

/* Runs when the library is loaded, before any thread calls st__kernel. */
__attribute__((constructor)) static void overlay_all(void) {
  const int n = (int)(sizeof base_tables / sizeof *base_tables);
  for (int isa = ST_ISA_BASE; isa <= (int)st__isa(); isa++) {
    for (int i = 0; tables[isa] && i < n; i++) overlay(tables[isa][i], isa);
  }
}

st_loop st__kernel(st_kernel_id id, st_dtype dtype) {
  return loops[id][dtype];
}

st_isa_level st__kernel_isa(st_kernel_id id) {
  return (st_isa_level)isas[id];
}

const char *st__loop_name(st_loop loop) {
  for (int id = ST_K_NONE + 1; id < ST_K_COUNT; id++) {
    for (int d = 0; d < ST_DTYPE_COUNT; d++) {
      if (loops[id][d] == loop) return names[id];
    }
  }
  return names[ST_K_NONE];
}

st_loop st__copy_kernel(st_dtype dst, st_dtype src) {
  return loops[st__copy_key(dst, src).id][src];
}
