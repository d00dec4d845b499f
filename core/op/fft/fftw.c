/* Loading FFTW, and the cache of plans.
 *
 * Note [FFTW]
 * The transforms are FFTW 3's, of the Debian packages libfftw3-double3 and
 * libfftw3-single3. Each library is opened at the first transform of its
 * precision and stays open; without it, transforms fail and nothing else does.
 * FFTW is under the GPL (version 2 or later), strided under the MIT licence,
 * which is compatible: nothing of FFTW is copied or linked here, and whoever
 * distributes both together follows the GPL. The alternatives: pocketfft is
 * C++ and not packaged by Debian 12; kissfft has no vector code and takes
 * O(n p) for a prime factor p; MKL is not free software.
 *
 * Note [Plans are estimated]
 * FFTW_MEASURE chooses among algorithms by timing them. That takes 60 to 200 ms
 * for a length of 1000 to 10,000 and seconds for a million, and two processes
 * may choose differently, so that the last bits of a result would depend on the
 * moment. FFTW_ESTIMATE takes 0.02 to 2 ms, always makes the same choice on one
 * machine, and its plans take 1.0 to 1.6 times as long as measured ones. On one
 * thread, transforms of up to 65,536 numbers take 0.1 to 0.7 times as long as
 * PyTorch's. MKL is faster for complex numbers from 10^6 on (2.7 to 3.3 times
 * in complex64, 1.6 to 1.7 in complex128), for batches of real lines of 1024
 * float32 (3 times) and for planes of 512 x 512 (1.3 to 2.1 times).
 *
 * Note [Memory of FFTW]
 * FFTW ends the process if malloc returns NULL. So the memory that it may need
 * is mapped and unmapped before it makes a plan, and before an execution that
 * allocates buffers: one by Rader's or Bluestein's algorithm, or one whose
 * description names a buffer.
 *
 * Note [FFTW's planner]
 * The planner is not thread-safe: a mutex protects it and the cache. Executions
 * need no lock. A fork waits for the mutex, so a child can make plans. A host
 * that makes plans with the same library calls fftw_make_planner_thread_safe,
 * as FFTW's manual asks of programs with several users of it.
 */

#include "op/fft/fftw.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/stack.h"
#include "base/status.h"

/* -- Libraries ------------------------------------------------------------ */

typedef struct iodim64 { ptrdiff_t n, in, out; } iodim64;

/* FFTW's guru interface with 64-bit sizes. ORDER FFTW */
typedef struct library {
  void *(*plan_dft)(int rank, const iodim64 *dims, int howmany,
                    const iodim64 *howmany_dims, void *in, void *out, int sign,
                    unsigned flags);
  void *(*plan_r2c)(int rank, const iodim64 *dims, int howmany,
                    const iodim64 *howmany_dims, void *in, void *out,
                    unsigned flags);
  void *(*plan_c2r)(int rank, const iodim64 *dims, int howmany,
                    const iodim64 *howmany_dims, void *in, void *out,
                    unsigned flags);
  void (*execute_dft)(void *plan, void *in, void *out);
  void (*execute_r2c)(void *plan, void *in, void *out);
  void (*execute_c2r)(void *plan, void *in, void *out);
  char *(*describe)(const void *plan); /* freed by the caller */
  void (*destroy)(void *plan);
} library;

static const char *const names[] = {
  "plan_guru64_dft", "plan_guru64_dft_r2c", "plan_guru64_dft_c2r",
  "execute_dft", "execute_dft_r2c", "execute_dft_c2r", "sprint_plan",
  "destroy_plan",
};
enum {
  COUNT = sizeof names / sizeof *names,
  FORWARD = -1, BACKWARD = 1, DESTROY_INPUT = 1, ESTIMATE = 1 << 6
};
_Static_assert(sizeof(library) == COUNT * sizeof(void *),
               "a name per function");

static const struct { const char *file, *prefix, *package, *dtype; } sources[] =
  {{"libfftw3f.so.3", "fftwf_", "libfftw3-single3", "float32"},
   {"libfftw3.so.3", "fftw_", "libfftw3-double3", "float64"}};

static library libraries[2]; /* by precision; the mutex protects them */
static bool is_loaded[2];

static bool find_functions(void *handle, const char *prefix, library *out) {
  void *functions[COUNT];
  for (int i = 0; i < COUNT; i++) {
    char name[40];
    snprintf(name, sizeof name, "%s%s", prefix, names[i]);
    functions[i] = dlsym(handle, name);
    if (!functions[i]) return false;
  }
  memcpy(out, functions, sizeof *out);
  return true;
}

static st_status load(bool is_double) {
  if (is_loaded[is_double]) return ST_OK;
  void *const handle = dlopen(sources[is_double].file, RTLD_NOW | RTLD_LOCAL);
  if (handle && find_functions(handle, sources[is_double].prefix,
                               &libraries[is_double])) {
    is_loaded[is_double] = true;
    return ST_OK;
  }
  const char *const why = dlerror();
  const st_status status = st__fail(
    ST_BAD_STATE, "Fourier transforms of %s need FFTW 3 (Debian's package %s), "
    "which cannot be loaded: %s", sources[is_double].dtype,
    sources[is_double].package, why ? why : "unknown error");
  if (handle) dlclose(handle);
  return status;
}

/* -- Memory --------------------------------------------------------------- */

static bool can_map(size_t n) {
  void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
  return p != MAP_FAILED && munmap(p, n) == 0;
}

