/* The schemas of ops.def as static data: core/build/write_schemas.c writes it
 * when the library is built.
 */
#ifndef ST_OP_TABLE_BUILTIN_SCHEMAS_H
#define ST_OP_TABLE_BUILTIN_SCHEMAS_H

#include "dispatch/schema/schema.h"

typedef struct st_builtin_schema {
  st_schema *schema;       /* NULL: the row does not have that variant */
  const char *signature;
  const char *file;        /* that the row is in */
  int tags;                /* ST_OPTAG_ bits */
} st_builtin_schema;

/* By st_op_id and st_variant. */
extern const st_builtin_schema st__builtin_schemas[][3];

#endif
