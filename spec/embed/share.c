/* Tensors handed from thread to thread by tokens: what one wrote before it
 * shared, the other reads; a token is used as often as it may be and never
 * more, whoever comes first; the last owner frees, whoever that is; a fork
 * copies tokens and cannot get stuck on them; and who writes while another
 * reads gets wrong results, but no more than that.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 2000, THREADS = 4, SIZE = 1000 };

static const int64_t size = SIZE;

static st_tensor *filled(float x) {
  st_tensor *t;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &size, NULL, &t) ==
        ST_OK);
  for (int i = 0; i < SIZE; i++) ((float *)st_tensor_data(t))[i] = x;
  return t;
}

static bool holds(const st_tensor *t, float x) {
  const float *p = st_tensor_data(t);
  for (int i = 0; i < SIZE; i++) {
    if (p[i] != x) return false;
  }
  return true;
}

/* -- A line of threads ---------------------------------------------------- */

/* Where one thread leaves a token for another, as a host's channel does. */
typedef struct channel {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_full;
  char token[ST_TOKEN_SIZE];
} channel;

static channel channels[THREADS + 1];

static void push(channel *c, const char *token) {
  pthread_mutex_lock(&c->mutex);
  while (c->is_full) pthread_cond_wait(&c->changed, &c->mutex);
  strcpy(c->token, token);
  c->is_full = true;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}

static void pop(channel *c, char *token) {
  pthread_mutex_lock(&c->mutex);
  while (!c->is_full) pthread_cond_wait(&c->changed, &c->mutex);
  strcpy(token, c->token);
  c->is_full = false;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}

/* Adds one to every tensor that passes. */
static void *pass_on(void *ctx) {
  channel *c = ctx;
  char token[ST_TOKEN_SIZE];
  for (int i = 0; i < ROUNDS; i++) {
    st_tensor *t;
    pop(c, token);
    CHECK(st_attach(token, &t) == ST_OK);
    const float x = (float)(i + (c - channels));
    CHECK(holds(t, x));
    for (int k = 0; k < SIZE; k++) ((float *)st_tensor_data(t))[k] = x + 1;
    CHECK(st_share(t, 1, token) == ST_OK);
    st_tensor_release(&t);
    push(c + 1, token);
  }
  return NULL;
}

static void *collect(void *ctx) {
  channel *c = ctx;
  char token[ST_TOKEN_SIZE];
  for (int i = 0; i < ROUNDS; i++) {
    st_tensor *t;
    pop(c, token);
    CHECK(st_attach(token, &t) == ST_OK);
    CHECK(holds(t, (float)(i + THREADS)));
    st_tensor_release(&t);
  }
  return NULL;
}

static void line(void) {
  pthread_t threads[THREADS + 1];
  char token[ST_TOKEN_SIZE];
  for (int i = 0; i <= THREADS; i++) {
    pthread_mutex_init(&channels[i].mutex, NULL);
    pthread_cond_init(&channels[i].changed, NULL);
    CHECK(pthread_create(&threads[i], NULL, i < THREADS ? pass_on : collect,
                         &channels[i]) == 0);
  }
  for (int i = 0; i < ROUNDS; i++) {
    st_tensor *t = filled((float)i);
    CHECK(st_share(t, 1, token) == ST_OK);
    st_tensor_release(&t);
    push(&channels[0], token);
  }
  for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
  puts("a line of threads");
}

/* -- A race for tokens ---------------------------------------------------- */

static char tokens[ROUNDS][ST_TOKEN_SIZE];
static int times[ROUNDS];
static atomic_int attached[ROUNDS], taken_back[ROUNDS];
static atomic_int arrived[ROUNDS];

/* All start for a token at once, and try it twice; one takes some back. */
static void *race(void *ctx) {
  const bool takes_back = ctx != NULL;
  for (int i = 0; i < 2 * ROUNDS; i++) {
    st_tensor *t;
    const int k = i / 2;
    if (i % 2 == 0) arrived[k]++;
    while (arrived[k] < THREADS) sched_yield();
    if (takes_back && k % 3 == 0) {
      taken_back[k] += st_unshare(tokens[k]);
    } else if (st_attach(tokens[k], &t) == ST_OK) {
      CHECK(holds(t, (float)k));
      attached[k]++;
      st_tensor_release(&t);
    } else {
      CHECK(says("any more"));
    }
  }
  return NULL;
}

