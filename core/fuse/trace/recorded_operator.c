/* What a recorder asks of operators, their arguments and their results.
 */

#include "fuse/trace/recorded_operator.h"

#include <string.h>

#include "grad/record/record.h"

st_recorded_kind st__recorded_kind(const st_op *op, st_device device) {
  const st_kernel_facts cpu = st__kernel_facts(op, "CPU");
  const st_kernel_facts meta = st__kernel_facts(op, "Meta");
  const st_kernel_facts grad = st__kernel_facts(op, "AutogradCPU");
  if (device > ST_DEVICE_META &&
      st__kernel_facts(op, st__device_key(device)).is_of_library) {
    return ST_RECORDED_LEAF;
  }
  if (cpu.is_implicit && grad.is_implicit) {
    return cpu.is_owned ? ST_RECORDED_OPAQUE : ST_RECORDED_COMPOSITE;
  }
  if ((cpu.is_owned && cpu.fn != st__structured) ||
      (meta.is_owned && meta.fn != st__structured) ||
      (grad.is_owned && grad.fn != st__record_call)) {
    return ST_RECORDED_OPAQUE;
  }
  return ST_RECORDED_LEAF;
}

const char *st__recorded_name(const st_op *op) {
  static const char ns[] = "aten::";
  const char *full = st_op_name(op);
  return strncmp(full, ns, strlen(ns)) == 0 ? full + strlen(ns) : full;
}

const st_op *st__functional_of(const st_op *op) {
  char name[128];
  snprintf(name, sizeof name, "%s", st_op_name(op));
  const size_t n = strlen(name);
  if (n == 0 || name[n - 1] != '_') return NULL;
  name[n - 1] = 0;
  const st_op *found = st_op_find(name, st_op_overload_name(op));
  const st_schema *s = found ? st__op_schema(found) : NULL;
  return s && s->nargs == st__op_schema(op)->nargs && s->nrets == 1 ? found
                                                                   : NULL;
}

bool st__gives_tensors(const st_schema *s) {
  for (int i = 0; i < s->nrets; i++) {
    if (s->rets[i].type != ST_TYPE_TENSOR) return false;
  }
  return s->nrets > 0;
}

int st__first_written(const st_schema *s, const st_value *args) {
  for (int i = 0; i < s->nargs; i++) {
    if (s->args[i].is_write && args[i].tag != ST_TAG_NONE) return i;
  }
  return -1;
}

int st__count_results(const st_schema *s, const st_value *rets) {
  int n = 0;
  for (int i = 0; i < s->nrets; i++) {
    n += rets[i].tag == ST_TAG_TENSORS ? (int)rets[i].len : 1;
  }
  return n;
}

st_tensor *st__nth_result(const st_value *rets, int n) {
  for (;; rets++) {
    if (rets->tag != ST_TAG_TENSORS) {
      if (n-- == 0) return st__to_tensor(rets);
    } else if (n < (int)rets->len) {
      return rets->u.tensors[n];
    } else {
      n -= (int)rets->len;
    }
  }
}
