/* Calls through the dispatcher from C, on the public header alone: every
 * check prints its topic when it is through, any failure ends the program.
 */

#include "check.h"

ST_SIGNATURE(axpy, (TENSOR, TENSOR, SCALAR), (TENSOR))
ST_SIGNATURE(count, (TENSORS, OPT_TENSOR, OPT_INT, INTS), (INT, BOOL))
ST_SIGNATURE(touch, (TENSOR, FLOAT), (NONE))

/* -- Kernels -------------------------------------------------------------- */

static int unboxed_calls, boxed_calls;

static st_status unboxed_axpy(const st_call *call, st_tensor *x, st_tensor *y,
                              st_scalar a, st_tensor **out) {
  seen_keys = call->keys;
  unboxed_calls++;
  *out = one_element(a.u.f * item(x) + item(y));
  return ST_OK;
}

static st_status boxed_axpy(const st_call *call, const st_value *args,
                            st_value *rets) {
  boxed_calls++;
  (void)call;
  *rets = arg(one_element(args[2].u.f * item(args[0].u.tensor) +
                          item(args[1].u.tensor)));
  return ST_OK;
}

static st_status failing_axpy(const st_call *call, st_tensor *x, st_tensor *y,
                              st_scalar a, st_tensor **out) {
  (void)call, (void)x, (void)y, (void)a, (void)out;
  return st_fail(ST_BAD_VALUE, "argument 'a' is not to its taste");
}

static st_status my_count(const st_call *call, st_tensors list,
                          st_tensor *maybe, st_opt_int n, st_ints ints,
                          int64_t *total, bool *given) {
  (void)call;
  *total = list.n + (n.has ? n.i : 0) + ints.n;
  *given = maybe != NULL;
  return ST_OK;
}

static st_status my_touch(const st_call *call, st_tensor *t, double x) {
  const int64_t zero = 0;
  (void)call;
  return st_tensor_set(t, 1, &zero, (st_scalar){ST_SCALAR_FLOAT, {.f = x}});
}

/* -- Typed calls ---------------------------------------------------------- */

static void call_both_ways(const st_typed *h, double *typed, double *boxed) {
  st_tensor *x = one_element(3), *y = one_element(4), *out;
  const st_scalar two = {ST_SCALAR_FLOAT, {.f = 2}};
  const st_value args[] = {arg(x), arg(y), {ST_TAG_FLOAT, 0, {.f = 2}}};
  st_value ret;
  CHECK(axpy_call(h, x, y, two, &out) == ST_OK);
  *typed = item(out);
  st_tensor_release(&out);
  CHECK(st_call_op(h->op, 3, args, &ret) == ST_OK);
  *boxed = item(ret.u.tensor);
  st_value_clear(&ret);
  st_tensor_release(&x);
  st_tensor_release(&y);
}

static int warnings;

static void count_warning(void *ctx, const char *text) {
  warnings += ctx == NULL && strstr(text, "hides that of 'u'") != NULL;
}

/* Either kind of kernel through either door (C7). Hiding one warns (R5). */
static void either_door(void) {
  st_library *lib = open("ctest", ST_LIBRARY_DEF, 0);
  const st_kernel unboxed = ST_KERNEL(axpy, unboxed_axpy, .debug = "u");
  const st_kernel boxed = {.fn = boxed_axpy, .debug = "b"};
  double a, b;
  st_typed h;
  CHECK(st_library_define(lib, "axpy(Tensor x, Tensor y, Scalar a) -> Tensor",
                          NULL, 0, "dispatch.c") == ST_OK);
  CHECK(axpy_find("ctest::axpy", "", &h) == ST_OK);
  CHECK(st_library_implement(lib, "axpy", "CPU", &unboxed) == ST_OK);
  call_both_ways(&h, &a, &b);
  CHECK(a == 10 && b == 10 && unboxed_calls == 2 && boxed_calls == 0);
  CHECK(seen_keys & key("CPU"));
  CHECK(shows(st_dump, "ctest::axpy", "[ boxed unboxed ]"));
  st_set_warning_handler(count_warning, NULL);
  CHECK(st_library_implement(lib, "axpy", "CPU", &boxed) == ST_OK);
  st_set_warning_handler(NULL, NULL);
  CHECK(warnings == 1);
  call_both_ways(&h, &a, &b);
  CHECK(a == 10 && b == 10 && unboxed_calls == 2 && boxed_calls == 2);
  CHECK(shows(st_dump, "ctest::axpy", "[ boxed unboxed ] (inactive)"));
  st_library_close(&lib);
  CHECK(!st_op_find("ctest::axpy", ""));
  puts("either door");
}

