/* A host with little address space: Lua states in threads of their own run a
 * script until memory is out.
 *
 *     limits SCRIPT THREADS MEGABYTES
 *
 * The limit (RLIMIT_AS) is so much above what the process has once every
 * state is open. Prints what the scripts return, a line each.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

enum { MOST = 16 };

static const char *script;
static pthread_barrier_t open, limited;

static void give_up(const char *why) {
  fprintf(stderr, "%s\n", why ? why : "an error that is no text");
  exit(1);
}

static void *run(void *result) {
  lua_State *L = luaL_newstate();
  if (!L) give_up("no state");
  luaL_openlibs(L);
  if (luaL_loadfile(L, script) != 0 || lua_pcall(L, 0, 1, 0) != 0) {
    give_up(lua_tostring(L, -1));
  }
  pthread_barrier_wait(&open);
  pthread_barrier_wait(&limited);
  if (lua_pcall(L, 0, 1, 0) != 0) give_up(lua_tostring(L, -1));
  snprintf(result, 512, "%s", lua_tostring(L, -1));
  lua_close(L);
  return NULL;
}

/* Bytes of address space that the process has. */
static rlim_t address_space(void) {
  unsigned long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%lu", &pages) != 1) give_up("no /proc/self/statm");
  fclose(f);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
  static char results[MOST][512];
  pthread_t threads[MOST];
  const int n = argc == 4 ? atoi(argv[2]) : 0;
  if (n < 1 || n > MOST) give_up("usage: limits SCRIPT THREADS MEGABYTES");
  script = argv[1];
  pthread_barrier_init(&open, NULL, (unsigned)n + 1);
  pthread_barrier_init(&limited, NULL, (unsigned)n + 1);
  for (int i = 0; i < n; i++) {
    if (pthread_create(&threads[i], NULL, run, results[i]) != 0) {
      give_up("no thread");
    }
  }
  pthread_barrier_wait(&open);
  const rlim_t most = address_space() + ((rlim_t)atoi(argv[3]) << 20);
  if (setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) != 0) {
    give_up("no limit");
  }
  pthread_barrier_wait(&limited);
  for (int i = 0; i < n; i++) {
    pthread_join(threads[i], NULL);
    puts(results[i]);
  }
  return 0;
}
