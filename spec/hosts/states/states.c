/* A C program with several Lua states: one after the other, side by side in
 * threads, left open, closed while others run, and forked.
 *
 *     states SCRIPT SCENE [N]
 *
 * It prints what it did and returns 0, or says what went wrong. Lua 5.1 and
 * LuaJIT compile the same source.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
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

enum { THREADS = 4, ANSWER = 512, PATIENCE = 120 /* s, of a child */ };

static const char *script;
static atomic_bool is_over;

#define CHECK(cond) do {                                             \
    if (!(cond)) {                                                   \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #cond);     \
      _exit(1);                                                      \
    }                                                                \
  } while (0)

static void sleep_ms(int ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&t, NULL);
}

/* -- States --------------------------------------------------------------- */

static atomic_int begun; /* rounds of busy states */

/* stop(): is it over? */
static int stop(lua_State *L) {
  begun++;
  lua_pushboolean(L, is_over);
  return 1;
}

static void fail(lua_State *L, const char *what) {
  fprintf(stderr, "%s: %s\n", what, lua_tostring(L, -1));
  _exit(1);
}

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  CHECK(L);
  luaL_openlibs(L);
  lua_register(L, "stop", stop);
  if (luaL_dofile(L, script)) fail(L, "opening");
  lua_setglobal(L, "scenes");
  return L;
}

/* What a function of the script makes of a text. */
static const char *ask(lua_State *L, const char *name, const char *text,
                       char answer[ANSWER]) {
  lua_getglobal(L, "scenes");
  lua_getfield(L, -1, name);
  lua_pushstring(L, text);
  if (lua_pcall(L, 1, 1, 0)) fail(L, name);
  snprintf(answer, ANSWER, "%s", lua_tostring(L, -1));
  lua_pop(L, 2);
  return answer;
}

static void expect(lua_State *L, const char *name, const char *text,
                   const char *answer) {
  char got[ANSWER];
  if (strcmp(ask(L, name, text, got), answer) == 0) return;
  fprintf(stderr, "%s said '%s', not '%s'\n", name, got, answer);
  _exit(1);
}

/* -- One after the other -------------------------------------------------- */

static void turns(int n) {
  char token[ANSWER];
  for (int i = 0; i < n; i++) {
    lua_State *a = open_state(), *b = open_state();
    expect(a, "compute", "1", "computed");
    expect(b, "keep", ask(a, "give", "7", token), "kept");
    if (i % 2) expect(a, "linger", "", "lingers");
    lua_close(a);
    expect(b, "compute", "2", "computed");
    expect(b, "check", "7", "unchanged");
    lua_close(b);
  }
  printf("%d pairs of states\n", n);
}

/* -- Side by side --------------------------------------------------------- */

typedef struct player {
  pthread_t thread;
  int rounds;
  struct player *next;
  pthread_mutex_t mutex;
  char token[ANSWER];     /* what the one before left, or "" */
} player;

static player players[THREADS];

static void leave_token(player *p, const char *token) {
  for (bool left = false; !left; sleep_ms(!left)) {
    pthread_mutex_lock(&p->mutex);
    left = !p->token[0];
    if (left) strcpy(p->token, token);
    pthread_mutex_unlock(&p->mutex);
  }
}

static void find_token(player *p, char token[ANSWER]) {
  for (bool found = false; !found; sleep_ms(!found)) {
    pthread_mutex_lock(&p->mutex);
    found = p->token[0];
    if (found) strcpy(token, p->token);
    p->token[0] = '\0';
    pthread_mutex_unlock(&p->mutex);
  }
}

/* Now and then a player starts again with a new state, and so ends with
 * tensors whose makers are gone. */
static void *play(void *ctx) {
  player *p = ctx;
  const int own = (int)(p - players);
  char token[ANSWER], x[16], before[16];
  lua_State *L = open_state();
  snprintf(x, sizeof x, "%d", own);
  snprintf(before, sizeof before, "%d", (own + THREADS - 1) % THREADS);
  for (int i = 0; i < p->rounds; i++) {
    leave_token(p->next, ask(L, "give", x, token));
    if (i % 4 == own) {
      lua_close(L);
      L = open_state();
    }
    expect(L, "compute", x, "computed");
    find_token(p, token);
    expect(L, "take", token, before);
  }
  lua_close(L);
  return NULL;
}

static void threads(int n) {
  for (int i = 0; i < THREADS; i++) {
    players[i].rounds = n;
    players[i].next = &players[(i + 1) % THREADS];
    pthread_mutex_init(&players[i].mutex, NULL);
  }
  for (int i = 0; i < THREADS; i++) {
    CHECK(!pthread_create(&players[i].thread, NULL, play, &players[i]));
  }
  for (int i = 0; i < THREADS; i++) pthread_join(players[i].thread, NULL);
  printf("%d threads with states, %d tensors handed over\n", THREADS,
         THREADS * n);
}

