/* Operators that come and go, and the kernels they come with. */

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storm.h"

int roll(dice *d, int sides) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (int)((d->state >> 33) % (uint64_t)sides);
}

/* -- Contexts ------------------------------------------------------------- */

static context *contexts;
static int most_contexts;
atomic_int given, dropped;

void make_contexts(int n) {
  most_contexts = n;
  contexts = calloc((size_t)n, sizeof *contexts);
  CHECK(contexts);
}

void free_contexts(void) { free(contexts); }

context *new_context(int64_t answer) {
  const int i = atomic_fetch_add(&given, 1);
  CHECK(i < most_contexts);
  contexts[i] = (context){ALIVE, answer};
  return &contexts[i];
}

void drop_context(void *ctx) {
  context *c = ctx;
  CHECK(c->state == ALIVE);
  *c = (context){DEAD, -1};
  atomic_fetch_add(&dropped, 1);
}

/* -- Tensors and calls ---------------------------------------------------- */

st_tensor *filled(st_device device, double x) {
  const int64_t n = 3;
  const st_scalar s = {ST_SCALAR_FLOAT, {.f = x}};
  st_tensor *t;
  CHECK(st_tensor_empty(device, ST_FLOAT32, 1, &n, NULL, &t) == ST_OK);
  for (int64_t i = 0; i < n && device == ST_DEVICE_CPU; i++) {
    CHECK(st_tensor_set(t, 1, &i, s) == ST_OK);
  }
  return t;
}

static double first_of(const st_tensor *t) {
  const int64_t at[] = {0};
  st_scalar s;
  CHECK(st_tensor_get(t, st_tensor_ndim(t), at, &s) == ST_OK);
  return s.kind == ST_SCALAR_FLOAT ? s.u.f : (double)s.u.i;
}

st_value arg(st_tensor *t) {
  return (st_value){.tag = ST_TAG_TENSOR, .u.tensor = t};
}

double first_of_call(const char *name, const char *overload, int n,
                            const st_value *args) {
  st_value ret;
  CHECK(st_call_op(st_op_find(name, overload), n, args, &ret) == ST_OK);
  const double x = first_of(ret.u.tensor);
  st_value_clear(&ret);
  return x;
}

/* -- Operators that come and go ------------------------------------------- */

enum { PARTS = 4 }; /* of an operator */

/* By registrations of its own, or every fourth by a library. */
typedef struct come {
  st_registration *part[PARTS];
  st_library *lib;
} come;

st_status answer(const st_call *call, const st_value *args,
                        st_value *rets) {
  const context *c = call->ctx;
  CHECK(c->state == ALIVE);
  const int64_t said = c->answer;
  if (said % 7 == 0) {
    sched_yield(); /* time to be dropped */
  } else if (said % 7 == 1) {
    st_value ret;
    const st_value both[] = {args[0], args[0]};
    const st_op *add = st_op_find("aten::add", "Tensor");
    CHECK(st_call_op(add, 2, both, &ret) == ST_OK);
    st_value_clear(&ret);
  }
  CHECK(c->state == ALIVE && c->answer == said);
  rets[0] = (st_value){.tag = ST_TAG_INT, .u.i = said};
  return ST_OK;
}

static st_status answer_unboxed(const st_call *call, st_tensor *a,
                                int64_t *out) {
  const st_value args = arg(a);
  st_value ret;
  CHECK(answer(call, &args, &ret) == ST_OK);
  *out = ret.u.i;
  return ST_OK;
}

static st_kernel kernel_of(int64_t says) {
  return (st_kernel){.fn = answer, .ctx = new_context(says),
                     .free_ctx = drop_context, .debug = "threads.c"};
}

void register_kernel(const char *name, const char *key, int64_t says,
                            st_registration **out) {
  const st_kernel k = kernel_of(says);
  CHECK((name ? st_implement(name, key, &k, out)
              : st_implement_fallback(key, &k, out)) == ST_OK);
}

