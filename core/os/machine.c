/* Detects the machine and fills the table of choices. */

#include "os/machine.h"

#include <unistd.h>

st_machine_choices st__machine;

/* -- Detection ------------------------------------------------------------ */

/* The value of a sysconf name, or `other` if the system does not know it. */
static int64_t known(int name, int64_t other) {
  const long value = name < 0 ? -1 : sysconf(name);
  return value > 0 ? value : other;
}

static int64_t bound(int64_t n, int64_t least, int64_t most) {
  return n < least ? least : n > most ? most : n;
}

#if defined(_SC_LEVEL1_DCACHE_SIZE)
enum {
  L1_SIZE = _SC_LEVEL1_DCACHE_SIZE, L1_ASSOC = _SC_LEVEL1_DCACHE_ASSOC,
  L2_SIZE = _SC_LEVEL2_CACHE_SIZE, L3_SIZE = _SC_LEVEL3_CACHE_SIZE
};
#else
enum { L1_SIZE = -1, L1_ASSOC = -1, L2_SIZE = -1, L3_SIZE = -1 };
#endif

void st__machine_detect(void) {
  enum { KB = 1 << 10, MB = 1 << 20 };
  const int64_t L1 = bound(known(L1_SIZE, 32 * KB), 16 * KB, 128 * KB);
  const int64_t assoc = bound(known(L1_ASSOC, 8), 1, 32);
  int64_t span = 64; /* bytes, a power of two, as the number of sets is one */
  while (2 * span * assoc <= L1) span *= 2;
  const int64_t WAYS = L1 / span;
  const int64_t L2 = bound(known(L2_SIZE, MB), 256 * KB, 4 * MB);
  const int64_t LAST = bound(known(L3_SIZE, 32 * MB), 4 * MB, 32 * MB);
  const int64_t CORES = known(_SC_NPROCESSORS_ONLN, 1);
#define ST_FIXED(name, value)
#define ST_DETECTED(name, value) st__machine.name = (value);
#include "os/machine.def"
#undef ST_FIXED
#undef ST_DETECTED
}

/* -- Inspection ----------------------------------------------------------- */

const char *st_machine_choice(int i, int64_t *value) {
  const struct { const char *name; int64_t value; } choices[] = {
#define ST_FIXED(name, value) {#name, value},
#define ST_DETECTED(name, value) {#name, st__machine.name},
#include "os/machine.def"
#undef ST_FIXED
#undef ST_DETECTED
  };
  const int n = (int)(sizeof choices / sizeof *choices);
  if (i < 0 || i >= n) return NULL;
  *value = choices[i].value;
  return choices[i].name;
}
