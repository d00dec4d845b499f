/* Worker threads, each with a Lua state of its own, which answer the messages
 * of the state that started them.
 *
 * Note [Workers]
 * A message is a string and a list of tensors, which travel as tokens: both
 * states have tensors over the same elements. Messages have numbers: setup
 * messages 0, jobs 1, 2, ... in their order. Any worker takes the next job; the
 * results are returned in the order of the jobs. Tokens of messages that nobody
 * reads are withdrawn.
 *
 * A worker runs the function `run` of the module strided.data.worker. All
 * signals are blocked in it, its calls use one thread, and its default
 * generator is its own. It cannot be interrupted: closing the workers waits
 * until each asks for its next job, or whether to stop.
 *
 * The threads do not exist in the child of a fork, where one of them may hold
 * the mutex for ever: the child touches neither the mutex nor the messages.
 */

#include <errno.h>
#include <lualib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/process.h"

enum {
  MAX_WORKERS = 256,
  STACK_SIZE = 8 << 20,
  WAIT_NS = 20000000       /* between two questions whether to stop */
};

/* Hosts that contain their own Lua may lack them. */
extern lua_State *luaL_newstate(void) __attribute__((weak));
extern void luaL_openlibs(lua_State *L) __attribute__((weak));

int luaopen_strided_core(lua_State *L);

/* -- Messages ------------------------------------------------------------- */

typedef struct message {
  struct message *next;
  int64_t number;
  bool is_error;
  int ntokens;
  size_t nbytes;
  char *bytes;             /* behind the tokens */
  char tokens[][ST_TOKEN_SIZE]; /* "" for those that are used up */
} message;

static void free_message(message *m) {
  for (int i = 0; i < m->ntokens; i++) {
    if (m->tokens[i][0]) st_unshare(m->tokens[i]);
  }
  free(m);
}

static void free_messages(message *m) {
  while (m) {
    message *next = m->next;
    free_message(m);
    m = next;
  }
}

static message *new_message(const char *bytes, size_t nbytes, int ntensors) {
  const size_t tokens = (size_t)ntensors * ST_TOKEN_SIZE;
  message *m = malloc(sizeof *m + tokens + nbytes);
  if (!m) return NULL;
  *m = (message){.nbytes = nbytes};
  m->bytes = (char *)m->tokens + tokens;
  memcpy(m->bytes, bytes, nbytes);
  return m;
}

/* The message of the string at idx and the list of tensors behind it. */
static message *read_message(st__state *h, lua_State *L, int idx) {
  size_t nbytes;
  st__check_string(h, L, idx, "bytes");
  st__check_table(h, L, idx + 1, "tensors");
  const char *bytes = lua_tolstring(L, idx, &nbytes);
  const int n = (int)lua_objlen(L, idx + 1);
  message *m = new_message(bytes, nbytes, n);
  if (!m) st__error(h, L, ST_NO_MEMORY, "out of memory");
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, idx + 1, i + 1);              /* [+1] */
    const st_tensor *t = st__to_tensor(h, L, -1);
    lua_pop(L, 1);                               /* [-1] */
    const st_status status = t ? st_share(t, 1, m->tokens[i])
                               : st_fail(ST_BAD_TYPE, "no tensor");
    if (status != ST_OK) {
      free_message(m);
      st__error(h, L, status, "a tensor cannot be sent to another "
                "thread: %s",
                st_message());
    }
    m->ntokens = i + 1;
  }
  return m;
}

/* A message that is being opened: an error frees it. */
typedef struct holder { message *m; } holder;

static int holder_gc(lua_State *L) {
  holder *box = st__testudata(st__state_of(L), L, 1, ST_UD_MESSAGE);
  if (box && box->m) free_message(box->m);
  if (box) box->m = NULL;
  return 0;
}

/* Charges the collector with the elements of a tensor, which may be a few of a
 * large storage. */