title title_of(int i) {
  title t;
  snprintf(t.name, sizeof t.name, "storm::f%d.o%d", i % NAMES,
           i / NAMES % OVERLOADS);
  snprintf(t.schema, sizeof t.schema, "f%d.o%d(Tensor a%s) -> int", i % NAMES,
           i / NAMES % OVERLOADS, i % 2 ? ", int n=3" : "");
  return t;
}

/* One part of the i-th operator. Every WINDOW-th has the fallback, of which
 * there can be one at a time. */
static void register_part(int i, int part, st_registration **out) {
  const title t = title_of(i);
  switch (part) {
    case 0:
      CHECK(st_define("storm", t.schema, "comes and goes", "threads.c",
                      out) == ST_OK);
      break;
    case 1: register_kernel(t.name, "CPU", i, out); break;
    case 2: register_kernel(t.name, "CompositeExplicitAutograd", i, out);
      break;
    default: if (i % WINDOW == 0) register_kernel(NULL, "PrivateUse3", i, out);
  }
}

/* The same by a library, at once or all together. */
static void add_part(int i, int part, st_library *lib) {
  static const char *const keys[] = {"", "CPU", "CompositeExplicitAutograd"};
  const title t = title_of(i);
  if (part == 0) {
    CHECK(st_library_define(lib, t.schema, "comes and goes", 0,
                            "threads.c") == ST_OK);
  } else if (part < PARTS - 1) {
    const st_kernel k = kernel_of(i);
    CHECK(st_library_implement(lib, t.name, keys[part], &k) == ST_OK);
  }
}

static void shuffle(dice *d, int *order, int n) {
  for (int i = 0; i < n; i++) {
    const int k = roll(d, i + 1);
    order[i] = order[k];
    order[k] = i;
  }
}

static void come_in(dice *d, come *c, int i) {
  int order[PARTS];
  shuffle(d, order, PARTS);
  if (i % 4 == 3) {
    const int flags = ST_REPLACE | (i % 8 == 3 ? ST_DEFER : 0);
    CHECK(st_library_open("storm", ST_LIBRARY_FRAGMENT, NULL, flags,
                          "threads.c", &c->lib) == ST_OK);
    for (int k = 0; k < PARTS; k++) add_part(i, order[k], c->lib);
    CHECK(st_library_commit(c->lib) == ST_OK);
    return;
  }
  for (int k = 0; k < PARTS; k++) {
    register_part(i, order[k], &c->part[order[k]]);
  }
}

static void go(dice *d, come *c) {
  int order[PARTS];
  shuffle(d, order, PARTS);
  for (int k = 0; k < PARTS; k++) st_registration_release(&c->part[order[k]]);
  st_library_close(&c->lib);
}

/* -- The one that registers ----------------------------------------------- */

atomic_int newest;

static void renew(steady *s, int64_t says) {
  st_registration *old = s->kernel;
  s->kernel = NULL;
  const st_kernel boxed = kernel_of(says);
  const st_kernel unboxed = ST_KERNEL(ask, answer_unboxed, .ctx = boxed.ctx,
                                      .free_ctx = boxed.free_ctx,
                                      .debug = boxed.debug);
  CHECK(st_implement("storm::steady", "CPU", says % 2 ? &boxed : &unboxed,
                     &s->kernel) == ST_OK);
  st_registration_release(&old);
}

void begin(steady *s) {
  CHECK(st_define("storm", "steady(Tensor a) -> int", NULL, "threads.c",
                  &s->schema) == ST_OK);
  renew(s, 0);
}

void end(steady *s) {
  st_registration_release(&s->schema);
  st_registration_release(&s->kernel);
}

static void nap(void) {
  const struct timespec t = {0, 100000};
  nanosleep(&t, NULL);
}

void register_and_drop(dice *d, steady *s, int first, int n) {
  come window[WINDOW] = {0};
  for (int i = first; i < first + n; i++) {
    come *c = &window[i % WINDOW];
    go(d, c);
    come_in(d, c, i);
    atomic_store(&newest, i);
    if (i % 3 == 0) renew(s, i);
    if (i % 8 == 0) nap(); /* on a busy machine callers get their turn, too */
  }
  for (int i = 0; i < WINDOW; i++) go(d, &window[i]);
}
