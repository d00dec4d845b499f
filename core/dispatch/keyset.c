/* Dispatch keys and key sets: names, slots, set operations and alias keys,
 * generated from the two lists of base/dispatch_key_priority.h.
 */

#include "dispatch/keyset.h"

#include <stdio.h>
#include <string.h>

#include "dispatch/slot.h"

/* -- Slots ---------------------------------------------------------------- */

/* A functionality has one slot, or one per backend. */
#define SLOTS_0 1
#define SLOTS_1 ST_BACKEND_COUNT
enum {
  LAST_UNDEFINED = 0,
#define SLOTS(name, per_backend) \
  FIRST_##name, LAST_##name = FIRST_##name + SLOTS_##per_backend - 1,
  ST_FUNCTIONALITY_MAP(SLOTS)
#undef SLOTS
  SLOT_COUNT
};

_Static_assert((int)SLOT_COUNT == (int)ST_KEY_RUNTIME_COUNT,
               "a slot per runtime key");

#define BACKENDS_0 0
#define BACKENDS_1 ST_BACKEND_BITS
const st_slot_rule st__slot_rules[64] = {
#define RULE(name, per_backend) \
  [ST_FUNC_##name] = {FIRST_##name, BACKENDS_##per_backend},
  ST_FUNCTIONALITY_MAP(RULE)
#undef RULE
};

/* -- Keys ----------------------------------------------------------------- */

typedef struct key_info {
  const char *name;
  int8_t functionality;
  int8_t backend;
} key_info;

#define BACKEND_KEYS(b)                                                    \
  [FIRST_Dense + ST_BACKEND_##b] = {#b, ST_FUNC_Dense, ST_BACKEND_##b},    \
  [FIRST_Quantized + ST_BACKEND_##b] =                                     \
    {"Quantized" #b, ST_FUNC_Quantized, ST_BACKEND_##b},                   \
  [FIRST_Sparse + ST_BACKEND_##b] =                                        \
    {"Sparse" #b, ST_FUNC_Sparse, ST_BACKEND_##b},                         \
  [FIRST_NestedTensor + ST_BACKEND_##b] =                                  \
    {"NestedTensor" #b, ST_FUNC_NestedTensor, ST_BACKEND_##b},             \
  [FIRST_Autograd + ST_BACKEND_##b] =                                      \
    {"Autograd" #b, ST_FUNC_Autograd, ST_BACKEND_##b},
#define KEY_0(name) [FIRST_##name] = {#name, ST_FUNC_##name, -1},
#define KEY_1(name) /* BACKEND_KEYS */
#define KEY(name, per_backend) KEY_##per_backend(name)

static const key_info keys[ST_KEY_COUNT] = {
  {"Undefined", 0, -1},
  ST_BACKEND_MAP(BACKEND_KEYS)
  ST_FUNCTIONALITY_MAP(KEY)
  [ST_KEY_AUTOGRAD] = {"Autograd", 0, -1},
  [ST_KEY_COMPOSITE_IMPLICIT] = {"CompositeImplicitAutograd", 0, -1},
  [ST_KEY_COMPOSITE_IMPLICIT_NESTED] =
    {"CompositeImplicitAutogradNestedTensor", 0, -1},
  [ST_KEY_COMPOSITE_EXPLICIT] = {"CompositeExplicitAutograd", 0, -1},
  [ST_KEY_COMPOSITE_EXPLICIT_NON_FUNCTIONAL] =
    {"CompositeExplicitAutogradNonFunctional", 0, -1},
};

const char *st__key_name(st_key key) {
  return key >= 0 && key < ST_KEY_COUNT ? keys[key].name : "invalid";
}

st_key st__key_parse(const char *name) {
  for (st_key k = 0; k < ST_KEY_COUNT; k++) {
    if (*keys[k].name == *name && strcmp(keys[k].name, name) == 0) return k;
  }
  return ST_KEY_INVALID;
}

bool st__key_is_alias(st_key key) {
  return key >= ST_KEY_RUNTIME_COUNT && key < ST_KEY_COUNT;
}

int st__key_functionality(st_key key) { return keys[key].functionality; }
int st__key_backend(st_key key) { return keys[key].backend; }

st_keyset st__key_set(st_key key) {
  const key_info *k = &keys[key];
  if (k->functionality == 0) return 0;
  return ST_BIT(k->functionality) | (k->backend < 0 ? 0 : ST_BIT(k->backend));
}

/* -- Set operations ------------------------------------------------------- */

const st_keyset st__keyset_full = ST_BIT(ST_FUNC_END) - 1;

st_key st__keyset_highest(st_keyset ks) { return st__highest_slot(ks); }

st_keyset st_keyset_minus(st_keyset a, st_keyset b) {
  return a & ~(b & ~ST_BACKEND_BITS);
}

st_keyset st__keyset_minus_backend(st_keyset a, int backend) {
  return a & ~ST_BIT(backend);
}

st_keyset st__keyset_after(st_key key) {
  /* The alias key Autograd stands for its lowest functionality here. */
  const int functionality = key == ST_KEY_AUTOGRAD ? ST_FUNC_AutogradOther
                                                   : keys[key].functionality;
  if (functionality == 0) return 0;
  return (ST_BIT(functionality) - 1) | ST_BIT(ST_FUNC_LuaDispatcher);
}

st_key st__keyset_next(st_keyset ks, int *state) {
  while (++*state < ST_KEY_RUNTIME_COUNT) {
    const st_keyset set = st__key_set(*state);
    if ((ks & set) == set) return *state;
  }
  return ST_KEY_INVALID;
}

char *st_keyset_text(st_keyset ks, char *buf, size_t size) {
  int state = 0;
  size_t n = (size_t)snprintf(buf, size, "DispatchKeySet(");
  const char *comma = "";
  for (st_key k; (k = st__keyset_next(ks, &state)) != ST_KEY_INVALID;) {
    if (n < size) {
      n += (size_t)snprintf(buf + n, size - n, "%s%s", comma, keys[k].name);
    }
    comma = ", ";
  }
  if (n < size) snprintf(buf + n, size - n, ")");
  return buf;
}

/* -- Alias keys ----------------------------------------------------------- */

/* Backends whose gradients are recorded under AutogradOther (R8). */
#define OTHER_BACKENDS                                                     \
  (ST_BIT(ST_FUNC_FPGA) | ST_BIT(ST_FUNC_ORT) | ST_BIT(ST_FUNC_Vulkan) |   \
   ST_BIT(ST_FUNC_Metal) | ST_BIT(ST_FUNC_Quantized) |                     \
   ST_BIT(ST_FUNC_CustomRNGKeyId) | ST_BIT(ST_FUNC_MkldnnCPU) |            \
   ST_BIT(ST_FUNC_Sparse) | ST_BIT(ST_FUNC_SparseCsrCPU) |                 \
   ST_BIT(ST_FUNC_SparseCsrCUDA))
#define BACKENDS \
  (OTHER_BACKENDS | ST_BIT(ST_FUNC_Dense) | ST_BIT(ST_FUNC_SubByte))
bool st__alias_includes(st_key alias, st_key runtime) {
  if (runtime < 0 || runtime >= ST_KEY_RUNTIME_COUNT) return false;
  const int backend = keys[runtime].backend;
  const bool undefined = runtime == ST_KEY_UNDEFINED;
  const st_keyset f = undefined ? 0 : ST_BIT(keys[runtime].functionality);
  switch (alias) {
    case ST_KEY_AUTOGRAD:
      return f & ST_AUTOGRAD_BITS;
    case ST_KEY_COMPOSITE_IMPLICIT:
      return undefined ||
             (f & (BACKENDS | ST_AUTOGRAD_BITS | ST_BIT(ST_FUNC_NestedTensor)));
    case ST_KEY_COMPOSITE_IMPLICIT_NESTED:
      return f & (ST_BIT(ST_FUNC_NestedTensor) |
                  ST_BIT(ST_FUNC_AutogradNestedTensor));
    case ST_KEY_COMPOSITE_EXPLICIT:
      return undefined || (f & BACKENDS);
    case ST_KEY_COMPOSITE_EXPLICIT_NON_FUNCTIONAL:
      return undefined ||
             ((f & BACKENDS & ~ST_BIT(ST_FUNC_Sparse)) &&
              backend != ST_BACKEND_XLA && backend != ST_BACKEND_Lazy);
    default:
      return false;
  }
}

st_keyset st__autograd_backends(st_key autograd) {
  switch (keys[autograd].functionality) {
    case ST_FUNC_AutogradOther:
      return OTHER_BACKENDS | ST_BACKEND_BITS;
    case ST_FUNC_Autograd:
      return ST_BIT(ST_FUNC_Dense) | ST_BIT(keys[autograd].backend);
    case ST_FUNC_AutogradNestedTensor:
      return ST_BIT(ST_FUNC_NestedTensor) | ST_BACKEND_BITS;
    default:
      return 0;
  }
}
