/* The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded and
 * read in the same order as PyTorch's CPU generator.
 */

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "op/random/random.h"

enum { N = 624, M = 397 };

struct st_generator {
  st_refcount refs;
  pthread_mutex_t mutex;
  st_generator *next;  /* in the list of all generators */
  st_limits *limits;   /* that it is charged to, or NULL */
  uint64_t seed;
  uint32_t state[N];
  int next_index;      /* into state; N: renew state first */
  bool has_normal;     /* the second of a pair is in normal */
  double normal;
};

/* -- The Mersenne Twister ------------------------------------------------- */

static void seed_state(st_generator *g, uint64_t seed) {
  g->seed = seed;
  g->state[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < N; i++) {
    const uint32_t last = g->state[i - 1];
    g->state[i] = 1812433253u * (last ^ (last >> 30)) + i;
  }
  g->next_index = N;
  g->has_normal = false;
}

static inline uint32_t twist(uint32_t high, uint32_t low) {
  const uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
  return (y >> 1) ^ (0x9908b0dfu & (0u - (low & 1u)));
}

static void renew(st_generator *g) {
  uint32_t *s = g->state;
  for (int i = 0; i < N - M; i++) s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
  for (int i = N - M; i < N - 1; i++) {
    s[i] = s[i + M - N] ^ twist(s[i], s[i + 1]);
  }
  s[N - 1] = s[M - 1] ^ twist(s[N - 1], s[0]);
  g->next_index = 0;
}

uint32_t st__random32(st_generator *g) {
  if (g->next_index == N) renew(g);
  uint32_t y = g->state[g->next_index++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t st__random64(st_generator *g) {
  const uint64_t high = st__random32(g);
  return high << 32 | st__random32(g);
}

double st__random_uniform(st_generator *g) {
  return (double)(st__random64(g) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

double st__random_normal(st_generator *g) {
  if (g->has_normal) {
    g->has_normal = false;
    return g->normal;
  }
  const double u1 = st__random_uniform(g);
  const double u2 = st__random_uniform(g);
  const double radius = sqrt(-2.0 * log1p(-u2));
  const double theta = 2.0 * 3.14159265358979323846 * u1;
  g->normal = radius * sin(theta);
  g->has_normal = true;
  return radius * cos(theta);
}

/* -- Generators ----------------------------------------------------------- */

/* The fork handlers lock all generators, so that every mutex is unlocked in
 * the child even if another thread of the parent was drawing. */
static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static st_generator *first;

static void before_fork(void) {
  pthread_mutex_lock(&list_mutex);
  for (st_generator *g = first; g; g = g->next) pthread_mutex_lock(&g->mutex);
}

static void after_fork(void) {
  for (st_generator *g = first; g; g = g->next) {
    pthread_mutex_unlock(&g->mutex);
  }
  pthread_mutex_unlock(&list_mutex);
}

static void register_atfork(void) {
  pthread_atfork(before_fork, after_fork, after_fork);
}

static void enlist(st_generator *g) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_atfork);
  pthread_mutex_init(&g->mutex, NULL);
  pthread_mutex_lock(&list_mutex);
  g->next = first;
  first = g;
  pthread_mutex_unlock(&list_mutex);
}

static void delist(const st_generator *g) {
  pthread_mutex_lock(&list_mutex);
  st_generator **link = &first;
  while (*link != g) link = &(*link)->next;
  *link = g->next;
  pthread_mutex_unlock(&list_mutex);
}

st_status st__generator_new(uint64_t seed, st_generator **out) {
  st_limits *owner;
  ST_TRY(st__limits_charge(sizeof(st_generator), &owner));
  st_generator *g = st__alloc(ST_MEM_GENERATOR, sizeof *g);
  if (!g) {
    st__limits_credit(owner, sizeof *g);
    return ST_NO_MEMORY;
  }
  g->limits = owner;
  st__ref_init(&g->refs);
  enlist(g);
  seed_state(g, seed);
  *out = g;
  return ST_OK;
}

void st__generator_retain(st_generator *g) { st__ref_take(&g->refs); }

void st__generator_release(st_generator **g) {
  if (*g && st__ref_drop(&(*g)->refs)) {
    delist(*g);
    pthread_mutex_destroy(&(*g)->mutex);
    st__limits_credit((*g)->limits, sizeof **g);
    st__free(ST_MEM_GENERATOR, *g, sizeof **g);
  }
  *g = NULL;
}

void st__generator_lock(st_generator *g) { pthread_mutex_lock(&g->mutex); }

void st__generator_unlock(st_generator *g) {
  pthread_mutex_unlock(&g->mutex);
}

void st__generator_seed(st_generator *g, uint64_t seed) {
  st__generator_lock(g);
  seed_state(g, seed);
  st__generator_unlock(g);
}

/* Copies through a local buffer, so that no thread holds two locks. */
void st__generator_assign(st_generator *g, st_generator *from) {
  uint32_t state[N];
  st__generator_lock(from);
  const uint64_t seed = from->seed;
  const int next_index = from->next_index;
  const bool has_normal = from->has_normal;
  const double normal = from->normal;
  memcpy(state, from->state, sizeof state);
  st__generator_unlock(from);
  st__generator_lock(g);
  g->seed = seed;
  g->next_index = next_index;
  g->has_normal = has_normal;
  g->normal = normal;
  memcpy(g->state, state, sizeof state);
  st__generator_unlock(g);
}

uint64_t st__generator_initial_seed(const st_generator *g) {
  return g->seed;
}

/* -- The default generator ------------------------------------------------ */

static st_generator default_generator;

/* The initial seed is PyTorch's. The reference count never reaches zero: the
 * first reference is not handed out. */
static void make_default(void) {
  st__ref_init(&default_generator.refs);
  enlist(&default_generator);
  seed_state(&default_generator, UINT64_C(67280421310721));
}

st_generator *st__default_generator(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_default);
  return &default_generator;
}
