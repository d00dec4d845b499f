/* Computes dispatch tables: selects a registration for each runtime key (R7 to
 * R10).
 */

#include <string.h>

#include "base/call_limits.h"
#include "base/memory.h"
#include "dispatch/entry.h"

static const st_registration missing = {
  .what = ST_REGISTERED_NOTHING, .fn = st__run_missing, .debug = "missing"
};
static const st_registration ambiguous = {
  .what = ST_REGISTERED_NOTHING, .fn = st__run_ambiguous,
  .debug = "ambiguous_autogradother"
};

const char *st__provenance(const st_registration *r) {
  if (r == &ambiguous) return "ambiguous autogradother";
  if (r->what == ST_REGISTERED_NOTHING) return "missing";
  if (r->what == ST_REGISTERED_FALLBACK) return "backend fallback";
  switch (r->key) {
    case ST_KEY_AUTOGRAD: return "autograd kernel";
    case ST_KEY_COMPOSITE_IMPLICIT: return "math kernel";
    case ST_KEY_COMPOSITE_IMPLICIT_NESTED: return "nested kernel";
    case ST_KEY_COMPOSITE_EXPLICIT:
    case ST_KEY_COMPOSITE_EXPLICIT_NON_FUNCTIONAL:
      return "default backend kernel";
    default: return "kernel";
  }
}

/* -- Precedence ----------------------------------------------------------- */

/* The newest compatible kernel of an operator for each key. */
typedef struct newest { const st_registration *of[ST_KEY_COUNT]; } newest;

static void find_newest(const st_op *op, newest *n) {
  memset(n, 0, sizeof *n);
  for (const st_registration *r = op->kernels; r; r = r->next) {
    if (!n->of[r->key] && st__is_compatible(r)) n->of[r->key] = r;
  }
}

/* True if op has a kernel that is registered for one of these backend keys. */
static bool has_kernel_in(const st_op *op, st_keyset keys) {
  if (!keys) return false;
  for (const st_registration *r = op->kernels; r; r = r->next) {
    const st_keyset set = st__key_set(r->key);
    if (set && (keys & set) == set && st__is_compatible(r)) return true;
  }
  return false;
}

static const st_registration *alias(const newest *n, st_key key,
                                    st_key runtime) {
  return st__alias_includes(key, runtime) ? n->of[key] : NULL;
}

/* A composite kernel at an Autograd key would bypass the backend's own kernel
 * and its derivative, so it serves only the Autograd keys of backends without
 * a kernel (R7, R8). */
static const st_registration *select_implicit(const st_op *op,
                                              const newest *n, st_key key) {
  const bool has_backend = has_kernel_in(op, st__autograd_backends(key));
  const bool hidden = has_backend || n->of[ST_KEY_COMPOSITE_EXPLICIT];
  const st_registration *nested =
    alias(n, ST_KEY_COMPOSITE_IMPLICIT_NESTED, key);
  const st_registration *r = alias(n, ST_KEY_COMPOSITE_IMPLICIT, key);
  if (nested && !hidden) return nested;
  if (r && has_backend &&
      st__key_functionality(key) == ST_FUNC_AutogradOther) {
    return &ambiguous;
  }
  return hidden ? NULL : r;
}

/* Default kernels: at ADInplaceOrView, of operators that write an argument or
 * return views; at the Autograd keys, of operators with out=. */
static st_registration default_tracking = {
  .what = ST_REGISTERED_FALLBACK, .debug = "views and versions"
};
static st_registration default_out_refusal = {
  .what = ST_REGISTERED_FALLBACK, .debug = "no gradients with out="
};

static st_kernel_fn run_tracked; /* see st__run_tracked */

void st__set_autograd_kernels(st_kernel_fn track, st_kernel_fn tracked,
                              st_kernel_fn refuse_out) {
  default_tracking.fn = track;
  run_tracked = tracked;
  default_out_refusal.fn = refuse_out;
}

bool st__is_tracking(const st_registration *r) {
  return r == &default_tracking;
}

st_status st__run_tracked(const st_call *call, const st_value *args,
                          st_value *rets) {
  return run_tracked(call, args, rets);
}

