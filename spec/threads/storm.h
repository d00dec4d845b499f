/* What the parts of the program share: operators.c registers, callers.c calls,
 * threads.c makes scenes of them.
 *
 * A kernel's context comes from an array that is never reused, and dropping it
 * overwrites it: a kernel that runs with a dropped context sees that itself,
 * and under ThreadSanitizer the two accesses are a race.
 */
#ifndef STORM_H
#define STORM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "strided.h"

#define CHECK(cond) do {                                                     \
    if (!(cond)) {                                                           \
      fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #cond, \
              st_message());                                                 \
      _exit(1);                                                              \
    }                                                                        \
  } while (0)

/* -- operators.c ---------------------------------------------------------- */

/* A source of random numbers for one thread. */
typedef struct dice { uint64_t state; } dice;
int roll(dice *d, int sides);

enum { ALIVE = 0x600d, DEAD = 0xdead };
typedef struct context { int state; int64_t answer; } context;

/* Room for n contexts in all. */
void make_contexts(int n);
void free_contexts(void);
context *new_context(int64_t answer);
void drop_context(void *ctx);
extern atomic_int given, dropped;

st_tensor *filled(st_device device, double x);
st_value arg(st_tensor *t);
double first_of_call(const char *name, const char *overload, int n,
                     const st_value *args);

/* Names, overloads and schemas are few and said again and again: what the
 * registry remembers of them for good must not grow with the registrations. */
enum { NAMES = 97, OVERLOADS = 3, TEXTS = 4 * NAMES * OVERLOADS };
enum { WINDOW = 16 }; /* operators at a time */

/* What the i-th operator is called and how it is defined. */
typedef struct title { char name[64], schema[96]; } title;
title title_of(int i);

/* A kernel that says its context's answer, now and then after a while. */
st_status answer(const st_call *call, const st_value *args, st_value *rets);
/* name NULL: a fallback. */
void register_kernel(const char *name, const char *key, int64_t says,
                     st_registration **out);

/* The kernel of storm::steady, replaced now and then, never absent: a boxed
 * one and an unboxed one in turn. */
typedef struct steady { st_registration *schema, *kernel; } steady;
ST_SIGNATURE(ask, (TENSOR), (INT))
void begin(steady *s);
void end(steady *s);

/* Operators first .. first + n - 1 come and go. */
void register_and_drop(dice *d, steady *s, int first, int n);
extern atomic_int newest; /* number of the operator registered last */

/* -- callers.c ------------------------------------------------------------ */

typedef struct caller {
  pthread_t thread;
  dice dice;
  int rounds;               /* 0: until it is over */
  int64_t calls, answers, misses, seen;
  int64_t last;             /* answer of storm::steady */
  st_tensor *one, *two, *meta;
} caller;

extern atomic_int calling; /* threads that have called */
extern atomic_bool is_over;

void *call(void *ctx); /* a caller */
void start(caller *c, int number, int rounds);
void finish(caller *c);

#endif
