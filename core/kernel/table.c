/* Merges the kernel tables of all instruction sets that the CPU supports into
 * one table (Note [Kernel tables]).
 */

#include "kernel/kernel.h"

#include <string.h>

#include "base/status.h"

/* -- The tables of the instruction sets ----------------------------------- */

/* Of one that the build has, and of one that it has not. */
#define DECLARED_1(name) \
  extern const st_kernel_set st__kernels_##name;
#define DECLARED_0(name)
#define KERNELS_1(name) &st__kernels_##name
#define KERNELS_0(name) NULL
#define PASTED(a, b, name) a##b(name)
#define BY_BUILD(a, b, name) PASTED(a, b, name)

#define ST_ISA(name, ...) BY_BUILD(DECLARED_, ST_KERNELS_##name, name)
#include "os/isa.def"

static const st_kernel_set *const sets[ST_ISA_COUNT] = {
#define ST_ISA(name, ...) \
  [ST_ISA_##name] = BY_BUILD(KERNELS_, ST_KERNELS_##name, name),
#include "os/isa.def"
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

/* -- Rows of dtypes that agree -------------------------------------------- */

/* A loop by size would read beyond the elements of a dtype whose tag has more
 * bytes than the dtype. */
enum {
#define BYTES(id, name, bytes) BYTES_OF_##id = bytes,
  ST_DTYPE_MAP(BYTES)
#define CONVERTED(id, T, name) DTYPE_OF_##name = ST_##id,
  ST_REDUCED_FLOATS(CONVERTED)
};
#define HAS_BYTES(a, tag, id, bytes) && BYTES_OF_##id == bytes
_Static_assert(1 ST_TAGS(HAS_BYTES, 0), "a tag has other bytes than its dtype");
#define IS_OF_TAG(a, tag, name) && (int)ST_DTYPE_##tag == (int)DTYPE_OF_##name
_Static_assert(1 ST_FLOAT8_TAGS(IS_OF_TAG, 0),
               "a tag has the conversions of another dtype");

/* -- The overlay ---------------------------------------------------------- */

static st_loop loops[ST_K_COUNT][ST_DTYPE_COUNT];
static st_task tasks[ST_K_COUNT][ST_DTYPE_COUNT];
static uint8_t isas[ST_K_COUNT]; /* of those in use */

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

static void overlay(uint16_t *slots, const st_kernel_table *table,
                    st_isa_level isa) {
  for (int i = 0; i < table->n; i++) {
    const st_kernel_row *row = table->loops ? &table->loops[i] : NULL;
    const st_task_row *task = table->tasks ? &table->tasks[i] : NULL;
    const int id = *find_slot(slots, row ? row->name : task->name);
    ST_ASSERT(id != ST_K_NONE); /* a row that no .def file has */
    for (int d = 0; d < ST_DTYPE_COUNT; d++) {
      if (row && row->loop[d]) loops[id][d] = row->loop[d];
      else if (task && task->task[d]) tasks[id][d] = task->task[d];
      else continue;
      isas[id] = (uint8_t)isa;
    }
  }
}

static void overlay_all(uint16_t *slots, st_isa_level isa) {
  if (isa != ST_ISA_base) overlay_all(slots, st__isa_below(isa));
  if (!sets[isa]) return;
  const st_kernel_table *const *tables = sets[isa]->tables;
  for (int i = 0; tables[i]; i++) overlay(slots, tables[i], isa);
}

/* Runs when the library is loaded, before any thread calls st__kernel. */
__attribute__((constructor)) static void fill_table(void) {
  uint16_t slots[SLOTS] = {ST_K_NONE};
  for (int id = ST_K_NONE + 1; id < ST_K_COUNT; id++) {
    *find_slot(slots, names[id]) = (uint16_t)id;
  }
  overlay_all(slots, st__isa());
}

st_loop st__kernel(st_kernel_id id, st_dtype dtype) {
  return loops[id][dtype];
}

st_task st__task(st_kernel_id id, st_dtype dtype) {
  return tasks[id][dtype];
}

st_isa_level st__kernel_isa(st_kernel_id id) {
  return (st_isa_level)isas[id];
}

bool st__kernels_have_fma(void) { return sets[st__isa()]->has_fma; }

const char *st__loop_name(st_loop loop) {
  for (int id = ST_K_NONE + 1; id < ST_K_COUNT; id++) {
    for (int d = 0; d < ST_DTYPE_COUNT; d++) {
      if (loops[id][d] == loop) return names[id];
    }
  }
  return names[ST_K_NONE];
}

const uint16_t st__copy_ids[ST_DTYPE_ALL] = {
#define COPY(a, tag, id, bytes) [ST_##id] = ST_K_copy_##tag,
  ST_TAGS(COPY, 0)
#undef COPY
};

st_loop st__copy_kernel(st_dtype dst, st_dtype src) {
  return loops[st__copy_key(dst, src).id][src];
}