static void a_race(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < ROUNDS; i++) {
    st_tensor *t = filled((float)i);
    times[i] = i % THREADS + 1;
    CHECK(st_share(t, times[i], tokens[i]) == ST_OK);
    st_tensor_release(&t);
  }
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_create(&threads[i], NULL, race, i ? NULL : tokens) == 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(taken_back[i] <= 1 && attached[i] <= times[i]);
    CHECK(taken_back[i] || attached[i] == times[i]);
    CHECK(attached[i] < times[i] || !taken_back[i]);
  }
  puts("a race for tokens");
}

/* -- Refusals ------------------------------------------------------------- */

static void refusals(void) {
  char token[ST_TOKEN_SIZE] = "unchanged";
  st_tensor *meta, *bound = filled(1), *out = NULL;
  CHECK(st_tensor_empty(ST_DEVICE_META, ST_FLOAT32, 1, &size, NULL, &meta) ==
        ST_OK);
  CHECK(st_share(meta, 1, token) == ST_BAD_STATE && says("'meta'"));
  CHECK(st_share(bound, -1, token) == ST_BAD_VALUE && says("-1 times"));
  st_tensor_bind(bound);
  CHECK(st_share(bound, 1, token) == ST_BAD_STATE && says("share a clone"));
  CHECK(strcmp(token, "unchanged") == 0);
  CHECK(st_attach(token, &out) == ST_NOT_FOUND && says("not a token"));
  CHECK(!out && !st_unshare(token));
  st_tensor_release(&meta);
  st_tensor_release(&bound);
  puts("refusals");
}

/* -- Forks ---------------------------------------------------------------- */

/* A lock of AddressSanitizer's allocator that another thread holds when the
 * process forks stays locked in the child. */
#if defined(__SANITIZE_ADDRESS__)
enum { OTHERS = 0 };
#else
enum { OTHERS = THREADS };
#endif

static atomic_bool is_over;

/* Is inside the table most of the time. */
static void *keep_sharing(void *ctx) {
  char token[ST_TOKEN_SIZE];
  st_tensor *t = filled(1), *u;
  (void)ctx;
  while (!is_over) {
    for (int i = 0; i < 100; i++) CHECK(!st_unshare("no token"));
    CHECK(st_share(t, 1, token) == ST_OK);
    CHECK(st_attach(token, &u) == ST_OK);
    st_tensor_release(&u);
  }
  st_tensor_release(&t);
  return NULL;
}

/* In the child: the token is there, once; its elements are copies. */
static void inherit(const char *token) {
  char own[ST_TOKEN_SIZE];
  st_tensor *t, *u;
  alarm(60);
  CHECK(st_attach(token, &t) == ST_OK && holds(t, 7));
  ((float *)st_tensor_data(t))[0] = 8;
  CHECK(st_attach(token, &u) == ST_NOT_FOUND && says("from process"));
  CHECK(st_share(t, 1, own) == ST_OK && strcmp(own, token) != 0);
  CHECK(st_attach(own, &u) == ST_OK);
  _exit(0);
}

static void forks(void) {
  pthread_t busy[THREADS];
  for (int i = 0; i < OTHERS; i++) {
    CHECK(pthread_create(&busy[i], NULL, keep_sharing, NULL) == 0);
  }
  for (int i = 0; i < 50; i++) {
    char token[ST_TOKEN_SIZE];
    int code;
    st_tensor *t = filled(7);
    CHECK(st_share(t, 1, token) == ST_OK);
    const pid_t child = fork();
    if (child == 0) inherit(token);
    CHECK(child > 0 && waitpid(child, &code, 0) == child && code == 0);
    st_tensor_release(&t);
    CHECK(st_attach(token, &t) == ST_OK && holds(t, 7));
    st_tensor_release(&t);
  }
  is_over = true;
  for (int i = 0; i < OTHERS; i++) pthread_join(busy[i], NULL);
  puts("forks");
}

/* -- Writing against the rules -------------------------------------------- */

enum { WILD = 4000 };

static const int64_t wild = WILD, far_away = (int64_t)1 << 50;

/* Positions and a mask that another thread overwrites all the time: within
 * bounds and outside, set and not. */
static st_tensor *shared_places, *shared_mask;

static st_tensor *attached_copy(const st_tensor *t) {
  char token[ST_TOKEN_SIZE];
  st_tensor *u;
  CHECK(st_share(t, 1, token) == ST_OK && st_attach(token, &u) == ST_OK);
  return u;
}

