/* Work given to the thread team by a program of its own: everything is done
 * once, whoever does it, and nobody waits for more than he must.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"

enum { PATIENCE = 20000, LATE = 150, FORGIVEN = 1100 }; /* ms */

static void sleep_ms(int ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&t, NULL);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Waits until *n is at least `want`, but not for ever. */
static bool wait_for(const _Atomic int64_t *n, int64_t want) {
  for (int ms = 0; ms < PATIENCE; ms++) {
    if (*n >= want) return true;
    sleep_ms(1);
  }
  return false;
}

/* -- Slow members --------------------------------------------------------- */

enum { UNITS = 64 };

typedef struct scene {
  pthread_t caller;
  int slow;                  /* ms that another member sleeps; 0: the caller
                                takes his time */
  bool is_awake;             /* the caller has run a piece */
  _Atomic int64_t done;      /* units */
  _Atomic int64_t begun;     /* pieces of another member */
  _Atomic int64_t helped;    /* units of another member */
  _Atomic bool failed;
} scene;

static void play(void *ctx, int64_t begin, int64_t end) {
  scene *s = ctx;
  const bool is_caller = pthread_equal(s->caller, pthread_self());
  if (!is_caller) {
    s->begun++;
    s->helped += end - begin;
  }
  if (is_caller && (!s->slow || !s->is_awake)) sleep_ms(2);
  else if (is_caller && !wait_for(&s->begun, 1)) s->failed = true;
  if (is_caller) s->is_awake = true;
  if (s->slow && !is_caller) {
    if (!wait_for(&s->done, UNITS - (end - begin))) s->failed = true;
    sleep_ms(s->slow);
  }
  s->done += end - begin;
}

static void show(scene *s, int slow) {
  memset(s, 0, sizeof *s);
  s->caller = pthread_self();
  s->slow = slow;
  st_parallel_for(0, UNITS, 1, play, s);
  CHECK(s->done == UNITS && !s->failed);
}

/* A team that was late for a short loop, which the system held up, is forgiven:
 * nothing speaks against one. The caller's first piece takes longer than waking
 * it. */
static void slow_member(void) {
  scene s;
  CHECK(st_set_num_threads(2) == ST_OK);
  sleep_ms(FORGIVEN);
  show(&s, LATE);
  CHECK(s.begun == 1 && s.helped < UNITS / 2);
  puts("a slow member");
  show(&s, 0);
  CHECK(s.helped == 0);
  puts("a late team");
  sleep_ms(FORGIVEN);
  show(&s, 1);
  CHECK(s.begun == 1);
  puts("a team in time");
}

/* -- Short loops --------------------------------------------------------- */

enum { RARELY = 30, ROUNDS = 20 };
static const double HELD_UP = 0.09; /* ms; a team is woken after 0.1 */

static void run_short(void *ctx, int64_t begin, int64_t end) {
  scene *s = ctx;
  if (!pthread_equal(s->caller, pthread_self())) s->helped++;
  s->done += end - begin;
}

static int count_threads(void) {
  int n = 0;
  DIR *dir = opendir("/proc/self/task");
  CHECK(dir);
  for (struct dirent *d; (d = readdir(dir));) n += d->d_name[0] != '.';
  closedir(dir);
  return n;
}

/* No thread starts for loops that are short and rare, unless the system holds
 * one up; many loops in a row have a team. The sanitizers may have threads of
 * their own. */
static void short_loops(void) {
  scene s = {.caller = pthread_self()};
  const int before = count_threads();
  int64_t loops = 0;
  double longest = 0;
  CHECK(st_set_num_threads(2) == ST_OK);
  for (int i = 0; i < ROUNDS; i++) {
    sleep_ms(RARELY);
    const double begun = now_ms();
    st_parallel_for(0, UNITS, 1, run_short, &s);
    const double ms = now_ms() - begun;
    if (ms > longest) longest = ms;
  }
  CHECK(s.done == ROUNDS * UNITS);
  CHECK(count_threads() == before || longest > HELD_UP);
  while (s.helped == 0 && loops++ < 10000000) {
    st_parallel_for(0, UNITS, 1, run_short, &s);
  }
  CHECK(s.helped > 0);
  puts("short loops");
}

/* -- Processors ----------------------------------------------------------- */

/* Members may have moved to other processors; all stay allowed. */
static void compare_affinity(void *ctx, int64_t begin, int64_t end) {
  cpu_set_t own;
  (void)begin, (void)end;
  CHECK(sched_getaffinity(0, sizeof own, &own) == 0);
  CHECK(CPU_EQUAL(&own, (cpu_set_t *)ctx));
  sleep_ms(1);
}

