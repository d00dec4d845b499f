/* Generators: a source of random words that is locked, counted and seeded. The
 * Mersenne Twister is seeded and read in the same order as PyTorch's CPU
 * generator.
 */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/threads.h"
#include "op/random/random.h"

enum { N = ST_MT19937_WORDS };

/* What assigning one generator to another copies. */
typedef struct state {
  uint64_t seed;
  bool is_unseeded;    /* the system chose the seed, and nobody has set one */
  uint64_t children;   /* split off so far */
  st_source source;    /* its mt is NULL or the generator's */
  st_mt19937 mt;
} state;

struct st_generator {
  st_refcount refs;
  pthread_mutex_t mutex;
  st_generator *next;  /* in the list of all generators */
  st_limits *limits;   /* that it is charged to, or NULL */
  state now;
};

/* -- Seeds ---------------------------------------------------------------- */

static void seed_mersenne(st_mt19937 *mt, uint64_t seed) {
  uint32_t *words = mt->state;
  words[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < N; i++) {
    const uint32_t last = words[i - 1];
    words[i] = 1812433253u * (last ^ (last >> 30)) + i;
  }
  mt->next = N;
}

/* Where the system gives no random bytes, the time and the process differ. */
uint64_t st_system_seed(void) {
  enum { BITS = 53 }; /* which a double holds */
  uint64_t seed = 0;
  ssize_t got;
  do got = getrandom(&seed, sizeof seed, 0); while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof seed) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    seed = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec << 20 ^
           (uint64_t)getpid();
  }
  return seed & ((UINT64_C(1) << BITS) - 1);
}

