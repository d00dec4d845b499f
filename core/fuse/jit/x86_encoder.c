/* Encoder of x86-64 instructions (VEX and EVEX).
 */

#include "fuse/jit/x86_encoder.h"

#include <string.h>

/* -- Bytes ---------------------------------------------------------------- */

void st__x64_byte(st_x64 *x, int byte) {
  if (x->n == x->max) x->is_full = true;
  else x->code[x->n++] = (uint8_t)byte;
}

void st__x64_bytes(st_x64 *x, const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) st__x64_byte(x, (uint8_t)bytes[i]);
}

static void put32(st_x64 *x, uint32_t bits) {
  for (int i = 0; i < 4; i++) st__x64_byte(x, (int)(bits >> 8 * i & 0xff));
}

/* -- Vector instructions -------------------------------------------------- */

enum { NO_BASE = 5, HAS_SIB = 4, DISP8 = 1 << 6, DISP32 = 2 << 6,
       DIRECT = 3 << 6 };

static int scale_bits(int scale) {
  return scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
}

/* behind: bytes of the instruction after the operand. */
static void put_const(st_x64 *x, int dst, int number, int behind) {
  st__x64_byte(x, (dst & 7) << 3 | NO_BASE); /* relative to rip */
  if (x->nfixups == ST_X64_FIXUPS) {
    x->is_full = true;
    return;
  }
  x->fixups[x->nfixups].at = (uint32_t)x->n;
  x->fixups[x->nfixups].pool = (uint8_t)number;
  x->fixups[x->nfixups++].behind = (uint8_t)behind;
  put32(x, 0);
}

static void put_operand(st_x64 *x, int dst, st_x64_operand rm, int behind) {
  const int reg = (dst & 7) << 3;
  switch (rm.kind) {
    case ST_X64_REG:
      st__x64_byte(x, DIRECT | reg | (rm.reg & 7));
      break;
    case ST_X64_MEM:
      st__x64_byte(x, DISP8 | reg | HAS_SIB);
      st__x64_byte(x, scale_bits(rm.scale) << 6 | ST_RAX << 3 |
                      (rm.base & 7));
      st__x64_byte(x, 0);
      break;
    case ST_X64_SPILL:
      st__x64_byte(x, DISP32 | reg | HAS_SIB);
      st__x64_byte(x, ST_RSP << 3 | ST_RSP);
      put32(x, (uint32_t)(rm.reg * x->vector));
      break;
    default:
      put_const(x, dst, rm.reg, behind);
  }
}

/* Bit 3 of the register in rm. */
static int high_of(st_x64_operand rm) {
  return rm.kind == ST_X64_REG ? rm.reg >> 3
       : rm.kind == ST_X64_MEM ? rm.base >> 3 : 0;
}

static void put_rest(st_x64 *x, uint32_t op, int dst, st_x64_operand rm,
                     int imm) {
  st__x64_byte(x, (int)(op >> 16));
  put_operand(x, dst, rm, imm >= 0);
  if (imm >= 0) st__x64_byte(x, imm);
}

static void put_vex(st_x64 *x, uint32_t op, int dst, int src,
                    st_x64_operand rm, bool is_long) {
  st__x64_byte(x, 0xc4);
  st__x64_byte(x, !(dst >> 3) << 7 | 1 << 6 | !high_of(rm) << 5 |
                  (int)(op >> 2 & 31));
  st__x64_byte(x, (int)(op & 0x80) | (~src & 15) << 3 | is_long << 2 |
                  (int)(op & 3));
}

static int length_of(uint32_t op) { return (int)(op >> 8 & 3); }

void st__x64_op(st_x64 *x, uint32_t op, int dst, int src,
                st_x64_operand rm, int imm) {
  const int length = length_of(op);
  if (x->vector == 64 && length == ST_X64_WHOLE) {
    st__x64_evex(x, op, dst, src, rm, imm);
    return;
  }
  put_vex(x, op, dst, src, rm, length == ST_X64_WHOLE ||
                               (x->vector == 64 && length == ST_X64_HALF));
  put_rest(x, op, dst, rm, imm);
}

