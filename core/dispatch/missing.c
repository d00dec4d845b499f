/* What a call says when there is nothing to run: two lines at most, the
 * operator, the key and the nearest cause (SEMANTICS C11, C12).
 */

#include <string.h>

#include "dispatch/entry.h"

/* "CPU, Meta" of all keys that op has kernels for. */
static void list_kernels(const st_op *op, char *buf, size_t size) {
  const st_registration *of[ST_KEY_COUNT] = {0};
  size_t n = 0;
  buf[0] = 0;
  st__lock();
  for (const st_registration *r = op->kernels; r; r = r->next) {
    of[r->key] = r;
  }
  st__unlock();
  for (int k = 0; k < ST_KEY_COUNT; k++) {
    if (!of[k]) continue;
    const char *name = st__key_name(k);
    if (n + strlen(name) + 8 > size) {
      snprintf(buf + n, size - n, ", ...");
      return;
    }
    n += (size_t)snprintf(buf + n, size - n, n ? ", %s" : "%s", name);
  }
}

st_status st__run_missing(const st_call *call, const st_value *args,
                          st_value *rets) {
  const st_key key = st__highest_slot(call->keys);
  char kernels[160];
  (void)args, (void)rets;
  list_kernels(call->op, kernels, sizeof kernels);
  if (!kernels[0]) {
    return st__fail(ST_NO_KERNEL, "%s has a schema but no kernel",
                    call->op->full);
  }
  if (key == ST_KEY_UNDEFINED) {
    return st__fail(ST_NO_KERNEL,
                    "%s got no tensor to choose a kernel by (an empty list "
                    "of tensors?)\nand has none for calls without tensors; "
                    "it has kernels for: %s", call->op->full, kernels);
  }
  return st__fail(ST_NO_KERNEL,
                  "%s has no kernel for %s and %s has no fallback\n"
                  "it has kernels for: %s", call->op->full,
                  st__key_name(key), st__key_name(key), kernels);
}

st_status st__run_ambiguous(const st_call *call, const st_value *args,
                            st_value *rets) {
  (void)args, (void)rets;
  return st__fail(ST_NO_KERNEL,
                  "%s is ambiguous for AutogradOther: it has both a "
                  "CompositeImplicitAutograd kernel\nand one for a backend "
                  "that shares AutogradOther; give AutogradOther its own",
                  call->op->full);
}

st_status st__run_fallthrough(const st_call *call, const st_value *args,
                              st_value *rets) {
  const st_key key = st__highest_slot(call->keys);
  (void)args, (void)rets;
  return st__fail(ST_BAD_STATE,
                  "%s was redispatched to %s, which is a fallthrough: mask "
                  "that key out first", call->op->full, st__key_name(key));
}

st_status st__undefined(const st_op *op) {
  return st__fail(ST_NOT_FOUND, op->kernels
    ? "%s has no schema, only kernels: is its definition missing?"
    : "%s has no schema", op->full);
}

st_status st__blame(const st_op *op, st_status status) {
  const char *name = op->name->text;
  if (status != ST_OK && st__thread.depth == 0) {
    st__prefix_message(strncmp(name, "aten::", 6) == 0 ? name + 6 : name);
  }
  return status;
}
