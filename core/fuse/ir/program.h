/* Programs: loops over registers, which are blocks of elements.
 *
 * Note [Programs]
 * A program is a list of instructions, each of which runs one of the loops of
 * core/kernel over whole registers. A register holds a block: as many elements
 * as leave all registers in the first-level cache. So what comes out of one
 * loop is in the cache when the next one reads it, and the memory is walked
 * once for all of them. Instructions that compute the same are one; those that
 * read nothing but constants have been run when the program was made; those
 * that read nothing but single elements run once for all blocks.
 *
 * A program is for certain dtypes: casts are instructions, too.
 */
#ifndef ST_FUSE_IR_PROGRAM_H
#define ST_FUSE_IR_PROGRAM_H

#include "base/refcount.h"
#include "iter/iter.h"

enum {
  ST_PROGRAM_OPERANDS = ST_ITER_MAX_OPERANDS, /* inputs and outputs */
  ST_PROGRAM_INSTRS = 1024,
  ST_PROGRAM_SLOTS = 255,
  ST_PROGRAM_ARENA = 48 << 10, /* bytes of registers and buffers */
  ST_PROGRAM_MAX_BLOCK = 1024, /* elements, at most */
  ST_PROGRAM_MIN_BLOCK = 64,   /* and at least */
  ST_PROGRAM_CHECKS = 8,
  ST_JIT_REGIONS = 32,         /* of machine code */
  ST_PROGRAM_LANES = 16,       /* windows for them are multiples of it */
  ST_INSTR_OPERANDS = 6
};

/* What an instruction reads and writes: values while a program is made, then
 * slots. Results first. */
typedef struct st_instr {
  st_loop loop;
  uint8_t nout, n;
  bool has_params;
  float cost;              /* of an element: the part of a thread's grain */
  uint16_t at[ST_INSTR_OPERANDS];
  int64_t strides[2 * ST_INSTR_OPERANDS];
  st_params params;
} st_instr;

/* Where a value is while the program runs. */
typedef enum st_slot_kind {
  ST_SLOT_INPUT, ST_SLOT_OUTPUT, ST_SLOT_CONST, ST_SLOT_REGISTER
} st_slot_kind;

typedef struct st_slot {
  uint8_t kind, dtype;
  uint16_t at;       /* of inputs and outputs */
  uint32_t offset;   /* into the arena, or among the constants */
} st_slot;

/* Instructions [from, to) as machine code; at: where in the pages. */
typedef struct st_jit_region {
  uint16_t from, to;
  uint32_t at;
} st_jit_region;

typedef struct st_program {
  st_refcount refs;
  int ninputs, noutputs, nslots;
  int ninstrs;             /* those of every block ... */
  int nprologue;           /* ... behind so many that run once */
  int nchecks;             /* slots whose values may not be zero */
  uint8_t checks[ST_PROGRAM_CHECKS];
  bool writes_early;       /* an output before the last input is read */
  uint8_t order[ST_PROGRAM_OPERANDS]; /* of inputs, the leftmost first */
  uint8_t in_dtype[ST_PROGRAM_OPERANDS], out_dtype[ST_PROGRAM_OPERANDS];
  bool is_single[ST_PROGRAM_OPERANDS]; /* inputs of one element */
  int64_t block, grain;
  size_t arena;            /* bytes that are used of it */
  char *consts;            /* owned; every constant, a block of it */
  size_t consts_size;
  st_instr *instrs;        /* owned */
  int capacity;
  int nregions;
  st_jit_region regions[ST_JIT_REGIONS];
  char *code;              /* owned pages, code_size bytes; or NULL */
  size_t code_size;
  st_slot slots[ST_PROGRAM_SLOTS];
} st_program;

/* Where the constants are: whole lines of the cache. */
static inline char *st__program_consts(const st_program *p) {
  return (char *)(((uintptr_t)p->consts + 63) & ~(uintptr_t)63);
}

/* One that nobody else has. */
void st__program_free(st_program *p);
void st__program_retain(st_program *p);
void st__program_release(st_program **p);

/* Runs it over a built iterator, whose operands are the outputs and then the
 * inputs in p->order, each in its own dtype. Cannot fail. */
void st__program_run(const st_program *p, st_iter *it);
/* The same for one window of memory; see st_loop. ctx is the program. */
void st__program_loop(char **data, const int64_t *strides, int64_t n0,
                      int64_t n1, const void *ctx);
/* Is there a zero where none may be? Looks at the inputs only. */
bool st__program_finds_zero(const st_program *p, st_iter *it);
/* A line for each instruction, with a bar where it is part of machine code;
 * st__text_free. */
st_status st__program_text(const st_program *p, char **out);

#endif
