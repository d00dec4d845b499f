/* Note [Packed schemas].
 */

#include "op/table/builtin_schemas.h"

static const st_packed_schema *packed_schema(int id, st_variant variant) {
  const st_packed_schemas *p = &st__packed_schemas;
  const int k = p->ids[id][variant];
  return k == 0 ? NULL : &p->schemas[k - 1];
}

static st_arg unpack_arg(const st_packed_arg *a) {
  const st_packed_schemas *p = &st__packed_schemas;
  return (st_arg){
    .name = p->texts + a->name, .text = p->texts + a->text,
    .type = (st_type)a->type, .list = a->list, .optional = a->optional,
    .elem_optional = a->elem_optional, .kwarg_only = a->kwarg_only,
    .has_default = a->has_default, .is_write = a->is_write,
    .is_alias = a->is_alias, .alias = a->alias ? p->texts + a->alias : NULL,
    .list_size = a->list_size,
    .default_value = p->values[a->default_value]};
}

void st__unpack_arguments(void) {
  const st_packed_schemas *p = &st__packed_schemas;
  for (int i = 0; i < p->nargs; i++) {
    p->unpacked_args[i] = unpack_arg(&p->args[p->arg_ids[i]]);
  }
}

static st_schema *unpack(const st_packed_schema *s) {
  const st_packed_schemas *p = &st__packed_schemas;
  const st_arg *args = p->unpacked_args + s->first_arg;
  st_schema *out = &p->unpacked[s - p->schemas];
  *out = (st_schema){
    .name = p->texts + s->name, .overload = p->texts + s->overload,
    .text = p->texts + s->text, .nargs = s->nargs, .nrets = s->nrets,
    .args = args, .rets = args + s->nargs, .is_mutable = s->is_mutable,
    .is_vararg = s->is_vararg, .is_varret = s->is_varret,
    .device_arg = s->device_arg, .layout_arg = s->layout_arg,
    .dim_arg = s->dim_arg, .keepdim_arg = s->keepdim_arg,
    .tensor_args = s->tensor_args};
  return out;
}

st_builtin_schema st__unpack_schema(int id, st_variant variant) {
  const st_packed_schema *s = packed_schema(id, variant);
  if (!s) return (st_builtin_schema){0};
  const char *texts = st__packed_schemas.texts;
  return (st_builtin_schema){
    .schema = unpack(s), .signature = texts + s->signature,
    .doc = texts + s->doc, .file = texts + s->file, .tags = s->tags};
}

const char *st__builtin_file(int id) {
  return st__packed_schemas.texts + packed_schema(id, ST_FUNCTIONAL)->file;
}