static void every_type(void) {
  st_library *lib = open("ctest", ST_LIBRARY_DEF, 0);
  const st_kernel kernel = ST_KERNEL(count, my_count, .debug = "c");
  const st_kernel toucher = ST_KERNEL(touch, my_touch, .debug = "t");
  const int64_t ints[] = {7, 8, 9};
  st_tensor *x = one_element(1), *list[] = {x, x};
  int64_t total;
  bool given;
  st_typed h;
  CHECK(st_library_define(lib, "count(Tensor[] ts, Tensor? t, int? n, "
                          "int[] more) -> (int, bool)", NULL, 0, "") ==
        ST_OK);
  CHECK(st_library_implement(lib, "count", "CPU", &kernel) == ST_OK);
  CHECK(count_find("ctest::count", "", &h) == ST_OK);
  CHECK(count_call(&h, (st_tensors){list, 2}, NULL, (st_opt_int){true, 10},
                   (st_ints){ints, 3}, &total, &given) == ST_OK);
  CHECK(total == 15 && !given);
  CHECK(count_call(&h, (st_tensors){list, 1}, x, (st_opt_int){false, 10},
                   (st_ints){ints, 0}, &total, &given) == ST_OK);
  CHECK(total == 1 && given);
  CHECK(st_library_define(lib, "touch(Tensor(a!) t, float x) -> ()", NULL, 0,
                          "") == ST_OK);
  CHECK(st_library_implement(lib, "touch", "CPU", &toucher) == ST_OK);
  CHECK(touch_find("ctest::touch", "", &h) == ST_OK);
  CHECK(touch_call(&h, x, 2.5) == ST_OK && item(x) == 2.5);
  CHECK(touch_redispatch(&h, key("CPU"), x, 3.5) == ST_OK && item(x) == 3.5);
  CHECK(touch_redispatch(&h, key("Meta"), x, 4.5) == ST_NO_KERNEL);
  st_tensor_release(&x);
  st_library_close(&lib);
  puts("every type");
}

/* Signatures are checked where they meet (C10). */
static void signatures(void) {
  st_library *lib = open("ctest", ST_LIBRARY_DEF, ST_REPLACE);
  const st_kernel axpy = ST_KERNEL(axpy, unboxed_axpy, .debug = "mine");
  const st_kernel touch = ST_KERNEL(touch, my_touch, .debug = "other");
  st_tensor *x = one_element(1), *out;
  const st_scalar two = {ST_SCALAR_FLOAT, {.f = 2}};
  st_typed h, wrong;
  CHECK(st_library_define(lib, "f(Tensor x, Tensor y, Scalar a) -> Tensor",
                          NULL, 0, "") == ST_OK);
  CHECK(touch_find("ctest::f", "", &wrong) == ST_BAD_TYPE);
  CHECK(says("Tensor, Tensor, Scalar -> Tensor") && says("ctest::f"));
  CHECK(st_library_implement(lib, "f", "CPU", &touch) == ST_BAD_TYPE);
  CHECK(says("other"));
  CHECK(!shows(st_dump, "ctest::f", "other"));
  CHECK(st_library_implement(lib, "f", "CPU", &axpy) == ST_OK);
  CHECK(axpy_find("ctest::f", "", &h) == ST_OK);
  /* A definition with other types puts kernel and handle out of service. */
  CHECK(st_library_define(lib, "f(Tensor x) -> Tensor", NULL, 0, "") ==
        ST_OK);
  CHECK(shows(st_dump, "ctest::f", "(inactive: other C types)"));
  CHECK(axpy_call(&h, x, x, two, &out) == ST_BAD_STATE);
  CHECK(says("was redefined"));
  const st_value one_arg = arg(x);
  st_value ret;
  CHECK(st_call_op(h.op, 1, &one_arg, &ret) == ST_NO_KERNEL);
  /* Two kernels before any definition must agree, too. */
  CHECK(st_library_implement(lib, "g", "CPU", &axpy) == ST_OK);
  CHECK(st_library_implement(lib, "g", "Meta", &touch) == ST_BAD_TYPE);
  CHECK(st_library_define(lib, "g(Tensor x) -> Tensor", NULL, 0, "") ==
        ST_BAD_TYPE);
  CHECK(shows(st_dump, "ctest::g", "schema: (none)"));
  st_tensor_release(&x);
  st_library_close(&lib);
  puts("signatures");
}

