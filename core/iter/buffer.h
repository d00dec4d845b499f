/* Blocks of an iteration, whose operands a loop may see through buffers:
 * private to this folder.
 *
 * Note [Casting inside the loop]
 * An operand of another dtype than the loop's is converted block by block in
 * a buffer that stays in L1: inputs before the loop sees a block, outputs
 * after it. There are no whole temporaries, whatever the strides.
 *
 * Note [Packing short rows]
 * Where rows are short, as those of (250000, 4) + (4), a loop would spend its
 * time between them. A block has many: all elements of the first k dimensions
 * for some steps along the next one, which is longer. What does not lie in
 * memory as a block does is gathered into a buffer. An element that repeats
 * is spread there, a row that repeats is replicated, and what repeats from
 * block to block stays, so that the loop sees contiguous operands.
 *
 * Note [Non-temporal stores]
 * A result that is larger than the caches would be read line by line before
 * it is written, and push out what is still needed. So it is computed block
 * by block in a buffer, and streamed from there. An output that is an input
 * as well has been read already: it stays on the common path.
 */
#ifndef ST_ITER_BUFFER_H
#define ST_ITER_BUFFER_H

#include "iter/iter.h"

typedef struct st_iter_job {
  const st_iter *it;
  st_loop loop;
  const void *ctx;
  bool only_reads; /* the loop writes no output */
  bool tiled;      /* in any order: see run.c */
  bool packed;     /* in blocks */
  bool streams;    /* its one output, past the caches */
  int block_dims;  /* dimensions that are whole in a block */
  int64_t unit;    /* their elements */
} st_iter_job;

enum {
  ST_PACK_BLOCK = 1024,    /* elements of a block, at most */
  ST_PACK_ROOM = 32 << 10, /* bytes of its buffers, one per operand ... */
  ST_PACK_STREAMED = 16 << 10, /* ... and of those of a block that streams */
  ST_PACK_SCRATCH = ST_PACK_BLOCK * 16, /* of another to spread from */
  ST_PACK_SLACK = 128 /* behind each, for alignment and whole stores */
};

/* How a thread goes through its blocks: the first k dimensions, of these
 * sizes, and up to `most` steps, rows, along dimension k. */
typedef struct st_pack {
  const st_iter_job *job;
  const int64_t *shape;
  int k;
  int64_t inner, most;
  char *scratch;
  struct {
    char *buffer;     /* NULL: the operand is seen as it is */
    const char *held; /* its buffer holds what begins here ... */
    int64_t rows;     /* ... and has so many rows */
    int64_t stride;   /* along dimension k */
    int spread;       /* leading dimensions along which it repeats */
  } op[ST_ITER_MAX_OPERANDS];
  _Alignas(64) char arena[ST_PACK_ROOM + ST_PACK_SCRATCH +
                          ST_ITER_MAX_OPERANDS * ST_PACK_SLACK];
} st_pack;

/* Elements of a block, 128 or more. */
int64_t st__pack_capacity(const st_iter *it);
/* How many dimensions a block of the iterator holds whole, and their
 * elements. */
int st__pack_dims(const st_iter *it, int64_t *unit);
/* Is the output one long row, large enough to go past the caches? */
bool st__pack_streams(const st_iter *it);
/* The first k sizes of a shape must fit a block. */
void st__pack_init(st_pack *p, const st_iter_job *job, int k,
                   const int64_t *shape);
/* Runs the loop over so many rows from data on. */
void st__pack_run(st_pack *p, char *const *data, int64_t rows);

#endif