/* disp8 is 0: its scale has no effect. */
static void put_evex(st_x64 *x, uint32_t op, int dst, int src,
                     st_x64_operand rm, bool is_masked) {
  st__x64_byte(x, 0x62);
  st__x64_byte(x, !(dst >> 3) << 7 | 1 << 6 | !high_of(rm) << 5 | 1 << 4 |
                  (int)(op >> 2 & 3));
  st__x64_byte(x, (int)(op & 0x80) | (~src & 15) << 3 | 1 << 2 |
                  (int)(op & 3));
  st__x64_byte(x, length_of(op) << 5 | 1 << 3 | is_masked);
}

void st__x64_evex(st_x64 *x, uint32_t op, int dst, int src,
                  st_x64_operand rm, int imm) {
  put_evex(x, op, dst, src, rm, false);
  put_rest(x, op, dst, rm, imm);
}

void st__x64_evex_masked(st_x64 *x, uint32_t op, int dst, int src,
                         st_x64_operand rm) {
  put_evex(x, op, dst, src, rm, true);
  put_rest(x, op, dst, rm, -1);
}

/* -- Scalar instructions -------------------------------------------------- */

void st__x64_load_pointer(st_x64 *x, int to, int from, int slot) {
  st__x64_byte(x, 0x48 | (to >> 3) << 2 | from >> 3);
  st__x64_byte(x, 0x8b);
  st__x64_byte(x, DISP32 | (to & 7) << 3 | (from & 7));
  put32(x, (uint32_t)slot * 8);
}

void st__x64_push(st_x64 *x, int reg) {
  if (reg > 7) st__x64_byte(x, 0x41);
  st__x64_byte(x, 0x50 | (reg & 7));
}

void st__x64_pop(st_x64 *x, int reg) {
  if (reg > 7) st__x64_byte(x, 0x41);
  st__x64_byte(x, 0x58 | (reg & 7));
}

/* add rsp, bytes */
void st__x64_move_stack(st_x64 *x, int bytes) {
  st__x64_bytes(x, "\x48\x81\xc4", 3);
  put32(x, (uint32_t)bytes);
}

/* add rax, step; cmp rax, rsi; jb begin */
void st__x64_loop(st_x64 *x, int step, size_t begin) {
  st__x64_bytes(x, "\x48\x83\xc0", 3);
  st__x64_byte(x, step);
  st__x64_bytes(x, "\x48\x39\xf0\x0f\x82", 5);
  put32(x, (uint32_t)(begin - (x->n + 4)));
}

/* -- Constants ------------------------------------------------------------ */

st_x64_operand st__x64_const(st_x64 *x, uint64_t bits) {
  int i = 0;
  while (i < x->npool && x->pool[i] != bits) i++;
  if (i == ST_X64_POOL) {
    x->is_full = true;
    i = 0;
  } else if (i == x->npool) {
    x->pool[x->npool++] = bits;
  }
  return (st_x64_operand){ST_X64_CONST, (uint8_t)i, 0, 0};
}

void st__x64_finish(st_x64 *x) {
  const size_t vector = (size_t)x->vector;
  while (x->n % vector && !x->is_full) st__x64_byte(x, 0xcc);
  const size_t pool = x->n;
  for (int i = 0; i < x->npool; i++) {
    for (int k = 0; k < x->vector; k++) {
      st__x64_byte(x, (int)(x->pool[i] >> 8 * (k % 8) & 0xff));
    }
  }
  for (int i = 0; i < x->nfixups && !x->is_full; i++) {
    const size_t at = x->fixups[i].at;
    const size_t next = at + 4 + x->fixups[i].behind;
    const size_t to = pool + x->fixups[i].pool * vector;
    const uint32_t disp = (uint32_t)(to - next);
    for (int k = 0; k < 4; k++) {
      x->code[at + (size_t)k] = (uint8_t)(disp >> 8 * k);
    }
  }
}
