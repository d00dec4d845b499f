/* Helpers: the functions that formulas may call in addition to operators.
 *
 * Note [Arguments of helpers]
 * Formulas read what was saved, and kernels of scripts, which may accept and
 * return tensors of any rank and lists of any length, decide what that is. A
 * helper reads sizes of tensors and lists without looking at ranks and lengths
 * first. So it declares what it relies on, a letter for each argument
 * (helpers.def), and the evaluation fails with an error before the call if an
 * argument is something else.
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

/* The signature of a helper. Most know how many arguments they have and do not
 * use n. *out is owned. */
#define ST_HELPER_FN(name)                                                   \
  st_status name(__attribute__((unused)) int n,                              \
                 __attribute__((unused)) const st_helper_arg *args,          \
                 __attribute__((unused)) st_value *out)
typedef ST_HELPER_FN((*st_helper_fn));

typedef struct st_helper {
  const char *name;
  const char *kinds; /* Note [Arguments of helpers] */
  bool is_public;   /* otherwise only formulas of derivatives.def may call it */
  st_helper_fn fn;
} st_helper;

const st_helper *st__helper(int i);
/* The index of a helper, or -1. */
int st__helper_find(const char *name, size_t n);
/* True if h may be called with n arguments. */
bool st__helper_takes(const st_helper *h, int n);
/* True if h reads no elements of its first argument. */
bool st__helper_wants_geometry(const st_helper *h);
/* Calls h with n arguments, as many as it takes; BAD_SHAPE if one of them is
 * not what it declares. operation: whose derivative it is, for messages. */
st_status st__helper_call(const st_helper *h, int n, const st_helper_arg *args,
                          const char *operation, st_value *out);

#endif
