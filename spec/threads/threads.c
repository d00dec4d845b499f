/* Threads against the registry, on the public header alone: ten call while
 * one registers and drops operators, kernels are replaced while they run,
 * threads come and go, and the process forks. Prints a line per scene; exits
 * 1 at the first thing that is not so.
 *
 *     threads [OPERATORS]
 */

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "storm.h"

enum { CALLERS = 10 };
enum { PATIENCE = 120 }; /* seconds until it counts as a deadlock */

static int64_t live(const char *name) {
  st_memory m;
  for (int k = 0; st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, name) == 0) return m.count;
  }
  return -1;
}

/* -- Scenes --------------------------------------------------------------- */

/* Objects of the registry once all tables are dropped and what was retired is
 * gone: the fallback drops the former, the call sees to the latter. */
static int64_t settled(void) {
  const st_kernel none = {.debug = "settles"};
  st_registration *r;
  CHECK(st_implement_fallback("PrivateUse3", &none, &r) == ST_OK);
  st_registration_release(&r);
  st_tensor *t = filled(ST_DEVICE_CPU, 1);
  const st_value both[] = {arg(t), arg(t)};
  CHECK(first_of_call("aten::add", "Tensor", 2, both) == 2);
  st_tensor_release(&t);
  CHECK(atomic_load(&dropped) == atomic_load(&given));
  return live("registry");
}

/* Hears of every definition, on the thread that registers. */
static void hear(void *ctx, const st_op *op, bool is_defined) {
  if (strncmp(st_op_name(op), "storm::f", 8) != 0) return;
  ((int *)ctx)[is_defined]++;
}

static void ten_call(dice *d, int first, int n, bool is_shown) {
  caller callers[CALLERS];
  steady s = {NULL, NULL};
  caller sum = {.calls = 0};
  st_registration *listener;
  int heard[2] = {0, 0};
  CHECK(st_listen(hear, heard, &listener) == ST_OK);
  begin(&s);
  atomic_store(&newest, first);
  atomic_store(&calling, 0);
  atomic_store(&is_over, false);
  for (int i = 0; i < CALLERS; i++) start(&callers[i], first + i, 0);
  while (atomic_load(&calling) < CALLERS) sched_yield();
  register_and_drop(d, &s, first, n);
  atomic_store(&is_over, true);
  for (int i = 0; i < CALLERS; i++) {
    finish(&callers[i]);
    sum.calls += callers[i].calls;
    sum.answers += callers[i].answers;
    sum.misses += callers[i].misses;
    sum.seen += callers[i].seen;
  }
  end(&s);
  st_registration_release(&listener);
  CHECK(heard[0] == n && heard[1] == n);
  CHECK(sum.answers > 0 && sum.misses > 0 && sum.seen > 0);
  if (is_shown) {
    printf("storm: %d operators came and went, %d threads called %lld times, "
           "met %lld and missed %lld of them\n", n, CALLERS,
           (long long)sum.calls, (long long)sum.answers,
           (long long)sum.misses);
  }
}

/* Everything is said once, with as many threads, then n operators more. */
static void storm(int n) {
  dice d = {1};
  settled(); /* this thread is one of those that call */
  ten_call(&d, 0, TEXTS, false);
  const int64_t before = settled();
  ten_call(&d, TEXTS, n, true);
  CHECK(settled() == before);
}

/* -- Kernels that are replaced while they run ----------------------------- */

typedef struct gate {
  pthread_mutex_t mutex;
  pthread_cond_t moved;
  int inside;
  bool is_open;
} gate;

static gate the_gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                        0, false};

/* Like answer, once the gate is open. */
static st_status wait_and_answer(const st_call *call, const st_value *args,
                                 st_value *rets) {
  gate *g = &the_gate;
  const context *c = call->ctx;
  pthread_mutex_lock(&g->mutex);
  g->inside++;
  pthread_cond_broadcast(&g->moved);
  while (!g->is_open) pthread_cond_wait(&g->moved, &g->mutex);
  pthread_mutex_unlock(&g->mutex);
  CHECK(c->state == ALIVE);
  return answer(call, args, rets);
}

