/* Dispatch keys by name, and operations on key sets (K1 to K10).
 *
 * A st_key is a runtime key, whose number is its slot in dispatch tables (0 is
 * Undefined), or an alias key, whose number is above those.
 */
#ifndef ST_DISPATCH_KEYSET_H
#define ST_DISPATCH_KEYSET_H

#include "base/dispatch_key_priority.h"
#include "abi/strided_dispatch.h"

typedef int st_key;

enum {
  ST_KEY_UNDEFINED = 0,
  ST_KEY_RUNTIME_COUNT = 107,
  /* Alias keys: names for sets of runtime keys, never in a st_keyset. */
  ST_KEY_AUTOGRAD = ST_KEY_RUNTIME_COUNT,
  ST_KEY_COMPOSITE_IMPLICIT,
  ST_KEY_COMPOSITE_IMPLICIT_NESTED,
  ST_KEY_COMPOSITE_EXPLICIT,
  ST_KEY_COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
  ST_KEY_COUNT,
  ST_KEY_INVALID = -1
};

/* "AutogradCPU"; "invalid" if key is out of range. */
const char *st__key_name(st_key key);
st_key st__key_parse(const char *name);        /* or ST_KEY_INVALID */
st_keyset st__key_set(st_key key);             /* empty for an alias key */
bool st__key_is_alias(st_key key);
/* Functionality bit of a runtime key, 0 for Undefined; backend bit or -1. */
int st__key_functionality(st_key key);
int st__key_backend(st_key key);

/* The slot of the highest key in the set (K4). */
st_key st__keyset_highest(st_keyset ks);
/* st_keyset_minus (K5) clears functionality bits only, this one backend's. */
st_keyset st__keyset_minus_backend(st_keyset a, int backend);
/* All bits strictly below key's functionality, including all backends (K6). */
st_keyset st__keyset_after(st_key key);
extern const st_keyset st__keyset_full;
/* Iterates over the runtime keys of ks in ascending order (K7): *state is 0 at
 * the start; returns ST_KEY_INVALID at the end. */
st_key st__keyset_next(st_keyset ks, int *state);

/* True if the alias key includes the runtime key (K8, R9). */
bool st__alias_includes(st_key alias, st_key runtime);
/* The backend keys whose gradients an Autograd runtime key records; the empty
 * set for all other keys. */
st_keyset st__autograd_backends(st_key autograd);

#endif
