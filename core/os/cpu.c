/* Detects the instruction set of the CPU. */

#include "os/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ST_KERNELS_avx2 and so on: 1 if the build has kernels for it, else 0. */
static const struct {
  const char *name;
  st_isa_level below;
  bool is_built;
} isas[ST_ISA_COUNT] = {
#define ST_ISA(name, processor, below) \
  {#name, ST_ISA_##below, ST_KERNELS_##name},
#include "os/isa.def"
};

#define ST_ISA(name, processor, below)                                       \
  _Static_assert(ST_ISA_##below < ST_ISA_##name || ST_ISA_##name == 0,       \
                 "an instruction set comes after the one that it stands on");
#include "os/isa.def"

const char *st__isa_name(st_isa_level isa) { return isas[isa].name; }

st_isa_level st__isa_below(st_isa_level isa) { return isas[isa].below; }

#if defined(__x86_64__)
#define X86(feature) __builtin_cpu_supports(#feature)
#else
#define X86(feature) false
#endif

/* True if the CPU has what isa adds to the one below. */
static bool cpu_has(int isa) {
#define ST_ISA_CPU(name, test) \
  if (isa == ST_ISA_##name && !(test)) return false;
#include "os/isa.def"
  return true;
}

/* True if the CPU supports isa and the library has kernels for it. */
static bool has_isa(int isa) {
  if (!isas[isa].is_built) return false;
  for (; isa != ST_ISA_base; isa = (int)isas[isa].below) {
    if (!cpu_has(isa)) return false;
  }
  return true;
}

/* Of isa and those that it stands on, the best one that there is, or -1: a
 * build may have only the kernels of the machine that made it. */
static int best_upto(int isa) {
  while (!has_isa(isa) && isa != ST_ISA_base) isa = (int)isas[isa].below;
  return has_isa(isa) ? isa : -1;
}

static st_isa_level best_isa(void) {
  int isa = ST_ISA_COUNT - 1;
  while (isa >= 0 && !has_isa(isa)) isa--;
  if (isa < 0) {
    fputs("strided: this build has no kernels for this CPU\n", stderr);
    exit(EXIT_FAILURE);
  }
  return (st_isa_level)isa;
}

const char *st__openblas_core(void) {
  static const char *const cores[ST_ISA_COUNT] = {
#define ST_ISA_CORE(name, core) [ST_ISA_##name] = core,
#include "os/isa.def"
  };
  int isa = (int)best_isa();
  while (!cores[isa] && isa != ST_ISA_base) isa = (int)isas[isa].below;
  return cores[isa];
}

/* Prints the names: "base, avx2 or avx512". */
static void print_names(FILE *to) {
  for (int i = 0; i < ST_ISA_COUNT; i++) {
    const int left = ST_ISA_COUNT - 1 - i;
    fprintf(to, "%s%s", isas[i].name,
            left > 1 ? ", " : left == 1 ? " or " : "\n");
  }
}

static st_isa_level choose(void) {
  const char *name = getenv("STRIDED_ISA");
  if (!name || !*name) return best_isa();
  for (int i = 0; i < ST_ISA_COUNT; i++) {
    if (strcmp(name, isas[i].name) != 0) continue;
    const int below = best_upto(i);
    const int used = below < 0 ? (int)best_isa() : below;
    if (used == i) return (st_isa_level)i;
    fprintf(stderr, isas[i].is_built
            ? "strided: STRIDED_ISA=%s: this CPU supports at most %s\n"
            : "strided: STRIDED_ISA=%s: this build has no kernels for it; "
              "those in use are of %s\n", name, isas[used].name);
    return (st_isa_level)used;
  }
  fprintf(stderr, "strided: STRIDED_ISA=%s: unknown, must be ", name);
  print_names(stderr);
  return best_isa();
}

st_isa_level st__isa(void) {
  static int chosen = -1; /* a race is harmless: threads store one value */
  int isa = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
  if (isa < 0) {
    isa = (int)choose();
    __atomic_store_n(&chosen, isa, __ATOMIC_RELAXED);
  }
  return (st_isa_level)isa;
}

bool st__isa_has(st_isa_level part) {
  st_isa_level isa = st__isa();
  while (isa > part) isa = isas[isa].below;
  return isa == part;
}
