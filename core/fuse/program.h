/* Programs: kernel calls over blocks of elements, and their interpreter.
 *
 * Result of stage ir of Note [Stages of fusion]: lower_to_program.c makes a
 * program, fuse/jit/jit_compile.h adds machine code, interpreter.c runs it.
 *
 * Note [Programs]
 * A program is a list of instructions, each of which runs one loop of
 * core/kernel over whole registers. A register holds one block: as many
 * elements as keep all registers in the first-level cache. So the results of
 * one loop are in the cache when the next one reads them, and memory is read
 * and written once for all loops. Equal instructions are merged; those that
 * read constants only are folded when the program is made; those that read
 * single elements only are the prologue, which runs once for all blocks.
 *
 * A program has fixed dtypes: casts are instructions, too.
 */
#ifndef ST_FUSE_PROGRAM_H
#define ST_FUSE_PROGRAM_H

#include <stdatomic.h>

#include "base/refcount.h"
#include "iter/iter.h"

enum {
  ST_PROGRAM_OPERANDS = ST_ITER_MAX_OPERANDS, /* inputs and outputs */
  ST_PROGRAM_INSTRS = 1024,
  ST_PROGRAM_SLOTS = 255,
  ST_PROGRAM_ARENA = 48 << 10, /* bytes of registers and buffers */
  ST_PROGRAM_MAX_BLOCK = 1024, /* elements */
  ST_PROGRAM_MIN_BLOCK = 64,   /* elements */
  ST_PROGRAM_CHECKS = 8,
  ST_JIT_REGIONS = 32,
  ST_PROGRAM_LANES = 16,       /* windows of a region are multiples of it */
  ST_INSTR_OPERANDS = 6
};

/* One kernel call. */
typedef struct st_instr {
  st_loop loop;
  uint8_t nout, n;         /* results; results and operands */
  bool has_params;
  st_kernel_key kernel;    /* of the loop; id NONE: not known */
  float cost;              /* of an element, as a fraction of the grain */
  uint16_t at[ST_INSTR_OPERANDS]; /* values in the IR, slots in a program;
                                     results first */
  int64_t strides[2 * ST_INSTR_OPERANDS];
  st_params params;
} st_instr;

/* Where a value is stored while the program runs. */
typedef enum st_slot_kind {
  ST_SLOT_INPUT, ST_SLOT_OUTPUT, ST_SLOT_CONST, ST_SLOT_REGISTER
} st_slot_kind;

typedef struct st_slot {
  uint8_t kind, dtype;
  uint16_t at;       /* index of the input or output */
  uint32_t offset;   /* bytes into the arena, or into the constants */
} st_slot;

/* Instructions [from, to), compiled to machine code at offset `at` of the
 * program's code. */
typedef struct st_jit_region {
  uint16_t from, to;
  uint32_t at;
} st_jit_region;

/* What devices have made of a program: fuse/device/device_loop.c. */
typedef struct st_device_code st_device_code;

typedef struct st_program {
  st_refcount refs;
  int ninputs, noutputs, nslots;
  int ninstrs;             /* all instructions */
  int nprologue;           /* the first ones, which run once */
  int nchecks;             /* slots in which no element may be zero */
  uint8_t checks[ST_PROGRAM_CHECKS];
  bool writes_early;       /* an output before the last input is read */
  uint8_t order[ST_PROGRAM_OPERANDS]; /* of inputs: Note [Operand order
                                         decides the layout] */
  uint8_t in_dtype[ST_PROGRAM_OPERANDS], out_dtype[ST_PROGRAM_OPERANDS];
  bool is_uniform[ST_PROGRAM_OPERANDS]; /* of inputs: 0-dim */
  int64_t block, grain;
  size_t arena;            /* bytes used of the arena */
  char *consts;            /* owned; each constant is repeated for a block */
  size_t consts_size;
  st_instr *instrs;        /* owned */
  int capacity;
  int nregions;
  st_jit_region regions[ST_JIT_REGIONS];
  char *code;              /* owned pages, code_size bytes; or NULL */
  size_t code_size;
  _Atomic(st_device_code *) device_codes; /* owned */
  st_slot slots[ST_PROGRAM_SLOTS];
} st_program;

/* The constants, aligned to a cache line. */
static inline char *st__program_consts(const st_program *p) {
  return (char *)(((uintptr_t)p->consts + 63) & ~(uintptr_t)63);
}

/* Frees a program without a look at its reference count. */
void st__program_free(st_program *p);
void st__program_retain(st_program *p);
void st__program_release(st_program **p);

/* Runs p over a built iterator, whose operands are the outputs, then the inputs
 * in p->order, each in its own dtype. Fails only with INTERRUPTED. */
__attribute__((warn_unused_result))
st_status st__program_run(const st_program *p, st_iter *it);
/* The same over n0 x n1 elements, as an st_loop. ctx is the program. */
void st__program_loop(char **data, const int64_t *strides, int64_t n0,
                      int64_t n1, const void *ctx);
/* True if a check finds a zero. Writes no output. */
st_status st__program_find_zero(const st_program *p, st_iter *it, bool *found);
/* One line per instruction, with a bar where it belongs to a region. The caller
 * frees *out with st__text_free. */
st_status st__program_text(const st_program *p, char **out);

#endif