static void overwrite(bool is_right) {
  int64_t *places = st_tensor_data(shared_places);
  char *mask = st_tensor_data(shared_mask);
  for (int k = 0; k < WILD; k++) {
    places[k] = is_right ? k : far_away;
    mask[k] = is_right;
  }
}

static void *scribble(void *ctx) {
  (void)ctx;
  for (int i = 0; !is_over; i++) overwrite(i % 2);
  return NULL;
}

/* A call must end well or, while it is written, in an error. */
static void try(const char *name, const char *overload,
                const st_value *args) {
  char full[64];
  st_value rets[3] = {{0}};
  snprintf(full, sizeof full, "aten::%s", name);
  const st_op *op = st_op_find(full, overload);
  CHECK(op);
  const int n = st_op_nargs(op);
  const st_status status = st_call_op(op, n, args, rets);
  CHECK(status == ST_OK || !is_over);
  if (status != ST_OK) return;
  for (int i = 0; i < 3; i++) st_value_clear(&rets[i]);
}

static st_value integer(int64_t i) {
  return (st_value){ST_TAG_INT, 0, {.i = i}};
}

static void try_all(st_tensor *t) {
  const st_value self = arg(t), zero = integer(0);
  const st_value places = arg(shared_places), mask = arg(shared_mask);
  st_tensor *lists[] = {shared_places, shared_mask};
  const st_value by_places = {ST_TAG_TENSORS, 1, {.tensors = &lists[0]}};
  const st_value by_mask = {ST_TAG_TENSORS, 1, {.tensors = &lists[1]}};
  const st_value no = {.tag = ST_TAG_BOOL}, yes = {ST_TAG_BOOL, 0, {.i = 1}};
  const st_value none = {.tag = ST_TAG_NONE}, one = integer(1);
  const struct { const char *name, *overload; st_value args[6]; } calls[] = {
    {"index_select", "", {self, zero, places, zero}},
    {"gather", "", {self, zero, places, no, zero}},
    {"take", "", {self, places, zero}},
    {"index", "Tensor", {self, by_places, zero}},
    {"index", "Tensor", {self, by_mask, zero}},
    {"index_put_", "", {self, by_places, self, no, zero}},
    {"index_put", "", {self, by_mask, self, no, zero}},
    {"scatter_", "src", {self, zero, places, self, zero}},
    {"scatter", "value", {self, zero, places, one, zero}},
    {"scatter_add", "", {self, zero, places, self, zero}},
    {"index_add_", "", {self, zero, places, self, one, zero}},
    {"index_copy", "", {self, zero, places, self, zero}},
    {"index_fill_", "int_Scalar", {self, zero, places, one, zero}},
    {"put_", "", {self, places, self, no, zero}},
    {"masked_select", "", {self, mask}},
    {"masked_scatter_", "", {self, mask, self}},
    {"nonzero", "", {mask, zero}},
    {"bincount", "", {places, none, zero, zero}},
    {"sort", "", {places, zero, no, zero}},
    {"topk", "", {places, one, zero, yes, yes, zero}},
    {"_unique2", "", {places, yes, yes, yes, zero}},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    try(calls[i].name, calls[i].overload, calls[i].args);
  }
}

static void scribbling(void) {
  pthread_t writer;
  st_tensor *t, *places, *mask;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &wild, NULL, &t) ==
        ST_OK);
  memset(st_tensor_data(t), 0, WILD * sizeof(float));
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_INT64, 1, &wild, NULL, &places) ==
        ST_OK);
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_BOOL, 1, &wild, NULL, &mask) ==
        ST_OK);
  shared_places = attached_copy(places);
  shared_mask = attached_copy(mask);
  overwrite(true);
  is_over = true;
  try_all(t);
  is_over = false;
  CHECK(pthread_create(&writer, NULL, scribble, NULL) == 0);
  for (int i = 0; i < 1000; i++) try_all(t);
  is_over = true;
  pthread_join(writer, NULL);
  st_tensor_release(&t);
  st_tensor_release(&places);
  st_tensor_release(&mask);
  st_tensor_release(&shared_places);
  st_tensor_release(&shared_mask);
  puts("writing against the rules");
}

int main(int argc, char **argv) {
  (void)argv;
  CHECK(st_init() == ST_OK);
  line();
  a_race();
  refusals();
  if (argc == 1) { /* more than a sanitizer of threads can bear */
    forks();
    scribbling();
  }
  nothing_left();
  return 0;
}
