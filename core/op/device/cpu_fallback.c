/* The fallback of devices: an operator that has no kernel there runs on the
 * CPU.
 *
 * Note [The CPU fallback]
 * Arguments on the device are copied to the CPU, the operator is called, and
 * what it wrote and returns is copied back. One tensor that is several
 * arguments has one copy. A result that is a written argument is that argument.
 * Views of an argument cannot be made this way; view operators have kernels for
 * any device, and do not get here. An argument that names the device names the
 * CPU meanwhile. Random numbers are drawn from the generator that the call
 * would use on the CPU, and so are the same.
 */

#include "op/device/device.h"

#include "op/create/copy_clone_to.h"

st_status (*st__device_loop)(const st_iter *it, const st_params *params);

typedef struct fallback {
  const st_schema *schema;
  const st_value *args;
  st_device device;            /* of results */
  bool has_device;
  st_value here[ST_MAX_ARGS];  /* arguments on the CPU; tensors are owned */
} fallback;

/* -- Devices -------------------------------------------------------------- */

static st_status add_device(fallback *f, const st_arg *arg,
                            const st_tensor *t) {
  if (!t || !st__is_privateuse(t)) return ST_OK;
  if (!f->has_device) f->device = t->device;
  f->has_device = true;
  if (f->device == (st_device)t->device) return ST_OK;
  return st__fail(ST_BAD_VALUE, "argument '%s' is on device '%s', other "
                  "tensors are on '%s'", arg->name, st__device_name(t->device),
                  st__device_name(f->device));
}

/* That of the tensors; without any, that of an argument `device`. */
static st_status find_device(fallback *f) {
  const st_schema *s = f->schema;
  const int at = st__schema_arg(s, "device");
  for (int i = 0; i < s->nargs; i++) {
    const st_tensors all = st__tensors_in(&f->args[i]);
    for (uint32_t j = 0; j < all.n; j++) {
      ST_TRY(add_device(f, &s->args[i], all.p[j]));
    }
  }
  if (at < 0 || f->args[at].tag != ST_TAG_INT) return ST_OK;
  return st__read_device(f->args[at].u.i, &f->device);
}

/* -- Arguments ------------------------------------------------------------ */

static st_status move(st_tensor **t, st_device device) {
  st_tensor *there = NULL;
  if (!*t) return ST_OK;
  const st_value args[] = {st__of_tensor(*t), st__of_int(device)};
  ST_TRY(st__invoke1(ST_OP_to_prim_Device, 2, args, &there));
  st__tensor_release(t);
  *t = there;
  return ST_OK;
}

static st_status move_all(const st_value *v, st_device device) {
  const st_tensors all = st__tensors_in(v);
  for (uint32_t i = 0; i < all.n; i++) {
    st_tensor **t = v->tag == ST_TAG_TENSORS ? &v->u.tensors[i]
                  : (st_tensor **)(uintptr_t)&v->u.tensor;
    ST_TRY(move(t, device));
  }
  return ST_OK;
}

static bool holds_tensors(const st_value *v) {
  return v->tag == ST_TAG_TENSOR || v->tag == ST_TAG_TENSORS;
}

/* The copy of a tensor that an argument before i is, too; NULL if none is. */
static const st_tensor *copy_before(const fallback *f, int i,
                                    const st_tensor *t) {
  for (int k = 0; k < i; k++) {
    if (st__to_tensor(&f->args[k]) == t) return st__to_tensor(&f->here[k]);
  }
  return NULL;
}

static st_status bring(fallback *f, int i) {
  const st_value *arg = &f->args[i];
  const st_tensor *t = st__to_tensor(arg);
  const st_tensor *known = t ? copy_before(f, i, t) : NULL;
  if (known) {
    const st_value same = st__of_tensor(known);
    return st__value_copy(&same, &f->here[i]);
  }
  if (holds_tensors(arg)) {
    ST_TRY(st__value_copy(arg, &f->here[i]));
    return move_all(&f->here[i], ST_DEVICE_CPU);
  }
  f->here[i] = f->schema->args[i].type == ST_TYPE_DEVICE &&
               arg->tag == ST_TAG_INT ? st__of_int(ST_DEVICE_CPU) : *arg;
  return ST_OK;
}

