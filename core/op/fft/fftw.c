/* Loading FFTW, and its plans.
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
 * machine, and its plans take 1.0 to 1.6 times as long as measured ones. FFTW
 * is given what such plans are good at: complex lines of less than 8192 numbers
 * without large prime factors, and the real lines that nothing else computes
 * (Note [What FFTW computes], fftw.h).
 *
 * Note [Memory of FFTW]
 * FFTW ends the process if malloc returns NULL. So the memory that it may need
 * is mapped and unmapped before it makes a plan, and before an execution that
 * allocates buffers: one by Rader's or Bluestein's algorithm, or one whose
 * description names a buffer.
 *
 * Note [FFTW's planner]
 * The planner is not thread-safe: the mutex of plans.c protects it. Executions
 * need no lock. A fork waits for the mutex, so a child can make plans. A host
 * that makes plans with the same library calls fftw_make_planner_thread_safe,
 * as FFTW's manual asks of programs with several users of it.
 */

#include "op/fft/fftw.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "os/stack.h"
#include "base/status.h"
#include "op/fft/long_lines.h"

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

st_status st__fft_load(bool is_double) {
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

st_status st__fft_reserve(const st_fft_line *l, int executions) {
  const size_t n = l->buffers * (size_t)executions;
  return n == 0 || can_map(n) ? ST_OK : no_memory(n);
}

/* The planner takes up to 16 bytes a number for small prime factors, 68 by
 * Bluestein's algorithm, and its tables. */
static st_status reserve_plan(int64_t n) {
  const size_t bytes = 96 * (size_t)n + ((size_t)8 << 20);
  return can_map(bytes) ? ST_OK : no_memory(bytes);
}

/* -- Lines ---------------------------------------------------------------- */

/* Plans by FFTW_ESTIMATE do not touch the arrays, but their alignment. */
static _Alignas(64) char arrays[2][64];

static size_t buffers_of(const library *f, const void *plan, int64_t n) {
  char *const text = f->describe(plan);
  const bool allocates = !text || strstr(text, "buf") ||
                         strstr(text, "rader") || strstr(text, "bluestein");
  free(text);
  return allocates ? 128 * (size_t)n + ((size_t)1 << 18) : 0;
}

typedef struct making {
  const library *f;
  st_fft_kind kind;
  st_fft_line *line;
} making;

/* Sets plan, execute and buffers of a line. */
static void plan_line(void *arg) {
  const making *m = arg;
  const library *f = m->f;
  st_fft_line *const l = m->line;
  const iodim64 line = {l->length, 1, 1};
  void *const in = arrays[0], *const out = arrays[1], *plan;
  switch (m->kind) {
  case ST_FFT_R2C:
    plan = f->plan_r2c(1, &line, 0, NULL, in, out, ESTIMATE);
    l->execute = f->execute_r2c;
    break;
  case ST_FFT_C2R:
    plan = f->plan_c2r(1, &line, 0, NULL, in, out, ESTIMATE | DESTROY_INPUT);
    l->execute = f->execute_c2r;
    break;
  default:
    plan = f->plan_dft(1, &line, 0, NULL, in, out,
                       m->kind == ST_FFT_FORWARD ? FORWARD : BACKWARD,
                       ESTIMATE);
    l->execute = f->execute_dft;
  }
  if (plan) l->buffers = buffers_of(f, plan, l->length);
  l->plan = plan;
}

static st_status make_plan(st_fft_kind kind, bool is_double, st_fft_line *l) {
  making m = {&libraries[is_double], kind, l};
  ST_TRY(reserve_plan(l->length));
  st__on_large_stack(plan_line, &m);
  if (l->plan) return ST_OK;
  return st__fail(ST_BAD_VALUE, "FFTW has no plan for %lld numbers",
                  (long long)l->length);
}

st_status st__fft_line_init(st_fft_kind kind, bool is_double, int64_t n,
                            st_fft_line *out) {
  const bool is_complex = kind == ST_FFT_FORWARD || kind == ST_FFT_BACKWARD;
  *out = (st_fft_line){.length = n};
  if (!is_complex || !st__fft_is_long(n)) {
    return make_plan(kind, is_double, out);
  }
  out->matrix = st__fft_matrix(kind == ST_FFT_BACKWARD, is_double, n);
  return out->matrix ? ST_OK : ST_NO_MEMORY;
}

void st__fft_line_free(st_fft_line *l, bool is_double) {
  if (l->plan) libraries[is_double].destroy(l->plan);
  st__fft_matrix_free(l->matrix);
  *l = (st_fft_line){.length = 0};
}

st_status st__fft_once(bool is_double, int64_t n, void *in, void *out) {
  st_fft_line l = {.length = n};
  st_status status = make_plan(ST_FFT_FORWARD, is_double, &l);
  if (status == ST_OK) status = st__fft_reserve(&l, 1);
  if (status == ST_OK) l.execute(l.plan, in, out);
  st__fft_line_free(&l, is_double);
  return status;
}
