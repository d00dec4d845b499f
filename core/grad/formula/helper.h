/* Functions that formulas call beside operators.
 */
#ifndef ST_GRAD_FORMULA_HELPER_H
#define ST_GRAD_FORMULA_HELPER_H

#include "grad/graph/saved_tensor.h"

/* args: evaluated; an argument that is asked for its geometry alone comes as
 * such, with value none. *out is owned. */
typedef struct st_helper_arg {
  st_value value;              /* borrowed */
  const st_saved_geometry *geometry; /* of each, or NULL */
  const struct st_saved *list; /* geometries of a list */
} st_helper_arg;

typedef st_status (*st_helper_fn)(int n, const st_helper_arg *args,
                                  st_value *out);

typedef struct st_helper {
  const char *name;
  int least, most;      /* arguments */
  bool wants_geometry;  /* of the first argument, and not its elements */
  bool takes_all;       /* whatever the arguments are; else only our own
                           formulas, which know what they pass, may call it */
  st_helper_fn fn;
} st_helper;

const st_helper *st__helper(int i);
/* -1: there is none. */
int st__helper_find(const char *name, size_t n);

#endif
