/* The device "example": PrivateUse1 with a custom allocator and kernels.
 *
 * Its memory is host memory, but a bit is set in every address, so that code
 * that accesses it as CPU memory faults. Only the kernels in this file clear
 * the bit. A real device would use addresses of its driver, and copy data where
 * this one accesses it directly.
 */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

static const st_device DEVICE = ST_DEVICE_PRIVATEUSE1;
static const char KEY[] = "PrivateUse1";

/* -- Memory --------------------------------------------------------------- */

/* Above all user-space addresses. */
static const uintptr_t DISGUISE = (uintptr_t)1 << 54;

static atomic_int live;

int64_t example_live_blocks(void) { return live; }

static void *turn(const void *p) { return (void *)((uintptr_t)p ^ DISGUISE); }

static void *allocate(void *ctx, size_t nbytes) {
  void *p;
  (void)ctx;
  if (posix_memalign(&p, 64, nbytes ? nbytes : 1) != 0) return NULL;
  live++;
  return turn(p);
}

static void release(void *ctx, void *data, size_t nbytes) {
  (void)ctx, (void)nbytes;
  free(turn(data));
  live--;
}

static void move(void *ctx, void *to, const void *from, size_t nbytes) {
  (void)ctx;
  memcpy(turn(to), turn(from), nbytes);
}

/* -- Tensors -------------------------------------------------------------- */

/* A CPU tensor over the bytes of t, or t itself if it is on the CPU. It is
 * valid as long as t is. */
static st_status host_view(st_tensor *t, st_tensor **out) {
  if (st_tensor_device(t) != DEVICE) {
    st_tensor_retain(t);
    *out = t;
    return ST_OK;
  }
  const st_dtype dtype = st_tensor_dtype(t);
  const size_t before = (size_t)st_tensor_offset(t) * st_dtype_size(dtype);
  return st_tensor_wrap(turn(st_tensor_data(t)),
                        st_tensor_storage_nbytes(t) - before, dtype,
                        st_tensor_ndim(t), st_tensor_sizes(t),
                        st_tensor_strides(t), 0, NULL, NULL, out);
}

/* A meta tensor of t's shape and dtype, to infer the result of an operator. A
 * 0-dim CPU tensor is returned as it is. */
static st_status meta_of(st_tensor *t, st_tensor **out) {
  if (st_tensor_device(t) != DEVICE) {
    if (st_tensor_ndim(t) > 0) {
      return st_fail(ST_BAD_VALUE, "all tensors must be on the same device");
    }
    st_tensor_retain(t);
    *out = t;
    return ST_OK;
  }
  return st_tensor_empty(ST_DEVICE_META, st_tensor_dtype(t),
                         st_tensor_ndim(t), st_tensor_sizes(t),
                         st_tensor_strides(t), out);
}

/* A new tensor on the device, with the shape of a meta tensor. */
static st_status make_like(const st_tensor *meta, st_tensor **out) {
  return st_tensor_empty(DEVICE, st_tensor_dtype(meta), st_tensor_ndim(meta),
                         st_tensor_sizes(meta), st_tensor_strides(meta), out);
}

/* Replaces *t by a copy on another device. */
static st_status move_to(st_tensor **t, st_device device) {
  const st_value args[] = {of_tensor(*t), of_int(device)};
  st_tensor *there;
  TRY(call1("aten::to", "prim_Device", 2, args, &there));
  st_tensor_release(t);
  *t = there;
  return ST_OK;
}

/* -- Kernels -------------------------------------------------------------- */

/* empty and empty_strided: the call on the meta device infers the result. */
static st_status empty(const st_call *call, const st_value *args,
                       st_value *rets) {
  const int n = st_schema_nargs(call->schema);
  st_value there[ST_MAX_ARGS];
  st_tensor *meta, *t;
  st_value ret;
  for (int i = 0; i < n; i++) {
    const st_arg *arg = st_schema_arg(call->schema, i);
    const bool is_device = arg->type == ST_TYPE_DEVICE;
    there[i] = is_device ? of_int(ST_DEVICE_META) : args[i];
  }
  TRY(st_call_op(call->op, n, there, &ret));
  meta = ret.u.tensor;
  const st_status status = make_like(meta, &t);
  st_tensor_release(&meta);
  if (status == ST_OK) rets[0] = of_tensor(t);
  return status;
}

