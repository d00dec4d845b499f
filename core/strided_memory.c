/* The bodies of strided_memory.h.
 */

#include "strided.h"

#include "base/memory.h"

/* -- Memory --------------------------------------------------------------- */

bool st_memory_stats(int kind, st_memory *out) {
  if (kind < 0 || kind >= ST_MEM_COUNT) return false;
  const st_mem_stats s = st__memory_stats((st_mem_kind)kind);
  *out = (st_memory){s.name, s.count, s.bytes, s.peak};
  return true;
}

int64_t st_memory_fail_at(int64_t k) { return st__memory_fail_at(k); }
