/* A host that stops calls which take long: by a flag that a signal handler
 * sets, by the time, and in the thread that it means only.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t flag;
static const int64_t HUGE_SIZE = INT64_C(1) << 40; /* a sum of minutes */

static void on_alarm(int sig) {
  (void)sig;
  flag = 1;
}

static bool check_flag(void *ctx) {
  ++*(int *)ctx;
  return flag;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool check_time(void *ctx) { return now() > *(double *)ctx; }

/* One element, expanded to n. */
static st_tensor *expanded(int64_t n) {
  const int64_t stride = 0;
  static float one = 1;
  st_tensor *t;
  CHECK(st_tensor_wrap(&one, sizeof one, ST_FLOAT32, 1, &n, &stride, 0, NULL,
                       NULL, &t) == ST_OK);
  return t;
}

static st_status sum(int64_t n, double *out) {
  st_tensor *t = expanded(n);
  const st_value args[] = {arg(t), {.tag = ST_TAG_NONE}};
  st_value ret;
  const st_status status = st_call_op(st_op_find("aten::sum", ""), 2, args,
                                      &ret);
  st_tensor_release(&t);
  if (status != ST_OK) return status;
  st_scalar s;
  CHECK(st_tensor_get(ret.u.tensor, 0, NULL, &s) == ST_OK);
  *out = s.u.f;
  st_value_clear(&ret);
  return ST_OK;
}

static void signals(void) {
  struct sigaction action = {.sa_handler = on_alarm};
  double out = 0;
  int asked = 0;
  sigemptyset(&action.sa_mask);
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  st_set_interrupt_check(check_flag, &asked);
  alarm(1);
  CHECK(sum(HUGE_SIZE, &out) == ST_INTERRUPTED);
  CHECK(strcmp(st_message(), "sum: interrupted") == 0);
  CHECK(strcmp(st_status_name(ST_INTERRUPTED), "interrupted") == 0);
  CHECK(flag == 1 && asked > 2); /* few only where the machine is busy */
  /* A call of less than a millisecond does not ask. */
  asked = 0;
  CHECK(sum(1000, &out) == ST_OK && out == 1000 && asked == 0);
  flag = 0;
  CHECK(sum(1 << 28, &out) == ST_OK && out == 1 << 28);
  CHECK(asked > 0);
  puts("a signal");
}

static void deadlines(void) {
  double limit = now() + 0.2, out;
  st_set_interrupt_check(check_time, &limit);
  CHECK(sum(HUGE_SIZE, &out) == ST_INTERRUPTED);
  CHECK(now() < limit + 5);
  st_set_interrupt_check(NULL, NULL);
  CHECK(sum(1 << 26, &out) == ST_OK && out == 1 << 26);
  puts("a deadline");
}

static void *other_thread(void *ctx) {
  double *out = ctx;
  CHECK(sum(1 << 28, out) == ST_OK);
  return NULL;
}

static void threads(void) {
  double limit = 0, out = 0, of_other = 0;
  pthread_t thread;
  st_set_interrupt_check(check_time, &limit);
  CHECK(pthread_create(&thread, NULL, other_thread, &of_other) == 0);
  CHECK(sum(HUGE_SIZE, &out) == ST_INTERRUPTED);
  CHECK(pthread_join(thread, NULL) == 0 && of_other == 1 << 28);
  st_set_interrupt_check(NULL, NULL);
  puts("a thread of its own");
}

static bool stops_process(void) { return flag; }

static void process(void) {
  double out;
  CHECK(st_add_interrupt_check(stops_process) == ST_OK);
  CHECK(st_add_interrupt_check(stops_process) == ST_OK);
  flag = 1;
  CHECK(sum(HUGE_SIZE, &out) == ST_INTERRUPTED);
  struct timespec rest = {0, 2000000};
  nanosleep(&rest, NULL);
  CHECK(st_poll_interrupt() == ST_INTERRUPTED);
  flag = 0;
  puts("the process");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  signals();
  deadlines();
  threads();
  process();
  return 0;
}
