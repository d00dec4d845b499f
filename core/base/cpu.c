/* Detects the instruction set of the CPU. */

#include "base/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const isa_names[] = {"base", "avx2", "avx512"};

const char *st__isa_name(st_isa_level isa) { return isa_names[isa]; }

/* True if the CPU supports isa and the library has kernels for it. */
static bool has_isa(int isa) {
  if (isa == ST_ISA_BASE) return true;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") &&
                    __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  if (isa == ST_ISA_AVX2) return ST_HAS_AVX2 && avx2;
  return ST_HAS_AVX512 && avx2 && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

/* The highest supported instruction set up to isa. */
static st_isa_level best_upto(int isa) {
  while (!has_isa(isa)) isa--;
  return (st_isa_level)isa;
}

st_isa_level st__isa_max(void) { return best_upto(ST_ISA_COUNT - 1); }

static st_isa_level choose(void) {
  const char *name = getenv("STRIDED_ISA");
  if (!name || !*name) return st__isa_max();
  for (int i = 0; i < ST_ISA_COUNT; i++) {
    if (strcmp(name, isa_names[i]) != 0) continue;
    const st_isa_level best = best_upto(i);
    if ((int)best == i) return best;
    fprintf(stderr, "strided: STRIDED_ISA=%s: this CPU supports at most %s\n",
            name, isa_names[best]);
    return best;
  }
  fprintf(stderr, "strided: STRIDED_ISA=%s: unknown, must be base, avx2 or "
          "avx512\n", name);
  return st__isa_max();
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