/* copy_(self, src, non_blocking): one or both of the tensors are on the device.
 */
static st_status copy(const st_call *call, const st_value *args,
                      st_value *rets) {
  st_tensor *to = NULL, *from = NULL;
  st_value ret;
  st_status status = host_view(args[0].u.tensor, &to);
  if (status == ST_OK) status = host_view(args[1].u.tensor, &from);
  if (status == ST_OK) {
    const st_value here[] = {of_tensor(to), of_tensor(from), args[2]};
    status = st_call_op(call->op, 3, here, &ret);
  }
  if (status == ST_OK) {
    st_value_clear(&ret);
    status = st_value_of_tensor(args[0].u.tensor, rets); /* self, retained */
  }
  st_tensor_release(&to);
  st_tensor_release(&from);
  return status;
}

/* fill_.Scalar(self, value) */
static st_status fill(const st_call *call, const st_value *args,
                      st_value *rets) {
  st_tensor *to;
  st_value ret;
  TRY(host_view(args[0].u.tensor, &to));
  const st_value here[] = {of_tensor(to), args[1]};
  const st_status status = st_call_op(call->op, 2, here, &ret);
  st_tensor_release(&to);
  TRY(status);
  st_value_clear(&ret);
  return st_value_of_tensor(args[0].u.tensor, rets);
}

/* add.Tensor(self, other, alpha): a call on the meta device infers the result,
 * including broadcasting and promotion; then add.out computes it. */
static st_status add(const st_call *call, const st_value *args,
                     st_value *rets) {
  st_tensor *meta[3] = {NULL}, *host[3] = {NULL}, *out = NULL;
  st_status status = ST_OK;
  st_value ret;
  for (int i = 0; i < 2 && status == ST_OK; i++) {
    status = meta_of(args[i].u.tensor, &meta[i]);
    if (status == ST_OK) status = host_view(args[i].u.tensor, &host[i]);
  }
  if (status == ST_OK) {
    const st_value ask[] = {of_tensor(meta[0]), of_tensor(meta[1]), args[2]};
    status = st_call_op(call->op, 3, ask, &ret);
    if (status == ST_OK) meta[2] = ret.u.tensor;
  }
  if (status == ST_OK) status = make_like(meta[2], &out);
  if (status == ST_OK) status = host_view(out, &host[2]);
  if (status == ST_OK) {
    const st_value sum[] = {of_tensor(host[0]), of_tensor(host[1]), args[2],
                            of_tensor(host[2])};
    status = st_call_op(st_op_find("aten::add", "out"), 4, sum, &ret);
    if (status == ST_OK) st_value_clear(&ret);
  }
  if (status == ST_OK) rets[0] = of_tensor(out);
  else st_tensor_release(&out);
  for (int i = 0; i < 3; i++) {
    st_tensor_release(&meta[i]);
    st_tensor_release(&host[i]);
  }
  return status;
}

/* -- The fallback --------------------------------------------------------- */

/* Operators without a kernel here run on the CPU: the fallback copies the
 * arguments to the CPU, calls the operator, and copies written arguments and
 * results back. View operators do not reach the fallback, because their kernel
 * works on any device. */

/* Copies an argument to the CPU. The caller owns tensors and lists of them. */
static st_status bring(const st_value *arg, st_value *here) {
  if (arg->tag == ST_TAG_TENSOR) {
    TRY(st_value_of_tensor(arg->u.tensor, here));
    return move_to(&here->u.tensor, ST_DEVICE_CPU);
  }
  if (arg->tag != ST_TAG_TENSORS) {
    *here = *arg;
    return ST_OK;
  }
  TRY(st_value_of_tensors(arg->u.tensors, (int)arg->len, here));
  for (uint32_t i = 0; i < here->len; i++) {
    if (here->u.tensors[i]) TRY(move_to(&here->u.tensors[i], ST_DEVICE_CPU));
  }
  return ST_OK;
}

static bool same_sizes(const st_tensor *a, const st_tensor *b) {
  const int n = st_tensor_ndim(a);
  return n == st_tensor_ndim(b) &&
         memcmp(st_tensor_sizes(a), st_tensor_sizes(b),
                (size_t)n * sizeof(int64_t)) == 0;
}