static void charge(st__state *h, st__tensor_ud *ud) {
  const int64_t storage = st__memory_of(ud->t);
  const int64_t own = st_tensor_numel(ud->t) * 16;
  st__gc_charge(h, ud, own < storage ? own : storage);
}

/* Pushes the string and the list of tensors of the holder at the top. [+2] */
static void push_message(st__state *h, lua_State *L) {
  holder *box = lua_touserdata(L, -1);
  message *m = box->m;
  lua_pushlstring(L, m->bytes, m->nbytes);       /* [+1] */
  lua_createtable(L, m->ntokens, 0);             /* [+1] */
  for (int i = 0; i < m->ntokens; i++) {
    st__tensor_ud *ud = st__new_tensor_ud(h, L); /* [+1] */
    const st_status status = st_attach(m->tokens[i], &ud->t);
    if (status != ST_OK) st__raise(h, L, status);
    m->tokens[i][0] = '\0';
    charge(h, ud);
    lua_rawseti(L, -2, i + 1);                   /* [-1] */
  }
  box->m = NULL;
  free_message(m);
}

/* -- Workers -------------------------------------------------------------- */

struct pool;

typedef struct worker {
  struct pool *pool;
  pthread_t thread;
  int id;                  /* from 1 on */
  message *setup;          /* until the worker receives it */
} worker;

typedef struct pool {
  pthread_mutex_t mutex;   /* guards the fields up to `failure` */
  pthread_cond_t has_job, has_result;
  message *jobs, **jobs_end;
  message *results;        /* in any order */
  int64_t issued, returned; /* numbers of the last jobs */
  int64_t cancelled;       /* results up to this number are dropped */
  bool is_stopped;
  char *failure;           /* owned: why a worker ended, or NULL */
  pid_t pid;
  struct pool *next;       /* in orphans */
  char *path, *cpath;      /* owned: package.path, package.cpath */
  int n;                   /* threads that run */
  worker workers[];
} pool;

static _Thread_local worker *self; /* of this thread, or NULL */

/* Pools of a parent process. They stay reachable, for leak checkers. */
static pool *orphans;

static void free_pool(pool *p) {
  for (int i = 0; i < p->n; i++) {
    if (p->workers[i].setup) free_message(p->workers[i].setup);
  }
  free_messages(p->jobs);
  free_messages(p->results);
  pthread_cond_destroy(&p->has_job);
  pthread_cond_destroy(&p->has_result);
  pthread_mutex_destroy(&p->mutex);
  free(p->failure);
  free(p->path);
  free(p->cpath);
  free(p);
}

/* Stops the threads and waits for them. */
static void close_pool(pool *p) {
  pthread_mutex_lock(&p->mutex);
  p->is_stopped = true;
  pthread_cond_broadcast(&p->has_job);
  pthread_mutex_unlock(&p->mutex);
  for (int i = 0; i < p->n; i++) pthread_join(p->workers[i].thread, NULL);
  free_pool(p);
}

static void leave_failure(pool *p, const char *text) {
  pthread_mutex_lock(&p->mutex);
  if (!p->failure) p->failure = strdup(text);
  pthread_cond_signal(&p->has_result);
  pthread_mutex_unlock(&p->mutex);
}

/* -- The thread of a worker ----------------------------------------------- */

static void set_path(lua_State *L, const char *name, const char *value) {
  lua_getglobal(L, "package");                   /* [+1] */
  lua_pushstring(L, value);                      /* [+1] */
  lua_setfield(L, -2, name);                     /* [-1] */
  lua_pop(L, 1);                                 /* [-1] */
}

