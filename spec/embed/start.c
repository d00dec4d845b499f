/* Processes that are forked while another thread starts the engine, which may
 * begin while the fork is under way already: the child starts it as well, or
 * finds it started.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* The allocator of a sanitizer has locks that a fork does not wait for. */
#ifdef __SANITIZE_ADDRESS__
enum { PROCESSES = 0 };
#else
enum { PROCESSES = 40 };
#endif
enum { STEP = 50000, PATIENCE = 30 }; /* ns, s */

static pthread_t starter;
static struct timespec rest;

static void *start(void *arg) {
  (void)arg;
  return st_init() == ST_OK ? NULL : "failed";
}

/* Another thread starts; some time goes by. */
static void begin(void) {
  if (pthread_create(&starter, NULL, start, NULL) != 0) _exit(5);
  nanosleep(&rest, NULL);
}

/* The exit code of a process that can do something. */
static int use(void) {
  st_tensor *t = NULL;
  const int64_t size = 3;
  if (st_init() != ST_OK) return 2;
  if (st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &size, NULL, &t)) return 3;
  const int64_t n = st_tensor_numel(t);
  st_tensor_release(&t);
  return n == 3 && st_op_find("aten::add", "Tensor") ? 0 : 4;
}

static int end_of(pid_t pid) {
  int status = -1;
  return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Another thread begins before the fork, or in a handler of it. */
static int fork_meanwhile(bool in_handler) {
  void *failure;
  alarm(PATIENCE);
  if (!in_handler) begin();
  else if (pthread_atfork(begin, NULL, NULL) != 0) return 5;
  const pid_t child = fork();
  if (child == 0) {
    alarm(PATIENCE);
    _exit(use());
  }
  const int status = end_of(child);
  pthread_join(starter, &failure);
  return status == 0 && !failure ? use() : 6;
}

static void check_forks(bool in_handler) {
  for (int i = 0; i < PROCESSES; i++) {
    rest.tv_nsec = (long)i * STEP;
    const pid_t child = fork();
    if (child == 0) _exit(fork_meanwhile(in_handler));
    CHECK(end_of(child) == 0);
  }
}

int main(void) {
  check_forks(false);
  puts("forks while it starts");
  check_forks(true);
  puts("starts while it forks");
  return 0;
}
