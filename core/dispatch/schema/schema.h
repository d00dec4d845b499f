/* Parsing and printing of schema strings (S1 to S6). The parser accepts any
 * bytes: it returns a schema, or BAD_SCHEMA with the position of the error.
 */
#ifndef ST_DISPATCH_SCHEMA_SCHEMA_H
#define ST_DISPATCH_SCHEMA_SCHEMA_H

#include "base/status.h"
#include "abi/strided_dispatch.h"

struct st_schema {
  const char *name;     /* "aten::add" */
  const char *overload; /* "Tensor", or "" */
  const char *text;     /* in ATen's canonical form */
  int nargs, nrets;
  const st_arg *args;   /* nargs of them, then nrets results */
  const st_arg *rets;
  bool is_mutable;  /* at least one argument is written (S4) */
  bool is_vararg, is_varret; /* "..." in the arguments, in the results */
  /* Indices of the arguments of these names, or -1. */
  int8_t device_arg, layout_arg, dim_arg, keepdim_arg;
  uint64_t tensor_args; /* bit i: argument i is a tensor or a list (C8) */
  void *arena;      /* owns the struct and all its data; NULL if they are
                       static */
  struct st_schema *next; /* in the list of an operator's schemas */
};

void st__schema_free(st_schema **s);
/* The bytes that a schema takes. */
size_t st__schema_size(const st_schema *s);
/* True if s is a valid name of an operator, overload, argument or namespace. */
bool st__is_name(const char *s, size_t n);
/* True for an argument or result of type Tensor that is not written. */
static inline bool st__is_one_tensor(const st_arg *a) {
  return a->type == ST_TYPE_TENSOR && !a->list && !a->optional &&
         !a->is_alias;
}
/* True if each of several results has a name. */
static inline bool st__can_have_out(const st_schema *s) {
  for (int i = 0; i < s->nrets; i++) {
    if (s->nrets > 1 && !*s->rets[i].name) return false;
  }
  return true;
}
static inline bool st__returns_views(const st_schema *s) {
  return s->nrets > 0 && s->rets[0].is_alias;
}
/* The index of the argument called name, or -1. */
int st__schema_arg(const st_schema *s, const char *name);
/* Writes the signature of a schema to buf, truncated to size: Note
 * [Signatures]. */
void st__signature_text(const st_schema *s, char *buf, size_t size);

#endif
