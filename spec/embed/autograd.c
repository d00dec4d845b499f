/* Gradients from C: values, hooks, functions, a long chain on a small stack,
 * graphs of several threads over one leaf, and every allocation failing.
 */

#include <pthread.h>

#include "check.h"

/* -- Calls ---------------------------------------------------------------- */

static st_tensor *call(const char *name, const char *overload, int n,
                       const st_value *args) {
  st_value ret;
  CHECK(st_call_op(st_op_find(name, overload), n, args, &ret) == ST_OK);
  return ret.u.tensor;
}

static st_tensor *call2(const char *name, const char *overload, st_tensor *a,
                        st_tensor *b) {
  const st_value args[] = {arg(a), arg(b)};
  return call(name, overload, 2, args);
}

static st_tensor *call1(const char *name, st_tensor *a) {
  const st_value args[] = {arg(a)};
  return call(name, "", 1, args);
}

static st_tensor *leaf(double value) {
  st_tensor *t = one_element(value);
  CHECK(st_tensor_set_requires_grad(t, true) == ST_OK);
  return t;
}

static st_tensor *grad(st_tensor *y, st_tensor *x, bool create_graph) {
  const st_backward_pass pass = {
    .noutputs = 1, .outputs = &y, .ninputs = 1, .inputs = &x,
    .retain_graph = true, .create_graph = create_graph
  };
  st_tensor *g;
  CHECK(st_backward(&pass, &g) == ST_OK);
  return g;
}

static st_status run_back(st_tensor *y) {
  const st_backward_pass pass = {.noutputs = 1, .outputs = &y};
  return st_backward(&pass, NULL);
}

static void drop(st_tensor *t) { st_tensor_release(&t); }

/* -- Topics --------------------------------------------------------------- */

/* y = x^3 = x x x: 12, 12 and 6 at x = 2. */
static void derivatives(void) {
  st_tensor *x = leaf(2);
  st_tensor *xx = call2("aten::mul", "Tensor", x, x);
  st_tensor *y = call2("aten::mul", "Tensor", xx, x);
  st_tensor *first = grad(y, x, true), *second = grad(first, x, true);
  st_tensor *third = grad(second, x, false);
  CHECK(item(first) == 12 && item(second) == 12 && item(third) == 6);
  CHECK(st_tensor_requires_grad(second) && !st_tensor_requires_grad(third));
  CHECK(run_back(y) == ST_OK && item(st_tensor_grad(x)) == 12);
  CHECK(run_back(y) == ST_BAD_STATE && says("retain_graph"));
  drop(third); drop(second); drop(first); drop(y); drop(xx);
  /* what is differentiated twice must not keep itself alive */
  CHECK(st_tensor_set_grad(x, NULL) == ST_OK);
  drop(x);
  puts("derivatives");
}

static st_status scale_grad(void *ctx, st_tensor *g, st_tensor **out) {
  const st_value args[] = {arg(g), {ST_TAG_INT, 0, {.i = 10}}};
  st_value ret;
  (void)ctx;
  CHECK(st_call_op(st_op_find("aten::mul", "Scalar"), 2, args, &ret) ==
        ST_OK);
  *out = ret.u.tensor;
  return ST_OK;
}

static void count_free(void *ctx) { ++*(int *)ctx; }

static void hooks(void) {
  int freed = 0;
  uint64_t id;
  st_tensor *x = leaf(3), *y = call2("aten::mul", "Tensor", x, x);
  const st_tensor_hook hook = {scale_grad, &freed, count_free};
  CHECK(st_tensor_add_hook(y, &hook, &id) == ST_OK);
  CHECK(st_tensor_retain_grad(y) == ST_OK);
  st_tensor *z = call1("aten::exp", y), *g = grad(z, x, false);
  CHECK(item(g) > 60 * 8103 && item(g) < 60 * 8104);
  CHECK(st_tensor_remove_hook(y, id) && freed == 1);
  CHECK(!st_tensor_remove_hook(y, id));
  drop(g);
  g = grad(z, x, false);
  CHECK(item(g) > 6 * 8103 && item(g) < 6 * 8104);
  CHECK(st_tensor_grad(y) && item(st_tensor_grad(y)) > 8103);
  CHECK(st_tensor_add_hook(x, &hook, &id) == ST_OK);
  drop(g); drop(z); drop(y); drop(x);
  CHECK(freed == 2);
  puts("hooks");
}

static st_status triple(void *ctx, st_tensor *const *grads,
                        st_tensor *const *saved, const bool *wanted,
                        st_tensor **inputs) {
  ++*(int *)ctx;
  CHECK(grads[0] && saved[0] && item(saved[0]) == 5 && wanted[0]);
  inputs[0] = call2("aten::mul", "Tensor", grads[0], saved[0]);
  return ST_OK;
}

static void functions(void) {
  int runs = 0;
  bool recorded;
  st_tensor *x = leaf(5), *y = one_element(7), *inputs[] = {x};
  const st_function f = {
    .name = "Triple", .backward = triple, .ctx = &runs, .ninputs = 1,
    .noutputs = 1, .nsaved = 1, .inputs = inputs, .outputs = &y,
    .saved = inputs
  };
  st_node *n;
  CHECK(st_record(&f, &recorded) == ST_OK && recorded);
  CHECK(st_tensor_grad_fn(y, &n, NULL) == ST_OK);
  CHECK(strcmp(st_node_name(n), "Triple") == 0);
  CHECK(st_node_ctx(n, triple) == &runs);
  CHECK(st_node_leaf(st_node_next(n, 0, NULL)) == x);
  st_node_release(&n);
  st_tensor *g = grad(y, x, false);
  CHECK(item(g) == 5 && runs == 1);
  drop(g);
  const st_tls old = st_tls_get();
  st_tls_set(st_tls_grad(false));
  CHECK(st_record(&f, &recorded) == ST_OK && !recorded);
  st_tls_set(old);
  drop(y); drop(x);
  puts("functions");
}