static void failures(void) {
  st_library *lib = open("ctest", ST_LIBRARY_DEF, 0);
  const st_kernel kernel = ST_KERNEL(axpy, failing_axpy, .debug = "f");
  st_tensor *x = one_element(1), *out;
  st_typed h;
  CHECK(st_library_define(lib, "f(Tensor x, Tensor y, Scalar a) -> Tensor",
                          NULL, 0, "") == ST_OK);
  CHECK(st_library_implement(lib, "f", "CPU", &kernel) == ST_OK);
  CHECK(axpy_find("ctest::f", "", &h) == ST_OK);
  CHECK(axpy_call(&h, x, x, (st_scalar){ST_SCALAR_INT, {.i = 1}}, &out) ==
        ST_BAD_VALUE);
  CHECK(says("ctest::f: argument 'a' is not to its taste"));
  st_library_close(&lib);
  CHECK(axpy_call(&h, x, x, (st_scalar){ST_SCALAR_INT, {.i = 1}}, &out) ==
        ST_NOT_FOUND);
  CHECK(axpy_find("ctest::f", "", &h) == ST_NOT_FOUND);
  st_tensor_release(&x);
  puts("failures");
}

/* -- Watching ------------------------------------------------------------- */

typedef struct watch { int before, after, with_args, with_rets; } watch;

static void note_before(void *ctx, const st_op *op, const st_value *args) {
  watch *w = ctx;
  (void)op;
  w->before++;
  w->with_args += args != NULL;
}

static void note_after(void *ctx, const st_op *op, st_status status,
                       const st_value *rets) {
  watch *w = ctx;
  (void)op, (void)status;
  w->after++;
  w->with_rets += rets != NULL;
}

static char kinds[256];

static void note_kind(void *ctx, const st_trace *e) {
  (void)ctx;
  strcat(strcat(kinds, e->kind), " ");
}

/* Five doors; observers see calls, values if they ask (C6, C13, C14). */
static void watching(void) {
  st_library *lib = open("ctest", ST_LIBRARY_DEF, 0);
  const st_kernel kernel = ST_KERNEL(axpy, unboxed_axpy, .debug = "u");
  st_tensor *x = one_element(3), *out;
  const st_scalar two = {ST_SCALAR_FLOAT, {.f = 2}};
  const st_value args[] = {arg(x), arg(x), {ST_TAG_FLOAT, 0, {.f = 2}}};
  watch plain = {0}, full = {0};
  st_observer quick = {note_before, note_after, &plain, false, NULL};
  st_observer curious = {note_before, note_after, &full, true, NULL};
  st_value ret;
  st_typed h;
  CHECK(st_library_define(lib, "f(Tensor x, Tensor y, Scalar a) -> Tensor",
                          NULL, 0, "") == ST_OK);
  CHECK(st_library_implement(lib, "f", "CPU", &kernel) == ST_OK);
  CHECK(axpy_find("ctest::f", "", &h) == ST_OK);
  st_set_trace(note_kind, NULL);
  for (int round = 0; round < 2; round++) {
    st_observe(round ? &curious : &quick);
    CHECK(axpy_call(&h, x, x, two, &out) == ST_OK && item(out) == 9);
    st_tensor_release(&out);
    CHECK(axpy_redispatch(&h, key("CPU"), x, x, two, &out) == ST_OK);
    st_tensor_release(&out);
    CHECK(st_call_op(h.op, 3, args, &ret) == ST_OK);
    st_value_clear(&ret);
    CHECK(st_redispatch(h.op, key("CPU"), args, &ret) == ST_OK);
    st_value_clear(&ret);
    CHECK(st_call_for_key(h.op, "CPU", args, &ret) == ST_OK);
    st_value_clear(&ret);
    st_unobserve(round ? &curious : &quick);
  }
  st_watch(&quick);
  CHECK(st_call_op(h.op, 3, args, &ret) == ST_OK);
  st_unwatch(&quick);
  st_value_clear(&ret);
  st_set_trace(NULL, NULL);
  CHECK(strncmp(kinds, "call redispatch callBoxed redispatchBoxed "
                "callBoxedForDispatchKey ", 65) == 0);
  CHECK(plain.before == 3 && plain.after == 3);
  CHECK(plain.with_args == 0 && plain.with_rets == 0);
  CHECK(full.before == 2 && full.with_args == 2 && full.with_rets == 2);
  st_tensor_release(&x);
  st_library_close(&lib);
  puts("watching");
}

