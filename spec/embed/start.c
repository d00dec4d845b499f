/* Processes that are forked while another thread starts the engine: the child
 * starts it as well, or finds it started.
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

static void *start(void *arg) {
  (void)arg;
  return st_init() == ST_OK ? NULL : "failed";
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

/* Another thread starts; some time later comes the fork. */
static int fork_meanwhile(long ns) {
  pthread_t thread;
  void *failure;
  const struct timespec rest = {0, ns};
  alarm(PATIENCE);
  if (pthread_create(&thread, NULL, start, NULL) != 0) return 5;
  nanosleep(&rest, NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(PATIENCE);
    _exit(use());
  }
  const int status = end_of(child);
  pthread_join(thread, &failure);
  return status == 0 && !failure ? use() : 6;
}

int main(void) {
  for (int i = 0; i < PROCESSES; i++) {
    const pid_t child = fork();
    if (child == 0) _exit(fork_meanwhile((long)i * STEP));
    CHECK(end_of(child) == 0);
  }
  puts("forks while it starts");
  return 0;
}
