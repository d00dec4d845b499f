/* The schemas of ops.def as static data: core/build/write_schemas.c writes it
 * when the library is built.
 *
 * Note [Packed schemas]
 * Each pointer in static data is a relocation: 24 bytes of the library, and a
 * word that the loader writes. So texts are offsets, equal arguments are there
 * once, and the schemas are unpacked when operators are registered, into static
 * memory: nobody frees what these functions return.
 */
#ifndef ST_OP_TABLE_BUILTIN_SCHEMAS_H
#define ST_OP_TABLE_BUILTIN_SCHEMAS_H

#include "dispatch/schema/schema.h"
#include "op/row/op.h"

/* What an st_schema has; its texts, signature and file as offsets. */
typedef struct st_packed_schema {
  uint32_t name, overload, text, signature, doc;
  uint32_t file;        /* that the row is in */
  uint16_t first_arg;   /* of the unpacked arguments */
  uint8_t nargs, nrets;
  bool is_mutable, is_vararg, is_varret;
  int8_t device_arg, layout_arg, dim_arg, keepdim_arg;
  int tags;             /* ST_OPTAG_ bits */
  uint64_t tensor_args;
} st_packed_schema;

/* What an st_arg has. */
typedef struct st_packed_arg {
  uint32_t name, text, alias; /* alias: 0 for NULL */
  uint16_t default_value;     /* of st_packed_schemas.values */
  uint8_t type;               /* st_type */
  int8_t list_size;
  bool list, optional, elem_optional, kwarg_only, has_default;
  bool is_write, is_alias;
} st_packed_arg;

/* What write_schemas writes. */
typedef struct st_packed_schemas {
  const char *texts;
  const st_packed_schema *schemas;
  const uint16_t (*ids)[3];   /* by st_op_id and st_variant: 1 and more: of
                                 schemas; 0: the row has no such variant */
  const st_packed_arg *args;  /* those that differ */
  const st_value *values;     /* default values */
  const uint16_t *arg_ids;    /* the arguments of all schemas, of args */
  st_schema *unpacked;
  st_arg *unpacked_args;
  int nargs;                  /* of unpacked_args */
} st_packed_schemas;
extern const st_packed_schemas st__packed_schemas;

typedef struct st_builtin_schema {
  st_schema *schema;       /* NULL: the row does not have that variant */
  const char *signature, *doc;
  const char *file;        /* that the row is in */
  int tags;                /* ST_OPTAG_ bits */
} st_builtin_schema;

/* Before the first st__unpack_schema. */
void st__unpack_arguments(void);
st_builtin_schema st__unpack_schema(int id, st_variant variant);
/* The file that the row is in. */
const char *st__builtin_file(int id);

#endif
