/* Loading the LAPACK of the system.
 *
 * Note [Loading LAPACK]
 * A library is looked for at the first call of a function that the engine does
 * not have itself: OpenBLAS, FlexiBLAS, MKL or the reference implementation,
 * whichever is there, or the one that the variable STRIDED_LAPACK names.
 * Nothing of it is needed at build time: functions are found by the names that
 * Fortran compilers give them. A library with integers of 64 bits has other
 * names, or is recognized by a call and refused. The library stays open. A
 * failure is not kept: the next call looks again.
 *
 * Note [OpenBLAS buffers]
 * OpenBLAS maps a large buffer for each caller and each thread of its team,
 * and keeps it. If a mapping fails, OpenBLAS retries forever. So before it may
 * need more buffers than ever before, the same amount of memory is mapped and
 * unmapped; if that fails, the call fails.
 *
 * Note [The processor of OpenBLAS]
 * OpenBLAS chooses its kernels when it is loaded, and older ones take a
 * processor that they do not know for the oldest of its kind. The variable
 * OPENBLAS_CORETYPE says which to take. It is set while the library is loaded,
 * if the program has not set it and no other thread may be reading the
 * environment; else a warning says what to set.
 *
 * Note [One OpenMP runtime]
 * OpenBLAS is linked with libgomp, and computes on one thread if that says that
 * the caller is in a parallel region. A build by Clang runs regions of libomp,
 * which libgomp knows nothing of: products in a region would be divided among
 * threads of libgomp, with other bits from call to call. libomp has libgomp's
 * functions as well. In the global scope, it is the one that OpenBLAS finds.
 */

#include "op/lapack/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "base/dtype.h"
#include "base/status.h"
#include "base/threads.h"
#include "os/cpu.h"

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

/* -- Functions ------------------------------------------------------------ */

/* ORDER LAPACK: names for real and for complex dtypes, without the letter of
 * the dtype and the underscore. */
static const char *const names[][2] = {{"geev", NULL}, {NULL, "geev"}};

enum { COUNT = sizeof names / sizeof *names, DTYPES = 4 };

static const struct { st_dtype dtype; char letter; } dtypes[DTYPES] = {
  {ST_FLOAT32, 's'}, {ST_FLOAT64, 'd'}, {ST_COMPLEX64, 'c'},
  {ST_COMPLEX128, 'z'},
};

/* What is known of a library once it is loaded. */
typedef struct library {
  st_lapack tables[DTYPES];
  int (*get_num_threads)(void); /* NULL if it has none, as what follows */
  void (*set_num_threads)(int);
  bool is_openblas;
  const char *slow_core; /* what it takes this processor for */
} library;

_Static_assert(sizeof(st_lapack) == COUNT * sizeof(void *),
               "a name per function");

/* False, and `why`, if one is missing. */
static bool find_functions(void *handle, library *l, char *why, size_t room) {
  for (int d = 0; d < DTYPES; d++) {
    void *functions[COUNT];
    for (int i = 0; i < COUNT; i++) {
      const char *const stem = names[i][st__is_complex(dtypes[d].dtype)];
      char name[16];
      functions[i] = NULL;
      if (!stem) continue;
      snprintf(name, sizeof name, "%c%s_", dtypes[d].letter, stem);
      functions[i] = dlsym(handle, name);
      if (functions[i]) continue;
      snprintf(why, room, "it has no %s", name);
      return false;
    }
    memcpy(&l->tables[d], functions, sizeof *l->tables);
  }
  return true;
}

/* True if the first of two numbers, counted in 32 bits, is larger than nothing:
 * the same count in 64 bits is negative, for which the function returns 0. */
static bool has_short_integers(void *handle) {
  void *const address = dlsym(handle, "isamax_");
  blasint (*largest)(const void *n, const float *x, const void *step);
  const int64_t n = -(INT64_C(1) << 32) + 2, step = 1;
  const blasint halves[2] = {2, -1};
  const float x[2] = {1, 2};
  if (!address || memcmp(&n, halves, sizeof n) != 0) return true;
  memcpy(&largest, &address, sizeof largest);
  return largest(&n, x, &step) != 0;
}

