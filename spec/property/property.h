/* What the parts of the program share. A case is one call of an operator on
 * random views; the naive loop (naive.c) says what must come of it, element by
 * element and over the logical indices; call.c makes the call and compares.
 *
 *   number.c      one element: reading, writing, converting, promotion
 *   arithmetic.c  one result of one operator
 *   operators.c   the operators as rows
 *   layout.c      random shapes and strides, and storages that views share
 *   case.c        random cases
 *   naive.c       the naive loop, and which calls must be refused
 *   call.c        the call, the comparison, the report
 *   property.c    the program
 *
 * Nothing here uses more of the engine than its public header.
 */
#ifndef PROPERTY_H
#define PROPERTY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strided.h"

/* The dtypes of operands, which are the first ones. */
#define DTYPES ((int)ST_UINT64 + 1)

#define CHECK(cond) do {                                                     \
    if (!(cond)) {                                                           \
      fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #cond, \
              st_message());                                                 \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

/* -- Random numbers ------------------------------------------------------- */

typedef struct dice { uint64_t state; } dice;

static inline uint64_t next(dice *d) {
  uint64_t z = d->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* 0 .. sides - 1 */
static inline int64_t roll(dice *d, int64_t sides) {
  return (int64_t)(next(d) % (uint64_t)sides);
}

static inline bool chance(dice *d, int percent) {
  return roll(d, 100) < percent;
}

/* -- number.c ------------------------------------------------------------- */

/* The values of int64 and uint64, and their sums and products modulo 2^64. */
__extension__ typedef __int128 whole;
__extension__ typedef unsigned __int128 natural;

/* An element of any dtype: integers and bool in i, floats in re. */
typedef struct number { whole i; double re, im; } number;

bool is_integer(st_dtype d); /* or bool */
bool is_unsigned(st_dtype d);
bool is_float(st_dtype d);
bool is_complex(st_dtype d);
st_dtype real_of(st_dtype d);

/* Integers wrap around, bool is 0 or 1. */
whole wrapped(st_dtype d, whole i);
number load(st_dtype d, const void *p);
void store(st_dtype d, number x, void *p);
number negative(st_dtype d, number x);
number convert(number x, st_dtype from, st_dtype to);
/* Bit for bit but for NaN, of which one is as good as another. */
bool same_number(st_dtype d, const void *a, const void *b);
void print_number(FILE *f, st_dtype d, const void *p);

/* A plain number, in the widest dtype of its kind. */
st_dtype widest(st_scalar s);
number number_of(st_scalar s);
/* May s be written as an element of d? */
bool fits(st_scalar s, st_dtype d);

bool can_cast(st_dtype from, st_dtype to);
/* What takes part in type promotion, and how much it weighs. */
enum { TENSOR, ZERO_DIM, PLAIN };
typedef struct typed { st_dtype dtype; int rank; } typed;
/* ST_INT128 when only that would do. */
st_dtype result_type(const typed *t, int n);

/* -- arithmetic.c --------------------------------------------------------- */

typedef enum opcode {
  OP_ADD, OP_SUB, OP_RSUB, OP_MUL, OP_DIV, OP_DIV_TRUNC, OP_DIV_FLOOR,
  OP_FMOD, OP_REMAINDER, OP_MAXIMUM, OP_MINIMUM, OP_FMAX, OP_FMIN,
  OP_HEAVISIDE, OP_COPYSIGN, OP_AND, OP_OR, OP_XOR, OP_LSHIFT, OP_RSHIFT,
  OP_GCD, OP_PRELU, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE,
  OP_LOGICAL_AND, OP_LOGICAL_OR, OP_LOGICAL_XOR, OP_LOGICAL_NOT,
  OP_NEG, OP_ABS, OP_SIGN, OP_SQUARE, OP_NOT, OP_FLOOR, OP_CEIL, OP_TRUNC,
  OP_ROUND, OP_FRAC, OP_SQRT, OP_RECIPROCAL, OP_RELU, OP_CONJ,
  OP_ISNAN, OP_ISINF, OP_ISFINITE, OP_SIGNBIT,
  OP_ADDCMUL, OP_ADDCDIV, OP_LERP, OP_LERP_NUMBER,
  OP_CLAMP, OP_CLAMP_MIN, OP_CLAMP_MAX,
  OP_CLAMP_TENSOR, OP_CLAMP_TENSOR_MAX,
  OP_WHERE, OP_MASKED_FILL, OP_COPY, OP_FILL, OP_FILL_TENSOR, OP_ZERO,
  OP_CLONE, OP_CONTIGUOUS, OP_TO,
  OP_BY_ENGINE /* vector maths: any layout must give what a plain one does */
} opcode;

/* x and the operator's numbers p in dtype d. A comparison gives 0 or 1 in i,
 * OP_ABS of a complex number its float in re. */
number compute(opcode op, st_dtype d, const number *x, const number *p);

/* -- operators.c ---------------------------------------------------------- */

/* What the dtype of the result is, and which outputs may take it. */
typedef enum rule {
  BINARY,   /* that of all operands; can be cast to the output's */
  FLOATS,   /* the same, integers being floats first */
  REALS,    /* that of self, of a complex its float; castable */
  UNARY,    /* that of self, and no other */
  BOUNDED,  /* that of self with the numbers, and no other */
  POWER,    /* the same; can be cast to the output's */
  CHOICE,   /* that of operands 1 and 2, and no other */
  MASKED,   /* that of self, and no other */
  COMPARE,  /* bool, cast to whatever the output has */
  COPY,     /* whatever the output has */
  RENEW     /* that of self, or the one asked for */
} rule;

/* Which dtypes an operator computes in. */
enum {
  B = 1 << ST_BOOL,
  I = 1 << ST_UINT8 | 1 << ST_INT8 | 1 << ST_INT16 | 1 << ST_INT32 |
      1 << ST_INT64 | 1 << ST_UINT16 | 1 << ST_UINT32 | 1 << ST_UINT64,
  F = 1 << ST_FLOAT16 | 1 << ST_BFLOAT16 | 1 << ST_FLOAT32 | 1 << ST_FLOAT64,
  C = 1 << ST_COMPLEX32 | 1 << ST_COMPLEX64 | 1 << ST_COMPLEX128,
  BC = 1 << ST_BCOMPLEX32 /* moved and compared */
};

/* Letters of a row's arguments, in the order of the schema:
 *   t tensor, m mask, z tensor without dimensions   operands
 *   n number that stands for an operand
 *   p number of the operator, b bound, v value      numbers
 *   - none, F "floor", T "trunc"                    as they are
 *   d dtype, f format, 0 false, ? a boolean
 */
typedef struct row {
  const char *name, *overload; /* "aten::" left off */
  const char *inplace;         /* its overload; NULL: no such variant */
  const char *out;             /* overload that writes out=; NULL: none */
  const char *args;
  rule rule;
  opcode op;
  int dtypes;
} row;

extern const row rows[];
int count_rows(void);

/* -- layout.c ------------------------------------------------------------- */

enum { MOST_AREAS = 4, MOST_OPERANDS = 3, MOST_NUMBERS = 2 };

typedef struct shape { int ndim; int64_t sizes[ST_MAX_DIMS]; } shape;

/* A tensor over an area. Strides and offset in elements of dtype. */
typedef struct view {
  st_dtype dtype;
  int area;
  shape shape;
  int64_t strides[ST_MAX_DIMS], offset;
  bool is_conj, is_neg; /* elements are conjugates, negatives of the bytes */
  const char *kind; /* of layout, for reports */
  st_tensor *tensor;
} view;

/* Memory that views share, as one storage. */
typedef struct area {
  st_dtype dtype;       /* what its first values look like */
  bool mixed;           /* looked at as several dtypes */
  size_t nbytes;
  char *block;          /* data between guards */
  char *data;           /* what the engine sees */
  char *before, *after; /* what was there and what must be */
  st_tensor *whole;
} area;

int64_t count_elements(const shape *s);
bool same_shape(const shape *a, const shape *b);
/* The two broadcast together; false when they do not. */
bool broadcast(shape *to, const shape *with);
/* Elements from the first to behind the last in memory. */
int64_t extent(const view *v);
/* Do two elements share memory? */
bool overlaps_itself(const view *v);

typedef enum scale { SMALL, TILES, THREADS, HUGE_SCALE } scale;
shape random_shape(dice *d, scale how_large);
/* A shape that broadcasts to s. */
shape random_part(dice *d, const shape *s);
/* Strides for v's shape. dense: no two elements in one place. */
void random_strides(dice *d, view *v, bool dense);

/* Makes area number k of the views that say so, with random values. */
void make_area(dice *d, area *a, int k, view *const *views, int n);
void make_tensor(const area *a, view *v);
/* Were the bytes around the data left alone? */
bool guards_hold(const area *a);
void free_area(area *a);

/* -- case.c --------------------------------------------------------------- */

typedef enum variant { NEW, INPLACE, OUT } variant;
typedef enum source { VIEW, NUMBER, WRAPPED } source;

/* A NUMBER is an argument as it is, a WRAPPED one a tensor that stands for
 * it. */
typedef struct operand {
  source source;
  view view;
  st_scalar number;
  st_tensor *tensor;
} operand;

typedef struct test {
  const row *row;
  variant variant;
  scale scale;
  int threads;
  int noperands, nnumbers;
  operand operand[MOST_OPERANDS];
  st_scalar number[MOST_NUMBERS];
  st_dtype to;       /* letter d */
  st_format format;  /* letter f; ST_FORMAT_COUNT: none */
  bool flag;         /* letter ? */
  view out;          /* unless NEW */
  bool out_is_other; /* out has another shape and memory of its own */
  bool is_self;      /* out is operand 0 */
  bool is_lazy;      /* some view shows conjugates or negatives */
  int nareas;
  area area[MOST_AREAS];
} test;

void make_case(uint64_t seed, uint64_t index, test *t);
void free_case(test *t);

/* -- naive.c -------------------------------------------------------------- */

typedef struct verdict {
  unsigned refusals;   /* 1 << status for each reason; 0: it must work */
  shape shape;
  st_dtype common;     /* what is computed in */
  st_dtype computed;   /* what that gives */
  st_dtype result;     /* what it is written as */
  bool moves;          /* not even the bits of a NaN may change */
  char *values;        /* of a new result, contiguous; NULL: see area.after */
} verdict;

void judge(const test *t, verdict *v);
/* What a new result or area.after must hold. oracle: what OP_BY_ENGINE gives,
 * contiguous, in v->computed. */
void expect(const test *t, verdict *v, const char *oracle);
/* The operands in dtype v->common and of v->shape, contiguous. */
char *spread(const test *t, const verdict *v, int k);

/* -- call.c --------------------------------------------------------------- */

typedef struct tally {
  int64_t results, refusals, sharing, elements, damaged;
  int64_t row[256];
  int64_t copied[DTYPES][DTYPES];
} tally;

/* Where what differs is told. */
extern FILE *reports;

/* Calls and compares; false after a report of what differs. With spoil, a
 * random byte of what the call left behind is changed before. */
bool run_case(const test *t, dice *spoil, tally *sum);

#endif