static void *call_slow(void *result) {
  st_tensor *t = filled(ST_DEVICE_CPU, 1);
  const st_value args = arg(t);
  st_value ret;
  CHECK(st_call_op(st_op_find("storm::slow", ""), 1, &args, &ret) == ST_OK);
  *(int64_t *)result = ret.u.i;
  st_tensor_release(&t);
  return NULL;
}

static void wait_inside(gate *g, int n) {
  pthread_mutex_lock(&g->mutex);
  while (g->inside < n) pthread_cond_wait(&g->moved, &g->mutex);
  pthread_mutex_unlock(&g->mutex);
}

static void open_gate(gate *g) {
  pthread_mutex_lock(&g->mutex);
  g->is_open = true;
  pthread_cond_broadcast(&g->moved);
  pthread_mutex_unlock(&g->mutex);
}

/* The definition goes, too: it is the call that keeps the kernel. */
static void replaced(void) {
  pthread_t threads[CALLERS];
  int64_t old[CALLERS], new = 0;
  st_registration *schema, *first, *second;
  const st_kernel k = {.fn = wait_and_answer, .ctx = new_context(10),
                       .free_ctx = drop_context, .debug = "threads.c"};
  const int dropped_before = atomic_load(&dropped);
  CHECK(st_define("storm", "slow(Tensor a) -> int", NULL, "threads.c",
                  &schema) == ST_OK);
  CHECK(st_implement("storm::slow", "CPU", &k, &first) == ST_OK);
  for (int i = 0; i < CALLERS; i++) {
    CHECK(pthread_create(&threads[i], NULL, call_slow, &old[i]) == 0);
  }
  wait_inside(&the_gate, CALLERS);
  st_registration_release(&first);
  register_kernel("storm::slow", "CPU", 20, &second);
  call_slow(&new);
  st_registration_release(&second);
  st_registration_release(&schema);
  CHECK(!st_op_find("storm::slow", ""));
  CHECK(new == 20 && atomic_load(&dropped) == dropped_before);
  open_gate(&the_gate);
  for (int i = 0; i < CALLERS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(old[i] == 10);
  }
  settled();
  printf("replaced: %d calls ended in the kernel they began in\n", CALLERS);
}

/* -- Two threads that register -------------------------------------------- */

/* Each kernel hides the other thread's, or is hidden by it. */
static void *register_often(void *times) {
  st_registration *kernel;
  for (int i = 0; i < *(const int *)times; i++) {
    register_kernel("storm::both", "CPU", 40, &kernel);
    st_registration_release(&kernel);
  }
  return NULL;
}

static void two_register(int n) {
  pthread_t other;
  st_registration *schema;
  const int64_t before = settled();
  CHECK(st_define("storm", "both(Tensor a) -> int", NULL, "threads.c",
                  &schema) == ST_OK);
  CHECK(pthread_create(&other, NULL, register_often, &n) == 0);
  register_often(&n);
  CHECK(pthread_join(other, NULL) == 0);
  st_registration_release(&schema);
  CHECK(settled() >= before);
  printf("two registered: %d kernels each\n", n);
}

/* -- While another thread registers --------------------------------------- */

enum { MEANWHILE = 20000 }; /* operators, at most */

/* Registers and drops until the scene is over. */
typedef struct registrar {
  pthread_t thread;
  steady steady;
  int done;
} registrar;

static void *register_meanwhile(void *ctx) {
  registrar *r = ctx;
  dice d = {2};
  while (!atomic_load(&is_over) && r->done < MEANWHILE) {
    register_and_drop(&d, &r->steady, r->done, WINDOW);
    r->done += WINDOW;
  }
  return NULL;
}

static void start_registrar(registrar *r) {
  *r = (registrar){.done = 0};
  begin(&r->steady);
  atomic_store(&newest, 0);
  atomic_store(&is_over, false);
  CHECK(pthread_create(&r->thread, NULL, register_meanwhile, r) == 0);
}