static void release_args(fallback *f) {
  for (int i = 0; i < f->schema->nargs; i++) {
    if (holds_tensors(&f->here[i])) st__value_clear(&f->here[i]);
  }
}

/* -- Results -------------------------------------------------------------- */

/* Copies `here`, what was written for t, to t, which gets its sizes. */
static st_status write_back(st_tensor *t, const st_tensor *here) {
  const st_value copy[] = {st__of_tensor(t), st__of_tensor(here)};
  st_tensor *same = NULL;
  if (!t || t == here) return ST_OK;
  if (!st__same_sizes(t, here)) {
    ST_TRY(st__tensor_resize_out(t, here->ndim, here->sizes,
                                 ST_FORMAT_CONTIGUOUS));
  }
  ST_TRY(st__invoke1(ST_OP_copy_, 2, copy, &same));
  st__tensor_release(&same);
  return ST_OK;
}

static st_status write_back_all(const fallback *f) {
  for (int i = 0; i < f->schema->nargs; i++) {
    if (!f->schema->args[i].is_write) continue;
    const st_tensors there = st__tensors_in(&f->args[i]);
    const st_tensors here = st__tensors_in(&f->here[i]);
    for (uint32_t j = 0; j < there.n; j++) {
      ST_TRY(write_back(there.p[j], here.p[j]));
    }
  }
  return ST_OK;
}

/* The k-th argument that is written; -1 if there are fewer. */
static int nth_written(const st_schema *s, int k) {
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].is_write && k-- == 0) return i;
  }
  return -1;
}

static st_status check_no_view(const st_arg *ret) {
  return !ret->is_alias || ret->is_write ? ST_OK
    : st__fail(ST_NO_KERNEL, "it returns a view of an argument, which the CPU "
               "cannot make: the device needs a kernel of its own");
}

/* The k-th result that is written is the k-th argument that is. */
static st_status send_back(const fallback *f, st_value *rets) {
  const st_schema *s = f->schema;
  int k = 0;
  for (int i = 0; i < s->nrets; i++) {
    const int at = s->rets[i].is_write ? nth_written(s, k++) : -1;
    if (at < 0) {
      ST_TRY(move_all(&rets[i], f->device));
      continue;
    }
    st__value_clear(&rets[i]);
    ST_TRY(st__value_copy(&f->args[at], &rets[i]));
  }
  return ST_OK;
}

/* -- The call ------------------------------------------------------------- */

static st_status finish(const fallback *f, st_value *rets) {
  st_status status = write_back_all(f);
  if (status == ST_OK) status = send_back(f, rets);
  for (int i = 0; i < f->schema->nrets && status != ST_OK; i++) {
    st__value_clear(&rets[i]);
  }
  return status;
}

static st_status run(fallback *f, const st_op *op, st_value *rets) {
  const st_keyset cpu = st__device_keys(ST_DEVICE_CPU);
  ST_TRY(find_device(f));
  for (int i = 0; i < f->schema->nrets; i++) {
    ST_TRY(check_no_view(&f->schema->rets[i]));
  }
  for (int i = 0; i < f->schema->nargs; i++) ST_TRY(bring(f, i));
  ST_TRY(st__redispatch_boxed(op, f->schema, cpu, f->here, rets));
  return finish(f, rets);
}

ST_BOXED(st__cpu_fallback) {
  fallback f = {.schema = call->schema, .args = args,
                .device = ST_DEVICE_CPU};
  for (int i = 0; i < f.schema->nargs; i++) f.here[i] = st__none();
  const st_status status = run(&f, call->op, rets);
  release_args(&f);
  return status;
}
