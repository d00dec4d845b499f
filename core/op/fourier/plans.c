/* The cache of plans.
 */

#include "op/fourier/plans.h"

#include <pthread.h>

#include "base/status.h"
#include "op/fourier/convolution.h"

enum {
  SLOTS = 64,
  MOST_NUMBERS = 1 << 22 /* the sum of the sizes of unused plans, about */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slot_is_free = PTHREAD_COND_INITIALIZER;
static st_fft_plan plans[SLOTS];
static int64_t now; /* look-ups so far */
static _Thread_local st_fft_hold *innermost;

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

/* In a child of fork, the holds of other threads are gone. */
static void keep_own_holds(void) {
  for (int i = 0; i < SLOTS; i++) plans[i].users = 0;
  for (st_fft_hold *h = innermost; h; h = h->outer) h->plan->users++;
  unlock();
}

static void register_atfork(void) {
  pthread_atfork(lock, unlock, keep_own_holds);
}

static int64_t key_of(st_fft_kind kind, bool is_double, int64_t n,
                      st_fft_how how) {
  return n << 6 | (int64_t)how << 4 | (int64_t)kind << 1 | is_double;
}

/* Frees what a plan has, which may be a part of it. */
static void drop(st_fft_plan *p, bool is_double) {
  st__fft_chirp_free(p, is_double); /* asks for the length of the line */
  st__fft_halving_free(p->halving, p->n, is_double);
  st__fft_twist_free(p->twist, p->n, p->is_iv, is_double);
  st__fft_line_free(&p->line);
  st__fft_line_free(&p->back);
  st__fft_passes_free(&p->passes);
  st__fft_eighths_free(&p->eighths);
  *p = (st_fft_plan){.key = 0};
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

/* Drops unused plans until there is room for tables of n numbers. One that is
 * larger than all room stays until the next is made: calls may repeat it. */
static void trim(int64_t n) {
  for (;;) {
    int64_t sum = n;
    st_fft_plan *oldest = NULL;
    for (int i = 0; i < SLOTS; i++) {
      st_fft_plan *const p = &plans[i];
      sum += p->size;
      if (p->users > 0 || p->key == 0) continue;
      if (!oldest || p->used < oldest->used) oldest = p;
    }
    if (sum <= MOST_NUMBERS || !oldest) return;
    drop(oldest, oldest->key & 1);
  }
}

static st_status make_plan(st_fft_plan *p, st_fft_kind kind, bool is_double,
                           int64_t n, st_fft_how how) {
  const bool is_real = kind == ST_FFT_R2C || kind == ST_FFT_C2R;
  const bool is_half = is_real && n % 2 == 0;
  const st_fft_kind complex_kind =
    kind == ST_FFT_R2C ? ST_FFT_FORWARD :
    kind == ST_FFT_C2R ? ST_FFT_BACKWARD : kind;
  *p = (st_fft_plan){.n = n, .count = is_half ? n / 2 : n};
  p->size = n;
  if (is_half) {
    p->halving = st__fft_halving(n, is_double);
    if (!p->halving) return ST_NO_MEMORY;
  }
  const bool backward = complex_kind == ST_FFT_BACKWARD;
  if (how == ST_FFT_TILE) {
    return st__fft_passes_init(&p->passes, backward, is_double, p->count,
                               ST_FFT_OF_LINES);
  }
  if (how == ST_FFT_EIGHTHS) {
    return st__fft_eighths_init(&p->eighths, backward, is_double, p->count);
  }
  if (!st__fft_has_passes(p->count)) {
    return st__fft_chirp_init(p, complex_kind, is_double);
  }
  return st__fft_line_init(backward, is_double, p->count, &p->line);
}

/* A plan that is a table. */
static st_status make_twist(st_fft_plan *p, st_fft_kind kind, bool is_double,
                            int64_t n) {
  const bool is_iv = kind == ST_FFT_TWIST_IV;
  *p = (st_fft_plan){.n = n, .is_iv = is_iv};
  p->size = st__fft_twist_count(n, is_iv);
  p->twist = st__fft_twist(n, is_iv, is_double);
  return p->twist ? ST_OK : ST_NO_MEMORY;
}

static st_fft_plan *find_plan(int64_t key) {
  for (int i = 0; i < SLOTS; i++) {
    if (plans[i].key == key) return &plans[i];
  }
  return NULL;
}

/* While it waits for a slot, another thread may add the same plan. */
static st_status add_plan(st_fft_kind kind, bool is_double, int64_t n,
                          st_fft_how how, st_fft_plan **out) {
  const int64_t key = key_of(kind, is_double, n, how);
  trim(n);
  st_fft_plan *p;
  while (!(p = oldest_unused())) {
    pthread_cond_wait(&slot_is_free, &mutex);
    *out = find_plan(key);
    if (*out) return ST_OK;
  }
  drop(p, p->key & 1);
  const bool is_table = kind == ST_FFT_TWIST || kind == ST_FFT_TWIST_IV;
  const st_status status = is_table ? make_twist(p, kind, is_double, n)
                                    : make_plan(p, kind, is_double, n, how);
  if (status != ST_OK) {
    drop(p, is_double);
    return status;
  }
  p->key = key;
  *out = p;
  return ST_OK;
}

st_status st__fft_plan(st_fft_kind kind, bool is_double, int64_t n,
                       st_fft_how how, st_fft_hold *out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_atfork);
  st_status status = ST_OK;
  lock();
  out->plan = find_plan(key_of(kind, is_double, n, how));
  if (!out->plan) {
    status = add_plan(kind, is_double, n, how, &out->plan);
  }
  if (status == ST_OK) {
    out->plan->users++;
    out->plan->used = ++now;
    out->outer = innermost;
    innermost = out;
  }
  unlock();
  return status;
}

void st__fft_done(st_fft_hold *hold) {
  lock();
  innermost = hold->outer;
  if (--hold->plan->users == 0) pthread_cond_broadcast(&slot_is_free);
  unlock();
}