/* Copies `here`, the written CPU copy of t, back to t; resizes t if needed. */
static st_status write_back(st_tensor *t, st_tensor *here) {
  st_tensor *same;
  if (!same_sizes(t, here)) {
    const st_value resize[] = {of_tensor(t), of_ints(st_tensor_sizes(here),
                                                     st_tensor_ndim(here))};
    TRY(call1("aten::resize_", "", 2, resize, &same));
    st_tensor_release(&same);
  }
  const st_value args[] = {of_tensor(t), of_tensor(here)};
  TRY(call1("aten::copy_", "", 2, args, &same));
  st_tensor_release(&same);
  return ST_OK;
}

static st_status send_back(st_value *ret) {
  if (ret->tag == ST_TAG_TENSOR) return move_to(&ret->u.tensor, DEVICE);
  for (uint32_t i = 0; ret->tag == ST_TAG_TENSORS && i < ret->len; i++) {
    TRY(move_to(&ret->u.tensors[i], DEVICE));
  }
  return ST_OK;
}

/* Copies written arguments and results back to the device. The k-th result
 * that aliases a written argument is the k-th written argument. */
static st_status finish(const st_schema *s, const st_value *args,
                        const st_value *here, st_value *rets) {
  const st_value *written[ST_MAX_ARGS];
  int n = 0, k = 0;
  for (int i = 0; i < st_schema_nargs(s); i++) {
    const bool is_written = st_schema_arg(s, i)->is_write;
    if (!is_written || args[i].tag != ST_TAG_TENSOR) continue;
    written[n++] = &args[i];
    if (st_tensor_device(args[i].u.tensor) == DEVICE) {
      TRY(write_back(args[i].u.tensor, here[i].u.tensor));
    }
  }
  for (int i = 0; i < st_schema_nrets(s); i++) {
    if (st_schema_ret(s, i)->is_write && k < n) {
      st_value_clear(&rets[i]);
      TRY(st_value_of_tensor(written[k++]->u.tensor, &rets[i]));
    } else {
      TRY(send_back(&rets[i]));
    }
  }
  return ST_OK;
}

static st_status fallback(const st_call *call, const st_value *args,
                          st_value *rets) {
  const st_schema *s = call->schema; /* op may be redefined during the call */
  const int n = st_schema_nargs(s), nrets = st_schema_nrets(s);
  st_value here[ST_MAX_ARGS] = {{0}};
  st_status status = ST_OK;
  for (int i = 0; i < n && status == ST_OK; i++) {
    status = bring(&args[i], &here[i]);
  }
  if (status == ST_OK) {
    status = st_call_declared(call->op, st_schema_text(s), n, here, rets);
    if (status == ST_OK) {
      status = finish(s, args, here, rets);
      for (int i = 0; i < nrets && status != ST_OK; i++) {
        st_value_clear(&rets[i]);
      }
    }
  }
  for (int i = 0; i < n; i++) {
    const uint32_t tag = here[i].tag;
    if (tag == ST_TAG_TENSOR || tag == ST_TAG_TENSORS) {
      st_value_clear(&here[i]);
    }
  }
  return status;
}

/* -- Registration --------------------------------------------------------- */

static const struct { const char *name; st_kernel_fn fn; } kernels[] = {
  {"empty.memory_format", empty}, {"empty_strided", empty}, {"copy_", copy},
  {"fill_.Scalar", fill}, {"add.Tensor", add},
};

st_status example_register_device(void) {
  static st_library *aten, *rest;
  const st_allocator allocator = {allocate, release, move, NULL};
  const st_kernel others = {.fn = fallback, .debug = "strided_example"};
  TRY(st_device_register(DEVICE, "example", &allocator));
  TRY(st_library_open("aten", ST_LIBRARY_IMPL, KEY, 0, "strided_example",
                      &aten));
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const st_kernel kernel = {.fn = kernels[i].fn,
                              .debug = "strided_example"};
    TRY(st_library_implement(aten, kernels[i].name, NULL, &kernel));
  }
  TRY(st_library_open("_", ST_LIBRARY_IMPL, KEY, 0, "strided_example",
                      &rest));
  return st_library_fallback(rest, NULL, &others);
}
