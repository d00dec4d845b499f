/* Checks arguments against schemas and fills in defaults (S5). */

#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "dispatch/entry.h"

/* -- Types ---------------------------------------------------------------- */

static const char *tag_name(uint32_t tag) {
  static const char *const names[] = {
    "None", "Tensor", "int", "float", "bool", "complex", "str", "Generator",
    "int[]", "float[]", "bool[]", "Tensor[]", "int"
  };
  return tag < sizeof names / sizeof *names ? names[tag] : "an invalid tag";
}

/* True if the value's tag is valid and its pointer is not NULL. */
static bool is_well_formed(const st_value *v) {
  switch (v->tag) {
    case ST_TAG_TENSOR: case ST_TAG_COMPLEX: case ST_TAG_STRING:
    case ST_TAG_GENERATOR:
      return v->u.string != NULL;
    case ST_TAG_INTS: case ST_TAG_FLOATS: case ST_TAG_BOOLS:
    case ST_TAG_TENSORS:
      return v->u.ints != NULL || v->len == 0;
    default:
      return v->tag <= ST_TAG_UINT;
  }
}

static bool accepts_list(st_type type, uint32_t tag) {
  switch (type) {
    case ST_TYPE_TENSOR: return tag == ST_TAG_TENSORS;
    case ST_TYPE_INT: case ST_TYPE_DIM: case ST_TYPE_INDEX: case ST_TYPE_END:
      return tag == ST_TAG_INTS;
    case ST_TYPE_FLOAT: return tag == ST_TAG_FLOATS;
    case ST_TYPE_BOOL: return tag == ST_TAG_BOOLS;
    case ST_TYPE_SCALAR:
      return tag == ST_TAG_INTS || tag == ST_TAG_FLOATS ||
             tag == ST_TAG_BOOLS;
    case ST_TYPE_OTHER: return true;
    default: return false;
  }
}

static bool accepts_one(st_type type, uint32_t tag) {
  switch (type) {
    case ST_TYPE_TENSOR: return tag == ST_TAG_TENSOR;
    case ST_TYPE_FLOAT: return tag == ST_TAG_FLOAT || tag == ST_TAG_INT;
    case ST_TYPE_BOOL: return tag == ST_TAG_BOOL;
    case ST_TYPE_STRING: return tag == ST_TAG_STRING;
    case ST_TYPE_GENERATOR: return tag == ST_TAG_GENERATOR;
    case ST_TYPE_COMPLEX:
      return tag == ST_TAG_COMPLEX || tag == ST_TAG_FLOAT ||
             tag == ST_TAG_INT;
    case ST_TYPE_SCALAR:
      return tag == ST_TAG_COMPLEX || tag == ST_TAG_FLOAT ||
             tag == ST_TAG_INT || tag == ST_TAG_BOOL || tag == ST_TAG_UINT;
    case ST_TYPE_OTHER: return true;
    default: return tag == ST_TAG_INT;
  }
}

/* Is i a value of the type? Kernels index tables by those of enumerations. */
static bool is_value(const st_arg *arg, int64_t i) {
  if (arg->list) return true;
  switch (arg->type) {
    case ST_TYPE_DTYPE: return st__is_tensor_dtype(i);
    case ST_TYPE_FORMAT: return i >= 0 && i < ST_FORMAT_COUNT;
    case ST_TYPE_DEVICE: return st__is_device(i);
    case ST_TYPE_LAYOUT: return st__is_layout(i);
    default: return true;
  }
}

static bool has_null(const st_value *v) {
  for (uint32_t i = 0; i < v->len; i++) {
    if (!v->u.tensors[i]) return true;
  }
  return false;
}

static st_status check_arg(const st_schema *s, int i, const st_value *v) {
  const st_arg *arg = &s->args[i];
  if (v->tag == ST_TAG_NONE && arg->optional) return ST_OK;
  const bool fits = arg->list ? accepts_list(arg->type, v->tag)
                              : accepts_one(arg->type, v->tag);
  if (!fits || v->tag > ST_TAG_UINT) {
    return st__fail(ST_BAD_TYPE, "argument '%s' must be %s, not %s\n"
                    "declared as %s", arg->name, arg->text,
                    tag_name(v->tag), s->text);
  }
  if (!is_well_formed(v)) {
    return st__fail(ST_BAD_VALUE, "argument '%s': the %s has no data",
                    arg->name, tag_name(v->tag));
  }
  if (!is_value(arg, v->u.i)) {
    return st__fail(ST_BAD_VALUE, "argument '%s': %" PRId64 " is not a valid "
                    "%s", arg->name, v->u.i, arg->text);
  }
  if (v->tag == ST_TAG_TENSORS && !arg->elem_optional && has_null(v)) {
    return st__fail(ST_BAD_TYPE, "argument '%s': an element of the list is "
                    "None\ndeclared as %s", arg->name, s->text);
  }
  return ST_OK;
}