/* What PyTorch cannot free: a gradient with a history of its own leaf, and a
 * leaf that is written with what was computed from it. */
static void cycles(void) {
  st_tensor *x = leaf(2), *y = call2("aten::mul", "Tensor", x, x);
  const st_backward_pass pass = {.noutputs = 1, .outputs = &y,
                                 .create_graph = true};
  CHECK(st_backward(&pass, NULL) == ST_OK);
  CHECK(st_tensor_requires_grad(st_tensor_grad(x)));
  drop(y); drop(x);
  x = leaf(2);
  y = call2("aten::mul", "Tensor", x, x);
  CHECK(st_tensor_set_requires_grad(x, false) == ST_OK);
  drop(call2("aten::add_", "Tensor", x, y));
  CHECK(!st_tensor_is_leaf(x));
  drop(y); drop(x);
  /* but a hook is called, whoever has the leaf */
  int freed = 0;
  const st_tensor_hook hook = {scale_grad, &freed, count_free};
  x = leaf(2);
  CHECK(st_tensor_add_hook(x, &hook, NULL) == ST_OK);
  y = call2("aten::mul", "Tensor", x, x);
  drop(x);
  CHECK(freed == 0 && run_back(y) == ST_OK);
  drop(y);
  CHECK(freed == 1);
  puts("cycles");
}

enum { CHAIN = 100000, SMALL_STACK = 128 << 10 };

/* A chain of very many operators: made, run and freed on 128 KB of stack. */
static void *long_chain(void *unused) {
  st_tensor *x = leaf(1), *y = call1("aten::clone", x);
  const st_value one = {ST_TAG_INT, 0, {.i = 1}};
  for (int i = 0; i < CHAIN; i++) {
    const st_value args[] = {arg(y), one};
    st_tensor *next = call("aten::add", "Scalar", 2, args);
    drop(y);
    y = next;
  }
  st_tensor *g = grad(y, x, false);
  CHECK(item(g) == 1);
  drop(g);
  CHECK(run_back(y) == ST_OK && item(st_tensor_grad(x)) == 1);
  drop(y);
  drop(x);
  return unused;
}

static void on_small_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, SMALL_STACK) == 0);
  CHECK(pthread_create(&thread, &attributes, long_chain, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  pthread_attr_destroy(&attributes);
  puts("very many nodes on a small stack");
}

static void *own_graphs(void *shared) {
  for (int i = 0; i < 2000; i++) {
    st_tensor *y = call2("aten::mul", "Tensor", shared, shared);
    st_tensor *g = grad(y, shared, false);
    CHECK(item(g) == 8);
    drop(g);
    drop(y);
  }
  return NULL;
}

/* Graphs of four threads that begin at one leaf. */
static void threads(void) {
  pthread_t team[4];
  st_tensor *x = leaf(4);
  for (int i = 0; i < 4; i++) {
    CHECK(pthread_create(&team[i], NULL, own_graphs, x) == 0);
  }
  for (int i = 0; i < 4; i++) CHECK(pthread_join(team[i], NULL) == 0);
  drop(x);
  puts("one leaf, four threads");
}

/* -- Out of memory -------------------------------------------------------- */

static st_status try_call(const char *name, const char *overload, int n,
                          const st_value *args, st_tensor **out) {
  st_value ret;
  const st_status status = st_call_op(st_op_find(name, overload), n, args,
                                      &ret);
  if (status == ST_OK) *out = ret.u.tensor;
  return status;
}

#define TRY(e) do { if ((status = (e)) != ST_OK) goto end; } while (0)

/* A graph with a view written in place and its second derivative. */
static st_status build_and_run(st_tensor *x) {
  const st_value whole_x = arg(x);
  st_tensor *copy = NULL, *view = NULL, *same = NULL, *y = NULL, *g = NULL,
            *h = NULL;
  st_status status;
  TRY(try_call("aten::clone", "", 1, &whole_x, &copy));
  const st_value slice[] = {arg(copy), {ST_TAG_INT, 0, {.i = 0}},
                            {ST_TAG_INT, 0, {.i = 0}},
                            {ST_TAG_INT, 0, {.i = 1}}};
  TRY(try_call("aten::slice", "Tensor", 4, slice, &view));
  const st_value multiply[] = {arg(view), arg(x)};
  TRY(try_call("aten::mul_", "Tensor", 2, multiply, &same));
  const st_value whole = arg(copy);
  TRY(try_call("aten::exp", "", 1, &whole, &y));
  st_backward_pass pass = {.noutputs = 1, .outputs = &y, .ninputs = 1,
                           .inputs = &x, .create_graph = true,
                           .retain_graph = true};
  TRY(st_backward(&pass, &g));
  pass.outputs = &g;
  TRY(st_backward(&pass, &h));
end:
  drop(h); drop(g); drop(y); drop(same); drop(view); drop(copy);
  return status;
}

static void out_of_memory(void) {
  int64_t k = 0;
  st_status status;
  st_tensor *x = leaf(2);
  CHECK(build_and_run(x) == ST_OK);
  do {
    st_memory_fail_at(++k);
    status = build_and_run(x);
    st_memory_fail_at(0);
    CHECK(status == ST_OK || status == ST_NO_MEMORY);
    CHECK(item(x) == 2);
  } while (status != ST_OK && k < 100000);
  CHECK(status == ST_OK && k > 50);
  drop(x);
  puts("out of memory");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  derivatives();
  hooks();
  functions();
  cycles();
  on_small_stack();
  threads();
  out_of_memory();
  nothing_left();
  return 0;
}
