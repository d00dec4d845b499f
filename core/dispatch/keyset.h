/* Algebra of key sets, and keys by name (K1 to K10).
 *
 * A st_key is a runtime key, numbered by its slot in an operator's table
 * (0 is Undefined), or an alias key, numbered above them.
 */
#ifndef ST_DISPATCH_KEYSET_H
#define ST_DISPATCH_KEYSET_H

#include "tensor/keys.h"

typedef int st_key;

enum {
  ST_KEY_UNDEFINED = 0,
  ST_KEY_RUNTIME_COUNT = 106,
  /* Alias keys: names for sets of runtime keys, never in a st_keyset. */
  ST_KEY_AUTOGRAD = ST_KEY_RUNTIME_COUNT,
  ST_KEY_COMPOSITE_IMPLICIT,
  ST_KEY_COMPOSITE_IMPLICIT_NESTED,
  ST_KEY_COMPOSITE_EXPLICIT,
  ST_KEY_COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
  ST_KEY_COUNT,
  ST_KEY_INVALID = -1
};

const char *st__key_name(st_key key);          /* "AutogradCPU" */
st_key st__key_parse(const char *name);        /* or ST_KEY_INVALID */
st_keyset st__key_set(st_key key);             /* empty for an alias key */
bool st__key_is_alias(st_key key);
/* Functionality bit of a runtime key, 0 for Undefined; backend bit or -1. */
int st__key_functionality(st_key key);
int st__key_backend(st_key key);

/* The slot of the highest key in the set (K4). */
st_key st__keyset_highest(st_keyset ks);
/* a - b clears functionality bits only (K5). */
st_keyset st__keyset_minus(st_keyset a, st_keyset b);
st_keyset st__keyset_minus_backend(st_keyset a, int backend);
/* Every bit strictly below key's functionality, all backends kept (K6). */
st_keyset st__keyset_after(st_key key);
extern const st_keyset st__keyset_full;
/* Iterates runtime keys in ascending order (K7): start with *state = 0,
 * returns ST_KEY_INVALID at the end. */
st_key st__keyset_next(st_keyset ks, int *state);
/* "DispatchKeySet(CPU, AutogradCPU)"; returns buf. */
char *st__keyset_text(st_keyset ks, char *buf, size_t size);

/* Runtime keys that an alias key stands for (K8, R9). */
bool st__alias_includes(st_key alias, st_key runtime);
/* The backend keys whose gradients an Autograd runtime key records; empty
 * for every other key. */
st_keyset st__autograd_backends(st_key autograd);

#endif