/* -- Binding -------------------------------------------------------------- */

static st_status schema_of(const st_op *op, const st_schema **out) {
  *out = st__op_schema(op);
  if (*out) return ST_OK;
  st__lock();
  const st_status status = st__undefined(op);
  st__unlock();
  return status;
}

static st_status check_count(const st_schema *s, int n) {
  if (n >= 0 && n <= s->nargs) return ST_OK;
  return st__fail(ST_BAD_VALUE, "takes at most %d arguments, not %d\n"
                  "declared as %s", s->nargs, n, s->text);
}

static st_status check_args_upto(const st_schema *s, int n,
                                const st_value *args) {
  ST_TRY(check_count(s, n));
  for (int i = 0; i < n; i++) ST_TRY(check_arg(s, i, &args[i]));
  return ST_OK;
}

/* Note [The schema of a call]. Equal schemas of an operator share one text, so
 * comparing the addresses is enough. */
static st_status declared_schema(const st_op *op, const char *declared,
                                 const st_schema **out) {
  ST_TRY(schema_of(op, out));
  if (!declared || (*out)->text == declared) return ST_OK;
  return st__fail(ST_BAD_STATE, "was redefined while it was called");
}

static st_status fill_defaults(const st_schema *s, int n, st_value *args) {
  for (int i = n; i < s->nargs; i++) {
    if (!s->args[i].has_default) {
      return st__fail(ST_BAD_VALUE, "argument '%s' is missing\n"
                      "declared as %s", s->args[i].name, s->text);
    }
    args[i] = s->args[i].default_value;
  }
  return ST_OK;
}

st_status st__check_args(const st_op *op, const char *declared,
                         const st_value *args, const st_schema **out) {
  st_status status = declared_schema(op, declared, out);
  if (status == ST_OK) status = check_args_upto(*out, (*out)->nargs, args);
  return st__add_error_context(op, status);
}

static st_status bind_args(const st_schema *s, int n, const st_value *args,
                           st_value *all) {
  ST_TRY(check_args_upto(s, n, args));
  if (n) memcpy(all, args, (size_t)n * sizeof *args);
  return fill_defaults(s, n, all);
}

st_status st__bind_args(const st_op *op, int n, const st_value *args,
                        st_value *all) {
  const st_schema *s;
  st_status status = schema_of(op, &s);
  if (status == ST_OK) status = bind_args(s, n, args, all);
  return st__add_error_context(op, status);
}

static inline st_status call_as(st_caller caller, const st_op *op,
                                const st_schema *s, const st_value *args,
                                st_value *rets) {
  return caller == ST_CALLER_SCRIPT ? st__call_scripted(op, s, args, rets)
                                    : st__call_boxed(op, s, args, rets);
}

st_status st__call_checked(st_caller caller, const st_op *op,
                           const char *declared, int n, const st_value *args,
                           st_value *rets) {
  st_value all[ST_MAX_ARGS];
  const st_schema *s = NULL;
  st_status status = declared_schema(op, declared, &s);
  if (status == ST_OK && n == s->nargs) {
    status = check_args_upto(s, n, args);
  } else if (status == ST_OK) {
    status = bind_args(s, n, args, all);
    args = all;
  }
  return status == ST_OK ? call_as(caller, op, s, args, rets)
                         : st__add_error_context(op, status);
}

st_status st__call_converted(st_caller caller, const st_op *op,
                             const char *declared, const st_value *args,
                             st_value *rets) {
  const st_schema *s;
  const st_status status = declared_schema(op, declared, &s);
  return status == ST_OK ? call_as(caller, op, s, args, rets)
                         : st__add_error_context(op, status);
}

st_status st__call_n(const st_op *op, int n, const st_value *args,
                     st_value *rets) {
  st_value all[ST_MAX_ARGS];
  const st_schema *s;
  st_status status = schema_of(op, &s);
  if (status == ST_OK) status = check_count(s, n);
  if (status != ST_OK) return st__add_error_context(op, status);
  if (n == s->nargs) return st__call(op, args, rets);
  if (n) memcpy(all, args, (size_t)n * sizeof *args);
  status = fill_defaults(s, n, all);
  return status == ST_OK
         ? st__call(op, all, rets) : st__add_error_context(op, status);
}
