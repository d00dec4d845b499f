/* Loading OpenBLAS.
 *
 * Note [Loading OpenBLAS]
 * Loading OpenBLAS and the Fortran libraries it needs takes more time and
 * memory than the rest of the engine, and most scripts do not use it. It is
 * opened at the first call of LAPACK: the library found at build time or, if
 * that is missing, the one that the dynamic linker finds under the same name.
 * It stays open.
 *
 * Note [OpenBLAS buffers]
 * OpenBLAS maps a large buffer for each caller and each thread of its team,
 * and keeps it. If a mapping fails, OpenBLAS retries forever. So before it may
 * need more buffers than ever before, the same amount of memory is mapped and
 * unmapped; if that fails, the call fails.
 *
 * Note [One OpenMP runtime]
 * OpenBLAS is linked with libgomp, and computes on one thread if that says that
 * the caller is in a parallel region. A build by Clang runs regions of libomp,
 * which libgomp knows nothing of: products in a region would be divided among
 * threads of libgomp, with other bits from call to call. libomp has libgomp's
 * functions as well. In the global scope, it is the one that OpenBLAS finds.
 */

#include "op/linalg/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/status.h"

#if ST_OPENMP && defined(__clang__)
#include <omp.h>

static void share_runtime(void) {
  int (*const function)(void) = omp_in_parallel;
  void *address;
  Dl_info info;
  memcpy(&address, &function, sizeof address);
  if (dladdr(address, &info)) {
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  }
}
#else
static void share_runtime(void) {}
#endif

/* ORDER BLAS */
static const char *const names[] = {
  "openblas_get_num_threads", "openblas_set_num_threads",
};
enum { COUNT = sizeof names / sizeof *names };

static st_blas blas;
static void *library;
static bool is_loaded;
static char failure[256];

_Static_assert(sizeof blas == COUNT * sizeof(void *), "a name per function");

static void load(void) {
  void *functions[COUNT];
  share_runtime(); /* Note [One OpenMP runtime] */
  library = dlopen(ST_OPENBLAS_FOLDER "/" ST_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen(ST_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
  is_loaded = library != NULL;
  for (int i = 0; i < COUNT && is_loaded; i++) {
    functions[i] = dlsym(library, names[i]);
    is_loaded = functions[i] != NULL;
  }
  if (is_loaded) {
    memcpy(&blas, functions, sizeof blas);
  } else {
    const char *why = dlerror();
    snprintf(failure, sizeof failure, "%s", why ? why : "unknown error");
  }
}

/* -- Buffers -------------------------------------------------------------- */

#define BUFFER ((size_t)129 << 20)  /* bytes; Note [OpenBLAS buffers] */
#define SPARE ((size_t)96 << 20)    /* bytes for the library itself */

static atomic_int running;   /* running products */
static atomic_int reserved;  /* buffers that were found to fit */

static bool can_map(int buffers) {
  const size_t n = (size_t)buffers * BUFFER + SPARE;
  void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
  return p != MAP_FAILED && munmap(p, n) == 0;
}

static st_status reserve_buffers(int buffers) {
  int had = atomic_load(&reserved);
  if (buffers <= had) return ST_OK;
  if (!can_map(buffers - had)) {
    return st__fail(ST_NO_MEMORY, "out of memory: OpenBLAS cannot map %d "
                    "buffers of 128 MB", buffers - had);
  }
  while (buffers > had &&
         !atomic_compare_exchange_weak(&reserved, &had, buffers)) {}
  return ST_OK;
}

/* -- Calls ---------------------------------------------------------------- */

static st_status find(const st_blas **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  *out = &blas;
  if (is_loaded) return ST_OK;
  return st__fail(ST_BAD_STATE, "decompositions need OpenBLAS, which cannot "
                  "be loaded: %s", failure);
}

void *st__blas_function(const char *name) { return dlsym(library, name); }

void st__blas_leave(void) { atomic_fetch_sub(&running, 1); }

/* Needs buffers for the team of each caller and for the library's own. */
st_status st__blas_enter(int threads, const st_blas **out) {
  const int callers = atomic_fetch_add(&running, 1) + 1;
  st_status status = reserve_buffers((callers + 1) * threads);
  if (status == ST_OK) status = find(out);
  if (status != ST_OK) st__blas_leave();
  return status;
}