/* The functions that say how many threads a library uses, by library. */
static void find_threads(void *handle, library *l) {
  static const char *const pairs[][2] = {
    {"openblas_get_num_threads", "openblas_set_num_threads"},
    {"flexiblas_get_num_threads", "flexiblas_set_num_threads"},
    {"MKL_Get_Max_Threads", "MKL_Set_Num_Threads"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    void *const get = dlsym(handle, pairs[i][0]);
    void *const set = dlsym(handle, pairs[i][1]);
    if (!get || !set) continue;
    memcpy(&l->get_num_threads, &get, sizeof get);
    memcpy(&l->set_num_threads, &set, sizeof set);
    l->is_openblas = i == 0;
    return;
  }
}

/* -- The processor -------------------------------------------------------- */

#define CORE "OPENBLAS_CORETYPE"

/* Names of processors that are older than those of os/isa.def. */
static bool is_old(const char *core) {
  static const char *const old[] = {
    "Katmai", "Coppermine", "Northwood", "Prescott", "Banias", "Core2",
    "Penryn", "Dunnington", "Nehalem", "Sandybridge", "Atom", "Nano", "Athlon",
    "Opteron", "Opteron_SSE3", "Barcelona", "Bobcat", "Bulldozer", "Piledriver",
    "Steamroller",
  };
  bool is_found = false;
  for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
    is_found = is_found || strcasecmp(core, old[i]) == 0;
  }
  return is_found;
}

/* Sets the variable, if that is possible and necessary. */
static bool set_core(void) {
  const char *const name = st__openblas_core();
  return name && !getenv(CORE) && st__is_alone_in_process() &&
         setenv(CORE, name, 0) == 0;
}

/* The processor that OpenBLAS wrongly takes this one for, if it has kernels for
 * several. */
static const char *find_slow_core(void *handle) {
  void *const core_at = dlsym(handle, "openblas_get_corename");
  void *const config_at = dlsym(handle, "openblas_get_config");
  const char *(*core)(void), *(*config)(void);
  if (!core_at || !config_at || !st__openblas_core()) return NULL;
  memcpy(&core, &core_at, sizeof core);
  memcpy(&config, &config_at, sizeof config);
  return is_old(core()) && strstr(config(), "DYNAMIC_ARCH") ? core() : NULL;
}

/* -- Loading -------------------------------------------------------------- */

/* The best ones first: those that compute on OpenMP's threads, as the engine
 * does, those with kernels of their own, those that stand on another BLAS. */
static const char *const candidates[] = {
  "/usr/lib/" ST_MULTIARCH "/openblas-openmp/libopenblas.so.0", /* Debian */
  "libopenblaso.so.0", /* Fedora */
  "libopenblas.so.0", "libopenblasp.so.0", "libflexiblas.so.3",
  "libmkl_rt.so.2", "libmkl_rt.so.1", "liblapack.so.3", "libopenblas.so",
  "liblapack.so",
};

static library loaded;
static atomic_bool is_loaded;

/* Why there is none: of the first library that does not fit, or "". */
typedef struct failure { char text[400]; } failure;

static bool fits(void *handle, library *l, char *why, size_t room) {
  if (!find_functions(handle, l, why, room)) return false;
  if (has_short_integers(handle)) return true;
  snprintf(why, room, "its integers have 64 bits");
  return false;
}

/* True if it is one; stays open then. */
static bool load(const char *name, failure *f) {
  char why[64];
  library l = {.get_num_threads = NULL};
  void *const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return false;
  if (!fits(handle, &l, why, sizeof why)) {
    if (!*f->text) snprintf(f->text, sizeof f->text, " (%s: %s)", name, why);
    dlclose(handle);
    return false;
  }
  find_threads(handle, &l);
  if (l.is_openblas) l.slow_core = find_slow_core(handle);
  loaded = l;
  return true;
}