static int run_worker(lua_State *L) {
  const worker *w = lua_touserdata(L, 1);
  luaL_openlibs(L);
  set_path(L, "path", w->pool->path);
  set_path(L, "cpath", w->pool->cpath);
  lua_getglobal(L, "package");                   /* [+1] */
  lua_getfield(L, -1, "preload");                /* [+1] */
  lua_pushcfunction(L, luaopen_strided_core);    /* [+1] */
  lua_setfield(L, -2, "strided.core");           /* [-1] */
  lua_getglobal(L, "require");                   /* [+1] */
  lua_pushliteral(L, "strided.data.worker");     /* [+1] */
  lua_call(L, 1, 1);                             /* [-2, +1] */
  lua_getfield(L, -1, "run");                    /* [+1] */
  lua_pushinteger(L, w->id);                     /* [+1] */
  lua_call(L, 1, 0);                             /* [-2] */
  return 0;
}

static void run_state(const worker *w) {
  lua_State *L = luaL_newstate();
  if (!L) {
    leave_failure(w->pool, "out of memory");
    return;
  }
  if (st__protected(L, run_worker, self)) {      /* [+0|1] */
    leave_failure(w->pool, lua_type(L, -1) == LUA_TSTRING
                           ? lua_tostring(L, -1) : "an error without text");
  }
  lua_close(L);
}

static void *work(void *ctx) {
  st_generator *generator = NULL;
  self = ctx;
  st_limit_own_threads(1);
  if (st_generator_new(0, &generator) != ST_OK) {
    leave_failure(self->pool, "out of memory");
    return NULL;
  }
  st_generator_enter(generator);
  run_state(self);
  st_generator_enter(NULL);
  st_generator_release(&generator);
  return NULL;
}

/* -- What a worker calls -------------------------------------------------- */

static worker *check_worker(lua_State *L) {
  if (!self) luaL_error(L, "this thread is no worker");
  return self;
}

/* The next message to a worker; NULL when it is to stop. */
static message *next_job(worker *w) {
  pool *p = w->pool;
  pthread_mutex_lock(&p->mutex);
  message *m = w->setup;
  w->setup = NULL;
  while (!m && !p->jobs && !p->is_stopped) {
    pthread_cond_wait(&p->has_job, &p->mutex);
  }
  if (!m && p->jobs && !p->is_stopped) {
    m = p->jobs;
    p->jobs = m->next;
    if (!p->jobs) p->jobs_end = &p->jobs;
    m->next = NULL;
  }
  pthread_mutex_unlock(&p->mutex);
  return m;
}

/* worker_receive(): waits for a message: returns its number, string and list of
 * tensors; nothing when the worker is to stop */
static int worker_receive(lua_State *L) {
  st__state *h = st__state_of(L);
  worker *w = check_worker(L);
  holder *box = st__newudata(h, L, ST_UD_MESSAGE, sizeof *box); /* [+1] */
  box->m = next_job(w);
  if (!box->m) return 0;
  lua_pushnumber(L, (lua_Number)box->m->number); /* [+1] */
  lua_insert(L, -2);
  push_message(h, L);                            /* [+2] */
  lua_remove(L, -3);                             /* [-1] */
  return 3;
}

/* worker_send(number, is_error, bytes, tensors): the result of a job */
static int worker_send(lua_State *L) {
  st__state *h = st__state_of(L);
  pool *p = check_worker(L)->pool;
  const int64_t number = st__check_int(h, L, 1, "number");
  message *m = read_message(h, L, 3);
  m->number = number;
  m->is_error = lua_toboolean(L, 2);
  pthread_mutex_lock(&p->mutex);
  const bool is_wanted = number > p->cancelled && !p->is_stopped;
  if (is_wanted) {
    m->next = p->results;
    p->results = m;
    pthread_cond_signal(&p->has_result);
  }
  pthread_mutex_unlock(&p->mutex);
  if (!is_wanted) free_message(m);
  return 0;
}

/* worker_stops(number): true if the result of that job is no longer wanted */
static int worker_stops(lua_State *L) {
  st__state *h = st__state_of(L);
  pool *p = check_worker(L)->pool;
  const int64_t number = st__check_int(h, L, 1, "number");
  pthread_mutex_lock(&p->mutex);
  const bool stops = p->is_stopped || number <= p->cancelled;
  pthread_mutex_unlock(&p->mutex);
  lua_pushboolean(L, stops);                     /* [+1] */
  return 1;
}

