/* System calls of an interactive session: Ctrl-C, waiting for input, and
 * whether the output is a terminal, how much time has passed.
 *
 * Note [Interrupts]
 * SIGINT may arrive on any thread of the process. The handler forwards it to
 * the thread that called catch_interrupts, so that its system calls return;
 * there it sets a flag and, while a chunk runs, a debug hook that raises at the
 * next instruction. LuaJIT has one hook for all coroutines. PUC Lua has one per
 * coroutine: there a hook that tests the flag every HOOK_INTERVAL instructions
 * is set beforehand, and new coroutines inherit it. A signal that arrives
 * between two chunks stays pending: it interrupts the next chunk or the next
 * wait for input. The handler is installed only while a session requests it; a
 * process that embeds strided keeps its own.
 *
 * Note [Hooks of long calls]
 * Lua runs no hook inside of a C function. So a call of the engine that takes
 * long calls the count hook of its Lua state between blocks of its work, if
 * there is one: that of an interrupt, that of a standalone interpreter at
 * Ctrl-C, a host's time limit. An error of the hook stops the call and becomes
 * its error. The hook is unset while it runs, as Lua does it. It cannot call
 * the engine, which might change what the call reads, nor yield: a hook that
 * wants to is ignored, and may yield at the next instruction of Lua. Loops of
 * the binding over tables, strings and files ask as the engine's loops do.
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/process.h"

enum { HOOK_INTERVAL = 1000 };  /* instructions of PUC Lua */

static volatile sig_atomic_t pending;     /* a signal not handled yet */
static lua_State *volatile running;       /* runs the chunk to interrupt */
static pthread_t owner;
static struct sigaction earlier;
static bool is_caught;
static bool has_hooks;  /* each coroutine has a hook of its own */

/* -- Interrupts ----------------------------------------------------------- */

/* The debug hook, which has no binding state; its message has no source
 * line. */
static void stop(lua_State *L, lua_Debug *ar) {
  (void)ar;
  if (!pending) return;
  pending = 0;
  if (has_hooks) lua_sethook(L, stop, LUA_MASKCOUNT, HOOK_INTERVAL);
  else lua_sethook(L, NULL, 0, 0);
  luaL_checkstack(L, 1, NULL);
  lua_pushliteral(L, "interrupted"); /* [+1] */
  lua_error(L);
}

static void on_interrupt(int sig) {
  const int saved = errno;
  if (!pthread_equal(pthread_self(), owner)) {
    pthread_kill(owner, sig);
  } else {
    pending = 1;
    if (running) {
      lua_sethook(running, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT,
                  1);
    }
  }
  errno = saved;
}

/* catch_interrupts(on): installs the handler, or restores the previous one */
static int catch_interrupts(lua_State *L) {
  struct sigaction action = {.sa_handler = on_interrupt};
  const bool on = lua_toboolean(L, 1);
  if (on == is_caught) return 0;
  is_caught = on;
  pending = 0;
  if (on) {
    owner = pthread_self();
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &earlier);
  } else {
    sigaction(SIGINT, &earlier, NULL);
  }
  return 0;
}

/* interruptible(per_coroutine, fn, handler): xpcall(fn, handler) in which an
 * interrupt is an error of fn; per_coroutine: hooks are per coroutine */
static int interruptible(lua_State *L) {
  st__state *h = st__state_of(L);
  has_hooks = lua_toboolean(L, 1);
  st__check_depth(h, L, "interruptible");
  lua_settop(L, 3);
  lua_State *const outer = running;
  const lua_Hook hook = lua_gethook(L);
  const int mask = lua_gethookmask(L), count = lua_gethookcount(L);
  if (has_hooks) lua_sethook(L, stop, LUA_MASKCOUNT, HOOK_INTERVAL);
  running = L;
  if (pending) lua_sethook(L, stop, LUA_MASKCOUNT, 1);
  lua_insert(L, 2);                                     /* handler, fn */
  const int status = st__run_handled(h, L, 0, 2);       /* [-1, +n] */
  running = outer;
  lua_sethook(L, hook, mask, count);
  lua_pushboolean(L, status == 0);                      /* [+1] */
  lua_replace(L, 2);                                    /* [-1] */
  return lua_gettop(L) - 1;
}

