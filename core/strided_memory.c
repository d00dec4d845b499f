/* The functions of strided_memory.h: one-line calls of base/ and tensor/.
 */

#include "strided.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/call_limits.h"
#include "base/live_memory.h"
#include "base/own_threads.h"
#include "base/memory.h"
#include "tensor/dlpack.h"
#include "tensor/share.h"

/* -- Memory --------------------------------------------------------------- */

bool st_memory_stats(int kind, st_memory *out) {
  if (kind < 0 || kind >= ST_MEM_COUNT) return false;
  const st_mem_stats s = st__memory_stats((st_mem_kind)kind);
  *out = (st_memory){s.name, s.count, s.bytes, s.peak};
  return true;
}

st_memory_totals st_memory_sum(void) { return st__memory_totals(); }
int64_t st_memory_live(void) { return st__memory_live(); }
void st_memory_reset_peak(void) { st__memory_reset_peak(); }
int64_t st_memory_trim(void) { return st__memory_trim(); }

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

int64_t st_memory_fail_at(int64_t k) { return st__memory_fail_at(k); }

/* -- Limits --------------------------------------------------------------- */

void st_limit_own_threads(int n) { st__limit_own_threads(n); }

st_status st_limits_new(int64_t memory, int threads, st_limits **out) {
  return st__limits_new(memory, threads, out);
}

void st_limits_release(st_limits **l) { st__limits_release(l); }
st_limits *st_limits_enter(st_limits *l) { return st__limits_enter(l); }
st_status st_limits_check(void) { return st__limits_check(); }

void st_limits_set_time(st_limits *l, double seconds) {
  st__limits_set_time(l, seconds);
}

int64_t st_limits_used(const st_limits *l) { return st__limits_used(l); }

void *st_limits_realloc(void *p, size_t n) { return st__block_resize(p, n); }

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

st_status st_attach(const char *token, st_tensor **out) {
  return st__attach(token, out);
}

bool st_unshare(const char *token) { return st__unshare(token); }

void st_tensor_bind(st_tensor *t) { t->storage->is_bound = true; }

/* -- DLPack --------------------------------------------------------------- */

st_status st_tensor_to_dlpack(st_tensor *t, struct DLManagedTensor **out) {
  return st__to_dlpack(t, out);
}
st_status st_tensor_to_dlpack_versioned(
  st_tensor *t, struct DLManagedTensorVersioned **out) {
  return st__to_dlpack_versioned(t, out);
}
st_status st_tensor_from_dlpack(struct DLManagedTensor *m, st_tensor **out) {
  return st__from_dlpack(m, out);
}
st_status st_tensor_from_dlpack_versioned(
  struct DLManagedTensorVersioned *m, st_tensor **out) {
  return st__from_dlpack_versioned(m, out);
}
void st_dlpack_release(struct DLManagedTensor **m) {
  st__dlpack_release(m);
}
void st_dlpack_release_versioned(struct DLManagedTensorVersioned **m) {
  st__dlpack_release_versioned(m);
}
