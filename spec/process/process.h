/* What the programs of this folder share: work for a team, children that are
 * given time, and a check that ends the program.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <strided.h>

enum { PATIENCE = 60 }; /* seconds until it counts as a hang */

#define UNUSED __attribute__((unused)) static

#define CHECK(cond) do {                                               \
    if (!(cond)) {                                                     \
      fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__,  \
              #cond, st_message());                                    \
      _exit(1);                                                        \
    }                                                                  \
  } while (0)

/* -- Work ----------------------------------------------------------------- */

UNUSED st_tensor *filled(int64_t rows, int64_t cols, double x) {
  const int64_t sizes[] = {rows, cols};
  st_value args[] = {
    {ST_TAG_TENSOR, 0, {0}}, {ST_TAG_FLOAT, 0, {.f = x}}
  }, ret;
  st_tensor *t;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 2, sizes, NULL, &t) ==
        ST_OK);
  args[0].u.tensor = t;
  CHECK(st_call_op(st_op_find("aten::fill_", "Scalar"), 2, args, &ret) ==
        ST_OK);
  st_tensor_release(&ret.u.tensor);
  return t;
}

UNUSED double first_of(const st_tensor *t) {
  const int64_t at[] = {0, 0};
  st_scalar s;
  CHECK(st_tensor_get(t, 2, at, &s) == ST_OK);
  return s.u.f;
}

/* The first element of name(a, b). */
UNUSED double compute(const char *name, const char *overload, st_tensor *a,
                      st_tensor *b) {
  const st_value args[] = {{ST_TAG_TENSOR, 0, {.tensor = a}},
                           {ST_TAG_TENSOR, 0, {.tensor = b}}};
  st_value ret;
  CHECK(st_call_op(st_op_find(name, overload), 2, args, &ret) == ST_OK);
  const double x = first_of(ret.u.tensor);
  st_tensor_release(&ret.u.tensor);
  return x;
}

enum { SIDE = 192, SUMS = 200 };

/* Sums and a product that are enough to wake a team. */
UNUSED void compute_both(void) {
  st_tensor *a = filled(SIDE * 2, SIDE * 2, 1), *b = filled(SIDE, SIDE, 2);
  for (int i = 0; i < SUMS; i++) {
    CHECK(compute("aten::add", "Tensor", a, a) == 2);
  }
  CHECK(compute("aten::matmul", "", b, b) == 4 * SIDE);
  st_tensor_release(&a);
  st_tensor_release(&b);
}

/* -- A team that met ------------------------------------------------------ */

/* Counts the threads that took a piece, the caller waiting for others. */
typedef struct meeting {
  pthread_t caller;
  _Atomic int others;
} meeting;

UNUSED void meet(void *ctx, int64_t begin, int64_t end) {
  meeting *m = ctx;
  (void)begin, (void)end;
  if (!pthread_equal(m->caller, pthread_self())) {
    m->others++;
    return;
  }
  for (int i = 0; i < 50 && m->others == 0; i++) usleep(100);
}

/* Does anyone help the caller? For a second it may be that a late team is out
 * of favour. */
UNUSED bool has_help(void) {
  meeting m = {.caller = pthread_self()};
  for (int i = 0; i < 1000 && m.others == 0; i++) {
    st_parallel_for(0, 64, 1, meet, &m);
  }
  return m.others > 0;
}

/* -- Children ------------------------------------------------------------- */

/* Runs fn in a child; false unless it comes back in time. */
UNUSED int status_of_child(void (*fn)(void)) {
  int status;
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(PATIENCE / 4);
    fn();
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

UNUSED bool is_well(void (*fn)(void)) {
  const int status = status_of_child(fn);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#endif