/* Writes an out= tensor or, not by calls of other operators, lists. */
static bool refuses_gradients(const st_schema *s, bool is_composite) {
  for (int i = 0; i < s->nargs; i++) {
    const st_arg *a = &s->args[i];
    if (!a->is_write) continue;
    if (a->kwarg_only || (a->list && !is_composite)) return true;
  }
  return false;
}

/* A composite operator needs no tracking kernel: the operators that it calls
 * have one. */
static const st_registration *select_tracking(const st_op *op,
                                              const newest *n, st_key key) {
  const st_schema *s = atomic_load(&((st_op *)(uintptr_t)op)->schema);
  const int f = key < ST_KEY_RUNTIME_COUNT ? st__key_functionality(key) : -1;
  if (!s || !default_tracking.fn) return NULL;
  const bool is_composite = n->of[ST_KEY_COMPOSITE_IMPLICIT] != NULL;
  if (f == ST_FUNC_ADInplaceOrView) {
    const bool has_effect = s->is_mutable || st__returns_views(s);
    return has_effect && !is_composite ? &default_tracking : NULL;
  }
  if (f < 0 || !(ST_BIT(f) & ST_AUTOGRAD_BITS) ||
      !refuses_gradients(s, is_composite)) {
    return NULL;
  }
  return n->of[ST_KEY_AUTOGRAD] ? n->of[ST_KEY_AUTOGRAD] : &default_out_refusal;
}

/* CompositeExplicitAutograd kernels expect elements at strides: Note [Layouts
 * of extensions], Note [Elements of fewer than eight bits]. */
static const st_registration *select_explicit(const newest *n, st_key key) {
  const st_registration *r =
    alias(n, ST_KEY_COMPOSITE_EXPLICIT_NON_FUNCTIONAL, key);
  if (!r) r = alias(n, ST_KEY_COMPOSITE_EXPLICIT, key);
  return r && st__is_layout_key(key) && !r->accepts_layouts ? NULL : r;
}

/* Composite operators of the engine look at elements (Note [Elements that are
 * not there]); op/subbyte registers those that do not. */
static bool serves(const st_registration *r, st_key key) {
  return r && (r->is_of_library ||
               st__key_functionality(key) != ST_FUNC_SubByte);
}

static const st_registration *select_from(const st_op *op, const newest *n,
                                          st_key key) {
  const st_registration *r;
  if ((r = n->of[key])) return r;
  if ((r = select_tracking(op, n, key))) return r;
  if ((r = select_explicit(n, key))) return r;
  if (serves(r = select_implicit(op, n, key), key)) return r;
  if ((r = alias(n, ST_KEY_AUTOGRAD, key))) return r;
  if (key < ST_KEY_RUNTIME_COUNT && (r = st__fallbacks[key])) return r;
  return &missing;
}

const st_registration *st__select(const st_op *op, st_key key) {
  newest n;
  find_newest(op, &n);
  return select_from(op, &n, key);
}

void st__op_slot(const st_op *op, st_key key, const char **debug,
                 const char **provenance) {
  st__lock();
  const st_registration *r = st__select(op, key);
  *debug = r->debug;
  *provenance = st__provenance(r);
  st__unlock();
}

/* -- Tables --------------------------------------------------------------- */

static void free_table(st_retired *self) {
  st_table *t = (st_table *)self;
  st__free(ST_MEM_REGISTRY, t, t->size);
}

/* Writes the distinct registrations to list and their indices to slot; returns
 * the number of distinct ones. */
static size_t number_kernels(const st_registration *const *selected,
                             uint8_t *slot, const st_registration **list) {
  size_t n = 0;
  for (int k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
    size_t i = 0;
    while (i < n && list[i] != selected[k]) i++;
    if (i == n) list[n++] = selected[k];
    slot[k] = (uint8_t)i;
  }
  return n;
}

/* Writes the distinct masks of keys that do not fall through, and for each
 * backend the index of its mask, because the slots of one functionality may
 * differ between backends; returns the number of distinct masks. */
static size_t number_masks(const st_registration *const *selected,
                           uint8_t *mask_of, st_keyset *list) {
  size_t n = 0;
  for (int b = 0; b < ST_BACKEND_COUNT; b++) {
    st_keyset mask = st__keyset_full;
    for (int k = 1; k < ST_KEY_RUNTIME_COUNT; k++) {
      const int backend = st__key_backend(k);
      if (selected[k]->is_fallthrough && (backend < 0 || backend == b)) {
        mask &= ~ST_BIT(st__key_functionality(k));
      }
    }
    size_t i = 0;
    while (i < n && list[i] != mask) i++;
    if (i == n) list[n++] = mask;
    mask_of[b] = (uint8_t)i;
  }
  return n;
}

