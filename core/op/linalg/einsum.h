/* The order in which einsum multiplies its operands: Note [Einsum].
 */
#ifndef ST_OP_LINALG_EINSUM_H
#define ST_OP_LINALG_EINSUM_H

#include <stdint.h>

#include "abi/types.h"

enum { ST_LABELS = 52, ST_OPERANDS = 64 };

/* What the order depends on. Sets of operands and of dimensions are bits. */
typedef struct st_einsum {
  int n;                         /* operands */
  uint64_t out;                  /* the dimensions of the result */
  uint64_t has[ST_OPERANDS];     /* those of an operand; not of size 1 */
  double size[ST_MAX_DIMS];
} st_einsum;

/* The dimensions of the product of `members` that are not summed yet, since the
 * result or another operand has them; others may be among them. */
uint64_t st__einsum_open(const st_einsum *e, uint64_t members);

/* Writes n - 1 pairs of positions in the list of factors, which begins with the
 * operands; a pair is removed, and its product becomes the last one. The fewest
 * multiplications for up to 8 operands; beyond, each pair is the one whose
 * product has the fewest elements more than its factors. */
void st__einsum_path(const st_einsum *e, int64_t *path);

/* The labels of the dimensions, and which of them each operand and the result
 * have, those of size 1 included. */
typedef struct st_einsum_names {
  const char *equation;
  char label[ST_MAX_DIMS]; /* '.' for those of an ellipsis */
  uint64_t has[ST_OPERANDS], out;
} st_einsum_names;

/* The products of a path as text: a line for all, and one for each. The caller
 * releases it with st__text_free. */
st_status st__einsum_describe(const st_einsum *e, const st_einsum_names *names,
                              const int64_t *path, char **text);

#endif
