/* Schema strings: parsing and printing (S1 to S6). Parsing is total:
 * any bytes give a schema or BAD_SCHEMA with the position.
 */
#ifndef ST_DISPATCH_SCHEMA_SCHEMA_H
#define ST_DISPATCH_SCHEMA_SCHEMA_H

#include "base/status.h"

struct st_schema {
  char *name;       /* "aten::add" */
  char *overload;   /* "Tensor", or "" */
  char *text;       /* canonical print */
  int nargs, nrets;
  st_arg *args;     /* nargs of them, then nrets results */
  st_arg *rets;
  bool is_mutable;  /* some argument is written (S4) */
  bool is_vararg, is_varret; /* "..." among the arguments, the results */
  uint64_t tensor_args; /* bit i: argument i holds tensors (C8) */
  void *arena;      /* owns every string above */
  struct st_schema *next; /* for the registry, which keeps old schemas */
};

/* ns is put in front of a name without one; NULL: the name must have one. */
st_status st__schema_parse(const char *text, const char *ns,
                           st_schema **out);
void st__schema_free(st_schema **s);
/* May an operator, an overload, an argument or a namespace be called so? */
bool st__is_name(const char *s, size_t n);
/* Index of the argument called name, or -1. */
int st__schema_arg(const st_schema *s, const char *name);
/* Its C types as a text: Note [Signatures]. */
void st__signature_text(const st_schema *s, char *buf, size_t size);

#endif