/* -- Long calls ----------------------------------------------------------- */

typedef struct count_hook { lua_Hook fn; int mask, count; } count_hook;

static int run_hook(lua_State *L) {
  const count_hook *hook = lua_touserdata(L, 1);
  lua_Debug ar;
  memset(&ar, 0, sizeof ar);
  lua_settop(L, 0);
  if (!lua_getstack(L, 1, &ar)) return 0;
  ar.event = LUA_HOOKCOUNT;
  ar.currentline = -1;
  hook->fn(L, &ar);
  return 0;
}

static bool wants_to_yield(lua_State *L) {
  return lua_type(L, -1) == LUA_TSTRING &&
         strstr(lua_tostring(L, -1), "attempt to yield");
}

/* Calls the hook; true if it raised an error, which is stored for
 * st__raise. */
static bool hook_fails(st__state *h, lua_State *L, count_hook *hook) {
  const int top = lua_gettop(L);
  void *const fiber = h->fiber;
  const st__frame *const frame = h->frame;
  if (!lua_checkstack(L, LUA_MINSTACK)) return false;
  h->fiber = st__asking_fiber;
  h->frame = NULL;
  bool fails = st__protected(L, run_hook, hook) != 0; /* [+0|1] */
  h->fiber = fiber;
  h->frame = frame;
  if (fails) fails = !wants_to_yield(L);
  if (fails) {
    lua_rawseti(L, LUA_REGISTRYINDEX, h->error_ref);  /* [-1] */
    h->has_error = true;
  }
  lua_settop(L, top);
  return fails;
}

/* Stands for the hook while that runs. */
static void idle(lua_State *L, lua_Debug *ar) { (void)L; (void)ar; }

/* The engine's check: Note [Hooks of long calls]. The hook is restored unless
 * it or a signal has set another or none. */
static bool check_hook(void) {
  st__state *h = st__current_state();
  if (!h || !h->running) return false;
  lua_State *const L = h->running;
  count_hook hook = {lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L)};
  if (!hook.fn || !(hook.mask & LUA_MASKCOUNT)) return false;
  lua_sethook(L, idle, LUA_MASKCOUNT, INT_MAX);
  const bool fails = hook_fails(h, L, &hook);
  if (lua_gethook(L) == idle) {
    lua_sethook(L, hook.fn, hook.mask, hook.count);
  }
  if (pending && running) lua_sethook(running, stop, LUA_MASKCOUNT, 1);
  return fails;
}

/* -- Input and output ----------------------------------------------------- */

/* wait_input(): returns true when standard input has data or has ended, false
 * after an interrupt */
static int wait_input(lua_State *L) {
  sigset_t blocked, before;
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  /* SIGINT is blocked between the test of the flag and ppoll, so none is
   * lost. */
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  int n = 0;
  while (!pending && n == 0) {
    n = ppoll(&input, 1, NULL, &before);
    if (n < 0 && errno == EINTR) n = 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  const bool is_interrupted = pending;
  if (is_interrupted) pending = 0; /* not one that arrives only now */
  lua_pushboolean(L, !is_interrupted); /* [+1] */
  return 1;
}

/* is_terminal(fd): returns true if fd is a terminal */
static int is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1))); /* [+1] */
  return 1;
}

/* has_write_failed(): returns true if a write to the standard output has
 * failed. print of Lua 5.2 and later flushes each line and drops the error. */
static int has_write_failed(lua_State *L) {
  lua_pushboolean(L, ferror(stdout));                       /* [+1] */
  return 1;
}

/* clock(): seconds of a clock that only goes forward */
static int monotonic_clock(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec + 1e-9 * (lua_Number)t.tv_nsec);
  return 1;                                                 /* [+1] */
}

/* -- Opening -------------------------------------------------------------- */

void st__open_signal(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"catch_interrupts", catch_interrupts},
    {"interruptible", interruptible}, {"wait_input", wait_input},
    {"is_terminal", is_terminal}, {"has_write_failed", has_write_failed},
    {"clock", monotonic_clock}, {NULL, NULL}
  };
  st__set_functions(h, L, functions);
  st_add_interrupt_check(check_hook);
}
