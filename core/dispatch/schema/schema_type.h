/* The syntax tree of schemas, which the parser builds and the printer reads.
 */
#ifndef ST_DISPATCH_SCHEMA_SCHEMA_TYPE_H
#define ST_DISPATCH_SCHEMA_SCHEMA_TYPE_H

#include "dispatch/schema/schema.h"
#include "dispatch/schema/schema_lex.h"

enum { ST_MAX_ALIAS_SETS = 8 };

/* An alias annotation: the alias sets of a value before and after the call. */
typedef struct st_alias {
  int nbefore, nafter;
  st_token before[ST_MAX_ALIAS_SETS], after[ST_MAX_ALIAS_SETS];
  bool write;
  int fresh;  /* number of the unnamed set of "Tensor!", or -1 */
} st_alias;

typedef enum st_type_node_kind {
  ST_TYPE_NODE_NAME, /* Tensor, int, __torch__.torch.classes.a.b */
  ST_TYPE_NODE_GENERIC, /* Dict(..), Union(..), Future(..), RRef(..) */
  ST_TYPE_NODE_TUPLE, /* (int, str) */
  ST_TYPE_NODE_LIST,
  ST_TYPE_NODE_OPTIONAL
} st_type_node_kind;

typedef struct st_type_node st_type_node;
struct st_type_node {
  st_type_node_kind kind;
  st_type type;         /* of a name */
  st_token name;        /* of a name or a generic */
  int32_t size;         /* of a list: N, or 0 */
  st_alias *alias;      /* or NULL */
  st_type_node *child;  /* the first child: of a tuple, generic or suffix */
  st_type_node *next;   /* the next child of the same parent */
};

/* An argument or result while it is being parsed. */
typedef struct st_decl {
  st_arg arg;
  st_type_node *type;
  st_token at;  /* its first token */
} st_decl;

typedef struct st_schema_decl {
  st_token name;
  const char *ns;
  size_t ns_size;
  st_token overload;
  int nargs, nrets;
  bool is_vararg, is_varret;
  st_decl args[ST_MAX_ARGS], rets[ST_MAX_ARGS];
} st_schema_decl;

/* Parses a type; size_hint allows int[2], which only the outermost type of an
 * argument or result may be. */
st_status st__parse_type(st_parser *p, bool size_hint, st_type_node **out);
/* Fills in the members of arg that its type determines. */
st_status st__describe_type(st_parser *p, const st_type_node *t, st_arg *arg);
/* Parses the default value after "=" and checks it against arg's type. */
st_status st__parse_default(st_parser *p, st_arg *arg);

/* The texts are allocated in p->keep; NULL if out of memory. */
char *st__type_text(st_parser *p, const st_type_node *t);
char *st__alias_text(st_parser *p, const st_alias *a);
char *st__schema_text(st_parser *p, const st_schema_decl *s);

#endif
