/* How many threads there are: as the environment says, and as many as can be
 * made.
 *
 *     limits number      prints the number
 *     limits processes   a user who may have no thread more, then some
 *     limits memory      no room for another stack
 */

#include "process.h"

#include <sys/resource.h>

enum { WISH = 4, NOBODY = 61234 }; /* a user of whom there is nothing else */

static void set_limit(int what, rlim_t value) {
  struct rlimit limit;
  CHECK(getrlimit(what, &limit) == 0);
  limit.rlim_cur = value;
  CHECK(setrlimit(what, &limit) == 0);
}

/* What is asked for again is tried again. */
static void compute_on(int n) {
  CHECK(st_set_num_threads(WISH) == ST_OK && st_num_threads() == WISH);
  compute_both();
  CHECK(st_num_threads() == n);
  CHECK(n == 1 || has_help());
  compute_both();
}

/* The limit does not hold for root. */
static void few_processes(void) {
  const bool is_root = getuid() == 0;
  if (is_root) CHECK(setuid(NOBODY) == 0);
  set_limit(RLIMIT_NPROC, 0);
  compute_on(1);
  if (!is_root) return;
  set_limit(RLIMIT_NPROC, 3); /* another one, and room to try it */
  compute_on(2);
}

static rlim_t address_space(void) {
  unsigned long pages;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%lu", &pages) == 1);
  fclose(f);
  return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void little_memory(void) {
  set_limit(RLIMIT_STACK, 64 << 20);
  CHECK(st_set_num_threads(1) == ST_OK);
  compute_both();
  set_limit(RLIMIT_AS, address_space() + (4 << 20));
  compute_on(1);
  set_limit(RLIMIT_AS, RLIM_INFINITY);
  compute_on(WISH);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  alarm(PATIENCE);
  CHECK(st_init() == ST_OK);
  if (strcmp(what, "processes") == 0) few_processes();
  else if (strcmp(what, "memory") == 0) little_memory();
  else printf("%d\n", st_num_threads());
  return 0;
}
