/* Buffered iteration: blocks whose operands a loop may see through buffers.
 * Private to this folder.
 *
 * Note [Casting inside the loop]
 * An operand whose dtype is not the loop's is converted block by block in a
 * buffer that stays in L1: inputs before the loop runs on a block, outputs
 * after it. No operand needs a whole temporary, whatever its strides.
 *
 * Note [Packing short rows]
 * When rows are short, as in (250000, 4) + (4), the overhead per row dominates.
 * So a block holds many rows: all elements of the first k dimensions, for a
 * number of steps along the next, longer one. An operand that is not laid out
 * in memory as a block is gathered into a buffer. There an element that repeats
 * is spread, and a row that repeats is replicated; data that repeats from block
 * to block is kept. The loop sees contiguous operands.
 *
 * Note [Non-temporal stores]
 * Normal stores to an output larger than the caches read each line before they
 * write it, and evict lines that are still needed. So such an output is
 * computed block by block in a buffer and streamed to memory from there. An
 * output that is also an input has been read already, so it takes the common
 * path.
 *
 * Note [Three places that gather blocks]
 * Here, the iterator gathers the operands of a loop of any kind, over up to
 * ST_MAX_DIMS dimensions, and keeps what repeats. In that loop, an elementwise
 * kernel gathers what is strided (kernel/elementwise/blocks.c): that code
 * is compiled once per instruction set, and converts half types on the way. The
 * interpreter (fuse/ir/interpreter.c), such a loop as well, fills the slots of
 * a program, with room for the whole vectors that machine code reads.
 */
#ifndef ST_ITER_BUFFER_H
#define ST_ITER_BUFFER_H

#include "os/machine.h"
#include "iter/iter.h"

typedef struct st_iter_job {
  const st_iter *it;
  st_loop loop;
  const void *ctx;
  bool only_reads; /* the loop does not write the outputs */
  bool tiled;      /* tile by tile, in any order: see run.c */
  bool packed;     /* block by block */
  bool streams;    /* the only output is streamed past the caches */
  int block_dims;  /* dimensions that a block holds in full */
  int64_t unit;    /* elements of those dimensions */
} st_iter_job;

enum {
  ST_PACK_BLOCK = 1024,    /* most elements of a block */
  ST_PACK_ROOM = ST_FIXED_pack_bytes, /* bytes of all buffers of a block */
  ST_PACK_STREAMED = 1536, /* bytes of the output of a block that streams: the
                             processor overlaps its stores with later loads */
  ST_PACK_SCRATCH = ST_PACK_BLOCK * 16, /* bytes of the buffer to spread from */
  ST_PACK_SLACK = 128 /* bytes after each: alignment, whole stores */
};

/* The state of one thread that runs blocks: the first k dimensions with these
 * sizes, and up to `most` steps (rows) along dimension k. */
typedef struct st_pack {
  const st_iter_job *job;
  const int64_t *shape;
  int k;
  int64_t inner, most;
  char *scratch;
  struct {
    char *buffer;     /* NULL if the loop uses the operand directly */
    const char *held; /* source address of the buffer's contents */
    int64_t rows;     /* rows in the buffer */
    int64_t stride;   /* along dimension k, in bytes */
    int spread;       /* leading dimensions with stride 0 */
  } op[ST_ITER_MAX_OPERANDS];
  _Alignas(64) char arena[ST_PACK_ROOM + ST_PACK_SCRATCH +
                          ST_ITER_MAX_OPERANDS * ST_PACK_SLACK];
} st_pack;

/* The number of elements of a block, 128 or more. */
int64_t st__pack_capacity(const st_iter *it);
/* The number of dimensions that a block of the iterator holds in full; *unit is
 * their number of elements. */
int st__pack_dims(const st_iter *it, int64_t *unit);
/* True if the only output is too large for the caches, and contiguous or of
 * long rows that the inputs follow or repeat. */
bool st__pack_streams(const st_iter *it);
/* The product of the first k sizes of shape must fit a block. */
void st__pack_init(st_pack *p, const st_iter_job *job, int k,
                   const int64_t *shape);
/* Runs the loop over `rows` rows from data on. */
void st__pack_run(st_pack *p, char *const *data, int64_t rows);

#endif