/* -- Thread state --------------------------------------------------------- */

static bool gives(st_tensor *x, st_dtype dtype) {
  const st_value args[] = {arg(x), arg(x)};
  st_value ret;
  CHECK(st_call_op(st_op_find("aten::matmul", ""), 2, args, &ret) == ST_OK);
  const bool has = st_tensor_dtype(ret.u.tensor) == dtype;
  st_value_clear(&ret);
  return has;
}

static void autocast(void) {
  const int64_t one = 1;
  const st_tls old = st_tls_get();
  st_tls tls;
  st_tensor *x;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT32, 1, &one, NULL, &x) == ST_OK);
  CHECK(st_tls_autocast(true, ST_FLOAT32, true, &tls) == ST_BAD_DTYPE);
  CHECK(says("autocast: the dtype must be bfloat16 or float16"));
  CHECK(!st_autocast_is_enabled() && gives(x, ST_FLOAT32));
  CHECK(st_tensor_set_requires_grad(x, true) == ST_OK);
  CHECK(st_tls_autocast(true, ST_FLOAT16, true, &tls) == ST_OK);
  st_tls_set(tls);
  CHECK(st_autocast_is_enabled() && gives(x, ST_FLOAT16));
  CHECK(st_tls_autocast(false, ST_FLOAT16, true, &tls) == ST_OK);
  st_tls_set(tls);
  CHECK(gives(x, ST_FLOAT32));
  st_tls_set(old);
  st_autocast_clear();
  st_tensor_release(&x);
  puts("autocast");
}

/* The kernel of a script, which returns two elements for one. */
static st_status return_two(void *rets) {
  const int64_t two = 2;
  *(st_value *)rets = (st_value){.tag = ST_TAG_NONE};
  st_tensor *t;
  if (st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT64, 1, &two, NULL, &t) != ST_OK) {
    return ST_NO_MEMORY;
  }
  *(st_value *)rets = arg(t);
  return ST_OK;
}

static st_status scripted(const st_call *call, const st_value *args,
                          st_value *rets) {
  return st_run_scripted_kernel(call, args, rets, "a.lua:1", return_two, rets);
}

static void scripts(void) {
  st_library *lib = open("aten", ST_LIBRARY_IMPL, ST_REPLACE);
  const st_kernel kernel = {.fn = scripted, .debug = "scripted"};
  const st_op *op = st_op_find("aten::sin", "");
  st_tensor *x = one_element(1);
  const st_value args[] = {arg(x)};
  const char *text = st_op_schema(op);
  st_value ret;
  CHECK(st_library_implement(lib, "sin", "CPU", &kernel) == ST_OK);
  CHECK(st_call_op(op, 1, args, &ret) == ST_BAD_STATE);
  CHECK(says("its shape must be [1], got [2]"));
  CHECK(st_call_declared(op, text, 1, args, &ret) == ST_BAD_STATE);
  CHECK(st_call_converted(op, text, args, &ret) == ST_BAD_STATE);
  CHECK(st_call_for_key(op, "CPU", args, &ret) == ST_BAD_STATE);
  CHECK(st_script_call_declared(op, text, 1, args, &ret) == ST_OK);
  st_value_clear(&ret);
  CHECK(st_script_call_converted(op, text, args, &ret) == ST_OK);
  st_value_clear(&ret);
  CHECK(st_script_call_for_key(op, text, "CPU", args, &ret) == ST_OK);
  st_value_clear(&ret);
  st_library_close(&lib);
  CHECK(st_call_op(op, 1, args, &ret) == ST_OK);
  st_value_clear(&ret);
  st_tensor_release(&x);
  puts("scripts");
}