static bool load_any(failure *f) {
  const char *const named = getenv("STRIDED_LAPACK");
  bool is_good = false;
  if (!named || !*named) {
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
      is_good = is_good || load(candidates[i], f);
    }
  } else if (!load(named, f)) {
    const char *const why = dlerror();
    if (!*f->text) {
      snprintf(f->text, sizeof f->text, " (%s)", why ? why : named);
    }
  } else {
    is_good = true;
  }
  return is_good;
}

/* Under a lock: sets the variable of Note [The processor of OpenBLAS]. */
static bool try_to_load(failure *f) {
  const bool is_set = getenv(CORE) != NULL, sets_core = set_core();
  share_runtime(); /* Note [One OpenMP runtime] */
  const bool is_good = load_any(f);
  if (sets_core) unsetenv(CORE);
  if (is_set) loaded.slow_core = NULL; /* as the program wants it */
  return is_good;
}

static void warn_of_core(void) {
  st__warn("OpenBLAS takes this processor for a %s, and is slow: set the "
           "environment variable " CORE "=%s before the program starts",
           loaded.slow_core, st__openblas_core());
}

static st_status find_library(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  failure f = {.text = ""};
  bool is_new = false;
  if (atomic_load(&is_loaded)) return ST_OK;
  pthread_mutex_lock(&lock);
  if (!atomic_load(&is_loaded)) {
    is_new = try_to_load(&f);
    atomic_store(&is_loaded, is_new);
  }
  const bool is_good = atomic_load(&is_loaded);
  pthread_mutex_unlock(&lock);
  if (is_new && loaded.slow_core) warn_of_core(); /* who listens may call us */
  if (is_good) return ST_OK;
  return st__fail(ST_BAD_STATE, "needs a LAPACK library, and there is none%s: "
                  "install the package libopenblas0-openmp or liblapack3, or "
                  "set STRIDED_LAPACK to the file name of another one",
                  f.text);
}

/* -- Buffers -------------------------------------------------------------- */

#define BUFFER ((size_t)129 << 20)  /* bytes; Note [OpenBLAS buffers] */
#define SPARE ((size_t)96 << 20)    /* bytes for the library itself */

static atomic_int running;   /* running calls */
static atomic_int reserved;  /* buffers that were found to fit */

static bool can_map(int buffers) {
  const size_t n = (size_t)buffers * BUFFER + SPARE;
  void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
  return p != MAP_FAILED && munmap(p, n) == 0;
}

/* Before a library is loaded, too, which may be OpenBLAS. */
static st_status reserve_buffers(int buffers) {
  int had = atomic_load(&reserved);
  if (buffers <= had) return ST_OK;
  if (atomic_load(&is_loaded) && !loaded.is_openblas) return ST_OK;
  if (!can_map(buffers - had)) {
    return st__fail(ST_NO_MEMORY, "out of memory: OpenBLAS cannot map %d "
                    "buffers of 128 MB", buffers - had);
  }
  while (buffers > had &&
         !atomic_compare_exchange_weak(&reserved, &had, buffers)) {}
  return ST_OK;
}

/* -- Calls ---------------------------------------------------------------- */

void st__library_leave(void) { atomic_fetch_sub(&running, 1); }

/* Needs buffers for the team of each caller and for the library's own. */
st_status st__library_enter(st_dtype dtype, int threads,
                            const st_lapack **out) {
  const int callers = atomic_fetch_add(&running, 1) + 1;
  st_status status = reserve_buffers((callers + 1) * threads);
  if (status == ST_OK) status = find_library();
  if (status != ST_OK) {
    st__library_leave();
    return status;
  }
  int d = 0;
  while (dtypes[d].dtype != dtype) d++;
  *out = &loaded.tables[d];
  return ST_OK;
}

void st__library_use_one_thread(void) {
  if (loaded.set_num_threads && !st__in_parallel() &&
      loaded.get_num_threads() != 1) {
    loaded.set_num_threads(1);
  }
}