/* -- Operators of one state ----------------------------------------------- */

static void *call_elsewhere(void *answer) {
  lua_State *L = open_state();
  ask(L, "call", "", answer);
  lua_close(L);
  return NULL;
}

static void operators(int n) {
  char other[ANSWER], thread[ANSWER], after[ANSWER];
  for (int i = 0; i < n; i++) {
    lua_State *a = open_state(), *b = open_state();
    pthread_t caller;
    expect(a, "register", "", "registered");
    expect(a, "call", "", "6");
    ask(b, "call", "", other);
    CHECK(!pthread_create(&caller, NULL, call_elsewhere, thread));
    pthread_join(caller, NULL);
    lua_close(a);
    ask(b, "call", "", after);
    expect(b, "compute", "3", "computed");
    lua_close(b);
  }
  printf("in another state: %s\n", other);
  printf("in another thread: %s\n", thread);
  printf("after its state: %s\n", after);
}

/* -- The end of the process ----------------------------------------------- */

static void *be_busy(void *ctx) {
  (void)ctx;
  lua_State *L = open_state();
  expect(L, "busy", "", "stopped");
  lua_close(L);
  return NULL;
}

static pthread_t start_busy(void) {
  pthread_t thread;
  begun = 0;
  CHECK(!pthread_create(&thread, NULL, be_busy, NULL));
  while (begun < 2) sleep_ms(1);
  return thread;
}

static void *exit_here(void *ctx) {
  expect(open_state(), "compute", "2", "computed");
  exit(*(int *)ctx);
}

/* Ends as scene says, with this exit code. */
static int leave(const char *scene, int code) {
  lua_State *L = open_state();
  expect(L, "compute", "1", "computed");
  if (strcmp(scene, "return") == 0) {
    lua_close(L);
    return code;
  }
  if (strcmp(scene, "exit-open") == 0) exit(code);
  if (strcmp(scene, "_exit") == 0) _exit(code);
  if (strcmp(scene, "exit-in-thread") == 0) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, exit_here, &code));
    pthread_join(thread, NULL);
  }
  if (strcmp(scene, "exit-while-busy") == 0) {
    start_busy();
    exit(code);
  }
  if (strcmp(scene, "return-asleep") == 0) {
    sleep_ms(50);
    lua_close(L);
    sleep_ms(10);
    return code;
  }
  fprintf(stderr, "no such scene: %s\n", scene);
  return 1;
}

/* -- Forks ---------------------------------------------------------------- */

/* A child ends in one of the ways that processes end. */
static void be_child(lua_State *L, int i, const char *token) {
  alarm(PATIENCE);
  expect(L, "child", token, "grown");
  if (i % 2) {
    lua_State *own = open_state();
    expect(own, "compute", "4", "computed");
    lua_close(own);
  }
  if (i % 3 == 0) lua_close(L);
  if (i % 4 == 0) _exit(0);
  exit(0);
}

static void check_child(pid_t child, int i) {
  int code;
  CHECK(child > 0 && waitpid(child, &code, 0) == child);
  if (code == 0) return;
  fprintf(stderr, "child %d ended with %s %d\n", i,
          WIFSIGNALED(code) ? "signal" : "code",
          WIFSIGNALED(code) ? WTERMSIG(code) : WEXITSTATUS(code));
  _exit(1);
}

/* n forks of this thread, between its own computations, while another state
 * keeps the team busy, or not. */
static void forks(int n, bool is_busy) {
  char token[ANSWER];
  pthread_t thread;
  lua_State *L = open_state();
  if (is_busy) thread = start_busy();
  for (int i = 0; i < n; i++) {
    expect(L, "compute", "1", "computed");
    ask(L, "give", "5", token);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) be_child(L, i, token);
    expect(L, "compute", "6", "computed");
    check_child(child, i);
    expect(L, "take", token, "5");
  }
  is_over = true;
  if (is_busy) pthread_join(thread, NULL);
  lua_close(L);
  printf("%d children of a process %s\n", n,
         is_busy ? "inside a parallel region" : "at rest");
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  script = argv[1];
  const char *scene = argv[2];
  const int n = argc > 3 ? atoi(argv[3]) : 1;
  if (strcmp(scene, "turns") == 0) turns(n);
  else if (strcmp(scene, "threads") == 0) threads(n);
  else if (strcmp(scene, "operators") == 0) operators(n);
  else if (strcmp(scene, "forks") == 0) forks(n, false);
  else if (strcmp(scene, "forks-busy") == 0) forks(n, true);
  else return leave(scene, n);
  return 0;
}