static st_table *compute_table(const st_op *op, const st_schema *schema) {
  const st_registration *selected[ST_KEY_RUNTIME_COUNT];
  const st_registration *kernels[ST_KEY_RUNTIME_COUNT];
  st_keyset masks[ST_BACKEND_COUNT];
  st_table head = {.retired.free = free_table};
  newest n;
  find_newest(op, &n);
  for (int k = 0; k < ST_KEY_RUNTIME_COUNT; k++) {
    selected[k] = select_from(op, &n, k);
  }
  const size_t nkernels = number_kernels(selected, head.slot, kernels);
  const size_t nmasks = number_masks(selected, head.mask_of, masks);
  const size_t bytes = nkernels * sizeof *kernels;
  head.size = sizeof head + bytes + nmasks * sizeof *masks;
  head.schema = schema;
  head.signature = st__op_signature(op);
  st_table *t = st__alloc(ST_MEM_REGISTRY, head.size);
  if (!t) return NULL;
  st_keyset *kept = (st_keyset *)(t->kernels + nkernels);
  *t = head;
  t->masks = kept;
  memcpy(t->kernels, kernels, bytes);
  memcpy(kept, masks, nmasks * sizeof *masks);
  return t;
}

st_status st__build_table(const st_op *handle, const st_table **out) {
  st_op *op = (st_op *)(uintptr_t)handle;
  st_status status = ST_OK;
  st__lock();
  const st_schema *schema = atomic_load(&op->schema);
  st_table *t = atomic_load(&op->table);
  if (!schema) {
    status = st__undefined(op);
  } else if (!t) {
    /* The operator's, not of those whose call needs it first. */
    st_limits *limits = st_limits_enter(NULL);
    t = compute_table(op, schema);
    st_limits_enter(limits);
    if (t) atomic_store(&op->table, t);
    else status = ST_NO_MEMORY;
  }
  st__unlock();
  *out = t;
  return status;
}

/* Apart from `retired` a table is plain data in one block, so it can be
 * compared with memcmp. */
st_status st__check_dispatch_table(const st_op *op, const st_table *t,
                                   bool *is_right) {
  const size_t kernels = offsetof(st_table, kernels);
  const st_schema *schema = st__op_schema(op);
  st_table *now = schema ? compute_table(op, schema) : NULL;
  if (schema && !now) return ST_NO_MEMORY;
  *is_right = now && now->size == t->size &&
    now->schema == t->schema && now->signature == t->signature &&
    memcmp(now->mask_of, t->mask_of, sizeof t->mask_of) == 0 &&
    memcmp(now->slot, t->slot, sizeof t->slot) == 0 &&
    memcmp(now->kernels, t->kernels, t->size - kernels) == 0;
  if (now) free_table(&now->retired);
  return ST_OK;
}

void st__drop_table(st_op *op) {
  st_table *t = atomic_exchange(&op->table, NULL);
  if (t) st__retire(&t->retired);
}

void st__drop_tables(void) {
  for (st_op *op = st__first_op(); op; op = atomic_load(&op->next)) {
    st__drop_table(op);
  }
}

/* -- Layouts -------------------------------------------------------------- */

bool st__is_layout_key(st_key key) {
  return key > ST_KEY_UNDEFINED && key < ST_KEY_RUNTIME_COUNT &&
         (ST_BIT(st__key_functionality(key)) &
          (st__layout_bits() | ST_BIT(ST_FUNC_SubByte)));
}

void st__accept_layouts(const st_op *op) {
  st__lock();
  for (st_registration *r = op->kernels; r; r = r->next) {
    r->accepts_layouts = true;
  }
  st__unlock();
}

st_status st_layout_register(const char *name, const char *key,
                             const st_layout_functions *f, st_layout *out) {
  st__lock();
  const st_status status = st__layout_add(name, key, f, out);
  if (status == ST_OK) st__drop_tables();
  st__unlock();
  return status;
}
