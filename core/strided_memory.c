/* The functions of strided_memory.h: one-line calls of base/ and tensor/.
 */

#include "strided.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/call_limits.h"
#include "base/memory.h"
#include "tensor/share/dlpack.h"
#include "tensor/share/share.h"

/* -- Memory --------------------------------------------------------------- */

bool st_memory_stats(int kind, st_memory *out) {
  if (kind < 0 || kind >= ST_MEM_COUNT) return false;
  const st_mem_stats s = st__memory_stats((st_mem_kind)kind);
  *out = (st_memory){s.name, s.count, s.bytes, s.peak};
  return true;
}

static st_status check_limit(int64_t bytes) {
  if (bytes >= 0) return ST_OK;
  return st__fail(ST_BAD_VALUE, "the limit must not be negative, got %" PRId64
                  " bytes", bytes);
}

st_status st_memory_set_limit(int64_t bytes) {
  ST_TRY(check_limit(bytes));
  st__memory_set_limit(bytes);
  return ST_OK;
}

st_status st_memory_set_cache_limit(int64_t bytes) {
  ST_TRY(check_limit(bytes));
  st__memory_set_cache_limit(bytes);
  return ST_OK;
}

/* -- Limits --------------------------------------------------------------- */

st_status st_limits_check(void) { return st__limits_check(); }

void st_limits_free(void *p) {
  st__credit_block(p);
  free(p);
}

/* -- Sharing -------------------------------------------------------------- */

_Static_assert((int)ST_TOKEN_SIZE == (int)ST__TOKEN_SIZE, "one size");

st_status st_share(const st_tensor *t, int64_t times,
                   char token[ST_TOKEN_SIZE]) {
  return st__share(t, times, token);
}

void st_tensor_bind(st_tensor *t) { t->storage->is_bound = true; }

/* -- DLPack --------------------------------------------------------------- */
