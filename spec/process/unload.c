/* A host that loads the library, computes with a team, unloads it and ends,
 * the team still asleep.
 *
 *     unload LIBRARY
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*init_fn)(void);
typedef int (*set_fn)(int);
typedef void (*range_fn)(void *, int64_t, int64_t);
typedef void (*for_fn)(int64_t, int64_t, int64_t, range_fn, void *);

static int done[64];

static void mark(void *unused, int64_t begin, int64_t end) {
  (void)unused;
  for (int64_t i = begin; i < end; i++) done[i]++;
}

/* ISO C has no cast from an object to a function. */
static void find(void *library, const char *name, void *fn) {
  void *const symbol = dlsym(library, name);
  memcpy(fn, &symbol, sizeof symbol);
}

static bool compute(const char *path) {
  init_fn init;
  set_fn set_num_threads;
  for_fn parallel_for;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  find(library, "st_init", &init);
  find(library, "st_set_num_threads", &set_num_threads);
  find(library, "st_parallel_for", &parallel_for);
  if (init() != 0 || set_num_threads(2) != 0) return false;
  memset(done, 0, sizeof done);
  parallel_for(0, 64, 1, mark, NULL);
  for (int i = 0; i < 64; i++) if (done[i] != 1) return false;
  return dlclose(library) == 0;
}

int main(int argc, char **argv) {
  alarm(30);
  for (int i = 0; i < 3; i++) {
    if (argc != 2 || !compute(argv[1])) return 1;
  }
  return 0;
}
