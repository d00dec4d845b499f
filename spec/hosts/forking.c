/* A host that forks while another of its threads runs Lua states.
 *
 *     forking SCENE N
 *
 * Scenes: "compiling" forks while the thread compiles traces, "off" while it
 * runs with jit.off(), "between" only while the thread is between two states.
 * "requiring" forks while the thread opens states that require strided,
 * "required" does so after the process has required it once. A child does what
 * the thread does, once, and ends. One that takes longer than PATIENCE is
 * killed. The program prints how many children were well.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

enum { PATIENCE = 20 /* s */ };

static const char loops[] =
  "local text = 'local s = 0 for i = 1, 200 do s = s + i % 7 end return s'\n"
  "for i = 1, 2 do assert((loadstring or load)(text)() == 598) end";
static const char off[] = "if jit then jit.off() jit.flush() end";
static const char require_strided[] =
  "assert(require('strided').ones(3):sum():item() == 3)";

static const char *before = "", *work = loops;
static bool is_apart;
static atomic_bool is_over;
static atomic_int rounds;
static pthread_mutex_t between = PTHREAD_MUTEX_INITIALIZER;

static void run(lua_State *L, const char *script) {
  if (!luaL_loadstring(L, script) && !lua_pcall(L, 0, 0, 0)) return;
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  _exit(1);
}

static void run_state(void) {
  lua_State *L = luaL_newstate();
  if (!L) _exit(1);
  luaL_openlibs(L);
  run(L, before);
  run(L, work);
  lua_close(L);
}

static void *run_states(void *unused) {
  (void)unused;
  while (!is_over) {
    if (is_apart) pthread_mutex_lock(&between);
    run_state();
    if (is_apart) pthread_mutex_unlock(&between);
    rounds++;
  }
  return NULL;
}

static void sleep_us(long n) {
  const struct timespec t = {0, n * 1000};
  nanosleep(&t, NULL);
}

/* A child is killed by its alarm when it hangs. */
static bool is_well(void) {
  int code;
  if (is_apart) pthread_mutex_lock(&between);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(PATIENCE);
    run_state();
    _exit(0);
  }
  if (is_apart) pthread_mutex_unlock(&between);
  return child > 0 && waitpid(child, &code, 0) == child && code == 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *scene = argv[1];
  const int n = atoi(argv[2]);
  int well = 0;
  pthread_t thread;
  is_apart = strcmp(scene, "between") == 0;
  if (strcmp(scene, "off") == 0) before = off;
  if (strncmp(scene, "requir", 6) == 0) { /* the other rules are kept */
    before = off;
    work = require_strided;
  }
  if (strcmp(scene, "required") == 0) run_state();
  if (pthread_create(&thread, NULL, run_states, NULL)) return 1;
  for (int i = 0; i < n; i++) {
    sleep_us(i % 20);
    well += is_well();
  }
  is_over = true;
  pthread_join(thread, NULL);
  printf("%d of %d children were well\n", well, n);
  return 0;
}
