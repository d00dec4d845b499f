/* Merges the kernel tables of all instruction sets that the CPU supports into
 * one table (Note [Kernel tables]).
 */

#include "kernel/kernel.h"

#include <string.h>

#include "base/status.h"

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

/* A hash table of ids by name, with open addressing. */
enum { SLOTS = 2048 };
_Static_assert(SLOTS >= 2 * ST_K_COUNT, "half of the slots stay empty");

/* FNV-1a. */
static uint32_t hash_of(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return hash;
}

/* The slot of the name, or the empty one where it belongs. */
static uint16_t *find_slot(uint16_t *slots, const char *name) {
  uint32_t at = hash_of(name) % SLOTS;
  while (slots[at] != ST_K_NONE && strcmp(names[slots[at]], name) != 0) {
    at = (at + 1) % SLOTS;
  }
  return &slots[at];
}

static void overlay(uint16_t *slots, const st_kernel_table *table, int isa) {
  for (int i = 0; i < table->n; i++) {
    const st_kernel_row *row = &table->rows[i];
    const int id = *find_slot(slots, row->name);
    ST_ASSERT(id != ST_K_NONE); /* a row that no .def file has */
    for (int d = 0; d < ST_DTYPE_COUNT; d++) {
      if (!row->loop[d]) continue;
      loops[id][d] = row->loop[d];
      isas[id] = (uint8_t)isa;
    }
  }
}

/* Runs when the library is loaded, before any thread calls st__kernel. */
__attribute__((constructor)) static void overlay_all(void) {
  const int n = (int)(sizeof base_tables / sizeof *base_tables);
  uint16_t slots[SLOTS] = {ST_K_NONE};
  for (int id = ST_K_NONE + 1; id < ST_K_COUNT; id++) {
    *find_slot(slots, names[id]) = (uint16_t)id;
  }
  for (int isa = ST_ISA_BASE; isa <= (int)st__isa(); isa++) {
    for (int i = 0; tables[isa] && i < n; i++) {
      overlay(slots, tables[isa][i], isa);
    }
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