/* -- What the state that started the workers calls ------------------------ */

static int pool_gc(lua_State *L) {
  pool **ud = st__testudata(st__state_of(L), L, 1, ST_UD_WORKERS);
  if (!ud || !*ud) return 0;
  pool *p = *ud;
  *ud = NULL;
  if (p->pid == getpid()) {
    close_pool(p);
    return 0;
  }
  p->next = orphans;
  orphans = p;
  return 0;
}

static pool *check_pool(lua_State *L) {
  st__state *h = st__state_of(L);
  pool *p = *(pool **)st__checkudata(h, L, 1, ST_UD_WORKERS, "self");
  if (!p) st__error(h, L, ST_BAD_STATE, "the workers are closed");
  if (p->pid != getpid()) {
    st__error(h, L, ST_BAD_STATE, "DataLoader: the workers are threads "
              "of the parent process; begin another pass in this one");
  }
  return p;
}

/* workers:send(bytes, tensors): adds a job */
static int pool_send(lua_State *L) {
  pool *p = check_pool(L);
  message *m = read_message(st__state_of(L), L, 2);
  pthread_mutex_lock(&p->mutex);
  m->number = ++p->issued;
  *p->jobs_end = m;
  p->jobs_end = &m->next;
  pthread_cond_signal(&p->has_job);
  pthread_mutex_unlock(&p->mutex);
  return 0;
}

/* Removes and returns the result of the next job, or NULL. */
static message *take_result(pool *p) {
  for (message **at = &p->results; *at; at = &(*at)->next) {
    message *m = *at;
    if (m->number != p->returned + 1) continue;
    *at = m->next;
    p->returned++;
    return m;
  }
  return NULL;
}

/* Waits for a while; the result of the next job, or NULL. */
static message *wait_for_result(pool *p) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += WAIT_NS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  pthread_mutex_lock(&p->mutex);
  message *m = take_result(p);
  int status = 0;
  while (!m && !p->failure && status == 0) {
    status = pthread_cond_timedwait(&p->has_result, &p->mutex, &until);
    m = take_result(p);
  }
  pthread_mutex_unlock(&p->mutex);
  return m;
}

/* workers:receive(): waits for the result of the job after the last one that
 * was received: true or false for an error, its string and list of tensors */
static int pool_receive(lua_State *L) {
  st__state *h = st__state_of(L);
  holder *box = st__newudata(h, L, ST_UD_MESSAGE, sizeof *box); /* [+1] */
  for (;;) {
    pool *p = check_pool(L);                     /* a hook may have closed it */
    if (p->returned == p->issued) {
      return st__error(h, L, ST_BAD_STATE, "the workers have no job");
    }
    box->m = wait_for_result(p);
    if (box->m) break;
    pthread_mutex_lock(&p->mutex);
    const char *failure = p->failure;            /* remains */
    pthread_mutex_unlock(&p->mutex);
    if (failure) {
      lua_pushboolean(L, 0);                     /* [+1] */
      lua_pushstring(L, failure);                /* [+1] */
      return 2;
    }
    st__poll(h, L);
  }
  lua_pushboolean(L, !box->m->is_error);         /* [+1] */
  lua_insert(L, -2);
  push_message(h, L);                            /* [+2] */
  lua_remove(L, -3);                             /* [-1] */
  return 3;
}

/* workers:cancel(): drops all jobs and results */
static int pool_cancel(lua_State *L) {
  pool *p = check_pool(L);
  pthread_mutex_lock(&p->mutex);
  message *jobs = p->jobs, *results = p->results;
  p->jobs = p->results = NULL;
  p->jobs_end = &p->jobs;
  p->cancelled = p->returned = p->issued;
  pthread_mutex_unlock(&p->mutex);
  free_messages(jobs);
  free_messages(results);
  return 0;
}

/* -- Starting ------------------------------------------------------------- */

