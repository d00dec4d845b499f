/* Threads of a host that begin at the same time, and many that come, compute
 * and go: each has a team, and none leaves it behind.
 *
 *     come [THREADS]
 */

#include "process.h"

enum { AT_ONCE = 8 };

static _Atomic int ready;

static void *begin(void *unused) {
  (void)unused;
  ready++;
  while (ready < AT_ONCE) {}
  CHECK(st_init() == ST_OK);
  compute_both();
  return NULL;
}

static void all_begin(void) {
  pthread_t threads[AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++) {
    CHECK(pthread_create(&threads[i], NULL, begin, NULL) == 0);
  }
  for (int i = 0; i < AT_ONCE; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  printf("begun by %d at once\n", AT_ONCE);
}

static long status(const char *name) {
  char line[256];
  long value = -1;
  FILE *f = fopen("/proc/self/status", "r");
  CHECK(f);
  while (fgets(line, sizeof line, f)) {
    const size_t n = strlen(name);
    if (strncmp(line, name, n) == 0 && line[n] == ':') {
      value = strtol(line + n + 1, NULL, 10);
    }
  }
  fclose(f);
  CHECK(value >= 0);
  return value;
}

static void *compute_once(void *has_product) {
  st_tensor *t = filled(SIDE * 2, SIDE * 2, 1);
  CHECK(compute("aten::add", "Tensor", t, t) == 2);
  st_tensor_release(&t);
  if (has_product) compute_both();
  return NULL;
}

static void come_and_go(int n) {
  for (int i = 0; i < n; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, compute_once,
                         i % 20 ? NULL : &thread) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

/* The members of a team that is dismissed end in their own time. */
static long settled_threads(long want) {
  for (int ms = 0; ms < 5000 && status("Threads") > want; ms++) usleep(1000);
  return status("Threads");
}

int main(int argc, char **argv) {
  enum { GROWTH = 4096 }; /* kB */
  const int n = argc > 1 ? atoi(argv[1]) : 1000;
  alarm(PATIENCE);
  all_begin();
  CHECK(st_set_num_threads(2) == ST_OK);
  come_and_go(n / 10);
  CHECK(settled_threads(1) == 1);
  const long before = status("RssAnon");
  come_and_go(n);
  CHECK(settled_threads(1) == 1);
  const long grown = status("RssAnon") - before;
  if (grown >= GROWTH) fprintf(stderr, "grown by %ld kB\n", grown);
  CHECK(grown < GROWTH);
  printf("%d came and went\n", n);
  return 0;
}
