/* Error messages of calls without a kernel: at most two lines with the
 * operator, the key and the most likely cause (C11, C12).
 */

#include <string.h>

#include "base/dtype.h"
#include "dispatch/entry.h"

/* Writes the keys that op has kernels for: "CPU, Meta". */
static void list_kernels(const st_op *op, char *buf, size_t size) {
  const st_registration *of[ST_KEY_COUNT] = {0};
  size_t n = 0;
  buf[0] = 0;
  st__lock();
  for (const st_registration *r = op->kernels; r; r = r->next) {
    if (st__is_compatible(r)) of[r->key] = r;
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

/* st__add_error_context prepends the name of the outermost operator; a nested
 * call prepends its own. */
static const char *error_prefix(const st_call *call, char *buf, size_t size) {
  buf[0] = 0;
  if (st__thread.depth > 1) snprintf(buf, size, "%s: ", call->op->full);
  return buf;
}

/* The name of the argument that has the highest key of the call, or "". For the
 * key of a layout it is the one of that layout, whatever its device, and source
 * is the tensor. */
static const char *find_key_source(const st_call *call, const st_value *args,
                                   const st_tensor **source) {
  const st_schema *s = call->schema;
  const st_key key = st__highest_slot(call->keys);
  const st_keyset set = st__key_set(key);
  const st_keyset layout =
    st__is_layout_key(key) ? ST_BIT(st__key_functionality(key)) : 0;
  for (int i = 0; i < s->nargs; i++) {
    const st_tensors all = st__tensors_in(&args[i]);
    st_keyset ks = 0;
    for (uint32_t k = 0; k < all.n; k++) {
      if (!all.p[k]) continue;
      ks |= all.p[k]->keys;
      if (!*source && all.p[k]->keys & layout) *source = all.p[k];
    }
    const bool has_key = set && (ks & set) == set;
    if (*source || (has_key && !layout)) return s->args[i].name;
  }
  return "";
}

static bool has_tensor(const st_call *call, const st_value *args) {
  for (int i = 0; i < call->schema->nargs; i++) {
    const st_tensors all = st__tensors_in(&args[i]);
    for (uint32_t k = 0; k < all.n; k++) {
      if (all.p[k]) return true;
    }
  }
  return false;
}

st_status st__run_missing(const st_call *call, const st_value *args,
                          st_value *rets) {
  const st_key key = st__highest_slot(call->keys);
  const st_tensor *source = NULL;
  const char *key_source = find_key_source(call, args, &source);
  char kernels[160], name[160];
  (void)rets;
  list_kernels(call->op, kernels, sizeof kernels);
  error_prefix(call, name, sizeof name);
  if (!kernels[0]) {
    return st__fail(ST_NO_KERNEL, "%sno kernel for %s\nthe operator "
                    "has a schema but no kernel at all; see st.explain",
                    name, st__key_name(key));
  }
  if (key == ST_KEY_UNDEFINED) {
    return st__fail(ST_NO_KERNEL,
                    "%s%s\nkernels are registered for: %s; see st.explain",
                    name, has_tensor(call, args)
                    ? "the key set has no key to choose a kernel by; a "
                      "fallback of a backend calls the kernel of a key: "
                      "op:call_for_key(\"CPU\", ...)"
                    : "there is no tensor to choose a kernel by (an empty "
                      "list of tensors?)", kernels);
  }
  if (source && source->storage->layout) {
    return st__fail(ST_NO_KERNEL, "%sargument '%s' has layout '%s', and there "
                    "is no kernel for %s\nkernels are registered for: %s; see "
                    "st.explain", name, key_source,
                    st__layout_name(source->storage->layout),
                    st__key_name(key), kernels);
  }
  if (source && st__is_subbyte(source->dtype)) {
    return st__fail(ST_BAD_DTYPE, "%sargument '%s': not implemented for dtype "
                    "%s; convert it first, as in t:to \"%s\"", name,
                    key_source, st__dtype_name(source->dtype),
                    st__dtype_name(st__byte_dtype(source->dtype)));
  }
  return st__fail(ST_NO_KERNEL, "%sno kernel for %s%s%s%s\n"
                  "kernels are registered for: %s; see st.explain", name,
                  st__key_name(key),
                  *key_source ? ", the key of argument '" : "",
                  key_source, *key_source ? "'" : "", kernels);
}

st_status st__run_ambiguous(const st_call *call, const st_value *args,
                            st_value *rets) {
  char name[160];
  (void)args, (void)rets;
  return st__fail(ST_NO_KERNEL,
                  "%sambiguous for AutogradOther: there is both a "
                  "CompositeImplicitAutograd kernel\nand one for a backend "
                  "that shares AutogradOther; register one for AutogradOther",
                  error_prefix(call, name, sizeof name));
}

st_status st__run_fallthrough(const st_call *call, const st_value *args,
                              st_value *rets) {
  char name[160];
  (void)args, (void)rets;
  return st__fail(ST_BAD_STATE, "%sredispatched to %s, which falls through: "
                  "remove that key from the key set first",
                  error_prefix(call, name, sizeof name),
                  st__key_name(st__highest_slot(call->keys)));
}

st_status st__undefined(const st_op *op) {
  return st__fail(ST_NOT_FOUND, op->kernels
    ? "%s has kernels but no schema; it must be defined first"
    : "%s is not defined (any more)", op->full);
}

/* True if the message already starts with the operator's full name. */
static bool is_named(const st_op *op) {
  const char *message = st_message();
  const size_t n = strlen(op->full);
  return strncmp(message, op->full, n) == 0 && message[n] == ':' &&
         message[n + 1] == ' ';
}

st_status st__add_error_context(const st_op *op, st_status status) {
  const char *name = op->name->text;
  if (status != ST_OK && st__thread.depth == 0 && !is_named(op)) {
    st__prefix_message(strncmp(name, "aten::", 6) == 0 ? name + 6 : name);
  }
  return status;
}
