/* Kernels that are functions of scripts: Note [What scripts return]. */
#ifndef ST_OP_ROW_SCRIPTED_H
#define ST_OP_ROW_SCRIPTED_H

#include "dispatch/dispatch.h"

typedef struct st_script_fn {
  st_status (*fn)(void *arg);
  void *arg;
} st_script_fn;

/* See st_run_scripted_kernel in strided_dispatch.h. */
st_status st__run_scripted(const st_call *call, const st_value *args,
                           st_value *rets, const char *where,
                           const st_script_fn *f);

#endif