static void affinity(void) {
  cpu_set_t allowed;
  CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  for (int i = 0; i < ROUNDS; i++) {
    st_parallel_for(0, 8, 1, compare_affinity, &allowed);
    if (i % 2) sleep_ms(RARELY);
  }
  puts("affinity");
}

/* -- Cover ---------------------------------------------------------------- */

enum { MOST = 70000 };
static _Atomic unsigned char times[MOST];

typedef struct range { int64_t begin, end; } range;

static void count(void *ctx, int64_t begin, int64_t end) {
  const range *r = ctx;
  CHECK(r->begin <= begin && begin < end && end <= r->end);
  for (int64_t i = begin; i < end; i++) times[i - r->begin]++;
}

static void cover(int64_t begin, int64_t n, int64_t grain) {
  range r = {begin, begin + n};
  st_parallel_for(begin, begin + n, grain, count, &r);
  for (int64_t i = 0; i < n; i++) {
    CHECK(times[i] == 1);
    times[i] = 0;
  }
}

static void every_unit(void) {
  static const int threads[] = {1, 2, 3, 4, 7, 32};
  static const int64_t sizes[] = {0, 1, 2, 3, 5, 63, 64, 65, 1000, 2047, 4097,
                                  32769, MOST};
  static const int64_t grains[] = {0, 1, 2, 7, 100, 1024, 2000, 32768};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    CHECK(st_set_num_threads(threads[i]) == ST_OK);
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
        cover(0, sizes[j], grains[k]);
        cover(-5, sizes[j], grains[k]);
      }
    }
  }
  puts("every unit");
}

/* -- Who works ------------------------------------------------------------ */

typedef struct calls {
  pthread_t caller;
  _Atomic int64_t n, elsewhere;
} calls;

static void note(void *ctx, int64_t begin, int64_t end) {
  calls *c = ctx;
  (void)begin, (void)end;
  c->n++;
  if (!pthread_equal(c->caller, pthread_self())) c->elsewhere++;
}

static void small_work(void) {
  calls c = {.caller = pthread_self()};
  CHECK(st_set_num_threads(4) == ST_OK);
  st_parallel_for(0, 32768, 32768, note, &c);
  st_parallel_for(7, 8, 0, note, &c);
  CHECK(c.n == 2 && c.elsewhere == 0);
  puts("small work");
}

static void nest(void *ctx, int64_t begin, int64_t end) {
  calls inner = {.caller = pthread_self()};
  (void)begin, (void)end;
  st_parallel_for(0, 1000, 1, note, &inner);
  if (inner.elsewhere > 0) atomic_fetch_add((_Atomic int64_t *)ctx, 1);
}

static void work_in_work(void) {
  _Atomic int64_t strays = 0;
  for (int i = 0; i < 20; i++) {
    st_parallel_for(0, 64, 1, nest, &strays);
  }
  CHECK(strays == 0);
  puts("work in work");
}

static void dawdle(void *ctx, int64_t begin, int64_t end) {
  sleep_ms(2);
  note(ctx, begin, end);
}

static void nest_slowly(void *ctx, int64_t begin, int64_t end) {
  calls inner = {.caller = pthread_self()};
  (void)begin, (void)end;
  st_parallel_for(0, 64, 1, dawdle, &inner);
  if (inner.elsewhere > 0) atomic_fetch_add((_Atomic int64_t *)ctx, 1);
}

/* The caller works alone, and longer than it should without the team. */
static void work_in_lonely_work(void) {
  _Atomic int64_t strays = 0;
  scene s;
  CHECK(st_set_num_threads(2) == ST_OK);
  sleep_ms(FORGIVEN);
  show(&s, LATE);
  st_parallel_for(0, 2, 1, nest_slowly, &strays);
  CHECK(strays == 0);
  puts("work in lonely work");
}

static void shares(void) {
  int64_t begin, end;
  CHECK(st_chunk(32769, 32768, 2, 0, &begin, &end));
  CHECK(begin == 0 && end == 16385);
  CHECK(st_chunk(32769, 32768, 2, 1, &begin, &end));
  CHECK(begin == 16385 && end == 32769);
  CHECK(!st_chunk(32769, 32768, 2, 2, &begin, &end));
  puts("shares");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  short_loops();
  sleep_ms(RARELY);
  slow_member();
  sleep_ms(FORGIVEN);
  affinity();
  every_unit();
  small_work();
  work_in_work();
  work_in_lonely_work();
  shares();
  return 0;
}
