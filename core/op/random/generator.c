/* The Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded and
 * read in the same order as PyTorch's CPU generator. A kernel renews the state.
 */

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "kernel/random/random.h"
#include "op/random/random.h"

enum { N = ST_MT19937_WORDS };

/* What assigning one generator to another copies. */
typedef struct mt19937 {
  uint64_t seed;
  uint32_t state[N];
  uint32_t words[N];   /* that state gives */
  int next_index;      /* into words; N: renew state first */
  bool has_normal;     /* the second of a pair is in normal */
  double normal;
} mt19937;

struct st_generator {
  st_refcount refs;
  pthread_mutex_t mutex;
  st_generator *next;  /* in the list of all generators */
  st_limits *limits;   /* that it is charged to, or NULL */
  mt19937 mt;
};

/* -- The Mersenne Twister ------------------------------------------------- */

static void seed_state(st_generator *g, uint64_t seed) {
  uint32_t *state = g->mt.state;
  g->mt.seed = seed;
  state[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < N; i++) {
    const uint32_t last = state[i - 1];
    state[i] = 1812433253u * (last ^ (last >> 30)) + i;
  }
  g->mt.next_index = N;
  g->mt.has_normal = false;
}

static void renew(mt19937 *mt) {
  char *data[] = {(char *)mt->state, (char *)mt->words};
  const int64_t strides[4] = {4, 4, 0, 0};
  st__kernel(ST_K_mt19937, ST_INT32)(data, strides, N, 1, NULL);
  mt->next_index = 0;
}

uint32_t st__random32(st_generator *g) {
  if (g->mt.next_index == N) renew(&g->mt);
  return g->mt.words[g->mt.next_index++];
}

void st__random_words(st_generator *g, uint32_t *words, int64_t n) {
  mt19937 *mt = &g->mt;
  while (n > 0) {
    if (mt->next_index == N) renew(mt);
    const int64_t left = N - mt->next_index, take = n < left ? n : left;
    memcpy(words, mt->words + mt->next_index, (size_t)take * sizeof *words);
    mt->next_index += (int)take;
    words += take, n -= take;
  }
}

uint64_t st__random64(st_generator *g) {
  const uint64_t high = st__random32(g);
  return high << 32 | st__random32(g);
}

double st__random_uniform(st_generator *g) {
  return (double)(st__random64(g) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

double st__random_normal(st_generator *g) {
  mt19937 *mt = &g->mt;
  if (mt->has_normal) {
    mt->has_normal = false;
    return mt->normal;
  }
  const double u1 = st__random_uniform(g);
  const double u2 = st__random_uniform(g);
  const double radius = sqrt(-2.0 * log1p(-u2));
  const double theta = 2.0 * 3.14159265358979323846 * u1;
  mt->normal = radius * sin(theta);
  mt->has_normal = true;
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
  st__generator_lock(from);
  const mt19937 mt = from->mt;
  st__generator_unlock(from);
  st__generator_lock(g);
  g->mt = mt;
  st__generator_unlock(g);
}

uint64_t st__generator_initial_seed(const st_generator *g) {
  return g->mt.seed;
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
