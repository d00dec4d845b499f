/* Snapshots of arguments that an operator reads twice.
 *
 * Note [Snapshots of shared arguments]
 * Some operators check indices and then use them, or count the set elements
 * of a mask and then write as many elements. If such an argument changed in
 * between, a loop would access memory outside its buffers. Only another thread
 * can change it, through a shared storage (Note [Shared storages]). That is a
 * data race and forbidden, but no script may be able to corrupt memory. So the
 * operators listed here get a copy of that argument when its storage is
 * shared. All other operators read each element once, or compute only values,
 * and no index or size, from what they read.
 */

#include <string.h>

#include "op/row/kernel_context.h"

static const struct { const char *name, *arg; } listed[] = {
  {"_log_softmax_at",   "index"},
  {"bincount",          "self"},
  {"gather",            "index"},
  {"index",             "indices"},
  {"index_add",         "index"},
  {"index_copy",        "index"},
  {"index_fill",        "index"},
  {"index_put",         "indices"},
  {"index_reduce",      "index"},
  {"index_select",      "index"},
  {"masked_scatter",    "mask"},
  {"masked_select",     "mask"},
  {"nonzero",           "self"},
  {"put",               "index"},
  {"repeat_interleave", "repeats"},
  {"scatter",           "index"},
  {"scatter_add",       "index"},
  {"scatter_reduce",    "index"},
  {"take",              "index"},
};

int st__snapshot_arg(const st_op *op) {
  const char *name = st_op_name(op) + strlen("aten::");
  size_t n = strlen(name);
  if (n > 1 && name[n - 1] == '_') n--; /* in-place variant */
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
    if (*name == *listed[i].name && strlen(listed[i].name) == n &&
        strncmp(name, listed[i].name, n) == 0) {
      const int at = st__schema_arg(st__op_schema(op), listed[i].arg);
      return at >= 0 && st__op_schema(op)->args[at].type == ST_TYPE_TENSOR
             ? at : -1;
    }
  }
  return -1;
}

/* -- Copies --------------------------------------------------------------- */

static bool is_shared(const st_tensor *t) {
  return t && atomic_load_explicit(&t->storage->is_shared,
                                   memory_order_relaxed);
}

static bool has_shared(const st_value *v) {
  const st_tensors all = st__tensors_in(v);
  for (uint32_t i = 0; i < all.n; i++) {
    if (is_shared(all.p[i])) return true;
  }
  return false;
}

/* An owned copy of v in which copies replace the shared tensors. */
static st_status snapshot(const st_value *v, st_value *out) {
  ST_TRY(st__value_copy(v, out));
  const st_tensors all = st__tensors_in(out);
  for (uint32_t i = 0; i < all.n; i++) {
    st_tensor **t = &all.p[i], *copy = NULL;
    if (!is_shared(*t)) continue;
    const st_status status = st__clone(*t, (*t)->dtype, ST_FORMAT_PRESERVE,
                                       &copy);
    if (status != ST_OK) {
      st__value_clear(out);
      return status;
    }
    st__tensor_release(t);
    *t = copy;
  }
  return ST_OK;
}

st_status st__snapshot_shared(const st_call *call, const st_value *args,
                              st_value *rets, int at, st_kernel_fn fn) {
  st_value own[ST_MAX_ARGS];
  if (!has_shared(&args[at])) return fn(call, args, rets);
  memcpy(own, args, (size_t)call->schema->nargs * sizeof *args);
  ST_TRY(snapshot(&args[at], &own[at]));
  const st_status status = fn(call, own, rets);
  st__value_clear(&own[at]);
  return status;
}
