/* A thread that calls: built-in operators, one whose kernel is replaced all
 * the time, and those that come and go, in all the ways there are.
 */

#include <string.h>

#include "storm.h"

atomic_int calling;
atomic_bool is_over;

/* Operators that strided brings, one of each kind of implementation. */
static void call_built_in(st_tensor *one, st_tensor *two) {
  const st_value both[] = {arg(one), arg(two)};
  const st_value size[] = {
    {.tag = ST_TAG_INTS, .len = 1, .u.ints = (int64_t[]){5}}
  };
  CHECK(first_of_call("aten::add", "Tensor", 2, both) == 3);
  CHECK(first_of_call("aten::sum", "", 1, both) == 3);
  CHECK(first_of_call("aten::exp", "", 1, both) > 2.718);
  CHECK(first_of_call("aten::rand", "", 1, size) < 1);
}

/* -- Operators that come and go ------------------------------------------- */

/* What it says never goes back. */
static void call_steady(caller *c) {
  const st_value args = arg(c->one);
  st_value ret;
  st_typed h;
  int64_t said;
  CHECK(st_call_op(st_op_find("storm::steady", ""), 1, &args, &ret) == ST_OK);
  CHECK(ret.tag == ST_TAG_INT && ret.u.i >= c->last);
  CHECK(ask_find("storm::steady", "", &h) == ST_OK);
  CHECK(ask_call(&h, c->one, &said) == ST_OK && said >= ret.u.i);
  c->last = said;
}

/* One of the operators that come and go, by its name. */
static const st_op *find_some(caller *c) {
  const int back = roll(&c->dice, 2 * WINDOW), at = atomic_load(&newest);
  const int i = at > back ? at - back : 0;
  char name[64], overload[16];
  snprintf(name, sizeof name, "storm::f%d", i % NAMES);
  snprintf(overload, sizeof overload, "o%d", i / NAMES % OVERLOADS);
  return st_op_find(name, overload);
}

static st_status pass_on(const st_call *call, const st_value *args,
                         st_value *rets) {
  ++*(int64_t *)call->ctx;
  return st_redispatch(call->op, call->keys, args, rets);
}

static void see(void *ctx, const st_op *op, const st_value *args) {
  (void)op, (void)args;
  ++*(int64_t *)ctx;
}

/* A call in one of the ways there are. */
static st_status try_call(caller *c, const st_op *op, st_value *ret) {
  static const char *const keys[] = {"CPU", "PrivateUse3"};
  const st_value args[2] = {arg(c->one), {.tag = ST_TAG_INT, .u.i = 1}};
  const st_value meta[2] = {arg(c->meta), args[1]};
  st_mode mode = {.fn = pass_on, .ctx = &c->seen};
  st_observer observer = {.before = see, .ctx = &c->seen};
  const st_tls before = st_tls_get();
  st_status status;
  st_keyset ks;
  const int way = roll(&c->dice, 6);
  CHECK(st_key_parse(keys[way % 2], &ks));
  switch (way) {
    case 0: case 1: return st_redispatch(op, ks, args, ret);
    case 2: return st_call_op(op, 1, meta, ret);
    case 3:
      st_mode_push(&mode);
      status = st_call_op(op, 1, args, ret);
      st_mode_pop();
      return status;
    case 4:
      st_observe(&observer);
      status = st_call_op(op, 1, args, ret);
      st_unobserve(&observer);
      return status;
    default:
      st_tls_set(st_tls_below_autograd());
      status = st_call_op(op, 1, args, ret);
      st_tls_set(before);
      return status;
  }
}

/* Can it be what became of an operator that comes and goes? */
static bool is_gone(st_status status) {
  return status == ST_NOT_FOUND || status == ST_NO_KERNEL ||
         (status == ST_BAD_STATE && (strstr(st_message(), "meanwhile") ||
                                     strstr(st_message(), "redefined")));
}

static void call_some(caller *c) {
  const st_op *op = find_some(c);
  st_value ret;
  const st_status status = op ? try_call(c, op, &ret) : ST_NOT_FOUND;
  if (status == ST_OK) {
    CHECK(ret.tag == ST_TAG_INT && ret.u.i >= 0);
    c->answers++;
  } else {
    CHECK(is_gone(status));
    CHECK(!op || strncmp(st_message(), "storm::f", 8) == 0);
    c->misses++;
  }
}

static bool count_one(void *ctx, const st_op *op) {
  CHECK(st_op_name(op)[0] && st_op_nrets(op) >= 0);
  ++*(int *)ctx;
  return true;
}

/* A text of an operator that may be gone. */
static void let_go(st_status status, char **text) {
  CHECK(status == ST_OK || is_gone(status));
  if (status != ST_OK) return;
  CHECK(strlen(*text) > 0);
  st_text_release(text);
}

/* Whole tables and the registry, as texts. */
static void dump(caller *c, const st_op *op) {
  const st_value args = arg(c->one);
  const title t = title_of(atomic_load(&newest));
  char *out;
  let_go(st_dump(t.name, &out), &out);
  let_go(st_dump_table(t.name, &out), &out);
  if (op) let_go(st_explain(op, 1, &args, &out), &out);
  if (roll(&c->dice, 20) == 0) {
    CHECK(st_dump_dangling(&out) == ST_OK);
    st_text_release(&out);
  }
  if (roll(&c->dice, 50) == 0) CHECK(st_check_registry() == ST_OK);
}

static void look_at(caller *c) {
  static const char *const keys[] = {"CPU", "Meta", "PrivateUse3",
                                     "AutogradCPU"};
  const st_op *op = find_some(c), *overloads[OVERLOADS];
  const char *kernel, *why;
  int n = 0;
  if (op) {
    const char *schema = st_op_schema(op);
    CHECK(!schema || strncmp(schema, "storm::f", 8) == 0);
    CHECK(st_op_slot(op, keys[roll(&c->dice, 4)], &kernel, &why));
    CHECK(kernel[0] && why[0] && st_op_doc(op));
    CHECK(st_op_overloads(st_op_name(op), overloads, OVERLOADS) <= OVERLOADS);
  }
  if (roll(&c->dice, 4) == 0) dump(c, op);
  if (roll(&c->dice, 50) == 0) {
    st_op_each(count_one, &n);
    CHECK(n > 100);
  }
}

void *call(void *ctx) {
  caller *c = ctx;
  c->one = filled(ST_DEVICE_CPU, 1);
  c->two = filled(ST_DEVICE_CPU, 2);
  c->meta = filled(ST_DEVICE_META, 0);
  for (int i = 0; c->rounds ? i < c->rounds : !atomic_load(&is_over); i++) {
    call_steady(c);
    call_some(c);
    if (i % 4 == 0) look_at(c);
    if (i % 8 == 0) call_built_in(c->one, c->two);
    if (c->calls++ == 0) atomic_fetch_add(&calling, 1);
  }
  st_tensor_release(&c->one);
  st_tensor_release(&c->two);
  st_tensor_release(&c->meta);
  return NULL;
}

void start(caller *c, int number, int rounds) {
  *c = (caller){.dice = {(uint64_t)number}, .rounds = rounds};
  CHECK(pthread_create(&c->thread, NULL, call, c) == 0);
}

void finish(caller *c) {
  CHECK(pthread_join(c->thread, NULL) == 0);
  CHECK(c->calls > 0);
}