static void seed_state(st_generator *g, uint64_t seed) {
  state *s = &g->now;
  st_mt19937 *mt = s->source.mt;
  s->seed = seed;
  s->is_unseeded = false;
  s->children = 0;
  s->source = (st_source){.mt = mt, .at = {.key = seed}};
  if (mt) seed_mersenne(mt, seed);
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

/* Children of one process would draw the same numbers: what nobody has seeded
 * is seeded anew. What was seeded goes on as in the parent. */
static void after_fork_in_child(void) {
  for (st_generator *g = first; g; g = g->next) {
    if (!g->now.is_unseeded) continue;
    seed_state(g, st_system_seed());
    g->now.is_unseeded = true;
  }
  after_fork();
}

static void register_atfork(void) {
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
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

/* A new generator whose state the caller sets. */
static st_status new_generator(st_generator **out) {
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
  *out = g;
  return ST_OK;
}

st_status st_generator_new_of(st_algorithm algorithm, uint64_t seed,
                              st_generator **out) {
  ST_TRY(new_generator(out));
  (*out)->now.source.mt = algorithm == ST_PHILOX ? NULL : &(*out)->now.mt;
  seed_state(*out, seed);
  return ST_OK;
}

void st_generator_retain(st_generator *g) { st__ref_take(&g->refs); }

void st_generator_release(st_generator **g) {
  if (*g && st__ref_drop(&(*g)->refs)) {
    delist(*g);
    pthread_mutex_destroy(&(*g)->mutex);
    st__limits_credit((*g)->limits, sizeof **g);
    st__free(ST_MEM_GENERATOR, *g, sizeof **g);
  }
  *g = NULL;
}

static void lock(st_generator *g) { pthread_mutex_lock(&g->mutex); }
static void unlock(st_generator *g) { pthread_mutex_unlock(&g->mutex); }

st_algorithm st_generator_algorithm(const st_generator *g) {
  return g->now.source.mt ? ST_MERSENNE : ST_PHILOX;
}

void st_generator_seed(st_generator *g, uint64_t seed) {
  lock(g);
  seed_state(g, seed);
  unlock(g);
}

/* Copies through a local buffer, so that no thread holds two locks. */
void st_generator_assign(st_generator *g, st_generator *from) {
  lock(from);
  const state now = from->now;
  unlock(from);
  lock(g);
  g->now = now;
  g->now.is_unseeded = false;
  if (now.source.mt) g->now.source.mt = &g->now.mt;
  unlock(g);
}

uint64_t st_generator_initial_seed(const st_generator *g) {
  return g->now.seed;
}

/* -- Children and jumps --------------------------------------------------- */

static st_status check_philox(const st_generator *g, const char *what) {
  if (!g->now.source.mt) return ST_OK;
  return st__fail(ST_BAD_STATE, "%s: a Mersenne Twister cannot; a generator of "
                  "the algorithm \"philox\" can", what);
}

static st_source next_child(st_generator *g) {
  return st__random_child(&g->now.source, g->now.children++);
}

st_status st_generator_split(st_generator *g, st_generator **out) {
  st_source source = {.mt = NULL};
  lock(g);
  const st_status status = check_philox(g, "split");
  if (status == ST_OK) source = next_child(g);
  unlock(g);
  ST_TRY(status);
  ST_TRY(new_generator(out));
  (*out)->now.source = source;
  (*out)->now.seed = source.at.key;
  (*out)->now.children = 0;
  return ST_OK;
}

/* The block where jumps end: no draw gets from there to those of children. */
static const uint64_t JUMP_END = UINT64_C(1) << 62;

static st_status jump(state *s, uint64_t n) {
  st_source to = s->source;
  st__random_seek(&to, n);
  if (to.at.block > JUMP_END) {
    return st__fail(ST_BAD_VALUE, "jump: the numbers of a generator end after "
                    "2^64 words");
  }
  s->source = to;
  return ST_OK;
}

st_status st_generator_jump(st_generator *g, uint64_t n) {
  lock(g);
  st_status status = check_philox(g, "jump");
  if (status == ST_OK) status = jump(&g->now, n);
  unlock(g);
  return status;
}

/* -- States --------------------------------------------------------------- */

/* What torch.Generator.get_state returns. */
typedef struct torch_state {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next, words[N];
  double unused_x, normal, unused_rho;
  int32_t has_normal, unused[3];
} torch_state;

_Static_assert(sizeof(torch_state) == ST_MERSENNE_STATE, "torch_state");

static void to_torch(const state *s, torch_state *t) {
  memset(t, 0, sizeof *t);
  t->seed = s->seed;
  t->next = (uint64_t)s->mt.next;
  t->left = N + 1 - s->mt.next;
  t->seeded = 1;
  for (int i = 0; i < N; i++) t->words[i] = s->mt.state[i];
  t->has_normal = s->source.has_normal;
  t->normal = s->source.has_normal ? s->source.normal : 0;
}

/* left is 1 before the first word, where next is 0, and after the last. The
 * words come from the state that follows, so all but `next` are skipped. */
static st_status from_torch(state *s, const torch_state *t) {
  const bool renew = t->left == 1;
  if (t->seeded != 1 || t->left < 1 || t->left > N || t->next > N ||
      (!renew && t->next != (uint64_t)(N + 1 - t->left))) {
    return st__fail(ST_BAD_VALUE, "set_state: the bytes are no state of a "
                    "Mersenne Twister");
  }
  s->seed = t->seed;
  for (int i = 0; i < N; i++) s->mt.state[i] = (uint32_t)t->words[i];
  s->mt.next = renew ? N : (int)t->next;
  st__mersenne_temper(&s->mt);
  s->source.has_normal = t->has_normal != 0;
  s->source.normal = t->normal;
  return ST_OK;
}

/* Five numbers of 64 bits. */
static void to_numbers(const state *s, uint64_t *n) {
  n[0] = s->source.at.key;
  n[1] = s->source.at.stream;
  n[2] = s->source.at.block;
  n[3] = (uint64_t)s->source.lane;
  n[4] = s->children;
}

static st_status from_numbers(state *s, const uint64_t *n) {
  if (n[3] >= ST_PHILOX_WORDS) {
    return st__fail(ST_BAD_VALUE, "set_state: the bytes are no state of "
                    "Philox");
  }
  const st_philox_at at = {.key = n[0], .stream = n[1], .block = n[2]};
  s->source = (st_source){.at = at};
  st__random_seek(&s->source, n[3]);
  s->seed = n[0];
  s->children = n[4];
  return ST_OK;
}

static size_t state_size(const state *s) {
  return s->source.mt ? ST_MERSENNE_STATE : ST_PHILOX_STATE;
}

static st_status check_size(const state *s, size_t n) {
  if (n == state_size(s)) return ST_OK;
  return st__fail(ST_BAD_VALUE, "set_state: a state of this generator has %zu "
                  "bytes, not %zu", state_size(s), n);
}

size_t st_generator_state_size(st_generator *g) {
  lock(g);
  const size_t size = state_size(&g->now);
  unlock(g);
  return size;
}

static st_status write_state(const state *s, void *bytes, size_t n) {
  torch_state t;
  uint64_t numbers[ST_PHILOX_STATE / 8];
  ST_TRY(check_size(s, n));
  if (s->source.mt) to_torch(s, &t);
  else to_numbers(s, numbers);
  memcpy(bytes, s->source.mt ? (void *)&t : numbers, n);
  return ST_OK;
}

static st_status read_state(state *s, const void *bytes, size_t n) {
  torch_state t;
  uint64_t numbers[ST_PHILOX_STATE / 8];
  ST_TRY(check_size(s, n));
  memcpy(s->source.mt ? (void *)&t : numbers, bytes, n);
  return s->source.mt ? from_torch(s, &t) : from_numbers(s, numbers);
}

st_status st_generator_get_state(st_generator *g, void *bytes, size_t n) {
  lock(g);
  const st_status status = write_state(&g->now, bytes, n);
  unlock(g);
  return status;
}

st_status st_generator_set_state(st_generator *g, const void *bytes,
                                 size_t n) {
  lock(g);
  const st_status status = read_state(&g->now, bytes, n);
  if (status == ST_OK) g->now.is_unseeded = false;
  unlock(g);
  return status;
}

/* -- Draws ---------------------------------------------------------------- */

static st_status run_in_order(st_generator *g, int64_t n, st_draw_fn fn,
                              const void *ctx) {
  for (int64_t at = 0, end; at < n; at = end) {
    end = n - at > ST_RANDOM_BLOCK ? at + ST_RANDOM_BLOCK : n;
    lock(g);
    fn(ctx, &g->now.source, at, end);
    unlock(g);
    ST_TRY(st__poll_interrupt());
  }
  return ST_OK;
}

typedef struct draw {
  st_draw_fn fn;
  const void *ctx;
  st_source start;
  int64_t n;
} draw;

static void run_range(void *ctx, int64_t begin, int64_t end) {
  const draw *d = ctx;
  st_source source = d->start;
  d->fn(d->ctx, &source, begin, end);
}

/* Ranges of ST_SAMPLE elements. */
static void run_samples(void *ctx, int64_t begin, int64_t end) {
  const int64_t n = ((const draw *)ctx)->n;
  run_range(ctx, begin * ST_SAMPLE,
            end * ST_SAMPLE < n ? end * ST_SAMPLE : n);
}

/* False for a Mersenne Twister. *start: the source at the start of a draw of so
 * many words (0: not known), which g skips. Another thread may assign to g, so
 * only the lock holder knows its algorithm. */
static bool start_draw(st_generator *g, uint64_t words, st_source *start) {
  lock(g);
  const bool philox = !g->now.source.mt;
  if (philox && words == 0) {
    *start = next_child(g);
  } else if (philox) {
    *start = g->now.source;
    const uint64_t behind = ((uint64_t)start->lane + words) % ST_PHILOX_WORDS;
    st__random_seek(&g->now.source,
                    words + (behind ? ST_PHILOX_WORDS - behind : 0));
  }
  unlock(g);
  return philox;
}

/* Of n elements; 0 if it is not known. */
static uint64_t words_of(int64_t n, int words) {
  const uint64_t count = (uint64_t)n;
  return words == ST_OF_PAIRS ? (count + count % 2) / 2 * ST_PHILOX_WORDS
                              : count * (uint64_t)words;
}

st_status st__random_run(st_generator *g, int64_t n, int words, int64_t grain,
                         st_draw_fn fn, const void *ctx) {
  draw d = {.fn = fn, .ctx = ctx, .n = n};
  if (n == 0) return ST_OK;
  if (!start_draw(g, words_of(n, words), &d.start)) {
    return run_in_order(g, n, fn, ctx);
  }
  if (words != 0) return st__parallel_try(0, n, grain, run_range, &d);
  return st__parallel_try(0, (n - 1) / ST_SAMPLE + 1, grain / ST_SAMPLE,
                          run_samples, &d);
}

/* -- The default generator ------------------------------------------------ */

static st_generator default_generator;

/* The reference count never reaches zero: the first reference is not handed
 * out. */
static void make_default(void) {
  st__ref_init(&default_generator.refs);
  enlist(&default_generator);
  default_generator.now.source.mt = &default_generator.now.mt;
  seed_state(&default_generator, st_system_seed());
  default_generator.now.is_unseeded = true;
}

/* Of this thread; NULL: that of the process. */
static _Thread_local st_generator *entered;

st_generator *st_generator_enter(st_generator *g) {
  st_generator *before = entered;
  entered = g;
  return before;
}

st_generator *st_default_generator(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (entered) return entered;
  pthread_once(&once, make_default);
  return &default_generator;
}

st_generator *st__generator_of(const st_value *v) {
  return v->tag == ST_TAG_GENERATOR ? v->u.generator
                                    : st_default_generator();
}
