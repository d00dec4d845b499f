/* Helpers: the functions that formulas may call in addition to operators.
 */
#ifndef ST_GRAD_FORMULA_HELPER_H
#define ST_GRAD_FORMULA_HELPER_H

#include "grad/graph/saved_tensor.h"

/* An evaluated argument. Of a variable whose geometry alone is read, `geometry`
 * or `list` is set and the value is none. */
typedef struct st_helper_arg {
  st_value value;              /* borrowed */
  const st_saved_geometry *geometry; /* of a tensor, or NULL */
  const struct st_saved *list; /* geometries of a list of value.len tensors */
} st_helper_arg;

/* *out is owned. */
typedef st_status (*st_helper_fn)(int n, const st_helper_arg *args,
                                  st_value *out);

typedef struct st_helper {
  const char *name;
  int least, most;      /* bounds of the number of arguments */
  bool wants_geometry;  /* reads no elements of the first argument */
  bool takes_all;       /* accepts all arguments; otherwise only formulas of
                           derivatives.def may call it */
  st_helper_fn fn;
} st_helper;

const st_helper *st__helper(int i);
/* The index of a helper, or -1. */
int st__helper_find(const char *name, size_t n);

#endif