static void guards(void) {
  st_library *lib = open("ctest", ST_LIBRARY_DEF, 0);
  const st_kernel see = {.fn = see_keys, .debug = "see"};
  st_tensor *x = one_element(1), *y;
  const st_value args = arg(x);
  const st_tls old = st_tls_get();
  CHECK(st_library_define(lib, "f(Tensor x) -> ()", NULL, 0, "") == ST_OK);
  CHECK(st_library_implement(lib, "f", "CPU", &see) == ST_OK);
  CHECK(st_library_implement(lib, "f", "Tracer", &see) == ST_OK);
  CHECK(st_library_implement(lib, "f", "ADInplaceOrView", &see) == ST_OK);
  const st_op *op = st_op_find("ctest::f", "");
  CHECK(st_call_op(op, 1, &args, NULL) == ST_OK);
  CHECK(strcmp(st_keyset_highest(seen_keys), "ADInplaceOrView") == 0);
  st_tls_set(st_tls_include(key("Tracer")));
  CHECK(st_call_op(op, 1, &args, NULL) == ST_OK);
  CHECK(strcmp(st_keyset_highest(seen_keys), "Tracer") == 0);
  st_tls_set(st_tls_exclude(key("Tracer") | key("ADInplaceOrView")));
  CHECK(st_call_op(op, 1, &args, NULL) == ST_OK);
  CHECK(strcmp(st_keyset_highest(seen_keys), "CPU") == 0);
  st_tls_set(old);
  st_tls_set(st_tls_below_adinplaceorview());
  CHECK(st_call_op(op, 1, &args, NULL) == ST_OK);
  CHECK(strcmp(st_keyset_highest(seen_keys), "CPU") == 0);
  st_tls_set(old);
  st_tls_set(st_tls_inference(true));
  y = one_element(1);
  st_tls_set(old);
  CHECK(st_tensor_is_inference(y) && !st_tensor_is_inference(x));
  CHECK(st_tensor_set_requires_grad(y, true) == ST_BAD_STATE);
  st_tensor_release(&y);
  st_tensor_release(&x);
  st_library_close(&lib);
  puts("guards");
}

static st_status give_first(const st_call *call, const st_value *args,
                            st_value *rets) {
  (void)call;
  return st_value_of_tensor(args[0].u.tensor, rets);
}

/* An operator without a derivative does not lose a gradient silently. */
static void gradients(void) {
  st_library *lib = open("ctest", ST_LIBRARY_DEF, 0);
  const st_kernel first = {.fn = give_first, .debug = "first"};
  CHECK(st_library_define(lib, "first(Tensor a, Tensor b) -> Tensor", NULL, 0,
                          "") == ST_OK);
  CHECK(st_library_implement(lib, "first", "CPU", &first) == ST_OK);
  const st_op *op = st_op_find("ctest::first", "");
  const st_op *lt = st_op_find("aten::lt", "Tensor");
  st_tensor *x = one_element(1);
  const st_value args[] = {arg(x), arg(x)};
  const st_tls old = st_tls_get();
  st_value ret;
  CHECK(st_tensor_set_requires_grad(x, true) == ST_OK);
  CHECK(st_call_op(op, 2, args, &ret) == ST_NO_KERNEL);
  CHECK(says("first: argument 'a' requires a gradient"));
  CHECK(st_call_op(lt, 2, args, &ret) == ST_OK);
  st_value_clear(&ret);
  st_tls_set(st_tls_grad(false));
  CHECK(st_call_op(op, 2, args, &ret) == ST_OK);
  st_value_clear(&ret);
  st_tls_set(old);
  CHECK(st_tensor_set_requires_grad(x, false) == ST_OK);
  CHECK(st_call_op(op, 2, args, &ret) == ST_OK);
  st_value_clear(&ret);
  st_tensor_release(&x);
  st_library_close(&lib);
  puts("gradients");
}

static int mode_calls;

static st_status pass_on(const st_call *call, const st_value *args,
                         st_value *rets) {
  mode_calls++;
  return st_redispatch(call->op, call->keys, args, rets);
}

