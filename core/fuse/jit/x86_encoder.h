/* Encoder of the x86-64 instructions that vector IR needs, with AVX2 and F16C
 * or with AVX-512 (F, DQ, BW and VL).
 *
 * Instructions are encoded as in volume 2 of Intel's Software Developer's
 * Manual (2.3, VEX, and 2.7, EVEX). Vector registers are 0 .. 15, ymm or zmm;
 * the one mask register is k1. General registers have their numbers: rax 0,
 * rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, then r8 .. r15.
 */
#ifndef ST_FUSE_JIT_X86_ENCODER_H
#define ST_FUSE_JIT_X86_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_RAX, ST_RCX, ST_RDX, ST_RBX, ST_RSP, ST_RBP, ST_RSI, ST_RDI,
       ST_R11 = 11 };
enum { ST_X64_POOL = 256, ST_X64_FIXUPS = 2048 };

/* The operand size of an instruction: 16 bytes, half a vector or a vector. */
enum { ST_X64_XMM, ST_X64_HALF, ST_X64_WHOLE };

/* An opcode with its prefix, map, bit W and operand size. */
#define ST_X64_OP(pp, map, opcode, w, length)                         \
  ((uint32_t)(pp) | (map) << 2 | (w) << 7 | (uint32_t)(length) << 8 | \
   (opcode) << 16)

typedef enum st_x64_kind {
  ST_X64_REG,     /* a vector register */
  ST_X64_MEM,     /* [base + rax * scale] */
  ST_X64_SPILL,   /* spill slot reg on the stack */
  ST_X64_CONST    /* constant reg of the pool */
} st_x64_kind;

/* The operand that may be in memory (ModRM.rm). */
typedef struct st_x64_operand {
  uint8_t kind, reg, base, scale;
} st_x64_operand;

/* The code buffer. Bytes that do not fit are dropped, and is_full is set. */
typedef struct st_x64 {
  uint8_t *code;             /* borrowed */
  size_t n, max;
  int vector;                /* bytes of a vector: 32, or 64 with AVX-512 */
  bool is_full;
  int npool, nfixups;
  uint64_t pool[ST_X64_POOL];
  struct { uint32_t at; uint8_t pool, behind; } fixups[ST_X64_FIXUPS];
} st_x64;

void st__x64_byte(st_x64 *x, int byte);
void st__x64_bytes(st_x64 *x, const char *bytes, size_t n);
/* dst and src are vector registers; imm is appended unless it is negative. */
void st__x64_op(st_x64 *x, uint32_t op, int dst, int src,
                st_x64_operand rm, int imm);
/* The same with EVEX encoding for all operand sizes. A register may be k1. */
void st__x64_evex(st_x64 *x, uint32_t op, int dst, int src,
                  st_x64_operand rm, int imm);
/* The same without imm, with k1 as the write mask. */
void st__x64_evex_masked(st_x64 *x, uint32_t op, int dst, int src,
                         st_x64_operand rm);
/* mov to, [from + 8 * slot] of general registers. */
void st__x64_load_pointer(st_x64 *x, int to, int from, int slot);
void st__x64_push(st_x64 *x, int reg);
void st__x64_pop(st_x64 *x, int reg);
void st__x64_move_stack(st_x64 *x, int bytes);
/* Adds step to rax, and jumps to `begin` while rax is below rsi. */
void st__x64_loop(st_x64 *x, int step, size_t begin);
/* The constant operand of 8 bytes, repeated to fill a vector. */
st_x64_operand st__x64_const(st_x64 *x, uint64_t bits);
/* Appends the pool of constants and resolves the references to it. */
void st__x64_finish(st_x64 *x);

#endif
