/* The types of a call's arguments, by which resolutions are cached. */
#ifndef ST_LUA_CALL_ARGUMENT_TYPES_H
#define ST_LUA_CALL_ARGUMENT_TYPES_H

#include "call/call.h"

enum {
  ST_MAX_POSITIONAL = 6, ST_MAX_KEYWORDS = 3,
  ST_MAX_GIVEN = ST_MAX_POSITIONAL + ST_MAX_KEYWORDS, /* 3 bits of a key each */
  ST_MAX_ELEMENTS = 16 /* of all lists */
};

/* What was read from an argument of the call. */
typedef struct st__argument {
  st__tensor_ud *ud; /* of a tensor */
  st_tensor *t;      /* borrowed: a finalizer may empty ud */
  st_scalar s;
  int first, n; /* of a list: its elements */
} st__argument;

/* A call: its arguments, and what was read from them: of npos by position, then
 * of nkeywords, whose values are at top + 1 and above. */
typedef struct st__call_types {
  st__state *h;
  lua_State *L;
  st__packet *p;
  int first, top;   /* stack indices of the arguments */
  int npos, nkeywords, nelements;
  bool has_fraction; /* a number is no integer of 64 bits */
  uint32_t key;     /* of their types; 0: the resolution is not cached */
  uint64_t epoch;
  const char *names[ST_MAX_KEYWORDS];
  st__argument args[ST_MAX_GIVEN];
  int64_t elements[ST_MAX_ELEMENTS];
} st__call_types;

/* Stack index of argument `at` of the call. */
static inline int st__argument_index(const st__call_types *c, int at) {
  return at < c->npos ? c->first + at : c->top + 1 + at - c->npos;
}

/* Reads the arguments and sets the key, which is 0 if there are others than
 * tensors, numbers, booleans, strings and lists of integers, or too many.
 * Pushes the values of the keywords. [+n] */
void st__read_types(st__call_types *c, bool is_method);

#endif
