/* The fallback of devices: an operator that has no kernel there runs on the
 * CPU.
 *
 * Note [The CPU fallback]
 * Arguments on the device get mirrors on the CPU (Note [Mirrors of arguments]),
 * the operator is called with these, and what it wrote and returns is copied
 * back. A result that is a written argument is that argument. Views of an
 * argument cannot be made this way; view operators have kernels for any device,
 * and do not get here. An argument that names the device names the CPU
 * meanwhile. Random numbers are drawn from the generator that the call would
 * use on the CPU, and so are the same. Whatever needs memory comes before the
 * first write, so a call that fails for it changes nothing.
 */

#include "op/device/device.h"

#include "op/device/mirrors.h"

st_status (*st__device_loop)(const st_iter *it, const st_params *params);

typedef struct fallback {
  const st_schema *schema;
  const st_value *args;
  st_device device;            /* of results */
  bool has_device;
  st_value here[ST_MAX_ARGS];  /* arguments on the CPU; tensors are owned */
} fallback;

/* -- Devices -------------------------------------------------------------- */

/* That of the first tensor on a device. */
static void find_tensor_device(fallback *f) {
  const st_schema *s = f->schema;
  for (int i = 0; i < s->nargs && !f->has_device; i++) {
    const st_tensors all = st__tensors_in(&f->args[i]);
    for (uint32_t j = 0; j < all.n && !f->has_device; j++) {
      if (!all.p[j] || !st__is_privateuse(all.p[j])) continue;
      f->device = all.p[j]->device;
      f->has_device = true;
    }
  }
}

/* Without tensors on a device, that of an argument `device`. */
static st_status find_device(fallback *f, const st_call *call) {
  const int at = f->schema->device_arg;
  find_tensor_device(f);
  if (f->has_device) ST_TRY(st__check_devices(call, f->args, f->device));
  if (at < 0 || f->args[at].tag != ST_TAG_INT) return ST_OK;
  return st__read_device(f->args[at].u.i, &f->device);
}

/* -- Arguments ------------------------------------------------------------ */

static bool holds_tensors(const st_value *v) {
  return v->tag == ST_TAG_TENSOR || v->tag == ST_TAG_TENSORS;
}

static st_status bring(fallback *f) {
  const st_schema *s = f->schema;
  for (int i = 0; i < s->nargs; i++) {
    const st_value *arg = &f->args[i];
    const bool names_device = s->args[i].type == ST_TYPE_DEVICE &&
                              arg->tag == ST_TAG_INT;
    if (holds_tensors(arg)) ST_TRY(st__value_copy(arg, &f->here[i]));
    else f->here[i] = names_device ? st__of_int(ST_DEVICE_CPU) : *arg;
  }
  return st__mirror_values(f->here, s->nargs);
}

static void release_args(fallback *f) {
  for (int i = 0; i < f->schema->nargs; i++) {
    if (holds_tensors(&f->here[i])) st__value_clear(&f->here[i]);
  }
}

/* -- Written arguments ---------------------------------------------------- */

/* Those on the device; returns their number. list may be NULL. */
static int find_written(const fallback *f, st_written *list) {
  int n = 0;
  for (int i = 0; i < f->schema->nargs; i++) {
    if (!f->schema->args[i].is_write) continue;
    const st_tensors there = st__tensors_in(&f->args[i]);
    const st_tensors here = st__tensors_in(&f->here[i]);
    for (uint32_t j = 0; j < there.n; j++) {
      if (there.p[j] == here.p[j]) continue;
      if (list) list[n] = (st_written){there.p[j], here.p[j], NULL};
      n++;
    }
  }
  return n;
}

static st_status write_back(const fallback *f) {
  const int n = find_written(f, NULL);
  const size_t size = (size_t)n * sizeof(st_written);
  if (n == 0) return ST_OK;
  st_written *list = st__alloc(ST_MEM_SCRATCH, size);
  if (!list) return ST_NO_MEMORY;
  find_written(f, list);
  const st_status status = st__write_mirrors(list, n);
  st__free(ST_MEM_SCRATCH, list, size);
  return status;
}

/* The k-th argument that is written; -1 if there are fewer. */
static int nth_written(const st_schema *s, int k) {
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].is_write && k-- == 0) return i;
  }
  return -1;
}

/* -- Results -------------------------------------------------------------- */

static st_status check_no_view(const st_arg *ret) {
  return !ret->is_alias || ret->is_write ? ST_OK
    : st__fail(ST_NO_KERNEL, "it returns a view of an argument, which the CPU "
               "cannot make: the device needs a kernel of its own");
}

static st_status move(const st_value *v, st_device device) {
  const st_tensors all = st__tensors_in(v);
  for (uint32_t i = 0; i < all.n; i++) {
    st_tensor *there = NULL;
    if (!all.p[i]) continue;
    const st_value args[] = {st__of_tensor(all.p[i]), st__of_int(device)};
    ST_TRY(st__invoke1(ST_OP_to_prim_Device, 2, args, &there));
    st__tensor_release(&all.p[i]);
    all.p[i] = there;
  }
  return ST_OK;
}

/* The k-th result that is written is the k-th argument that is. */
static st_status send_back(const fallback *f, st_value *rets) {
  const st_schema *s = f->schema;
  int k = 0;
  for (int i = 0; i < s->nrets; i++) {
    const int at = s->rets[i].is_write ? nth_written(s, k++) : -1;
    if (at < 0) {
      ST_TRY(move(&rets[i], f->device));
      continue;
    }
    st__value_clear(&rets[i]);
    ST_TRY(st__value_copy(&f->args[at], &rets[i]));
  }
  return ST_OK;
}

/* -- The call ------------------------------------------------------------- */

static st_status finish(const fallback *f, st_value *rets) {
  st_status status = send_back(f, rets);
  if (status == ST_OK) status = write_back(f);
  for (int i = 0; i < f->schema->nrets && status != ST_OK; i++) {
    st__value_clear(&rets[i]);
  }
  return status;
}

static st_status run(fallback *f, const st_call *call, st_value *rets) {
  const st_keyset cpu = st__device_keys(ST_DEVICE_CPU);
  ST_TRY(find_device(f, call));
  for (int i = 0; i < f->schema->nrets; i++) {
    ST_TRY(check_no_view(&f->schema->rets[i]));
  }
  ST_TRY(bring(f));
  ST_TRY(st__redispatch_boxed(call->op, f->schema, cpu, f->here, rets));
  return finish(f, rets);
}

ST_BOXED(st_cpu_fallback) {
  fallback f = {.schema = call->schema, .args = args,
                .device = ST_DEVICE_CPU};
  for (int i = 0; i < f.schema->nargs; i++) f.here[i] = st__none();
  const st_status status = run(&f, call, rets);
  release_args(&f);
  return status;
}