static pool *new_pool(int n, const char *path, const char *cpath) {
  pool *p = calloc(1, sizeof *p + (size_t)n * sizeof *p->workers);
  if (!p) return NULL;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->has_job, NULL);
  pthread_cond_init(&p->has_result, &monotonic);
  pthread_condattr_destroy(&monotonic);
  p->jobs_end = &p->jobs;
  p->pid = getpid();
  p->path = strdup(path);
  p->cpath = strdup(cpath);
  if (p->path && p->cpath) return p;
  free_pool(p);
  return NULL;
}

/* The signals that a worker leaves to the program's threads: all but those of
 * faults, which come to the thread that has the fault, and end the process
 * where they are blocked: Note [Truncated files]. */
static sigset_t signals_of_others(void) {
  static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP,
                               SIGSYS};
  sigset_t set;
  sigfillset(&set);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    sigdelset(&set, faults[i]);
  }
  return set;
}

/* Starts the next worker; 0 or the error of pthread_create. */
static int start_worker(pool *p, message *setup) {
  worker *w = &p->workers[p->n];
  const sigset_t blocked = signals_of_others();
  sigset_t before;
  pthread_attr_t attr;
  *w = (worker){.pool = p, .id = p->n + 1, .setup = setup};
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK_SIZE);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const int code = pthread_create(&w->thread, &attr, work, w);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  if (code == 0) p->n++;
  return code;
}

/* start_workers(n, path, cpath, bytes, tensors): n workers, each of which
 * receives the message first */
static int start_workers(lua_State *L) {
  st__state *h = st__state_of(L);
  const int64_t n = st__check_int(h, L, 1, "n");
  const char *path = st__check_string(h, L, 2, "path");
  const char *cpath = st__check_string(h, L, 3, "cpath");
  if (n < 1 || n > MAX_WORKERS) {
    return st__error(h, L, ST_BAD_VALUE, "DataLoader: option 'num_workers' "
                     "must be at most %d", MAX_WORKERS);
  }
  if (!luaL_newstate || !luaL_openlibs) {
    return st__error(h, L, ST_BAD_STATE, "DataLoader: this host cannot make "
                     "Lua states, which workers need; use num_workers = 0");
  }
  pool **ud = st__newudata(h, L, ST_UD_WORKERS, sizeof *ud); /* [+1] */
  *ud = new_pool((int)n, path, cpath);
  if (!*ud) return st__error(h, L, ST_NO_MEMORY, "out of memory");
  for (int i = 0; i < n; i++) {
    message *setup = read_message(h, L, 4);
    const int code = start_worker(*ud, setup);
    if (code == 0) continue;
    free_message(setup);
    close_pool(*ud);
    *ud = NULL;
    return st__error(h, L, ST_BAD_STATE, "DataLoader: this host cannot start "
                     "worker thread %d: %s; use num_workers = %d", i + 1,
                     strerror(code), i);
  }
  return 1;
}

/* -- Opening -------------------------------------------------------------- */

static void fill_message(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {{"__gc", holder_gc}, {NULL, NULL}};
  st__set_functions(h, L, metamethods);
}

static void fill_workers(st__state *h, lua_State *L) {
  static const luaL_Reg metamethods[] = {{"__gc", pool_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
    {"send", pool_send}, {"receive", pool_receive}, {"cancel", pool_cancel},
    {"close", pool_gc}, {NULL, NULL}
  };
  st__set_functions(h, L, metamethods);
  lua_newtable(L);                               /* [+1] */
  st__set_functions(h, L, methods);
  lua_setfield(L, -2, "__index");                /* [-1] */
}

void st__open_worker_threads(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {
    {"start_workers", start_workers}, {"worker_receive", worker_receive},
    {"worker_send", worker_send}, {"worker_stops", worker_stops}, {NULL, NULL}
  };
  st__fill_meta(h, ST_UD_MESSAGE, fill_message);
  st__fill_meta(h, ST_UD_WORKERS, fill_workers);
  st__set_functions(h, L, functions);
}
