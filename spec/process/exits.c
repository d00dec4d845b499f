/* One way to end a process, after a team has worked or while others do.
 *
 *     exits WAY
 */

#include "process.h"

static void *compute_for_ever(void *unused) {
  (void)unused;
  for (;;) compute_both();
  return NULL;
}

static void detach(int n) {
  for (int i = 0; i < n; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, compute_for_ever, NULL) == 0);
    CHECK(pthread_detach(thread) == 0);
  }
  compute_both();
}

static void *exit_here(void *unused) {
  (void)unused;
  compute_both();
  exit(0);
}

static void *end_last(void *first) {
  CHECK(pthread_join(*(pthread_t *)first, NULL) == 0);
  compute_both();
  return NULL;
}

static void exit_in_a_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, exit_here, NULL) == 0);
  for (;;) compute_both();
}

static void end_before_a_thread(void) {
  static pthread_t self;
  pthread_t thread;
  self = pthread_self();
  CHECK(pthread_create(&thread, NULL, end_last, &self) == 0);
  pthread_exit(NULL);
}

/* The last handler that runs, for it is the first that there was. */
static void compute_at_exit(void) { compute_both(); }

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  const bool is_late = strcmp(way, "at exit") == 0;
  alarm(PATIENCE / 2);
  if (is_late) CHECK(atexit(compute_at_exit) == 0);
  CHECK(st_init() == ST_OK && st_set_num_threads(2) == ST_OK);
  compute_both();
  if (strcmp(way, "thread") == 0) exit_in_a_thread();
  if (strcmp(way, "last thread") == 0) end_before_a_thread();
  if (strncmp(way, "busy", 4) == 0) detach(2);
  if (strcmp(way, "busy quick") == 0) quick_exit(0);
  if (strcmp(way, "busy now") == 0) _exit(0);
  CHECK(is_late || *way == 'b' || strcmp(way, "asleep") == 0);
  return 0;
}