static void finish_registrar(registrar *r) {
  atomic_store(&is_over, true);
  CHECK(pthread_join(r->thread, NULL) == 0);
  end(&r->steady);
  CHECK(r->done > 0);
}

/* What a thread leaves behind serves the next one. */
static void threads_come_and_go(int n) {
  caller callers[CALLERS];
  registrar r;
  const int64_t before = settled();
  start_registrar(&r);
  for (int i = 0; i < CALLERS; i++) start(&callers[i], i, 1);
  for (int i = 0; i < n; i++) {
    finish(&callers[i % CALLERS]);
    start(&callers[i % CALLERS], i, 1 + i % 7);
  }
  for (int i = 0; i < CALLERS; i++) finish(&callers[i]);
  finish_registrar(&r);
  CHECK(settled() == before);
  printf("coming and going: %d threads\n", n + CALLERS);
}

/* A child has one thread, and the registry as it was between two changes. */
static void be_a_child(void) {
  alarm(PATIENCE);
  caller c = {.dice = {3}, .rounds = 3};
  st_registration *schema, *kernel;
  st_value ret;
  st_tensor *t = filled(ST_DEVICE_CPU, 1);
  const st_value args = arg(t);
  call(&c);
  CHECK(st_define("storm", "child(Tensor a) -> int", NULL, "threads.c",
                  &schema) == ST_OK);
  register_kernel("storm::child", "CPU", 30, &kernel);
  CHECK(st_call_op(st_op_find("storm::child", ""), 1, &args, &ret) == ST_OK);
  CHECK(ret.u.i == 30);
  st_registration_release(&kernel);
  st_registration_release(&schema);
  CHECK(!st_op_find("storm::child", ""));
  st_library *lib;
  CHECK(st_library_open("child", ST_LIBRARY_DEF, NULL, ST_REPLACE,
                        "threads.c", &lib) == ST_OK);
  CHECK(st_library_define(lib, "f(Tensor a) -> int", NULL, 0, "") == ST_OK);
  st_library_close(&lib);
  CHECK(!st_op_find("child::f", ""));
  _exit(0);
}

/* Not under AddressSanitizer: a lock of its allocator that another thread
 * holds when the process forks stays locked in the child. */
#if defined(__SANITIZE_ADDRESS__)
static void forks(int n) {
  (void)n, (void)be_a_child;
  printf("forks: none\n");
}
#else
static void forks(int n) {
  caller c;
  registrar r;
  start_registrar(&r);
  start(&c, 1, 0);
  fflush(stdout);
  for (int i = 0; i < n; i++) {
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) be_a_child();
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  atomic_store(&is_over, true);
  finish(&c); /* before the operator that it calls goes */
  finish_registrar(&r);
  printf("forks: %d children called and registered\n", n);
}
#endif

/* A kernel on top of the one it replaces, which is what is meant here. */
static void ignore(void *ctx, const char *warning) {
  (void)ctx;
  CHECK(strstr(warning, "storm::steady") || strstr(warning, "storm::slow") ||
        strstr(warning, "storm::both"));
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  alarm(PATIENCE);
  CHECK(n > 0 && st_init() == ST_OK);
  st_set_warning_handler(ignore, NULL);
  make_contexts(3 * (TEXTS + n + 2 * MEANWHILE) + 2 * n + 100);
  const int64_t tensors = live("tensors"), values = live("values");
  st_library *owner; /* as early as an extension would have it */
  CHECK(st_library_open("storm", ST_LIBRARY_DEF, NULL, 0, "threads.c",
                        &owner) == ST_OK);
  storm(n);
  replaced();
  two_register(n);
  threads_come_and_go(n / 10);
  forks(n / 100);
  st_library_close(&owner);
  settled();
  CHECK(live("tensors") == tensors && live("values") == values);
  printf("nothing left of %d kernels\n", atomic_load(&given));
  free_contexts();
  return 0;
}