static st_status no_memory(size_t n) {
  return st__fail(ST_NO_MEMORY, "out of memory: FFTW may need %zu bytes", n);
}

st_status st__fft_reserve(const st_fft_plan *p, int executions) {
  const size_t n = p->buffers * (size_t)executions;
  return n == 0 || can_map(n) ? ST_OK : no_memory(n);
}

/* The planner takes up to 16 bytes a number for small prime factors, 68 by
 * Bluestein's algorithm, and its tables. */
static st_status reserve_plan(int64_t n) {
  const size_t bytes = 96 * (size_t)n + ((size_t)8 << 20);
  return can_map(bytes) ? ST_OK : no_memory(bytes);
}

/* -- Plans ---------------------------------------------------------------- */

/* Plans by FFTW_ESTIMATE do not touch the arrays, but their alignment. */
static _Alignas(64) char arrays[2][64];

typedef struct making {
  const library *f;
  st_fft_kind kind;
  st_fft_plan *plan;
} making;

static size_t buffers_of(const library *f, const st_fft_plan *p) {
  char *const text = f->describe(p->plan);
  const bool allocates = !text || strstr(text, "buf") ||
                         strstr(text, "rader") || strstr(text, "bluestein");
  free(text);
  return allocates ? 128 * (size_t)p->n + ((size_t)1 << 18) : 0;
}

static void make_plan(void *arg) {
  const making *m = arg;
  const library *f = m->f;
  st_fft_plan *const p = m->plan;
  const iodim64 line = {p->n, 1, 1};
  void *const in = arrays[0], *const out = arrays[1];
  switch (m->kind) {
  case ST_FFT_R2C:
    p->plan = f->plan_r2c(1, &line, 0, NULL, in, out, ESTIMATE);
    p->execute = f->execute_r2c;
    break;
  case ST_FFT_C2R:
    p->plan = f->plan_c2r(1, &line, 0, NULL, in, out,
                          ESTIMATE | DESTROY_INPUT);
    p->execute = f->execute_c2r;
    break;
  default:
    p->plan = f->plan_dft(1, &line, 0, NULL, in, out,
                          m->kind == ST_FFT_FORWARD ? FORWARD : BACKWARD,
                          ESTIMATE);
    p->execute = f->execute_dft;
  }
  if (p->plan) p->buffers = buffers_of(f, p);
}

/* -- The cache ------------------------------------------------------------ */

enum {
  SLOTS = 64,
  MOST_NUMBERS = 1 << 22 /* the sum of the lengths of unused plans, about */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slot_is_free = PTHREAD_COND_INITIALIZER;
static st_fft_plan plans[SLOTS];
static int64_t now; /* look-ups so far */

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }
static void register_atfork(void) { pthread_atfork(lock, unlock, unlock); }

static int64_t key_of(st_fft_kind kind, bool is_double, int64_t n) {
  return n << 3 | (int64_t)kind << 1 | is_double;
}

static void drop(st_fft_plan *p) {
  if (p->key != 0) libraries[p->key & 1].destroy(p->plan);
  p->key = 0;
  p->n = 0;
}

/* A free slot or the one that was used longest ago; NULL if all are in use. */
static st_fft_plan *oldest_unused(void) {
  st_fft_plan *best = NULL;
  for (int i = 0; i < SLOTS; i++) {
    st_fft_plan *const p = &plans[i];
    if (p->users > 0) continue;
    if (p->key == 0) return p;
    if (!best || p->used < best->used) best = p;
  }
  return best;
}

/* Drops unused plans until there is room for one of n numbers. */
static void trim(int64_t n) {
  for (;;) {
    int64_t sum = n;
    st_fft_plan *oldest = NULL;
    for (int i = 0; i < SLOTS; i++) {
      st_fft_plan *const p = &plans[i];
      sum += p->n;
      if (p->users > 0 || p->key == 0) continue;
      if (!oldest || p->used < oldest->used) oldest = p;
    }
    if (sum <= MOST_NUMBERS || !oldest) return;
    drop(oldest);
  }
}

static st_status add_plan(st_fft_kind kind, bool is_double, int64_t n,
                          st_fft_plan **out) {
  ST_TRY(load(is_double));
  ST_TRY(reserve_plan(n));
  trim(n);
  st_fft_plan *p;
  while (!(p = oldest_unused())) pthread_cond_wait(&slot_is_free, &mutex);
  drop(p);
  *p = (st_fft_plan){.n = n};
  making m = {&libraries[is_double], kind, p};
  st__on_large_stack(make_plan, &m);
  if (!p->plan) {
    p->n = 0;
    return st__fail(ST_BAD_VALUE, "FFTW has no plan for %lld numbers",
                    (long long)n);
  }
  p->key = key_of(kind, is_double, n);
  *out = p;
  return ST_OK;
}

static st_fft_plan *find_plan(int64_t key) {
  for (int i = 0; i < SLOTS; i++) {
    if (plans[i].key == key) return &plans[i];
  }
  return NULL;
}

st_status st__fft_plan(st_fft_kind kind, bool is_double, int64_t n,
                       st_fft_plan **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_atfork);
  st_status status = ST_OK;
  lock();
  *out = find_plan(key_of(kind, is_double, n));
  if (!*out) status = add_plan(kind, is_double, n, out);
  if (status == ST_OK) {
    (*out)->users++;
    (*out)->used = ++now;
  }
  unlock();
  return status;
}

void st__fft_done(st_fft_plan *p) {
  lock();
  if (--p->users == 0) pthread_cond_signal(&slot_is_free);
  unlock();
}
