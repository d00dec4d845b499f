/* Lines that lie closer together than their elements, copied by tiles to where
 * their elements adjoin.
 *
 * Note [Tiles of lines]
 * A kernel that runs along one line at a time touches a cache line for each
 * element, and if the stride is a power of two the cache has room for a few of
 * them only, so each is loaded again for the next line. Here a group of
 * adjoining lines is transposed into a buffer, the kernel runs on the buffer,
 * and its outputs are transposed back.
 */
#ifndef ST_OP_REDUCE_LINE_TILES_H
#define ST_OP_REDUCE_LINE_TILES_H

#include "op/reduce/lines.h"

typedef struct st_line_tiles {
  st_loop loop;
  const void *ctx;
  char *buffer;                      /* of this many bytes, for one thread: */
  int64_t bytes;
  int64_t lines;                     /* copied at once */
  int n, outputs;
  st_loop transpose[ST_LINE_OPERANDS];
  int64_t size[ST_LINE_OPERANDS];    /* bytes of an element */
  int64_t length[ST_LINE_OPERANDS];  /* elements of a line; 0: not copied */
  int64_t pitch[ST_LINE_OPERANDS];   /* bytes from line to line */
  int64_t at[ST_LINE_OPERANDS];      /* offset in the buffer */
} st_line_tiles;

/* Chooses the operands to copy: those whose lines adjoin. length: of a line of
 * the outputs, which are the first operands. False if there are none. The
 * caller sets loop, ctx and buffer. */
bool st__line_tiles_init(st_line_tiles *t, const st_lines *l, int outputs,
                         int64_t length);
/* An st_loop that copies and calls t->loop with t->ctx. ctx: a st_line_tiles */
void st__line_tiles_loop(char **data, const int64_t *s, int64_t n0, int64_t n1,
                         const void *ctx);
/* Like st__lines_run_all, with tiles where lines adjoin. If those of all
 * operands do, lines of fewer than `least` elements are left to the kernel. */
__attribute__((warn_unused_result))
st_status st__line_tiles_run_all(const st_lines *l, int outputs, int64_t least,
                                 st_loop loop, const void *ctx,
                                 st_kernel_id kernel);

#endif