static void modes(void) {
  const st_op *add = st_op_find("aten::add", "Tensor");
  st_tensor *x = one_element(2);
  const st_value args[] = {arg(x), arg(x)};
  st_mode mode = {pass_on, NULL, NULL}, inner = {pass_on, NULL, NULL};
  st_value ret;
  st_mode_push(&mode);
  CHECK(st_call_op(add, 2, args, &ret) == ST_OK && item(ret.u.tensor) == 4);
  st_value_clear(&ret);
  CHECK(mode_calls == 1);
  st_mode_push(&inner);
  CHECK(st_call_op(add, 2, args, &ret) == ST_OK);
  st_value_clear(&ret);
  CHECK(mode_calls == 3); /* the inner one, then the outer one */
  st_mode_pop();
  st_mode_pop();
  CHECK(st_call_op(add, 2, args, &ret) == ST_OK && mode_calls == 3);
  st_value_clear(&ret);
  st_tensor_release(&x);
  puts("modes");
}

static st_status return_first(const st_call *call, const st_value *args,
                              st_value *rets) {
  (void)call;
  st_tensor_retain(args[0].u.tensor);
  rets[0] = args[0];
  return ST_OK;
}

static void ignore_warning(void *ctx, const char *text) {
  (void)ctx;
  (void)text;
}

static void shortcuts(void) {
  const st_op *mul = st_op_find("aten::mul", "Tensor");
  const st_op *sort = st_op_find("aten::sort", "");
  const st_kernel kernel = {.fn = return_first, .debug = "dispatch.c"};
  st_tensor *x = one_element(3);
  const st_value args[] = {arg(x), arg(x)};
  st_shortcut s, none;
  st_value ret;
  st_status status;
  CHECK(st_call_op(mul, 2, args, &ret) == ST_OK);
  st_value_clear(&ret);
  st_shortcut_find(mul, &s);
  CHECK(s.run && st_shortcut_call(&s, args, &ret, &status));
  CHECK(status == ST_OK && item(ret.u.tensor) == 9);
  st_value_clear(&ret);
  st_shortcut_find(sort, &none);
  CHECK(!none.run && !st_shortcut_call(&none, args, &ret, &status));
  st_memory_fail_at(1);
  CHECK(st_shortcut_call(&s, args, &ret, &status));
  CHECK(st_memory_fail_at(0) == 0 && status == ST_NO_MEMORY && says("mul: "));
  const st_op *add_ = st_op_find("aten::add_", "Tensor");
  const st_value five = {ST_TAG_INT, 0, {.i = 5}}, one = {ST_TAG_INT, 0, {1}};
  const st_value odd[] = {five, arg(x), one}, even[] = {arg(x), five, one};
  CHECK(st_call_op(add_, 3, even, &ret) == ST_BAD_TYPE);
  CHECK(st_call_op(add_, 2, args, &ret) == ST_OK && item(x) == 6);
  st_value_clear(&ret);
  st_shortcut_find(add_, &none);
  CHECK(none.run && !st_shortcut_call(&none, odd, &ret, &status));
  CHECK(st_shortcut_call(&none, even, &ret, &status) && status == ST_OK);
  CHECK(ret.u.tensor == x && item(x) == 11);
  st_value_clear(&ret);
  CHECK(st_tensor_set_requires_grad(x, true) == ST_OK);
  CHECK(!st_shortcut_call(&s, args, &ret, &status));
  CHECK(st_tensor_set_requires_grad(x, false) == ST_OK);
  st_registration *r;
  st_set_warning_handler(ignore_warning, NULL);
  CHECK(st_implement("aten::mul.Tensor", "CPU", &kernel, &r) == ST_OK);
  st_set_warning_handler(NULL, NULL);
  CHECK(!st_shortcut_call(&s, args, &ret, &status));
  CHECK(st_call_op(mul, 2, args, &ret) == ST_OK && ret.u.tensor == x);
  st_value_clear(&ret);
  st_shortcut_find(mul, &s);
  CHECK(!s.run);
  st_registration_release(&r);
  CHECK(st_call_op(mul, 2, args, &ret) == ST_OK);
  st_value_clear(&ret);
  st_shortcut_find(mul, &s);
  CHECK(st_shortcut_call(&s, args, &ret, &status) && status == ST_OK);
  st_value_clear(&ret);
  st_tensor_release(&x);
  puts("shortcuts");
}

int main(void) {
  CHECK(st_init() == ST_OK);
  either_door();
  every_type();
  signatures();
  failures();
  watching();
  guards();
  autocast();
  scripts();
  gradients();
  modes();
  shortcuts();
  CHECK(st_check_registry() == ST_OK);
  nothing_left();
  return 0;
}
